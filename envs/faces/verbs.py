"""Actions as pairs (verb, argument), for games that name their verbs: conversion to action numbers, and masks.

Letters: V verbs, K the largest number of arguments of a verb, A action numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import Action, Mask
from ...errors import InvalidAction
from ..core import Game
from ..stepping.jit import kernel

__all__ = ["PairMasks", "Verbs", "array_of"]


@kernel
def _marginals(mask: Mask, table: NDArray[np.int32], pairs: Mask, verbs: Mask, arguments: Mask) -> None:
    """Masks [M, A] as exact masks of pairs [M, V, K], and their marginals: verbs [M, V], arguments [M, K]."""
    for m in range(mask.shape[0]):
        for k in range(table.shape[1]):
            arguments[m, k] = 0
        for v in range(table.shape[0]):
            verbs[m, v] = 0
            for k in range(table.shape[1]):
                legal = 0
                if table[v, k] >= 0:
                    legal = mask[m, table[v, k]]
                pairs[m, v, k] = legal
                verbs[m, v] |= legal
                arguments[m, k] |= legal


class PairMasks:
    """Masks of legal pairs: new arrays, or buffers that ``Verbs.write`` fills.

    Attributes:
        pairs: [..., V, K] int8, exact.
        marginals: ``([..., V], [..., K])`` int8: verbs that are legal with any argument, arguments that are legal with
            any verb; as ``MultiDiscrete.sample`` takes them.
    """

    def __init__(self, shape: tuple[int, ...], verbs: int, arguments: int) -> None:
        self.pairs: Mask = np.zeros((*shape, verbs, arguments), np.int8)
        self.marginals: tuple[Mask, Mask] = (np.zeros((*shape, verbs), np.int8), np.zeros((*shape, arguments), np.int8))


class Verbs:
    """The pairs of a game.

    Attributes:
        names: V verbs.
        table: [V, K] int32 action numbers; -1 where a verb has no such argument.
        number_of_pair: ``table`` as a nested list.
    """

    def __init__(self, game: Game) -> None:
        self.id = game.info.id
        self.names = tuple(name for name, _ in game.verbs)
        most = max(len(numbers) for _, numbers in game.verbs)
        self.table = np.full((len(game.verbs), most), -1, np.int32)
        for v, (_, numbers) in enumerate(game.verbs):
            self.table[v, : len(numbers)] = numbers
        self.number_of_pair: list[list[int]] = self.table.tolist()

    @property
    def shape(self) -> tuple[int, int]:
        """(V, K)."""
        return self.table.shape[0], self.table.shape[1]

    def number(self, pair: Any) -> Action:
        """The action number of one pair; -1 where the verb has no such argument.

        Raises:
            InvalidAction: not two whole numbers, or one of them out of bounds.
        """
        given = array_of(pair)
        if given.shape != (2,) or given.dtype.kind not in "iu":
            raise InvalidAction(
                f"{pair!r} ({type(pair).__name__}) is not an action of {self.id}; a verb 0..{self.shape[0] - 1} and an "
                f"argument 0..{self.shape[1] - 1} are needed."
            )
        v, k = int(given[0]), int(given[1])
        if not (0 <= v < self.shape[0] and 0 <= k < self.shape[1]):
            raise InvalidAction(
                f"Action ({v}, {k}) is outside (0..{self.shape[0] - 1}, 0..{self.shape[1] - 1}) of {self.id}."
            )
        return self.number_of_pair[v][k]

    def numbers(self, pairs: Any, silent: bool = False) -> NDArray[np.int32] | None:
        """Action numbers [...] of pairs [..., 2]; None if one of them is not a pair or is out of bounds.

        Args:
            pairs: anything.
            silent: accept a verb of -1 as no answer, action -1.
        """
        given = array_of(pairs)
        if given.ndim < 2 or given.shape[-1] != 2 or given.dtype.kind not in "iu":
            return None
        v, k = given[..., 0], given[..., 1]
        none = (v == -1) if silent else np.zeros(v.shape, np.bool_)
        if ((v >= self.shape[0]) | (((v < 0) | (k < 0) | (k >= self.shape[1])) & ~none)).any():
            return None
        found: NDArray[np.int32] = self.table[v, np.where(none, 0, k)]
        return np.where(none, np.int32(-1), found)

    def pair(self, action: Action) -> tuple[int, int]:
        """The first pair with that action number.

        Raises:
            InvalidAction: no pair has it.
        """
        where = np.argwhere(self.table == action) if action >= 0 else np.zeros((0, 2), np.int64)
        if len(where) == 0:
            raise InvalidAction(f"No verb of {self.id} has the action number {action}. Verbs: {', '.join(self.names)}.")
        return int(where[0, 0]), int(where[0, 1])

    def masks(self, mask: Mask) -> PairMasks:
        """Masks [..., A] as masks of pairs, in new arrays."""
        found = PairMasks(mask.shape[:-1], *self.shape)
        self.write(mask, found)
        return found

    def write(self, mask: Mask, into: PairMasks) -> None:
        """``masks``, written into existing arrays."""
        v, k = self.shape
        verbs, arguments = into.marginals
        flat = mask.reshape(-1, mask.shape[-1])
        _marginals(flat, self.table, into.pairs.reshape(-1, v, k), verbs.reshape(-1, v), arguments.reshape(-1, k))


def array_of(given: Any) -> NDArray[Any]:
    """``given`` as an array; an empty one if its rows differ in length."""
    try:
        return np.asarray(given)
    except ValueError:  # rows of different lengths
        return np.empty(0, object)
