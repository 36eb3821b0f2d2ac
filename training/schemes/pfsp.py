"""Prioritized fictitious self-play: past selves that a learner beats rarely come up more often.

Source: Vinyals et al. 2019, Grandmaster level in StarCraft II, and its published pseudocode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UnknownName
from ..data.records import Episode
from ..data.rollout import Seating
from ..population.payoff import Payoff
from ..population.pool import Pool
from ..runs.config import SchemeConfig
from .seating import historical, seated_by_odds, share_out

__all__ = ["CURVES", "Pfsp", "pfsp", "priorities"]

CURVES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "easy": lambda x: x,
    "variance": lambda x: x * (1 - x),
    "linear": lambda x: 1 - x,
    "capped": lambda x: np.minimum(0.5, 1 - x),
    "squared": lambda x: (1 - x) ** 2,
}
"""Name -> the weight of an opponent, by the learner's win rate against it."""


def priorities(payoff: Payoff, learner: str, opponents: Sequence[str], curve: str) -> dict[str, float]:
    """The chance of each opponent; equal chances if the curve weighs all of them (almost) 0."""
    weights = CURVES[curve](payoff.matrix([learner], opponents)[0])
    total = weights.sum()
    shares = weights / total if total >= 1e-10 else np.full(len(opponents), 1 / max(1, len(opponents)))
    return dict(zip(opponents, shares.tolist(), strict=True))


@dataclass
class Pfsp:
    """See ``Scheme``. A learner takes each seat in turn; all other seats of a game hold the same past self.

    All past selves of all learners are kept and may be met; the first is the untrained player.
    """

    players: int
    learners: tuple[str, ...]
    snapshot_every: int
    curve: str = "squared"
    opponents: tuple[str, ...] = ()
    payoff: Payoff = field(default_factory=Payoff)

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """Past selves by the curve."""
        for name in self.learners:
            if not pool.past(name):
                pool.snapshot(name, update, bounded=False)
        everyone = historical(pool, self.learners)
        return [
            seating
            for name, share in share_out(self.learners, groups, update)
            for seating in seated_by_odds(
                name, priorities(self.payoff, name, everyone, self.curve), share, self.players, rng
            )
        ]

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Keep a past self of each learner every ``snapshot_every`` updates."""
        self.payoff.add(results)
        if done % self.snapshot_every == 0:
            for name in self.learners:
                pool.snapshot(name, done, bounded=False)

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return {"payoff": self.payoff.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self.payoff.load_state_dict(state.get("payoff", {}))


def pfsp(config: SchemeConfig, players: int) -> Pfsp:
    """Factory for ``make_scheme``.

    Raises:
        UnknownName: no such curve.
    """
    if config.curve not in CURVES:
        raise UnknownName("curve", config.curve, CURVES)
    return Pfsp(players, config.names, config.snapshot_every, config.curve)
