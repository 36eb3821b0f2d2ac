"""Worlds of many agents: actions that fail, deaths, pairs of verb and argument, the world as a whole.

The world of these tests is a ring of cells with food on it. Everybody loses one energy a tick, dies at zero and leaves
the ring. What is not possible fails, and is counted.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, seed_test

from coterie.aliases import RUNNING, TERMINATED, TRUNCATED
from coterie.envs.aec import AECGame
from coterie.envs.core import Game, GameInfo, GlobalState, Kernels
from coterie.envs.drivers import drivers
from coterie.envs.jit import kernel
from coterie.envs.parallel import ParallelGame
from coterie.envs.rng import below, mix64, word
from coterie.envs.state import from_bytes, to_bytes
from coterie.envs.testing import FARAMA_WARNINGS
from coterie.envs.vec import VecEnv
from coterie.errors import IllegalAction, InvalidAction

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
            "ring", 0, players, 6, (planes, side, side), "uint8", 0, 255, max_cycles=ticks, simultaneous=True, noop=0
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
        tell=lambda state, i, player: {"energy": int(state.energy[i, player])},
    )


# -- illegal actions ---------------------------------------------------------------------------------------------------


def test_noop_is_the_default_where_actions_may_fail():
    env, vec = ParallelGame(ring()), VecEnv(ring(), 2)
    for face in (env.table.limits, vec._limits):
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


def test_deaths_pass_pettingzoos_tests():
    with warnings.catch_warnings():
        for message in FARAMA_WARNINGS:
            warnings.filterwarnings("ignore", message=message)
        api_test(AECGame(ring()), num_cycles=300)
        parallel_api_test(ParallelGame(ring()), num_cycles=300)
        seed_test(lambda: AECGame(ring()), num_cycles=200)
