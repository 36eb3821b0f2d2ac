"""Returns of positions in earlier batches; older ones count less.

A position that occurs less than once per batch has no mean within one batch; its earlier visits give it one.

Letters: D decisions, M remembered positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...errors import UsageError

__all__ = ["PositionMemory"]

FAINT = 0.1
"""A position is forgotten when its faded visits fall below this."""

Held = tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64]]


class PositionMemory:
    """Faded sums of returns and visits by role and position.

    Args:
        keep: share of every sum that each batch of its role keeps; 0 remembers nothing.

    Raises:
        UsageError: ``keep`` is below 0, or 1 or more.
    """

    def __init__(self, keep: float) -> None:
        if not 0.0 <= keep < 1.0:
            raise UsageError(f"memory is {keep}: set a share of at least 0 (none) and less than 1.")
        self.keep = keep
        self._held: dict[str, Held] = {}

    def recall(self, role: str, keys: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[D] remembered sums of returns and [D] visits of each position; 0 for unknown positions."""
        known, sums, visits = self._held.get(role, (np.zeros(0, np.uint64), np.zeros(0), np.zeros(0)))
        if not known.size:
            return np.zeros(len(keys)), np.zeros(len(keys))
        at = np.searchsorted(known, keys).clip(max=known.size - 1)
        there = known[at] == keys
        return np.where(there, sums[at], 0.0), np.where(there, visits[at], 0.0)

    def learn(self, role: str, keys: NDArray[np.uint64], returns: NDArray[np.float64]) -> None:
        """Add a batch's [D] returns, and let all sums of the role fade."""
        if not self.keep:
            return
        known, sums, visits = self._held.get(role, (np.zeros(0, np.uint64), np.zeros(0), np.zeros(0)))
        every, index = np.unique(np.concatenate([known, keys]), return_inverse=True)
        paid, often = np.zeros(every.size), np.zeros(every.size)
        np.add.at(paid, index, np.concatenate([sums, returns]))
        np.add.at(often, index, np.concatenate([visits, np.ones(len(keys))]))
        paid, often = paid * self.keep, often * self.keep
        stay = often >= FAINT
        self._held[role] = every[stay], paid[stay], often[stay]

    def forget(self, learner: str) -> None:
        """Forget what a learner met, in all its roles."""
        self._held = {role: held for role, held in self._held.items() if not role.startswith(f"{learner}/")}

    def state_dict(self) -> dict[str, Any]:
        """Tensors by role: keys [M] int64 (the bits of uint64), sums [M], visits [M]."""
        return {
            role: [torch.from_numpy(keys.view(np.int64).copy()), torch.from_numpy(sums), torch.from_numpy(visits)]
            for role, (keys, sums, visits) in self._held.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self._held = {
            role: (keys.numpy().view(np.uint64), sums.numpy(), visits.numpy())
            for role, (keys, sums, visits) in state.items()
        }
