"""Each learner against exact best responses to its own past selves, and against itself: for games that can be solved.

Every ``snapshot_every`` updates a past self is kept, and whoever knows it by heart, ``exploiter:main@40``, becomes an
opponent: an exact best response, softened, so that it does not look for the largest hole alone (``ExploiterAgent``).
Those of the last ``max_past`` past selves are met equally often. One group in ``OWN`` is played by the learner against
itself.

Source: McMahan, Gordon and Blum 2003, Planning in the presence of cost functions controlled by an adversary (the
double oracle algorithm, one side of which learns here).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from ...agents.core import HasPolicy
from ...agents.search.exploiter import ExploiterAgent
from ...errors import UsageError
from ..data.records import Episode
from ..data.rollout import Seating
from ..population.pool import Pool
from ..runs.config import SchemeConfig
from .seating import seated_by_odds, share_out

__all__ = ["OWN", "Oracle", "oracle"]

OWN = 4
"""One group in so many is self-play."""


@dataclass
class Oracle:
    """See ``Scheme``; for games of two players. A learner meets each exploiter from either seat in turn."""

    learners: tuple[str, ...]
    snapshot_every: int
    opponents: tuple[str, ...] = ()

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """Self-play, then exploiters of the past selves by equal odds; the first past self is the untrained one."""
        out = []
        for learner, share in share_out(self.learners, groups, update):
            if not pool.past(learner):
                pool.snapshot(learner, update)
            own = share // OWN
            out += [Seating((learner, learner), (True, True))] * own
            out += seated_by_odds(learner, self._exploiters(learner, pool), share - own, 2, rng)
        return out

    def _exploiters(self, learner: str, pool: Pool) -> dict[str, float]:
        """The odds of a learner's exploiters, who are made where they are missing and leave with their past selves."""
        names = {f"exploiter:{kept}": kept for kept in pool.past(learner)}
        for gone in [name for name in pool.agents if name.startswith(f"exploiter:{learner}@") and name not in names]:
            pool.remove(gone)
        for name, kept in names.items():
            if name not in pool.agents:
                pool.add(name, ExploiterAgent(cast("HasPolicy", pool.ready([kept])[kept])))
        return dict.fromkeys(names, 1.0)

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Keep a past self of each learner every ``snapshot_every`` updates."""
        if done % self.snapshot_every == 0:
            for learner in self.learners:
                pool.snapshot(learner, done)


def oracle(config: SchemeConfig, players: int) -> Oracle:
    """Factory for ``make_scheme``.

    Raises:
        UsageError: the game isn't one of two players.
    """
    if players != 2:
        raise UsageError(
            f"The oracle scheme needs a game of two players, and this one has {players}: use --scheme fictitious."
        )
    return Oracle(config.names, config.snapshot_every)
