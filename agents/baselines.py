"""Players that need no model: random, and minimax where the game is small enough to be solved.

Both answer thousands of turns in one call, and both tell their probabilities (``policy``), so that exact measures apply
to them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game
from ..errors import IllegalAction, UnknownName
from .core import Agent, Decision, Turn
from .equilibrium import EquilibriumAgent
from .solver import Solution, solve

__all__ = ["BASELINES", "MinimaxAgent", "RandomAgent", "make_baseline"]

BASELINES = ("equilibrium", "minimax", "random")
"""Names that ``make_baseline`` knows."""


class RandomAgent:
    """Uniform over the legal actions."""

    name = "random"

    def act(self, turns: Sequence[Turn], rng: np.random.Generator) -> list[Decision]:
        """One uniformly drawn legal action a turn."""
        return _draw(_masks(turns), turns, rng)

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn."""
        return _uniform(_masks(turns), turns)


class MinimaxAgent:
    """Uniform over all perfect moves, by exact solution; it looks at the outcome alone, not at how soon it comes.

    Args:
        game: two-player, zero-sum, turn-based, without chance, and small. It is solved now, once a process.

    Raises:
        UsageError: the game cannot be solved; says why.
    """

    name = "minimax"

    def __init__(self, game: Game) -> None:
        self.solution: Solution = solve(game)

    def act(self, turns: Sequence[Turn], rng: np.random.Generator) -> list[Decision]:
        """One uniformly drawn perfect move a turn."""
        return _draw(self._optimal(turns), turns, rng)

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn."""
        return _uniform(self._optimal(turns), turns)

    def _optimal(self, turns: Sequence[Turn]) -> NDArray[np.bool_]:
        keys = np.fromiter((turn.key for turn in turns), np.uint64, len(turns))
        return self.solution.optimal[self.solution.graph.find(keys)]


def make_baseline(spec: str, game: Game) -> Agent:
    """A baseline by name: "random", "minimax", or "equilibrium" where cards are hidden.

    Raises:
        UnknownName: another name.
        UsageError: minimax or equilibrium, and the game cannot be solved so.
    """
    if spec == "random":
        return RandomAgent()
    if spec == "minimax":
        return MinimaxAgent(game)
    if spec == "equilibrium":
        return EquilibriumAgent(game)
    raise UnknownName("baseline", spec, BASELINES)


def _masks(turns: Sequence[Turn]) -> NDArray[np.bool_]:
    """[B, A] bool."""
    if not turns:
        return np.zeros((0, 0), np.bool_)
    masks: NDArray[np.int8] = np.concatenate([turn.mask for turn in turns]).reshape(len(turns), -1)
    return masks.astype(np.bool_)


def _draw(among: NDArray[np.bool_], turns: Sequence[Turn], rng: np.random.Generator) -> list[Decision]:
    """The action with the largest of independent uniform numbers: each of a row's marked actions is equally likely."""
    if not turns:
        return []
    _need_action(among, turns)
    chosen = np.where(among, rng.random(among.shape), -1.0).argmax(1)
    return [Decision(action) for action in chosen.tolist()]


def _uniform(among: NDArray[np.bool_], turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
    if not turns:
        return []
    _need_action(among, turns)
    return list(among / among.sum(1, keepdims=True))


def _need_action(among: NDArray[np.bool_], turns: Sequence[Turn]) -> None:
    stuck = np.flatnonzero(~among.any(1))
    if stuck.size:
        turn = turns[int(stuck[0])]
        raise IllegalAction(
            f"Seat {turn.player} has no legal action in row {turn.row} of {turn.game.info.id}: the game is over "
            "there or another seat is to move. Ask only players who can act."
        )
