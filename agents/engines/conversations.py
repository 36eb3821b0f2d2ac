"""A cache of keys and values for growing conversations, so that no part of a context is fed twice.

Entries are stored per player by the token ids that were fed, up to a number of bytes; the least recently used go first.
"""

from __future__ import annotations

import bisect
from collections.abc import Hashable, Mapping
from typing import NamedTuple

from ..llm.scoring.batches import Past
from ..llm.scoring.forest import alike

__all__ = ["Conversations"]


class _Kept(NamedTuple):
    past: Past
    weights: Hashable


class Conversations:
    """Keys and values of fed contexts, by player.

    Args:
        limit: the most bytes of keys and values.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.nbytes = limit, 0
        self._kept: dict[tuple[str, tuple[int, ...]], _Kept] = {}  # least recently used first
        self._sorted: list[tuple[str, tuple[int, ...]]] = []

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, player: str, ids: tuple[int, ...]) -> Past | None:
        """The longest proper prefix of a context that was fed for a player, or None.

        A prefix is returned only if it is longer than the rest that is left to feed.
        """
        at = bisect.bisect_left(self._sorted, (player, ids))  # the entry with the longest common prefix is a neighbour
        near = [key for key in self._sorted[max(0, at - 1) : at + 1] if key[0] == player]
        if not near:
            return None
        key = max(near, key=lambda key: alike(key[1], ids))
        length = min(alike(key[1], ids), len(ids) - 1)
        if 2 * length <= len(ids):
            return None
        kept = self._kept[key] = self._kept.pop(key)
        layers = [(keys[:, :length], values[:, :length]) for keys, values in kept.past.layers]
        return Past(ids[:length], layers)

    def keep(self, player: str, past: Past, weights: Hashable) -> None:
        """Store what was fed for a player with these weights; an entry that it extends is dropped."""
        key = (player, past.ids)
        at = bisect.bisect_left(self._sorted, key)
        before = self._sorted[at - 1] if at else key
        for old in (key, before):
            if old in self._kept and old[0] == player and past.ids[: len(old[1])] == old[1]:
                self._drop(old)
        self._kept[key] = _Kept(past, weights)
        bisect.insort(self._sorted, key)
        self.nbytes += past.nbytes
        while self.nbytes > self.limit:
            self._drop(next(iter(self._kept)))

    def only(self, weights: Mapping[str, Hashable]) -> None:
        """Drop entries of players that are gone or whose weights have changed."""
        for key, kept in list(self._kept.items()):
            if key[0] not in weights or weights[key[0]] != kept.weights:
                self._drop(key)

    def _drop(self, key: tuple[str, tuple[int, ...]]) -> None:
        self.nbytes -= self._kept.pop(key).past.nbytes
        del self._sorted[bisect.bisect_left(self._sorted, key)]
