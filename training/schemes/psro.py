"""Policy-space response oracles: a population that grows by best responses to its own meta-strategy.

A round lasts ``snapshot_every`` updates. In it, each learner trains against frozen players of the population, drawn as
the meta-strategy weighs them. At its end a copy of the learner joins the population if it beat the meta-strategy in the
last update, by more than two standard errors; otherwise it learns on for another round. At an equilibrium nobody joins.

One group of games in four is played between frozen players, and nobody learns from it: these games fill the payoff
table. A learner's own games would not do, since it is weaker in most of them than the player that joins.

Source: Lanctot et al. 2017, A unified game-theoretic approach to multiagent reinforcement learning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from ...errors import UnknownName, UsageError
from ..data.records import Episode
from ..data.rollout import Seating
from ..population.payoff import Payoff
from ..population.pool import Pool
from ..population.solvers import META_SOLVERS, Meta
from ..runs.config import SchemeConfig
from .seating import historical, seated_by_odds, share_out

__all__ = ["Psro", "psro"]

MEASURED = 4
"""One group in so many measures the payoffs of frozen players."""


@dataclass
class Psro:
    """See ``Scheme``; for games of two players. The population begins with the untrained learners.

    ``fresh``: each round begins with the learner's first weights, otherwise with those of the round before.
    """

    learners: tuple[str, ...]
    snapshot_every: int
    meta_solver: str = "nash"
    fresh: bool = False
    opponents: tuple[str, ...] = ()
    payoff: Payoff = field(default_factory=lambda: Payoff(decay=1.0))

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """Games that measure first, then each learner against the meta-strategy, from either seat in turn."""
        for name in self.learners:
            if not pool.past(name):
                pool.snapshot(name, update, bounded=False)
        number = max(groups // MEASURED, int(groups > 1))
        measured = self._measuring(historical(pool, self.learners), number, update % 2)
        shares = share_out(self.learners, groups - len(measured), update)
        return measured + [
            seating for name, share in shares for seating in seated_by_odds(name, self.odds(name, pool), share, 2, rng)
        ]

    def odds(self, learner: str, pool: Pool) -> dict[str, float]:
        """How often a learner should meet each frozen player."""
        population = self._known(pool)
        own = [population.index(kept) for kept in pool.past(learner) if kept in population]
        return dict(zip(population, self._solved(population).opponents[own[-1] if own else 0].tolist(), strict=True))

    def mixture(self, pool: Pool) -> dict[str, float]:
        """The meta-strategy: the share of each frozen player, which together are what the run has found."""
        population = self._known(pool)
        return dict(zip(population, self._solved(population).weights.tolist(), strict=True))

    def _known(self, pool: Pool) -> list[str]:
        """Frozen players that have played others; who has just joined is weighed after its first games."""
        population = historical(pool, self.learners)
        known = [one for one in population if any(self.payoff.games(one, other) for other in population)]
        return known or [pool.past(name)[0] for name in self.learners]

    def _solved(self, population: Sequence[str]) -> Meta:
        return META_SOLVERS[self.meta_solver](self.payoff.margins(population, population))

    def _measuring(self, population: Sequence[str], groups: int, turn: int) -> list[Seating]:
        """Pairs of frozen players with the fewest games, from either seat in turn."""
        pairs = list(combinations(population, 2))
        games = np.array([self.payoff.games(*pair) for pair in pairs])
        more = np.zeros(len(pairs), np.int64)  # groups, each of which counts as one game here
        found = []
        for _ in range(groups if pairs else 0):
            k = int(np.argmin(games + more))
            found.append(Seating(pairs[k][:: -1 if (more[k] + turn) % 2 else 1], (False, False)))
            more[k] += 1
        return found

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """At the end of a round the learners that found a better response join the population."""
        self.payoff.add(episode for episode in results if not any(episode.learners))
        for name in self.learners if done % self.snapshot_every == 0 else ():
            if _beats(name, results):
                pool.snapshot(name, done, bounded=False)
                if self.fresh:
                    pool.reset(name, done)

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return {"payoff": self.payoff.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self.payoff.load_state_dict(state.get("payoff", {}))


def _beats(learner: str, results: Sequence[Episode]) -> bool:
    """Whether a learner was paid more than its opponents, by more than two standard errors."""
    seats = [(e, e.learners.index(True)) for e in results if any(e.learners)]
    gains = np.array([e.returns[p] - e.returns[1 - p] for e, p in seats if e.players[p] == learner])
    return len(gains) > 1 and bool(gains.mean() > 2 * gains.std(ddof=1) / len(gains) ** 0.5)


def psro(config: SchemeConfig, players: int) -> Psro:
    """Factory for ``make_scheme``.

    Raises:
        UsageError: the game isn't one of two players.
        UnknownName: no such meta-solver.
    """
    if players != 2:
        raise UsageError(
            f"The psro scheme needs a game of two players, and this one has {players}: use --scheme league."
        )
    if config.meta_solver not in META_SOLVERS:
        raise UnknownName("meta-solver", config.meta_solver, META_SOLVERS)
    return Psro(config.names, config.snapshot_every, config.meta_solver, config.fresh)
