"""Conformance checks of games of words, which ``check_game`` runs instead of the checks on kernels.

Each check raises AssertionError.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import pickle
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...aliases import RUNNING
from ...errors import ActionError
from ..faces.aec import AECGame
from ..faces.parallel import ParallelGame
from ..registry import list_envs
from ..state import from_bytes, to_bytes
from ..words import TextGame
from ..words.core import LONGEST
from ..words.vec import TextVec

__all__ = ["FARAMA_WARNINGS", "check_words"]

FARAMA_WARNINGS = (
    "Observation is not a NumPy array",
    "Observation is not NumPy array",
    "Observation numpy array is all zeros",
    "Observation is a single number",
    "Observation has more than 3 dimensions",
    "Action mask numpy array is all zeros",
    "Action mask is not a NumPy array",
    "Action space for each agent probably should be",
    "State space for each environment probably should be",
    "State is not NumPy array",
    "Observation space for each agent probably should be",
    "The observation contains negative numbers",
    "Agent's minimum observation space value",
    "Agent's maximum observation space value",
    ".* ignores the reset option 'options'",
    "The old environment creation API has been deprecated",
    "We recommend agents to be named",
)
"""Warnings of PettingZoo's test functions about behaviour that its documentation describes."""


class _Told(str):
    """A str with ``dtype``, which PettingZoo's api_test reads from an observation."""

    dtype = np.dtype(str)


class _AEC(AECGame):
    """For PettingZoo's api_test."""

    def observe(self, agent: str) -> Any:
        return _Told(super().observe(agent))


def check_words(game: TextGame) -> None:
    """Every check of a game of words."""
    for check in (_check_rules, _check_messages, _check_copies, _check_faces, _check_pettingzoo):
        check(game)


def _play(game: TextGame, seed: int) -> Iterator[tuple[TextVec, list[Any], Any]]:
    """Random play: (one game, next messages, rewards of the last turn)."""
    vec = TextVec(game, seed=seed, autoreset_mode="Disabled", illegal="raise")
    vec.reset(seed=seed)
    rewards, turn = None, 0
    while vec.status[0] == RUNNING:
        messages = vec.sample_actions()
        yield vec, messages, rewards
        rewards = vec.step(messages)[1]
        turn += 1
        assert turn <= game.info.max_cycles, f"the game goes on after max_cycles={game.info.max_cycles}"
    yield vec, [None], rewards


def _check_rules(game: TextGame) -> None:
    """Seats asked, texts and rewards are valid; states are plain data; reading changes nothing."""
    for seed in range(20):
        for vec, messages, rewards in _play(game, seed):
            row = vec.state[0]
            assert json.loads(json.dumps(row)) == row, f"a state changes in a round trip through JSON: {row}"
            before = copy.deepcopy(row)
            asked = list(game.asked(row))
            assert len(asked) == len(set(asked)), f"a seat is asked twice: {asked}"
            if vec.status[0] == RUNNING:
                assert asked, "no seat is asked, but the game is running"
                assert game.info.simultaneous or len(asked) == 1, f"the game is turn-based, but asks {asked}"
                said = messages[0] if game.info.simultaneous else {asked[0]: messages[0]}
                for p in asked:
                    game.read(vec.state, 0, p, said[p])
            else:
                assert not asked, f"{asked} are asked after the end"
            for p in range(game.info.players):
                for face in (game.describe, game.compact):
                    told = face(vec.state, 0, p)
                    assert isinstance(told, str), f"{face} returns {told!r}, not a text"
                    assert 0 < len(told) <= LONGEST, f"{face} returns {len(told)} characters, not 1 to {LONGEST}"
            told_all = game.tell(vec.state, 0) if game.tell else [{}] * game.info.players
            assert len(told_all) == game.info.players, "not every seat has an info"
            assert json.loads(json.dumps(told_all)) == told_all, f"infos are not plain data: {told_all}"
            assert game.key(vec.state, 0) == game.key([copy.deepcopy(row)], 0), "key is not a function of the state"
            assert row == before, "reading a state changed it"
            assert rewards is None or np.isfinite(rewards).all(), f"rewards are not finite: {rewards}"


def _check_messages(game: TextGame) -> None:
    """Invalid messages are refused and counted and change nothing; each policy does what it says."""
    bad: tuple[Any, ...] = (None, 7, b"x", "x" * (game.max_length + 1), "\x00", "\x1b[2J", "\ud800", "a\x7fb")
    bad += ("",) if game.min_length else ()
    for policy in ("lose", "raise", "resample", "noop"):
        for message in bad:
            vec = TextVec(game, seed=4, autoreset_mode="Disabled", illegal=policy)
            vec.reset()
            before, asked = copy.deepcopy(vec.state), list(game.asked(vec.state[0]))
            said = vec.sample_actions()
            wrong = asked[0]
            if game.info.simultaneous:
                said[0][wrong] = message
            else:
                said[0] = message
            raised = False
            try:
                rewards = vec.step(said)[1]
            except ActionError:
                raised = True
            assert raised == (policy == "raise"), f"{message!r} under the policy {policy} raised: {raised}"
            if raised:
                assert vec.state == before, f"{message!r} changed the game, though it raised"
                continue
            assert vec.faults[0, wrong] == 1, f"{message!r} is not counted as illegal"
            assert vec.faults.sum() == 1, "another player's message is counted as illegal"
            if policy == "lose":
                assert vec.status[0] != RUNNING, f"{message!r} did not end the game"
                expected = [-1.0 if p == wrong else 0.0 for p in range(game.info.players)]
                assert rewards[0].tolist() == expected, f"{message!r} paid {rewards[0].tolist()}"
            if policy == "noop":
                assert vec.state == before, f"{message!r} changed the game under noop"
                assert vec.status[0] == RUNNING, f"{message!r} ended the game under noop"


