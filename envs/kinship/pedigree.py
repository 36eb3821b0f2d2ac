"""Pedigrees: descent, and how closely the living are related.

Letters: S slots, n living individuals, A the relationship matrix, F inbreeding.

Source:
    Wright, "Coefficients of inbreeding and relationship", American Naturalist 56 (1922).
    Hamilton, "Altruism and related phenomena, mainly in social insects", Annual Review of Ecology and Systematics 3
    (1972): r as a regression, which inbreeding makes asymmetric.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError, did_you_mean
from ..plain import parse_yaml
from .kernels import related_child
from .tables import is_whole, short

__all__ = ["Id", "Pedigree"]

Id: TypeAlias = Hashable
"""An individual's id: a number or a name, never reused."""

Parents: TypeAlias = tuple[Id | None, Id | None]
"""Mother and father; None: an unrelated stranger."""


class Pedigree:
    """Births and deaths, and the current relationship matrix of the living.

    A_ij is twice the probability that a gene of i and one of j descend from the same gene of a founder; A_ii = 1 + F_i.
    Hamilton's r of j to i is A_ij / A_ii: 0.5 for parent and child and for full siblings, 0.25 for half siblings, 0.125
    for cousins.

    Args:
        founders: the number of unrelated founders, with the ids 0, 1, ...; or groups of full siblings, each a number of
            siblings or a list of their ids: ``[2, 3]``, ``[["ann", "bob"], ["eve"]]``.

    Raises:
        UsageError: founders that are neither, or a repeated id.
    """

    def __init__(self, founders: int | Sequence[int | Sequence[Id]] = 0) -> None:
        self._parents: dict[Id, Parents] = {}
        self._slots: dict[Id, int] = {}
        self._matrix = np.eye(8)
        self._next = 0
        for group in _groups(founders):
            siblings: list[int] = []
            for given in [None] * group if isinstance(group, int) else group:
                slot = self._slots[self.birth(id=given)]
                self._matrix[slot, siblings] = self._matrix[siblings, slot] = 0.5
                siblings.append(slot)

    @classmethod
    def from_parents(cls, rows: Iterable[Any]) -> Pedigree:
        """A pedigree whose members are all alive.

        Args:
            rows: (id, mother, father), in any order, or mappings with these keys; or ``{id: (mother, father)}``. None
                and -1 (unless -1 is an id) stand for an unrelated stranger.

        Raises:
            UsageError: a row of another form, a repeated id, a parent without a row, an individual that is its own
                ancestor.
        """
        table = _table(rows)
        pedigree = cls()
        for id in _parents_first(table):
            pedigree.birth(*table[id], id=id)
        pedigree._slots = {id: pedigree._slots[id] for id in table}  # in the order of the rows
        return pedigree

    @classmethod
    def from_yaml(cls, text: str) -> Pedigree:
        """The same from YAML: a list of ``[id, mother, father]``, of mappings, or a mapping ``id: [mother, father]``.

        Raises:
            UsageError: not YAML, or as in ``from_parents``.
        """
        rows = parse_yaml(text, "The pedigree")
        if not isinstance(rows, list | dict):
            raise UsageError(f"A pedigree must be a list of [id, mother, father], not {short(rows)}.")
        return cls.from_parents(rows)

    def birth(self, mother: Id | None = None, father: Id | None = None, id: Id | None = None) -> Id:
        """Add a child, or a newcomer if both parents are None.

        Args:
            mother: an id; None: an unrelated stranger.
            father: likewise; the mother's id means selfing.
            id: the child's id; None: the smallest number above all numbers used.

        Returns:
            The child's id.

        Raises:
            UsageError: a parent that is not alive, or an id that was used before.
        """
        slots = [-1 if parent is None else self._slot(parent) for parent in (mother, father)]
        given: Any = id
        if not isinstance(given, Hashable):
            raise UsageError(f"The id {short(given)} cannot be used; an id must be a number or a name.")
        child = self._next if id is None else id
        if child in self._parents:
            raise UsageError(f"The id {child!r} is already used; ids are never reused, not even those of the dead.")
        slot = self._free()
        related_child(self._matrix, slot, slots[0], slots[1])
        self._slots[child] = slot
        self._parents[child] = (mother, father)
        if is_whole(child):
            self._next = max(self._next, int(child) + 1)
        return child

    def death(self, id: Id) -> None:
        """Remove an individual from the living; its id is never reused.

        Raises:
            UsageError: it is not alive.
        """
        slot = self._slot(id)
        del self._slots[id]
        self._matrix[slot] = self._matrix[:, slot] = 0.0
        self._matrix[slot, slot] = 1.0

    @property
    def living(self) -> list[Id]:
        """[n] ids in order of birth (``from_parents``: of the rows): the rows of ``matrix()`` and ``related()``."""
        return list(self._slots)

    @property
    def parents(self) -> dict[Id, Parents]:
        """Mother and father of every individual, also of the dead; a new dictionary."""
        return dict(self._parents)

    def matrix(self, ids: Iterable[Id] | None = None) -> NDArray[np.float64]:
        """[n, n] float64 A in the order of ``ids`` (by default ``living``); diagonal 1 + F.

        Raises:
            UsageError: one of them is not alive.
        """
        slots = [self._slot(id) for id in (self.living if ids is None else ids)]
        return self._matrix[np.ix_(slots, slots)]

    def related(self, ids: Iterable[Id] | None = None) -> NDArray[np.float64]:
        """[n, n] float64 Hamilton's r: ``[i, j]`` is what j's offspring is worth to i, 0 to 1; diagonal 1.

        Raises:
            UsageError: one of them is not alive.
        """
        A = self.matrix(ids)
        return A / np.diagonal(A)[:, None]

    def r(self, i: Id, j: Id) -> float:
        """Hamilton's r of j to i.

        Raises:
            UsageError: one of them is not alive.
        """
        a, b = self._slot(i), self._slot(j)
        return float(self._matrix[a, b] / self._matrix[a, a])

    def inbreeding(self, id: Id) -> float:
        """F, 0 to 1: the probability that both of its genes descend from the same gene of a founder.

        Raises:
            UsageError: it is not alive.
        """
        slot = self._slot(id)
        return float(self._matrix[slot, slot]) - 1.0

    def _slot(self, id: Id) -> int:
        if isinstance(id, Hashable) and id in self._slots:
            return self._slots[id]
        if isinstance(id, Hashable) and id in self._parents:
            raise UsageError(f"{id!r} has died; the pedigree relates only the living. {self._who()}")
        raise UsageError(
            f"There is no {id!r} in the pedigree.{did_you_mean(str(id), map(str, self._slots))} {self._who()}"
        )

    def _who(self) -> str:
        return f"Living: {short(self.living)}."

    def _free(self) -> int:
        """A free slot; the matrix doubles in size if there is none."""
        taken = np.zeros(len(self._matrix), np.bool_)
        taken[list(self._slots.values())] = True
        if taken.all():
            wider = np.eye(2 * len(taken))
            wider[: len(taken), : len(taken)] = self._matrix
            self._matrix = wider
            return len(taken)
        return int(np.argmin(taken))


