"""Round-robin: every learner meets every other equally often from every seat, and all of them learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ...errors import UsageError
from ..data.records import Episode
from ..data.rollout import Seating
from ..population.pool import Pool
from ..runs.config import SchemeConfig

__all__ = ["RoundRobin", "round_robin"]


@dataclass
class RoundRobin:
    """See ``Scheme``. Groups are numbered through the run, so that few of them an update go round all learners too."""

    players: int
    learners: tuple[str, ...]
    opponents: tuple[str, ...] = ()

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """In a lap each learner takes each seat once; the others follow it at the lap's distances."""
        number = len(self.learners)
        distances = list(permutations(range(1, number), self.players - 1))
        out = []
        for k in range(update * groups, (update + 1) * groups):
            first, lap = k % number, distances[k // number % len(distances)]
            seated = tuple(self.learners[(first + distance) % number] for distance in (0, *lap))
            out.append(Seating(seated, (True,) * self.players))
        return out

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Leave the pool unchanged."""


def round_robin(config: SchemeConfig, players: int) -> RoundRobin:
    """Factory for ``make_scheme``.

    Raises:
        UsageError: fewer learners than seats, or a single one.
    """
    least = max(2, players)
    if config.learners < least:
        raise UsageError(
            f"The round_robin scheme seats different learners, and {least} are needed, not {config.learners}: "
            f"add --learners {least}."
        )
    return RoundRobin(players, config.names)
