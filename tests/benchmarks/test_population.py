"""The benchmark of populations runs and says what it measured."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")

from coterie.benchmarks import population


def test_populations_are_measured() -> None:
    one, two, together = [m.as_dict() for m in population.measurements(quick=True)]
    assert one["ratio"] == 1
    assert two["ratio"] > 0
    assert two["tokens"] >= one["tokens"] > 0  # no prefix is shared between players
    assert two["adapter KiB"] == one["adapter KiB"] > 0
    assert together["peer"] == "2 runs of one"
    assert together["ratio"] > 0


def test_what_learners_reach_together_and_apart_is_compared() -> None:
    speed, reached = [m.as_dict() for m in population.strength(learners=2, games=16, updates=1)]
    assert speed["unit"] == "games/s"
    assert speed["ratio"] > 0
    assert 0 < reached["rate"] < 2
    assert 0 < reached["peer_rate"] < 2
    assert reached["+-"] > 0
