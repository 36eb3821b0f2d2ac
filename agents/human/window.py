"""People and agents in a board game's window."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...aliases import Player
from ...errors import CoterieError
from ..core import Agent, Decision
from .adviser import Adviser
from .board import SPEEDS, BoardGame
from .session import Thinker
from .table import Match, Ply

if TYPE_CHECKING:
    from ...renderers.panel import View

__all__ = ["SPEEDS", "BoardSession", "Session", "Thinker"]


class BoardSession(BoardGame):
    """The window of a board game; with talk, a message that the person has typed goes with the next action.

    Args:
        begin, agents, draw, games, seconds, left: see ``board.BoardGame``.
        adviser: gives people hints; None: nobody does.

    Raises:
        MissingExtra: pygame is not installed.
        UsageError: there is no display.
    """

    def __init__(
        self,
        begin: Callable[[int], Match],
        agents: Sequence[Agent | None],
        draw: str | None,
        *,
        games: int = 1,
        seconds: float | None = None,
        left: Callable[[Match], None] = lambda match: None,
        adviser: Adviser | None = None,
    ) -> None:
        from ...renderers.talking import Entry
        from ...renderers.window import Window

        super().__init__(begin, agents, draw, games=games, seconds=seconds, left=left)
        self.entry = Entry(self.talk.length if self.talk and self.people else 0)
        title = f"{self.game.info.name}: {' against '.join(self.match.names)}"
        shown, entry = self._shown(self.match.state)[0], self.entry if self.talk else None
        self._column = draw is not None and not self.talk
        self.window: Any = Window(shown, draw, title, entry, column=self._column)
        self.adviser, self._advice = adviser, Thinker([adviser] * self.game.info.players)
        self._hint: tuple[int, Decision] | None = None  # the version of the position, and what was advised
        self._spent = [0.0] * self.game.info.players  # seconds that each seat has thought
        self._now = time.monotonic()
        self._moves: list[tuple[Ply, tuple[tuple[Player, str], ...]]] = []
        self._added: tuple[View, tuple[object, ...], View] | None = None

    def step(self, wait: float = 0.0) -> bool:
        """One round: show, handle clicks, play the agents' moves; False once the window is closed."""
        self.window.show(self.view())
        for asked in self.window.poll(wait):
            if asked == "quit":
                return False
            if isinstance(asked, str):
                self._control(asked)
            else:
                self.choose(asked, self.entry.text)
        passed, self._now = time.monotonic() - self._now, time.monotonic()
        if not self.window.helping:
            for seat in self.match.seats() if not self.paused else ():
                self._spent[seat] += passed
            self._play()
            self._take_advice()
        return True

    def close(self) -> None:
        """Stop the agents' threads, close the window and leave the match."""
        self._advice.stop()
        super().close()

    def _forget_words(self) -> None:
        self.entry.clear()
        super()._forget_words()

    def _control(self, name: str) -> None:
        if name == "say":
            self._note = "Choose an action; your message goes with it." if self.entry.text.strip() else ""
        elif name == "hint":
            self._advice.ask(self.match.turns([seat for seat in [self.asked] if seat is not None]))
        else:
            super()._control(name)

    def _controls(self) -> dict[str, str]:
        hint = {"hint": "Hint"} if self.adviser and self.asked is not None and not self._covered else {}
        return {**super()._controls(), **hint, "help": "Keys"}

    def _new(self) -> None:
        super()._new()
        self._spent = [0.0] * self.game.info.players

    def _turned(self) -> None:
        super()._turned()
        self._advice.forget()

    def _take_advice(self) -> None:
        """Keep a hint that has come, or the reason why there is none."""
        try:
            found = self._advice.answer() or {}
        except CoterieError as error:
            found = {self.asked or 0: Decision(None, str(error))}
        if self.asked in found:
            self._hint = self._version, found[self.asked]

    # -- what is shown -------------------------------------------------------------------------------------------------

    def view(self) -> View:
        """What is shown: the board's view with moves, clocks and the hint."""
        shown = super().view()
        hint = self._hint[1] if self._hint and self._hint[0] == self._version and self.asked is not None else None
        clocks = tuple(map(int, self._spent)) if self._column else ()
        key = (clocks, hint, self._advice.busy)
        if self._added is None or self._added[0] is not shown or self._added[1] != key:
            more: dict[str, Any] = {"clocks": clocks, "moves": self._told(shown.player) if self._column else ()}
            if self._advice.busy:
                more["status"] = f"{self.adviser.name if self.adviser else ''} thinks about a hint ..."
            elif hint is not None:
                more |= self._hinted(hint)
            self._added = shown, key, replace(shown, **more)
        return self._added[2]

    def _hinted(self, hint: Decision) -> dict[str, Any]:
        """The status and the cells of a hint."""
        game, state = self._shown(self.match.state)
        action = hint.action
        if action is not None and self.talk:
            action = self.talk.split(self.match.state, 0, hint.text).action
        if action is None or self.adviser is None:
            return {"status": f"No hint: {hint.text}"}
        told = f"{self.adviser.name} would play {game.action_to_text(state, 0, action)}"
        return {"status": told, "hint": tuple(self.drawer.cells(game, state, 0, action))}

    def _told(self, eyes: Player | None) -> tuple[tuple[tuple[Player, str], ...], ...]:
        """The turns that the viewer may know, each a list of (seat, action in words)."""
        game, plies = self.game, self.match.plies
        same = 0
        while same < min(len(plies), len(self._moves)) and plies[same] is self._moves[same][0]:
            same += 1
        del self._moves[same:]
        for ply in plies[same:]:
            actions = ply.actions or []
            said = [(p, game.action_to_text(ply.before, 0, actions[p])) for p in ply.seats if actions]
            self._moves.append((ply, tuple(said)))
        known = (
            tuple(one for one in said if not game.info.secret or eyes in (None, one[0])) for _, said in self._moves
        )
        return tuple(said for said in known if said)


Session = BoardSession
"""The former name of ``BoardSession``."""
