"""Sums and word problems, without limit, graded, with whole answers from 0 to 99."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from .problems import Problem, checked

__all__ = ["MOST", "additions", "read_expression", "sums", "value_of", "word_problem"]

MOST = 99
"""The largest number that a word problem meets."""


def sums(level: int, rng: np.random.Generator) -> Problem:
    """``3 + 4 =``: two numbers from 0 to ``level`` (1 to 49), with 2 ``level`` + 1 choices."""
    checked(level, 49)
    a, b = (int(x) for x in rng.integers(level + 1, size=2))
    return {
        "question": f"{a} + {b} =",
        "answer": str(a + b),
        "choices": [str(k) for k in range(2 * level + 1)],
        "level": level,
    }


def additions(level: int, rng: np.random.Generator) -> Problem:
    """``3 + 4 + 2 =``: three numbers from 0 to ``level`` (1 to 33), with 3 ``level`` + 1 choices."""
    checked(level, 33)
    numbers = rng.integers(level + 1, size=3).tolist()
    choices = [str(k) for k in range(3 * level + 1)]
    asked = " + ".join(map(str, numbers))
    return {"question": f"{asked} =", "answer": str(sum(numbers)), "choices": choices, "level": level}


class Grade(NamedTuple):
    """What a level of word problems asks: how many steps, of which kinds, with numbers up to ``top``."""

    steps: int
    kinds: str
    top: int


GRADES = (
    *(Grade(1, "+", 5), Grade(1, "+-", 10), Grade(1, "+-", 40), Grade(1, "+-*", 10), Grade(2, "+-", 20)),
    *(Grade(2, "+-*/", 10), Grade(3, "+-", 40), Grade(3, "+-*/", 12), Grade(4, "+-*/", 20), Grade(6, "+-*/", 20)),
)
NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gina", "Hugo", "Iris", "Jon")
THINGS = ("apples", "beads", "cards", "coins", "marbles", "nuts", "pears", "shells", "stamps", "stickers")
STORIES = {
    "+": ("{who} finds {n} more.", "A friend gives {who} {n} more.", "{who} buys {n} more."),
    "-": ("{who} gives {n} away.", "{who} loses {n} of them.", "{who} sells {n} of them."),
    "*": ("A month later {who} has {n} times as many.", "A trick makes {n} out of every one of them."),
    "/": ("{n} people, {who} among them, share them equally.", "{who} keeps one in every {n} of them."),
}


def word_problem(level: int, rng: np.random.Generator) -> Problem:
    """A short story about a number of things, of 1 (level 1) to 6 (level 10) steps; 11 to 100 choices."""
    checked(level, 10)
    grade = GRADES[level - 1]
    most = min(MOST, grade.top * (grade.steps + 1)) if set(grade.kinds) <= set("+-") else MOST
    who, what = (str(rng.choice(names)) for names in (NAMES, THINGS))
    have = int(rng.integers(1, grade.top + 1))
    story = [f"{who} has {have} {what}."]
    for k in range(grade.steps):
        kinds = [kind for kind in grade.kinds if _sizes(kind, have, grade.top)]
        if k == grade.steps - 1 and set(grade.kinds) - set("+-") and set(kinds) - set("+-"):
            kinds = [kind for kind in kinds if kind in "*/"]  # a level with products has one at least
        kind = str(rng.choice(kinds))
        n = int(rng.choice(_sizes(kind, have, grade.top)))
        story.append(str(rng.choice(STORIES[kind])).format(who=who, n=n))
        have = {"+": have + n, "-": have - n, "*": have * n, "/": have // n}[kind]
    return {
        "question": f"{' '.join(story)} How many {what} does {who} have now?",
        "answer": str(have),
        "choices": [str(k) for k in range(most + 1)],
        "level": level,
    }


def _sizes(kind: str, have: int, top: int) -> list[int]:
    """The numbers that a step may have, so that the result is whole and from 0 to 99."""
    if kind == "+":
        return list(range(1, min(top, MOST - have) + 1))
    if kind == "-":
        return list(range(1, min(top, have) + 1))
    if kind == "*":
        return [n for n in range(2, min(top, 9) + 1) if 0 < have * n <= MOST]
    return [n for n in range(2, min(top, 12) + 1) if have and have % n == 0]


OPERATIONS: dict[type, Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def value_of(expression: str) -> Fraction | None:
    """The value of an expression of whole numbers, ``+ - * /`` and parentheses; None: it is none, or has no value.

    At most 200 characters and numbers of 9 digits are read.
    """

    def value(node: ast.expr) -> Fraction:
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            return OPERATIONS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return Fraction(node.value)
        raise ValueError

    if not re.fullmatch(r"[\d+*/() -]{1,200}", expression, re.ASCII) or re.search(r"\d{10}", expression):
        return None
    try:
        return value(ast.parse(expression.strip(), mode="eval").body)
    except (ValueError, SyntaxError, ZeroDivisionError, TypeError, RecursionError, MemoryError):
        return None


def read_expression(text: str) -> Problem | None:
    """The problem that a text sets: its last expression that has a value; None: there is none."""
    for line in reversed(text[-2000:].splitlines()):
        found = re.search(r"[\d(][\d+*/() -]*[\d)]", line)
        value = value_of(found[0]) if found else None
        if found and value is not None and not found[0].strip().isdecimal():
            return {"question": f"{found[0].strip()} =", "answer": str(value), "choices": [], "level": 0}
    return None
