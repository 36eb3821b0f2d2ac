"""The checks that games of kernels and games of words share: determinism, copies, PettingZoo's own tests.

Each check raises AssertionError.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io
import json
import pickle
import warnings
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core import Game
from ..faces.aec import AECGame
from ..faces.pairs import PairTable
from ..faces.parallel import ParallelGame
from ..faces.render import render_modes
from ..registry import list_envs, spec
from ..state import from_bytes, to_bytes
from ..stepping.rng import below, word
from ..words import TextGame
from ..words.table import TalkTable

__all__ = [
    "FARAMA_WARNINGS",
    "actors",
    "check_copies",
    "check_determinism",
    "check_pettingzoo",
    "equal",
    "given",
    "written",
]

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


def equal(a: Any, b: Any) -> bool:
    """Whether two nested values are equal, arrays in their dtype too."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return bool(a == b)


def actors(game: Game) -> int:
    """How many players act in a turn."""
    return game.info.players if game.info.simultaneous else 1


def given(env: AECGame | ParallelGame, action: Any) -> Any:
    """An action number (games of words: message) in the form that the face takes."""
    table = env.table
    if isinstance(table, TalkTable) and not table.text and isinstance(action, str):
        said = table.game.split(table.state, 0, action)
        return said.action, said.message
    return table.verbs.pair(action) if isinstance(table, PairTable) else action


def _random_action(env: AECGame, seed: int, turn: int) -> Any:
    """A random legal action (games of words: message) of the selected agent."""
    seat, table, game = env.possible_agents.index(env.agent_selection), env.table, env.game
    if isinstance(game, TextGame):
        asked = seat in game.asked(table.state[0])
        return given(env, game.sample(table.state[0], seat, np.random.default_rng([seed, turn]))) if asked else ""
    legal = np.flatnonzero(table.mask(seat))
    drawn = below(np.uint64(word(np.uint64(seed), turn)), max(1, len(legal)))
    return given(env, int(legal[drawn]) if len(legal) else 0)


def _cycle(env: AECGame, seed: int, turn: int) -> Any:
    """One documented AEC step with a random legal action; returns everything observed."""
    seen = env.last()
    action = None if seen[2] or seen[3] else _random_action(env, seed, turn)
    told = (env.agent_selection, copy.deepcopy(seen), action)
    env.step(action)
    return (*told, dict(env.rewards), dict(env.terminations), dict(env.truncations), list(env.agents))


def check_determinism(game: Game) -> None:
    """The same seed gives the same games: 500 cycles, or ticks of up to 24 agents, with resets in between."""
    first, second = AECGame(game), AECGame(game)
    for env in (first, second):
        env.reset(seed=7)
    for turn in range(500 * min(actors(game), 24)):
        assert equal(_cycle(first, 7, turn), _cycle(second, 7, turn)), f"the games differ in cycle {turn}"
        if not first.agents:
            first.reset()
            second.reset()


def check_copies(game: Game) -> None:
    """Copies by clone, deepcopy, pickle and get_state / set_state in mid-game are equal and independent."""
    ways: list[Callable[[AECGame], AECGame]] = [AECGame.clone, copy.deepcopy, lambda e: _through_bytes(game, e)]
    if game.info.id in list_envs():
        ways.append(lambda e: pickle.loads(pickle.dumps(e)))
    seats = min(actors(game), 24)
    for way in ways:
        for stop in range(0, 6 * (1 + seats // 2), 1 + seats // 2):
            env = AECGame(game)
            env.reset(seed=3)
            for turn in range(stop):
                if env.agents:
                    _cycle(env, 3, turn)
            twin = way(env)
            for turn in range(stop, stop + 20 * (1 + seats // 4)):
                if not env.agents:
                    break
                assert equal(_cycle(env, 3, turn), _cycle(twin, 3, turn)), f"a copy differs in cycle {turn}"
            assert env.agents == twin.agents


def _through_bytes(game: Game, env: AECGame) -> AECGame:
    other = AECGame(game)
    other.reset(seed=99)
    blob = to_bytes(game, env.get_state())
    assert to_bytes(game, from_bytes(game, blob)) == blob, "a snapshot changes in a round trip through bytes"
    other.set_state(blob)
    return other


class _Told(str):
    """A str with ``dtype``, which PettingZoo's api_test reads from an observation."""

    dtype = np.dtype(str)


class _WordsAEC(AECGame):
    """For PettingZoo's api_test."""

    def observe(self, agent: str) -> Any:
        seen = super().observe(agent)
        return _Told(seen) if isinstance(seen, str) else seen


def check_pettingzoo(game: Game) -> None:
    """PettingZoo's own tests: api, seed, parallel, state, max_cycles (if games are long enough) and render."""
    draw = spec(game.info.id).draw if game.info.id in list_envs() else None
    env = partial(_WordsAEC if isinstance(game, TextGame) else AECGame, game, draw=draw)
    parallel_env = partial(ParallelGame, game, draw=draw)
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
            state_test,
        )

        cycles = max(2, 200 // max(1, actors(game) // 4))
        api_test(env(), num_cycles=cycles)
        api_test(env(checked=False), num_cycles=cycles)
        seed_test(env, num_cycles=cycles // 2)
        parallel_api_test(parallel_env(), num_cycles=cycles)
        parallel_seed_test(parallel_env, num_cycles=cycles // 2)
        if game.whole is not None:
            state_test(env(), parallel_env(), num_cycles=10)
        if game.info.simultaneous and game.info.max_cycles > 4:
            # It samples without masks, so an illegal action must not end the game early.
            policy = None if game.info.is_world else "resample"
            faces = {"env": partial(env, illegal=policy), "parallel_env": partial(parallel_env, illegal=policy)}
            max_cycles_test(SimpleNamespace(**faces))
        if "rgb_array" not in render_modes(draw) or importlib.util.find_spec("pygame"):
            render_test(env)


def written(answer: str) -> list[str]:
    """The forms in which people and models write an answer, see docs/answers.md."""
    return [
        answer,
        f"  {answer}\n",
        f"<think>Is it {answer}, or \\boxed{{no}}, or [nothing]?</think>\n{answer}",
        f"So not that.</think>{answer}",
        f"It may be \\boxed{{no}}. It is $\\boxed{{{answer}}}$, in [brackets] too.",
        f"\\boxed{{\\text{{{answer}}}}}",
        f"<answer>no</answer> <answer> {answer} </answer> [no]",
        f"<answer>\\boxed{{{answer}}}</answer>",
        f'```json\n{{"thought": "a [b] c", "action": {json.dumps(answer)}}}\n```',
        f'{{"name": "play", "arguments": {{"move": {json.dumps(answer)}}}}}',
        f"No [hesitation]: [{answer}]",
        f"I think of [this] first.\n**Answer:** {answer}",
        f"Answer: [{answer}]",
    ]
