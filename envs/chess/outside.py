"""Rows of chess from outside: what their positions and histories must fulfil, so that all kernels can take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliases import State
from ..stepping.jit import kernel
from .bits import as_array, first, popcount
from .position import META, Bits, Position, attacked

__all__ = ["CONDITIONS", "flaw", "sound"]

_U = np.uint64
_0, _1, _2, _3, _4, _5, _7, _8, _24, _32, _63 = (_U(k) for k in (0, 1, 2, 3, 4, 5, 7, 8, 24, 32, 63))
_STEPPED, _PASSED, _CLOCK, _CLOCKS = _U(1 << 6), _U(0xFF << 5), _U(16), _U(0xFFFF)
_ENDS, _RANK_4, _RANK_5 = _U(0xFF000000000000FF), _U(0xFF << 24), _U(0xFF << 32)


@kernel
def _too_many(pawns: Bits, knights: Bits, bishops: Bits, rooks: Bits, queens: Bits) -> Any:
    """Whether one side has more pieces of these kinds than pawns could become; ``scan`` has room for no more."""
    count: Any = np.int64(popcount(pawns))
    for kind in (knights, bishops, rooks):
        extra: Any = np.int64(popcount(kind)) - 2
        count += extra if extra > 0 else 0
    extra = np.int64(popcount(queens)) - 1
    return count + (extra if extra > 0 else 0) > 8


@kernel
def flaw(position: Position) -> int:
    """Why kernels cannot take a position: 0 if they can, else 1 to 4 as in ``CONDITIONS``."""
    b0, b1, b2, b3, meta = position[0], position[1], position[2], position[3], position[META]
    every, kings, pawns = b0 | b1 | b2, b1 & b2 & ~b0, b0 & ~(b1 | b2)
    if b0 & b1 & b2 | b3 & ~every | pawns & _ENDS != _0:
        return 1
    for black in range(2):
        side = b3 if black else ~b3
        if popcount(kings & side) != _1:
            return 1
        knights, bishops, rooks = side & b1 & ~(b0 | b2), side & b0 & b1, side & b2 & ~(b0 | b1)
        if _too_many(side & pawns, knights, bishops, rooks, side & b0 & b2):
            return 1
        home, corners = _U(56 * black), b2 & ~(b0 | b1) & side
        rights = meta >> _U(1 + 2 * black)
        if rights & _3 != _0 and kings & side != _1 << home + _4:
            return 2
        if (rights & _1 != _0 and corners >> home + _7 & _1 == _0) or (
            rights & _2 != _0 and corners >> home & _1 == _0
        ):
            return 2
    mover = meta & _1
    if attacked(position, first(kings & (~b3 if mover else b3)), mover):
        return 3
    target = meta >> _7 & _63
    if meta & _STEPPED != _0:
        behind, origin = _1 << (target ^ _8), _1 << (target ^ _24)
        theirs = pawns & (~b3 if mover else b3)
        if target >> _3 != (_2 if mover else _5) or every & (_1 << target | origin) != _0 or theirs & behind == _0:
            return 4
    elif meta & _PASSED != _0:
        return 4
    return 0


@kernel
def sound(state: State, i: int) -> int:
    """A position that could be reached, a history that fits into the row, boards with at most one double step each."""
    row = state[i]
    position = as_array(row["position"])
    wrong = flaw(position)
    if wrong != 0:
        return wrong
    meta = position[META]
    clock, known = np.int64(meta >> _CLOCK & _CLOCKS), np.int64(row["known"])
    if clock > 150 or not 1 <= known <= clock + 1 or (clock == 150 and row["over"] == 0):
        return 5
    if not 1 <= np.int64(meta >> _32) < 2**31:
        return 5
    for word in range(3):
        beyond: Any = known - 64 * word
        if beyond < 64 and row["twice"][word] >> _U(beyond if beyond > 0 else 0) != _0:
            return 5
    for slot in range(8):
        board = row["boards"][slot]
        stepped = board[0] & board[1] & board[2]
        if stepped & (stepped - _1) != _0 or stepped & ~(_RANK_5 & board[3] | _RANK_4 & ~board[3]) != _0:
            return 6
    return 0


CONDITIONS = (
    "its pieces cannot be those of a game",
    "a king or a rook has left its square, but may castle",
    "the side that is not to move is in check",
    "no pawn has just stepped over the en passant square",
    "its clock, move number, number of known positions and repetitions do not agree",
    "a board of its history has a double step that no pawn can make",
)
"""By the numbers that ``sound`` returns."""
