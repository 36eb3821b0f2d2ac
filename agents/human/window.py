"""People and agents in a board game's window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core import Agent
from .board import BoardGame
from .table import Match

if TYPE_CHECKING:
    from ...renderers.panel import View

__all__ = ["BoardSession"]


class BoardSession(BoardGame):
    """The window of a board game; with talk, a message that the person has typed goes with the next action.

    Args:
        begin, agents, draw, **more: see ``board.BoardGame``.

    Raises:
        MissingExtra: pygame is not installed.
        UsageError: there is no display.
    """

    def __init__(
        self,
        begin: Callable[[int], Match],
        agents: Sequence[Agent | None],
        draw: str | None,
        **more: Any,
    ) -> None:
        from ...renderers.talking import Entry
        from ...renderers.window import Window

        super().__init__(begin, agents, draw, **more)
        self.entry = Entry(self.talk.length if self.talk and self.people else 0)
        title = f"{self.game.info.name}: {' against '.join(self.match.names)}"
        shown, entry = self.history.shown(self.match.state)[0], self.entry if self.talk else None
        self._column = draw is not None and not self.talk
        self.window: Any = Window(shown, draw, title, entry, column=self._column)
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
        self._pass_time(counted=not self.window.helping)
        if not self.window.helping:
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
        else:
            super()._control(name)

    def _controls(self) -> dict[str, str]:
        return super()._controls() | {"help": "Keys"}

    # -- what is shown -------------------------------------------------------------------------------------------------

    def view(self) -> View:
        """What is shown: the board's view with moves, clocks and the hint."""
        shown, hint = super().view(), self._hinted()
        clocks = self.times() if self._column or self.match.clock else ()
        key = (clocks, hint, self._asked_for, self._note)
        if self._added is None or self._added[0] is not shown or self._added[1] != key:
            more: dict[str, Any] = {
                "clocks": clocks,
                "moves": self.history.moves(self.match, shown.player) if self._column else (),
            }
            adviser = self.adviser.name if self.adviser else ""
            if self._asked_for:
                more["status"] = f"{adviser} thinks about {'a hint' if self._asked_for == 'hint' else 'your offer'} ..."
            elif self.offered is not None:
                more["status"] = f"player_{self.offered} offers a draw"
            elif self._note and not self.talk:
                more["status"] = self._note
            elif hint is not None:
                more |= {"status": f"{adviser} would play {hint[0]}", "hint": hint[1]}
            self._added = shown, key, replace(shown, **more)
        return self._added[2]
