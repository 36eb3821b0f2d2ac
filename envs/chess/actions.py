"""Action numbers of chess, and masks of them.

They are those of PettingZoo's chess_v6, from the mover's side of the board: for black the ranks are flipped. An action
is ``(8 * file + rank) * 73 + plane`` of the piece that moves (for black rank 0 is the eighth), and the plane is the
kind of move::

    0-55   like a queen: 8 * (distance - 1) + direction, directions ordered by file step, then rank step:
           0 (-1,-1)  1 (-1,0)  2 (-1,+1)  3 (0,-1)  4 (0,+1)  5 (+1,-1)  6 (+1,0)  7 (+1,+1)
           castling is the king's move; a pawn that reaches the last rank becomes a queen
    56-63  like a knight: (-2,-1) (-2,+1) (-1,-2) (-1,+2) (+1,-2) (+1,+2) (+2,-1) (+2,+1)
    64-72  underpromotion: 64 + 3 * (file step + 1) + (0 knight, 1 bishop, 2 rook)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stepping.jit import kernel, part
from .bits import clear, first
from .moves import DOUBLE, EAST, EP_FROM, EP_TO, KING_FROM, KING_TO, PIECES, SINGLE, WEST
from .position import META, Bits, Position, piece_at

__all__ = ["NUM_ACTIONS", "PACKED", "action_of", "move_of", "number", "pack"]

NUM_ACTIONS = 64 * 73
PACKED = 73
"""The uint64 elements of a packed mask."""

_U = np.uint64
_0, _1, _2, _3, _5, _6, _7, _8, _9, _12 = (_U(k) for k in (0, 1, 2, 3, 5, 6, 7, 8, 9, 12))
_16, _56, _63 = _U(16), _U(56), _U(63)

_SIDES = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y]
_JUMPS = [(x, y) for x in (-2, -1, 1, 2) for y in (-2, -1, 1, 2) if abs(x) != abs(y)]
_PLANES = (
    [(n * x, n * y) for n in range(1, 8) for x, y in _SIDES] + _JUMPS + [(x, 1) for x in (-1, 0, 1) for _ in "nbr"]
)

STEPS: NDArray[np.int64] = np.array([x + 8 * y for x, y in _PLANES])
"""[73] what a plane adds to the number of the start square."""

PROMOTED: NDArray[np.int64] = np.array([0] * 64 + [2, 3, 4] * 3)
"""[73] the kind that a plane promotes to; 0 for none or a queen."""


def _actions() -> NDArray[np.int16]:
    """[64, 64] the action from one square to another (without underpromotions); 0 if there is none."""
    out = np.zeros((64, 64), np.int16)
    for start in range(64):
        for plane, (dx, dy) in enumerate(_PLANES[:64]):
            x, y = start % 8 + dx, start // 8 + dy
            if 0 <= x < 8 and 0 <= y < 8:
                out[start, 8 * y + x] = (8 * (start % 8) + start // 8) * 73 + plane
    return out


ACTIONS = _actions()


@kernel
def number(start: Bits, target: Bits, promotion: Bits) -> Any:
    """The action of a move seen from the mover's side."""
    if promotion == _0 or promotion == _5:  # noqa: SIM109 (a tuple is slow)
        return np.int64(ACTIONS[start, target])
    plane = _U(64) + _3 * (target - start - _7) + promotion - _2
    return np.int64((_8 * (start & _7) + (start >> _3)) * _U(73) + plane)


@kernel
def action_of(position: Position, move: Any) -> Any:
    """The action number of a legal move."""
    code = _U(move)
    turned = _56 * (position[META] & _1)
    return number(code & _63 ^ turned, code >> _6 & _63 ^ turned, code >> _12)


@kernel
def move_of(position: Position, action: Any) -> Any:
    """The move of an action number in a position; -1 if its target is off the board or its start square is empty.

    Also -1 for a promotion by another piece or before the last rank. The move is legal only if the action is.
    """
    corner = action // 73
    plane = action - 73 * corner
    start = (corner & 7) * 8 + (corner >> 3)
    target = start + STEPS[plane]
    if not 0 <= target < 64 or ACTIONS[start, target] == 0 or (plane < 64 and ACTIONS[start, target] != action):
        return -1
    turned = np.int64(56 * (position[META] & _1))
    kind = piece_at(position, _U(start ^ turned)) & _7
    promotion = PROMOTED[plane]
    if kind == _0 or (promotion != 0 and (kind != _1 or target < 56)):
        return -1
    if kind == _1 and target >= 56 and promotion == 0:
        promotion = 5
    return (start ^ turned) | (target ^ turned) << 6 | promotion << 12


@part
def pack(sets: NDArray[np.uint64], end: int, packed: NDArray[np.uint64]) -> None:
    """The actions of sets written by ``scan``, as bits of packed [>= PACKED]."""
    clear(packed, 8 * PACKED)
    for way in range(4):
        targets = sets[WEST] if way == 0 else sets[EAST] if way == 1 else sets[SINGLE] if way == 2 else sets[DOUBLE]
        back = _7 if way == 0 else _9 if way == 1 else _8 if way == 2 else _16
        while targets != _0:
            target = first(targets)
            targets &= targets - _1
            _mark(packed, np.int64(ACTIONS[target - back, target]))
            if target >= _56:
                for kind in range(2, 5):
                    _mark(packed, number(target - back, target, _U(kind)))
    takers = sets[EP_FROM]
    while takers != _0:
        _mark(packed, np.int64(ACTIONS[first(takers), sets[EP_TO]]))
        takers &= takers - _1
    for at in range(PIECES - 2, end, 2):
        start = sets[KING_FROM] if at < PIECES else sets[at]
        targets = sets[KING_TO] if at < PIECES else sets[at + 1]
        while targets != _0:
            _mark(packed, np.int64(ACTIONS[start, first(targets)]))
            targets &= targets - _1


@kernel
def _mark(packed: NDArray[np.uint64], action: Any) -> None:
    packed[action >> 6] |= _1 << _U(action & 63)
