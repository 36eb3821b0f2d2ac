"""What is true of every gridworld in every tick, whatever is configured and played."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.aliases import RUNNING
from coterie.envs import make_game
from coterie.envs.faces.vec import VecEnv
from coterie.envs.gridworld.state import AGENT_KIND, ATTACK, EMPTY, GONE, OBJECT_KIND, OUTSIDE, PAD, SHIELD, USE
from coterie.envs.state import take, to_bytes

AMPLE = 10_000
"""More items than anybody can gather here: nothing overflows."""


@st.composite
def worlds(draw):
    """Fields of a configuration: a small, crowded map with any of the options."""
    height, width = draw(st.integers(5, 14)), draw(st.integers(5, 14))
    room = (height - 2) * (width - 2)
    agents = draw(st.integers(1, min(10, room - 1)))
    left, counts = room - agents, {}
    for name in ("wall", "generator", "converter", "altar", "forge"):
        counts[name] = draw(st.integers(0, max(0, left // 3)))
        left -= counts[name]
    few, flag = st.integers(0, 4), st.booleans()
    forge = {
        "glyph": "f",
        "inputs": {"r1": draw(few), "r2": draw(few)},
        "outputs": {"r3": draw(st.integers(1, 5)), "r1": draw(few)},
        "energy_cost": draw(st.integers(0, 20)),
        "energy_gain": draw(st.integers(0, 50)),
        "reward": draw(st.sampled_from([0.0, 0.25, -1.0])),
        "cooldown": draw(few),
        "stock": draw(st.sampled_from([-1, 0, 1, 5])),
        "hp": draw(few),
    }
    forge["inputs"] = {item: count for item, count in forge["inputs"].items() if count}
    forge["outputs"] = {item: count for item, count in forge["outputs"].items() if count}
    costs = {verb: draw(few) for verb in ("move", "rotate", "use", "attack", "shield", "swap", "gift")}
    modes = [{"mode": "none"}, {"mode": "teams", "size": 2}, {"mode": "families", "size": 3}]
    modes.append({"mode": "relatedness", "size": 2, "normalise": True})
    return {
        "max_steps": 60,
        "objects": {"forge": forge},
        "map": {"height": height, "width": width, "agents": agents, "objects": counts},
        "agent": {
            "energy": draw(st.integers(0, 300)),
            "max_energy": 300,
            "max_items": draw(st.sampled_from([1, 3, AMPLE])),
            "hp": draw(st.integers(1, 3)),
            "freeze": draw(st.integers(0, 8)),
            "upkeep": draw(st.integers(0, 2)),
            "shield_upkeep": draw(st.integers(0, 3)),
            "damage": draw(st.integers(0, 60)),
        },
        "actions": {
            "costs": costs,
            "loot": draw(st.sampled_from(["attack", "use"])),
            "order": draw(st.sampled_from(["shuffled", "fixed"])),
            "attack": draw(flag) or draw(flag),
            "swap": draw(flag) or draw(flag),
        },
        "death": {"energy": draw(flag), "hp": draw(flag), "max_age": draw(st.sampled_from([0, 0, 40]))},
        "observation": {"rotate": draw(flag), "kinship": True, "last_action": draw(flag), "last_reward": draw(flag)},
        "kinship": draw(st.sampled_from(modes)) | {"prestige_every": draw(few)},
    }


def _actions(game, world, rng):
    """Some play anything at all; the others what is legal, by preference what changes something."""
    chosen = np.zeros(game.info.players, np.int32)
    for s in range(game.info.players):
        legal = game.legal_actions(world, 0, s)
        eager = [a for a in legal if a == USE or ATTACK <= a < SHIELD or a > SHIELD]
        if rng.random() < 0.2 or not legal:
            chosen[s] = rng.integers(-2, game.info.num_actions + 2)
        else:
            chosen[s] = rng.choice(eager if eager and rng.random() < 0.6 else legal)
    return chosen


def _check_map(world):
    """``kind`` and ``which`` say the same as the agents and the objects."""
    inner = (slice(PAD, -PAD), slice(PAD, -PAD))
    kind, which = world.kind[0][inner], world.which[0][inner]
    outside = world.kind[0].copy()
    outside[inner] = OUTSIDE
    assert (outside == OUTSIDE).all()
    agents, things = world.agents[0], world.objects[0]
    living = np.flatnonzero(agents["alive"])
    at = (agents["row"][living], agents["col"][living])
    assert (kind[at] == AGENT_KIND).all()
    assert which[at].tolist() == living.tolist()
    there = np.flatnonzero(things["type"] != GONE)
    spots = (things["row"][there], things["col"][there])
    assert kind[spots].tolist() == (OBJECT_KIND + things["type"][there]).tolist()
    assert which[spots].tolist() == there.tolist()
    assert (kind != EMPTY).sum() == len(living) + len(there)  # so nobody and nothing is anywhere else


def _check_agents(world):
    agents, items = world.agents[0], world.items[0]
    assert (agents["energy"] >= 0).all()
    assert (agents["energy"] <= agents["max_energy"]).all()
    assert (items >= 0).all()
    assert (items <= agents["max_items"][:, None]).all()
    dead = ~agents["alive"]
    assert not items[dead].any()
    assert not agents["energy"][dead].any()
    assert not agents["shield"][dead].any()
    assert (agents["hp"][agents["alive"]] > 0).all()
    assert (world.objects[0]["stock"] >= -1).all()


def _check_tick(before, after):
    old, new = before.agents[0], after.agents[0]
    clock = int(after.rules[0]["clock"])
    held = old["alive"] & (old["frozen_until"] >= clock)  # frozen from before this tick
    assert not new["succeeded"][held & new["alive"]].any(), "a frozen agent acted"
    assert (new["facing"] == old["facing"])[held].all()
    assert (new["score"] == old["score"])[held].all()
    attackers = new["succeeded"] & (new["last_action"] >= ATTACK) & (new["last_action"] < SHIELD) & old["alive"]
    hit = old["alive"] & (new["frozen_until"] != old["frozen_until"])
    for s in np.flatnonzero(hit):
        assert (attackers & (np.arange(len(new)) != s)).any(), "an agent was frozen that nobody else attacked"
    assert not (new["alive"] & ~old["alive"]).any(), "somebody rose"
    assert (new["id"] == old["id"]).all()
    # Items come and go by recipes alone; what does not fit and what the dead held is lost.
    things, were = after.objects[0], before.objects[0]
    used = np.flatnonzero(things["busy_until"] != were["busy_until"])
    recipes = after.recipes[0][were["type"][used]]
    total, had = after.items[0].sum(0, dtype=np.int64), before.items[0].sum(0, dtype=np.int64)
    taken, given_ = recipes[:, 0].sum(0, dtype=np.int64), recipes[:, 1].sum(0, dtype=np.int64)
    died = old["alive"] & ~new["alive"]
    assert (total <= had - taken + given_).all(), "items came from nowhere"
    if not died.any():
        assert (total >= had - taken).all(), "items vanished"
        if (new["max_items"] == AMPLE).all():
            assert total.tolist() == (had - taken + given_).tolist(), "items are not conserved"
    assert (were["stock"][used] != 0).all()
    assert ((were["stock"] - things["stock"])[used] == (were["stock"][used] > 0)).all()


@settings(max_examples=40, deadline=None)
@given(worlds(), st.integers(0, 2**32 - 1))
def test_in_every_tick(fields, seed):
    game = make_game("gridworld", **fields)
    world = game.new_state(1)
    game.kernels.reset(world, 0, np.uint64(seed))
    _check_map(world)
    _check_agents(world)
    rng, status = np.random.default_rng(seed), RUNNING
    while status == RUNNING:
        before = take(world)
        rewards = np.zeros(game.info.players, np.float32)
        status = game.kernels.step(world, 0, _actions(game, world, rng), rewards)
        _check_map(world)
        _check_agents(world)
        _check_tick(before, world)
        assert np.isfinite(rewards).all()
        assert np.array_equal(
            world.agents[0]["last_reward"][before.agents[0]["alive"]], rewards[before.agents[0]["alive"]]
        )
        assert not rewards[~before.agents[0]["alive"]].any()
    assert not any(game.legal_actions(world, 0, s) for s in range(game.info.players))


@settings(max_examples=20, deadline=None)
@given(worlds(), st.integers(0, 2**32 - 1))
def test_the_mask_is_exact(fields, seed):
    """Whoever moves alone succeeds exactly if the mask says so; without upkeep nothing comes between."""
    fields["agent"] |= {"upkeep": 0, "shield_upkeep": 0}
    fields["death"] = {}
    game = make_game("gridworld", **fields)
    world, trial = game.new_state(1), game.new_state(1)
    game.kernels.reset(world, 0, np.uint64(seed))
    rng = np.random.default_rng(seed)
    for tick in range(40):
        if tick % 4 == 0:
            s = int(rng.integers(game.info.players))
            frozen = world.agents[0, s]["frozen_until"] > world.rules[0]["clock"]
            mask = game.legal_mask(world, 0, s)
            for action in range(game.info.num_actions):
                for whole, copy in zip(trial, world, strict=True):
                    whole[...] = copy
                alone = np.zeros(game.info.players, np.int32)
                alone[s] = action
                game.kernels.step(trial, 0, alone, np.zeros(game.info.players, np.float32))
                expected = bool(mask[action]) and not frozen
                assert bool(trial.agents[0, s]["succeeded"]) == expected, f"action {action}"
        game.kernels.step(world, 0, _actions(game, world, rng), np.zeros(game.info.players, np.float32))


@settings(max_examples=4, deadline=None)
@given(worlds(), st.integers(0, 2**32 - 1))
def test_threads_and_batches_make_no_difference(fields, seed):
    game = make_game("gridworld", **(fields | {"max_steps": 25}))
    n = 300  # more than one block of rows, so two threads both have work
    one, two = VecEnv(game, n, seed=seed), VecEnv(game, n, seed=seed, num_threads=2)
    for vec in (one, two):
        vec.reset()
        vec.random_rollout(40)
    two.close()
    assert to_bytes(game, one.get_state()) == to_bytes(game, two.get_state())
    assert np.array_equal(one.observation, two.observation)
    alone = VecEnv(game, 1, seed=seed + 17)
    alone.reset()
    vec = VecEnv(game, 20, seed=seed)
    vec.reset()
    for _ in range(30):
        actions = vec.sample_actions().copy()
        _, rewards, *_ = vec.step(actions)
        _, own, *_ = alone.step(actions[17:18])
        assert np.array_equal(rewards[17:18], own)
        assert np.array_equal(vec.observation[17:18], alone.observation)
        assert np.array_equal(vec.action_mask[17:18], alone.action_mask)


@pytest.mark.parametrize("preset", ["a5_25x25", "a20_r4_40x40", "bench_24_48x48"])
def test_the_same_seed_gives_the_same_world(preset):
    game = make_game("gridworld", preset=preset)
    states = [game.new_state(1), game.new_state(2)]
    game.kernels.reset(states[1], 1, np.uint64(9))  # what was there before leaves no trace
    for _ in range(30):
        game.kernels.step(
            states[1], 1, np.full(game.info.players, 1, np.int32), np.zeros(game.info.players, np.float32)
        )
    game.kernels.reset(states[0], 0, np.uint64(4))
    game.kernels.reset(states[1], 1, np.uint64(4))
    for first, second in zip(*states, strict=True):
        if first is not states[0].order:
            assert np.array_equal(first[0], second[1])
