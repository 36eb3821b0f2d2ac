"""Exact best responses in phantom tic-tac-toe and dark hex, whose trees of 10^10 histories cannot be stored.

All that happens is that players try cells, so a history is a pair: what each player tried, and whether it succeeded. A
best responder's information sets are visited depth first, each together with the opponent's information sets that go
with it and the probability of each pair. What is stored is the path to the current information set, and the policy.

Information sets are the nodes of a player's tree of tries, numbered so that the next one need not be looked up: edge e
is an allowed try; it leads to node 2 e + 1 if the cell was taken, to node 2 e + 2 if not. Sets of cells are numbers,
bit c for cell c.

Letters: C cells, J nodes of one player's tree (some cannot occur, or end the game), E edges, M pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import perm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aliases import Player
from ...envs import phantom
from ...envs.core import Game
from ...envs.phantom import Boards
from ...envs.stepping.jit import kernel
from ...errors import UsageError
from ..core import HasPolicy, Turn
from .rows import asked
from .solver import game_key

__all__ = ["PhantomTree", "Side", "is_phantom", "phantom_tree"]

MOST = 9
"""The most cells: a board of 12 would take years."""

BATCH = 65_536
"""Information sets whose rows are made at a time."""


class Side(NamedTuple):
    """One player's tree of tries.

    Attributes:
        player: the seat.
        first: [J] int32 the number of a node's first edge; -1 where the player does not decide.
        own: [J] uint16 its own cells.
        found: [J] uint16 the opponent's cells that it knows.
        edges: E.
        decisions: how many nodes the player decides in.
    """

    player: Player
    first: NDArray[np.int32]
    own: NDArray[np.uint16]
    found: NDArray[np.uint16]
    edges: int
    decisions: int


@dataclass(frozen=True)
class PhantomTree:
    """The trees of tries of both players.

    Attributes:
        game: the rules.
        abrupt: whether a failed try loses the turn.
        bits: [2^C, C] bool the cells of each set.
        wins: [2, 2^C] bool whether a set of cells wins, by player.
        sides: by player.
    """

    game: Game
    abrupt: bool
    bits: NDArray[np.bool_]
    wins: NDArray[np.bool_]
    sides: tuple[Side, Side]

    def legal(self, side: Side, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """[B, C] the cells that a player may try at nodes."""
        return np.asarray(self.bits[~(side.own[nodes] | side.found[nodes]) & (len(self.bits) - 1)])

    def split(self, table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[E] by player: the parts of a table."""
        first = self.sides[0].edges
        return table[:first], table[first:]

    def policy(self, agent: HasPolicy) -> NDArray[np.float64]:
        """An agent's table: its probabilities at X's edges, then at O's; 0 where its own play never leads.

        It is asked once in each information set to which its own tries can lead, and sees its side alone.

        Raises:
            UsageError: probabilities that don't sum to 1 over the legal actions.
        """
        table = np.zeros(sum(side.edges for side in self.sides))  # untouched parts take no memory
        for side, mine in zip(self.sides, self.split(table), strict=True):
            nodes = np.zeros(1, np.int64)
            while nodes.size:
                played = []
                for at in range(0, len(nodes), BATCH):
                    some = nodes[at : at + BATCH]
                    legal, rows = self.legal(side, some), self.rows(side, some)
                    masks, key = legal.astype(np.int8), self.game.key
                    turns = [Turn(self.game, rows, i, side.player, masks[i], key(rows, i)) for i in range(len(some))]
                    edges = _edges(side, some, legal)[legal]
                    mine[edges] = asked(agent, turns, legal, partial(_place, turns), 4096)[legal]
                    played.append(edges[mine[edges] > 0])
                nodes = _after(side, np.concatenate(played))[0]
        return table

    def mixture(self, tables: Sequence[NDArray[np.float64]], shares: Sequence[float]) -> NDArray[np.float64]:
        """A table that plays as if each seat drew one of the ``tables`` before the game, by its share.

        Source: Kuhn 1953, Extensive games and the problem of information (theorem 4).
        """
        mixed = np.zeros(sum(side.edges for side in self.sides))
        for k, (side, mine) in enumerate(zip(self.sides, self.split(mixed), strict=True)):
            parts = [self.split(table)[k] for table in tables]
            nodes, reach = np.zeros(1, np.int64), np.array([shares]) / sum(shares)  # [n, M]
            while nodes.size:
                legal = self.legal(side, nodes)
                edges = _edges(side, nodes, legal)[legal]
                weights = np.stack([part[edges] for part in parts], 1) * np.repeat(reach, legal.sum(1), 0)
                mine[edges] = weights.sum(1) / np.repeat(reach.sum(1), legal.sum(1))
                on = weights.any(1)
                nodes, of = _after(side, edges[on])
                reach = weights[on][of]
        return mixed

    def rows(self, side: Side, nodes: NDArray[np.int64]) -> Boards:
        """Rows in which a player knows what it knows at these nodes; of the opponent there is nothing else in them."""
        decisions = np.flatnonzero(side.first >= 0)
        starts, player = side.first[decisions], side.player
        mine, theirs = self.bits[side.own[nodes]], self.bits[side.found[nodes]]
        state: Boards = self.game.new_state(len(nodes))
        state.marks[:] = mine * (player + 1) + theirs * (2 - player)
        depth = (mine | theirs).sum(1)
        turns = mine.sum(1) + player + self.abrupt * theirs.sum(1)
        counted = state.facts[:, phantom.COUNTED] == 1
        at, time = nodes.copy(), depth.copy()
        while (on := np.flatnonzero(at)).size:
            edge = (at[on] - 1) // 2
            before = decisions[np.searchsorted(starts, edge, "right") - 1]
            rank = self.legal(side, before).cumsum(1) - 1
            cell = ((rank == (edge - side.first[before])[:, None]) & self.legal(side, before)).argmax(1)
            state.tried[on, player, cell] = np.where(counted[on], 2 * time[on] - 1 + player, time[on])
            at[on], time[on] = before, time[on] - 1
        state.facts[:, phantom.MOVER] = player
        state.facts[:, phantom.FIRST + player], state.facts[:, phantom.SECOND - player] = depth, turns
        return state

    def best_response(self, table: NDArray[np.float64], player: Player) -> tuple[float, float, int]:
        """A player against a policy, by its table.

        Returns:
            The expected return of a best response, that of the policy itself, and how many of the player's information
            sets can occur.
        """
        me, you, cells = self.sides[player], self.sides[1 - player], self.bits.shape[1]
        policy = self.split(table)
        rules = Rules(
            np.array([cells, self.abrupt]),
            self.wins[player],
            self.wins[1 - player],
            me.first,
            you.first,
            policy[player],
            policy[1 - player],
        )
        pairs = _pairs((cells + 1) * sum(perm(cells, k) for k in range(cells + 1)))  # memory is taken as it is used
        if player == 0:
            count = put(pairs, 0, 0, 0, 0, 1.0)
        else:
            count = cells
            for cell in range(cells):
                put(pairs, cell, 2 * cell + 2, 1 << cell, 0, policy[0][cell])
        met = np.zeros(1, np.int64)
        best, mean = walk(rules, pairs, _pairs(cells * cells), met, 0, count, 0, 0)
        return float(best), float(mean), int(met[0])


