"""Parses answers: finds the one number or name in a text. For games whose actions are numbers or names.

``whole_number`` and its like check arguments of games and environments.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..aliases import Action
from ..errors import AmbiguousAction, InvalidAction, UnknownName, UsageError
from .plain import told

__all__ = [
    "finite_number",
    "known_name",
    "legal_words",
    "named",
    "one_of",
    "several_names",
    "true_or_false",
    "way_out",
    "whole_number",
]

_SHOWN = 40
"""The most legal actions that a message lists."""


@lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE | re.ASCII)


_NUMBER = re.compile(r"(?<![^\W_])(?:(?<!\w)-)?[0-9]+(?![^\W_])", re.ASCII)


def named(text: str, names: Mapping[str, Action] | Sequence[str]) -> set[str]:
    """The names that occur in a text as separate words, in lower case; case is ignored."""
    return {found.lower() for found in _pattern(tuple(names)).findall(text)}


def one_of(text: str, answers: Mapping[str, Action] | Sequence[str] | int, out: str, what: str = "action") -> Action:
    """The action that a text names; the name may be part of a sentence.

    Args:
        text: the answer.
        answers: A, if actions are written as numbers 0..A-1; or the actions' names, in order or mapped to actions.
        out: the end of every error message, e.g. ``"Answer with one of rock paper."``.
        what: what error messages call an action, e.g. ``"cell"``.

    Raises:
        InvalidAction: the text names no action.
        AmbiguousAction: the text names several.
    """
    if isinstance(answers, int):
        numbers = {int(found) if len(found) < 19 else answers for found in _NUMBER.findall(text)}
        if len(numbers) > 1:
            raise AmbiguousAction(f"{text!r} names several numbers. {out}")
        if not numbers or not 0 <= min(numbers) < answers:
            raise InvalidAction(f"{text!r} names no {what} 0..{answers - 1}. {out}")
        return numbers.pop()
    by_name = answers if isinstance(answers, Mapping) else {name: action for action, name in enumerate(answers)}
    actions = {name.lower(): action for name, action in by_name.items()}
    meant = {actions[name] for name in named(text, by_name)}
    if len(meant) > 1:
        raise AmbiguousAction(f"{text!r} names several {what}s. {out}")
    if not meant:
        raise InvalidAction(f"{text!r} names no {what}. {out}")
    return meant.pop()


def way_out(words: Sequence[str]) -> str:
    """The end of an error message about an answer: the legal actions."""
    if not words:
        return "The game is over."
    return f"Answer with one of {' '.join(words[:_SHOWN])}{' ...' * (len(words) > _SHOWN)}."


def legal_words(words: Sequence[str]) -> str:
    """The end of a description: the legal actions."""
    return f"Legal actions: {' '.join(words)}." if words else "You have no move now."


def whole_number(what: str, value: Any, least: int, most: int | None = None) -> int:
    """``value`` as an int; ``what`` names it in the message.

    Raises:
        UsageError: not a whole number from ``least`` to ``most``.
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise UsageError(f"{what}={told(value)} came; a whole number {span} is needed.")
    return int(value)


def finite_number(what: str, value: Any) -> float:
    """``value`` as a float; ``what`` names it in the message.

    Raises:
        UsageError: not a number, or not finite as a float.
    """
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UsageError(f"{what}={told(value)} came; a finite number is needed.")
    return number


def true_or_false(what: str, value: Any) -> bool:
    """``value`` as a bool; ``what`` names it in the message.

    Raises:
        UsageError: neither true nor false.
    """
    if not isinstance(value, bool | np.bool_):
        raise UsageError(f"{what}={told(value)} came; true or false is needed.")
    return bool(value)


def known_name(kind: str, value: Any, known: Collection[str]) -> str:
    """``value``, one of the known names; ``kind`` says in the message what it names.

    Raises:
        UnknownName: anything else, whatever its type.
    """
    if not isinstance(value, str) or value not in known:
        raise UnknownName(kind, value if isinstance(value, str) else told(value), known)
    return value


def several_names(what: str, value: Any) -> tuple[str, ...]:
    """The different strings of a list; ``what`` names it in the message.

    Raises:
        UsageError: not a list, or something in it is not a string.
    """
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(name, str) for name in value):
        raise UsageError(f"{what}={told(value)} came; a list of strings is needed.")
    return tuple(dict.fromkeys(value))
