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
