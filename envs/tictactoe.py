"""Tic-tac-toe. Three in a row wins.

Actions, observation and rewards are those of PettingZoo's tictactoe_v3. Cells are numbered column by column::

    0 | 3 | 6
    --+---+--
    1 | 4 | 7
    --+---+--
    2 | 5 | 8

A set of cells is a 9-bit number, bit a for cell a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, Mask, Player, Rewards, State, Status
from .answers import legal_words
from .core import Game, GameInfo, Kernels
from .stepping.defaults import row_mover
from .stepping.jit import kernel
from .stepping.machine import store_word
from .stepping.rng import Word

__all__ = ["tictactoe"]

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
FULL = 0b111_111_111

DTYPE = np.dtype([("own", np.uint16), ("other", np.uint16), ("mover", np.uint8), ("over", np.uint8)])
"""own, other: cells of the mover and of the other player; mover: 0 is X and begins; over: 1 when the game has ended."""

WON: NDArray[np.bool_] = np.array(
    [any(all(cells >> c & 1 for c in line) for line in LINES) for cells in range(FULL + 1)], np.bool_
)
"""[512] whether a set of cells contains a line."""

PAIRS: NDArray[np.uint64] = np.array([sum((k >> c & 1) << 16 * c for c in range(4)) for k in range(16)], np.uint64)
"""[16] four cells, one in every other byte of 64 bits: the own plane of an observation; shifted up one byte, the other
plane.
"""

BYTES: NDArray[np.uint64] = np.array([sum((k >> c & 1) << 8 * c for c in range(8)) for k in range(256)], np.uint64)
"""[256] eight cells, one byte each: part of a mask."""


@kernel
def reset(state: State, i: int, seed: int) -> None:
    """Empty board, X to move; nothing is random."""
    row = state[i]
    row["own"] = 0
    row["other"] = 0
    row["mover"] = 0
    row["over"] = 0


@kernel
def legal(state: State, i: int, player: Player, mask: Mask) -> None:
    """Empty cells, for the mover of a running game."""
    row = state[i]
    free = ~(row["own"] | row["other"]) & FULL
    if row["over"] != 0 or row["mover"] != player:
        free = 0
    store_word(mask, 0, BYTES[free & 255])
    mask[8] = free >> 8


@kernel
def step(state: State, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """The mover marks a cell."""
    row = state[i]
    player = row["mover"]
    marked = row["own"] | (1 << actions[player])
    other = row["other"]
    row["own"] = other
    row["other"] = marked
    row["mover"] = 1 - player
    if WON[marked]:
        rewards[player] = 1.0
        rewards[1 - player] = -1.0
        row["over"] = 1
        return TERMINATED
    if marked | other == FULL:
        row["over"] = 1
        return TERMINATED
    return RUNNING


@kernel
def observe(state: State, i: int, player: Player, out: NDArray[np.int8]) -> None:
    """[3, 3, 2] own marks, then the opponent's, as ``player`` sees them; cell a is [a // 3, a % 3]."""
    row = state[i]
    own, other = row["own"], row["other"]
    if row["mover"] != player:
        own, other = other, own
    store_word(out, 0, PAIRS[own & 15] | PAIRS[other & 15] << np.uint64(8))
    store_word(out, 8, PAIRS[own >> 4 & 15] | PAIRS[other >> 4 & 15] << np.uint64(8))
    out[2, 2, 0] = own >> 8
    out[2, 2, 1] = other >> 8


@kernel
def key(state: State, i: int) -> Word:
    """Both sets of cells and the mover, packed: equal keys mean equal positions."""
    row = state[i]
    return np.uint64(np.int64(row["own"]) | np.int64(row["other"]) << 9 | np.int64(row["mover"]) << 18)


@kernel
def sound(state: State, i: int) -> int:
    """No cell is marked twice."""
    return int(state[i]["own"] & state[i]["other"] != 0)


def new_state(n: int) -> State:
    """N empty boards."""
    return np.zeros(n, DTYPE)


def marks(state: State, i: int) -> str:
    """Nine characters in action order: X, O or a dot."""
    row = state[i]
    sets = (int(row["own"]), int(row["other"]))
    x, o = sets if row["mover"] == 0 else sets[::-1]
    return "".join("X" if x >> c & 1 else "O" if o >> c & 1 else "." for c in range(9))


def describe(state: State, i: int, player: Player) -> str:
    """The board with the numbers of its empty cells, the player's mark and the legal actions."""
    board = [str(c) if mark == "." else mark for c, mark in enumerate(marks(state, i))]
    lines = [" " + " | ".join(board[row::3]) for row in range(3)]
    mask = np.zeros(9, np.int8)
    legal(state, i, player, mask)
    ask = legal_words([str(cell) for cell in np.flatnonzero(mask)])
    return "\n---+---+---\n".join(lines) + f"\nYou are {'XO'[player]}. {ask}"


def compact(state: State, i: int, player: Player) -> str:
    """12 characters: own mark, a space, nine cells in action order, ``>``."""
    return f"{'XO'[player]} {marks(state, i)}>"


def tictactoe() -> Game:
    """Tic-tac-toe, with the actions and observations of PettingZoo's tictactoe_v3."""
    return Game(
        info=GameInfo(name="tictactoe", players=2, num_actions=9, observation_shape=(3, 3, 2), max_cycles=9),
        kernels=Kernels(reset, row_mover, legal, step, observe, key, sound=sound),
        new_state=new_state,
        ranges={"own": (0, FULL), "other": (0, FULL), "mover": (0, 1), "over": (0, 1)},
        conditions=("own and other share a cell",),
        rules=(
            "Tic-tac-toe on a 3x3 board. Two players, X and O, mark one empty cell in turn; X begins. "
            "Three own marks in a row, column or diagonal win; a full board without a line is a draw."
        ),
        goal="Mark three cells in a row, column or diagonal.",
        describe=describe,
        compact=compact,
    )
