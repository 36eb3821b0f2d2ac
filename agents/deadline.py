"""Deadlines: long computations call ``breathe`` now and then.

It raises OutOfTime once the deadline has passed, or once nobody waits for the result any more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["OutOfTime", "breathe", "remaining", "unless", "until"]

_MOMENT: ContextVar[float] = ContextVar("deadline", default=math.inf)
_LEFT: ContextVar[Callable[[], bool]] = ContextVar("left", default=lambda: False)


class OutOfTime(Exception):  # not an error: it only ends the work
    """The deadline that ``until`` set has passed, or ``unless`` ends the work; what is in progress is incomplete."""


@contextmanager
def until(moment: float) -> Iterator[None]:
    """Context in which ``breathe`` raises OutOfTime once ``time.monotonic()`` (seconds) is later than ``moment``."""
    token = _MOMENT.set(moment)
    try:
        yield
    finally:
        _MOMENT.reset(token)


def remaining() -> float:
    """Seconds until the deadline; inf where there is none."""
    return _MOMENT.get() - time.monotonic()


@contextmanager
def unless(left: Callable[[], bool]) -> Iterator[None]:
    """Context in which ``breathe`` raises OutOfTime once ``left()`` is true; it may become so in another thread."""
    token = _LEFT.set(left)
    try:
        yield
    finally:
        _LEFT.reset(token)


def breathe() -> None:
    """Return, unless the deadline has passed.

    Raises:
        OutOfTime: see ``until`` and ``unless``.
    """
    if time.monotonic() > _MOMENT.get() or _LEFT.get()():
        raise OutOfTime
