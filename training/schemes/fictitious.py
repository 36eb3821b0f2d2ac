"""Fictitious self-play: each learner against past selves of the other learners, sampled uniformly.

A learner learns to answer not the others' current play but the average of their past selves that are kept. A single
learner plays its own past selves.

Source: Heinrich, Lanctot and Silver 2015, Fictitious self-play in extensive-form games; here by policy gradient, and
with the newest snapshots in place of the whole past.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..data.records import Episode
from ..data.rollout import Seating
from ..population.pool import Pool
from ..runs.config import SchemeConfig
from .seating import against, share_out

__all__ = ["Fictitious", "fictitious"]


@dataclass
class Fictitious:
    """See ``Scheme``. The learner takes each seat in turn; all other seats of a game hold the same past self."""

    players: int
    learners: tuple[str, ...]
    snapshot_every: int
    opponents: tuple[str, ...] = ()
    bounded: ClassVar[bool] = True

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """Past selves of the others; before there are any, the others' current selves."""
        out = []
        for learner, share in share_out(self.learners, groups, update):
            others = [name for name in self.learners if name != learner] or [learner]
            known = [kept for name in others for kept in pool.past(name)] or others
            turn = int(rng.integers(self.players))
            for g, k in enumerate(rng.integers(len(known), size=share).tolist()):
                out.append(against(learner, known[k], (turn + g) % self.players, self.players))
        return out

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Keep a past self of each learner every ``snapshot_every`` updates."""
        if done % self.snapshot_every == 0:
            for learner in self.learners:
                pool.snapshot(learner, done, bounded=self.bounded)


def fictitious(config: SchemeConfig, players: int) -> Fictitious:
    """Factory for ``make_scheme``."""
    return Fictitious(players, config.names, config.snapshot_every)
