"""People and agents at a board game's page: what one tab of a browser plays; a server carries the messages.

The page sends a ``Request`` and shows the plain data of ``PageGame.data``, which holds only what the person in front of
the screen may see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ...aliases import RUNNING, Action
from ...envs.replay.file import write_json
from ...envs.typed import STRICT, Whole
from ...envs.words import TextGame
from ...errors import UsageError
from ...renderers.web.shows import Boards
from ..core import Agent
from .adviser import Adviser
from .board import BoardGame
from .session import reason
from .table import Match

__all__ = ["PageGame", "Request"]


@dataclass(frozen=True)
class Request:
    """What a page asks for.

    Attributes:
        do: ``act``, ``say``, the name of a control, ``new`` (with ``players``: in other seats), ``save``, ``load``.
        version: of the data that the page showed; an action for another position is ignored.
        action: act: the action.
        text: act: the message that goes with it; say: the message; load: the file.
        name: save: the format, such as ``.pgn``; load: the file's name.
        players: new: who sits where.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    # fmt: off
    do: Literal[
        "act", "say", "undo", "flip", "new", "pause", "step", "slower", "faster", "uncover",
        "hint", "resign", "offer", "accept", "decline", "retry", "save", "load",
    ]
    # fmt: on
    version: Whole = -1
    action: Whole = -1
    text: str = ""
    name: str = ""
    players: tuple[str, ...] = field(default=())


