"""The benchmark of the board games does the work that it says it does, here for few games and once."""

from __future__ import annotations

import pytest

from coterie.benchmarks import boards


def test_connect_four_and_hex_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "median_rate", lambda work, repeats=5: float(work()))
    monkeypatch.setattr(boards, "_duel", lambda ours, theirs, repeats=5: (float(ours()), None))
    monkeypatch.setattr(boards, "_pgx", lambda *args, **more: None)
    monkeypatch.setattr(boards._rollout, "__defaults__", (16,))
    rows = {row.name: row for row in (*boards._connect_four(), *boards._hex())}
    assert rows["connect_four batched, random_rollout"].rate == 200 * 16
    assert rows["hex 11x11 batched, random_rollout"].rate == 100 * 16
    for row in rows.values():
        assert row.rate > 0
        assert row.threads == 1
        assert row.name.split()[0] in ("connect_four", "hex")
