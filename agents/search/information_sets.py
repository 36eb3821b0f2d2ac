"""Exact measures of policies in games with hidden information: values, best responses, exploitability.

All are computed on the information sets of ``information_tree``: a policy is a table [K, A], and a best response sees
no more than its seat may see.

Letters: D decision nodes, K information sets, A actions, P players.

Source: Lanctot et al., "A unified game-theoretic approach to multiagent reinforcement learning", 2017 (NashConv).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...aliases import Player
from ...envs.core import Game
from ...errors import UsageError
from ..core import HasPolicy, Turn
from .information_tree import LIMIT, InformationTree, game_key, information_tree
from .phantom_tree import is_phantom, phantom_tree
from .rows import asked

__all__ = [
    "Exploitability",
    "InformationTree",
    "NashConv",
    "best_response",
    "expected_returns",
    "game_key",
    "information_tree",
    "mixture",
    "nash_conv",
    "policy_table",
]

SAME = 1e-3
"""How far a policy's probabilities may differ between nodes of one information set: rounding in large batches."""


def policy_table(tree: InformationTree, agent: HasPolicy, *, batch: int = 4096) -> NDArray[np.float64]:
    """[K, A] the agent's action probabilities in every information set.

    The agent is asked at every node: if its answers differ within an information set, it uses hidden information.

    Raises:
        UsageError: probabilities that don't sum to 1 over the legal actions, or that depend on hidden information.
    """
    game = tree.game
    masks = tree.legal[tree.sets].astype(np.int8)
    movers = tree.movers.tolist()
    order = np.argsort(tree.sets, kind="stable")  # models answer equal questions of one batch once
    turns = [Turn(game, tree.states, d, movers[d], masks[d], game.key(tree.states, d)) for d in order.tolist()]
    sets = tree.sets[order]
    given = asked(agent, turns, masks[order] == 1, lambda k: f"{tree.name(int(sets[k]))!r} of {game.info.id}", batch)
    table: NDArray[np.float64] = given[np.unique(sets, return_index=True)[1]]
    peeking = np.flatnonzero(np.abs(given - table[sets]).max(1) > SAME)
    if peeking.size:
        raise UsageError(
            f"The policy uses hidden information: at {tree.name(int(sets[peeking[0]]))!r} of {game.info.id} its "
            f"answers differ where the player can see no difference ({peeking.size} such nodes)."
        )
    return table


def mixture(
    tree: InformationTree, tables: Sequence[NDArray[np.float64]], shares: Sequence[float]
) -> NDArray[np.float64]:
    """[K, A] one table that plays as if each seat drew one of the ``tables`` before the game, by its share.

    In an information set a table counts as much as its own earlier decisions lead there; where none ever arrives, by
    its share.

    Source: Kuhn 1953, Extensive games and the problem of information (theorem 4).
    """
    own = np.array([tree.reach(table)[tree.first, tree.owners] for table in tables])  # [M, K]
    weights = np.array(shares)[:, None] * np.where(own.any(0), own, 1.0)
    return np.asarray(np.einsum("mk,mka->ka", weights / weights.sum(0), np.array(tables)))


def expected_returns(tree: InformationTree, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """[P] each player's expected return if all play by the table [K, A]."""
    value = np.zeros((len(tree.movers), tree.game.info.players))
    for level in reversed(tree.levels):
        value[level] = np.einsum("na,nap->np", table[tree.sets[level]], tree.ahead(value, level))
    starts = tree.parents < 0
    return np.asarray(tree.chances[starts] @ value[starts])


def best_response(tree: InformationTree, table: NDArray[np.float64], player: Player) -> tuple[float, NDArray[np.int64]]:
    """A best response of one player to a table that all others play.

    Returns:
        Its expected return, and [K] int64 its action in each of its own information sets (-1 in the others).
    """
    reach = tree.reach(table)
    reach[:, player] = 1.0
    weight = tree.chances * reach.prod(1)
    value = np.zeros((len(tree.movers), tree.game.info.players))
    choice = np.full(len(tree), -1, np.int64)
    for level in reversed(tree.levels):
        ahead = tree.ahead(value, level)
        sets, own = tree.sets[level], tree.movers[level] == player
        value[level] = np.einsum("na,nap->np", table[sets], ahead)
        gains = np.zeros(tree.legal.shape)
        np.add.at(gains, sets[own], weight[level[own], None] * ahead[own, :, player])
        mine = np.unique(sets[own])
        choice[mine] = np.where(tree.legal[mine], gains[mine], -np.inf).argmax(1)
        value[level[own]] = ahead[own, choice[sets[own]]]
    starts = tree.parents < 0
    return float(tree.chances[starts] @ value[starts, player]), choice


@dataclass(frozen=True)
class Exploitability:
    """How much players who know a policy can gain against it.

    Attributes:
        value: mean over the seats of the best response's return minus a baseline: the game's value, or the policy's
            own return where information is hidden. 0 is perfect play. In two-player zero-sum games this is called
            exploitability.
        nash_conv: the sum instead of the mean.
        best_responses: [P] the best response's expected return from each seat.
    """

    value: float
    nash_conv: float
    best_responses: tuple[float, ...]


@dataclass(frozen=True)
class NashConv(Exploitability):
    """``Exploitability`` of a game with hidden information, with the numbers behind it.

    Attributes:
        returns: [P] the policy's own expected returns when it plays all seats.
        information_sets: K; in phantom tic-tac-toe and dark hex, those that the best responses can meet.
    """

    returns: tuple[float, ...]
    information_sets: int


def nash_conv(game: Game, policy: HasPolicy | NDArray[np.float64], limit: int = LIMIT) -> NashConv:
    """NashConv of a policy, or of its table [K, A] over ``information_tree(game)``, by exact best responses.

    In phantom tic-tac-toe and dark hex an agent is asked once in each information set of ``phantom_tree`` to which its
    own play can lead: few, if it takes its likeliest moves.

    Args:
        game: the game.
        policy: an agent, or its table; in phantom tic-tac-toe and dark hex also one by ``PhantomTree.policy``.
        limit: the most decision nodes; in phantom tic-tac-toe and dark hex, the most information sets of a player.

    Raises:
        UsageError: as ``information_tree`` and ``policy_table``, or ``phantom_tree``.
    """
    if is_phantom(game) and not (isinstance(policy, np.ndarray) and policy.ndim == 2):
        tries = phantom_tree(game, limit)
        chances = policy if isinstance(policy, np.ndarray) else tries.policy(policy)
        (first, own, met), (second, others, more) = (tries.best_response(chances, player) for player in (0, 1))
        return NashConv((first + second) / 2, first + second, (first, second), (own, others), met + more)
    tree = information_tree(game, limit)
    table = policy if isinstance(policy, np.ndarray) else policy_table(tree, policy)
    returns = expected_returns(tree, table)
    best = [best_response(tree, table, player)[0] for player in range(game.info.players)]
    total = float(np.sum(best) - returns.sum())
    return NashConv(total / len(best), total, tuple(best), tuple(returns.tolist()), len(tree))
