"""People and agents in a board game's window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import Agent
from .board import SPEEDS, BoardGame
from .session import Thinker
from .table import Match

__all__ = ["SPEEDS", "BoardSession", "Session", "Thinker"]


class BoardSession(BoardGame):
    """The window of a board game; with talk, a message that the person has typed goes with the next action.

    Args:
        begin, agents, draw, games, seconds, left: see ``board.BoardGame``.

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
    ) -> None:
        from ...renderers.talking import Entry
        from ...renderers.window import Window

        super().__init__(begin, agents, draw, games=games, seconds=seconds, left=left)
        self.entry = Entry(self.talk.length if self.talk and self.people else 0)
        title = f"{self.game.info.name}: {' against '.join(self.match.names)}"
        self.window: Any = Window(self._shown(self.match.state)[0], draw, title, self.entry if self.talk else None)

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
        if not self.window.helping:
            self._play()
        return True

    def _forget_words(self) -> None:
        self.entry.clear()
        super()._forget_words()

    def _control(self, name: str) -> None:
        if name == "say":
            self._note = "Choose an action; your message goes with it." if self.entry.text.strip() else ""
        else:
            super()._control(name)

    def _controls(self) -> dict[str, str]:
        return {**super()._controls(), "help": "Keys"}


Session = BoardSession
"""The former name of ``BoardSession``."""
