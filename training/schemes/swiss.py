"""Swiss tournaments: learners meet others with as many points, and nobody twice in a tournament. Both learn.

An update is a round. A pair's points are the share of its games that each won (draws count half). A tournament takes as
many rounds as separate all learners, log2 of their number; then the next begins from no points. With an odd number of
learners the last plays itself, which is worth half a point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import UsageError
from ..data.records import Episode
from ..data.rollout import Seating
from ..population.payoff import Payoff
from ..population.pool import Pool
from ..runs.config import SchemeConfig

__all__ = ["Swiss", "swiss"]


@dataclass
class Swiss:
    """See ``Scheme``; for games of two players.

    Attributes:
        learners: their names.
        points: of each learner in this tournament.
        met: [name, name] of those who have met in it, by rounds.
        rounds: played of it.
    """

    learners: tuple[str, ...]
    opponents: tuple[str, ...] = ()
    points: dict[str, float] = field(default_factory=dict)
    met: list[list[str]] = field(default_factory=list)
    rounds: int = 0

    @property
    def least_groups(self) -> int:
        """The number of pairs."""
        return (len(self.learners) + 1) // 2

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """Each pair plays equally many groups, give or take one, from either seat in turn."""
        pairs = self.pairs(rng)
        return [
            Seating(pairs[g % len(pairs)][:: -1 if g // len(pairs) % 2 else 1], (True, True)) for g in range(groups)
        ]

    def pairs(self, rng: np.random.Generator) -> list[tuple[str, str]]:
        """The next round: from the top, each with the next one it has not met; ties are broken at random."""
        order = [self.learners[k] for k in rng.permutation(len(self.learners)).tolist()]
        order.sort(key=lambda name: -self.points.get(name, 0.0))
        found = []
        while order:
            one = order.pop(0)
            new = [name for name in order if [one, name] not in self.met and [name, one] not in self.met]
            other = (new or order or [one])[0]
            if order:
                order.remove(other)
            found.append((one, other))
        return found

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Count the points of a round; after the last one, begin anew."""
        payoff, met = Payoff(decay=1.0), {tuple(sorted(set(episode.players))) for episode in results}
        payoff.add(results)
        for pair in sorted(met):
            self.met.append([pair[0], pair[-1]])
            for one, other in dict.fromkeys([(pair[0], pair[-1]), (pair[-1], pair[0])]):
                self.points[one] = self.points.get(one, 0.0) + payoff.win_rate(one, other)
        self.rounds += 1
        if self.rounds >= int(np.ceil(np.log2(len(self.learners)))):
            self.load_state_dict({})

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return {"points": dict(self.points), "met": [list(pair) for pair in self.met], "rounds": self.rounds}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self.points, self.rounds = dict(state.get("points", {})), int(state.get("rounds", 0))
        self.met = [list(pair) for pair in state.get("met", [])]


def swiss(config: SchemeConfig, players: int) -> Swiss:
    """Factory for ``make_scheme``.

    Raises:
        UsageError: a single learner, or a game that isn't one of two players.
    """
    if players != 2:
        raise UsageError(f"The swiss scheme needs a game of two players, and this one has {players}.")
    if config.learners < 2:
        raise UsageError("The swiss scheme needs two learners or more, and there is one: add --learners 2.")
    return Swiss(config.names)
