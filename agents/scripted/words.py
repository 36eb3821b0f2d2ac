"""Scripted players of games of words, which the games bring with them (``TextGame.scripts``)."""

from __future__ import annotations

from collections.abc import Sequence

from ...envs.core import Game
from ...envs.words import SAY, TextGame
from ...errors import UnknownName, UsageError
from ..core import Decision, Turn

__all__ = ["ScriptedAgent"]


class ScriptedAgent:
    """A script of a game of words as a player.

    Args:
        game: a game of words.
        script: its name among ``game.scripts``; empty: the first.

    Raises:
        UsageError: the game has no scripts.
        UnknownName: it has none of this name.
    """

    def __init__(self, game: Game, script: str = "") -> None:
        if not isinstance(game, TextGame) or not game.scripts:
            raise UsageError(f"scripted cannot play {game.info.id}: only some games of words bring scripts with them.")
        script = script or next(iter(game.scripts))
        if script not in game.scripts:
            raise UnknownName(f"script of {game.info.id}", script, game.scripts)
        self.name, self._say = f"scripted:{script}", game.scripts[script]

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Say what the script says."""
        said = [self._say(turn.state[turn.row], turn.player, turn.seed.generator()) for turn in turns]
        return [Decision(SAY, message) for message in said]