def _cycle(env: AECGame, seed: int, turn: int) -> Any:
    """One step with a random message; returns everything observed."""
    seen = env.last()
    message = None
    if not (seen[2] or seen[3]):
        seat = env.possible_agents.index(env.agent_selection)
        assert isinstance(env.game, TextGame)
        asked = seat in env.game.asked(env.table.state[0])
        message = env.game.sample(env.table.state[0], seat, np.random.default_rng([seed, turn])) if asked else ""
    first = (env.agent_selection, copy.deepcopy(seen), message)
    env.step(message)
    return (*first, dict(env.rewards), dict(env.terminations), dict(env.truncations), list(env.agents))


def _through_bytes(game: TextGame, env: AECGame) -> AECGame:
    other = AECGame(game)
    other.reset(seed=99)
    blob = to_bytes(game, env.get_state())
    assert to_bytes(game, from_bytes(game, blob)) == blob, "a snapshot changes in a round trip through bytes"
    other.set_state(blob)
    return other


def _check_copies(game: TextGame) -> None:
    """The same seed gives the same games; copies by clone, deepcopy, pickle and bytes are equal and independent."""
    ways: list[Callable[[AECGame], AECGame]] = [AECGame.clone, copy.deepcopy, lambda e: _through_bytes(game, e)]
    if game.info.id in list_envs():
        ways.append(lambda e: pickle.loads(pickle.dumps(e)))
    for way in ways:
        for stop in range(6):
            env, again = AECGame(game), AECGame(game)
            for one in (env, again):
                one.reset(seed=3)
            for turn in range(stop):
                if env.agents:
                    assert _cycle(env, 3, turn) == _cycle(again, 3, turn), f"the games differ in cycle {turn}"
            twin = way(env)
            for turn in range(stop, stop + 200):
                if not env.agents:
                    break
                assert _cycle(env, 3, turn) == _cycle(twin, 3, turn), f"a copy differs in cycle {turn}"
            assert env.agents == twin.agents


def _check_faces(game: TextGame) -> None:
    """AEC, parallel and batched play the same games, restarts included."""
    vec, aec, parallel = TextVec(game, 3, seed=11), AECGame(game), ParallelGame(game)
    vec.reset()
    row = 2
    aec.reset(seed=11 + row)
    seen, _ = parallel.reset(seed=11 + row)
    for turn in range(min(200, 3 * game.info.max_cycles)):
        told = {agent: aec.observe(agent) for agent in aec.agents}
        assert told == seen, f"the observations of the parallel face differ in turn {turn}"
        messages = vec.sample_actions()
        asked = list(game.asked(vec.state[row]))
        said = {p: messages[row][p] if game.info.simultaneous else messages[row] for p in asked}
        _, rewards, ended, cut, _ = vec.step(messages)
        for _ in asked if not game.info.simultaneous else aec.agents[:]:
            aec.step(said.get(aec.possible_agents.index(aec.agent_selection)))
        everybody = {agent: said.get(p) for p, agent in enumerate(parallel.possible_agents)}
        seen, paid, over, truncated, _ = parallel.step(everybody)
        assert list(paid.values()) == rewards[row].tolist() == list(aec.rewards.values()), f"rewards differ: {paid}"
        assert over == aec.terminations, f"terminations differ in turn {turn}"
        assert truncated == aec.truncations, f"truncations differ in turn {turn}"
        assert any(over.values()) == bool(np.any(ended[row])), f"terminations differ in turn {turn}"
        assert any(truncated.values()) == bool(np.any(cut[row])), f"truncations differ in turn {turn}"
        if not parallel.agents:
            aec.reset()
            seen, _ = parallel.reset()


def _check_pettingzoo(game: TextGame) -> None:
    """PettingZoo's own tests: api, seed, parallel, max_cycles (if games are long enough) and render."""

    def env(render_mode: str | None = None, max_cycles: int | None = None) -> AECGame:
        return _AEC(game, render_mode=render_mode, max_cycles=max_cycles)

    def parallel_env(render_mode: str | None = None, max_cycles: int | None = None) -> ParallelGame:
        return ParallelGame(game, render_mode=render_mode, max_cycles=max_cycles)

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        for message in FARAMA_WARNINGS:
            warnings.filterwarnings("ignore", message=message)
        from pettingzoo.test import (
            api_test,
            max_cycles_test,
            parallel_api_test,
            parallel_seed_test,
            render_test,
            seed_test,
        )

        api_test(env(), num_cycles=100)
        api_test(_AEC(game, checked=False), num_cycles=100)
        seed_test(env, num_cycles=50)
        parallel_api_test(parallel_env(), num_cycles=100)
        parallel_seed_test(parallel_env, num_cycles=50)
        if game.info.simultaneous and game.info.max_cycles > 4:
            max_cycles_test(SimpleNamespace(env=env, parallel_env=parallel_env))
        render_test(env)
