"""Who plays whom, and who learns. A scheme is a small object; ``make_scheme`` finds it by name.

See ``Scheme`` for what it has; add one by writing a file here with a factory
``(config: SchemeConfig, players: int) -> Scheme`` and one line in ``SCHEMES``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

import numpy as np

from ...errors import UnknownName
from ..data.records import Episode
from ..data.rollout import Seating
from ..population.pool import Pool
from ..runs.config import SchemeConfig

__all__ = ["SCHEMES", "Scheme", "make_scheme"]


class Scheme(Protocol):
    """Who sits where.

    ``learners`` are players of the bank that learn; ``opponents`` specs of everyone else who may sit there and must be
    built first: ``random``, ``minimax``, a run folder.
    """

    learners: tuple[str, ...]
    opponents: tuple[str, ...]

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """One seating for each group of games. Only those learn whom it says; ``rng`` is all its randomness."""
        ...

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Take note of an update's games, and change the pool: keep past selves, let players come and go.

        ``done`` updates are done, this one included.
        """
        ...


SCHEMES: dict[str, str] = {
    "self_play": "self_play:self_play",
    "fixed": "mixed:fixed",
    "mixed": "mixed:mixed",
    "fictitious": "fictitious:fictitious",
}


def make_scheme(config: SchemeConfig, players: int) -> Scheme:
    """Build the scheme that a configuration names.

    Raises:
        UnknownName: no such scheme.
    """
    name = config.scheme.replace("-", "_")
    if name not in SCHEMES:
        raise UnknownName("scheme", config.scheme, SCHEMES)
    module, factory = SCHEMES[name].split(":")
    built: Scheme = getattr(import_module(f".{module}", __name__), factory)(config, players)
    return built
