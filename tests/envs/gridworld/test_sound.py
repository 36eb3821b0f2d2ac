"""Rows from outside: what no play leads to is refused before a kernel sees it, and what is let in can be played."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import coterie
from coterie.benchmarks.gridworld_forged import Forger, besiege
from coterie.envs import make_game, make_vec
from coterie.envs.gridworld.state import AGENT_KIND, EMPTY, PAD
from coterie.envs.state import from_bytes, to_bytes
from coterie.errors import StateError

PRESET = "a3_9x9"


def played(**fields):
    vec = make_vec("gridworld", 2, preset=PRESET, seed=3, **fields)
    vec.reset()
    vec.random_rollout(12)
    return vec


def empty_cell(world):
    row, column = np.argwhere(world.kind[1, PAD:-PAD, PAD:-PAD] == EMPTY)[0]
    return int(row), int(column)


def move(world):
    world.agents["row"][1, 0], world.agents["col"][1, 0] = empty_cell(world)


def show_twice(world):
    row, column = empty_cell(world)
    world.kind[1, row + PAD, column + PAD], world.which[1, row + PAD, column + PAD] = AGENT_KIND, 0


def put(leaf, field, at, value):
    def change(world):
        column = getattr(world, leaf)[field] if field else getattr(world, leaf)
        column[at] = value

    return change


FORGED = [
    (put("agents", "facing", (1, 2), 4), r"agents.facing\[2\] is 4; it may be 0 to 3"),
    (put("agents", "row", (1, 0), -1), r"agents.row\[0\] is -1; it may be 0 to 8"),
    (put("agents", "row", (1, 0), 9), r"agents.row\[0\] is 9; it may be 0 to 8"),
    (put("agents", "label", (1, 1), 3), r"agents.label\[1\] is 3; it may be -1 to 2"),
    (put("agents", "last_action", (1, 1), 22), r"agents.last_action\[1\] is 22; it may be -1 to 21"),
    (put("agents", "last_reward", (1, 1), np.nan), r"agents.last_reward\[1\] is nan"),
    (put("agents", "max_energy", (1, 1), 251), r"agents.max_energy\[1\] is 251; it must be 250"),
    (put("agents", "energy", (1, 1), 251), "agents.energy is not from 0 to max_energy"),
    (put("agents", "id", (1, 1), 2), "agents.id is neither the slot's number"),
    (put("agents", "alive", (1, 1), False), "dead"),
    (put("agents", "frozen_until", (1, 1), 2**30), "agents.frozen_until is later than the clock"),
    (put("items", None, (1, 0, 0), 6), "items are not from 0 to the agent's max_items"),
    (put("items", None, (1, 0, 0), -1), "items are not from 0"),
    (put("objects", "type", (1, 0), 4), "objects.type is neither"),
    (put("objects", "type", (1, 0), 3), "objects.hp|kind is 2"),
    (put("objects", "row", (1, 0), 5), "kind is 2 . a type where which names no object"),
    (put("objects", "busy_until", (1, 0), 2**30), "objects.busy_until is later"),
    (put("kind", None, (1, 0, 0), 2), "kind is 255 on the map, or something else outside it"),
    (put("kind", None, (1, PAD + 4, PAD + 4), 99), "kind is neither 0"),
    (put("types", "cooldown", (1, 1), 77), r"types.cooldown\[1\] is 77; it must be 5"),
    (put("types", "plane", (1, 1), 999), r"types.plane\[1\] is 999"),
    (put("rules", "terrain", 1, 7), "rules.terrain is 7; it must be 0"),
    (put("rules", "clock", 1, 41), "rules.clock is 41; it may be 0 to 40"),
    (put("regions", "height", (1, 0), 500), r"regions.height\[0\] is 500; it must be 9"),
    (put("counts", None, (1, 0, 0), 30000), r"counts\[0, 0\] is 30000; it must be 2"),
    (put("related", None, (1, 0, 0), np.inf), r"related\[0, 0\] is inf"),
    (move, "kind is 1 where which names no living agent that stands there"),
    (show_twice, "kind is 1 where which names no living agent"),
]


@pytest.mark.parametrize(("change", "message"), FORGED, ids=range(len(FORGED)))
def test_forged_worlds_are_refused_by_name(change, message):
    vec = played()
    forged = vec.get_state()
    change(forged.state)
    before = to_bytes(vec.game, vec.get_state())
    with pytest.raises(StateError, match=f"Row 1 is no position of gridworld-v0: .*({message})"):
        vec.set_state(forged)
    with pytest.raises(StateError, match=message):
        from_bytes(vec.game, to_bytes(vec.game, forged))
    assert to_bytes(vec.game, vec.get_state()) == before
    change(vec.state)
    with pytest.raises(StateError, match=message):
        pickle.loads(pickle.dumps(vec))


def test_truth_values_are_0_or_1():
    vec = played()
    forged = vec.get_state()
    forged.state.agents["shield"].view(np.uint8)[1, 2] = 2
    with pytest.raises(StateError, match=r"agents.shield\[2\] is 2"):
        vec.set_state(forged)


RANGES = {
    "kinship.share": [0.3, 0.3],
    "trait.max_energy": [10, 400],
    "objects.*.cooldown": [0, 9],
    "agent.freeze": [1, 3],
}
KINDS = [
    {},
    {"kinship": {"mode": "relatedness", "size": 2}, "randomize": RANGES},
    {"kinship": {"mode": "groups", "labels": [0, 1, 0], "pct": [0.5, 1.0]}, "death": {"hp": True, "energy": True}},
    {"kinship": {"mode": "families", "size": 2}, "actions": {"loot": "use"}, "slots": 5},
    {"kinship": {"mode": "matrix", "matrix": [[1, 1, 0], [0, 1, 0], [1, 1, 1]]}},
]


@pytest.mark.parametrize("fields", KINDS, ids=range(len(KINDS)))
def test_sieges(fields):
    """Many forged worlds through every door; those that are sound are played, told and let in again."""
    counted = besiege(make_game("gridworld", preset=PRESET, **fields), 700, seed=1, knocks=6)
    assert 30 < counted["in"] < counted["rows"] / 2


@pytest.mark.parametrize("fields", KINDS, ids=range(len(KINDS)))
def test_what_play_leads_to_is_let_in(fields):
    vec = make_vec("gridworld", 8, preset=PRESET, seed=0, **fields)
    vec.set_state(vec.game.new_state(8))  # never reset: nobody lives
    vec.reset()
    for _ in range(12):
        vec.random_rollout(9)
        vec.set_state(vec.get_state())


def test_a_forger_repeats_itself():
    worlds = []
    for _ in range(2):
        state = played().state
        Forger(7).forge(type(state)(*(leaf[:1] for leaf in state)))
        worlds.append(state)
    assert all(np.array_equal(a.view(np.uint8), b.view(np.uint8)) for a, b in zip(*worlds, strict=True))


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_other_doors(api):
    env = coterie.make("gridworld", api=api, preset=PRESET)
    env.reset(seed=0)
    forged = env.get_state()
    forged.state.agents["col"][0, 0] = 77
    for door in (lambda: env.set_state(forged), lambda: env.reset(options={"state": forged.state})):
        with pytest.raises(StateError, match=r"agents.col\[0\] is 77; it may be 0 to 8"):
            door()
