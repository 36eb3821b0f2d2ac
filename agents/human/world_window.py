"""Worlds in a window: agents play, and a person watches, inspects them and takes one over by keyboard.

The window shows a match or a ``Replayed`` record. Agents act in a separate thread, as in ``session``. Between two
frames it plays as many ticks as the speed requires and time allows.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...aliases import RUNNING, TERMINATED, Player
from ...envs.core import Game
from ...envs.registry import spec
from ...errors import UsageError
from ..core import Agent, Decision
from .replayed import Replayed
from .session import Session
from .table import Match

if TYPE_CHECKING:
    from ...renderers.gridworld_window import Asked, Scene

__all__ = ["RATES", "Replayed", "WorldSession", "window_of"]

RATES: Final = (1, 2, 4, 8, 15, 30, 60, 120, 0)
"""Ticks per second; 0: as fast as possible."""

FRAME: Final = 1 / 40
"""Seconds spent on ticks between two frames, at most."""

REST: Final = 2.0
"""Seconds that the end of a world is shown before the next one begins."""

PACE: Final = (("slower", "-"), ("faster", "+"))


class WorldSession(Session[Match | Replayed]):
    """The window of a world.

    Args:
        begin, games, left: see ``session.Session``; ``begin`` may also be a replay to show.
        agents: one per slot, also for a slot that a person takes over, since it may be handed back.
        window: ``"package.module:class"`` of the game's window.
        own: the slot that a person controls at first; the world then starts paused.
        look: the slot that the camera follows at first; ``own`` by default.
        rate: ticks per second, one of RATES.

    Attributes:
        own: the slot that a person controls, or None.
        paused: whether the world waits instead of advancing; each key of a person's slot then plays one tick.
        touched: whether a person has played in this match.

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
        own: Player | None = None,
        look: Player | None = None,
        games: int = 1,
        rate: int = 8,
        left: Callable[[Match], None] = lambda match: None,
    ) -> None:
        super().__init__(begin.again if isinstance(begin, Replayed) else begin, agents, games, left)
        game = self.match.game
        module, _, name = window.partition(":")
        who = " and ".join(dict.fromkeys(self.match.names))
        self.window: Any = getattr(importlib.import_module(module), name)(game, f"{game.info.name}: {who}")
        self.own, self.paused, self.rate = own, own is not None, rate
        self.touched = False
        self._intention = ""  # the person's, for the next tick
        self._due = time.monotonic()
        self.window.show(self.scene())
        if own is not None or look is not None:
            try:
                self.window.look_at(own if look is None else look)
            except UsageError:
                self.window.close()
                raise

    @property
    def replay(self) -> Replayed | None:
        """The replay that is shown, or None."""
        return self.match if isinstance(self.match, Replayed) else None

    # -- the loop ------------------------------------------------------------------------------------------------------

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

    def _play(self) -> None:
        """Play the ticks that are due."""
        end = time.monotonic() + FRAME
        while self._may_play() and self._tick(end):
            self._turned()
            if self._single:
                self._single = False
                self._due = time.monotonic()
                return
            now = time.monotonic()
            self._due = max(self._due + (1 / self.rate if self.rate else 0.0), now - FRAME)
            if now >= end:
                return

    def _may_play(self) -> bool:
        if self.match.status != RUNNING:
            self._single = False
            return False
        if self.window.helping:
            return False
        return self._single or (not self.paused and time.monotonic() >= self._due)

    def _tick(self, end: float) -> bool:
        """Play one tick; False while agents have not answered."""
        match = self.match
        if isinstance(match, Replayed):
            match.step()
            return True
        seats = [seat for seat in match.seats() if seat != self.own]
        self._ask(match, seats)
        if self.thinker.busy:
            self.answers |= self.thinker.answer(wait=max(0.001, end - time.monotonic())) or {}
        if any(seat not in self.answers for seat in seats):
            return False
        if self.own is not None and self.own in match.seats():
            self.answers[self.own] = self._own_decision(match, self.own)
            self.touched = True
        match.play(self.answers)
        if self.own is not None and self.own not in match.seats():
            self.own = None  # it has died
        return True

    def _own_decision(self, match: Match, seat: Player) -> Decision:
        from ...renderers.gridworld_keys import action_of

        intention, self._intention = self._intention or "wait", ""
        mask = match.game.legal_mask(match.state, 0, seat)
        return Decision(action_of(match.state, 0, seat, intention, mask), intention)

    # -- controls ------------------------------------------------------------------------------------------------------

    def _answer(self, asked: Asked) -> None:
        name = asked.name
        if name in ("faster", "slower"):
            k = RATES.index(self.rate) + (1 if name == "faster" else -1)
            self.rate = RATES[min(max(0, k), len(RATES) - 1)]
        elif name == "do":
            self._intention = asked.intention
            self._single = self.paused
        elif name in ("take", "release") and self.replay is None:
            self.own, self._intention = asked.value if name == "take" else None, ""
            self.thinker.forget()
        elif self.replay is not None and name in ("seek", "back"):
            self.paused = True
            self.replay.seek(asked.value if name == "seek" else self.replay.tick - 1)
            self._turned()
        else:
            self._control(name)
        if name in ("pause", "faster", "slower"):
            self._due = time.monotonic()

    def _new(self) -> None:
        """Start the next world, or restart a replay."""
        super()._new()
        self._due, self._intention, self.touched = time.monotonic(), "", False

    # -- what is shown -------------------------------------------------------------------------------------------------

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

    def _status(self) -> str:
        if self.match.status != RUNNING:
            if self.replay is not None:
                return "The end of the replay."
            return "No agent is alive." if self.match.status == TERMINATED else "The last tick is over."
        if self.own is not None:
            return "You play: each key is a tick" if self.paused else "You play; h: keys"
        if self.paused:
            return "Paused"
        rate = f"{self.rate} ticks per second" if self.rate else "as fast as possible"
        return f"Replay, {rate}" if self.replay is not None else rate

    def _controls(self) -> tuple[tuple[str, str], ...]:
        replay = self.replay is not None
        back = (("back", "Back"),) if replay else ()
        again = ("new", "From the start" if replay else "New world")
        return (("pause", "Play" if self.paused else "Pause"), *back, ("step", "Step"), *PACE, again)


def window_of(game: Game) -> str:
    """The world's window, ``"package.module:class"``: ``WINDOW`` in its drawer's module.

    Raises:
        UsageError: there is none.
    """
    draw = spec(game.info.id).draw
    window: str | None = getattr(importlib.import_module(draw.partition(":")[0]), "WINDOW", None) if draw else None
    if window is None:
        raise UsageError(f"{game.info.id} has no window; remove --window.")
    return window
