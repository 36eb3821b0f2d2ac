"""Which question to ask: the exact search for the fewest questions, and things that can be halved to the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from .table import PROPERTIES, THINGS

__all__ = ["chosen", "consistent", "fewest", "halves", "questions", "split"]

Things = frozenset[str]


def split(things: Things, name: str) -> tuple[Things, Things]:
    """The things that have a property, and those that don't."""
    having = frozenset(thing for thing in things if name in THINGS[thing])
    return having, things - having


def questions(things: Things) -> list[str]:
    """The properties that some of the things have and others not; of those that divide them alike only the first."""
    found: dict[frozenset[Things], str] = {}
    for name in PROPERTIES:
        parts = split(things, name)
        if all(parts):
            found.setdefault(frozenset(parts), name)
    return list(found.values())


def consistent(things: Things, answers: Sequence[tuple[str, bool]]) -> Things:
    """The things to which all answers, (property, whether it has it), apply."""
    return frozenset(t for t in things if all((name in THINGS[t]) == has for name, has in answers))


def _even_first(things: Things) -> list[str]:
    """Properties that divide the things, most evenly first."""
    return sorted(questions(things), key=lambda name: abs(2 * len(split(things, name)[0]) - len(things)))


@lru_cache(maxsize=100_000)
def _within(things: Things, limit: int) -> str | None:
    """A first question after which ``limit`` questions in all always single out the thing; ``""``: none is needed."""
    if len(things) <= 1:
        return ""
    for name in _even_first(things) if limit else ():
        parts = split(things, name)
        if all(len(part) <= 2 ** (limit - 1) and _within(part, limit - 1) is not None for part in parts):
            return name
    return None


def fewest(things: Things) -> tuple[int, str]:
    """The fewest questions that always single out one of the things, and the first of them (``""``: none is needed).

    The search is exact. It is quick where halving nearly succeeds, as in this table.
    """
    limit = math.ceil(math.log2(len(things)))
    while (first := _within(things, limit)) is None:
        limit += 1
    return limit, first


def halves(things: Things) -> str:
    """The property that divides the things most evenly, ``""`` if there is one thing."""
    return next(iter(_even_first(things)), "")


@lru_cache(maxsize=64)
def chosen(count: int) -> tuple[str, ...]:
    """So many things of the table; for 2, 4, ... 64, halving them exactly is possible all the way.

    Args:
        count: 2 to the number of things.
    """
    power = min(6, int(math.log2(count)))
    found = _halved(tuple(THINGS), power) or ()
    return (*found, *[thing for thing in THINGS if thing not in found][: count - len(found)])


def _halved(things: tuple[str, ...], depth: int) -> tuple[str, ...] | None:
    """2 ** depth of the things that ``depth`` questions always tell apart, or None if the search finds none."""
    if len(things) < 2**depth:
        return None
    if not depth:
        return things[:1]
    for name in sorted(PROPERTIES, key=lambda name: abs(2 * sum(name in THINGS[t] for t in things) - len(things))):
        having = _halved(tuple(t for t in things if name in THINGS[t]), depth - 1)
        rest = having and _halved(tuple(t for t in things if name not in THINGS[t]), depth - 1)
        if having and rest:
            return (*having, *rest)
    return None
