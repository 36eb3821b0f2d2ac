"""What a user gives to a way of sharing (labels, squares, parts), checked and as arrays; by name or in order.

Letters: N games, P players, i who receives, j who earned.
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
"""One label a player, in order or by the agent's name; None or -1: shares with nobody."""

Square: TypeAlias = ArrayLike | Mapping[str, Mapping[str, float]]
"""[P, P] rows of who receives, columns of who earned; or {receiver: {earner: number}}, 0 where nothing is said."""

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


def numbers_of(name: str, given: ArrayLike, dimensions: tuple[int, ...]) -> Floats:
    """Finite float64 numbers of so many dimensions; ``name`` is a plural."""
    try:
        numbers = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be numbers in equally long rows; {short(given)} came.") from None
    if numbers.ndim not in dimensions:
        shapes = " or ".join({1: "[P]", 2: "[N, P]"}[d] for d in dimensions)
        raise UsageError(f"{name} have the shape {list(numbers.shape)}; pass {shapes}.")
    if not np.isfinite(numbers).all():
        raise UsageError(f"{name} must be finite; {numbers[~np.isfinite(numbers)][0]} came.")
    return numbers


def living_of(alive: ArrayLike | None, of: Floats) -> Bools:
    """[P] or [N, P] bool, who lives, for numbers ``of`` that shape; None: all."""
    if alive is None:
        return np.ones(of.shape[-1:], np.bool_)
    living = np.asarray(alive)
    if living.dtype != np.bool_:
        raise UsageError(f"alive must be booleans; {short(alive)} came.")
    if living.shape not in (of.shape, of.shape[-1:]):
        raise UsageError(f"alive has the shape {list(living.shape)}, but there are {list(of.shape)} numbers.")
    return living


def short(given: object) -> str:
    """What came, as an error says it."""
    said = repr(given)
    return said if len(said) <= 60 else f"{said[:57]}..."


def is_whole(given: Any) -> TypeGuard[int]:
    """Whether it is a whole number, of Python's or NumPy's; booleans are none."""
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def check_part(name: str, part: Any) -> None:
    """Raise UsageError unless it is a number from 0 to 1."""
    if isinstance(part, bool) or not isinstance(part, int | float | np.integer | np.floating) or not 0 <= part <= 1:
        raise UsageError(f"{name}={short(part)} came; the pooled part is a number from 0 to 1.")


def check_count(name: str, count: Any) -> None:
    """Raise UsageError unless it is a whole number of 1 or more."""
    if not is_whole(count) or count < 1:
        raise UsageError(f"{name}={short(count)} came; it is a whole number of 1 or more.")


def labels_of(labels: Any) -> tuple[Hashable, ...] | dict[str, Hashable]:
    """A copy; by name or in order."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Mapping | Iterable):
        raise UsageError(f"labels={short(labels)} came; pass one label a player, as a list or as {{agent: label}}.")
    if isinstance(labels, np.ndarray):
        labels = labels.tolist()
    copied = dict(labels) if isinstance(labels, Mapping) else tuple(labels)
    for label in copied.values() if isinstance(copied, dict) else copied:
        if not isinstance(label, Hashable):
            raise UsageError(f"The label {short(label)} cannot be used; a label is a name or a number.")
    return copied


def numbered(labels: Any, players: int) -> tuple[NDArray[np.int64], list[Hashable]]:
    """([P] numbers in order of appearance, -1 for none; the label behind each number)."""
    if isinstance(labels, Mapping):
        raise UsageError("Labels by name need agents: wrap the environment, or pass a list in the players' order.")
    if len(labels) != players:
        raise UsageError(f"{len(labels)} labels came for {players} players. Give one to each; None shares with nobody.")
    numbers: dict[Hashable, int] = {}
    order = [-1 if label is None or label == -1 else numbers.setdefault(label, len(numbers)) for label in labels]
    return np.array(order, np.int64), list(numbers)


def in_order(name: str, given: Any, agents: Sequence[str]) -> Any:
    """What is given by agents' names, as a list in their order; lists stay."""
    if not isinstance(given, Mapping):
        return given
    _known_agents(name, given, agents)
    missing = [agent for agent in agents if agent not in given]
    if missing:
        raise UsageError(f"{name} say nothing of {missing[0]!r}. Give every agent a label; None shares with nobody.")
    return [given[agent] for agent in agents]


def _known_agents(name: str, given: Iterable[Any], agents: Sequence[str]) -> None:
    for agent in given:
        if agent not in agents:
            hint = did_you_mean(str(agent), agents)
            raise UsageError(f"{name} speak of {agent!r}, which is no agent.{hint} Agents: {', '.join(agents)}.")


def table_in_order(name: str, given: Any, agents: Sequence[str]) -> Any:
    """{receiver: {earner: number}} as [P, P]; arrays stay."""
    if not isinstance(given, Mapping):
        return given
    _known_agents(name, given, agents)
    for row in given.values():
        if not isinstance(row, Mapping):
            raise UsageError(f"{name} by name are {{receiver: {{earner: number}}}}; {short(row)} came for a row.")
        _known_agents(name, row, agents)
    return [[given.get(i, {}).get(j, 0.0) for j in agents] for i in agents]


def square_of(name: str, given: Any) -> Floats:
    """[P, P] finite float64, a copy that cannot be written."""
    try:
        square = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be numbers in equally long rows; {short(given)} came.") from None
    if square.ndim != 2 or square.shape[0] != square.shape[1]:
        raise UsageError(f"{name} has the shape {list(square.shape)}; it must be square, one row and column a player.")
    if not np.isfinite(square).all():
        i, j = np.argwhere(~np.isfinite(square))[0]
        raise UsageError(f"{name} holds {square[i, j]} at [{i}, {j}]; its numbers must be finite.")
    square.flags.writeable = False
    return square


def of_size(name: str, given: Any, players: int) -> Floats:
    """The square, if it is [players, players] and not by name."""
    if isinstance(given, Mapping):
        raise UsageError(f"{name} by name needs agents: wrap the environment, or pass [P, P] in the players' order.")
    if len(given) != players:
        raise UsageError(f"{name} is {len(given)} x {len(given)}, but there are {players} players.")
    return np.asarray(given)


def checked_relatedness(related: Floats) -> Floats:
    """The matrix, if it is from 0 to 1, or to 1 + F in the row of an inbred one."""
    diagonal = np.diagonal(related)
    most = np.maximum(1.0, diagonal)[:, None]
    wrong = np.argwhere((related < 0) | (related > most) | (related > 2))
    if len(wrong):
        i, j = wrong[0]
        raise UsageError(
            f"The relatedness matrix holds {related[i, j]:g} at [{i}, {j}]; relatedness is from 0 to 1 "
            "(on the diagonal up to 2, for 1 + F)."
        )
    return related
