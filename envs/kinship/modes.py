"""Kinship modes: how players share rewards. ``share(rewards, kinship)`` is a pure function; a mode is frozen.

Modes that share: ``Teams``, ``Families``, ``Groups`` (labels, O(P)), ``Matrix`` and ``Relatedness`` (dense, O(P^2)).
``Prestige`` does not share but adds a reward for rank. ``wrapper`` applies any of them to any PettingZoo environment;
worlds call the ``kernels``, which this module also exports.

One rule holds everywhere: players that are not alive neither give nor receive. A player that dies in a step keeps the
whole reward that it earned in that step, and the part that a dead member would have received goes back to the earner.

The file is a little longer than most because it holds all ways of sharing.

Letters: N games, P players, i the receiver, j the earner, L labels.

Source:
    Hamilton, "The genetical evolution of social behaviour", Journal of Theoretical Biology 7 (1964): inclusive fitness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import UsageError
from .kernels import (
    partition,
    pool_rows,
    prestige,
    related_child,
    share_labels,
    share_matrix,
    share_relatives,
    shuffle_labels,
)
from .pedigree import Pedigree
from .tables import (
    Bools,
    Floats,
    Labels,
    Square,
    check_count,
    check_part,
    checked_relatedness,
    in_order,
    is_whole,
    labels_of,
    living_of,
    numbered,
    numbers_of,
    of_size,
    square_of,
    table_in_order,
)

__all__ = [
    "Families",
    "Groups",
    "Kinship",
    "Matrix",
    "Pedigree",
    "Prestige",
    "Relatedness",
    "Teams",
    "partition",
    "prestige",
    "related_child",
    "share",
    "share_labels",
    "share_matrix",
    "share_relatives",
    "shares",
    "shuffle_labels",
]

Item = TypeVar("Item")
Tables: TypeAlias = tuple[NDArray[np.int64], Floats]
"""[P] labels 0..L-1 or -1, and [L] the pooled part of each."""


class Kinship(Protocol):
    """A way of sharing."""

    def shared(self, rewards: Floats, alive: Bools) -> Floats:
        """[N, P] shared rewards, a new array, given [N, P] finite rewards and [N, P] bool of who is alive."""

    def named(self, agents: Sequence[str]) -> Kinship:
        """The same mode for players with these names, in this order: mappings by name become lists."""


def share(rewards: ArrayLike, kinship: Kinship, alive: ArrayLike | None = None) -> Floats:
    """Share rewards.

    Args:
        rewards: [P] or [N, P] finite numbers; they are not changed.
        kinship: a mode of this module, or an object with the same methods.
        alive: [P] or [N, P] bool; None: all are alive.

    Returns:
        Shared rewards, float64 in the shape of ``rewards``.

    Raises:
        UsageError: rewards that are not finite or of another shape, or that do not fit the mode.
    """
    if not shares(kinship):
        raise UsageError(
            f"{kinship!r} does not share rewards. Pass Teams, Families, Matrix, Groups or Relatedness"
            + ("; Prestige.rewards(scores) gives the rewards of rank." if isinstance(kinship, Prestige) else ".")
        )
    earned = numbers_of("rewards", rewards, (1, 2))
    living = living_of(alive, earned)
    rows = np.atleast_2d(earned)
    return kinship.shared(rows, np.broadcast_to(living, rows.shape)).reshape(earned.shape)


def shares(mode: Any) -> bool:
    """Whether it is a way of sharing: a mode of this module except ``Prestige``, or an object with the same methods."""
    return hasattr(mode, "shared") and hasattr(mode, "named") and not isinstance(mode, type)


@dataclass(frozen=True)
class _Mode(ABC, Generic[Item]):
    """A mode that makes its tables once for each number of players."""

    _made: dict[int, Item] = field(default_factory=dict, init=False, repr=False, compare=False)

    def _once(self, players: int) -> Item:
        if players not in self._made:
            self._made[players] = self._make(players)
        return self._made[players]

    @abstractmethod
    def _make(self, players: int) -> Item:
        """What ``_once`` keeps."""


class _Labelled(_Mode[Tables]):
    """A mode in which players with the same label share a pool."""

    def tables(self, players: int) -> Tables:
        """([P] labels 0..L-1 or -1, [L] pooled parts) as ``share_labels`` takes them."""
        return self._once(players)

    def shared(self, rewards: Floats, alive: Bools) -> Floats:
        """As ``Kinship.shared``."""
        out = np.empty_like(rewards)
        labels, pct = self.tables(rewards.shape[1])
        pool_rows(rewards, labels, pct, alive, np.empty((len(pct), 3)), out)
        return out


@dataclass(frozen=True)
class Teams(_Labelled):
    """Each player keeps (1 - p) of its reward; the rest is pooled and split over its team, including the earner.

    Attributes:
        labels: each player's team, in order or by name; None or -1: no team.
        size: instead of labels: each ``size`` players in a row are a team; the last team may be smaller.
        p: the pooled part, 0 to 1.
    """

    labels: Labels | None = None
    size: int | None = None
    p: float = 0.5

    def __post_init__(self) -> None:
        if (self.labels is None) == (self.size is None):
            raise UsageError(f"Teams take labels or a size, but got {self.labels!r} and {self.size!r}.")
        check_part("p", self.p)
        if self.labels is not None:
            object.__setattr__(self, "labels", labels_of(self.labels))
        else:
            check_count("size", self.size)

    def _make(self, players: int) -> Tables:
        if self.size is not None:
            numbers = np.arange(players, dtype=np.int64) // self.size
        else:
            numbers, _ = numbered(self.labels, players)
        return numbers, np.full(numbers.max(initial=-1) + 1, float(self.p))

    def named(self, agents: Sequence[str]) -> Teams:
        """As ``Kinship.named``."""
        return replace(self, labels=in_order("labels", self.labels, agents))


@dataclass(frozen=True)
class Families(_Labelled):
    """Random teams: a random partition of the players, the same for the same seed.

    Attributes:
        size: players per family; the last family may be smaller.
        number: instead of a size: the number of families, whose sizes differ by one at most.
        p: the pooled part, 0 to 1.
        seed: the seed of the partition.
    """

    size: int | None = None
    number: int | None = None
    p: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.size is None) == (self.number is None):
            raise UsageError(f"Families take a size or a number, but got {self.size!r} and {self.number!r}.")
        check_part("p", self.p)
        check_count("size" if self.number is None else "number", self.size if self.number is None else self.number)
        if not is_whole(self.seed) or not 0 <= self.seed < 1 << 64:
            raise UsageError(f"seed={self.seed!r} must be a whole number from 0 to 2**64 - 1.")

    def _make(self, players: int) -> Tables:
        labels = np.arange(players, dtype=np.int64)
        if self.size is not None:
            partition(labels, self.size, np.uint64(self.seed), 0)
        else:
            labels %= self.number or 1
            shuffle_labels(labels, np.uint64(self.seed), 0)
        return labels, np.full(labels.max(initial=-1) + 1, float(self.p))

    def named(self, agents: Sequence[str]) -> Families:
        """As ``Kinship.named``."""
        return self


@dataclass(frozen=True)
class Groups(_Labelled):
    """Teams with a separate pooled part for each.

    Attributes:
        labels: each player's group, in order or by name; None or -1: no group.
        pct: the pooled part of each group, 0 to 1: ``{label: part}``, or a list if the labels are 0, 1, 2...
    """

    labels: Labels
    pct: Mapping[Any, float] | Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", labels_of(self.labels))
        parts = self.pct
        if not isinstance(parts, Mapping | Sequence | np.ndarray) or isinstance(parts, str | bytes):
            raise UsageError(f"pct={parts!r} must be {{group: part}} or a list of parts.")
        table = dict(parts) if isinstance(parts, Mapping) else dict(enumerate(parts))
        for label, part in table.items():
            check_part(f"pct of group {label!r}", part)
        object.__setattr__(self, "pct", table)

    def _make(self, players: int) -> Tables:
        numbers, names = numbered(self.labels, players)
        pct = dict(self.pct)  # type: ignore[arg-type]
        for name in names:
            if name not in pct:
                known = ", ".join(map(repr, pct)) or "none"
                raise UsageError(f"Group {name!r} has no pct. These groups have one: {known}.")
        return numbers, np.array([pct[name] for name in names], np.float64)

    def named(self, agents: Sequence[str]) -> Groups:
        """As ``Kinship.named``."""
        return replace(self, labels=in_order("labels", self.labels, agents))


@dataclass(frozen=True, eq=False)
class Matrix(_Mode[Floats]):
    """r' = K r: ``K[i, j]`` is the part of j's reward that i receives. The sum is conserved if all columns sum to 1.

    Attributes:
        weights: [P, P] numbers of 0 or more, not necessarily symmetric; or ``{receiver: {earner: weight}}``.
        normalise: divide each row by its sum, so that r' is a weighted mean; a row of zeros stays and receives nothing.
    """

    weights: Square
    normalise: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Mapping):
            weights = square_of("The sharing matrix", self.weights)
            if (weights < 0).any():
                i, j = np.argwhere(weights < 0)[0]
                raise UsageError(
                    f"The sharing matrix has {weights[i, j]:g} at [{i}, {j}]; its numbers must be 0 or more."
                )
            object.__setattr__(self, "weights", weights)

    def table(self, players: int) -> Floats:
        """[P, P] K, normalised if ``normalise``, as ``share_matrix`` takes it."""
        return self._once(players)

    def _make(self, players: int) -> Floats:
        weights = of_size("The sharing matrix", self.weights, players)
        if not self.normalise:
            return weights
        largest = weights.max(1, keepdims=True, initial=0.0)
        scaled = np.divide(weights, largest, out=np.zeros_like(weights), where=largest > 0)  # sums stay finite
        sums = scaled.sum(1, keepdims=True)
        K: Floats = np.divide(scaled, sums, out=scaled, where=sums > 0)
        return K

    def shared(self, rewards: Floats, alive: Bools) -> Floats:
        """As ``Kinship.shared``."""
        K, living = self.table(rewards.shape[1]), np.where(alive, rewards, 0.0)
        if alive.all():
            return living @ K.T
        returned = np.where(alive, 0.0, 1.0) @ K  # [N, P] the parts of j's reward whose receivers are dead
        return np.where(alive, living @ K.T + living * returned, rewards)

    def named(self, agents: Sequence[str]) -> Matrix:
        """As ``Kinship.named``."""
        return replace(self, weights=table_in_order("weights", self.weights, agents))


@dataclass(frozen=True, eq=False)
class Relatedness(_Mode[Floats]):
    """Inclusive fitness: r_i' = r_i + the sum of R_ij r_j over the living j != i. The sum of rewards grows.

    Attributes:
        related: [P, P] Hamilton's r, 0 to 1, or ``{i: {j: r}}``, or a Pedigree (its living members in order of birth;
            matched to agents by name if its ids are names). A diagonal above 1 is 1 + F (inbred) and divides its row.
        normalise: divide by 1 + the sum of R_ij over the living j != i.
    """

    related: Square | Pedigree
    normalise: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.related, Mapping | Pedigree):
            object.__setattr__(self, "related", checked_relatedness(square_of("The relatedness matrix", self.related)))

    def table(self, players: int) -> Floats:
        """[P, P] R with a diagonal of zeros, one row per receiver. A pedigree is read again at each call."""
        return self._make(players) if isinstance(self.related, Pedigree) else self._once(players)

    def _make(self, players: int) -> Floats:
        related = self.related.matrix() if isinstance(self.related, Pedigree) else self.related
        related = of_size("The relatedness matrix", related, players)
        R = related / np.maximum(1.0, np.diagonal(related))[:, None]
        np.fill_diagonal(R, 0.0)
        return R

    def shared(self, rewards: Floats, alive: Bools) -> Floats:
        """As ``Kinship.shared``."""
        R, living = self.table(rewards.shape[1]), np.where(alive, rewards, 0.0)
        out = living + living @ R.T
        if self.normalise:
            out /= 1.0 + alive.astype(np.float64) @ R.T
        return np.where(alive, out, rewards)

    def named(self, agents: Sequence[str]) -> Relatedness:
        """As ``Kinship.named``."""
        if isinstance(self.related, Pedigree):
            ids = self.related.living
            if any(isinstance(known, str) for known in ids):
                return replace(self, related=self.related.matrix(agents))
            return self
        return replace(self, related=table_in_order("related", self.related, agents))


@dataclass(frozen=True)
class Prestige:
    """A reward for rank, added to shared rewards every ``every`` steps: (number below - number above) / (others).

    Attributes:
        every: steps between two such rewards.
    """

    every: int = 100

    def __post_init__(self) -> None:
        check_count("every", self.every)

    def due(self, step: int) -> bool:
        """Whether the reward is given after this step, counted from 1."""
        return step > 0 and step % self.every == 0

    def rewards(self, scores: ArrayLike, alive: ArrayLike | None = None) -> Floats:
        """The rewards of one ranking, -1 to 1. Equal scores get equal rewards; the dead and a lone survivor get 0.

        Args:
            scores: [P] or [N, P] finite numbers, more is better.
            alive: [P] or [N, P] bool; None: all are alive.

        Returns:
            float64 in the shape of ``scores``.

        Raises:
            UsageError: scores that are not finite or of another shape.
        """
        given = numbers_of("scores", scores, (1, 2))
        living = np.broadcast_to(living_of(alive, given), np.atleast_2d(given).shape)
        out = np.zeros(living.shape)
        for row, ranked, lives in zip(out, np.atleast_2d(given), living, strict=True):
            order = np.sort(ranked[lives])
            if len(order) > 1:
                below = np.searchsorted(order, ranked[lives], "left")
                above = len(order) - np.searchsorted(order, ranked[lives], "right")
                row[lives] = (below - above) / (len(order) - 1)
        return out.reshape(given.shape)
