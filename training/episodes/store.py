"""Artifact stores: what episodes have made, to be drawn again."""

from __future__ import annotations

import copy
import json
import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...envs.plain import told
from ...errors import UsageError
from .node import HERE

__all__ = ["ArtifactStore"]


class ArtifactStore:
    """A bounded collection of weighted artifacts.

    What an episode adds is in the store after the update, in the order of the tree: so no episode's draws depend on
    which of the others was faster.

    Args:
        name: shown in errors.
        limit: the most artifacts; the oldest go first.
    """

    def __init__(self, name: str = "artifacts", limit: int = 10_000) -> None:
        if limit < 1:
            raise UsageError(f"The limit of store {name!r} is {limit}; it must hold at least one artifact.")
        self.name, self.limit = name, limit
        self._kept: deque[tuple[Any, float]] = deque(maxlen=limit)

    def add(self, artifact: Any, weight: float = 1.0) -> None:
        """Add an artifact.

        Args:
            artifact: plain data, as JSON has it, since runs save it.
            weight: its share in draws; 0: it is never drawn.

        Raises:
            UsageError: a weight that is negative or not finite, or an artifact that is not plain data.
        """
        self._weigh(weight)
        try:
            kept = json.loads(json.dumps(artifact, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(
                f"Store {self.name!r} keeps plain data (texts, numbers, lists, dictionaries): {error}."
            ) from None
        here = HERE.get()
        if here is None:
            self._kept.append((kept, float(weight)))
        else:
            here.later.append(lambda: self._kept.append((kept, float(weight))))

    def _weigh(self, weight: float) -> None:
        """Refuse what is no weight."""
        if not (math.isfinite(weight) and weight >= 0):
            raise UsageError(f"Store {self.name!r}: the weight {told(weight)} came; it must be a number from 0 on.")

    def sample(self, count: int, rng: np.random.Generator) -> list[Any]:
        """Draw artifacts, independently of each other, each with probability proportional to its weight.

        Args:
            count: how many.
            rng: in an episode, ``state.rng``.

        Returns:
            ``count`` copies; none if the store has nothing of positive weight.
        """
        weights = np.array([weight for _, weight in self._kept], np.float64)
        if not weights.sum() > 0:
            return []
        weights /= weights.max()
        drawn = rng.choice(len(weights), size=count, p=weights / weights.sum())
        return [copy.deepcopy(self._kept[k][0]) for k in drawn.tolist()]

    def count(self) -> int:
        """The number of artifacts."""
        return len(self._kept)

    __len__ = count

    def items(self) -> list[tuple[Any, float]]:
        """All artifacts with their weights, oldest first."""
        return copy.deepcopy(list(self._kept))

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return {"kept": [[artifact, weight] for artifact, weight in self.items()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned.

        Raises:
            UsageError: a weight that is negative or not finite.
        """
        kept = [(copy.deepcopy(artifact), float(weight)) for artifact, weight in state["kept"]]
        for _, weight in kept:
            self._weigh(weight)
        self._kept.clear()
        self._kept.extend(kept)
