"""Alarms: what takes too long is interrupted, even while it waits."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["alarm"]


@contextmanager
def alarm(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Raises ``error`` in the block after so many seconds; an earlier alarm continues after it.

    Only the main thread can be interrupted, and not under Windows: elsewhere nothing is raised.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def over(*_: Any) -> None:
        raise error

    handler = signal.signal(signal.SIGALRM, over)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, handler)
