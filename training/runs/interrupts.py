"""Ctrl-C during training: the current update is finished first, so that everything saved is complete."""

from __future__ import annotations

import signal
import threading
from typing import Any

__all__ = ["StopFlag"]


class StopFlag:
    """Ctrl-C once: finish this update, save, stop. Twice: stop at once; the last checkpoint stays.

    Attributes:
        asked: whether it was pressed.
    """

    def __init__(self) -> None:
        self.asked = False
        self._old: Any = None

    def __enter__(self) -> StopFlag:
        if threading.current_thread() is threading.main_thread():
            self._old = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)

    def _ask(self, *_: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
