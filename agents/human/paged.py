"""What the pages of board games and of worlds share: one tab of a browser plays, and a server carries the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ...envs.core import Game, GameRecord
from ...envs.replay.file import read_games, write_json
from ...envs.typed import STRICT, Whole
from ...errors import UsageError
from ..core import close
from .adviser import Adviser
from .session import Session, Shown, Thinker, reason

__all__ = ["Paged", "Request", "opened"]


@dataclass(frozen=True)
class Request:
    """What a page asks for.

    Attributes:
        do: ``act``, ``say``, the name of a control, ``new`` (with ``players``: in other seats), ``save``, ``load``; in
            worlds also ``intend`` (name: what the person's agent should do), ``take`` and ``look`` (action: the slot).
        version: of the data that the page showed; an action for another position is ignored.
        action: act: the action; take, look: the slot.
        text: act: the message that goes with it; say: the message; load: the file.
        name: save: the format, such as ``.pgn``; load: the file's name; intend: the intention.
        plane: look: the plane of what the agent sees.
        players: new: who sits where.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    # fmt: off
    do: Literal[
        "act", "say", "undo", "flip", "new", "pause", "step", "slower", "faster", "uncover",
        "hint", "resign", "offer", "accept", "decline", "retry", "save", "load",
        "intend", "take", "release", "look", "all",
    ]
    # fmt: on
    version: Whole = -1
    action: Whole = -1
    text: str = ""
    name: str = ""
    plane: Whole = 0
    players: tuple[str, ...] = field(default=())


class Paged(Session[Shown]):
    """A session on a page; with several people, they share the page.

    Attributes:
        failed: why an agent could not move; it is asked again after ``retry``, a new game or an undo.
    """

    game: Game
    match: Any
    adviser: Adviser | None
    failed = ""
    _advice: Thinker
    _note: str

    def follows(self, earlier: Paged[Any]) -> None:
        """Take the place of an earlier game: versions go on, so that clicks for that one are late ones here."""
        self._version = earlier._version + 1

    def _try(self) -> None:
        """Play what is due; an agent's failure becomes the text ``failed``."""
        if not self.failed:
            try:
                self._play()
            except Exception as error:  # whatever an agent raises
                self.failed = reason(error)

    def _turned(self) -> None:
        super()._turned()
        self.failed = ""

    @property
    def note(self) -> str:
        """What the person is told; ``""``: nothing."""
        return self._note

    def rest(self) -> None:
        """Withdraw the questions that agents think about; they are asked again when the game goes on."""
        self.thinker.forget()
        self._advice.forget()

    def close(self) -> None:
        """Stop the agents' threads, and the programs of agents that run one."""
        self.thinker.stop()
        self._advice.stop()
        close((*self.agents, self.adviser and self.adviser.agent))

    def saved(self, format: str, words: Sequence[str] = ()) -> str:
        """The game so far as the text of a file.

        Args:
            format: ``.json``, or one of the game's own, such as ``.pgn``.
            words: what was typed for each seat, so that the same players can play on.

        Raises:
            UsageError: there is no such format.
        """
        record = self.match.record()
        if format == ".json":
            return write_json(self.game, record, self.match.seed, words)
        if format not in self.game.formats:
            raise UsageError(f"A game of {self.game.info.name} cannot be saved as {format[:20]!r}.")
        return self.game.formats[format](record)


def opened(game: Game, name: str, text: str) -> GameRecord:
    """The last game of a file, to go on with; its moves have all been played to check them.

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
