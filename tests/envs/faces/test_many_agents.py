"""Worlds of many agents: actions that fail, deaths, pairs of verb and argument, the world as a whole.

The world of these tests is a ring of cells with food on it. Everybody loses one energy a tick, dies at zero and leaves
the ring. What is not possible fails, and is counted.

The file is longer than most: its first quarter is that world, in which all its tests play.
"""

from __future__ import annotations

import dataclasses
import warnings
from types import SimpleNamespace
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, seed_test, state_test

from coterie.aliases import RUNNING, TERMINATED, TRUNCATED
from coterie.envs.core import Game, GameInfo, GlobalState, Kernels
from coterie.envs.faces.aec import AECGame
from coterie.envs.faces.gym_vector import SeatsVector
from coterie.envs.faces.parallel import ParallelGame
from coterie.envs.faces.vec import VecEnv
from coterie.envs.state import from_bytes, to_bytes
from coterie.envs.stepping.drivers import drivers
from coterie.envs.stepping.jit import kernel
from coterie.envs.stepping.rng import below, mix64, word
from coterie.envs.testing import CHECKS, FARAMA_WARNINGS, transcript
from coterie.envs.words.vec import vec_of
from coterie.errors import IllegalAction, InvalidAction, UsageError

ACTIONS = ("stay", "left", "right", "hit 1", "hit 2", "hit 3")
VERBS = (("stay", (0,)), ("move", (1, 2)), ("hit", (3, 4, 5)))


class Ring(NamedTuple):
    """N rings: cells [N, P] (-1: dead), energy [N, P], failed [N, P], food [N, C], clock [N, 2] (tick, limit)."""

    at: np.ndarray
    energy: np.ndarray
    failed: np.ndarray
    food: np.ndarray
    clock: np.ndarray
    seed: np.ndarray


@kernel
def reset(state, i, seed):
    cells = state.food.shape[1]
    players = state.at.shape[1]
    state.seed[i] = seed
    state.clock[i, 0] = 0
    for c in range(cells):
        state.food[i, c] = word(seed, c) % np.uint64(3) == np.uint64(0)
    for p in range(players):
        state.at[i, p] = p * cells // players
        state.energy[i, p] = 4 + below(word(seed, cells + p), 9)
        state.failed[i, p] = 0


@kernel
def mover(state, i):
    return -1


@kernel
def at(state, i, cell):
    """Who stands there, or -1."""
    for p in range(state.at.shape[1]):
        if state.at[i, p] == cell:
            return p
    return -1


@kernel
def possible(state, i, player, action):
    cells = state.food.shape[1]
    here = state.at[i, player]
    if action == 0:
        return True
    if action <= 2:
        return at(state, i, (here + (1 if action == 2 else cells - 1)) % cells) < 0
    return at(state, i, (here + action - 2) % cells) >= 0


@kernel
def over(state, i):
    if state.clock[i, 0] >= state.clock[i, 1]:
        return True
    for p in range(state.at.shape[1]):  # noqa: SIM110
        if state.at[i, p] >= 0:
            return False
    return True


@kernel
def legal(state, i, player, mask):
    asked = state.at[i, player] >= 0 and not over(state, i)
    for a in range(6):
        mask[a] = asked and possible(state, i, player, a)


@kernel
def step(state, i, actions, rewards):
    cells = state.food.shape[1]
    players = state.at.shape[1]
    for p in range(players):
        if state.at[i, p] < 0 or state.energy[i, p] <= 0:
            continue
        action = actions[p]
        if not possible(state, i, p, action):
            state.failed[i, p] += 1
        elif action >= 3:
            hit = at(state, i, (state.at[i, p] + action - 2) % cells)
            state.energy[i, hit] -= 2
            rewards[p] += np.float32(0.5)
        elif action >= 1:
            state.at[i, p] = (state.at[i, p] + (1 if action == 2 else cells - 1)) % cells
        if state.food[i, state.at[i, p]]:
            state.food[i, state.at[i, p]] = 0
            state.energy[i, p] = min(state.energy[i, p] + 6, 15)
            rewards[p] += np.float32(1)
    state.clock[i, 0] += 1
    state.food[i, below(word(state.seed[i], 1000 + state.clock[i, 0]), cells)] = 1
    living = 0
    for p in range(players):
        if state.at[i, p] >= 0:
            state.energy[i, p] -= 1
            if state.energy[i, p] <= 0:
                state.at[i, p] = -1
                state.energy[i, p] = 0
            else:
                living += 1
    if living == 0:
        return TERMINATED
    return TRUNCATED if state.clock[i, 0] >= state.clock[i, 1] else RUNNING


