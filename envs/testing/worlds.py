"""Conformance checks of worlds: failing actions, deaths, (verb, argument) pairs, the global state and infos.

The part of ``check_game`` for games that have these. Each check raises AssertionError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliases import RUNNING
from ..core import Game
from ..faces.parallel import ParallelGame
from ..faces.spaces import state_space
from ..faces.vec import VecEnv
from ..faces.verbs import Verbs
from ..state import take, to_bytes
from ..stepping.buffers import idle_action

__all__ = ["check_world"]

ROWS = 8
"""Games side by side."""


def check_world(game: Game) -> None:
    """Check a game's verbs, ``noop``, ``alive``, ``tell`` and ``whole``; skips those that it lacks."""
    if game.verbs:
        _check_verbs(game)
    if idle_action(game) >= 0:
        _check_failing(game)
    if game.kernels.alive is not None:
        _check_dead(game)
    _check_told(game)


def _check_verbs(game: Game) -> None:
    count = game.info.num_actions
    named = [number for _, numbers in game.verbs for number in numbers]
    assert set(named) == set(range(count)), f"verbs cover {sorted(set(named))}, but there are {count} actions"
    assert len(named) == count, "an action has several names"
    verbs = Verbs(game)
    for number in range(count):
        assert verbs.number(verbs.pair(number)) == number


def _check_failing(game: Game) -> None:
    """An illegal action reaches ``step`` unchanged, is counted and ends nothing; no answer is the idle action."""
    count, players = game.info.num_actions, game.info.players
    rng = np.random.default_rng(1)
    vec = VecEnv(game, ROWS, seed=31, autoreset_mode="Disabled")
    vec.reset()
    for _ in range(20):
        running = np.flatnonzero(vec.status == RUNNING)
        anything = rng.integers(-1, count, (ROWS, players))
        actions = np.where(rng.random((ROWS, players)) < 0.5, vec.sample_actions(), anything)
        chosen = np.take_along_axis(vec.action_mask, np.maximum(actions, 0)[..., None], -1)[..., 0] == 1
        asked = vec.action_mask.any(-1)
        wrong = asked & (~chosen | (actions < 0))
        before, faults = take(vec.state), vec.get_state().illegal
        played = np.where((actions < 0) | ~asked, idle_action(game), actions).astype(np.int32)
        rewards = np.zeros((ROWS, players), np.float32)
        status = [int(game.kernels.step(before, int(i), played[i], rewards[i])) for i in running]
        vec.step(actions)
        assert np.array_equal(vec.illegal[running], wrong[running]), "illegal actions are not reported as illegal"
        assert np.array_equal(vec.get_state().illegal[running], (faults + wrong)[running]), "they are miscounted"
        assert vec.status[running].tolist() == status, "an illegal action changes the game's status"
        assert to_bytes(game, take(before, running)) == to_bytes(game, take(vec.state, running)), (
            "an illegal action changes what the others' actions do"
        )
        assert np.array_equal(vec.rewards[running], rewards[running]), "an illegal action changes the others' rewards"


def _check_dead(game: Game) -> None:
    """Dead players stay dead, get no rewards, have no legal actions and end once."""
    vec = VecEnv(game, ROWS, seed=32, autoreset_mode="Disabled")
    vec.reset()
    assert vec.alive.all(), "a player is dead when the game begins"
    for _ in range(min(game.info.max_cycles, 400)):
        before, running = vec.alive.copy(), vec.status == RUNNING
        if not running.any():
            return
        _, rewards, terminated, truncated, _ = vec.step(vec.sample_actions())
        alive = vec.alive
        assert not (alive & ~before).any(), "a player came back from the dead"
        assert not rewards[~before].any(), "a dead player is paid"
        assert not vec.action_mask[~alive].any(), "a dead player has legal actions"
        ended = (terminated | truncated)[running]
        assert not (ended & ~before[running]).any(), "a player ends twice"
        assert np.array_equal(ended, before[running] & (~alive | (vec.status != RUNNING)[:, None])[running])
        assert (alive.any(1) | (vec.status != RUNNING)).all(), "all players are dead, but the game is running"


def _check_told(game: Game) -> None:
    """``state()`` is in its space, ``tell`` returns plain data, and reading changes nothing."""
    if game.tell is not None:
        state = game.new_state(1)
        game.kernels.reset(state, 0, np.uint64(5))
        assert len(game.tell(state, 0)) == game.info.players, "tell must return one dictionary for each player"
    env = ParallelGame(game)
    env.reset(seed=5)
    space = state_space(game)
    for _ in range(5):
        if not env.agents:
            return
        before = to_bytes(game, env.table.state)
        if space is not None:
            first, second = env.state(), env.state()
            assert space.contains(first), "state() is outside of its space"
            for name, array in first.items():
                assert np.array_equal(array, second[name]), f"state() returns two values of {name}"
                assert not np.shares_memory(array, second[name]), f"state() returns {name} itself, not a copy"
        everybody = env.table.told()
        different = len(set(map(id, everybody + env.table.told())))
        assert different == 2 * len(everybody), "tell returns the same dictionary twice"
        for told in everybody:
            assert _plain(told), f"tell returns something other than plain data: {told}"
            clash = {"action_mask", "illegal", "active_agent", "pair_mask"} & told.keys()
            assert not clash, f"tell overwrites {clash}"
        assert to_bytes(game, env.table.state) == before, "reading the state changed it"
        env.step(dict.fromkeys(env.agents))


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(k, str) and _plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    return value is None or isinstance(value, bool | int | float | str | np.ndarray)
