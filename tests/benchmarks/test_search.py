"""The benchmark of searching players runs and says what it measured."""

from __future__ import annotations

import pytest

from coterie.benchmarks import search


def test_everything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "NODES", 2000)
    monkeypatch.setattr(search, "POSITIONS", search.POSITIONS[:2])
    monkeypatch.setattr(search, "PLAYOUTS", {"tictactoe": 200})
    monkeypatch.setattr(
        search, "MATCHES", (("tictactoe", "mcts:20", "random", 4), ("chess", "alphabeta:1", "greedy", 2))
    )
    rows = {row["name"]: row for row in (m.as_dict() for m in search.measurements())}
    assert len(rows) == 4
    nodes = rows["chess alpha-beta"]
    assert nodes["rate"] > 0
    assert nodes["least"] <= nodes["rate"] + 1
    assert all(depth > 1 for depth in nodes["depths"])
    assert rows["tictactoe MCTS"]["rate"] > 0
    match = rows["tictactoe: mcts:20 against random"]
    assert match["won"] + match["drawn"] + match["lost"] == 4
    assert match["rate"] == 100 * match["won"] / 4
