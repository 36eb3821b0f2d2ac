"""Who plays whom, and who learns. A scheme is a small object; ``make_scheme`` finds it by name.

See ``Scheme`` for what it has; add one by writing a file here with a factory
``(config: SchemeConfig, players: int) -> Scheme`` and one line in ``SCHEMES``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

import numpy as np

from ...errors import UnknownName
from ..data.rollout import Seating
from ..runs.config import SchemeConfig

__all__ = ["SCHEMES", "Scheme", "make_scheme"]


class Scheme(Protocol):
    """Who sits where.

    Attributes:
        learner: the bank's player that learns.
        opponents: specs of everyone else who may sit there and must be built first: ``random``, ``minimax``, a run
            folder. A scheme with ``weights`` that hold ``past`` is given past selves.
    """

    learner: str
    opponents: tuple[str, ...]

    def seats(self, update: int, groups: int, past: list[str], rng: np.random.Generator) -> list[Seating]:
        """One seating for each group of games.

        Args:
            update: number of the update.
            groups: how many seatings.
            past: names of the past selves there are, oldest first.
            rng: the only source of randomness.
        """
        ...


SCHEMES: dict[str, str] = {
    "self_play": "self_play:self_play",
    "fixed": "mixed:fixed",
    "mixed": "mixed:mixed",
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
