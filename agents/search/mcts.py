"""Monte Carlo tree search for any turn-based game without hidden information or chance: UCT with random playouts.

The tree consists of flat arrays; the search plays on a copy of one row with the game's own kernels, bound as
``envs.stepping.drivers`` binds its templates. Every edge sums the returns of all seats and every mover maximises its
own, so games of more than two players need nothing extra.

Source: Kocsis and Szepesvári 2006, Bandit based Monte-Carlo planning (UCT); Sturtevant 2008, An analysis of UCT in
multi-player games (a vector of returns); Browne et al. 2012, A survey of Monte Carlo tree search methods, section 3.3.
Returns are scaled to [0, 1] by the least and the greatest that the search has met, as in Schrittwieser et al. 2020
(MuZero), appendix B. Left out: heavy playouts, AMAF/RAVE, proven wins, and reuse of the tree for the next move.

Letters: V nodes, E edges, P players, A actions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, Mask, State
from ...envs.core import Game
from ...envs.stepping import templates
from ...envs.stepping.jit import disabled
from ...envs.stepping.rng import below, mix64, word
from ...errors import UsageError
from ..core import Decision, Turn
from ..deadline import breathe
from .rows import compiled, need_action, need_open_game, need_same_game, unbound

__all__ = ["MCTSAgent", "Shares"]

UNTRIED, END = -1, -2
"""Entries of ``Tree.child`` that are not nodes: the action has not been played; the action ends the game."""

PLAYOUTS = 400
CAP = 1000
"""Defaults: playouts per move, plies per playout."""

BREATH = 1000
"""Playouts between looks at the deadline."""


class Tree(NamedTuple):
    """The tree of a search.

    Attributes:
        first, legal: [V] int32 a node's edges are ``first`` to ``first + legal - 1``, one per legal action, shuffled.
        mover: [V] int32 the seat to move.
        visits: [V] int32 how often the search selected an edge of the node.
        action, child, tried: [E] int32 the action, the next node (or UNTRIED, END), how often it was played.
        total: [E, P] float64 sum of the returns from that action on.
        path: [V + 1] int32 edges from the root to the leaf; scratch.
        paid: [V + 1, P] float64 rewards along the path; scratch.
        size: [2] int64 nodes and edges in use.
        bounds: [2] float64 least and greatest return met.
    """

    first: NDArray[np.int32]
    legal: NDArray[np.int32]
    mover: NDArray[np.int32]
    visits: NDArray[np.int32]
    action: NDArray[np.int32]
    child: NDArray[np.int32]
    tried: NDArray[np.int32]
    total: NDArray[np.float64]
    path: NDArray[np.int32]
    paid: NDArray[np.float64]
    size: NDArray[np.int64]
    bounds: NDArray[np.float64]


class Scratch(NamedTuple):
    """One game to play on, and the arrays that its kernels write to."""

    state: State
    mask: Mask
    acts: NDArray[np.int32]
    rewards: NDArray[np.float32]
    returns: NDArray[np.float64]


# -- templates: free names below are bound for each game (see ``rows.compiled``) ---------------------------------------

ACTIONS = PLAYERS = 0
mover: Callable[..., int] = unbound
legal: Callable[..., None] = unbound
step: Callable[..., int] = unbound
draw: Callable[..., int] = unbound
pick: Callable[..., int] = unbound
copy_row: Callable[..., None] = unbound
choose: Callable[..., int] = unbound
play: Callable[..., int] = unbound
expand: Callable[..., int] = unbound
select: Callable[..., int] = unbound


def choose_drawn(s: Scratch, random_word: Any) -> Any:
    """Sample a legal action with the game's own ``draw``."""
    return draw(s.state, 0, random_word)


def choose_masked(s: Scratch, random_word: Any) -> Any:
    """Sample a legal action from the mask."""
    legal(s.state, 0, mover(s.state, 0), s.mask)
    return pick(s.mask, random_word)


def play_action(s: Scratch, action: Any) -> Any:
    """Play an action for the mover, and write what it pays into ``s.rewards``. Returns the status."""
    s.acts[mover(s.state, 0)] = action
    for p in range(PLAYERS):
        s.rewards[p] = 0
    return step(s.state, 0, s.acts, s.rewards)


