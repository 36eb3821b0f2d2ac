"""Schemes decide who plays whom, and who learns. ``make_scheme`` builds one by name.

To add a scheme, write a file here with a factory ``(config: SchemeConfig, players: int) -> Scheme`` and add one line to
``SCHEMES``; see ``Scheme`` for the interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from ...errors import UnknownName, UsageError
from ..data.records import Episode
from ..data.rollout import Seating
from ..population.pool import Pool
from ..runs.config import SchemeConfig

__all__ = ["SCHEMES", "Factory", "Mixing", "Scheme", "Stateful", "make_scheme"]


class Scheme(Protocol):
    """Assigns players to seats.

    ``learners`` are the players of the bank that learn; ``opponents`` are specs of all other players it may seat, which
    must be built first: ``random``, ``minimax``, a run folder.
    """

    learners: tuple[str, ...]
    opponents: tuple[str, ...]

    def seats(self, update: int, groups: int, pool: Pool, rng: np.random.Generator) -> list[Seating]:
        """One seating for each group of games, which also marks who learns; all randomness comes from ``rng``."""
        ...

    def update(self, done: int, results: Sequence[Episode], pool: Pool) -> None:
        """Use the results of an update's games to change the pool: keep past selves, add or remove players.

        ``done`` is the number of finished updates, this one included.
        """
        ...


@runtime_checkable
class Stateful(Protocol):
    """A scheme that remembers something between updates; checkpoints store it."""

    def state_dict(self) -> dict[str, Any]:
        """Plain data, for JSON, of all that later seats depend on beside the pool."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned; empty: begin anew, as where a checkpoint has no such data."""
        ...


@runtime_checkable
class Mixing(Protocol):
    """A scheme whose result is a mixture of players rather than each learner."""

    def mixture(self, pool: Pool) -> dict[str, float]:
        """The share of each player, summing to 1."""
        ...


Factory: TypeAlias = Callable[[SchemeConfig, int], Scheme]
"""(configuration, number of seats) -> a scheme."""

SCHEMES: dict[str, str | Factory] = {
    "self_play": "self_play:self_play",
    "fixed": "mixed:fixed",
    "mixed": "mixed:mixed",
    "fictitious": "fictitious:fictitious",
    "pfsp": "pfsp:pfsp",
    "league": "league:league",
    "psro": "psro:psro",
    "oracle": "oracle:oracle",
    "pairs": "pairs:pairs",
    "round_robin": "round_robin:round_robin",
    "swiss": "swiss:swiss",
}


def make_scheme(config: SchemeConfig, players: int, groups: int = 0) -> Scheme:
    """Build the scheme that a configuration names, for games of so many players.

    ``groups`` of games an update, if given, are compared with the scheme's ``least_groups``, if it has such a number.

    Raises:
        UnknownName: no such scheme.
        UsageError: the scheme can't be used like this, or needs more groups.
    """
    name = config.scheme.replace("-", "_")
    if name not in SCHEMES:
        raise UnknownName("scheme", config.scheme, SCHEMES)
    found = SCHEMES[name]
    if isinstance(found, str):
        module, factory = found.split(":")
        found = getattr(import_module(f".{module}", __name__), factory)
    assert callable(found)
    scheme = found(config, players)
    least = getattr(scheme, "least_groups", 1)
    if groups and groups < least:
        raise UsageError(
            f"The {name} scheme needs at least {least} groups of games an update and has {groups}: raise --games to at "
            f"least {least} times --num-generations."
        )
    return scheme
