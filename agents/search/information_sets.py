"""How good a policy is where information is hidden, exactly: values, best responses, exploitability.

Everything goes over the information sets of ``information_tree``: a policy is a table [K, A], and a best response sees
no more than its seat may see.

Letters: D decision nodes, K information sets, A actions, P players.

Source: Lanctot et al., "A unified game-theoretic approach to multiagent reinforcement learning", 2017 (NashConv).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...aliases import Player
from ...envs.core import Game
from ...errors import UsageError
from ..core import HasPolicy, Turn
from .information_tree import InformationTree, game_key, information_tree
from .rows import asked

__all__ = [
    "Exploitability",
    "InformationTree",
    "NashConv",
    "best_response",
    "expected_returns",
    "game_key",
    "information_tree",
    "nash_conv",
    "policy_table",
]

SAME = 1e-3
"""By how much a policy's probabilities at nodes of one information set may differ: rounding in large batches."""


def policy_table(tree: InformationTree, agent: HasPolicy, *, batch: int = 4096) -> NDArray[np.float64]:
    """[K, A] how likely the agent plays what in every information set.

    It is asked at every node: who answers differently where nothing it may see differs, looks at hidden cards.

    Raises:
        UsageError: probabilities that don't sum to 1 over the legal actions, or that depend on what is hidden.
    """
    game, nodes = tree.game, len(tree.movers)
    masks = tree.legal[tree.sets].astype(np.int8)
    movers = tree.movers.tolist()
    turns = [Turn(game, tree.states, d, movers[d], masks[d], game.key(tree.states, d)) for d in range(nodes)]
    given = asked(agent, turns, masks == 1, lambda d: f"{tree.name(int(tree.sets[d]))!r} of {game.info.id}", batch)
    table: NDArray[np.float64] = given[tree.first]
    peeking = np.flatnonzero(np.abs(given - table[tree.sets]).max(1) > SAME)
    if peeking.size:
        raise UsageError(
            f"The policy looks at what is hidden: at {tree.name(int(tree.sets[peeking[0]]))!r} of {game.info.id} it "
            f"answers differently where that player can see no difference ({peeking.size} such nodes)."
        )
    return table


def expected_returns(tree: InformationTree, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """[P] what each player gets on average where all play as the table [K, A] says."""
    value = np.zeros((len(tree.movers), tree.game.info.players))
    for level in reversed(tree.levels):
        value[level] = np.einsum("na,nap->np", table[tree.sets[level]], tree.ahead(value, level))
    starts = tree.levels[0]
    return np.asarray(tree.chances[starts] @ value[starts])


def best_response(tree: InformationTree, table: NDArray[np.float64], player: Player) -> tuple[float, NDArray[np.int64]]:
    """The best that one player can do against a table that all others play.

    Returns:
        its expected return, and [K] int64 its action in each of its own information sets (-1 in those of others).
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
    starts = tree.levels[0]
    return float(tree.chances[starts] @ value[starts, player]), choice


@dataclass(frozen=True)
class Exploitability:
    """What a policy leaves to players who know it.

    Attributes:
        value: mean over the seats of (best response's return - what the seat gets without it: the game's value, or the
            policy's own return where information is hidden); 0 is perfect play. In two-player zero-sum games this is
            called exploitability.
        nash_conv: the sum instead of the mean.
        best_responses: [P] the best response's expected return from each seat.
    """

    value: float
    nash_conv: float
    best_responses: tuple[float, ...]


@dataclass(frozen=True)
class NashConv(Exploitability):
    """The same, and where it comes from.

    Attributes:
        returns: [P] the policy's own, where it takes all seats.
        information_sets: K.
    """

    returns: tuple[float, ...]
    information_sets: int


def nash_conv(game: Game, policy: HasPolicy | NDArray[np.float64]) -> NashConv:
    """Exact best responses, from every seat, to a policy or its table [K, A] over ``information_tree(game)``.

    Raises:
        UsageError: as ``information_tree`` and ``policy_table``.
    """
    tree = information_tree(game)
    table = policy if isinstance(policy, np.ndarray) else policy_table(tree, policy)
    returns = expected_returns(tree, table)
    best = [best_response(tree, table, player)[0] for player in range(game.info.players)]
    total = float(np.sum(best) - returns.sum())
    return NashConv(total / len(best), total, tuple(best), tuple(returns.tolist()), len(tree))
