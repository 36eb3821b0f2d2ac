"""Problems by a short text: ``sums:9``, ``word:3``, ``knights:2``, ``ordering:1``, or a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ....errors import UsageError, did_you_mean
from .arithmetic import sums, word_problem
from .problems import Problem
from .puzzles import knights_and_knaves, ordering
from .tables import read_problems

__all__ = ["KINDS", "Draw", "draw_from", "need_table"]

Draw: TypeAlias = Callable[[np.random.Generator], Problem]
"""generator -> a problem."""

KINDS: dict[str, Callable[[int, np.random.Generator], Problem]] = {
    "sums": sums,
    "word": word_problem,
    "knights": knights_and_knaves,
    "ordering": ordering,
}
"""Kinds of problems that are made here: (level, generator) -> a problem."""


def draw_from(text: str, **columns: str) -> Draw:
    """Where problems come from.

    Args:
        text: ``KIND:LEVEL`` (``KIND`` alone: level 1), or a source of ``read_problems``.
        columns: options of ``read_problems``.

    Raises:
        UsageError: no such kind or level, or a table that can't be read.
    """
    kind, _, level = text.partition(":")
    if kind in KINDS:
        if not (level or "1").isdecimal():
            raise UsageError(f"The problems {text!r}: the level must be a whole number, as in {kind}:2.")
        make, graded = KINDS[kind], int(level or 1)
        make(graded, np.random.default_rng(0))  # an error now, not in an episode
        return lambda rng: make(graded, rng)
    need_table(text)
    rows = read_problems(text, **columns)  # type: ignore[arg-type]
    return lambda rng: rows[int(rng.integers(len(rows)))]


def need_table(text: str) -> None:
    """Refuse a source that is rather a misspelt kind than a table.

    Raises:
        UsageError: it suggests a kind.
    """
    if not any(mark in text for mark in "/\\.") and (":" in text or did_you_mean(text, KINDS, 0.7)):
        near = did_you_mean(text.partition(":")[0], KINDS)
        raise UsageError(f"There are no problems {text!r}.{near} Kinds: {', '.join(KINDS)}; or name a table.")
