"""Worlds in a window: agents play, and a person watches, inspects them and takes one over by keyboard.

The window shows a match or a ``Replayed`` record.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...aliases import RUNNING, Player
from ...envs.core import Game
from ...errors import UsageError
from ..core import Agent
from .replayed import Replayed
from .table import Match
from .world import RATES, REST, WorldGame, beside_drawer

if TYPE_CHECKING:
    from ...renderers.gridworld_window import Asked, Scene

__all__ = ["RATES", "Replayed", "WorldSession", "window_of"]


class WorldSession(WorldGame):
    """The window of a world.

    Args:
        begin, agents, people, more: see ``world.WorldGame``.
        window: ``"package.module:class"`` of the game's window.
        look: the slot that the camera follows at first; the first person's by default.

    Raises:
        MissingExtra: pygame is not installed.
        UsageError: there is no display, or no such slot to look at.
    """

    def __init__(
        self,
        begin: Callable[[int], Match] | Replayed,
        agents: Sequence[Agent | None],
        window: str,
        *,
        people: Sequence[Player] = (),
        look: Player | None = None,
        **more: Any,
    ) -> None:
        super().__init__(begin, agents, people=people, **more)
        module, _, name = window.partition(":")
        who = " and ".join(dict.fromkeys(self.match.names))
        title = f"{self.game.info.name}: {who}"
        self.window: Any = getattr(importlib.import_module(module), name)(self.game, title)
        self.window.show(self.scene())
        look = self.own if look is None else look
        if look is not None:
            try:
                self.window.look_at(look)
            except UsageError:
                self.window.close()
                raise

    def step(self, wait: float = 0.0) -> bool:
        """One round: show, handle events, play the ticks that are due; False once the window is closed."""
        self.window.show(self.scene())
        for asked in self.window.poll(wait):
            if asked.name == "quit":
                return False
            self._answer(asked)
        self._play()
        if self.match.status != RUNNING:
            self._next_game(REST)
        return True

    def _may_play(self) -> bool:
        return not (self.window.helping and self.match.status == RUNNING) and super()._may_play()

    def _answer(self, asked: Asked) -> None:
        if asked.name == "do":
            self.intend(asked.intention)
        elif asked.name == "take":
            self.take(asked.value)
        elif self.replay is not None and asked.name in ("seek", "back"):
            self.paused = True
            self.replay.seek(asked.value if asked.name == "seek" else self.replay.tick - 1)
            self._turned()
        else:
            self._control(asked.name)

    def scene(self) -> Scene:
        """What the window shows."""
        from ...renderers.gridworld_window import Scene

        match, replay = self.match, self.replay
        return Scene(
            match.state,
            self._version,
            match.names,
            match.returns,
            self.own,
            self._status(),
            self._controls(),
            replay is not None,
            replay.ticks if replay else 0,
        )


def window_of(game: Game) -> str:
    """The world's window, ``"package.module:class"``: ``WINDOW`` in its drawer's module.

    Raises:
        UsageError: there is none.
    """
    return beside_drawer(game, "WINDOW", "has no window; remove --window.")
