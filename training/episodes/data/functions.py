"""Unknown functions of one number, without limit, to be found from examples and checked by running code."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from .problems import checked

__all__ = ["Unknown", "puzzle"]


class Unknown(TypedDict):
    """A function to be found.

    Attributes:
        question: what is asked, with examples.
        cases: [expression, the value it must have], hidden.
        choices: expressions in x that may be chosen, the right one among them.
        level: from 1 on.
    """

    question: str
    cases: list[list[Any]]
    choices: list[str]
    level: int


FORMS = (
    ("x + {a}", "x - {a}", "{a} * x"),
    ("{a} * x + {b}", "{a} * x - {b}", "{a} - {b} * x", "x * x + {a}"),
    ("{a} * x * x - {b} * x", "max({a}, {b} * x)", "min(x * x, {a} + {b} * x)", "abs({a} - {b} * x)", "x * x % {a}"),
)
"""Expressions by level."""


def puzzle(level: int, rng: np.random.Generator, choices: int = 8) -> Unknown:
    """Three values of an unknown function: which one is it?

    Args:
        level: 1 to 3.
        rng: all randomness.
        choices: expressions to choose from, no two of which agree on all cases.
    """
    checked(level, len(FORMS))
    where = list(range(-4, 9))
    found: dict[tuple[int, ...], str] = {}
    while len(found) < choices:
        a, b = (int(k) for k in rng.integers(2, 10, size=2))
        form = str(rng.choice(FORMS[level - 1])).format(a=a, b=b)
        rule = eval(f"lambda x: {form}")  # one of FORMS, with numbers
        found.setdefault(tuple(rule(x) for x in where), form)
    values = next(iter(found))
    shown = sorted(rng.choice(len(where), size=3, replace=False).tolist())
    examples = ", ".join(f"f({where[k]}) = {values[k]}" for k in shown)
    order = rng.permutation(choices).tolist()
    options = list(found.values())
    return {
        "question": f"{examples}. f(x) =",
        "cases": [[f"f({x})", value] for x, value in zip(where, values, strict=True)],
        "choices": [options[k] for k in order],
        "level": level,
    }
