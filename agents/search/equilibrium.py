"""An equilibrium of a small two-player zero-sum game with hidden information, by CFR+, and an agent that plays it.

The players take turns to update by regret-matching+ in every information set; the weighted average of their strategies
(later ones count more) converges to an equilibrium. In simultaneous games each player also predicts that its last
regrets will recur, which converges much faster there, and slower in poker. Everything is deterministic: no sampling.

Letters: K information sets, A actions, D decision nodes.

Source: Tammelin, "Solving large imperfect information games using CFR+", 2014; Zinkevich et al., "Regret minimization
in games with incomplete information", 2007; Farina, Kroer and Sandholm, "Faster game solving via predictive Blackwell
approachability", 2021 (the prediction, and the weight t * t of iteration t).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.core import Game
from ...errors import UsageError
from ..core import Decision, Turn
from ..seeds import uniforms
from .information_sets import InformationTree, NashConv, expected_returns, game_key, information_tree, nash_conv
from .rows import need_same_game

__all__ = ["TARGET", "Equilibrium", "EquilibriumAgent", "solve_hidden"]

TARGET = 1e-4
"""``solve_hidden`` stops at this exploitability, in the unit of the game's rewards (e.g. chips)."""

CHECK = 100
"""Iterations between two measurements of the exploitability."""


@dataclass(frozen=True)
class Equilibrium:
    """The result of CFR+.

    Attributes:
        tree: the game's tree.
        table: [K, A] the average strategy.
        game_values: [2] its expected return from each seat against itself; within ``exploitability`` of the game's
            value.
        exploitability: exact, of this table.
        iterations: the number it took.
    """

    tree: InformationTree
    table: NDArray[np.float64]
    game_values: tuple[float, ...]
    exploitability: float
    iterations: int


_FOUND: dict[tuple[Any, ...], Equilibrium] = {}


def solve_hidden(game: Game, target: float = TARGET, iterations: int = 20_000) -> Equilibrium:
    """An approximate equilibrium of a small game. Cached for the process, by game and configuration.

    It stops at an exploitability of ``target`` or less, and runs at most ``iterations`` iterations.

    Raises:
        UsageError: not two players, no hidden information, not zero-sum, too large, or ``target`` not reached.
    """
    if game.info.players != 2:
        raise UsageError(
            f"{game.info.id} has {game.info.players} players; an equilibrium is computed for two. Play against another "
            "baseline."
        )
    if not (game.info.hidden or game.info.simultaneous):
        raise UsageError(f"{game.info.id} hides nothing: the baseline 'minimax' plays it perfectly.")
    tree = information_tree(game)
    known = _FOUND.get(game_key(game))
    if known is not None and known.exploitability <= target:
        return known
    if np.abs(tree.rewards.sum(2)).max() > 1e-6:
        raise UsageError(
            f"{game.info.id} is not zero-sum: an equilibrium is computed for zero-sum games. Play against another "
            "baseline."
        )
    state = _Iteration(tree)
    for t in range(1, iterations + 1):
        state.run(t)
        if t % CHECK == 0 or t == iterations:
            table = state.average()
            measured: NashConv = nash_conv(game, table)
            if measured.value <= target:
                values = tuple(expected_returns(tree, table).tolist())
                found = Equilibrium(tree, table, values, measured.value, t)
                _FOUND[game_key(game)] = found
                return found
    raise UsageError(
        f"After {iterations} iterations the exploitability in {game.info.id} is {measured.value:.2g}, above the target "
        f"{target:g}. Allow more iterations or a larger target."
    )


class _Iteration:
    """Cumulative regrets, the regrets of the last iteration, and the weighted sum of strategies, all [K, A]."""

    def __init__(self, tree: InformationTree) -> None:
        self.tree = tree
        self.predictive = float(not tree.game.info.hidden)
        self.regrets = np.zeros(tree.legal.shape)
        self.last = np.zeros(tree.legal.shape)
        self.sums = np.zeros(tree.legal.shape)
        self.mine = [tree.owners == player for player in (0, 1)]

    def run(self, t: int) -> None:
        """One update of each player, player_0 first."""
        tree = self.tree
        for player in (0, 1):
            strategy = self.strategy()
            reach = tree.reach(strategy)
            mine = self.mine[player]
            self.last[mine] = self._gains(strategy, reach, player)[mine]
            self.regrets[mine] = np.maximum(self.regrets + self.last, 0.0)[mine]
            own = reach[tree.first, player]  # the same at all nodes of a set, by perfect recall
            self.sums[mine] += (t * t * own[:, None] * strategy)[mine]

    def strategy(self) -> NDArray[np.float64]:
        """[K, A] in proportion to the regrets; uniform where there are none."""
        regrets = np.maximum(self.regrets + self.predictive * self.last, 0.0)
        total = regrets.sum(1, keepdims=True)
        return np.where(total > 0, regrets / np.where(total > 0, total, 1.0), self.tree.uniform())

    def average(self) -> NDArray[np.float64]:
        """[K, A] the average strategy so far."""
        total = self.sums.sum(1, keepdims=True)
        return np.where(total > 0, self.sums / np.where(total > 0, total, 1.0), self.tree.uniform())

    def _gains(self, strategy: NDArray[np.float64], reach: NDArray[np.float64], player: int) -> NDArray[np.float64]:
        """[K, A] counterfactual regrets: each action's gain over the strategy, weighted by chance and opponent."""
        tree = self.tree
        value = np.zeros((len(tree.movers), 2))
        gains = np.zeros(tree.legal.shape)
        weight = tree.chances * reach[:, 1 - player]
        for level in reversed(tree.levels):
            ahead, sets = tree.ahead(value, level), tree.sets[level]
            value[level] = np.einsum("na,nap->np", strategy[sets], ahead)
            over = weight[level, None] * (ahead[:, :, player] - value[level, None, player])
            np.add.at(gains, sets, np.where((tree.movers[level] == player)[:, None], over, 0.0))
        return np.where(tree.legal, gains, 0.0)


class EquilibriumAgent:
    """Plays an equilibrium, and uses only what its seat may see. The constructor solves the game, once per process.

    Raises:
        UsageError: the game cannot be solved in this way; the message says why.
    """

    name = "equilibrium"

    def __init__(self, game: Game) -> None:
        self.solution = solve_hidden(game)

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Sample one action per turn from the equilibrium."""
        drawn = uniforms([turn.seed for turn in turns])[:, 0]
        rows = self.policy(turns)
        return [
            Decision(int(min(np.searchsorted(row.cumsum(), u, side="right"), np.flatnonzero(row)[-1])))
            for row, u in zip(rows, drawn, strict=True)
        ]

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn."""
        tree = self.solution.tree
        for turn in turns[:1]:
            need_same_game(self.name, tree.game, turn)
        return [self.solution.table[tree.find(turn.state, turn.row, turn.player)] for turn in turns]
