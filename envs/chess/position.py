"""A chess position as six uint64, and queries on it: the basis of moves, rules and search.

A position is one row ``[WORDS] uint64``; many are ``[N, WORDS]``. Copying one copies 48 bytes. Square s is bit s: a1 =
0, b1 = 1, ... h8 = 63. The elements::

    0 1 2   the kind of the piece on each square, as three bits: PAWN 1, KNIGHT 2, BISHOP 3, ROOK 4, QUEEN 5, KING 6;
            0 where the square is empty
    3       black pieces
    4 META  bit 0      side to move: 0 white, 1 black
            bits 1-4   castling rights: white kingside, white queenside, black kingside, black queenside
            bit 5      an en passant capture is legal now
            bit 6      the last move was a pawn's double step
            bits 7-12  the square it stepped over (0 without one)
            bits 16-31 halfmove clock: plies since the last capture or pawn move
            bits 32-63 fullmove number
    5 KEY   Zobrist hash of pieces, side, castling rights and (where a capture is legal) the en passant file

A piece's *code* is its kind, plus 8 for black: 1..6 and 9..14, 0 for an empty square. Squares, codes and sets in
kernels are np.uint64. A *move* is an int: ``from | to << 6 | promotion << 12``, promotion being KNIGHT..QUEEN or 0;
castling is the king's move of two files. A move has no meaning without its position.

Kernels (``position`` is a row [WORDS], changed by ``make`` and ``pass_turn`` alone)::

    side(position)                  0 white, 1 black to move
    castling(position)              4 bits, as in META: 1 K, 2 Q, 4 k, 8 q
    en_passant(position)            the square behind a pawn that can be taken en passant now, else 64
    halfmoves(position), fullmoves(position)
    piece_at(position, square)      the code of the piece on it
    pieces(position, kind, black)   the set of one side's pieces of a kind
    occupied(position)              the set of all pieces
    colour(position, black)         the set of one side's pieces
    attacked(position, square, black)   whether that side attacks a square
    in_check(position)              whether the side to move is in check
    copy(position, into)            writes it over another row (row assignment in numba allocates)
    make(position, move)            plays a legal move in place
    pass_turn(position)             passes the turn (a search's null move; not in check)
    rekey(position)                 recomputes KEY
    knight_attacks, king_attacks(square); bishop_attacks, rook_attacks(square, occupied)
    pawn_attacks(square, black)     squares that a pawn there attacks

The file is longer than most: tables are compiled into the kernels that read them, so both share a file.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..stepping.jit import kernel
from .bits import first, rays

__all__ = [
    "BISHOP",
    "BLACK",
    "KEY",
    "KING",
    "KNIGHT",
    "META",
    "PAWN",
    "QUEEN",
    "ROOK",
    "WHITE",
    "WORDS",
    "Bits",
    "Position",
    "attacked",
    "bishop_attacks",
    "castling",
    "colour",
    "copy",
    "en_passant",
    "fullmoves",
    "halfmoves",
    "in_check",
    "king_attacks",
    "knight_attacks",
    "make",
    "occupied",
    "pass_turn",
    "pawn_attacks",
    "piece_at",
    "pieces",
    "rekey",
    "rook_attacks",
    "side",
]

Position: TypeAlias = NDArray[np.uint64]
"""[WORDS] one position, or [N, WORDS] many."""

Bits: TypeAlias = Any
"""A set of squares, a square or a code, np.uint64 in kernels."""

WORDS, META, KEY = 6, 4, 5
WHITE, BLACK = 0, 1
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)

_U = np.uint64
_0, _1, _2, _3, _4, _5, _6, _7, _8, _9 = (_U(k) for k in range(10))
_63, _64 = _U(63), _U(64)
_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN, _KING = _1, _2, _3, _4, _5, _6
_NOT_A, _NOT_H = _U(0xFEFE_FEFE_FEFE_FEFE), _U(0x7F7F_7F7F_7F7F_7F7F)
_EP_LEGAL, _EP_STEPPED, _EP_ALL = _U(1 << 5), _U(1 << 6), _U(0xFF << 5)
_SQUARE, _RIGHTS = _U(7), _U(0x1E)
_CLOCK, _CLOCKS, _MOVE_NUMBER = _U(16), _U(0xFFFF), _U(32)


# -- tables ------------------------------------------------------------------------------------------------------------


def _steps(moves: list[tuple[int, int]]) -> NDArray[np.uint64]:
    """[64] the squares that a piece with these (file, rank) steps reaches."""
    out = np.zeros(64, np.uint64)
    for square in range(64):
        for dx, dy in moves:
            x, y = square % 8 + dx, square // 8 + dy
            if 0 <= x < 8 and 0 <= y < 8:
                out[square] |= _U(1 << (8 * y + x))
    return out


def _lines() -> NDArray[np.uint64]:
    """[64, 8] diagonal, antidiagonal, file and rank through a square: all but the square, then the part above it."""
    out = np.zeros((64, 8), np.uint64)
    for square in range(64):
        for k, (dx, dy) in enumerate([(1, 1), (-1, 1), (0, 1), (1, 0)]):
            for sign in (1, -1):
                x, y = square % 8 + sign * dx, square // 8 + sign * dy
                while 0 <= x < 8 and 0 <= y < 8:
                    bit = _U(1 << (8 * y + x))
                    out[square, 2 * k] |= bit
                    if sign == 1:
                        out[square, 2 * k + 1] |= bit
                    x, y = x + sign * dx, y + sign * dy
    return out


def _random_words(count: int) -> NDArray[np.uint64]:
    """[count] uint64 of fixed random bits: SplitMix64 (see ``rng``) in NumPy."""
    x = np.arange(1, count + 1, dtype=np.uint64) * _U(0x9E3779B97F4A7C15) + _U(0x636F_7465_7269_6531)
    x = (x ^ (x >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U(27))) * _U(0x94D049BB133111EB)
    return x ^ (x >> _U(31))


def _piece_keys() -> NDArray[np.uint64]:
    """[16, 64] by code and square; 0 for codes without a piece, so that ``make`` needs no test for a capture."""
    keys = _random_words(16 * 64).reshape(16, 64)
    keys[[0, 7, 8, 15]] = 0
    return keys


def _rights_kept() -> NDArray[np.uint64]:
    """[64] mask of META's bits that remain when a piece leaves or reaches a square."""
    out = np.full(64, ~_0, np.uint64)
    for square, lost in ((4, 0b00011), (7, 0b00001), (0, 0b00010), (60, 0b01100), (63, 0b00100), (56, 0b01000)):
        out[square] = ~_U(lost << 1)
    return out


