"""The whole tree of a small game with hidden information, and its information sets.

``solver`` works on positions, which players cannot see in full where information is hidden. An information set is a set
of nodes that one player cannot tell apart: same seat, same observation, same mask, same texts. The tree starts from
every possible deal (``Game.deals``; deals with the same ``Game.key`` are merged). Players who act at once decide one
after the other, without seeing each other's answers, so one-shot simultaneous games are trees of this kind too.

Computations on the tree go backwards, a level of information sets at a time. This requires perfect recall (players
forget nothing they knew or did) and an order in which every history meets the information sets; both are checked while
the tree is built.

Letters: D decision nodes, K information sets, A actions, P players.

Source: Osborne and Rubinstein, "A Course in Game Theory", 1994, chapter 11 (information sets, perfect recall).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, Action, Player, State
from ...envs.core import Game
from ...envs.state import put, take
from ...errors import StateError, UsageError
from .rows import Twins
from .solver import game_key

__all__ = ["LIMIT", "InformationTree", "game_key", "information_tree"]

LIMIT = 20_000
"""Decision nodes that ``information_tree`` visits before it gives up: seconds, not minutes."""

ILLEGAL, END = -2, -1
"""Entries of ``InformationTree.children`` that are not nodes: the action is illegal; the action ends the game."""


@dataclass(frozen=True)
class InformationTree:
    """All decision nodes of a small game, shallow ones first, and the information sets they belong to.

    Attributes:
        game: the rules.
        states: D rows, the position at each node.
        movers: [D] int64 the player who decides.
        sets: [D] int64 the information set.
        chances: [D] float64 probability of the deal that leads here.
        parents, actions: [D] int64 the node before and the action there; -1 at the beginning.
        children: [D, A] int64 the next node, or ``ILLEGAL`` or ``END``.
        rewards: [D, A, P] float64 paid by that action.
        legal: [K, A] bool.
        owners: [K] int64 the player who decides there.
        first: [K] int64 the first of its nodes.
        levels: the nodes by level: an information set is one level below the deepest that comes before it.
    """

    game: Game
    states: State
    movers: NDArray[np.int64]
    sets: NDArray[np.int64]
    chances: NDArray[np.float64]
    parents: NDArray[np.int64]
    actions: NDArray[np.int64]
    children: NDArray[np.int64]
    rewards: NDArray[np.float64]
    legal: NDArray[np.bool_]
    owners: NDArray[np.int64]
    first: NDArray[np.int64]
    levels: tuple[NDArray[np.int64], ...]
    _numbers: dict[Any, int] = field(repr=False)

    def __len__(self) -> int:
        """K."""
        return len(self.owners)

    def find(self, state: State, i: int, player: Player) -> int:
        """The number of the information set of ``player`` in row i.

        Raises:
            StateError: the player never decides there: the game is over, another player is to move, or the state is of
                another configuration.
        """
        number = self._numbers.get(_seen(self.game, state, i, player))
        if number is None:
            raise StateError(
                f"player_{player} never decides in such a position of {self.game.info.id}: the game is over there, "
                "another player is to move, or the position is of another configuration."
            )
        return number

    def name(self, number: int) -> str:
        """The compact text that the information set's owner sees."""
        return self.game.compact(self.states, int(self.first[number]), int(self.owners[number]))

    def uniform(self) -> NDArray[np.float64]:
        """[K, A] the uniform policy over the legal actions."""
        return np.asarray(self.legal / self.legal.sum(1, keepdims=True))

    def reach(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """[D, P] how much each player's own decisions contribute to the probability that a node is reached."""
        reach = np.ones((len(self.movers), self.game.info.players))
        for nodes in self.levels:
            level = nodes[self.parents[nodes] >= 0]
            before = self.parents[level]
            reach[level] = reach[before]
            reach[level, self.movers[before]] *= table[self.sets[before], self.actions[level]]
        return reach

    def ahead(self, value: NDArray[np.float64], level: NDArray[np.int64]) -> NDArray[np.float64]:
        """[n, A, P] the return of each action at some nodes: its reward plus the value [D, P] of the next node."""
        child = self.children[level]
        return self.rewards[level] + np.where((child >= 0)[..., None], value[np.maximum(child, 0)], 0.0)


def _seen(game: Game, state: State, i: int, player: Player) -> tuple[Any, ...]:
    """Everything that a player can see: seat, observation, mask, compact and full text."""
    info = game.info
    observation = np.zeros(info.observation_shape, info.observation_dtype)
    game.kernels.observe(state, i, player, observation)
    mask = game.legal_mask(state, i, player)
    texts = game.compact(state, i, player), game.describe(state, i, player)
    return player, observation.tobytes(), mask.tobytes(), texts


_TREES: dict[tuple[Any, ...], InformationTree] = {}


def information_tree(game: Game, limit: int = LIMIT) -> InformationTree:
    """The whole tree of a small game. Cached for the process, by game and configuration.

    Raises:
        UsageError: more than ``limit`` nodes; chance that ``Game.deals`` does not list; imperfect recall.
    """
    name = game_key(game)
    if name not in _TREES:
        _TREES[name] = _Grower(game, limit).tree()
    if len(_TREES[name].movers) > limit:
        raise _too_large(game, limit)
    return _TREES[name]


def _too_large(game: Game, limit: int) -> UsageError:
    return UsageError(
        f"{game.info.id} has more than {limit:,} decisions, too many to visit them all. Configure a smaller game, "
        "raise the limit, or measure by matches."
    )


@dataclass
class _Node:
    """A decision node: the position (two rows, one per seed), whose last player in ``asked`` is to decide.

    ``said`` are the actions of the players before it in this tick.
    """

    pair: State
    asked: tuple[Player, ...]
    said: tuple[Action, ...]
    parent: int
    action: Action
    chance: float
    memory: tuple[int, ...]  # by player, the number of its own (set, action) sequence


class _Grower:
    """Builds the tree breadth first, from every deal."""

    def __init__(self, game: Game, limit: int) -> None:
        self.game, self.limit = game, limit
        chance = "its course depends on the seed in a way that it does not list (Game.deals)"
        self.twins = Twins(game, f"{game.info.id} cannot be analysed exactly: {chance}.")
        self.nodes: list[_Node] = []
        self.sets: list[int] = []
        self.numbers: dict[Any, int] = {}
        self.facts: list[tuple[Player, int]] = []  # by set: owner, memory
        self.memories: dict[tuple[int, int, int], int] = {}

    def tree(self) -> InformationTree:
        game, info = self.game, self.game.info
        children: list[NDArray[np.int64]] = []
        rewards: list[NDArray[np.float64]] = []
        for pair, chance in self._starts():
            self._ask(pair, -1, -1, chance, (0,) * info.players)
        while len(children) < len(self.nodes):
            after, paid = self._expand(len(children))
            children.append(after)
            rewards.append(paid)
        states = game.new_state(len(self.nodes))
        for d, node in enumerate(self.nodes):
            put(states, take(node.pair, 0), d)
        sets, parents = np.array(self.sets), np.array([node.parent for node in self.nodes])
        first = np.unique(sets, return_index=True)[1]
        levels = self._levels(sets, parents)
        return InformationTree(
            game=game,
            states=states,
            movers=np.array([node.asked[-1] for node in self.nodes]),
            sets=sets,
            chances=np.array([node.chance for node in self.nodes]),
            parents=parents,
            actions=np.array([node.action for node in self.nodes]),
            children=np.stack(children),
            rewards=np.stack(rewards),
            legal=np.stack(children)[first] != ILLEGAL,
            owners=np.array([owner for owner, _ in self.facts]),
            first=first,
            levels=tuple(np.flatnonzero(levels == level) for level in range(int(levels.max()) + 1)),
            _numbers=self.numbers,
        )

    def _levels(self, sets: NDArray[np.int64], parents: NDArray[np.int64]) -> NDArray[np.int64]:
        """[D] the level of each node."""
        later = np.flatnonzero(parents >= 0)
        before, after = np.unique(np.stack([sets[parents[later]], sets[later]]), axis=1)
        levels = np.zeros(len(self.facts), np.int64)
        for _ in range(len(levels) + 1):
            known = levels.copy()
            np.maximum.at(levels, after, levels[before] + 1)
            if (levels == known).all():
                return levels[sets]
        raise UsageError(f"{self.game.info.id} cannot be analysed exactly: its information sets have no order in time.")

    def _starts(self) -> list[tuple[State, float]]:
        """Every deal and its probability; deals that make the same position are merged."""
        game = self.game
        starts: dict[int, tuple[State, float]] = {}
        for value, chance in game.deals() if game.deals is not None else [(None, 1.0)]:
            pair = self.twins.start(value)
            key = self.twins.key(pair)
            starts[key] = pair, chance + (starts[key][1] if key in starts else 0.0)
        return list(starts.values())

    def _ask(
        self,
        pair: State,
        parent: int,
        action: Action,
        chance: float,
        memory: tuple[int, ...],
        asked: tuple[Player, ...] = (),
        said: tuple[Action, ...] = (),
    ) -> int:
        """Add a node in which the next seat that has a choice decides; returns its number."""
        player = self._next(pair, asked)
        assert player is not None  # in a running game some player can act
        d = len(self.nodes)
        if d >= self.limit:
            raise _too_large(self.game, self.limit)
        seen = _seen(self.game, pair, 0, player)
        facts = player, memory[player]
        number = self.numbers.setdefault(seen, len(self.numbers))
        if number == len(self.facts):
            self.facts.append(facts)
        elif self.facts[number] != facts:
            raise UsageError(
                f"{self.game.info.id} cannot be analysed exactly: player_{player} sees {seen[3][0]!r} after different "
                "decisions of its own, so it has no perfect recall. Configure the game to show players the whole past."
            )
        self.nodes.append(_Node(pair, (*asked, player), said, parent, action, chance, memory))
        self.sets.append(number)
        return d

    def _next(self, pair: State, asked: tuple[Player, ...]) -> Player | None:
        """The next seat of this tick that has a choice, or None; in turn-based games only the mover."""
        game = self.game
        if not game.info.simultaneous:
            return None if asked else game.mover(pair, 0)
        for p in range(asked[-1] + 1 if asked else 0, game.info.players):
            if game.legal_mask(pair, 0, p).any():
                return p
        return None

    def _expand(self, d: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        game, info, node = self.game, self.game.info, self.nodes[d]
        player = node.asked[-1]
        after = np.full(info.num_actions, ILLEGAL, np.int64)
        paid = np.zeros((info.num_actions, info.players))
        for action in game.legal_actions(node.pair, 0, player):
            step = (node.memory[player], self.sets[d], action)
            own = self.memories.setdefault(step, len(self.memories) + 1)
            memory = tuple(own if p == player else m for p, m in enumerate(node.memory))
            said = (*node.said, action)
            onward = (d, action, node.chance, memory)
            if self._next(node.pair, node.asked) is not None:
                after[action] = self._ask(node.pair, *onward, node.asked, said)
                continue
            pair, status = self._play(node, said, paid[action])
            after[action] = self._ask(pair, *onward) if status == RUNNING else END
        return after, paid

    def _play(self, node: _Node, said: tuple[Action, ...], paid: NDArray[np.float64]) -> tuple[State, int]:
        """Play the tick once all have decided; returns the new position and status, and writes the rewards."""
        pair = take(node.pair)
        actions = np.zeros(self.game.info.players, np.int32)
        actions[list(node.asked)] = said
        status, paid[:] = self.twins.step(pair, actions)
        self.twins.key(pair)
        return pair, status
