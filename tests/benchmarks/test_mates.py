"""The breakdown of what a player solves."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

from coterie.benchmarks import mates


def test_a_search_solves_everything_and_random_what_chance_solves(capsys) -> None:
    mates.main(["alphabeta:2", "random", "--positions", "60"])
    perfect, chance = map(json.loads, capsys.readouterr().out.splitlines())
    assert perfect["solved"] == perfect["gave check"] == perfect["of the checks, mated"] == 1.0
    assert perfect["positions"] == 60
    assert 0.0 < perfect["uniform choice"] < perfect["uniform among checks"] < 1.0
    assert chance["solved"] < 0.2
    for row in (perfect, chance):
        by_piece = [g for name, g in row["groups"].items() if name.startswith("mated by")]
        assert sum(g["positions"] for g in by_piece) == 60
    assert all(g["solved"] == 1.0 for g in perfect["groups"].values())
