"""Exact results for small games, without sampling: exploitability, optimal moves and results of a match.

Letters: S positions of a solved game, A actions, P seats, K information sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...agents.core import HasPolicy
from ...agents.search import information_sets
from ...agents.search.information_sets import Exploitability, nash_conv
from ...agents.search.information_tree import LIMIT, information_tree
from ...agents.search.phantom_tree import is_phantom, phantom_tree
from ...agents.search.solver import END, Decide, Graph, Solution, explore, policy_table, solve
from ...envs.core import Game
from ...errors import UsageError

__all__ = [
    "Exploitability",
    "HasPolicy",
    "Optimality",
    "exact_match",
    "exploitability",
    "exploitability_of_mixture",
    "optimal_share",
    "policy_table",
    "tabulate",
]


def exploitability(game: Game, policy: HasPolicy | NDArray[np.float64], limit: int = LIMIT) -> Exploitability:
    """Exact best response over the whole game, from either seat.

    Args:
        game: small, two-player, zero-sum; turn-based and without chance, or with hidden information, or simultaneous.
        policy: an agent, or its table: [S, A] over ``explore(game)``; with hidden information, or where all act at
            once, [K, A] over
            ``agents.search.information_sets.information_tree(game)``, or as ``tabulate`` makes it.
        limit: with hidden information, the most decision nodes, see ``nash_conv``.

    Raises:
        UsageError: the game cannot be solved, or the probabilities are invalid.

    Source: Lanctot et al. 2017, A unified game-theoretic approach to multiagent RL (NashConv).
    """
    if game.info.hidden or game.info.simultaneous:
        return nash_conv(game, policy, limit)
    solution = solve(game)
    graph = solution.graph
    table = policy if isinstance(policy, np.ndarray) else policy_table(graph, policy)
    return _worse_than_perfect(solution, [_best_response(graph, table, seat) for seat in range(game.info.players)])


def tabulate(game: Game, agent: HasPolicy, limit: int = LIMIT) -> NDArray[np.float64]:
    """An agent's table as ``exploitability`` takes it; in phantom tic-tac-toe and dark hex that of ``PhantomTree``.

    Raises:
        UsageError: as ``exploitability``.
    """
    if is_phantom(game):
        return phantom_tree(game, limit).policy(agent)
    if game.info.hidden or game.info.simultaneous:
        return information_sets.policy_table(information_tree(game, limit), agent)
    return policy_table(explore(game), agent)


def exploitability_of_mixture(
    game: Game, tables: Sequence[NDArray[np.float64]], shares: Sequence[float], limit: int = LIMIT
) -> Exploitability:
    """``exploitability`` of a player that draws one of several tables before each game, by its share, unseen.

    Raises:
        UsageError: as ``exploitability``.
    """
    if is_phantom(game) and tables[0].ndim == 1:
        return nash_conv(game, phantom_tree(game, limit).mixture(tables, shares), limit)
    if game.info.hidden or game.info.simultaneous:
        return nash_conv(game, information_sets.mixture(information_tree(game, limit), tables, shares), limit)
    solution = solve(game)
    drawn = np.array(shares), np.array(tables)
    return _worse_than_perfect(solution, [_against_mixture(solution.graph, *drawn, seat) for seat in (0, 1)])


def _worse_than_perfect(solution: Solution, responses: Sequence[float]) -> Exploitability:
    gains = [response - float(value) for response, value in zip(responses, solution.game_values, strict=True)]
    return Exploitability(sum(gains) / len(gains), sum(gains), tuple(responses))


def _against_mixture(graph: Graph, shares: NDArray[np.float64], tables: NDArray[np.float64], seat: int) -> float:
    """The return of a best response: over histories, since what was played before tells which tables were drawn.

    ``shares`` [M] and ``tables`` [M, S, A]; the work grows with the number of histories that some table allows.
    """
    at, weights = np.zeros(1, np.int64), shares[None] / shares.sum()  # [n] positions, [n, M] joint chance of each table
    steps = []
    while at.size:
        own = graph.movers[at] == seat
        chances = np.where(own[:, None, None], graph.legal[at][:, None], tables[:, at].swapaxes(0, 1))  # [n, M, A]
        ahead = (weights[:, :, None] * chances).swapaxes(1, 2)  # [n, A, M]
        child, gain = graph.children[at], graph.rewards[at, :, seat] * ahead.sum(2)
        onward = (child >= 0) & ahead.any(2)
        steps.append((own, graph.legal[at], gain, onward))
        at, weights = child[onward], ahead[onward]
    value = np.zeros(0)
    for own, legal, gain, onward in reversed(steps):
        gain[onward] += value
        value = np.where(own, np.where(legal, gain, -np.inf).max(1), np.where(legal, gain, 0.0).sum(1))
    return float(value[0])


def _follow(table: NDArray[np.float64]) -> Decide:
    """Values of positions if both seats play ``table``."""

    def decide(layer: NDArray[np.int64], ahead: NDArray[np.float64]) -> NDArray[np.float64]:
        value: NDArray[np.float64] = np.einsum("na,nak->nk", table[layer], ahead)
        return value

    return decide


def _best_response(graph: Graph, table: NDArray[np.float64], seat: int) -> float:
    """The return of ``seat`` when it plays a best response to the table."""
    expected = _follow(table)

    def decide(layer: NDArray[np.int64], ahead: NDArray[np.float64]) -> NDArray[np.float64]:
        value = expected(layer, ahead)
        own = graph.movers[layer] == seat
        value[own, 0] = np.where(graph.legal[layer[own]], ahead[own, :, 0], -np.inf).max(1)
        return value

    return float(graph.back_up(graph.rewards[:, :, seat : seat + 1], decide)[0, 0])


@dataclass(frozen=True)
class Optimality:
    """How often a policy plays optimally. An optimal move keeps the position's value; there may be several.

    Attributes:
        share: share of the reachable positions, each counted once, in which the likeliest move is optimal (if several
            moves are equally likely, the share of them that is optimal counts).
        on_path: the same over the positions that arise when the policy plays its likeliest moves and the opponent any
            moves: at 1 no opponent can hold it below the game's value.
        mass: mean probability of an optimal move over all reachable positions.
        positions: number of reachable positions.
    """

    share: float
    on_path: float
    mass: float
    positions: int


def optimal_share(game: Game, policy: HasPolicy | NDArray[np.float64]) -> Optimality:
    """How often an agent, or its table [S, A] over ``explore(game)``, plays an optimal move.

    Raises:
        UsageError: as ``solve`` and ``policy_table``.
    """
    solution = solve(game)
    graph = solution.graph
    table = policy if isinstance(policy, np.ndarray) else policy_table(graph, policy)
    likeliest = graph.legal & (table >= table.max(1, keepdims=True) - 1e-9)
    right = (likeliest & solution.optimal).sum(1) / likeliest.sum(1)
    met = _met(graph, likeliest)
    mass = (table * solution.optimal).sum(1)
    return Optimality(float(right.mean()), float(right[met].mean()), float(mass.mean()), len(graph))


def _met(graph: Graph, moves: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[S] positions in which a player who plays ``moves`` can be to move, in either seat, for any opponent."""
    asked = np.zeros(len(graph), np.bool_)
    for seat in range(graph.game.info.players):
        seen = np.zeros(len(graph), np.bool_)
        seen[0] = True
        for layer in reversed(graph.layers):  # parents before their children
            here = layer[seen[layer]]
            own = graph.movers[here] == seat
            played = np.where(own[:, None], moves[here], graph.legal[here])
            children = graph.children[here][played]
            seen[children[children >= 0]] = True
        asked |= seen & (graph.movers == seat)
    return asked


def exact_match(
    graph: Graph, measured: NDArray[np.float64], opponent: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Expected shares won, drawn and lost, averaged over both seats: what ``play_match`` estimates.

    ``measured`` and ``opponent`` are the players' tables [S, A] over ``explore(game)``.

    Raises:
        UsageError: the game pays before its end.
    """
    ends = graph.children == END
    if graph.rewards[graph.children >= 0].any():
        raise UsageError(f"{graph.game.info.id} pays before its end: its last move does not decide who won.")
    shares = np.zeros(3)
    for seat in (0, 1):
        sign = np.sign(graph.rewards[:, :, seat])
        leaf = np.stack([ends & (sign > 0), ends & (sign == 0), ends & (sign < 0)], axis=2).astype(np.float64)
        table = np.where((graph.movers == seat)[:, None], measured, opponent)
        shares += graph.back_up(leaf, _follow(table))[0] / 2
    won, drawn, lost = shares.tolist()
    return won, drawn, lost
