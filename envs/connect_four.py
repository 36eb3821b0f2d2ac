"""Connect four. Stones fall to the bottom of a column; four in a row win.

Actions, observation and rewards are those of PettingZoo's connect_four_v3: action c drops a stone into column c.
A set of cells is a 64-bit number, a byte per row from the bottom up, bit 8 * height + column::

    40 41 42 43 44 45 46   .   the top row of the board, row 0 of an observation
     .  .  .  .  .  .  .   .
     8  9 10 11 12 13 14   .
     0  1  2  3  4  5  6   .   the bottom row, row 5 of an observation

Bit 7 of every byte is a column that is never filled, so a shifted set cannot wrap around the edge. Shifts by 1, 8, 9
and 7 look along rows, columns and both diagonals.

Source: the shift-and-mask test for four in a row is J. Tromp's (Fhourstones); his board is turned on its side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, Action, Mask, Player, Rewards, State, Status
from ..errors import NotationError
from .answers import legal_words
from .core import Game, GameInfo, Kernels
from .stepping.defaults import row_mover
from .stepping.jit import kernel
from .stepping.machine import store_word
from .stepping.rng import Word

__all__ = ["COLUMNS", "ROWS", "board", "connect_four", "four"]

ROWS, COLUMNS = 6, 7

DTYPE = np.dtype(
    [("own", np.uint64), ("other", np.uint64), ("mover", np.uint8), ("over", np.uint8), ("last", np.uint8)], align=True
)
"""own, other: cells of the mover and of the other player; mover: 0 begins; over: 1 when the game has ended; last: the
column of the last stone, for rendering only.
"""

_BOTTOM = np.uint64(0x7F)
_BOARD = np.uint64(0x7F7F_7F7F_7F7F)
_COLUMN = np.uint64(0x0101_0101_0101)
_TOP = np.uint64(8 * (ROWS - 1))
_0, _1, _2, _3, _7, _8, _9, _14, _16, _18 = (np.uint64(n) for n in (0, 1, 2, 3, 7, 8, 9, 14, 16, 18))

_FOURS, _ONES = np.uint64(0x0F0F), np.uint64(0x0101_0101_0101_0101)
_SPREAD = np.uint64(0x2000_4000_8001)
"""Multiplying by it moves bit c (c < 4) to bit 16 c and bit 8 + c to bit 16 c + 8: both planes of four cells of an
observation. No two terms of the product share a bit, so there are no carries.
"""


@kernel
def four(cells: Word) -> Any:
    """Whether a set of cells holds four in a row."""
    pairs = cells & cells >> _1
    found = pairs & pairs >> _2
    pairs = cells & cells >> _8
    found |= pairs & pairs >> _16
    pairs = cells & cells >> _7
    found |= pairs & pairs >> _14
    pairs = cells & cells >> _9
    found |= pairs & pairs >> _18
    return found != 0


@kernel
def reset(state: State, i: int, seed: int) -> None:
    """Empty board, player 0 to move; nothing is random."""
    row = state[i]
    row["own"] = 0
    row["other"] = 0
    row["mover"] = 0
    row["over"] = 0
    row["last"] = 0


@kernel
def legal(state: State, i: int, player: Player, mask: Mask) -> None:
    """Columns whose top cell is empty, for the mover of a running game."""
    row = state[i]
    free = ~(row["own"] | row["other"]) >> _TOP & _BOTTOM
    if row["over"] != 0 or row["mover"] != player:
        free = _0
    for c in range(COLUMNS):
        mask[c] = free >> np.uint64(c) & _1


@kernel
def step(state: State, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """The mover drops a stone into a column."""
    row = state[i]
    player = row["mover"]
    own, other = row["own"], row["other"]
    taken = own | other
    stone = ~taken & (taken << _8 | _BOTTOM) & _COLUMN << np.uint64(actions[player])
    own |= stone
    row["own"] = other
    row["other"] = own
    row["mover"] = 1 - player
    row["last"] = actions[player]
    if four(own):
        rewards[player] = 1.0
        rewards[1 - player] = -1.0
        row["over"] = 1
        return TERMINATED
    if own | other == _BOARD:
        row["over"] = 1
        return TERMINATED
    return RUNNING


@kernel
def observe(state: State, i: int, player: Player, out: NDArray[np.int8]) -> None:
    """[6, 7, 2] own stones, then the opponent's, as ``player`` sees them; row 0 is the top.

    A row has 14 bytes, written as two 8-byte numbers that share the middle cell.
    """
    row = state[i]
    own, other = row["own"], row["other"]
    if row["mover"] != player:
        own, other = other, own
    for r in range(ROWS):
        height = np.uint64(8 * (ROWS - 1 - r))
        both = own >> height & _BOTTOM | (other >> height & _BOTTOM) << _8
        store_word(out, 14 * r, (both & _FOURS) * _SPREAD & _ONES)
        store_word(out, 14 * r + 6, (both >> _3 & _FOURS) * _SPREAD & _ONES)


@kernel
def key(state: State, i: int) -> Word:
    """The mover's cells plus the first free cell of each column: 55 bits that identify the position."""
    row = state[i]
    taken = row["own"] | row["other"]
    return row["own"] | (~taken & (taken << _8 | _BOTTOM))


