"""What the players of chess observe: the planes of PettingZoo's chess_v6."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import Player, State
from ..stepping.jit import kernel, part
from ..stepping.machine import store_word
from .bits import clear, first, flip, put_byte
from .position import META, Bits

__all__ = ["observe"]

_U = np.uint64
_0, _1, _2, _3, _4, _6, _8, _16, _24, _32, _48 = (_U(k) for k in (0, 1, 2, 3, 4, 6, 8, 16, 24, 32, 48))
_STEPPED, _CLOCK, _CLOCKS = _U(1 << 6), _U(16), _U(0xFFFF)
CELL = 111
"""Bytes per square of an observation: 7, then 13 for each of eight boards."""


@kernel
def observe(state: State, i: int, player: Player, out: NDArray[np.bool_]) -> None:
    """[8, 8, 111] the board from ``player``'s side, the rank farthest from it first, and the seven boards before.

    Planes 0-3: own queenside and kingside castling, then the other's; 4: player is black; 5: halfmove clock, a 1 in one
    cell; 6: ones. From 7 on 13 planes per board, the latest first: own pawn, knight, bishop, rook, queen, king, the
    other's six, and whether the position had occurred before. A pawn that just made a double step appears on its side's
    first rank instead.
    """
    row = state[i]
    meta = row["position"][META]
    rights = meta >> _1 & _U(15)
    black = player != 0
    if black:
        rights = rights >> _2 | (rights & _3) << _2
    cell = (rights >> _1 & _1) | (rights & _1) << _8 | (rights >> _3) << _16 | (rights >> _2 & _1) << _24
    cell |= _U(black) << _32 | _1 << _48
    clear(out, 64 * CELL)
    for c in range(64):
        store_word(out, CELL * c, cell)
    clock: Any = min(np.int64(meta >> _CLOCK & _CLOCKS) >> 1, 63)
    put_byte(out, CELL * (clock if black else clock ^ 56) + 5)
    plies: Any = np.int64(row["plies"])
    history, repeated = row["boards"], np.int64(row["repeated"])
    known = min(plies + 1, 8)
    latest = history[plies & 7]
    same = ~(latest[0] & latest[1] & latest[2])
    for t in range(1, known):
        board = history[plies - t & 7]
        same &= ~(latest[0] ^ board[0] | latest[1] ^ board[1] | latest[2] ^ board[2] | latest[3] ^ board[3])
    _observe_pieces(latest, same, black, 7, known, out)
    for t in range(known):
        slot = plies - t & 7
        _observe_pieces(history[slot], ~same, black, 7 + 13 * t, 1, out)
        if repeated >> slot & 1:
            for c in range(64):
                put_byte(out, CELL * c + 19 + 13 * t)


@part
def _observe_pieces(
    board: NDArray[np.uint64], where: Bits, black: bool, at: int, times: int, out: NDArray[np.bool_]
) -> None:
    """Mark a board's pieces on the squares ``where``, from byte ``at`` of each cell, on ``times`` boards in a row."""
    b0, b1, b2, b3 = board[0] & where, board[1] & where, board[2] & where, board[3]
    stepped = b0 & b1 & b2
    if stepped != _0:
        home = stepped << _24 if stepped & b3 != _0 else stepped >> _24
        theirs = (stepped & b3 != _0) != black
        b0, b1, b2 = b0 ^ stepped, b1 ^ stepped, b2 ^ stepped
        put_byte(out, CELL * np.int64(first(home if black else flip(home))) + at + (6 if theirs else 0))
    if black:
        b3 = ~b3
    else:
        b0, b1, b2, b3 = flip(b0), flip(b1), flip(b2), flip(b3)
    every = b0 | b1 | b2
    while every != _0:
        c = first(every)
        every &= every - _1
        kind = (b0 >> c & _1) + (b1 >> c & _1) * _2 + (b2 >> c & _1) * _4 + (b3 >> c & _1) * _6
        byte = np.int64(c * _U(CELL) + kind) + at - 1
        for t in range(times):
            put_byte(out, byte + 13 * t)
