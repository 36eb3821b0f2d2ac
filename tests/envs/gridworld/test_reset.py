"""What an episode begins with: things placed, ranges drawn, slots filled; and the key of a world."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.envs import make_game, make_vec
from coterie.envs.gridworld.state import GONE, PAD, UP
from coterie.errors import StateError

from .scenes import NOOP, rotate


def test_everything_is_placed():
    game = make_game("gridworld")
    world = game.new_state(3)
    for i in range(3):
        game.kernels.reset(world, i, np.uint64(i))
        things = world.objects[i]
        assert np.bincount(things["type"][things["type"] != GONE]).tolist() == [144 + 188, 40, 20, 10]
        assert world.agents[i]["alive"].all()
    assert not np.array_equal(world.kind[0], world.kind[1])


FULL = {"wall": 5, "generator": 0, "converter": 0, "altar": 10}


def test_full_maps_are_filled_to_the_last_cell():
    game = make_game("gridworld", map={"height": 7, "width": 7, "agents": 10, "objects": FULL})
    world = game.new_state(1)
    for seed in range(50):
        game.kernels.reset(world, 0, np.uint64(seed))
        assert (world.kind[0, PAD:-PAD, PAD:-PAD] != 0).all()


def test_regions_take_their_cells_from_the_map():
    corner = {"top": 1, "left": 1, "height": 4, "width": 5, "agents": 6, "objects": {"altar": 14}}
    here = {"height": 12, "width": 12, "agents": 2, "objects": FULL | {"wall": 60, "altar": 0}, "regions": [corner]}
    game = make_game("gridworld", map=here)
    world = game.new_state(1)
    for seed in range(20):
        game.kernels.reset(world, 0, np.uint64(seed))
        inside = world.kind[0, PAD + 1 : PAD + 5, PAD + 1 : PAD + 6]
        assert sorted(inside.ravel().tolist()) == [1] * 6 + [5] * 14


def test_ranges():
    ranges = {
        "agent.energy": [50, 60],
        "trait.max_items": [3, 9],
        "objects.altar.energy_cost": [50, 250],
        "objects.*.cooldown": [2, 10],
        "kinship.share": [0.25, 0.5],
    }
    game = make_game("gridworld", preset="a20_40x40", randomize=ranges, kinship={"mode": "teams", "size": 3})
    world = game.new_state(1)
    met = {"energy": set(), "items": set(), "cost": set(), "cooldowns": set(), "share": set()}
    for seed in range(60):
        game.kernels.reset(world, 0, np.uint64(seed))
        met["energy"] |= set(world.agents[0]["energy"].tolist())
        met["items"] |= set(world.agents[0]["max_items"].tolist())
        met["cost"].add(int(world.types[0, 3]["energy_cost"]))
        met["cooldowns"] |= set(world.types[0, 1:]["cooldown"].tolist())
        met["share"].add(float(world.pct[0, 0]))
        assert world.types[0, 0]["cooldown"] == 0
    assert met["energy"] == set(range(50, 61))
    assert met["items"] == set(range(3, 10))
    assert 50 <= min(met["cost"]) < 90 < 200 < max(met["cost"]) <= 250
    assert met["cooldowns"] == set(range(2, 11))
    assert 0.25 <= min(met["share"]) < 0.3 < 0.45 < max(met["share"]) <= 0.5


def test_slots_beyond_the_agents_are_nobody():
    game = make_game("gridworld", preset="a5_25x25", slots=8)
    world = game.new_state(1)
    game.kernels.reset(world, 0, np.uint64(1))
    assert world.agents[0]["alive"].tolist() == [True] * 5 + [False] * 3
    assert world.agents[0]["id"].tolist() == [0, 1, 2, 3, 4, -1, -1, -1]
    assert [bool(game.kernels.alive(world, 0, s)) for s in (0, 7)] == [True, False]
    assert game.legal_actions(world, 0, 7) == []


def test_keys():
    game = make_game("gridworld", preset="a5_25x25")
    world = game.new_state(2)
    for i in range(2):
        game.kernels.reset(world, i, np.uint64(7))
    assert game.key(world, 0) == game.key(world, 1)
    rewards = np.zeros(5, np.float32)
    for i, action in ((0, rotate(UP)), (1, NOOP)):  # everybody looks up already
        game.kernels.step(world, i, np.full(5, action, np.int32), rewards)
    assert game.key(world, 0) == game.key(world, 1)
    for change in (("agents", "energy"), ("agents", "facing"), ("objects", "hp"), ("objects", "busy_until")):
        getattr(world, change[0])[0, 2][change[1]] += 1
        assert game.key(world, 0) != game.key(world, 1)
        getattr(world, change[0])[0, 2][change[1]] -= 1
    game.kernels.step(world, 0, np.full(5, NOOP, np.int32), rewards)
    assert game.key(world, 0) != game.key(world, 1)


@pytest.mark.parametrize(
    "other", [{}, {"observation": {"kinship": True}}, {"observation": {"last_action": True}}], ids=str
)
def test_worlds_that_are_seen_in_another_way_are_refused(other):
    """Their arrays are as large, but what is seen of them is not: kernels would write beyond the observations."""
    small = make_vec("gridworld-v0", 1, preset="a3_11x11", observation={"height": 5, "width": 5})
    large = make_vec("gridworld-v0", 1, preset="a3_11x11", **other)
    for vec in (small, large):
        vec.reset(seed=0)
    before = small.get_state()
    for foreign in (large.get_state(), large.state):
        with pytest.raises(StateError, match="another configuration"):
            small.set_state(foreign)
        with pytest.raises(StateError, match="another configuration"):
            small.reset(options={"state": foreign})
    small.step(small.sample_actions())
    small.set_state(before)
    assert small.state.rules["clock"] == 0