@kernel
def sound(state: State, i: int) -> int:
    """No cell is taken twice, and under every stone there is another or the bottom."""
    row = state[i]
    taken = row["own"] | row["other"]
    if row["own"] & row["other"] != 0:
        return 1
    return 2 if taken & ~(_BOARD & (taken << _8 | _BOTTOM)) != 0 else 0


def new_state(n: int) -> State:
    """N empty boards."""
    return np.zeros(n, DTYPE)


def board(state: State, i: int) -> str:
    """42 characters, row by row from the top: X, O or a dot. X is player 0."""
    row = state[i]
    sets = (int(row["own"]), int(row["other"]))
    x, o = sets if row["mover"] == 0 else sets[::-1]
    cells = [8 * height + column for height in reversed(range(ROWS)) for column in range(COLUMNS)]
    return "".join("X" if x >> c & 1 else "O" if o >> c & 1 else "." for c in cells)


def describe(state: State, i: int, player: Player) -> str:
    """The board under its column numbers, the player's mark and the legal actions."""
    cells = board(state, i)
    lines = [" ".join(map(str, range(COLUMNS)))]
    lines += [" ".join(cells[r : r + COLUMNS]) for r in range(0, len(cells), COLUMNS)]
    ask = legal_words([str(column) for column in _free_columns(state, i, player)])
    return "\n".join(lines) + f"\nYou are {'XO'[player]}. {ask}"


def compact(state: State, i: int, player: Player) -> str:
    """45 characters: own mark, a space, the cells row by row from the top, ``>``."""
    return f"{'XO'[player]} {board(state, i)}>"


def _free_columns(state: State, i: int, player: Player) -> list[Action]:
    row = state[i]
    if row["over"] or row["mover"] != player:
        return []
    return [c for c, mark in enumerate(board(state, i)[:COLUMNS]) if mark == "."]


def play_moves(state: State, i: int, moves: Any) -> None:
    """Reset option ``moves``: play columns on row i, which holds the start position.

    ``moves`` are digits 0..6, first move first, with or without spaces or commas between: ``"3 3 4"``.

    Raises:
        NotationError: not a text, another character, a full column, or a move that ends the game.
    """
    if not isinstance(moves, str):
        raise NotationError(f"moves={moves!r} came; connect_four wants a text of columns, e.g. '3 3 4'.")
    actions, rewards = np.zeros(2, np.int32), np.zeros(2, np.float32)
    played: list[Action] = []
    for at, character in enumerate(moves):
        if character in " ,\n\t":
            continue
        where = f"Move {len(played) + 1} of {moves!r} is {character!r}, at character {at}"
        if character not in "0123456":
            raise NotationError(f"{where}; columns are 0..6.", at, played)
        if int(character) not in _free_columns(state, i, int(state[i]["mover"])):
            raise NotationError(f"{where}, but that column is full.", at, played)
        actions[:] = int(character)
        if step(state, i, actions, rewards) != RUNNING:
            raise NotationError(f"{where}; it ends the game. Start from a position with a move to play.", at, played)
        played.append(int(character))


def connect_four() -> Game:
    """Connect four, with the actions and observations of PettingZoo's connect_four_v3."""
    return Game(
        info=GameInfo(
            name="connect_four",
            players=2,
            num_actions=COLUMNS,
            observation_shape=(ROWS, COLUMNS, 2),
            max_cycles=ROWS * COLUMNS,
        ),
        kernels=Kernels(reset, row_mover, legal, step, observe, key, sound=sound),
        new_state=new_state,
        ranges={"mover": (0, 1), "over": (0, 1), "last": (0, COLUMNS - 1)},
        conditions=(
            "own and other share a cell",
            "own or other has a stone that is not on the board, or has nothing under it",
        ),
        rules=(
            "Connect four on a board of 7 columns and 6 rows. Two players, X and O, drop a stone into a column in "
            "turn, where it falls to the lowest empty cell; X begins. Four own stones in a row, column or diagonal "
            "win; a full board without a line is a draw."
        ),
        goal="Get four of your stones into a row, column or diagonal.",
        describe=describe,
        compact=compact,
        options={"moves": play_moves},
    )
