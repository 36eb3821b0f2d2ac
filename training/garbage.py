"""How often Python looks for objects that only circles of references keep alive."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collected_rarely"]


@contextmanager
def collected_rarely(objects: int = 50_000) -> Iterator[None]:
    """Look for circles after this many new objects, instead of after 700; usable as a decorator.

    The games of an update are made of some hundred thousand small objects, none of them in circles. All that are alive
    would be looked through again and again, which took a third of the time of an update. Whoever has turned the
    collector off, or looks more rarely still, is not disturbed.
    """
    usual = gc.get_threshold()
    if 0 < usual[0] < objects:
        gc.set_threshold(objects, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
