"""A player of a game without talk in the same game with a talk channel: it says nothing and does not listen."""

from __future__ import annotations

from collections.abc import Sequence

from ...envs.words import SAY
from ...envs.words.talk import TalkGame
from ..core import Agent, Decision, Turn

__all__ = ["QuietAgent"]


class QuietAgent:
    """Plays the game inside.

    Args:
        game: the game with talk.
        agent: a player of ``game.inner``.
    """

    def __init__(self, game: TalkGame, agent: Agent) -> None:
        self.game, self.agent, self.name = game, agent, agent.name

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """The agent's decisions, without a word."""
        made = []
        for turn, decision in zip(turns, self.agent.act([self._inside(turn) for turn in turns]), strict=True):
            if decision.action is None:
                made.append(decision)
            else:
                text = self.game.join(turn.state, turn.row, "", decision.action)
                made.append(Decision(SAY, text, info=decision.info))
        return made

    def _inside(self, turn: Turn) -> Turn:
        """The turn of the game inside."""
        inner, rows = self.game.inner, self.game.rows(turn.state[turn.row])
        mask = inner.legal_mask(rows, 0, turn.player)
        return Turn(inner, rows, 0, turn.player, mask, inner.key(rows, 0), turn.seed)
