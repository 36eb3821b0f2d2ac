"""Check users' labels, matrices and parts for kinship modes, given by name or in order, and turn them into arrays.

Letters: N games, P players, i the receiver, j the earner.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import UsageError, did_you_mean

__all__ = [
    "Bools",
    "Floats",
    "Labels",
    "Square",
    "check_count",
    "check_part",
    "checked_relatedness",
    "in_order",
    "is_whole",
    "labels_of",
    "living_of",
    "numbered",
    "numbers_of",
    "of_size",
    "short",
    "square_of",
    "table_in_order",
]

Labels: TypeAlias = Sequence[Hashable] | Mapping[str, Hashable]
"""One label per player, in order or by the agent's name; None or -1: shares with no other."""

Square: TypeAlias = ArrayLike | Mapping[str, Mapping[str, float]]
"""[P, P] receivers in rows, earners in columns; or {receiver: {earner: number}}, missing numbers are 0."""

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


def numbers_of(name: str, given: ArrayLike, dimensions: tuple[int, ...]) -> Floats:
    """Finite float64 numbers whose number of dimensions is in ``dimensions``; ``name`` is a plural for messages."""
    try:
        numbers = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be numbers in equally long rows, not {short(given)}.") from None
    if numbers.ndim not in dimensions:
        shapes = " or ".join({1: "[P]", 2: "[N, P]"}[d] for d in dimensions)
        raise UsageError(f"{name} have the shape {list(numbers.shape)}; it must be {shapes}.")
    if not np.isfinite(numbers).all():
        raise UsageError(f"{name} must be finite; {numbers[~np.isfinite(numbers)][0]} is not.")
    return numbers


def living_of(alive: ArrayLike | None, of: Floats) -> Bools:
    """[P] or [N, P] bool, who is alive, for the numbers ``of``; None: all are alive."""
    if alive is None:
        return np.ones(of.shape[-1:], np.bool_)
    living = np.asarray(alive)
    if living.dtype != np.bool_:
        raise UsageError(f"alive must be booleans, not {short(alive)}.")
    if living.shape not in (of.shape, of.shape[-1:]):
        raise UsageError(f"alive has the shape {list(living.shape)}, but the numbers have {list(of.shape)}.")
    return living


def short(given: object) -> str:
    """The value's repr, cut to 60 characters, for error messages."""
    said = repr(given)
    return said if len(said) <= 60 else f"{said[:57]}..."


def is_whole(given: Any) -> TypeGuard[int]:
    """Whether it is a Python or NumPy integer; booleans are not."""
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def check_part(name: str, part: Any) -> None:
    """Raise UsageError unless it is a number from 0 to 1."""
    if isinstance(part, bool) or not isinstance(part, int | float | np.integer | np.floating) or not 0 <= part <= 1:
        raise UsageError(f"{name}={short(part)} must be a number from 0 to 1 (the pooled part).")


def check_count(name: str, count: Any) -> None:
    """Raise UsageError unless it is a whole number of 1 or more."""
    if not is_whole(count) or count < 1:
        raise UsageError(f"{name}={short(count)} must be a whole number of 1 or more.")


def labels_of(labels: Any) -> tuple[Hashable, ...] | dict[str, Hashable]:
    """A copy of the labels, by name or in order."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Mapping | Iterable):
        raise UsageError(f"labels={short(labels)} must be one label per player, as a list or as {{agent: label}}.")
    if isinstance(labels, np.ndarray):
        labels = labels.tolist()
    copied = dict(labels) if isinstance(labels, Mapping) else tuple(labels)
    for label in copied.values() if isinstance(copied, dict) else copied:
        if not isinstance(label, Hashable):
            raise UsageError(f"The label {short(label)} cannot be used; a label must be a name or a number.")
    return copied


def numbered(labels: Any, players: int) -> tuple[NDArray[np.int64], list[Hashable]]:
    """([P] int64 label numbers in order of appearance, -1 for no label; the label of each number)."""
    if isinstance(labels, Mapping):
        raise UsageError("Labels by name need agents: wrap the environment, or pass a list in the players' order.")
    if len(labels) != players:
        raise UsageError(
            f"There are {len(labels)} labels for {players} players. Give each one; None shares with no other."
        )
    numbers: dict[Hashable, int] = {}
    order = [-1 if label is None or label == -1 else numbers.setdefault(label, len(numbers)) for label in labels]
    return np.array(order, np.int64), list(numbers)


def in_order(name: str, given: Any, agents: Sequence[str]) -> Any:
    """A mapping by agents' names as a list in their order; a list stays as it is."""
    if not isinstance(given, Mapping):
        return given
    _known_agents(name, given, agents)
    missing = [agent for agent in agents if agent not in given]
    if missing:
        raise UsageError(f"{name} has no entry for {missing[0]!r}. Give each agent one; None shares with no other.")
    return [given[agent] for agent in agents]


def _known_agents(name: str, given: Iterable[Any], agents: Sequence[str]) -> None:
    for agent in given:
        if agent not in agents:
            hint = did_you_mean(str(agent), agents)
            raise UsageError(f"{name} names {agent!r}, which is not an agent.{hint} Agents: {', '.join(agents)}.")


def table_in_order(name: str, given: Any, agents: Sequence[str]) -> Any:
    """{receiver: {earner: number}} as [P, P] lists; an array stays as it is."""
    if not isinstance(given, Mapping):
        return given
    _known_agents(name, given, agents)
    for row in given.values():
        if not isinstance(row, Mapping):
            raise UsageError(f"{name} by name must be {{receiver: {{earner: number}}}}; {short(row)} is not a row.")
        _known_agents(name, row, agents)
    return [[given.get(i, {}).get(j, 0.0) for j in agents] for i in agents]


def square_of(name: str, given: Any) -> Floats:
    """[P, P] finite float64, a read-only copy."""
    try:
        square = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be numbers in equally long rows, not {short(given)}.") from None
    if square.ndim != 2 or square.shape[0] != square.shape[1]:
        raise UsageError(
            f"{name} has the shape {list(square.shape)}; it must be square, with one row and column per player."
        )
    if not np.isfinite(square).all():
        i, j = np.argwhere(~np.isfinite(square))[0]
        raise UsageError(f"{name} has {square[i, j]} at [{i}, {j}]; its numbers must be finite.")
    square.flags.writeable = False
    return square


def of_size(name: str, given: Any, players: int) -> Floats:
    """The matrix, if it is [players, players] and not by name."""
    if isinstance(given, Mapping):
        raise UsageError(f"{name} by name needs agents: wrap the environment, or pass [P, P] in the players' order.")
    if len(given) != players:
        raise UsageError(f"{name} is {len(given)} x {len(given)}, but there are {players} players.")
    return np.asarray(given)


def checked_relatedness(related: Floats) -> Floats:
    """The matrix, if its numbers are from 0 to 1, or to 1 + F in the row of an inbred individual."""
    diagonal = np.diagonal(related)
    most = np.maximum(1.0, diagonal)[:, None]
    wrong = np.argwhere((related < 0) | (related > most) | (related > 2))
    if len(wrong):
        i, j = wrong[0]
        raise UsageError(
            f"The relatedness matrix has {related[i, j]:g} at [{i}, {j}]; relatedness must be from 0 to 1 "
            "(on the diagonal up to 2, for 1 + F)."
        )
    return related
