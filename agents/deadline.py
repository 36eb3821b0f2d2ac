"""Deadlines: long computations call ``breathe`` now and then, which raises OutOfTime once the deadline has passed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["OutOfTime", "breathe", "remaining", "until"]

_MOMENT: ContextVar[float] = ContextVar("deadline", default=math.inf)


class OutOfTime(Exception):  # not an error: it only ends the work
    """The deadline that ``until`` set has passed; the work in progress is incomplete."""


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


def breathe() -> None:
    """Return, unless the deadline has passed.

    Raises:
        OutOfTime: see ``until``.
    """
    if time.monotonic() > _MOMENT.get():
        raise OutOfTime
