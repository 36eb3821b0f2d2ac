"""Pairs of rivals, like the generator and the discriminator of a GAN, that only meet each other.

The first of a pair takes the game's first seat, the second all others. Each learns against its rival's current self and
all of its past selves, so that neither forgets how to answer what the other once did.

Source: Goodfellow et al. 2014, Generative adversarial nets; with past selves as in fictitious play.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import UsageError
from ..data.records import Episode
from ..data.rollout import Seating
from ..population.pool import Pool
from ..runs.config import SchemeConfig
from .seating import against, drawn, share_out

__all__ = ["Pairs", "pairs"]


@dataclass
class Pairs:
    """See ``Scheme``. Learners 2k and 2k + 1 are a pair."""

    players: int
    learners: tuple[str, ...]
    snapshot_every: int
    opponents: tuple[str, ...] = ()

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """Rivals in equal shares; only the one that the games were arranged for learns."""
        out = []
        for k, (learner, share) in enumerate(share_out(self.learners, groups, update)):
            rival, first = self.learners[k ^ 1], k % 2 == 0
            own = tuple((p == 0) == first for p in range(self.players))
            for name in drawn(dict.fromkeys([*pool.past(rival), rival], 1.0), share, rng):
                players = against(learner if first else name, name if first else learner, 0, self.players).players
                out.append(Seating(players, own))
        return out

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Keep a past self of each learner every ``snapshot_every`` updates."""
        if done % self.snapshot_every == 0:
            for name in self.learners:
                pool.snapshot(name, done, bounded=False)


def pairs(config: SchemeConfig, players: int) -> Pairs:
    """Factory for ``make_scheme``.

    Raises:
        UsageError: an odd number of learners, or a game of one player.
    """
    if config.learners % 2:
        raise UsageError(f"The pairs scheme needs an even number of learners, not {config.learners}: add --learners 2.")
    if players < 2:
        raise UsageError("The pairs scheme needs a game of two players or more, and this one has a single seat.")
    return Pairs(players, config.names, config.snapshot_every)