class PageGame(BoardGame):
    """A board game on a page; with several people, they share the page.

    Args:
        begin, agents, draw, adviser, lock, seconds: see ``board.BoardGame``.

    Attributes:
        failed: why an agent could not move; it is asked again after ``retry``, a new game or an undo.
    """

    def __init__(
        self,
        begin: Callable[[int], Match],
        agents: Sequence[Agent | None],
        draw: str | None,
        *,
        adviser: Adviser | None = None,
        lock: AbstractContextManager[Any] | None = None,
        seconds: float | None = None,
    ) -> None:
        super().__init__(begin, agents, draw, seconds=seconds, adviser=adviser, lock=lock)
        self.failed = ""
        self._changes = 0

    def follows(self, earlier: PageGame) -> None:
        """Take the place of an earlier game: versions go on, so that clicks for that one are late ones here."""
        self._version = earlier._version + 1

    # -- what happens --------------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether nothing happens before a person does something; a clock that runs is something."""
        if self.match.clock and self.match.status == RUNNING:
            return False
        waiting = self.asked is not None or self.paused or self.failed or not self.match.seats()
        return bool(waiting) and not self.thinker.busy and not self._advice.busy and not self._single

    def step(self, wait: float = 0.0) -> bool:
        """Play what is due; whether anything has changed. An agent's failure becomes the text ``failed``."""
        before = self._stamp()
        self._pass_time(counted=not self.failed)
        if not self.failed:
            try:
                self._play()
            except Exception as error:  # whatever an agent raises
                self.failed = reason(error)
        self._take_advice()
        return self._stamp() != before

    def _stamp(self) -> tuple[object, ...]:
        now = self._version, self.asked, self.match.status, self.failed, self._note, self._hint, self.offered
        return (*now, self._asked_for, self.thinker.busy)

    def do(self, asked: Request) -> None:
        """Do what a person asks for; a note tells why it cannot be done."""
        self._note = ""
        if asked.do in ("act", "say") and asked.version != self._version:
            return  # a click that came too late
        if asked.do == "act":
            self.choose(asked.action, asked.text)
        elif asked.do == "say":
            self.say(asked.text)
        elif asked.do in self._controls() or (asked.do == "uncover" and self._covered):
            self._control(asked.do)

    def choose(self, action: Action, message: str = "") -> None:
        """Play this action, with talk after a message; not while the screen is covered."""
        if not self._covered:
            super().choose(action, message)

    def say(self, words: str) -> None:
        """Say this in a game of words; not while the screen is covered."""
        if not self._covered:
            super().say(words)

    def _control(self, name: str) -> None:
        if name == "retry":
            self.failed = ""
        else:
            super()._control(name)

    def _turned(self) -> None:
        super()._turned()
        self.failed = ""
        tried, people = [ply.seats for ply in self.match.plies[-2:]], {*self.people}
        if self.game.info.secret and people and len(tried) == 2 and tried[0] == tried[1] and not people & {*tried[0]}:
            self._version -= 1  # nobody here could act between, and nobody is told how often another seat tried

    @property
    def note(self) -> str:
        """What the person is told; ``""``: nothing."""
        return self._note

    def close(self) -> None:
        """Stop the agents' threads, and the programs of agents that run one."""
        self.thinker.stop()
        self._advice.stop()
        advising = self.adviser.agent if self.adviser else None
        for close in {id(agent): getattr(agent, "close", None) for agent in (*self.agents, advising)}.values():
            if close:
                close()

    # -- what is shown -------------------------------------------------------------------------------------------------

    def _controls(self) -> dict[str, str]:
        return ({"retry": "Try again"} if self.failed else {}) | super()._controls()

    def data(self) -> dict[str, Any]:
        """What the page shows, as plain data: of the position, only what the person at the screen may see."""
        self._view_key = ()  # what a page has besides a window is in no key
        view, game, match = self.view(), self.game, self.match
        shown, state = self._shown(match.state)
        words = isinstance(shown, TextGame)
        boards = Boards(game)  # a new one each time, which knows no earlier picture
        told: dict[str, Any] = {
            "version": self._version,
            "game": game.info.id,
            "seats": [
                {"name": f"player_{p}", "player": name, "color": color, "human": p in self.people}
                for p, (name, color) in enumerate(zip(match.names, boards.colors(), strict=True))
            ],
            "returns": match.returns.tolist(),
            "clock": [round(seconds, 1) for seconds in match.clock.left] if match.clock else [],
            "running": bool(match.clock)
            and not (match.status != RUNNING or self.paused or self._covered or self.failed),
            "seat": self.asked,
            "active": view.active,
            "status": view.status,
            "over": match.status != RUNNING,
            "controls": [[name, label] for name, label in view.controls.items()],
            "cover": view.cover,
            "note": self._note,
            "failed": self.failed,
            "offered": self.offered,
            "busy": self.thinker.busy or self._advice.busy,
            "talk": self.talk.length if self.talk else 0,
            "words": words,
            "formats": [".json", *sorted(game.formats)],
        }
        if view.cover:
            return told
        eyes, hint = view.player, self._hinted()
        seat = eyes if eyes is not None else max(0, game.mover(match.state, 0)) if not words else 0
        return told | {
            "text": game.describe(match.state, 0, self.asked if words and self.asked is not None else seat),
            "picture": boards.picture(state, eyes),
            **boards.facts(eyes),
            "cells": {} if match.status != RUNNING else {str(a): cells for a, cells in view.cells.items()},
            "labels": {str(a): label for a, label in view.labels.items()},
            "last": view.last,
            "said": [[p, text] for p, text in view.said if p >= 0],
            "moves": [{"seat": p, "text": text} for turn in self._told(eyes) for p, text in turn],
            "hint": hint and {"text": hint[0], "cells": hint[1], "by": self.adviser.name if self.adviser else ""},
        }

    def saved(self, format: str) -> str:
        """The game so far as the text of a file.

        Args:
            format: ``.json``, or one of the game's own, such as ``.pgn``.

        Raises:
            UsageError: there is no such format; or the game is hidden and not over: the file would tell of cards.
        """
        record = self.match.record()
        if self.game.info.hidden and self.match.status == RUNNING and len(self.people) < self.game.info.players:
            raise UsageError("A game with hidden information can be saved when it is over: its file tells everything.")
        if format == ".json":
            return write_json(self.game, record, self.match.seed)
        if format not in self.game.formats:
            raise UsageError(f"A game of {self.game.info.name} cannot be saved as {format[:20]!r}.")
        return self.game.formats[format](record)
