"""Small games solved exactly: every reachable position, its value, and all moves that keep it.

For two-player, zero-sum, turn-based games without chance, hidden information and repetition. Positions are identified
by ``Game.key``, so transpositions count once. Nothing here is heuristic: no depth preference, no evaluation; a slow win
is as good as a fast one.

Letters: S positions, A actions, P players.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, Action, State
from ...envs.core import Game
from ...envs.faces.vec import VecEnv
from ...envs.state import take
from ...errors import StateError, UsageError
from ..core import HasPolicy, Turn
from .rows import Twins, asked

__all__ = ["LIMIT", "Decide", "Graph", "Solution", "explore", "game_key", "policy_table", "solve"]

LIMIT = 200_000
"""Positions that ``solve`` visits before it gives up: seconds and tens of megabytes, not minutes."""

PROBE = 5_000
"""After this many positions ``solve`` plays random games, to refuse a large game within a second or two."""

ILLEGAL, END = -2, -1
"""Entries of ``Graph.children`` that are not positions: the action is illegal; the action ends the game."""

CLOSE = 1e-6
"""Values that differ by less are equal."""


@dataclass(frozen=True)
class Graph:
    """All reachable positions in which the game is not over; position 0 is the start.

    Attributes:
        game: the rules.
        states: S rows, one per position.
        keys: [S] uint64.
        movers: [S] int64 the seat to move.
        legal: [S, A] bool.
        children: [S, A] int64 the next position, or ``ILLEGAL`` or ``END``.
        rewards: [S, A, P] float32 paid by that action.
        layers: positions in groups, ends first, such that all children of a group are in earlier groups.
    """

    game: Game
    states: State
    keys: NDArray[np.uint64]
    movers: NDArray[np.int64]
    legal: NDArray[np.bool_]
    children: NDArray[np.int64]
    rewards: NDArray[np.float32]
    layers: tuple[NDArray[np.int64], ...]
    _order: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """[B] the numbers of the positions with these keys.

        Raises:
            StateError: no reachable, running position has one of the keys.
        """
        at = np.searchsorted(self.keys, keys, sorter=self._order)
        found = self._order[np.minimum(at, len(self.keys) - 1)]
        missing = np.flatnonzero(self.keys[found] != keys)
        if missing.size:
            raise StateError(
                f"No running position of {self.game.info.id} that legal play can reach has the key "
                f"{int(keys[missing[0]])}: the game is over there, or the state is of another configuration."
            )
        return found

    def follow(self, leaf: NDArray[Any], value: NDArray[np.float64], at: NDArray[np.int64]) -> NDArray[np.float64]:
        """[n, A, K] what each action gives at positions ``at``: its ``leaf`` plus the next value; 0 if illegal."""
        child, legal = self.children[at], self.legal[at]
        ahead = leaf[at] + np.where((child >= 0)[..., None], value[np.maximum(child, 0)], 0.0)
        return np.where(legal[..., None], ahead, 0.0)

    def back_up(self, leaf: NDArray[Any], decide: Decide) -> NDArray[np.float64]:
        """[S, K] backward induction, ends first, of K quantities that add up along a game.

        ``leaf`` [S, A, K] is what an action alone gives; ``decide`` computes the values of some positions from what
        their actions give.
        """
        value = np.zeros((len(self), leaf.shape[2]))
        for layer in self.layers:
            value[layer] = decide(layer, self.follow(leaf, value, layer))
        return value


Decide = Callable[[NDArray[np.int64], NDArray[np.float64]], NDArray[np.float64]]
"""``(positions [n], what their actions give [n, A, K]) -> their values [n, K]``."""


@dataclass(frozen=True)
class Solution:
    """The value of every position under perfect play.

    Attributes:
        graph: the positions.
        values: [S] float64 the mover's return from there on.
        optimal: [S, A] bool, all actions that reach the value.
        game_values: [P] the value of the start for each seat.
    """

    graph: Graph
    values: NDArray[np.float64]
    optimal: NDArray[np.bool_]
    game_values: NDArray[np.float64]

    @property
    def states(self) -> State:
        """S rows: every reachable position that is not over. Copy a row before you play on from it."""
        return self.graph.states

    def value(self, state: State, i: int) -> float:
        """The mover's return in row i from here on, under perfect play."""
        return float(self.values[self._at(state, i)])

    def optimal_actions(self, state: State, i: int) -> list[Action]:
        """All optimal moves in row i, ascending."""
        return [int(a) for a in np.flatnonzero(self.optimal[self._at(state, i)])]

    def _at(self, state: State, i: int) -> int:
        return int(self.graph.find(np.array([self.graph.game.key(state, i)], np.uint64))[0])


