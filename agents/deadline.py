"""When to give up: what takes long asks now and then whether its time is over, and whoever set the time picks it up."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["OutOfTime", "breathe", "until"]

_MOMENT: ContextVar[float] = ContextVar("deadline", default=math.inf)


class OutOfTime(Exception):  # it ends work; nothing is wrong
    """The time that ``until`` set is over; what was under way is half done."""


@contextmanager
def until(moment: float) -> Iterator[None]:
    """Within it, ``breathe`` raises OutOfTime once ``time.monotonic()`` has passed a moment (seconds)."""
    token = _MOMENT.set(moment)
    try:
        yield
    finally:
        _MOMENT.reset(token)


def breathe() -> None:
    """Go on, unless the time is over.

    Raises:
        OutOfTime: see ``until``.
    """
    if time.monotonic() > _MOMENT.get():
        raise OutOfTime
