"""Who gives people hints, and judges the draws that they offer to agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...envs.core import Game
from ...envs.words import TextGame
from ...errors import CoterieError, UsageError
from ..baselines import make_baseline
from ..core import Agent, Decision, Turn, close

__all__ = ["Adviser", "advisers"]


SOON = 12
"""The longest games, in turns, that are solved before a hint: it takes a second."""


def advisers(game: Game) -> tuple[str, ...]:
    """Players that may give hints in a game, the best first; some may turn out not to be able to play it."""
    if isinstance(game, TextGame) and not hasattr(game, "inner"):
        return ("scripted",)
    own = {"chess": ("alphabeta:4",), "negotiation": ("bargainer",), "gridworld": ("forager",)}.get(game.info.name)
    if own or game.info.hidden or game.info.simultaneous:
        return own or ("equilibrium",)
    return ("minimax", "mcts:1000") if game.info.max_cycles <= SOON else ("mcts:1000",)


class Adviser:
    """Gives hints: the first of some players that can play the game; it is made when it is first asked.

    Args:
        names: of players, the best first.
        make: makes a player.
    """

    def __init__(self, names: Sequence[str], make: Callable[[str, Game], Agent] = make_baseline) -> None:
        self.name = names[0]
        self.agent: Agent | None = None
        self._names, self._make = tuple(names), make

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """The decisions of that player.

        Raises:
            CoterieError: none of them can play the game; why the first one cannot.
        """
        if self.agent is None:
            refused: CoterieError | None = None
            for name in self._names:
                try:
                    self.agent, self.name = self._make(name, turns[0].game), name
                    break
                except CoterieError as error:
                    refused = refused or error
            else:
                raise UsageError(f"{refused} Name another player with --hints.")
        return self.agent.act(turns)

    def declines(self, turn: Turn, decision: Decision) -> str:
        """Why a draw that the player to move offers is declined; ``""``: it is accepted."""
        solution: Any = getattr(self.agent, "solution", None)
        worth = decision.info.get("value", decision.info.get("score"))
        if solution is not None:
            worth = solution.value(turn.state, turn.row)
        elif not isinstance(worth, int | float):
            return f"{self.name} cannot judge it"
        return "" if worth >= 0 else f"{self.name} finds you worse off"

    def stop(self) -> None:
        """End a search that is running, if the player can."""
        stop = getattr(self.agent, "stop", None)
        if stop is not None:
            stop()

    def close(self) -> None:
        """End the program of a player that runs one."""
        close([self.agent])
