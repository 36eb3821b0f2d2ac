"""Pairs of rivals, like the generator and the discriminator of a GAN, that only meet each other.

The first of a pair takes the game's first seat, the second all others. Each learns against its rival's current self and
all of its past selves, so that neither forgets how to answer what the other once did.

Source: Goodfellow et al. 2014, Generative adversarial nets; with past selves as in fictitious play.
"""

from __future__ import annotations

import numpy as np

from ...errors import UsageError
from ..data.rollout import Seating
from ..population.pool import Pool
from ..runs.config import SchemeConfig
from .fictitious import Fictitious
from .seating import against, drawn, share_out

__all__ = ["Pairs", "pairs"]


class Pairs(Fictitious):
    """See ``Scheme``. Learners 2k and 2k + 1 are a pair."""

    bounded = False

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
