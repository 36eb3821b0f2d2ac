"""Self-play: the learner sits in every seat and learns from all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.rollout import Seating
from ..runs.config import SchemeConfig

__all__ = ["SelfPlay", "self_play"]


@dataclass
class SelfPlay:
    """See ``Scheme``."""

    players: int
    learner: str = "main"
    opponents: tuple[str, ...] = ()

    def seats(self, update: int, groups: int, past: list[str], rng: np.random.Generator) -> list[Seating]:
        """The learner against itself."""
        return [Seating((self.learner,) * self.players, (True,) * self.players)] * groups


def self_play(config: SchemeConfig, players: int) -> SelfPlay:
    """Factory for ``make_scheme``."""
    return SelfPlay(players)