@kernel
def observe(state, i, player, out):
    """Planes [2 or more, S, S]: energy and food of the cells around, in the middle row; the dead see nothing."""
    planes, side = out.shape[0], out.shape[1]
    cells = state.food.shape[1]
    for k in range(planes):
        for y in range(side):
            for x in range(side):
                out[k, y, x] = 0
    here = state.at[i, player]
    if here < 0:
        return
    for x in range(side):
        cell = (here + x + cells - side // 2) % cells
        out[1, side // 2, x] = state.food[i, cell]
    for q in range(state.at.shape[1]):
        if state.at[i, q] >= 0:
            x = (state.at[i, q] - here + cells + side // 2) % cells
            if x < side:
                out[0, side // 2, x] = state.energy[i, q]


@kernel
def key(state, i):
    total = mix64(np.uint64(state.clock[i, 0]) ^ state.seed[i])
    for p in range(state.at.shape[1]):
        total = mix64(total ^ np.uint64(state.at[i, p] + 1 + 1000 * state.energy[i, p]))
    for c in range(state.food.shape[1]):
        total = mix64(total ^ np.uint64(state.food[i, c]))
    return total


@kernel
def alive(state, i, player):
    return state.at[i, player] >= 0


def describe(state, i, player):
    """Seat, clock, position, energy."""
    return f"Player {player}, tick {state.clock[i, 0]}, cell {state.at[i, player]}, energy {state.energy[i, player]}."


def compact(state, i, player):
    return f"P{player} t{state.clock[i, 0]} c{state.at[i, player]} e{state.energy[i, player]}>"


def ring(players=6, cells=20, ticks=40, planes=2, side=7, pairs=False):
    """The game; ``pairs``: actions are (verb, argument)."""

    def new_state(n):
        clock = np.zeros((n, 2), np.int32)
        clock[:, 1] = ticks
        each = [np.zeros((n, players), np.int32) for _ in range(3)]
        return Ring(*each, np.zeros((n, cells), np.int8), clock, np.zeros(n, np.uint64))

    def parse_action(state, i, text):
        if text not in ACTIONS:
            raise InvalidAction(f"{text!r} is none of {', '.join(ACTIONS)}.")
        return ACTIONS.index(text)

    def read(state, i):
        return {"at": state.at[i].copy(), "food": state.food[i].copy()}

    return Game(
        info=GameInfo(
            name="ring",
            players=players,
            num_actions=6,
            observation_shape=(planes, side, side),
            observation_dtype="uint8",
            observation_high=255,
            max_cycles=ticks,
            simultaneous=True,
            noop=0,
        ),
        kernels=Kernels(reset, mover, legal, step, observe, key, alive=alive),
        new_state=new_state,
        rules="Eat to live.",
        describe=describe,
        compact=compact,
        action_to_text=lambda state, i, action: ACTIONS[action],
        parse_action=parse_action,
        config={
            "players": players,
            "cells": cells,
            "ticks": ticks,
            "planes": planes,
            "side": side,
            "pairs": pairs,
        },
        verbs=VERBS if pairs else (),
        whole=GlobalState(
            {"at": (players,), "food": (cells,)},
            {"at": "int32", "food": "int8"},
            {"at": -1, "food": 0},
            {"at": cells - 1, "food": 1},
            read,
        ),
        tell=lambda state, i: [{"energy": energy} for energy in state.energy[i].tolist()],
    )


# -- illegal actions ---------------------------------------------------------------------------------------------------


def test_noop_is_the_default_where_actions_may_fail():
    env, vec = ParallelGame(ring()), VecEnv(ring(), 2)
    for face in (env.table.limits, vec.limits):
        assert (face.illegal, face.illegal_reward, face.max_cycles) == (3, 0, 2**31 - 1)


def first_illegal(game, state, player):
    return int(np.flatnonzero(game.legal_mask(state, 0, player) == 0)[0])


def test_only_who_erred_loses_its_action():
    env = ParallelGame(ring(), illegal_reward=-0.25)
    env.reset(seed=1)
    wrong = first_illegal(env.game, env.table.state, 1)
    before = env.table.state.at[0].copy()
    rewards = env.step({a: wrong if a == "player_1" else 2 for a in env.agents})[1]
    moved = (env.table.state.at[0] - before) % 20
    assert moved.tolist() == [1, 0, 1, 1, 1, 1]
    assert env.table.state.failed[0].tolist() == [0, 1, 0, 0, 0, 0]
    assert env.table.faults == [0, 1, 0, 0, 0, 0]
    assert rewards["player_1"] in (-0.25, 0.75)


def test_no_answer_is_the_idle_action():
    env = ParallelGame(ring())
    env.reset(seed=1)
    before = env.table.state.at[0].copy()
    env.step(dict.fromkeys(env.agents, None))
    assert env.table.state.failed[0].sum() == 0
    assert np.array_equal(env.table.state.at[0], before)
    assert env.table.faults == [1] * 6


@pytest.mark.parametrize("policy", ["lose", "raise", "resample"])
def test_other_policies_stay_as_they_are(policy):
    env = ParallelGame(ring(), illegal=policy)
    env.reset(seed=1)
    actions = {a: first_illegal(env.game, env.table.state, p) for p, a in enumerate(env.agents)}
    if policy == "raise":
        with pytest.raises(IllegalAction, match="player_0"):
            env.step(actions)
        assert env.table.cycles == 0
        return
    _, _, ended, _, infos = env.step(actions)
    assert all(ended.values()) == (policy == "lose")
    assert env.table.state.failed.sum() == 0
    assert all(info["illegal"] == 1 for info in infos.values())


def test_who_is_refused_turn_by_turn_may_answer_again():
    """At once: when the tick comes, only the last to answer could."""
    env = AECGame(ring(), illegal="raise")
    env.reset(seed=1)
    for p, agent in enumerate(env.possible_agents):
        with pytest.raises(IllegalAction, match=f"of {agent} is not legal"):
            env.step(first_illegal(env.game, env.table.state, p))
        assert env.agent_selection == agent
        env.step(0)
    assert env.table.cycles == 1


# -- deaths ------------------------------------------------------------------------------------------------------------


def random_actions(rng, env):
    return {agent: int(rng.integers(0, 6)) for agent in env.agents}


def test_the_dead_leave_the_parallel_face():
    env = ParallelGame(ring())
    seen, infos = env.reset(seed=3)
    rng = np.random.default_rng(0)
    ended = {}
    for tick in range(1, 41):
        played = list(env.agents)
        seen, rewards, terminations, truncations, infos = env.step(random_actions(rng, env))
        assert list(seen) == list(rewards) == list(terminations) == list(truncations) == list(infos) == played
        lives = env.table.state.at[0] >= 0
        for agent in played:
            p = env.possible_agents.index(agent)
            assert terminations[agent] == (not lives[p])
            assert truncations[agent] == (bool(lives[p]) and tick == 40)
            if terminations[agent]:
                ended[agent] = tick
                assert not seen[agent]["action_mask"].any()
        assert env.agents == [a for p, a in enumerate(env.possible_agents) if lives[p] and tick < 40]
        if not env.agents:
            break
    assert len(set(ended.values())) > 1


def until_somebody_dies(env, seed=3):
    env.reset(seed=seed)
    while len(env.agents) == 6:
        env.step(dict.fromkeys(env.agents, 0))
    assert env.agents
    return next(agent for agent in env.possible_agents if agent not in env.agents)


def test_actions_of_the_departed_are_ignored():
    env = ParallelGame(ring())
    departed = until_somebody_dies(env)
    twin = env.clone()
    env.step(dict.fromkeys(env.agents, 0))
    twin.step({departed: 3, **dict.fromkeys(twin.agents, 0)})
    assert env.get_state().state.at.tolist() == twin.get_state().state.at.tolist()
    with pytest.raises(InvalidAction, match="no agent 'player_9'"):
        env.step({"player_9": 0, **dict.fromkeys(env.agents, 0)})
    with pytest.raises(InvalidAction, match="is missing"):
        env.step(dict.fromkeys(env.agents[1:], 0))


def test_the_dead_leave_the_aec_face_before_the_next_tick():
    env, other = AECGame(ring()), ParallelGame(ring())
    env.reset(seed=3)
    other.reset(seed=3)
    rng = np.random.default_rng(1)
    while other.agents:
        actions = random_actions(rng, other)
        assert env.agents == other.agents
        for agent in other.agents:
            assert env.agent_selection == agent
            env.step(actions[agent])
        _, rewards, terminations, truncations, _ = other.step(actions)
        assert (env.rewards, env.terminations, env.truncations) == (rewards, terminations, truncations)
        for agent in [a for a in rewards if terminations[a] or truncations[a]]:
            assert env.agent_selection == agent
            assert env.last()[1] == rewards[agent]
            with pytest.raises(InvalidAction, match=r"step\(None\)"):
                env.step(0)
            env.step(None)
    assert env.agents == []


@pytest.mark.parametrize("policy", [None, "lose", "resample", "noop"])
@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_batched_and_single_die_alike(policy, mode):
    n, game = 7, ring(ticks=25)
    vec = VecEnv(game, n, seed=40, illegal=policy, illegal_reward=-0.1, autoreset_mode=mode)
    vec.reset()
    envs = [ParallelGame(game, illegal=policy, illegal_reward=-0.1) for _ in range(n)]
    for i, env in enumerate(envs):
        env.reset(seed=40 + i)
    rng = np.random.default_rng(5)
    deaths = 0
    for _ in range(120):
        actions = rng.integers(-1, 6, (n, 6))
        if policy == "lose":
            actions = np.where(rng.random((n, 6)) < 0.99, vec.sample_actions(), actions)
        asleep = vec.status != RUNNING
        obs, rewards, terminated, truncated, info = vec.step(actions)
        for i, env in enumerate(envs):
            if asleep[i]:
                assert mode != "SameStep"
                continue
            seats = [env.possible_agents.index(a) for a in env.agents]
            gone = sorted(set(range(6)) - set(seats))
            chosen = {f"player_{p}": None if actions[i, p] < 0 else int(actions[i, p]) for p in range(6)}
            seen, won, ended, cut, told = env.step(chosen)
            assert list(won.values()) == rewards[i, seats].tolist()
            assert list(ended.values()) == terminated[i, seats].tolist()
            assert list(cut.values()) == truncated[i, seats].tolist()
            assert not (terminated[i, gone] | truncated[i, gone]).any()
            assert not rewards[i, gone].any()
            deaths += int(terminated[i].sum())
            now = info["final_obs"] if info["_final_obs"][i] and mode == "SameStep" else obs
            for p, agent in zip(seats, seen, strict=True):
                assert np.array_equal(now["observation"][i, p], seen[agent]["observation"])
                if env.agents:
                    assert np.array_equal(now["action_mask"][i, p], seen[agent]["action_mask"])
            if env.agents:
                assert [a in env.agents for a in env.possible_agents] == info["alive"][i].tolist()
                assert env.table.faults == vec.get_state(i).illegal[0].tolist()
        if mode == "Disabled":
            vec.reset(mask=vec.status != RUNNING)
        if mode != "NextStep":
            for env in envs:
                if not env.agents:
                    env.reset()
            assert np.array_equal(info["alive"], vec.state.at >= 0)
        else:
            for i, env in enumerate(envs):
                if asleep[i]:
                    env.reset()
    assert deaths > 20 or policy == "lose"


def test_unseen_rollouts_die_alike():
    a, b = (VecEnv(ring(players=24, cells=60), 20, seed=9) for _ in range(2))
    for vec in (a, b):
        vec.reset()
    assert a.random_rollout(57).episodes == b.random_rollout(57, observe=False).episodes
    for name in ("alive", "terminations", "truncations", "rewards", "action_mask", "observation"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_all_sizes_share_one_compilation():
    games = [ring(players=p, cells=2 * p) for p in (2, 5, 24, 300)]
    assert len({id(drivers(game)) for game in games}) == 1
    for game in games:
        vec = VecEnv(game, 3, seed=0)
        vec.reset()
        vec.random_rollout(30)


@pytest.mark.parametrize("way", ["clone", "state", "bytes"])
@pytest.mark.parametrize("face", [AECGame, ParallelGame])
def test_copies_with_some_dead(face, way):
    game = ring()
    for stop in range(1, 90):
        env = face(game)
        env.reset(seed=3)

        def turn(env):
            if face is ParallelGame:
                return env.step(dict.fromkeys(env.agents, 1))
            over = env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
            env.step(None if over else 1)
            return env.rewards, env.terminations, env.truncations, env._cumulative_rewards

        for _ in range(stop):
            if env.agents:
                turn(env)
        if way == "clone":
            twin = env.clone()
        else:
            twin = face(game)
            whole = env.get_state()
            twin.set_state(whole if way == "state" else from_bytes(game, to_bytes(game, whole)))
        assert twin.agents == env.agents
        for _ in range(30):
            if not env.agents:
                break
            first, second = turn(env), turn(twin)
            if face is ParallelGame:
                first, second = first[1:4], second[1:4]
            assert first == second
            assert env.agents == twin.agents
        if not env.agents and stop > 60:
            break


def test_states_of_the_batched_face_with_some_dead():
    vec = VecEnv(ring(), 4, seed=2)
    vec.reset()
    while vec.alive.all() or not vec.terminations.any():
        vec.step(vec.sample_actions())
    other = VecEnv(ring(), 4, seed=99)
    other.set_state(vec.get_state())
    for name in ("alive", "terminations", "truncations", "action_mask", "observation"):
        assert np.array_equal(getattr(vec, name), getattr(other, name)), name
    row = int(np.flatnonzero(vec.terminations.any(1))[0])
    env = ParallelGame(ring())
    env.set_state(vec.get_state(row))
    assert [a in env.agents for a in env.possible_agents] == vec.alive[row].tolist()
    env = AECGame(ring())
    env.set_state(vec.get_state(row))
    died = env.possible_agents[int(np.flatnonzero(vec.terminations[row])[0])]
    assert env.agent_selection == died
    assert env.terminations[died]
    env.step(None)
    assert died not in env.agents


def test_rows_of_the_dead_in_gymnasiums_face():
    env = SeatsVector(VecEnv(ring(), 3, seed=4))
    _, info = env.reset(seed=4)
    assert info["alive"].all()
    ended = np.zeros(18, bool)
    for _ in range(39):
        before = info["alive"]
        obs, rewards, terminated, truncated, info = env.step(np.zeros(18, int))
        assert env.observation_space.contains(obs)
        assert not (terminated & ended).any()
        assert not rewards[ended].any()
        ended = (ended | terminated) & ~np.repeat(info["_final_obs"].reshape(3, 6).any(1), 6)
        assert np.array_equal(info["alive"], ~ended)
        assert not obs["action_mask"][ended].any()
        if info["_final_obs"].any():
            break
    assert (before & ~info["alive"]).any() or terminated.any()


# -- verbs -------------------------------------------------------------------------------------------------------------

PAIRS = [(v, k) for v, (_, numbers) in enumerate(VERBS) for k in range(len(numbers))]


def test_spaces_of_pairs():
    for env in (AECGame(ring(pairs=True)), ParallelGame(ring(pairs=True))):
        assert env.action_space("player_0") == gymnasium.spaces.MultiDiscrete([3, 3])
        env.reset(seed=0)
        seen = env.observe("player_0") if isinstance(env, AECGame) else env.reset(seed=0)[0]["player_0"]
        assert env.observation_space("player_0").contains(seen)
        env.action_space("player_0").sample(seen["action_mask"])


def test_pairs_and_numbers_play_the_same_game():
    pairs, numbers = ParallelGame(ring(pairs=True)), ParallelGame(ring())
    vec = vec_of(ring(pairs=True), 1, seed=6, autoreset_mode="Disabled")
    vec.reset()
    pairs.reset(seed=6)
    numbers.reset(seed=6)
    rng = np.random.default_rng(2)
    kinds = (list, tuple, np.array)
    while numbers.agents:
        chosen = rng.integers(0, 6, 6)
        row = np.array([PAIRS[a] for a in chosen])
        both = [
            pairs.step({a: kinds[p % 3](row[p]) for p, a in enumerate(pairs.possible_agents)}),
            numbers.step({a: int(chosen[p]) for p, a in enumerate(numbers.possible_agents)}),
        ]
        assert both[0][1:4] == both[1][1:4]
        obs, rewards, *_, info = vec.step(row[None])
        for agent, seen in both[0][0].items():
            p, told = numbers.possible_agents.index(agent), both[0][4][agent]
            assert np.array_equal(seen["observation"], both[1][0][agent]["observation"])
            exact = both[1][0][agent]["action_mask"]
            for v, (_, actions) in enumerate(VERBS):
                expected = [exact[actions[k]] if k < len(actions) else 0 for k in range(3)]
                assert told["pair_mask"][v].tolist() == expected
            assert seen["action_mask"][0].tolist() == told["pair_mask"].any(1).tolist()
            assert seen["action_mask"][1].tolist() == told["pair_mask"].any(0).tolist()
            assert np.array_equal(info["pair_mask"][0, p], told["pair_mask"])
            for mine, theirs in zip(obs["action_mask"], seen["action_mask"], strict=True):
                assert np.array_equal(mine[0, p], theirs)
                assert theirs.dtype == np.int8
            assert rewards[0, p] == both[1][1][agent]
    assert vec.status[0] != RUNNING


def test_a_verb_without_such_an_argument_is_illegal():
    env = ParallelGame(ring(pairs=True))
    env.reset(seed=1)
    _, _, _, _, infos = env.step(dict.fromkeys(env.agents, (0, 2)))
    assert [info["illegal"] for info in infos.values()] == [1] * 6
    vec = vec_of(ring(pairs=True), 2, seed=1)
    vec.reset()
    pairs = np.zeros((2, 6, 2), int)
    pairs[0, 0] = (0, 2)
    pairs[1, 5] = (-1, 0)
    assert np.argwhere(vec.step(pairs)[4]["illegal"]).tolist() == [[0, 0], [1, 5]]
    raising = AECGame(ring(pairs=True), illegal="raise")
    raising.reset(seed=1)
    with pytest.raises(IllegalAction):
        raising.step((0, 2))


@pytest.mark.parametrize(
    "action", [(3, 0), (0, 3), (-1, 0), 4, "move", (1, 2, 0), (0.5, 1), [[0, 1]], True, ((1, 2), 3)]
)
def test_bad_pairs(action):
    env = ParallelGame(ring(pairs=True))
    env.reset(seed=0)
    with pytest.raises(InvalidAction):
        env.step({a: action if a == "player_2" else (0, 0) for a in env.agents})
    assert env.table.cycles == 0
    other = AECGame(ring(pairs=True))
    other.reset(seed=0)
    with pytest.raises(InvalidAction):
        other.step(action)
    raw = AECGame(ring(pairs=True), checked=False)
    raw.reset(seed=0)
    raw.step(action)
    assert raw.agent_selection == "player_1"


def test_bad_pairs_in_batches():
    vec = vec_of(ring(pairs=True), 2, seed=0)
    vec.reset()
    for bad in (np.full((2, 6, 2), 3), np.zeros((2, 6, 3), int), np.zeros((2, 6, 2)), np.full((2, 6, 2), -2)):
        with pytest.raises(InvalidAction):
            vec.step(bad)
    vec.step(vec.sample_actions())  # action numbers are taken too
    plain = VecEnv(ring(), 2, seed=0)
    plain.reset()
    with pytest.raises(InvalidAction):
        plain.step(np.zeros((2, 6, 2), int))


def test_pairs_in_gymnasiums_face():
    env = SeatsVector(vec_of(ring(pairs=True), 3, seed=4))
    obs, _ = env.reset(seed=4)
    assert env.observation_space.contains(obs)
    assert env.action_space.shape == (18, 2)
    obs, _, _, _, info = env.step(np.zeros((18, 2), int))
    assert env.observation_space.contains(obs)
    assert info["pair_mask"].shape == (18, 3, 3)
    assert env.observation_space.contains(info["final_obs"])
    with pytest.raises(InvalidAction, match="18 rows"):
        env.step(np.zeros((18, 3), int))


def test_pairs_and_copies():
    vec = vec_of(ring(pairs=True), 4, seed=3)
    vec.reset()
    twin = vec.clone()
    vec.step(vec.sample_actions())
    masks = [part.copy() for part in (*twin.reset(mask=[])[0]["action_mask"], twin._info["pair_mask"])]
    twin.step(twin.sample_actions())
    assert np.array_equal(twin._info["pair_mask"], vec._info["pair_mask"])
    assert not np.array_equal(masks[2], twin._info["pair_mask"])
    env = AECGame(ring(pairs=True))
    env.reset(seed=3)
    env.step((0, 0))
    assert env.clone().infos["player_1"]["pair_mask"].tolist() == env.infos["player_1"]["pair_mask"].tolist()


# -- the world as a whole, and what a game tells -----------------------------------------------------------------------


@pytest.mark.parametrize("face", [AECGame, ParallelGame])
def test_the_whole_world(face):
    env = face(ring())
    with pytest.raises(UsageError, match="reset"):
        env.state()
    env.reset(seed=0)
    whole = env.state()
    assert env.state_space is env.state_space
    assert env.state_space.contains(whole)
    assert whole["at"].tolist() == env.table.state.at[0].tolist()
    whole["at"][:] = 0
    assert env.state()["at"].tolist() != whole["at"].tolist()
    twin = env.clone()
    assert twin.state_space.contains(twin.state())


@pytest.mark.parametrize("face", [AECGame, ParallelGame])
def test_a_game_without_a_view_of_the_whole(face):
    env = face(dataclasses.replace(ring(), whole=None))
    env.reset(seed=0)
    with pytest.raises(UsageError, match="ring-v0 has no view of its whole state"):
        env.state()
    with pytest.raises(AttributeError, match="ring-v0 has no view of its whole state"):
        _ = env.state_space
    assert not hasattr(env, "state_space")


def test_what_a_game_tells_is_in_the_infos():
    env, other = ParallelGame(ring()), AECGame(ring())
    _, infos = env.reset(seed=3)
    other.reset(seed=3)
    while env.agents:
        energy = env.table.state.energy[0].tolist()
        assert [infos[a]["energy"] for a in env.agents] == [energy[env.possible_agents.index(a)] for a in env.agents]
        for _ in range(len(env.agents)):
            assert {a: told["energy"] for a, told in other.infos.items()} == {a: infos[a]["energy"] for a in env.agents}
            other.step(0)
        _, _, _, _, infos = env.step(dict.fromkeys(env.agents, 0))
        while other.agents and (other.terminations[other.agent_selection] or other.truncations[other.agent_selection]):
            other.step(None)


@pytest.mark.parametrize("pairs", [False, True])
def test_everything_passes_pettingzoos_tests(pairs):
    game = ring(pairs=pairs)

    def env(render_mode=None, max_cycles=None):
        return AECGame(game, render_mode=render_mode, max_cycles=max_cycles)

    def parallel_env(render_mode=None, max_cycles=None):
        return ParallelGame(game, render_mode=render_mode, max_cycles=max_cycles)

    with warnings.catch_warnings():
        for message in FARAMA_WARNINGS:
            warnings.filterwarnings("ignore", message=message)
        api_test(env(), num_cycles=300)
        api_test(AECGame(game, checked=False), num_cycles=300)
        seed_test(env, num_cycles=100)
        parallel_api_test(parallel_env(), num_cycles=300)
        parallel_seed_test(parallel_env, num_cycles=100)
        max_cycles_test(SimpleNamespace(env=env, parallel_env=parallel_env))
        state_test(env(), parallel_env(), num_cycles=20)


# -- the conformance check ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("pairs", [False, True])
def test_conformance(check, pairs):
    CHECKS[check](ring(players=12, cells=40, ticks=60, pairs=pairs))


def with_kernels(**kernels):
    game = ring()
    return dataclasses.replace(game, kernels=game.kernels._replace(**kernels))


@kernel
def step_that_pays_the_dead(state, i, actions, rewards):
    status = step(state, i, actions, rewards)
    for p in range(state.at.shape[1]):
        if state.at[i, p] < 0:
            rewards[p] += np.float32(1)
    return status


@kernel
def step_that_raises_the_dead(state, i, actions, rewards):
    status = step(state, i, actions, rewards)
    if state.clock[i, 0] == 20 and state.at[i, 0] < 0:
        state.at[i, 0] = 0
        state.energy[i, 0] = 5
    return status


@kernel
def legal_for_the_dead(state, i, player, mask):
    for a in range(6):
        mask[a] = a == 0 and state.clock[i, 0] < state.clock[i, 1]


@pytest.mark.parametrize(
    ("verb", "wrong", "words"),
    [
        ("step", step_that_pays_the_dead, "is paid"),
        ("step", step_that_raises_the_dead, "back from the dead"),
        ("legal", legal_for_the_dead, "a dead player has legal actions"),
    ],
)
def test_wrong_deaths_are_found(verb, wrong, words):
    with pytest.raises(AssertionError, match=words):
        CHECKS["world"](with_kernels(**{verb: wrong}))


def test_wrong_verbs_views_and_infos_are_found():
    game, whole = ring(pairs=True), ring().whole
    shared = np.zeros(6, np.int32)
    for broken, words in (
        (dataclasses.replace(game, verbs=VERBS[:2]), "there are 6 actions"),
        (dataclasses.replace(game, verbs=(*VERBS, ("again", (0,)))), "several names"),
        (dataclasses.replace(game, tell=lambda state, i: [{"energy": 1}] * 6), "twice"),
        (
            dataclasses.replace(game, tell=lambda state, i: [{"at": state.at[i, 0]} for _ in range(6)]),
            "other than plain data",
        ),
        (dataclasses.replace(game, tell=lambda state, i: [{"illegal": 1} for _ in range(6)]), "overwrites"),
        (dataclasses.replace(game, tell=lambda state, i: []), "one dictionary for each"),
        (
            dataclasses.replace(game, whole=dataclasses.replace(whole, high={"at": 0, "food": 0})),
            "outside of its space",
        ),
        (
            dataclasses.replace(
                game, whole=dataclasses.replace(whole, read=lambda s, i: {"at": shared, "food": s.food[i]})
            ),
            "itself, not a copy",
        ),
    ):
        with pytest.raises(AssertionError, match=words):
            CHECKS["world"](broken)


def test_transcripts_of_worlds_are_short():
    told = transcript(ring(players=24, cells=80, ticks=5000)).splitlines()
    assert sum(line.startswith("# seed") for line in told) == 2
    assert 100 < len(told) < 600
    assert told == transcript(ring(players=24, cells=80, ticks=5000)).splitlines()