def _edges(side: Side, nodes: NDArray[np.int64], legal: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[B, C] the edge of each legal cell."""
    return np.asarray(side.first[nodes][:, None] + legal.cumsum(1) - 1)


def _after(side: Side, edges: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nodes after some edges in which the player decides, and the place of the edge that leads to each."""
    nodes = np.stack([2 * edges + 1, 2 * edges + 2], 1).ravel()
    on = np.flatnonzero(side.first[nodes] >= 0)
    return nodes[on], on // 2


def _place(turns: Sequence[Turn], i: int) -> str:
    return turns[i].compact()


class Rules(NamedTuple):
    """What a walk reads.

    Attributes:
        facts: [2] int64 C, and 1 if a failed try loses the turn.
        wins, beats: [2^C] whether a set of cells wins, for me and for the opponent.
        first, others: [J] ``Side.first``, mine and the opponent's.
        plays, answers: [E] the policy, mine and the opponent's.
    """

    facts: NDArray[np.int64]
    wins: NDArray[np.bool_]
    beats: NDArray[np.bool_]
    first: NDArray[np.int32]
    others: NDArray[np.int32]
    plays: NDArray[np.float64]
    answers: NDArray[np.float64]


class Pairs(NamedTuple):
    """[M] the opponent's nodes that go with a node, its cells, those it knows, and the probability."""

    node: NDArray[np.int32]
    cells: NDArray[np.uint16]
    found: NDArray[np.uint16]
    chance: NDArray[np.float64]


def _pairs(count: int) -> Pairs:
    return Pairs(np.empty(count, np.int32), np.empty(count, np.uint16), np.empty(count, np.uint16), np.empty(count))


@kernel
def put(pairs: Pairs, at: Any, node: Any, cells: Any, found: Any, chance: Any) -> Any:
    """Write a pair; returns the next place."""
    pairs.node[at] = node
    pairs.cells[at] = cells
    pairs.found[at] = found
    pairs.chance[at] = chance
    return at + 1


# Longer than most: one walk, whose parts share all their names.
@kernel
def walk(
    rules: Rules, pairs: Pairs, queue: Pairs, met: NDArray[np.int64], low: Any, high: Any, mine: Any, node: Any
) -> Any:
    """The sums over the pairs from ``low`` to ``high`` of chance times return, from my decision at a node on.

    Two sums: if I respond best, and if I follow ``plays``.

    ``mine`` holds my cells, and from bit 16 on those that I know to be the opponent's. ``met`` counts the nodes.
    """
    if low >= high:  # never; tells numba what a walk returns
        return 0.0, 0.0
    cells, abrupt = rules.facts[0], rules.facts[1] == 1
    full = (1 << cells) - 1
    own, found = mine & 0xFFFF, mine >> 16
    edge, best, mean = np.int64(rules.first[node]), -np.inf, 0.0
    met[0] += 1
    for cell in range(cells):
        bit = 1 << cell
        if (own | found) & bit:
            continue
        edge += 1
        paid, ahead, usual = 0.0, 0.0, 0.0
        for taken in range(2):
            end, now = high, own if taken else own | bit
            for k in range(low, high):
                theirs = np.int64(pairs.cells[k])
                if (theirs >> cell & 1) != taken:
                    continue
                if taken and not abrupt:
                    end = put(pairs, end, pairs.node[k], theirs, pairs.found[k], pairs.chance[k])
                    continue
                if not taken and rules.wins[now]:
                    paid += pairs.chance[k]
                    continue
                if now | theirs == full:
                    continue
                waiting = put(queue, 0, pairs.node[k], theirs, pairs.found[k], pairs.chance[k])
                while waiting > 0:
                    waiting -= 1
                    at, chance = np.int64(rules.others[queue.node[waiting]]), queue.chance[waiting]
                    theirs, known = np.int64(queue.cells[waiting]), np.int64(queue.found[waiting])
                    free = full & ~(theirs | known)
                    while free:
                        tried = free & -free
                        free ^= tried
                        then = chance * rules.answers[at]
                        at += 1
                        if then == 0.0:
                            continue
                        if now & tried:
                            if abrupt:
                                end = put(pairs, end, 2 * at - 1, theirs, known | tried, then)
                            else:
                                waiting = put(queue, waiting, 2 * at - 1, theirs, known | tried, then)
                        elif rules.beats[theirs | tried]:
                            paid -= then
                        elif now | theirs | tried != full:
                            end = put(pairs, end, 2 * at, theirs | tried, known, then)
            if end > high:
                known = found | bit if taken else found
                later = walk(rules, pairs, queue, met, high, end, now | known << 16, 2 * edge - taken)
                ahead, usual = ahead + later[0], usual + later[1]
        best = max(best, paid + ahead)
        mean += rules.plays[edge - 1] * (paid + usual)
    return best, mean


def is_phantom(game: Game) -> bool:
    """Whether ``phantom_tree`` takes a game: up to 9 cells, and players learn nothing but what their own tries tell."""
    if game.kernels.step is not phantom.step:
        return False
    told = game.config["obstype"] == "reveal-numturns" and game.config["gameversion"] in ("classical", "cdh")
    return game.info.num_actions <= MOST and not told


_TREES: dict[tuple[Any, ...], PhantomTree] = {}


def phantom_tree(game: Game, limit: int) -> PhantomTree:
    """The trees of tries of both players. The last game's are kept.

    Raises:
        UsageError: more than ``limit`` nodes in which a player may have to decide.
    """
    name = game_key(game)
    if name not in _TREES:
        made = _tree(game, limit)
        _TREES.clear()
        _TREES[name] = made
    if max(side.decisions for side in _TREES[name].sides) > limit:
        raise _too_large(game, limit)
    return _TREES[name]


def _too_large(game: Game, limit: int) -> UsageError:
    return UsageError(
        f"{game.info.id} has more than {limit:,} information sets, too many to visit them all. Configure a "
        "smaller game, raise the limit (docs/evaluation/exact.md says what that takes), or measure by matches."
    )


def _tree(game: Game, limit: int) -> PhantomTree:
    cells, sets = game.info.num_actions, np.arange(1 << game.info.num_actions)
    bits = (sets[:, None] >> np.arange(cells) & 1).astype(np.bool_)
    boards = game.new_state(len(sets))
    wins = np.zeros((2, len(sets)), np.bool_)
    for player in (0, 1):
        boards.marks[:] = bits * (player + 1)
        wins[player] = [phantom.won(boards, k, player) for k in range(len(sets))]
    abrupt = game.config["gameversion"] in ("abrupt", "adh")
    sides = [_grow(game, player, bits, wins, abrupt, limit) for player in (0, 1)]
    return PhantomTree(game, abrupt, bits, wins, (sides[0], sides[1]))


def _grow(
    game: Game, player: Player, bits: NDArray[np.bool_], wins: NDArray[np.bool_], abrupt: bool, limit: int
) -> Side:
    """A player's tree, one number of tries after the other.

    The opponent has had ``turns`` turns, at most one of them in vain for each of the player's own cells. All its cells
    but those found are among the free ones, one of which is empty.
    """
    size = bits.sum(1)
    own = found = np.zeros(1, np.uint16)
    levels, edges, nodes = [], 0, 0
    while len(own):
        m, f = size[own], size[found]
        turns = m + player + abrupt * f
        least, most = np.maximum(f, turns - abrupt * m), np.minimum(turns, bits.shape[1] - m - 1)
        alive = (least <= most) & ~wins[player][own] & ~wins[1 - player][found]
        if abrupt and edges:
            alive[::2] &= (f < turns)[::2]  # what was just found was there before the opponent's last turn
        nodes += int(alive.sum())
        if nodes > limit:
            raise _too_large(game, limit)
        free = bits[~(own | found) & (len(bits) - 1)] & alive[:, None]
        count = free.sum(1)
        levels.append((np.where(alive, edges + count.cumsum() - count, -1).astype(np.int32), own, found))
        edges += int(count.sum())
        rows, cells = np.nonzero(free)
        bit = (1 << cells).astype(np.uint16)
        own, found = (
            np.stack([taken, empty], 1).ravel()
            for taken, empty in ((own[rows], own[rows] | bit), (found[rows] | bit, found[rows]))
        )
    first, mine, theirs = (np.concatenate(parts) for parts in zip(*levels, strict=True))
    return Side(player, first, mine, theirs, edges, nodes)