def expand_node(tree: Tree, s: Scratch, key: Any) -> Any:
    """Add the position in ``s`` as a node, with its edges in random order. Returns its number."""
    node = tree.size[0]
    start = tree.size[1]
    seat = mover(s.state, 0)
    legal(s.state, 0, seat, s.mask)
    n: Any = 0
    for a in range(ACTIONS):
        if s.mask[a] != 0:
            j = below(word(key, n), n + 1)  # Fisher and Yates' shuffle, inside out
            tree.action[start + n] = tree.action[start + j]
            tree.action[start + j] = a
            n += 1
    for e in range(start, start + n):
        tree.child[e] = UNTRIED
        tree.tried[e] = 0
        for p in range(PLAYERS):
            tree.total[e, p] = 0.0
    tree.first[node] = start
    tree.legal[node] = n
    tree.mover[node] = seat
    tree.visits[node] = 0
    tree.size[0] = node + 1
    tree.size[1] = start + n
    return node


def select_edge(tree: Tree, node: Any, exploration: Any) -> Any:
    """Select an edge of a node by UCB1, untried ones first."""
    start, seat = tree.first[node], tree.mover[node]
    if tree.visits[node] < tree.legal[node]:
        return start + tree.visits[node]
    low, high = tree.bounds[0], tree.bounds[1]
    scale = 1.0 / (high - low) if high > low else 0.0
    log = math.log(tree.visits[node])
    best, chosen = -1.0, start
    for e in range(start, start + tree.legal[node]):
        n = tree.tried[e]
        score = (tree.total[e, seat] / n - low) * scale + exploration * math.sqrt(log / n)
        if score > best:
            best, chosen = score, e
    return chosen


def grow(
    state: State, row: int, s: Scratch, tree: Tree, key: int, done: int, playouts: int, cap: int, exploration: float
) -> int:
    """Run playouts from a row until ``playouts`` are done, ``done`` of them before this call.

    Returns how many are done: fewer if the tree is full.
    """
    if done == 0:
        tree.size[0] = 0
        tree.size[1] = 0
        tree.bounds[0] = np.inf
        tree.bounds[1] = -np.inf
        copy_row(s.state, 0, state, row)
        expand(tree, s, word(key, 0))
    while done < playouts:
        if tree.size[0] >= tree.first.shape[0] or tree.size[1] + ACTIONS > tree.action.shape[0]:
            return done
        done += 1
        own = word(key, done)
        copy_row(s.state, 0, state, row)
        node: Any = 0
        depth = 0
        status = RUNNING
        while status == RUNNING and node >= 0:
            e = select(tree, node, exploration)
            tree.visits[node] += 1
            status = play(s, tree.action[e])
            tree.path[depth] = e
            for p in range(PLAYERS):
                tree.paid[depth, p] = s.rewards[p]
                s.returns[p] = 0.0
            depth += 1
            node = tree.child[e]
        if status == RUNNING:
            tree.child[e] = expand(tree, s, own)
        else:
            tree.child[e] = END
        plies = 0
        while status == RUNNING and plies < cap:
            plies += 1
            status = play(s, choose(s, word(own, ~plies)))
            for p in range(PLAYERS):
                s.returns[p] += s.rewards[p]
        for d in range(depth - 1, -1, -1):
            e = tree.path[d]
            tree.tried[e] += 1
            for p in range(PLAYERS):
                s.returns[p] += tree.paid[d, p]
                tree.total[e, p] += s.returns[p]
                tree.bounds[0] = min(tree.bounds[0], s.returns[p])
                tree.bounds[1] = max(tree.bounds[1], s.returns[p])
    return done


def _grow(game: Game) -> Callable[..., int]:
    """``grow`` for a game."""
    return compiled(
        game,
        grow,
        ("pick", templates.pick_plain if disabled() else templates.pick_legal),
        ("choose", choose_masked if game.kernels.draw is None else choose_drawn),
        ("play", play_action),
        ("expand", expand_node),
        ("select", select_edge),
    )


# -- the agent ---------------------------------------------------------------------------------------------------------


class Shares(NamedTuple):
    """The result of a search of one position, action by action, in the order in which its seed shuffled them.

    Attributes:
        actions: [n] int32 the legal actions.
        visits: [n] int32 playouts that began with each.
        values: [n] float64 their mean return for the mover; NaN for an action without playouts.
    """

    actions: NDArray[np.int32]
    visits: NDArray[np.int32]
    values: NDArray[np.float64]

    @property
    def best(self) -> int:
        """Index of the action with the most visits; ties go to the greatest value, then to the first."""
        most = np.flatnonzero(self.visits == self.visits.max())
        return int(most[np.nan_to_num(self.values[most], nan=-np.inf).argmax()])


