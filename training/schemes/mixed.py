"""Each learner against a weighted mixture of opponents: itself, its past selves, baselines, saved players.

``fixed`` is the same without itself and past selves, so the opponents do not change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...errors import UsageError
from ..data.records import Episode
from ..data.rollout import Seating
from ..population.pool import Pool
from ..runs.config import SchemeConfig
from .seating import against, drawn, share_out

__all__ = ["Mixed", "fixed", "mixed", "parse_weights"]


def parse_weights(text: str) -> dict[str, float]:
    """``"random=1,minimax=0.5"`` as a dict; a name alone weighs 1.

    Raises:
        UsageError: no names, a weight that isn't a positive number, a name twice.
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
            raise UsageError(f"opponents: {name!r} is named twice.")
        weights[name] = value
    if not weights:
        raise UsageError("opponents is empty; name at least one, such as random=1,minimax=1.")
    return weights


@dataclass
class Mixed:
    """See ``Scheme``. A learner takes each seat in turn; all other seats of a game hold the same opponent.

    ``self`` puts the learner into every seat, and all of them learn; ``past`` samples one of its past selves (before
    there are any, it means ``self``).
    """

    players: int
    weights: dict[str, float]
    learners: tuple[str, ...] = ("main",)
    snapshot_every: int = 1
    opponents: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Set ``opponents``: the players to build before the first game."""
        self.opponents = tuple(name for name in self.weights if name not in ("self", "past"))

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """For each learner separately: opponents by weight, in shares as exact as the number of groups allows."""
        return [
            seating
            for learner, share in share_out(self.learners, groups, update)
            if share
            for seating in self._seats(learner, share, pool.past(learner), rng)
        ]

    def _seats(self, learner: str, groups: int, past: Sequence[str], rng: np.random.Generator) -> Iterator[Seating]:
        names, turn = drawn(self.weights, groups, rng), int(rng.integers(self.players))
        for g, name in enumerate(names):
            if name == "past":
                name = past[int(rng.integers(len(past)))] if past else "self"
            if name == "self":
                yield Seating((learner,) * self.players, (True,) * self.players)
            else:
                yield against(learner, name, (turn + g) % self.players, self.players)

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Keep a past self of each learner every ``snapshot_every`` updates, if ``past`` is an opponent."""
        if "past" in self.weights and done % self.snapshot_every == 0:
            for learner in self.learners:
                pool.snapshot(learner, done)


def mixed(config: SchemeConfig, players: int) -> Mixed:
    """Factory for ``make_scheme``."""
    return Mixed(players, parse_weights(config.opponents), config.names, config.snapshot_every)


def fixed(config: SchemeConfig, players: int) -> Mixed:
    """Factory for ``make_scheme``: opponents that don't change.

    Raises:
        UsageError: ``self`` or ``past`` among them.
    """
    built = mixed(config, players)
    for name in ("self", "past"):
        if name in built.weights:
            raise UsageError(
                f"The fixed scheme can't use {name!r}, which changes as the learner does; use --scheme mixed."
            )
    return built
