"""AlphaStar's league: main agents, exploiters of the main agents, and exploiters of the whole league.

=================  =====================================================  ==========================================
role               plays                                                  a past self is kept ... and then
=================  =====================================================  ==========================================
main agent         50 % all past selves (PFSP), 15 % those it forgot or   ... goes on
                   that exploit it, 35 % a main agent
main exploiter     a main agent, or its past selves while it loses most   ... begins anew
league exploiter   all past selves (PFSP)                                 ... begins anew with probability 1/4
=================  =====================================================  ==========================================

Only the player that a game was arranged for learns from it. Two differences from the published pseudocode: the past
self is kept *before* the exploiter's weights are reset (there it would keep the untrained player), and the times of
checkpoints are counted in updates.

Source: Vinyals et al. 2019, Grandmaster level in StarCraft II, and its published pseudocode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.records import Episode
from ..data.rollout import Seating
from ..population.payoff import Payoff
from ..population.pool import Pool
from ..runs.config import SchemeConfig
from .pfsp import priorities
from .seating import historical, seated_by_odds, share_out

__all__ = ["League", "league"]

READY, RESET = 0.7, 0.25
"""The worst win rate above which a past self is kept early; the chance that a league exploiter then begins anew."""


@dataclass
class League:
    """See ``Scheme``.

    Attributes:
        players: seats of the game; the opponent takes all seats but the learner's.
        mains, main_exploiters, league_exploiters: names, by role.
        every: updates between two past selves of a player: at least so many, and at most twice as many.
        payoff: win rates of all players.
        since: by name, the update of the last past self.
    """

    players: int
    mains: tuple[str, ...]
    main_exploiters: tuple[str, ...]
    league_exploiters: tuple[str, ...]
    every: int
    opponents: tuple[str, ...] = ()
    payoff: Payoff = field(default_factory=Payoff)
    since: dict[str, int] = field(default_factory=dict)
    _coins: dict[str, float] = field(default_factory=dict)

    @property
    def learners(self) -> tuple[str, ...]:
        """All of them, main agents first."""
        return self.mains + self.main_exploiters + self.league_exploiters

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """Each learner gets an equal share of the groups, and takes each seat in turn."""
        for name in self.mains:  # the league begins with the untrained player in it
            if not pool.past(name):
                pool.snapshot(name, update, bounded=False)
        # ``update`` has no generator: this update's coins are tossed here.
        self._coins = {name: float(rng.random()) for name in self.league_exploiters}
        return [
            seating
            for name, share in share_out(self.learners, groups, update)
            for seating in seated_by_odds(name, self.odds(name, pool), share, self.players, rng)
        ]

    def odds(self, learner: str, pool: Pool) -> dict[str, float]:
        """The chance of each opponent of a learner's next game."""
        everyone, odds = historical(pool, self.learners), Counter[str]()
        if learner in self.league_exploiters:
            return priorities(self.payoff, learner, everyone, "capped")
        for main in self.mains:
            if learner in self.main_exploiters:
                shares = [(1.0, self._ladder(learner, main, 0.1, pool))]
            else:
                ladder = self._ladder(learner, main, 0.3, pool)
                shares = [(0.15, self._verification(learner, main, pool) or ladder), (0.35, ladder)]
            for share, found in shares:
                odds.update({name: share * chance / len(self.mains) for name, chance in found.items()})
        if learner in self.mains:
            odds.update({name: p / 2 for name, p in priorities(self.payoff, learner, everyone, "squared").items()})
        return dict(odds)

    def _ladder(self, learner: str, main: str, least: float, pool: Pool) -> dict[str, float]:
        """A main agent; while the learner wins less than ``least`` against it, its past selves."""
        if self.payoff.win_rate(learner, main) > least:
            return {main: 1.0}
        return priorities(self.payoff, learner, pool.past(main), "variance")

    def _verification(self, learner: str, main: str, pool: Pool) -> dict[str, float]:
        """Past exploiters that beat a main agent, else past selves that it no longer beats; empty: there are none."""
        exploiters = historical(pool, self.main_exploiters)
        if exploiters and self.payoff.matrix([learner], exploiters).min() < 0.3:
            return priorities(self.payoff, learner, exploiters, "squared")
        past = _without_monotonic_suffix(pool.past(main), self.payoff.matrix([learner], pool.past(main))[0].tolist())
        if past and self.payoff.matrix([learner], past).min() < READY:
            return priorities(self.payoff, learner, past, "squared")
        return {}

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Keep past selves of those that are ready; exploiters may then begin anew."""
        self.payoff.add(results)
        for name in [name for name in self.learners if self._ready(name, done, pool)]:
            pool.snapshot(name, done, bounded=False)
            self.since[name] = done
            if name in self.main_exploiters or self._coins.get(name, 1.0) < RESET:
                pool.reset(name, done)

    def _ready(self, name: str, done: int, pool: Pool) -> bool:
        passed = done - self.since.get(name, 0)
        rivals = self.mains if name in self.main_exploiters else historical(pool, self.learners)
        return passed >= (self.every if self.payoff.matrix([name], rivals).min() > READY else 2 * self.every)

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return {"payoff": self.payoff.state_dict(), "since": dict(self.since)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self.payoff.load_state_dict(state.get("payoff", {}))
        self.since = dict(state.get("since", {}))


def _without_monotonic_suffix(names: Sequence[str], win_rates: Sequence[float]) -> list[str]:
    """Past selves up to the last one that is beaten more often than the one before it."""
    for k in range(len(names) - 1, 0, -1):
        if win_rates[k - 1] < win_rates[k]:
            return list(names[: k + 1])
    return []


def league(config: SchemeConfig, players: int) -> League:
    """Factory for ``make_scheme``."""
    mains, main_exploiters, league_exploiters = config.roles.values()
    return League(players, mains, main_exploiters, league_exploiters, config.snapshot_every)