class MCTSAgent:
    """Plays the action with the most visits; ties go to the greater value, then by the order of the turn's seed.

    Args:
        game: turn-based, without hidden information and chance.
        playouts: the number per move.
        exploration: the constant of UCB1, for returns scaled to [0, 1].
        cap: plies after which a playout stops; its return is then what was paid so far.
        name: the name to show.

    Raises:
        UsageError: another kind of game, or a number out of range.
    """

    def __init__(
        self,
        game: Game,
        playouts: int = PLAYOUTS,
        *,
        exploration: float = math.sqrt(2),
        cap: int = CAP,
        name: str = "mcts",
    ) -> None:
        need_open_game(game, "mcts")
        if playouts < 1 or cap < 0:
            raise UsageError(f"mcts: {playouts} playouts of at most {cap} plies; use playouts >= 1 and cap >= 0.")
        if not (exploration >= 0 and math.isfinite(exploration)):
            raise UsageError(f"mcts: exploration={exploration} is invalid; use a finite number >= 0.")
        self.name, self.game = name, game
        self.playouts, self.exploration, self.cap = playouts, float(exploration), cap
        info = game.info
        self._grow = _grow(game)
        self._scratch = Scratch(
            game.new_state(1),
            np.zeros(info.num_actions, np.int8),
            np.zeros(info.players, np.int32),
            np.zeros(info.players, np.float32),
            np.zeros(info.players),
        )
        self._tree = _tree(min(playouts, 4096) + 1, 16 * min(playouts, 4096) + 2 * info.num_actions, info.players)

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """One search per turn, seeded by the turn's seed."""
        decisions = []
        for turn in turns:
            found = self.search(turn, turn.seed.integer() >> 1)
            best = found.best
            info: dict[str, object] = {"value": float(found.values[best]), "visits": int(found.visits[best])}
            decisions.append(Decision(int(found.actions[best]), info=info))
        return decisions

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] the shares of visits for each turn, from a search seeded by the position's key.

        ``act`` plays the most visited action of another search, seeded by the turn.
        """
        rows = []
        for turn in turns:
            found = self.search(turn, int(mix64(np.uint64(turn.key))))
            row = np.zeros(self.game.info.num_actions)
            row[found.actions] = found.visits / found.visits.sum()
            rows.append(row)
        return rows

    def search(self, turn: Turn, seed: int) -> Shares:
        """Search one position; its row in ``turn.state`` is only read.

        Raises:
            OutOfTime: see ``deadline``.
        """
        need_same_game(self.name, self.game, turn)
        need_action(turn)
        done = 0
        while True:
            breathe()
            goal = min(done + BREATH, self.playouts)
            done = self._grow(
                *(turn.state, turn.row, self._scratch, self._tree, np.uint64(seed)),
                *(done, goal, self.cap, self.exploration),
            )
            if done == self.playouts:
                break
            if done == goal:
                continue
            self._tree = _enlarged(self._tree, self.game.info.num_actions)
        n, seat = int(self._tree.legal[0]), turn.player
        tried = self._tree.tried[:n].copy()
        with np.errstate(invalid="ignore"):
            values = self._tree.total[:n, seat] / tried
        return Shares(self._tree.action[:n].copy(), tried, values)


def _tree(nodes: int, edges: int, players: int) -> Tree:
    """An empty tree with room for this many nodes and edges."""

    def numbers(length: int) -> NDArray[np.int32]:
        return np.zeros(length, np.int32)

    return Tree(
        first=numbers(nodes),
        legal=numbers(nodes),
        mover=numbers(nodes),
        visits=numbers(nodes),
        action=numbers(edges),
        child=numbers(edges),
        tried=numbers(edges),
        total=np.zeros((edges, players)),
        path=numbers(nodes + 1),
        paid=np.zeros((nodes + 1, players)),
        size=np.zeros(2, np.int64),
        bounds=np.zeros(2),
    )


def _enlarged(tree: Tree, actions: int) -> Tree:
    """The same tree with twice the room."""
    edges, players = tree.total.shape
    wider = _tree(2 * len(tree.first), 2 * edges + actions, players)
    for name in Tree._fields:
        old: NDArray[Any] = getattr(tree, name)
        getattr(wider, name)[: len(old)] = old
    return wider
