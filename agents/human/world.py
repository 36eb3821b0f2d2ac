"""Worlds that agents play and people join, whatever shows them: a window (``world_window``) or a page (``world_page``).

Agents act in a separate thread, as in ``session``. Between two looks it plays as many ticks as the speed requires and
time allows. While the world is paused, a tick is played once every person has said what their agent shall do.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from ...aliases import RUNNING, TERMINATED, Player
from ...envs.core import Game
from ...envs.registry import spec
from ...errors import UsageError
from ..core import Agent, Decision
from .replayed import Replayed
from .session import Session, Thinker
from .table import Match

__all__ = ["RATES", "WorldGame"]

RATES: Final = (1, 2, 4, 8, 15, 30, 60, 120, 0)
"""Ticks per second; 0: as fast as possible."""

FRAME: Final = 1 / 40
"""Seconds spent on ticks between two frames, at most."""

REST: Final = 2.0
"""Seconds that the end of a world is shown before the next one begins."""

PACE: Final = (("slower", "-"), ("faster", "+"))


class WorldGame(Session[Match | Replayed]):
    """Worlds, one after the other; subclasses show them and pass on what people do.

    Args:
        begin, games, left: see ``session.Session``; ``begin`` may also be a replay to show.
        agents: one per slot, also for a slot that a person takes over, since it may be handed back.
        people: the slots that people control at first; the world then starts paused.
        rate: ticks per second, one of RATES.
        lock: held while agents think, where other games share them.

    Attributes:
        people: the slots that people control now.
        own: the one of them that is told what to do now, or None.
        paused: whether the world waits instead of advancing; each key of a person's slot then plays one tick.
        touched: whether a person has played in this match.
    """

    def __init__(
        self,
        begin: Callable[[int], Match] | Replayed,
        agents: Sequence[Agent | None],
        *,
        people: Sequence[Player] = (),
        games: int = 1,
        rate: int = 8,
        left: Callable[[Match], None] = lambda match: None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        super().__init__(begin.again if isinstance(begin, Replayed) else begin, agents, games, left)
        self.thinker = Thinker(self.agents, lock)
        self.game = self.match.game
        self.paused, self.rate = bool(people), rate
        self.own: Player | None = None
        self._seat(people)
        self.touched = False
        self._intentions: dict[Player, str] = {}  # of people's slots, for the next tick
        self._ahead = ""  # an intention that came while a tick was under way, for the tick after it
        self._dead: list[Player] = []  # slots of people whose agents died; in the next world they play again
        self._due = time.monotonic()

    @property
    def replay(self) -> Replayed | None:
        """The replay that is shown, or None."""
        return self.match if isinstance(self.match, Replayed) else None

    def _play(self) -> None:
        """Play the ticks that are due."""
        end = time.monotonic() + FRAME
        while self._may_play() and self._tick(end):
            self._turned()
            if self._single:
                self._single = False
                self._due = time.monotonic()
                ahead, self._ahead = self._ahead, ""
                if ahead:
                    self.intend(ahead)
                return
            now = time.monotonic()
            self._due = max(self._due + (1 / self.rate if self.rate else 0.0), now - FRAME)
            if now >= end:
                return

    def _may_play(self) -> bool:
        if self.match.status != RUNNING:
            self._single = False
            return False
        return self._single or (not self.paused and time.monotonic() >= self._due)

    def _tick(self, end: float) -> bool:
        """Play one tick; False while agents have not answered."""
        match = self.match
        if isinstance(match, Replayed):
            match.step()
            return True
        living = match.seats()
        seats = [seat for seat in living if seat not in self.people]
        self._ask(match, seats)
        if self.thinker.busy:
            self.answers |= self.thinker.answer(wait=max(0.001, end - time.monotonic())) or {}
        if any(seat not in self.answers for seat in seats):
            return False
        for seat in self.people:
            if seat in living:
                self.answers[seat] = self._own_decision(match, seat)
                self.touched = True
        match.play(self.answers)
        self._intentions = {}
        living = match.seats()
        self._dead += [seat for seat in self.people if seat not in living]
        self._seat([seat for seat in self.people if seat in living])
        return True

    def _seat(self, people: Sequence[Player]) -> None:
        """Let these slots be people's; in a paused world the first of them is asked first."""
        self.people = sorted(people)
        if self.own not in self.people or self.paused:
            self.own = self.people[0] if self.people else None

    def _own_decision(self, match: Match, seat: Player) -> Decision:
        from ...renderers.gridworld_keys import action_of

        intention = self._intentions.get(seat, "wait")
        mask = match.game.legal_mask(match.state, 0, seat)
        return Decision(action_of(match.state, 0, seat, intention, mask), intention)

    # -- controls ------------------------------------------------------------------------------------------------------

    def intend(self, intention: str) -> None:
        """Tell the person's agent what to do; in a paused world the next person is asked, then the tick is played.

        While that tick is under way, one intention is kept for the tick after it.
        """
        if self.own is None or self.match.status != RUNNING:
            return
        if self._single:
            self._ahead = intention
            return
        self._intentions[self.own] = intention
        if self.paused:
            waiting = [seat for seat in self.people if seat not in self._intentions]
            self._single = not waiting
            self.own = waiting[0] if waiting else self.own

    def take(self, slot: Player) -> None:
        """Take over an agent, or turn to one that is taken over already."""
        if isinstance(self.match, Match) and slot in self.match.seats():
            self._seat([*{*self.people, slot}])
            self.own = slot
            self._intentions.pop(slot, None)
            self.thinker.forget()

    def release(self) -> None:
        """Hand the person's agent back to the player of its seat."""
        if self.own is not None:
            self._intentions.pop(self.own, None)
            self._ahead = ""
            self._seat([seat for seat in self.people if seat != self.own])
            self.thinker.forget()

    def _control(self, name: str) -> None:
        if name in ("faster", "slower"):
            k = RATES.index(self.rate) + (1 if name == "faster" else -1)
            self.rate = RATES[min(max(0, k), len(RATES) - 1)]
        elif name == "release":
            self.release()
        else:
            super()._control(name)
        if name in ("pause", "faster", "slower"):
            self._due = time.monotonic()

    def _new(self) -> None:
        """Start the next world, or restart a replay."""
        super()._new()
        self._due, self._intentions, self._ahead, self.touched = time.monotonic(), {}, "", False
        self._seat([*self.people, *self._dead])
        self._dead = []

    # -- what is shown -------------------------------------------------------------------------------------------------

    def _status(self) -> str:
        if self.match.status != RUNNING:
            if self.replay is not None:
                return "The end of the replay."
            return "No agent is alive." if self.match.status == TERMINATED else "The last tick is over."
        if self.own is not None:
            who = "You play" if len(self.people) == 1 else f"You play agent {self.own}"
            if not self.paused:
                return f"{who}; h: keys"
            return f"{who}: each key is a tick" if len(self.people) == 1 else f"{who}: the next key is for it"
        if self.paused:
            return "Paused"
        rate = f"{self.rate} ticks per second" if self.rate else "as fast as possible"
        return f"Replay, {rate}" if self.replay is not None else rate

    def _controls(self) -> tuple[tuple[str, str], ...]:
        replay = self.replay is not None
        back = (("back", "Back"),) if replay else ()
        again = ("new", "From the start" if replay else "New world")
        return (("pause", "Play" if self.paused else "Pause"), *back, ("step", "Step"), *PACE, again)


def beside_drawer(game: Game, name: str, missing: str) -> str:
    """What shows a world, ``"package.module:class"``: the constant ``name`` in its drawer's module.

    Raises:
        UsageError: there is none; ``missing`` says what this means.
    """
    draw = spec(game.info.id).draw
    found: str | None = getattr(importlib.import_module(draw.partition(":")[0]), name, None) if draw else None
    if found is None:
        raise UsageError(f"{game.info.id} {missing}")
    return found
