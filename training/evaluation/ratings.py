"""What a table of matches says of its players: Elo, OpenSkill, Nash averaging, alpha-rank, and what is cyclic in it.

Letters: n players. ``payoff`` is [n, n] float64, antisymmetric: what the row player gets of the column player.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import schur
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from ...errors import UsageError, needs
from ..population.solvers import alpha_rank, nash
from .table import Meeting, Table

__all__ = ["Elo", "Parts", "Ratings", "Z", "cycles", "elo", "openskill", "parts", "rate"]

SCALE = 400 / math.log(10)
"""Elo points of a factor e in the odds of a win."""

PRIOR = 1.0
"""Drawn games against an average player that each player is given, so that who won all games has a finite rating."""

DRAWS = 200
"""Payoff matrices drawn within the intervals, for the intervals of Nash averaging and alpha-rank."""

Z = 1.959964
"""Standard errors of a 95 % interval."""


@dataclass(frozen=True)
class Elo:
    """Ratings on Elo's scale, with mean 0.

    Attributes:
        rating: [n] float64; 400 more is a tenth of the odds.
        error: [n] standard errors; a 95 % interval is 1.96 of them to either side.
        misfit: root mean square of what the ratings predict of a pair's points less what it made; cycles show here.
        noise: the misfit that chance alone would make.
    """

    rating: NDArray[np.float64]
    error: NDArray[np.float64]
    misfit: float
    noise: float


def elo(points: NDArray[np.float64], games: NDArray[np.float64]) -> Elo:
    """Elo ratings: the most likely ones of a Bradley-Terry model, in which a draw counts as half a win.

    Order of games and a step size K, on which ratings made game by game depend, have no part in it.

    Args:
        points: [n, n] points of the row player per game.
        games: [n, n] independent games of each pair, symmetric; 0 where they did not meet.

    Raises:
        UsageError: no games.

    Source: Bradley and Terry 1952, Biometrika 39; Hunter 2004, Annals of Statistics 32.
    """
    n = len(games)
    if not games.any():
        raise UsageError("No games were played: there is nothing to rate.")

    def loss(r: NDArray[np.float64]) -> float:
        gap = r[:, None] - r
        fit = points * log_expit(gap) + (1 - points) * log_expit(-gap)
        return float(-(games * fit).sum() / 2 - PRIOR / 2 * (log_expit(r) + log_expit(-r)).sum())

    def slope(r: NDArray[np.float64]) -> NDArray[np.float64]:
        down: NDArray[np.float64] = (games * (expit(r[:, None] - r) - points)).sum(1) + PRIOR * (expit(r) - 0.5)
        return down

    def bend(r: NDArray[np.float64]) -> NDArray[np.float64]:
        chance = expit(r[:, None] - r)
        inner = games * chance * (1 - chance)
        up: NDArray[np.float64] = np.diag(inner.sum(1) + PRIOR * expit(r) * expit(-r)) - inner
        return up

    found = minimize(loss, np.zeros(n), jac=slope, hess=bend, method="trust-exact", options={"gtol": 1e-9})
    centre = np.eye(n) - 1 / n
    spread = centre @ np.linalg.inv(bend(found.x)) @ centre
    chance = expit(found.x[:, None] - found.x)
    misfit = math.sqrt((games * (chance - points) ** 2).sum() / games.sum())
    noise = math.sqrt((chance * (1 - chance))[games > 0].sum() / games.sum())
    return Elo(SCALE * (found.x - found.x.mean()), SCALE * np.sqrt(np.diag(spread)), misfit, noise)


def openskill(players: Sequence[str], meetings: Sequence[Meeting], seed: int = 0) -> NDArray[np.float64]:
    """OpenSkill ratings (Plackett-Luce) from all games in a random order.

    Players do not change between games here, so their uncertainty only shrinks (tau is 0); every game counts as
    independent of the others.

    Returns:
        [n, 2] mu and sigma; before any game they are 25 and 8.33.

    Raises:
        MissingExtra: openskill isn't installed.

    Source: Weng and Lin 2011, Journal of Machine Learning Research 12; the library openskill.
    """
    with needs("OpenSkill ratings", "train"):
        from openskill.models import PlackettLuce

    model = PlackettLuce(tau=0.0)
    held = {name: model.rating() for name in players}
    games = [(meeting.players, result) for meeting in meetings for result in meeting.results]
    for k in np.random.default_rng(seed).permutation(len(games)):
        (one, other), result = games[k]
        ranks = {"w": [0, 1], "d": [0, 0], "l": [1, 0]}[result]
        [[held[one]], [held[other]]] = model.rate([[held[one]], [held[other]]], ranks=[float(rank) for rank in ranks])
    return np.array([[held[name].mu, held[name].sigma] for name in players])


@dataclass(frozen=True)
class Parts:
    """A payoff matrix as the sum of a transitive and a cyclic part, which are orthogonal.

    Attributes:
        strength: [n] what a player gets on average; the transitive part is the difference of two strengths.
        transitive: [n, n] the part that one number for each player explains.
        cyclic: [n, n] the rest, in which nobody gets anything on average, as in rock-paper-scissors.
        share: the cyclic part's share of the sum of squares, 0 to 1; 0 for a payoff of zeros.
        noise: the share that errors of this size are expected to put into the cyclic part, if nothing is cyclic.
        disc: [n, 2] players in the plane: who lies counter-clockwise of whom, seen from the centre, beats it in the
            cyclic part by about the cross product.
        flat: share of the cyclic part's squares that the plane shows.

    Source: Balduzzi et al. 2018, Re-evaluating Evaluation, section 2 (Hodge); 2019, Open-ended Learning in Symmetric
        Zero-sum Games, section 2 (Schur, disc game).
    """

    strength: NDArray[np.float64]
    transitive: NDArray[np.float64]
    cyclic: NDArray[np.float64]
    share: float
    noise: float
    disc: NDArray[np.float64]
    flat: float


def parts(payoff: NDArray[np.float64], error: NDArray[np.float64] | float = 0.0) -> Parts:
    """Split an antisymmetric payoff.

    Args:
        payoff: [n, n].
        error: [n, n] or a number: standard errors of its entries.

    Raises:
        UsageError: it is not antisymmetric.
    """
    if payoff.ndim != 2 or payoff.shape[0] != payoff.shape[1] or not np.allclose(payoff, -payoff.T):
        raise UsageError("A payoff splits into a transitive and a cyclic part if payoff[a, b] is -payoff[b, a].")
    n = len(payoff)
    strength = payoff.mean(1)
    transitive = strength[:, None] - strength
    cyclic = payoff - transitive
    total = float((payoff**2).sum())
    noise = float((np.broadcast_to(error, payoff.shape) ** 2 * ~np.eye(n, dtype=bool)).sum()) * (n - 2) / n
    blocks, basis = schur((cyclic - cyclic.T) / 2, output="real")
    beats = np.diag(blocks, 1) if n > 1 else np.zeros(1)
    disc, flat = np.zeros((n, 2)), 0.0
    if total > 0 and (cyclic**2).sum() > 1e-18 * total:
        k = int(np.abs(beats).argmax())
        plane = basis[:, k : k + 2] * math.sqrt(abs(beats[k]))
        # One that beats another in the cyclic part lies counter-clockwise of it.
        disc = plane[:, ::-1] if beats[k] > 0 else plane
        flat = float(2 * beats[k] ** 2 / (cyclic**2).sum())
    share = float((cyclic**2).sum()) / total if total else 0.0
    return Parts(strength, transitive, cyclic, share, min(1.0, noise / total) if total else 0.0, disc, flat)


def cycles(table: Table) -> list[tuple[str, str, str]]:
    """Each three players of whom the first surely beats the second, the second the third and the third the first.

    Surely: the 95 % intervals of all three payoffs are above 0.
    """
    beats = table.low > 0
    found = []
    for a, b, c in itertools.combinations(range(len(beats)), 3):
        for i, j, k in ((a, b, c), (a, c, b)):
            if beats[i, j] and beats[j, k] and beats[k, i]:
                found.append((table.players[i], table.players[j], table.players[k]))
    return found


@dataclass(frozen=True)
class Ratings:
    """All ratings of a table; those after ``openskill`` need that every pair has met, and are None otherwise.

    Attributes:
        elo: see ``Elo``.
        openskill: [n, 2] mu and sigma.
        nash: [n] weights of Nash averaging.
        nash_interval: [n, 2] where 95 % of the weights lie if payoffs vary within their intervals.
        against_nash: [n] payoff against that mixture; nobody gets more than 0.
        alpha_rank: [n] shares.
        alpha_rank_interval: [n, 2] as ``nash_interval``.
        parts: see ``Parts``.
    """

    elo: Elo
    openskill: NDArray[np.float64]
    nash: NDArray[np.float64] | None = None
    nash_interval: NDArray[np.float64] | None = None
    against_nash: NDArray[np.float64] | None = None
    alpha_rank: NDArray[np.float64] | None = None
    alpha_rank_interval: NDArray[np.float64] | None = None
    parts: Parts | None = None


def rate(table: Table, seed: int = 0) -> Ratings:
    """Rate the players of a table.

    Args:
        table: of matches.
        seed: of the order of games for OpenSkill, and of the payoffs that are drawn for intervals.

    Raises:
        UsageError: no games.
    """
    found = elo(table.points, table.effective)
    skill = openskill(table.players, table.meetings, seed)
    if not table.complete:
        return Ratings(found, skill)
    payoff, error = table.payoff, (table.high - table.low) / (2 * Z)
    rng, n = np.random.default_rng(seed), len(payoff)
    drawn = []
    for _ in range(DRAWS):
        upper = np.triu(payoff + error * rng.normal(size=(n, n)), 1)
        drawn.append(upper - upper.T)
    mixture = nash(payoff)[0]
    return Ratings(
        found,
        skill,
        mixture,
        np.quantile([nash(p)[0] for p in drawn], [0.025, 0.975], axis=0).T,
        payoff @ mixture,
        alpha_rank(payoff),
        np.quantile([alpha_rank(p) for p in drawn], [0.025, 0.975], axis=0).T,
        parts(payoff, error),
    )
