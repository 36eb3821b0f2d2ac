"""Solutions of payoff matrices: who should be played, and how often.

``payoff`` is [m, n] float64: what row player i gets against column player j, who gets the negative, or a constant minus
it (win rates: 1 minus it). Where rows and columns are the same players in the same order (``payoff + payoff.T`` is
constant), the game is symmetric: its value is half the constant, and both sides have the same solutions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import null_space
from scipy.optimize import LinearConstraint, linprog, minimize
from scipy.special import logsumexp, xlogy

from ...errors import UsageError

__all__ = ["META_SOLVERS", "Meta", "MetaSolver", "alpha_rank", "nash", "rectified", "uniform"]

Array: TypeAlias = NDArray[np.float64]
TINY = 1e-9
"""Differences below this share of the largest payoff count as none."""
LARGEST = 1e6
"""Players whose share would be smaller than one part in this many have none."""
LEAST_RATE = 1e-60
"""Fixation probabilities below this count as this, so that every player can be reached from every other."""


class Meta(NamedTuple):
    """What a meta-solver says of a payoff matrix [m, n].

    Attributes:
        weights: [m] float64 the share of each row player in the mixture; sums to 1.
        opponents: [m, n] float64 row i: how often the successor of row player i should meet each column player; rows
            sum to 1.
    """

    weights: Array
    opponents: Array


MetaSolver: TypeAlias = Callable[[ArrayLike], Meta]


def nash(payoff: ArrayLike) -> tuple[Array, Array, float]:
    """Nash equilibrium of a zero-sum game: of all equilibria the one of maximum entropy, which is unique.

    For a symmetric game this is Nash averaging: copies of a player change nothing but how they share their weight, and
    players that are as good as each other are as likely as each other.

    Args:
        payoff: [m, n], all finite.

    Returns:
        Row player's mixture [m], column player's mixture [n], value.

    Raises:
        UsageError: not a matrix of finite numbers with at least one row and column.

    Source: Balduzzi et al. 2018, Re-evaluating Evaluation, section 3.
    """
    table = _table(payoff)
    constant = _constant(table)
    if constant is not None:
        row = _most_mixed(table - constant / 2)
        return row, row.copy(), constant / 2
    m, scale = len(table), float(np.abs(table).max()) or 1.0
    table = table / scale
    # Variables: the mixture [m] and the value, which every column must leave the row player.
    found = linprog(
        np.append(np.zeros(m), -1.0),
        A_ub=np.column_stack([-table.T, np.ones(table.shape[1])]),
        b_ub=np.zeros(table.shape[1]),
        A_eq=np.append(np.ones(m), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * m + [(None, None)],
    )
    value = float(found.x[-1])
    return _most_mixed(table - value), _most_mixed((value - table).T), value * scale


def _most_mixed(table: Array) -> Array:
    """Of all mixtures of rows that get at least 0 [m, n] from every column, the one of maximum entropy."""
    m, n = table.shape
    scale = float(np.abs(table).max())
    if scale == 0:
        return np.full(m, 1 / m)
    table = table / scale + TINY
    # A mixture with as many rows, and as many columns that lose, as any has: x is it times a free factor, and a part of
    # x or of what a column loses counts up to 1.
    found = linprog(
        -np.append(np.zeros(m), np.ones(m + n)),
        A_ub=np.hstack([-np.vstack([np.eye(m), table.T]), np.eye(m + n)]),
        b_ub=np.zeros(m + n),
        bounds=[(0, LARGEST)] * m + [(0, 1)] * (m + n),
    )
    used, losing = np.split(found.x[m:] > 0.5, [m])
    start = np.where(used, found.x[:m], 0.0)[used]
    start /= start.sum()
    table = table[used]
    # Around it: mixtures that still sum to 1 and give nothing to columns that no such mixture beats.
    free = null_space(np.vstack([np.ones(len(start)), table[:, ~losing].T]), rcond=1e-7)
    if free.shape[1]:
        limits = np.vstack([np.eye(len(start)), table[:, losing].T])
        best = minimize(
            lambda z: float(xlogy(p := np.maximum(start + free @ z, 1e-300), p).sum()),
            np.zeros(free.shape[1]),
            jac=lambda z: (1 + np.log(np.maximum(start + free @ z, 1e-300))) @ free,
            constraints=[LinearConstraint(limits @ free, -limits @ start, np.inf)],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        start = np.maximum(start + free @ best.x, 0.0)
    mixture = np.zeros(m)
    mixture[used] = start / start.sum()
    return mixture


def alpha_rank(
    payoff: ArrayLike, *others: ArrayLike, alpha: float = math.inf, population: int = 50, noise: float = 0.01
) -> Array:
    """Alpha-rank: how long evolving populations spend with each player, or with each profile of players.

    A population of one player is invaded by a mutant, which spreads or dies out by its payoff. Cycles are kept: rock,
    paper and scissors get a third each, and so do three players that beat a fourth and each other in a circle.

    Args:
        payoff: [n, n] of a symmetric game: one population, in which mutants and residents meet each other ("local
            selection"). Need not be zero-sum.
        others: more arrays of the same shape [n0, n1, ...]: one population for each, whose payoffs they are, for games
            whose sides differ; ``alpha_rank(payoff, -payoff)`` for a zero-sum one.
        alpha: strength of selection, above 0, in units of 1 / payoff. Infinite: the better one spreads whatever the
            difference.
        population: individuals of a population, 2 or more; without effect if ``alpha`` is infinite.
        noise: for infinite ``alpha``, how often the worse one spreads, above 0 and below 0.5.

    Returns:
        [n] for one population, [n0, n1, ...] for several; sums to 1.

    Raises:
        UsageError: shapes or numbers do not fit.

    Source: Omidshafiei et al. 2019, Alpha-Rank: Multi-Agent Evaluation by Evolution, equations 2 to 10.
    """
    tables = [_table(payoff, len(others) + 1 if others else 2), *(_table(o, len(others) + 1) for o in others)]
    shape = tables[0].shape
    if any(table.shape != shape for table in tables) or (not others and shape[0] != shape[1]):
        raise UsageError(
            f"Payoffs of shapes {[t.shape for t in tables]}: alpha-rank takes one square matrix, or an array for each "
            "population, all of one shape."
        )
    if alpha <= 0 or population < 2 or not 0 < noise < 0.5:
        raise UsageError(
            f"alpha is {alpha}, population {population} and noise {noise}; alpha must be above 0, population at least "
            "2, and noise above 0 and below 0.5."
        )

    def rate(gain: Array) -> Array:
        """How likely a mutant with this advantage takes the population over."""
        if math.isinf(alpha):
            even = np.abs(gain) <= TINY * np.abs(gain).max()
            return np.where(even, 0.5, np.where(gain > 0, 1 - noise, noise))
        steps = np.arange(population).reshape(-1, *[1] * gain.ndim)
        rates: Array = np.exp(-logsumexp(-alpha * steps * gain, axis=0))
        return np.maximum(rates, LEAST_RATE)

    if not others:
        return _stationary(rate(tables[0].T - tables[0]))  # [resident, mutant]
    profiles = math.prod(shape)
    change = np.zeros((profiles, profiles))
    number = np.arange(profiles).reshape(shape)
    for axis, table in enumerate(tables):
        was, now = (np.moveaxis(a, axis, -1).reshape(-1, shape[axis]) for a in (number, table))
        gain = now[:, None, :] - now[:, :, None]  # [rest of the profile, before, after]
        change[was[:, :, None], was[:, None, :]] = rate(gain)
    return _stationary(change).reshape(shape)


def _stationary(change: Array) -> Array:
    """[s] where a chain with these rates of change [s, s] spends its time; the diagonal is not read.

    Source: Grassmann, Taksar and Heyman 1985, Operations Research 33: exact for tiny rates, since nothing is
    subtracted.
    """
    rates, count = change.copy(), len(change)
    for last in range(count - 1, 0, -1):
        rates[:last, last] /= rates[last, :last].sum()
        rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last])
    time = np.ones(count)
    for state in range(1, count):
        time[state] = time[:state] @ rates[:state, state]
        time[: state + 1] /= time[: state + 1].sum()
    return time


def _of_nash(payoff: ArrayLike) -> Meta:
    """PSRO as published: everybody trains against the opponents' Nash equilibrium."""
    row, column, _ = nash(payoff)
    return Meta(row, np.tile(column, (len(row), 1)))


def _of_alpha_rank(payoff: ArrayLike) -> Meta:
    """Mixtures by alpha-rank: one population if the game is symmetric, the shares in two populations otherwise."""
    table = _table(payoff)
    if _constant(table) is None:
        joint = alpha_rank(table, -table)
        row, column = joint.sum(1), joint.sum(0)
    else:
        row = column = alpha_rank(table)
    return Meta(row, np.tile(column, (len(row), 1)))


def rectified(payoff: ArrayLike) -> Meta:
    """Nash weights, and for each player the opponents of the equilibrium that it does not lose to.

    Training against those it beats already drives players apart rather than to one compromise. A player that loses to
    all of them meets the whole mixture. Only players with weight are worth training.

    Raises:
        UsageError: not a matrix of finite numbers with at least one row and column.

    Source: Balduzzi et al. 2019, Open-ended Learning in Symmetric Zero-sum Games, algorithm 4 (PSRO rectified Nash).
    """
    table = _table(payoff)
    row, column, value = nash(table)
    opponents = np.where(table >= value - TINY * np.abs(table).max(), column, 0.0)
    opponents[opponents.sum(1) == 0] = column
    return Meta(row, opponents / opponents.sum(1, keepdims=True))


def uniform(payoff: ArrayLike) -> Meta:
    """Everybody as often as everybody else: fictitious play over a population.

    Raises:
        UsageError: not a matrix of finite numbers with at least one row and column.
    """
    m, n = _table(payoff).shape
    return Meta(np.full(m, 1 / m), np.full((m, n), 1 / n))


META_SOLVERS: dict[str, MetaSolver] = {
    "nash": _of_nash,
    "alpha-rank": _of_alpha_rank,
    "rectified": rectified,
    "uniform": uniform,
}
"""By the names that options take."""


def _table(payoff: ArrayLike, axes: int = 2) -> Array:
    table = np.asarray(payoff, np.float64)
    if table.ndim != axes or not table.size or not np.isfinite(table).all():
        raise UsageError(
            f"A payoff of shape {table.shape}{'' if np.isfinite(table).all() else ' with numbers that are not finite'}"
            f": give an array of {axes} axes of finite numbers, with at least one player on each."
        )
    return table


def _constant(table: Array) -> float | None:
    """What two players get together if the game is symmetric, else None."""
    if table.shape[0] != table.shape[1]:
        return None
    total = table + table.T
    alike = np.ptp(total) <= TINY * np.abs(table).max()
    return float(total.mean()) if alike else None