KNIGHT_STEPS = _steps([(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)])
KING_STEPS = _steps([(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y])
LINES = _lines()
PIECE_KEYS = _piece_keys()
CASTLING_KEYS = np.concatenate([np.zeros(1, np.uint64), _random_words(16 * 64 + 15)[16 * 64 :]])
FILE_KEYS = _random_words(2048)[2000:2008]
SIDE_KEY = _U(0x2545_F491_4F6C_DD1D)
RIGHTS_KEPT = _rights_kept()


# -- attacks -----------------------------------------------------------------------------------------------------------


@kernel
def knight_attacks(square: Bits) -> Bits:
    """Squares that a knight attacks."""
    return KNIGHT_STEPS[square]


@kernel
def king_attacks(square: Bits) -> Bits:
    """Squares that a king attacks."""
    return KING_STEPS[square]


@kernel
def bishop_attacks(square: Bits, occupied: Bits) -> Bits:
    """Squares that a bishop attacks, the first piece on each diagonal included."""
    return rays(LINES[square, 0], LINES[square, 1], occupied) | rays(LINES[square, 2], LINES[square, 3], occupied)


@kernel
def rook_attacks(square: Bits, occupied: Bits) -> Bits:
    """Squares that a rook attacks, the first piece in each direction included."""
    return rays(LINES[square, 4], LINES[square, 5], occupied) | rays(LINES[square, 6], LINES[square, 7], occupied)


@kernel
def pawn_attacks(square: Bits, black: Bits) -> Bits:
    """Squares that a pawn of that side attacks."""
    pawn = _1 << square
    if black != 0:
        return (pawn >> _7) & _NOT_A | (pawn >> _9) & _NOT_H
    return (pawn << _9) & _NOT_A | (pawn << _7) & _NOT_H


# -- queries -----------------------------------------------------------------------------------------------------------


@kernel
def side(position: Position) -> Bits:
    """0 if white is to move, 1 if black."""
    return position[META] & _1


@kernel
def castling(position: Position) -> Bits:
    """Castling rights: 1 white kingside, 2 white queenside, 4 black kingside, 8 black queenside."""
    return position[META] >> _1 & _U(15)


@kernel
def en_passant(position: Position) -> Bits:
    """The square to which a pawn may capture en passant now; 64 without one."""
    meta = position[META]
    return meta >> _SQUARE & _63 if meta & _EP_LEGAL != _0 else _64


@kernel
def halfmoves(position: Position) -> Bits:
    """Plies since the last capture or pawn move."""
    return position[META] >> _CLOCK & _CLOCKS


@kernel
def fullmoves(position: Position) -> Bits:
    """The number of the next move, from 1."""
    return position[META] >> _MOVE_NUMBER


@kernel
def piece_at(position: Position, square: Bits) -> Bits:
    """The code of the piece on a square, 0 where there is none."""
    return (
        position[0] >> square & _1
        | (position[1] >> square & _1) << _1
        | (position[2] >> square & _1) << _2
        | (position[3] >> square & _1) << _3
    )


@kernel
def occupied(position: Position) -> Bits:
    """All pieces."""
    return position[0] | position[1] | position[2]


@kernel
def colour(position: Position, black: Bits) -> Bits:
    """All pieces of one side."""
    return position[3] if black != 0 else occupied(position) & ~position[3]


@kernel
def pieces(position: Position, kind: Bits, black: Bits) -> Bits:
    """One side's pieces of a kind."""
    found = position[3] if black != 0 else ~position[3]
    found &= position[0] if kind & 1 else ~position[0]
    found &= position[1] if kind & 2 else ~position[1]
    return found & (position[2] if kind & 4 else ~position[2])


@kernel
def attacks_on(square: Bits, occupied: Bits, by: Bits, b0: Bits, b1: Bits, b2: Bits, black: Bits) -> Bits:
    """The pieces among ``by`` (all of one side) that attack a square when ``occupied`` are the occupied squares."""
    found = KNIGHT_STEPS[square] & b1 & ~(b0 | b2)
    found |= KING_STEPS[square] & b1 & b2
    found |= pawn_attacks(square, _1 - black) & b0 & ~(b1 | b2)
    found |= bishop_attacks(square, occupied) & b0 & (b1 ^ b2)
    found |= rook_attacks(square, occupied) & b2 & ~b1
    return found & by


@kernel
def attacked(position: Position, square: Bits, black: Bits) -> Any:
    """Whether that side attacks a square (occupied or not)."""
    b0, b1, b2 = position[0], position[1], position[2]
    by = colour(position, black)
    return attacks_on(_U(square), b0 | b1 | b2, by, b0, b1, b2, _U(black)) != _0


@kernel
def in_check(position: Position) -> Any:
    """Whether the side to move is in check."""
    mover = position[META] & _1
    king = first(pieces(position, _KING, mover))
    return attacked(position, king, _1 - mover)


# -- moving ------------------------------------------------------------------------------------------------------------


@kernel
def can_take_en_passant(position: Position, target: Bits) -> Any:
    """Whether the side to move has a legal capture to ``target``, the square that a pawn just stepped over."""
    b0, b1, b2, b3 = position[0], position[1], position[2], position[3]
    black = position[META] & _1
    every = b0 | b1 | b2
    own = b3 if black != _0 else every & ~b3
    takers = pawn_attacks(target, _1 - black) & own & b0 & ~(b1 | b2)
    taken = _1 << (target ^ _8)
    king = first(own & b1 & b2)
    while takers != _0:
        taker = takers & ~(takers - _1)
        takers ^= taker
        after = (every ^ taker ^ taken) | _1 << target
        if attacks_on(king, after, (every ^ own) & ~taken, b0, b1, b2, _1 - black) == _0:
            return True
    return False


@kernel
def copy(position: Position, into: Position) -> None:
    """Write a position over another row."""
    for k in range(WORDS):
        into[k] = position[k]


@kernel
def make(position: Position, move: Any) -> None:
    """Play a legal move, in place."""
    code = _U(move)
    start, target, promotion = code & _63, code >> _6 & _63, code >> _U(12)
    b0, b1, b2, b3 = position[0], position[1], position[2], position[3]
    meta, key = position[META], position[KEY]
    black = meta & _1
    moved = b0 >> start & _1 | (b1 >> start & _1) << _1 | (b2 >> start & _1) << _2
    taken = b0 >> target & _1 | (b1 >> target & _1) << _1 | (b2 >> target & _1) << _2
    becomes = promotion if promotion != _0 else moved
    from_bit, to_bit = _1 << start, _1 << target
    keep = ~(from_bit | to_bit)
    b0 = b0 & keep | (becomes & _1) << target
    b1 = b1 & keep | (becomes >> _1 & _1) << target
    b2 = b2 & keep | (becomes >> _2) << target
    b3 = b3 & keep | black << target
    own, other = black << _3, (black ^ _1) << _3
    key ^= PIECE_KEYS[own | moved, start] ^ PIECE_KEYS[own | becomes, target] ^ PIECE_KEYS[other | taken, target]
    if meta & _EP_LEGAL != _0:
        key ^= FILE_KEYS[meta >> _SQUARE & _7]
    clock = (meta >> _CLOCK & _CLOCKS) + _1
    if taken != _0 or moved == _PAWN:
        clock = _0
    rights = meta & _RIGHTS & RIGHTS_KEPT[start] & RIGHTS_KEPT[target]
    key ^= CASTLING_KEYS[meta >> _1 & _U(15)] ^ CASTLING_KEYS[rights >> _1] ^ SIDE_KEY
    stepped = False
    if moved == _PAWN:
        if start ^ target == _U(16):
            stepped = True
        elif taken == _0 and (start ^ target) & _7 != _0:
            passed = target ^ _8
            b0 &= ~(_1 << passed)
            b3 &= ~(_1 << passed)
            key ^= PIECE_KEYS[other | _PAWN, passed]
    elif moved == _KING and (target == start + _2 or start == target + _2):
        rook_from = start + _3 if target > start else start - _4
        rook_to = start + _1 if target > start else start - _1
        rook = _1 << rook_from | _1 << rook_to
        b2 ^= rook
        b3 ^= rook * black
        key ^= PIECE_KEYS[own | _ROOK, rook_from] ^ PIECE_KEYS[own | _ROOK, rook_to]
    position[0], position[1], position[2], position[3] = b0, b1, b2, b3
    number = (meta >> _MOVE_NUMBER) + black
    position[META] = (black ^ _1) | rights | clock << _CLOCK | number << _MOVE_NUMBER
    position[KEY] = key
    if stepped:
        step_over(position, (start + target) >> _1)


@kernel
def step_over(position: Position, target: Bits) -> None:
    """Record that the last move was a double step over ``target``, and whether en passant is legal."""
    position[META] |= _EP_STEPPED | target << _SQUARE
    if can_take_en_passant(position, target):
        position[META] |= _EP_LEGAL
        position[KEY] ^= FILE_KEYS[target & _7]


@kernel
def pass_turn(position: Position) -> None:
    """Pass the turn and clear en passant: a search's null move. Not for a side in check."""
    meta = position[META]
    if meta & _EP_LEGAL != _0:
        position[KEY] ^= FILE_KEYS[meta >> _SQUARE & _7]
    position[META] = (meta & ~_EP_ALL) ^ _1
    position[KEY] ^= SIDE_KEY


@kernel
def rekey(position: Position) -> None:
    """Compute KEY from the rest of the row."""
    meta = position[META]
    key = CASTLING_KEYS[meta >> _1 & _U(15)]
    if meta & _1 != _0:
        key ^= SIDE_KEY
    if meta & _EP_LEGAL != _0:
        key ^= FILE_KEYS[meta >> _SQUARE & _7]
    for s in range(64):
        square = _U(s)
        key ^= PIECE_KEYS[piece_at(position, square), square]
    position[KEY] = key
