"""Static evaluation of a chess position in centipawns: material, squares, mobility, pawns, kings.

A middlegame and an endgame score are summed separately and blended by the pieces that are left ("tapered"). Each side
is evaluated on a board that it plays upwards, so there is one kind of pawn and every table is White's. Short formulas
(distance from the centre, rank, shelter) compute the tables; they were written for this file and not tuned on games.

Against a bare king, driving it to the edge and bringing the own king near is worth more than anything else: a search of
a few plies then finds the mates with king and queen or rook.

Source of the idea of tapering: chessprogramming.org/Tapered_Eval; of fills: chessprogramming.org/Pawn_Fills.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.chess.bits import first, flip, popcount
from ...envs.chess.position import META, Bits, Position, bishop_attacks, king_attacks, knight_attacks, rook_attacks
from ...envs.stepping.jit import kernel

__all__ = ["VALUES", "evaluate"]

VALUES = np.array([0, 100, 320, 335, 500, 975, 0], np.int64)
"""[7] by kind: the value of a capture in the search."""

_U = np.uint64
_0, _1, _2, _4, _7, _8, _9, _16, _32 = (_U(k) for k in (0, 1, 2, 4, 7, 8, 9, 16, 32))
_NOT_A, _NOT_H = _U(0xFEFE_FEFE_FEFE_FEFE), _U(0x7F7F_7F7F_7F7F_7F7F)
_FILE_A = _U(0x0101_0101_0101_0101)
_LIGHT = _U(0x55AA_55AA_55AA_55AA)
_ALL = ~_0

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)
FULL_PHASE = 24
"""Minor pieces count 1, rooks 2, queens 4: 24 at the start."""


def _tables() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Two [7, 64] tables, middlegame and endgame: the score of a kind of piece on a square, material included."""
    middle, end = np.zeros((7, 64), np.int32), np.zeros((7, 64), np.int32)
    worth = {PAWN: (88, 112), KNIGHT: (325, 300), BISHOP: (338, 318), ROOK: (480, 535), QUEEN: (1000, 980)}
    for square in range(64):
        file, rank = square % 8, square // 8
        off_file, off_rank = abs(2 * file - 7), abs(2 * rank - 7)  # 1 in the middle, 7 at the edge
        off = off_file + off_rank
        middle_of = (4 - off_file // 2) * (off_file <= 3)  # d and e: 4, c and f: 3
        squares = {
            PAWN: ((0, -12, 2, 4, 6, 8, 10, 0)[rank] * middle_of // 2 + 4 * rank, (0, 0, 4, 10, 22, 42, 70, 0)[rank]),
            KNIGHT: (26 - 5 * off - 6 * (rank == 0), 16 - 4 * off),
            BISHOP: (14 - 2 * off - 8 * (rank == 0), 8 - off),
            ROOK: (18 * (rank == 6) + 3 * middle_of * (rank == 0), 12 * (rank == 6) + 2 * (rank >= 4)),
            QUEEN: (6 - off - 4 * (rank == 0), 14 - 2 * off),
            KING: (((18, 28, 14, -6, -2, -8, 30, 20)[file] if rank == 0 else 4 - 24 * rank), 36 - 6 * off),
        }
        for kind, (early, late) in squares.items():
            material = worth.get(kind, (0, 0))
            middle[kind, square], end[kind, square] = early + material[0], late + material[1]
    return middle, end


MIDDLE, END = _tables()
PASSED = np.array([0, 4, 8, 18, 38, 70, 110, 0], np.int32)
"""[8] by rank: bonus of a passed pawn in the endgame; half of it in the middlegame."""
ATTACK = np.array([0, 0, 10, 30, 60, 100, 150, 210, 270, 330, 390, 450, 500, 500, 500, 500, 500], np.int32)
"""[17] middlegame bonus by the weighted number of attacks on the squares around the enemy king."""


@kernel
def _up(pawns: Bits) -> Bits:
    """A set of squares and all squares above it on its files."""
    pawns |= pawns << _8
    pawns |= pawns << _16
    return pawns | pawns << _32


@kernel
def _down(pawns: Bits) -> Bits:
    """A set of squares and all squares below it on its files."""
    pawns |= pawns >> _8
    pawns |= pawns >> _16
    return pawns | pawns >> _32


@kernel
def _beside(squares: Bits) -> Bits:
    """The squares to the left and right of a set."""
    return (squares << _1) & _NOT_A | (squares >> _1) & _NOT_H


@kernel
def _pawns(pawns: Bits, theirs: Bits) -> Any:
    """(middlegame, endgame) score of the own pawn structure: doubled, isolated, passed."""
    middle: Any = 0
    end: Any = 0
    files = _up(pawns) | _down(pawns)
    doubled = np.int64(popcount(pawns & _down(pawns >> _8)))
    isolated = np.int64(popcount(pawns & ~_beside(files)))
    middle -= 8 * doubled + 12 * isolated
    end -= 16 * doubled + 12 * isolated
    guarded = _down(theirs >> _8)
    passed = pawns & ~(guarded | _beside(guarded)) & ~_down(pawns >> _8)
    while passed != _0:
        bonus = np.int64(PASSED[first(passed) >> _U(3)])
        passed &= passed - _1
        middle += bonus // 2
        end += bonus
    return middle, end


# Longer than most: one loop per kind of piece, each with its own weights; a shared loop would branch on the kind.
@kernel
def _half(b0: Bits, b1: Bits, b2: Bits, own: Bits) -> Any:
    """(middlegame, endgame, phase) of one side, which plays up the board."""
    every = b0 | b1 | b2
    other = every & ~own
    all_pawns = b0 & ~(b1 | b2)
    pawns, their_pawns = all_pawns & own, all_pawns & other
    knights, bishops, rooks, queens = b1 & ~(b0 | b2) & own, b0 & b1 & ~b2 & own, b2 & ~(b0 | b1) & own, b0 & b2 & own
    kings = b1 & b2
    king, their_king = first(kings & own), first(kings & other)
    zone = king_attacks(their_king) | kings & other
    open_to = ~(own & (all_pawns | kings)) & ~((their_pawns >> _7) & _NOT_A | (their_pawns >> _9) & _NOT_H)

    middle, end = _pawns(pawns, their_pawns)
    middle += np.int64(MIDDLE[KING, king])
    end += np.int64(END[KING, king])
    phase: Any = 0
    pressure: Any = 0
    left = pawns
    while left != _0:
        square = first(left)
        left &= left - _1
        middle += np.int64(MIDDLE[PAWN, square])
        end += np.int64(END[PAWN, square])
    left = knights
    while left != _0:
        square = first(left)
        left &= left - _1
        reach = knight_attacks(square)
        free = np.int64(popcount(reach & open_to)) - 4
        middle += np.int64(MIDDLE[KNIGHT, square]) + 4 * free
        end += np.int64(END[KNIGHT, square]) + 4 * free
        pressure += np.int64(reach & zone != _0)
        phase += 1
    left = bishops
    while left != _0:
        square = first(left)
        left &= left - _1
        reach = bishop_attacks(square, every ^ queens)
        free = np.int64(popcount(reach & open_to)) - 6
        middle += np.int64(MIDDLE[BISHOP, square]) + 4 * free
        end += np.int64(END[BISHOP, square]) + 5 * free
        pressure += np.int64(reach & zone != _0)
        phase += 1
    if bishops & _LIGHT != _0 and bishops & ~_LIGHT != _0:
        middle += 28
        end += 50
    left = rooks
    while left != _0:
        square = first(left)
        left &= left - _1
        reach = rook_attacks(square, every ^ (queens | rooks))
        free = np.int64(popcount(reach & open_to)) - 7
        middle += np.int64(MIDDLE[ROOK, square]) + 2 * free
        end += np.int64(END[ROOK, square]) + 4 * free
        file = _FILE_A << (square & _7)
        if file & pawns == _0:
            middle += 14 if file & their_pawns != _0 else 28
            end += 8
        pressure += 2 * np.int64(reach & zone != _0)
        phase += 2
    left = queens
    while left != _0:
        square = first(left)
        left &= left - _1
        reach = bishop_attacks(square, every) | rook_attacks(square, every)
        free = np.int64(popcount(reach & open_to)) - 13
        middle += np.int64(MIDDLE[QUEEN, square]) + free
        end += np.int64(END[QUEEN, square]) + 2 * free
        pressure += 3 * np.int64(reach & zone != _0)
        phase += 4
    # A king at home wants pawns in front of it.
    front = (kings & own) << _8
    shelter = (front | _beside(front)) | (front | _beside(front)) << _8
    middle += 12 * np.int64(popcount(shelter & pawns)) - 36
    middle += np.int64(ATTACK[min(pressure, 16)]) // 3
    return middle, end, phase


@kernel
def _edge(square: Bits) -> Any:
    """Distance from the centre, 2 to 14."""
    file, rank = np.int64(square & _7), np.int64(square >> _U(3))
    return abs(2 * file - 7) + abs(2 * rank - 7)


@kernel
def _apart(a: Bits, b: Bits) -> Any:
    """The number of king moves between two squares."""
    files = abs(np.int64(a & _7) - np.int64(b & _7))
    ranks = abs(np.int64(a >> _U(3)) - np.int64(b >> _U(3)))
    return max(files, ranks)


@kernel
def _hunt(hunter: Bits, hunted: Bits) -> Any:
    """Endgame score of hunting a bare king: higher the nearer it is to the edge, and to the hunter."""
    return 12 * _edge(hunted) + 8 * (7 - _apart(hunter, hunted))


@kernel
def cannot_win(b0: Bits, b1: Bits, b2: Bits, own: Bits) -> Any:
    """Whether a side has too little to mate with: no pawn, no rook, no queen, and one minor piece or two knights."""
    if own & (b0 & ~(b1 | b2) | b2 & ~b1) != _0:
        return False
    minors = own & b1 & ~b2
    return popcount(minors) <= _1 or (minors & b0 == _0 and popcount(minors) == _2)


@kernel
def evaluate(position: Position) -> Any:
    """Centipawns for the side to move, without search; 0 if neither side can win."""
    b0, b1, b2, b3 = position[0], position[1], position[2], position[3]
    every = b0 | b1 | b2
    white, black = every & ~b3, b3
    white_stuck, black_stuck = cannot_win(b0, b1, b2, white), cannot_win(b0, b1, b2, black)
    if white_stuck and black_stuck:
        return np.int64(0)
    middle, end, phase = _half(b0, b1, b2, white)
    middle_2, end_2, phase_2 = _half(flip(b0), flip(b1), flip(b2), flip(black))
    kings = b1 & b2
    king, king_2 = first(kings & white), first(kings & black)
    if black & ~kings == _0:
        end += _hunt(king, king_2)
    if white & ~kings == _0:
        end_2 += _hunt(king_2, king)
    share = min(phase + phase_2, FULL_PHASE)
    total = (middle - middle_2) * share + (end - end_2) * (FULL_PHASE - share)
    score = abs(total) // FULL_PHASE  # rounds towards 0 for either side
    if (total > 0 and white_stuck) or (total < 0 and black_stuck):
        score //= 8
    ahead = (total > 0) == (position[META] & _1 == _0)
    return (score if ahead else -score) + 10
