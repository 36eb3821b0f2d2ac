"""How often Python's garbage collector runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collected_rarely"]


@contextmanager
def collected_rarely(objects: int = 50_000) -> Iterator[None]:
    """Collect garbage after this many new objects, instead of after 700; usable as a decorator.

    The games of an update consist of some hundred thousand small objects without reference cycles. Scanning them again
    and again took a third of the time of an update. A collector that is off, or runs more rarely still, stays as it is.
    """
    usual = gc.get_threshold()
    if 0 < usual[0] < objects:
        gc.set_threshold(objects, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
