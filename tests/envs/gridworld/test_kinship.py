"""Who is paid for what an altar gives, in every mode of kinship."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from coterie.envs import make_game, make_vec
from coterie.envs.gridworld.config.sections import Sharing
from coterie.errors import UsageError

from .scenes import NOOP, USE, Scene

FOUR = "aa..\n@@@@"


def _paid(kinship, **config):
    scene = Scene(FOUR, kinship=kinship, **config)
    return scene, scene.tick(USE, NOOP, NOOP, NOOP).tolist()


def test_teams():
    scene, paid = _paid({"mode": "teams", "size": 2, "share": 0.5})
    assert paid == [0.75, 0.25, 0, 0]
    assert scene.world.agents[0]["label"].tolist() == [0, 0, 1, 1]
    assert scene.world.agents[0]["last_reward"].tolist() == paid


def test_teams_by_label_and_groups():
    _, paid = _paid({"mode": "teams", "labels": [0, 1, 0, 0], "share": 0.75})
    assert paid == [0.5, 0, 0.25, 0.25]
    _, paid = _paid({"mode": "groups", "labels": [1, 0, 1, -1], "pct": [0.0, 1.0]})
    assert paid == [0.5, 0, 0.5, 0]


def test_families_are_drawn_anew():
    partitions = set()
    for seed in range(30):
        scene = Scene(FOUR, seed, kinship={"mode": "families", "size": 2, "share": 1.0})
        labels = scene.world.agents[0]["label"].tolist()
        assert sorted(labels) == [0, 0, 1, 1]
        partitions.add(tuple(label == labels[0] for label in labels))
        paid = scene.tick(USE).tolist()
        assert paid == [0.5 * (label == labels[0]) for label in labels]
    assert len(partitions) == 3


@pytest.mark.parametrize("kinship", [{"mode": "families", "size": 2}, {"mode": "relatedness", "size": 3}])
def test_families_change_nothing_else(kinship):
    """The same seed gives the same map and the same ticks, whoever shares with whom."""
    worlds = []
    for kin in ({"mode": "none"}, kinship):
        vec = make_vec("gridworld", 3, preset="a5_25x25", kinship=kin, max_steps=50)
        vec.reset(seed=5)
        actions = np.random.default_rng(0)
        for _ in range(60):  # into the second episode
            vec.step(actions.integers(0, 22, (3, 5)))
        worlds.append(vec.state)
    one, other = worlds
    assert (one.rules["draws"] == other.rules["draws"]).all()
    for name in ("kind", "objects", "items"):
        assert (getattr(one, name) == getattr(other, name)).all()
    for name in ("row", "col", "facing", "energy", "frozen_until", "score"):
        assert (one.agents[name] == other.agents[name]).all()
    assert (other.agents["label"] >= 0).all()


def test_matrix_rows_are_normalised():
    rows = [[1, 1, 0, 0], [2, 0, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1]]
    _, paid = _paid({"mode": "matrix", "matrix": rows})
    assert paid == [0.5, 1.0, 0.0, 0.25]
    _, paid = _paid({"mode": "matrix", "matrix": rows, "normalise": False})
    assert paid == [1.0, 2.0, 0.0, 1.0]


OWN = {
    "labels": ([0, 0, 1, 1], {"teams", "groups"}),
    "pct": ([0.5], {"groups"}),
    "matrix": (np.eye(4).tolist(), {"matrix"}),
    "pedigree": ([[k, -1, -1] for k in range(4)], {"relatedness"}),
    "normalise": (False, {"matrix", "relatedness"}),
}


@pytest.mark.parametrize("mode", [mode.name.lower() for mode in Sharing])
@pytest.mark.parametrize("field", OWN)
def test_a_field_that_the_mode_ignores_is_refused(field, mode):
    given, modes = OWN[field]
    needed = {"groups": {"labels": [0] * 4, "pct": [1, 1]}, "matrix": {"matrix": np.eye(4).tolist()}}
    told = rf"kinship\.{field} is .*, but kinship\.mode is '{mode}', which ignores it"
    with contextlib.nullcontext() if mode in modes else pytest.raises(UsageError, match=told):
        make_game("gridworld", map={"agents": 4}, kinship={**needed.get(mode, {}), "mode": mode, field: given})


def test_relatedness():
    pedigree = [[4, -1, -1], [5, -1, -1], [0, 4, 5], [1, 4, 5], [2, 4, -1], [3, 0, -1]]
    scene, paid = _paid({"mode": "relatedness", "pedigree": pedigree})
    assert paid == [1.0, 0.5, 0.25, 0.5]
    assert scene.world.agents[0]["mother"].tolist() == [4, 4, 4, 0]
    _, paid = _paid({"mode": "relatedness", "size": 4})
    assert paid == [1.0, 0.5, 0.5, 0.5]


def test_prestige():
    scene, paid = _paid({"prestige_every": 3})
    assert paid == [1, 0, 0, 0]
    assert scene.tick().tolist() == [0, 0, 0, 0]
    assert scene.tick().tolist() == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])


def test_the_dead_keep_what_they_earned():
    scene = Scene(
        "aa..\n@@@@",
        kinship={"mode": "teams", "size": 4, "share": 1.0},
        death={"energy": True},
        agent={"upkeep": 1},
    )
    scene.agent(1)["energy"] = 1
    scene.agent(0)["energy"] = 200
    assert scene.tick(USE, USE).tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])
