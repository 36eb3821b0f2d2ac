"""Connect four solved exactly: ``solve("3 3 4")``. Endgames take milliseconds; positions after few moves take long.

A score is 0 for a draw, positive where the player to move wins and negative where it loses, the larger the sooner the
game ends: 1 for a win with the player's last stone, 2 for one with the last but one, and so on.

Negamax with null windows and a transposition table, as P. Pons describes in "Solving Connect 4: how to build a perfect
AI" (2015): moves that let the opponent win at once are never searched; the others are ordered by how many winning
cells they make, central columns first. Sets of cells are 64-bit integers as in ``envs/connect_four.py``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aliases import State
from ...envs.connect_four import COLUMNS, ROWS, connect_four
from ...envs.stepping.jit import kernel
from ...envs.stepping.rng import Word, mix64
from ...errors import UsageError

__all__ = ["Table", "new_table", "score", "scores", "solve"]

CELLS = ROWS * COLUMNS
_BOTTOM, _BOARD, _COLUMN = np.uint64(0x7F), np.uint64(0x7F7F_7F7F_7F7F), np.uint64(0x0101_0101_0101)
_0, _1, _7, _8, _9, _16, _24, _255 = (np.uint64(n) for n in (0, 1, 7, 8, 9, 16, 24, 255))
_UPPER, _LOWER = 64, 192
"""An upper or a lower bound is stored as its value plus this offset."""


class Table(NamedTuple):
    """The memory of a search, reused by the next one.

    Attributes:
        entries: [a power of two] uint64 transpositions: 55 bits of exact key, then a bound in 8; 0 is empty.
        moves: [42, 7] uint64 the moves at each depth, best first.
        ranks: [42, 7] int64 the ranks that order them.
        nodes: [1] int64 positions visited.
    """

    entries: NDArray[np.uint64]
    moves: NDArray[np.uint64]
    ranks: NDArray[np.int64]
    nodes: NDArray[np.int64]


def new_table(bits: int = 20) -> Table:
    """An empty table of 2 ** ``bits`` entries, 8 bytes each."""
    moves = np.zeros((CELLS, COLUMNS), np.uint64)
    return Table(np.zeros(1 << bits, np.uint64), moves, np.zeros((CELLS, COLUMNS), np.int64), np.zeros(1, np.int64))


@kernel
def _count(cells: Word) -> Any:
    """How many bits are set."""
    found = 0
    while cells != _0:
        cells &= cells - _1
        found += 1
    return found


@kernel
def _along(cells: Word, shift: Word) -> Any:
    """Cells that complete four in a row in one direction: at either end of three stones, or in a gap between them."""
    two = shift + shift
    ahead = (cells << shift) & (cells << two)
    behind = (cells >> shift) & (cells >> two)
    found = ahead & (cells << two + shift | cells >> shift)
    return found | behind & (cells << shift | cells >> two + shift)


@kernel
def _winning(own: Word, taken: Word) -> Any:
    """Empty cells, playable now or not, with which ``own`` would have four in a row."""
    found = (own << _8) & (own << _16) & (own << _24)
    found |= _along(own, _1) | _along(own, _7) | _along(own, _9)
    return found & (_BOARD ^ taken)


@kernel
def _playable(taken: Word) -> Any:
    """The lowest free cell of each column that has one."""
    return ~taken & (taken << _8 | _BOTTOM) & _BOARD


@kernel
def _safe(own: Word, taken: Word) -> Any:
    """Playable cells after which the opponent cannot win at once."""
    threats = _winning(own ^ taken, taken)
    cells = _playable(taken)
    forced = cells & threats
    if forced != _0:
        if forced & (forced - _1) != _0:
            return _0
        cells = forced
    return cells & ~(threats >> _8)


@kernel
def _sort_moves(own: Word, taken: Word, cells: Word, depth: int, table: Table) -> Any:
    """Write the moves among ``cells`` to the row of this depth, best first; returns their number."""
    moves, ranks = table.moves[depth], table.ranks[depth]
    count = 0
    for k in range(COLUMNS):
        column = 3 + (k + 1) // 2 * (1 - k % 2 * 2)  # 3 2 4 1 5 0 6
        move = cells & _COLUMN << np.uint64(column)
        if move == _0:
            continue
        rank = _count(_winning(own | move, taken | move))
        at = count
        while at > 0 and ranks[at - 1] < rank:
            moves[at], ranks[at] = moves[at - 1], ranks[at - 1]
            at -= 1
        moves[at], ranks[at] = move, rank
        count += 1
    return count


@kernel
def _search(own: Word, taken: Word, depth: int, low: Any, high: Any, table: Table) -> Any:
    """The score of a position whose mover cannot win at once: exact between low and high, otherwise a bound.

    ``depth`` is the number of stones on the board.
    """
    table.nodes[0] += 1
    cells = _safe(own, taken)
    if cells == _0:
        return -((CELLS - depth) // 2)
    if depth >= CELLS - 2:
        return 0
    low = max(low, -((CELLS - 2 - depth) // 2))
    if low >= high:
        return low
    high = min(high, (CELLS - 1 - depth) // 2)
    name = own | (~taken & (taken << _8 | _BOTTOM))
    at = np.int64(mix64(name) & np.uint64(table.entries.shape[0] - 1))
    entry = table.entries[at]
    if entry >> _8 == name:
        bound = np.int64(entry & _255)
        if bound < 128:
            high = min(high, bound - _UPPER)
        else:
            low = max(low, bound - _LOWER)
    if low >= high:
        return low if entry & _255 >= np.uint64(128) and entry >> _8 == name else high
    for k in range(_sort_moves(own, taken, cells, depth, table)):
        found = -_search(own ^ taken, taken | table.moves[depth, k], depth + 1, -high, -low, table)
        if found >= high:
            table.entries[at] = name << _8 | np.uint64(found + _LOWER)
            return found
        low = max(low, found)
    table.entries[at] = name << _8 | np.uint64(low + _UPPER)
    return low


@kernel
def _score(own: Word, taken: Word, depth: int, table: Table) -> Any:
    """The score of any position that is not over, found by a series of null windows."""
    if _winning(own, taken) & _playable(taken) != _0:
        return (CELLS + 1 - depth) // 2
    low, high = -((CELLS - depth) // 2), (CELLS + 1 - depth) // 2
    while low < high:
        middle = low + (high - low) // 2
        if middle <= 0 and low // 2 < middle:
            middle = -((-low) // 2)
        elif middle >= 0 and high // 2 > middle:
            middle = high // 2
        found = _search(own, taken, depth, middle, middle + 1, table)
        if found <= middle:
            high = found
        else:
            low = found
    return low


@cache
def _table() -> Table:
    return new_table()


def score(state: State, i: int, table: Table | None = None) -> int:
    """The score of row i for the player to move.

    ``table`` is scratch space; by default the process keeps one of 8 MB.

    Raises:
        UsageError: the game is over in that row.
    """
    row = state[i]
    if row["over"]:
        raise UsageError("The game is over in this position; there is nothing left to solve.")
    own, taken = np.uint64(row["own"]), np.uint64(row["own"] | row["other"])
    return int(_score(own, taken, int(_count(taken)), table or _table()))


def scores(state: State, i: int, table: Table | None = None) -> list[int | None]:
    """[7] the score of playing each column in row i, for the player to move; None: full column. See ``score``."""
    game, found = connect_four(), list[int | None]()
    game.kernels.reset(after := game.new_state(1), 0, np.uint64(0))
    free = game.legal_actions(state, i, game.mover(state, i))
    rewards = np.zeros(2, np.float32)
    for column in range(COLUMNS):
        after[0] = state[i]
        if column not in free:
            found.append(None)
        elif game.kernels.step(after, 0, np.full(2, column, np.int32), rewards):
            taken = int(_count(np.uint64(state[i]["own"] | state[i]["other"])))
            found.append((CELLS + 1 - taken) // 2 if rewards.any() else 0)
        else:
            found.append(-score(after, 0, table))
    return found


def solve(moves: str = "", table: Table | None = None) -> int:
    """The score after some moves from the start, written as in the reset option ``moves``: ``"3 3 4"``, columns 0..6.

    Raises:
        NotationError: the moves cannot be played, or end the game.
    """
    game = connect_four()
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    game.options["moves"](state, 0, moves)
    return score(state, 0, table)