_GRAPHS: dict[tuple[Any, ...], Graph] = {}
_SOLUTIONS: dict[tuple[Any, ...], Solution] = {}


def explore(game: Game, limit: int = LIMIT) -> Graph:
    """All positions of a small game. Cached for the process, by game and configuration.

    Raises:
        UsageError: not a two-player turn-based game; hidden information; more than ``limit`` positions; chance,
            repetition or a sum other than 0.
    """
    name = game_key(game)
    if name not in _GRAPHS:
        _GRAPHS[name] = _Explorer(game, limit).graph()
    if len(_GRAPHS[name]) > limit:
        raise _too_large(game, limit)
    return _GRAPHS[name]


def solve(game: Game, limit: int = LIMIT) -> Solution:
    """Minimax over every reachable position. Cached for the process, by game and configuration.

    Raises:
        UsageError: as ``explore``.
    """
    graph = explore(game, limit)
    name = game_key(game)
    if name not in _SOLUTIONS:

        def best(layer: NDArray[np.int64], ahead: NDArray[np.float64]) -> NDArray[np.float64]:
            row = np.arange(len(layer))
            mine = np.where(graph.legal[layer], ahead[row, :, graph.movers[layer]], -np.inf)
            return ahead[row, mine.argmax(1)]  # type: ignore[no-any-return]

        values, at = graph.back_up(graph.rewards, best), np.arange(len(graph))
        mine = values[at, graph.movers]
        ahead = graph.follow(graph.rewards, values, at)[at, :, graph.movers]
        optimal = graph.legal & (ahead >= mine[:, None] - CLOSE)
        _SOLUTIONS[name] = Solution(graph, mine, optimal, values[0])
    return _SOLUTIONS[name]


def policy_table(graph: Graph, agent: HasPolicy, *, batch: int = 4096) -> NDArray[np.float64]:
    """[S, A] the agent's probability of each action in every position of a graph; asks ``batch`` turns at a time.

    Raises:
        UsageError: probabilities that don't sum to 1 over the legal actions.
    """
    masks, movers, keys = graph.legal.astype(np.int8), graph.movers.tolist(), graph.keys.tolist()
    turns = [Turn(graph.game, graph.states, s, movers[s], masks[s], keys[s]) for s in range(len(graph))]
    return asked(agent, turns, graph.legal, lambda s: f"position {s} of {graph.game.info.id}", batch)


def game_key(game: Game) -> tuple[Any, ...]:
    """The cache key of results about a game: its rules and their configuration."""
    return game.info, json.dumps(game.config, sort_keys=True, default=repr), game.kernels, game.deals is None


def _too_large(game: Game, limit: int) -> UsageError:
    return UsageError(
        f"{game.info.id} has more than {limit:,} positions, too many to solve. Play against another baseline, "
        "configure a smaller game, or raise the limit."
    )


def _many_positions(game: Game, limit: int) -> bool:
    """Whether random games meet more than ``limit`` different positions: a proof in seconds that a game is too large.

    Stops as soon as they do, or when a step of all games adds few new positions.
    """
    n = 4096
    vec = VecEnv(game, n, seed=0)
    vec.reset()
    key = game.kernels.key
    met: set[int] = set()
    for _ in range(256):
        before = len(met)
        vec.step(vec.sample_actions())
        met.update(int(key(vec.state, i)) for i in range(n))
        if len(met) > limit:
            return True
        if len(met) - before < n // 64 and len(met) > n:
            break
    return False


