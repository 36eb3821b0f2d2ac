"""Worlds at the window: agents play, a person watches, looks into them, and takes one over by keyboard.

What is shown is a match, or a ``Replayed`` record. Agents think in a thread of their own, as in ``window``; as
many ticks are played between two pictures as the speed asks for and the time allows.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...aliases import RUNNING, TERMINATED, Player, Status
from ...envs.core import Game, GameRecord
from ...envs.state import take
from ...errors import UsageError
from ..core import Agent, Decision
from .table import Match
from .window import Thinker

if TYPE_CHECKING:
    from ...renderers.gridworld_window import Asked, Scene

__all__ = ["RATES", "Replayed", "WorldSession"]

RATES: Final = (1, 2, 4, 8, 15, 30, 60, 120, 0)
"""Ticks a second; 0: as fast as they come."""

FRAME: Final = 1 / 40
"""Seconds of ticks between two pictures, at most."""

REST: Final = 2.0
"""Seconds that a world's end is shown before the next one begins."""

KEPT: Final = 250
"""A replay keeps a state every so many ticks, so that it can go back."""


class Replayed:
    """A record of a world that is shown: it goes to any tick and back, of so many ``ticks``.

    ``read_games`` has seen that the record leads where it led.
    """

    def __init__(self, game: Game, record: GameRecord) -> None:
        self.game, self.names, self._record = game, record.players, record
        self.tick, self.ticks = 0, len(record.actions)
        self.state = take(record.start)
        self.returns = np.zeros(game.info.players)
        self._kept = {0: (take(self.state), self.returns.copy())}

    @property
    def status(self) -> Status:
        """RUNNING until the last tick; then as the record ended."""
        if self.tick < self.ticks:
            return RUNNING
        return self._record.status if self._record.status != RUNNING else TERMINATED

    def step(self) -> None:
        """One tick on, if there is one."""
        if self.tick >= self.ticks:
            return
        rewards = np.zeros(self.game.info.players, np.float32)
        actions = np.array(self._record.actions[self.tick], np.int32)
        self.game.kernels.step(self.state, 0, actions, rewards)
        self.returns = self.returns + rewards
        self.tick += 1
        if self.tick % KEPT == 0 and self.tick not in self._kept:
            self._kept[self.tick] = (take(self.state), self.returns.copy())

    def seek(self, tick: int) -> None:
        """To that tick, or as near as there is one."""
        tick = max(0, min(self.ticks, tick))
        near = max(kept for kept in self._kept if kept <= tick)
        if not near <= self.tick <= tick:
            state, returns = self._kept[near]
            self.state, self.returns, self.tick = take(state), returns.copy(), near
        while self.tick < tick:
            self.step()


