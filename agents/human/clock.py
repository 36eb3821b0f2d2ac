"""Chess clocks: a time for the whole game, and seconds that each move adds. Only people lose on time."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from ...aliases import Player
from ...envs.core import Game, Times
from ...errors import UsageError
from ..deadline import OutOfTime, until

__all__ = ["Clock", "read_times", "told_time"]


def read_times(text: str) -> Times:
    """The times of ``5+3`` (minutes, and seconds that a move adds), ``5`` or ``30s``; whole seconds.

    Raises:
        UsageError: it is none of these, or no time at all.
    """
    found = re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?)(s?)(?:\+(\d{1,4})s?)?", text.strip(), re.ASCII)
    if found is None:
        raise UsageError(
            f"--clock {text[:40]} is no time. Type minutes, with + and the seconds that each move adds if you like: "
            "5+3, 10, 0.5+1; or seconds: 30s."
        )
    base = round(float(found[1]) * (1 if found[2] else 60))
    if base < 1:
        raise UsageError(f"--clock {text[:40]} leaves no time to move in; give each player at least a second: 1s.")
    return Times(base, int(found[3] or 0))


def told_time(seconds: float) -> str:
    """Seconds as ``4:59``, with hours ``1:04:59``; what has begun counts as whole."""
    whole = math.ceil(max(0.0, seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


class Clock:
    """The clock of one match.

    Args:
        times: what each player gets.
        game: a turn-based one.
        people: the seats that lose when their time runs out; others only see theirs counted.

    Attributes:
        times: as given.
        left: [P] seconds.

    Raises:
        UsageError: all players of the game act at once, or no person plays.
    """

    def __init__(self, times: Times, game: Game, people: Collection[Player]) -> None:
        if game.info.simultaneous:
            raise UsageError(f"A clock is for games in which players take turns; in {game.info.name} all act at once.")
        if not people:
            raise UsageError("A clock is for games in which a person plays: name human among the players.")
        self.times, self.people = times, frozenset(people)
        self._players = game.info.players
        self.left: list[float] = []
        self.back_to()

    def back_to(self, left: Sequence[float] = ()) -> None:
        """Go back to these times; by default to those of the start."""
        self.left = list(left) or [float(self.times.base)] * self._players

    def spend(self, seat: Player, seconds: float) -> None:
        """Take the seconds that a seat has thought."""
        self.left[seat] = max(0.0, self.left[seat] - seconds)

    def gain(self, seat: Player) -> None:
        """Add what a move adds."""
        self.left[seat] += self.times.increment

    def flagged(self, seat: Player) -> bool:
        """Whether a seat is a person's, and its time has run out."""
        return seat in self.people and self.left[seat] <= 0

    @contextmanager
    def running(self, seat: Player) -> Iterator[None]:
        """Count what is done in this context as a seat's time.

        Raises:
            OutOfTime: it is a person's, and its time has run out.
        """
        begun = time.monotonic()
        try:
            with until(begun + self.left[seat]) if seat in self.people else nullcontext():
                yield
        finally:
            self.spend(seat, time.monotonic() - begun)
        if self.flagged(seat):
            raise OutOfTime
