"""Players that need no model, by name: from random to search and chess engines.

Random and minimax answer thousands of turns in one call, and give their probabilities (``policy``), so that exact
measures apply to them. Settings may follow a name: ``mcts:1000``, ``alphabeta:nodes=20000``, ``uci:/path?depth=5``; see
``make_baseline``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game
from ..envs.words import SAY, TextGame
from ..envs.words.talk import TalkGame
from ..errors import UnknownName, UsageError, did_you_mean
from .core import Agent, Decision, Turn
from .scripted.quiet import QuietAgent
from .search.rows import need_action, need_same_game
from .search.solver import Solution, solve
from .seeds import pick

__all__ = ["BASELINES", "MinimaxAgent", "RandomAgent", "an_agent", "is_baseline", "is_built_in", "make_baseline"]

MADE = {
    "alphabeta": ".search.alphabeta:AlphaBetaAgent",
    "altruist": ".scripted.gridworld:GridworldAgent",
    "bargainer": ".scripted.bargainer:BargainerAgent",
    "equilibrium": ".search.equilibrium:EquilibriumAgent",
    "forager": ".scripted.gridworld:GridworldAgent",
    "greedy": ".scripted.greedy:GreedyAgent",
    "mcts": ".search.mcts:MCTSAgent",
    "minimax": ".baselines:MinimaxAgent",
    "raider": ".scripted.gridworld:GridworldAgent",
    "random": ".baselines:RandomAgent",
    "scripted": ".scripted.words:ScriptedAgent",
    "uci": ".search.uci:UCIAgent",
}
"""Name -> ``module:class``."""

BASELINES = tuple(MADE)
"""Names that ``make_baseline`` knows."""

SETTINGS: dict[str, dict[str, Callable[[str], Any]]] = {
    "alphabeta": {"depth": int, "nodes": int},
    "mcts": {"playouts": int, "exploration": float, "cap": int},
}
"""Name -> its settings and their types; a value without a key sets the first."""


class RandomAgent:
    """Uniform over the legal actions; in games of words it says a message that the game samples."""

    name = "random"

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Sample one legal action per turn, uniformly."""
        if turns and isinstance(turns[0].game, TextGame):
            return [_say(turn, turns[0].game) for turn in turns]
        return _draw(_masks(turns), turns)

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn.

        Raises:
            UsageError: a game of words, whose samples need not be uniform.
        """
        for turn in turns:
            if isinstance(turn.game, TextGame):
                raise UsageError(f"What {self.name} says in {turn.game.info.id} can only be sampled.")
        return _uniform(_masks(turns), turns)


class MinimaxAgent:
    """Uniform over all optimal moves of the exact solution; a slow win counts as much as a fast one.

    Args:
        game: two-player, zero-sum, turn-based, without chance, and small. The constructor solves it, once per process.

    Raises:
        UsageError: the game cannot be solved; the message says why.
    """

    name = "minimax"

    def __init__(self, game: Game) -> None:
        self.solution: Solution = solve(game)

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Sample one optimal move per turn, uniformly."""
        return _draw(self._optimal(turns), turns)

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn."""
        return _uniform(self._optimal(turns), turns)

    def _optimal(self, turns: Sequence[Turn]) -> NDArray[np.bool_]:
        for turn in turns[:1]:
            need_same_game(self.name, self.solution.graph.game, turn)
        keys = np.fromiter((turn.key for turn in turns), np.uint64, len(turns))
        return self.solution.optimal[self.solution.graph.find(keys)]


def is_baseline(spec: str) -> bool:
    """Whether a spec starts with a name that ``make_baseline`` knows."""
    return spec.partition(":")[0] in BASELINES


def is_built_in(spec: str) -> bool:
    """Whether a spec names a baseline that starts no program and opens no file."""
    return is_baseline(spec) and spec.partition(":")[0] != "uci"


def an_agent(given: Any, game: Game) -> Agent:
    """An agent, or the baseline of this name.

    Raises:
        UsageError: neither; or see ``make_baseline``.
    """
    if isinstance(given, str):
        return make_baseline(given, game)
    if not callable(getattr(given, "act", None)):
        told = f"{given!r} ({type(given).__name__})"
        raise UsageError(f"{told[:200]} came for an agent: give an object with act(turns), or a name such as 'random'.")
    return cast("Agent", given)


def make_baseline(spec: str, game: Game) -> Agent:
    """A baseline by name.

    ``random``; ``minimax`` for small games; ``equilibrium`` for small games with hidden information; ``greedy``;
    ``mcts[:PLAYOUTS]``, also ``mcts:playouts=400:exploration=1.4:cap=1000``; ``alphabeta[:DEPTH]``, also
    ``alphabeta:nodes=20000``; ``uci:PATH[?Name=value&Name=value]`` (see ``uci``); ``forager``, ``raider``,
    ``altruist`` in the gridworld; ``bargainer`` in negotiations; ``scripted[:NAME]`` in games of words that bring
    scripts. Where actions come with messages (``talk=``), all but random say nothing.

    Raises:
        UnknownName: no baseline has this name.
        UsageError: an unknown setting, an invalid value, or a game that the baseline can't play.
    """
    name, _, rest = spec.partition(":")
    if name not in BASELINES:
        raise UnknownName("baseline", name, BASELINES)
    if isinstance(game, TalkGame) and name != "random":
        return QuietAgent(game, make_baseline(spec, game.inner))
    if isinstance(game, TextGame) and name not in ("random", "scripted"):
        known = ", ".join(["random", *(f"scripted:{script}" for script in game.scripts)])
        raise UsageError(f"{name} cannot play {game.info.id}, a game of words; {known}, models and people can.")
    module, _, kind = MADE[name].partition(":")
    make: Callable[..., Agent] = getattr(import_module(module, __package__), kind)
    if name == "uci":
        from .search.uci import parse_spec

        return make(game, *parse_spec(spec))
    if name == "scripted":
        return make(game, rest)
    settings = _settings(spec, name, rest)
    if name in SETTINGS:
        return make(game, **settings, name=spec)
    if name in ("altruist", "forager", "raider"):
        return make(name, game)
    return make() if name == "random" else make(game)


def _settings(spec: str, name: str, rest: str) -> dict[str, Any]:
    """The settings behind a name: ``"400"`` or ``"400:cap=100"`` or ``"playouts=400:cap=100"``."""
    known = SETTINGS.get(name, {})
    settings: dict[str, Any] = {}
    for k, part in enumerate(rest.split(":") if rest or spec.endswith(":") else []):
        if not known:
            raise UsageError(f"{spec!r}: {name} takes no settings; write {name} alone.")
        key, equals, value = part.partition("=")
        if not equals and key in known:
            example = f"{name}:{key}={4 if key == 'depth' else 400}"
            raise UsageError(
                f"{spec!r}: {key} needs a value, {example}. In a list of opponents a weight comes last: {example}=1."
            )
        if not equals and k == 0:
            key, value = next(iter(known)), part
        if key not in known:
            names = ", ".join(known)
            raise UsageError(f"{spec!r}: {name} has no setting {key!r}.{did_you_mean(key, known)} It has: {names}.")
        if key in settings:
            raise UsageError(f"{spec!r}: {key} is named twice.")
        try:
            settings[key] = known[key](value)
        except ValueError:
            kind = "a whole number" if known[key] is int else "a number"
            raise UsageError(
                f"{spec!r}: {key} is {kind}, such as {name}:{key}={4 if key == 'depth' else 400}, not {value!r}."
            ) from None
    return settings


def _masks(turns: Sequence[Turn]) -> NDArray[np.bool_]:
    """[B, A] bool."""
    if not turns:
        return np.zeros((0, 0), np.bool_)
    masks: NDArray[np.int8] = np.concatenate([turn.mask for turn in turns]).reshape(len(turns), -1)
    return masks.astype(np.bool_)


def _draw(among: NDArray[np.bool_], turns: Sequence[Turn]) -> list[Decision]:
    """Sample one marked action of each row, uniformly."""
    if not turns:
        return []
    _check(among, turns)
    return [Decision(action) for action in pick(among, [turn.seed for turn in turns]).tolist()]


def _say(turn: Turn, game: TextGame) -> Decision:
    """A message that the game samples."""
    return Decision(SAY, game.sample(turn.state[turn.row], turn.player, turn.seed.generator()))


def _uniform(among: NDArray[np.bool_], turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
    if not turns:
        return []
    _check(among, turns)
    return list(among / among.sum(1, keepdims=True))


def _check(among: NDArray[np.bool_], turns: Sequence[Turn]) -> None:
    for k in np.flatnonzero(~among.any(1))[:1].tolist():
        need_action(turns[k])