class _Explorer:
    """Builds the graph breadth first."""

    def __init__(self, game: Game, limit: int) -> None:
        info = game.info
        if info.simultaneous or info.players != 2:
            what = "all players move at once" if info.simultaneous else f"it has {info.players} players"
            raise UsageError(f"{info.id} cannot be solved by minimax: {what}. It needs two players who move in turn.")
        if info.hidden:
            raise UsageError(
                f"{info.id} cannot be solved by minimax: its players see different things. Use the baseline "
                "'equilibrium' or exploitability(), which work on its information sets."
            )
        self.game, self.limit = game, limit
        self.numbers: dict[int, int] = {}
        self.rows: list[State] = []  # pairs
        chance = "its course depends on the seed (chance)"
        self.twins = Twins(game, f"{info.id} cannot be solved by minimax: {chance}.")

    def graph(self) -> Graph:
        game = self.game
        self._number(self.twins.start())
        found: list[tuple[NDArray[np.int64], NDArray[np.float32], int]] = []
        while len(found) < len(self.rows):
            found.append(self._expand(self.rows[len(found)]))
        states = game.new_state(len(self.rows))
        for s, rows in enumerate(self.rows):
            _overwrite(states, rows, slice(s, s + 1), slice(0, 1))
        children, rewards, movers = zip(*found, strict=True)
        child, known = np.stack(children), np.array(list(self.numbers), np.uint64)
        return Graph(
            game=game,
            states=states,
            keys=known,
            movers=np.array(movers, np.int64),
            legal=child != ILLEGAL,
            children=child,
            rewards=np.stack(rewards),
            layers=_layers(game, child),
            _order=np.argsort(known),
        )

    def _number(self, pair: State) -> int:
        """The number of a position; a new one joins the queue."""
        number = self.numbers.setdefault(self.twins.key(pair), len(self.numbers))
        if number == len(self.rows):
            if number >= self.limit or (number == PROBE and _many_positions(self.game, self.limit)):
                raise _too_large(self.game, self.limit)
            self.rows.append(take(pair))
        return number

    def _expand(self, here: State) -> tuple[NDArray[np.int64], NDArray[np.float32], int]:
        game = self.game
        mover = game.mover(here, 0)
        child = np.full(game.info.num_actions, ILLEGAL, np.int64)
        paid = np.zeros((game.info.num_actions, 2), np.float32)
        pair, actions = take(here), np.zeros(2, np.int32)
        for action in game.legal_actions(here, 0, mover):
            _overwrite(pair, here)
            actions[mover] = action
            status, paid[action] = self.twins.step(pair, actions)
            if abs(float(paid[action].sum())) > CLOSE:
                raise UsageError(
                    f"{game.info.id} cannot be solved by minimax: an action pays {paid[action].tolist()}, which does "
                    "not sum to 0."
                )
            child[action] = self._number(pair) if status == RUNNING else END
        return child, paid, mover


def _overwrite(state: State, source: State, to: slice = slice(None), of: slice = slice(None)) -> None:
    """Copy rows of equal layout, without the checks of ``envs.state.put``: this runs once per move."""
    if isinstance(state, np.ndarray):
        state[to] = source[of]
        return
    for part, other in zip(state, source, strict=True):
        _overwrite(part, other, to, of)


def _layers(game: Game, children: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Peel off layer after layer the positions whose children are all peeled."""
    size = len(children)
    peeled = np.zeros(size + 2, np.bool_)
    peeled[size:] = True  # children -2 and -1 wrap around to these two
    left, layers = np.arange(size), []
    while left.size:
        ready = peeled[children[left]].all(1)
        if not ready.any():
            raise UsageError(
                f"{game.info.id} cannot be solved by backward induction: {left.size} positions lie "
                "on or before a repetition."
            )
        layers.append(left[ready])
        peeled[left[ready]] = True
        left = left[~ready]
    return tuple(layers)
