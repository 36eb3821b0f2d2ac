"""One learner against a weighted mixture of opponents: itself, its past selves, baselines, saved players.

``fixed`` is the same without selves: the opponents stay what they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...errors import UsageError
from ..data.rollout import Seating
from ..runs.config import SchemeConfig

__all__ = ["Mixed", "fixed", "mixed", "parse_weights"]


def parse_weights(text: str) -> dict[str, float]:
    """``"random=1,minimax=0.5"`` as a dict; a name alone weighs 1.

    Raises:
        UsageError: nothing there, a weight that is no number or not positive, a name twice.
    """
    weights: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, weight = part.rpartition("=") if "=" in part else (part, "", "1")
        try:
            value = float(weight)
        except ValueError:
            value = math.nan
        if not (name and value > 0 and math.isfinite(value)):
            raise UsageError(
                f"opponents: {part!r} isn't NAME or NAME=WEIGHT with a weight > 0, such as random=1,minimax=0.5."
            )
        if name in weights:
            raise UsageError(f"opponents: {name!r} stands there twice.")
        weights[name] = value
    if not weights:
        raise UsageError("opponents is empty; name at least one, such as random=1,minimax=1.")
    return weights


@dataclass
class Mixed:
    """See ``Scheme``. The learner takes each seat in turn; all other seats of a game hold the same opponent.

    ``self`` puts the learner into every seat, and all of them learn; ``past`` draws a past self (the learner itself as
    long as there is none).
    """

    players: int
    weights: dict[str, float]
    learner: str = "main"
    opponents: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Everyone who must be built before the first game."""
        self.opponents = tuple(name for name in self.weights if name not in ("self", "past"))

    def seats(self, update: int, groups: int, past: list[str], rng: np.random.Generator) -> list[Seating]:
        """Opponents by weight, in shares as exact as the number of groups allows; seats in turn."""
        names = list(self.weights)
        share = np.array([self.weights[n] for n in names])
        # Low-variance draw: one random offset, equally spaced points. Each opponent gets its share of groups, give or
        # take one.
        points = (np.arange(groups) + rng.random()) / groups
        drawn = np.searchsorted(share.cumsum() / share.sum(), points, side="right").clip(max=len(names) - 1)
        turn = int(rng.integers(self.players))
        out = []
        for g in range(groups):
            name = names[int(drawn[g])]
            if name == "past":
                name = past[int(rng.integers(len(past)))] if past else "self"
            if name == "self":
                out.append(Seating((self.learner,) * self.players, (True,) * self.players))
                continue
            seat = (turn + g) % self.players
            out.append(
                Seating(
                    tuple(self.learner if p == seat else name for p in range(self.players)),
                    tuple(p == seat for p in range(self.players)),
                )
            )
        return out


def mixed(config: SchemeConfig, players: int) -> Mixed:
    """Factory for ``make_scheme``."""
    return Mixed(players, parse_weights(config.opponents))


def fixed(config: SchemeConfig, players: int) -> Mixed:
    """Factory for ``make_scheme``: opponents that don't change.

    Raises:
        UsageError: ``self`` or ``past`` among them.
    """
    weights = parse_weights(config.opponents)
    for name in ("self", "past"):
        if name in weights:
            raise UsageError(
                f"The fixed scheme can't hold {name!r}, which changes as the learner does; use --scheme mixed."
            )
    return Mixed(players, weights)
