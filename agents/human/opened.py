"""A game from the text of a file, to go on with: JSON lines, PGN (chess), SGF (go, hex)."""

from __future__ import annotations

from ...envs.core import Game, GameRecord
from ...envs.replay.file import read_games
from ...errors import UsageError

__all__ = ["opened"]


def opened(game: Game, name: str, text: str) -> GameRecord:
    """The last game of a file, whose moves have all been played to check them.

    Args:
        game: the game that it must be of, with the same configuration.
        name: the file's name, for messages.
        text: what it holds.

    Raises:
        UsageError: a file of another kind or game, or without a game.
        NotationError: it holds something that cannot be read or played.
    """
    games = read_games(text)
    if not games:
        raise UsageError(f"{name[:80]!r} holds no game.")
    saved = games[-1]
    if saved.game.info.id != game.info.id or saved.game.config != game.config:
        other = " with other settings" if saved.game.info.id == game.info.id else ""
        raise UsageError(f"{name[:80]!r} holds a game of {saved.game.info.id}{other}; this is {game.info.id}.")
    return saved.record
