"""Worlds of many agents: the world as a whole, what a game tells, and the conformance check."""

from __future__ import annotations

import dataclasses
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, seed_test, state_test

from coterie.envs.faces.aec import AECGame
from coterie.envs.faces.parallel import ParallelGame
from coterie.envs.stepping.jit import kernel
from coterie.envs.testing import CHECKS, FARAMA_WARNINGS, transcript
from coterie.errors import UsageError

from .ring import VERBS, ring, step

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


@pytest.mark.slow
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
