"""What schemes share: how many groups each learner gets, against whom, and in which seat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..data.rollout import Seating
from ..population.pool import Pool

__all__ = ["against", "drawn", "historical", "seated_by_odds", "share_out"]


def share_out(learners: Sequence[str], groups: int, update: int) -> list[tuple[str, int]]:
    """How many of an update's groups each learner gets: equal shares, give or take one; the extra groups go round."""
    number = len(learners)
    return [(name, (groups + (k - update) % number) // number) for k, name in enumerate(learners)]


def against(learner: str, opponent: str, seat: int, players: int) -> Seating:
    """The learner in one seat, the opponent in all others; only that seat learns."""
    own = tuple(p == seat for p in range(players))
    return Seating(tuple(learner if mine else opponent for mine in own), own)


def drawn(odds: Mapping[str, float], number: int, rng: np.random.Generator) -> list[str]:
    """Names by their odds, in the order of ``odds``; each gets its share of ``number``, give or take one."""
    # Low-variance sampling: equally spaced points with one random offset.
    share = np.array(list(odds.values()))
    points = (np.arange(number) + rng.random()) / number
    found = np.searchsorted(share.cumsum() / share.sum(), points, side="right").clip(max=len(share) - 1)
    names = list(odds)
    return [names[k] for k in found.tolist()]


def seated_by_odds(
    learner: str, odds: Mapping[str, float], groups: int, players: int, rng: np.random.Generator
) -> list[Seating]:
    """A learner's groups against opponents by their odds, each opponent met from every seat in turn."""
    if not groups:
        return []
    names, turn = drawn(odds, groups, rng), int(rng.integers(players))
    return [against(learner, name, (turn + g) % players, players) for g, name in enumerate(names)]


def historical(pool: Pool, parents: Sequence[str]) -> list[str]:
    """The past selves of some players, by player, oldest first."""
    return [kept for name in parents for kept in pool.past(name)]
