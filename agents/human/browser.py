"""People and agents at a board game's page: what one tab of a browser plays; a server carries the messages.

The page sends a ``Request`` and shows the plain data of ``PageGame.data``, which holds only what the person in front of
the screen may see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ...aliases import RUNNING, Action
from ...envs.words import TextGame
from ...errors import UsageError
from ...renderers.web.shows import Boards
from ..core import Agent
from .adviser import Adviser
from .board import BoardGame
from .paged import Paged, Request
from .table import Match

__all__ = ["PageGame", "Request"]


class PageGame(BoardGame, Paged[Match]):
    """A board game on a page; with several people, they share the page.

    Args:
        begin, agents, draw, adviser, lock, seconds: see ``board.BoardGame``.
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
        self._try()
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

    def rest(self) -> None:
        """As ``Paged.rest``; advice is asked again by the person."""
        super().rest()
        if self._asked_for:
            self._asked_for, self.offered = "", None

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
        tried, people = [ply.seats for ply in self.match.plies[-2:]], {*self.people}
        if self.game.info.secret and people and len(tried) == 2 and tried[0] == tried[1] and not people & {*tried[0]}:
            self._version -= 1  # nobody here could act between, and nobody is told how often another seat tried

    # -- what is shown -------------------------------------------------------------------------------------------------

    def _controls(self) -> dict[str, str]:
        return ({"retry": "Try again"} if self.failed else {}) | super()._controls()

    def data(self, first: bool = True) -> dict[str, Any]:
        """What the page shows, as plain data: of the position, only what the person at the screen may see.

        Args:
            first: as in ``PageWorld``; a board is always sent whole.
        """
        self._view_key = ()  # what a page has besides a window is in no key
        view, game, match = self.view(), self.game, self.match
        shown, state = self.history.shown(match.state)
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
            "moves": [{"seat": p, "text": text} for turn in self.history.moves(match, eyes) for p, text in turn],
            "hint": hint and {"text": hint[0], "cells": hint[1], "by": self.adviser.name if self.adviser else ""},
        }

    def saved(self, format: str, words: Sequence[str] = ()) -> str:
        """As ``Paged.saved``.

        Raises:
            UsageError: there is no such format; or the game is hidden and not over: the file would tell of cards.
        """
        if self.game.info.hidden and self.match.status == RUNNING and len(self.people) < self.game.info.players:
            raise UsageError("A game with hidden information can be saved when it is over: its file tells everything.")
        return super().saved(format, words)
