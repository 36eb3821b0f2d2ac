"""Self-play: learners sit in every seat, and all of them learn.

One learner plays itself. With several, every learner takes every seat equally often, and the other seats are sampled
from all learners, itself included, so that each meets all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..data.records import Episode
from ..data.rollout import Seating
from ..population.pool import Pool
from ..runs.config import SchemeConfig

__all__ = ["SelfPlay", "self_play"]


@dataclass
class SelfPlay:
    """See ``Scheme``."""

    players: int
    learners: tuple[str, ...] = ("main",)
    opponents: tuple[str, ...] = ()

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """Each seat goes through all learners in a random order, sampled for every seat and round."""
        number = len(self.learners)
        rounds = -(-groups // number)
        orders = [[name for _ in range(rounds) for name in self._order(rng)] for _ in range(self.players)]
        return [Seating(players, (True,) * self.players) for players in list(zip(*orders, strict=True))[:groups]]

    def _order(self, rng: np.random.Generator) -> list[str]:
        return [self.learners[k] for k in rng.permutation(len(self.learners)).tolist()]

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Leave the pool unchanged."""


def self_play(config: SchemeConfig, players: int) -> SelfPlay:
    """Factory for ``make_scheme``."""
    return SelfPlay(players, config.names)