def _groups(founders: Any) -> list[int | list[Id]]:
    """Groups of siblings: numbers, or lists of ids."""
    if is_whole(founders) and founders >= 0:
        return [1] * founders
    groups: list[Any] = list(founders) if _is_list(founders) else [None]
    for group in groups:
        if not _is_list(group) and not (is_whole(group) and group >= 0):
            raise UsageError(
                f"founders={short(founders)} must be a number, or groups of siblings: [2, 3], [['ann'], ['al']]."
            )
    return groups


def _table(rows: Any) -> dict[Id, Parents]:
    """Each individual's parents, in the order of the rows."""
    if isinstance(rows, Mapping):
        rows = [(id, *parents) if _is_list(parents) else (id, parents) for id, parents in rows.items()]
    if not isinstance(rows, Iterable) or isinstance(rows, str | bytes):
        raise UsageError(f"A pedigree must be a list of (id, mother, father), not {short(rows)}.")
    table: dict[Id, Parents] = {}
    for row in rows:
        given = row
        if isinstance(row, Mapping) and "id" in row and set(row) <= {"id", "mother", "father"}:
            given = (row["id"], row.get("mother"), row.get("father"))
        if (
            not _is_list(given)
            or len(given) != 3
            or given[0] is None
            or not all(isinstance(x, Hashable) for x in given)
        ):
            raise UsageError(f"A row of a pedigree is (id, mother, father), None for a stranger, not {short(row)}.")
        id, mother, father = given
        if id in table:
            raise UsageError(f"The id {id!r} comes twice in the pedigree; give each id one row.")
        table[id] = (mother, father)
    return {id: (_parent(table, id, "mother", a), _parent(table, id, "father", b)) for id, (a, b) in table.items()}


def _parent(table: Mapping[Id, Parents], child: Id, role: str, parent: Id | None) -> Id | None:
    """A parent that has a row; None for a stranger."""
    if parent is None or parent in table:
        return parent
    if parent == -1:
        return None
    hint = did_you_mean(str(parent), map(str, table), least=0.7)
    raise UsageError(
        f"The {role} of {child!r}, {parent!r}, has no row in the pedigree.{hint} Add one, or use null for a stranger."
    )


def _is_list(given: Any) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)


def _parents_first(table: Mapping[Id, Parents]) -> list[Id]:
    """All ids, each after its parents.

    Raises:
        UsageError: an individual is its own ancestor.
    """
    order: dict[Id, None] = {}
    for start in table:
        path = [start]  # from a descendant up to the current ancestor
        on_path = {start}
        while path:
            above = [parent for parent in table[path[-1]] if parent is not None and parent not in order]
            if not above:
                order[path[-1]] = None
                on_path.discard(path.pop())
            elif above[0] in on_path:
                circle = [short(id) for id in (*path[path.index(above[0]) :], above[0])]
                if len(circle) > 9:
                    circle[4:-4] = ["..."]
                raise UsageError(f"{circle[0]} is its own ancestor in the pedigree: {' child of '.join(circle)}.")
            else:
                path.append(above[0])
                on_path.add(above[0])
    return list(order)