class WorldSession:
    """A window and the worlds that are played in it, one after the other.

    Args:
        begin: from the number of a game (the first is 0) to its beginning; or a record to be shown.
        agents: who sits in the slots. Also a slot that a person takes over has one, to hand it back to.
        window: ``"package.module:class"`` of the game's window.
        own: the slot that a person begins with; the world waits for its keys.
        look: the slot that the camera follows at first.
        games: how many are played before the window rests.
        rate: ticks a second, one of RATES.
        left: is told every match that is left: it ended and a new one begins, or the window is closed.

    Attributes:
        own: the slot that a person has taken over.
        paused: nothing goes on by itself. With a slot taken over, each key is a tick then.
        touched: a person has played in this match.

    Raises:
        MissingExtra: pygame is not installed.
        UsageError: there is no display, or no such slot to look at.
    """

    def __init__(
        self,
        begin: Callable[[int], Match] | Replayed,
        agents: Sequence[Agent],
        window: str,
        *,
        own: Player | None = None,
        look: Player | None = None,
        games: int = 1,
        rate: int = 8,
        left: Callable[[Match], None] = lambda match: None,
    ) -> None:
        self.match: Match | None = None
        self.replay: Replayed | None = None
        self._begin: Callable[[int], Match] | None = None
        if isinstance(begin, Replayed):
            self.replay = begin
        else:
            self._begin, self.match = begin, begin(0)
        shown = self.shown
        module, _, name = window.partition(":")
        who = " and ".join(dict.fromkeys(shown.names))
        self.window: Any = getattr(importlib.import_module(module), name)(shown.game, f"{shown.game.info.name}: {who}")
        self.agents, self._left, self._games, self._played = list(agents), left, games, 0
        self.own, self.paused, self.rate = own, own is not None, rate
        self.touched = False
        self._intention = ""  # of the person, for the next tick
        self._single = False
        self._version = 0
        self._due = time.monotonic()
        self._ended = 0.0
        self.window.show(self.scene())
        if own is not None or look is not None:
            try:
                self.window.look_at(own if look is None else look)
            except UsageError:
                self.window.close()
                raise
        self.thinker = Thinker(self.agents)  # last: nobody would stop it if anything above were refused

    @property
    def shown(self) -> Match | Replayed:
        """What is to be seen."""
        found = self.match or self.replay
        assert found is not None
        return found

    # -- the loop ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Show and play until the window is closed.

        Raises:
            CoterieError: what went wrong with an agent; the match was given to ``left`` before.
        """
        try:
            while self.step(wait=0.01):
                pass
        finally:
            self.close()

    def close(self) -> None:
        """Leave the match, close the window."""
        self.thinker.stop()
        self.window.close()
        if self.match is not None:
            self._left(self.match)

    def step(self, wait: float = 0.0) -> bool:
        """One round: show, answer what was asked for, play what is due; False once the window is closed."""
        self.window.show(self.scene())
        for asked in self.window.poll(wait):
            if asked.name == "quit":
                return False
            self._answer(asked)
        self._play()
        self._next_game()
        return True

    def _play(self) -> None:
        """The ticks that are due."""
        end = time.monotonic() + FRAME
        while self._may_play() and self._tick(end):
            self._version += 1
            if self._single:
                self._single = False
                self._due = time.monotonic()
                return
            now = time.monotonic()
            self._due = max(self._due + (1 / self.rate if self.rate else 0.0), now - FRAME)
            if now >= end:
                return

    def _may_play(self) -> bool:
        if self.shown.status != RUNNING:
            self._single = False
            return False
        return self._single or (not self.paused and time.monotonic() >= self._due)

    def _tick(self, end: float) -> bool:
        """One tick; False where the agents still think."""
        if self.replay is not None:
            self.replay.step()
            return True
        match = self.match
        assert match is not None
        seats = [seat for seat in match.seats() if seat != self.own]
        decisions: dict[Player, Decision] = {}
        if seats:
            if not self.thinker.busy:
                self.thinker.ask(match.turns(seats))
            said = self.thinker.answer(wait=max(0.001, end - time.monotonic()))
            if said is None:
                return False
            decisions = said
        if self.own is not None and self.own in match.seats():
            decisions[self.own] = self._own_decision(match, self.own)
            self.touched = True
        match.play(decisions)
        if self.own is not None and self.own not in match.seats():
            self.own = None  # it has died
        return True

    def _own_decision(self, match: Match, seat: Player) -> Decision:
        from ...renderers.gridworld_keys import action_of

        intention, self._intention = self._intention or "wait", ""
        mask = match.game.legal_mask(match.state, 0, seat)
        return Decision(action_of(match.state, 0, seat, intention, mask), intention)

    def _next_game(self) -> None:
        """As many worlds as were asked for; the last one stays in the window."""
        if self.shown.status == RUNNING or self.match is None:
            self._ended = 0.0
        elif not self._ended:
            self._ended = time.monotonic()
        elif not self.paused and self._played + 1 < self._games and time.monotonic() - self._ended > REST:
            self._new()

    # -- controls ------------------------------------------------------------------------------------------------------

    def _answer(self, asked: Asked) -> None:
        name = asked.name
        if name == "pause":
            self.paused = not self.paused
            self._due = time.monotonic()
        elif name == "step":
            self.paused = self._single = True
        elif name in ("faster", "slower"):
            k = RATES.index(self.rate) + (1 if name == "faster" else -1)
            self.rate = RATES[min(max(0, k), len(RATES) - 1)]
            self._due = time.monotonic()
        elif name == "do":
            self._intention = asked.intention
            self._single = self.paused
        elif name == "take" and self.match is not None:
            self.own, self._intention = asked.value, ""
            self.thinker.forget()
        elif name == "release":
            self.own, self._intention = None, ""
            self.thinker.forget()
        elif name == "new":
            self._new()
        elif self.replay is not None and name in ("seek", "back"):
            self.paused = True
            self.replay.seek(asked.value if name == "seek" else self.replay.tick - 1)
            self._version += 1

    def _new(self) -> None:
        """The next world; a replay begins again."""
        self._version += 1
        self._due, self._ended = time.monotonic(), 0.0
        self._single, self._intention = False, ""
        if self.replay is not None:
            self.replay.seek(0)
            return
        assert self.match is not None
        assert self._begin is not None
        self._left(self.match)
        self.thinker.forget()
        self._played += 1
        self.touched = False
        self.match = self._begin(self._played)

    # -- what is to be seen --------------------------------------------------------------------------------------------

    def scene(self) -> Scene:
        """What the window shows now."""
        from ...renderers.gridworld_window import Scene

        shown = self.shown
        return Scene(
            shown.state,
            self._version,
            shown.names,
            shown.returns,
            self.own,
            self._status(),
            self._controls(),
            self.replay is not None,
            self.replay.ticks if self.replay is not None else 0,
        )

    def _status(self) -> str:
        shown = self.shown
        if shown.status != RUNNING:
            if self.replay is not None:
                return "The end of the replay."
            return "Nobody lives." if shown.status == TERMINATED else "The last tick is over."
        if self.own is not None:
            return "You play: each key is a tick" if self.paused else "You play; h: keys"
        if self.paused:
            return "Paused"
        rate = f"{self.rate} ticks a second" if self.rate else "as fast as it goes"
        return f"Replay, {rate}" if self.replay is not None else rate

    def _controls(self) -> tuple[tuple[str, str], ...]:
        again = ("new", "From the start") if self.replay is not None else ("new", "New world")
        back = (("back", "Back"),) if self.replay is not None else ()
        return (
            ("pause", "Play" if self.paused else "Pause"),
            *back,
            ("step", "Step"),
            ("slower", "-"),
            ("faster", "+"),
            again,
        )
