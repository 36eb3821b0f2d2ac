"""Legal moves: ``scan`` finds them as sets of squares, and everything else reads those sets.

The sets hold only legal moves: ``scan`` uses the squares that the enemy attacks with the king removed, the squares that
answer a check, and the lines of pins. Only en passant captures are tried out on the board.

Kernels (``position`` is a row [WORDS] as in the module ``position``; nothing here changes it)::

    generate(position, moves)            all legal moves into moves [>= 256] int32; returns how many
    generate_captures(position, moves)   captures, en passant and every promotion that captures or makes a queen
    count(position)                      how many legal moves there are
    has_move(position)                   whether there is one
    pick(position, k)                    legal move number k, in the order of ``generate``
    perft(position, depth, positions, moves)   leaves of the tree; positions [>= depth, WORDS], moves [>= depth, 256]

``scan`` views the board from the mover's side (ranks flipped for black), so all own pawns move the same way. It writes
uint64::

    0 KING_FROM  1 KING_TO  2 SINGLE  3 DOUBLE  4 WEST  5 EAST  6 EP_FROM  7 EP_TO  8 CHECKERS  9 ENEMY
    10, 11, ...  square and targets of each knight and slider (a queen: twice, as a bishop and as a rook)

SINGLE, DOUBLE, WEST, EAST hold the targets of pawns by one step, two steps, a capture towards the a-file and one
towards the h-file; EP_FROM holds the pawns that may capture to the square EP_TO.

The file is longer than most: the sets and everything that reads them share one numbering.

Source: pin and check masks are common knowledge among engine writers (chessprogramming.org/Pin and
/Checks_and_Pinned_Pieces_(Bitboards)); parallel-prefix fills: chessprogramming.org/Kogge-Stone_Algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stepping.jit import kernel
from .bits import first, flip, popcount, scratch_words
from .position import (
    KING_STEPS,
    KNIGHT_STEPS,
    LINES,
    META,
    Bits,
    Position,
    bishop_attacks,
    copy,
    make,
    rook_attacks,
)

__all__ = ["count", "generate", "generate_captures", "has_move", "perft", "pick", "scan"]

KING_FROM, KING_TO, SINGLE, DOUBLE, WEST, EAST, EP_FROM, EP_TO, CHECKERS, ENEMY, PIECES = range(11)

_U = np.uint64
_0, _1, _2, _3, _4, _5, _6, _7, _8, _9 = (_U(k) for k in range(10))
_56, _63, _ALL = _U(56), _U(63), ~_U(0)
_16, _32, _14, _28, _18, _36 = (_U(k) for k in (16, 32, 14, 28, 18, 36))
_NOT_A, _NOT_H = _U(0xFEFE_FEFE_FEFE_FEFE), _U(0x7F7F_7F7F_7F7F_7F7F)
_NOT_AB, _NOT_GH = _U(0xFCFC_FCFC_FCFC_FCFC), _U(0x3F3F_3F3F_3F3F_3F3F)
_RANK_3, _RANK_8 = _U(0xFF0000), _U(0xFF << 56)
_EP_LEGAL = _U(1 << 5)
_SHORT_EMPTY, _SHORT_SAFE, _SHORT_TO = _U(0x60), _U(0x60), _U(0x40)
_LONG_EMPTY, _LONG_SAFE, _LONG_TO = _U(0x0E), _U(0x0C), _U(0x04)


def _between() -> NDArray[np.uint64]:
    """[64, 64] the squares between two squares on a common line; none for other pairs."""
    out = np.zeros((64, 64), np.uint64)
    for a in range(64):
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                x, y, passed = a % 8 + dx, a // 8 + dy, 0
                while (dx or dy) and 0 <= x < 8 and 0 <= y < 8:
                    out[a, 8 * y + x] = passed
                    passed |= 1 << (8 * y + x)
                    x, y = x + dx, y + dy
    return out


BETWEEN = _between()


# -- what the enemy attacks --------------------------------------------------------------------------------------------


@kernel
def _fill_diagonals(sliders: Bits, empty: Bits) -> Bits:
    """All squares that bishops attack together."""
    p = empty & _NOT_A
    a = sliders | p & (sliders << _9)
    q = p & (p << _9)
    a |= q & (a << _18)
    a |= q & (q << _18) & (a << _36)
    found = (a << _9) & _NOT_A
    a = sliders | p & (sliders >> _7)
    q = p & (p >> _7)
    a |= q & (a >> _14)
    a |= q & (q >> _14) & (a >> _28)
    found |= (a >> _7) & _NOT_A
    p = empty & _NOT_H
    a = sliders | p & (sliders << _7)
    q = p & (p << _7)
    a |= q & (a << _14)
    a |= q & (q << _14) & (a << _28)
    found |= (a << _7) & _NOT_H
    a = sliders | p & (sliders >> _9)
    q = p & (p >> _9)
    a |= q & (a >> _18)
    a |= q & (q >> _18) & (a >> _36)
    return found | (a >> _9) & _NOT_H


@kernel
def _fill_straights(sliders: Bits, empty: Bits) -> Bits:
    """All squares that rooks attack together."""
    a = sliders | empty & (sliders << _8)
    q = empty & (empty << _8)
    a |= q & (a << _16)
    a |= q & (q << _16) & (a << _32)
    found = a << _8
    a = sliders | empty & (sliders >> _8)
    q = empty & (empty >> _8)
    a |= q & (a >> _16)
    a |= q & (q >> _16) & (a >> _32)
    found |= a >> _8
    p = empty & _NOT_A
    a = sliders | p & (sliders << _1)
    q = p & (p << _1)
    a |= q & (a << _2)
    a |= q & (q << _2) & (a << _4)
    found |= (a << _1) & _NOT_A
    p = empty & _NOT_H
    a = sliders | p & (sliders >> _1)
    q = p & (p >> _1)
    a |= q & (a >> _2)
    a |= q & (q >> _2) & (a >> _4)
    return found | (a >> _1) & _NOT_H


@kernel
def _fill_knights(knights: Bits) -> Bits:
    """All squares that knights attack together."""
    one = (knights >> _1) & _NOT_H | (knights << _1) & _NOT_A
    two = (knights >> _2) & _NOT_GH | (knights << _2) & _NOT_AB
    return one << _16 | one >> _16 | two << _8 | two >> _8


# -- the sets ----------------------------------------------------------------------------------------------------------


@kernel
def scan(position: Position, sets: NDArray[np.uint64]) -> Any:
    """Writes the legal moves of a position into sets [>= 72], as the module says; returns the end of what it wrote.

    One long function: its parts share two dozen variables, which would cost more than the work as arguments.
    """
    b0, b1, b2, b3 = position[0], position[1], position[2], position[3]
    meta = position[META]
    black = meta & _1
    if black != _0:
        b0, b1, b2, b3 = flip(b0), flip(b1), flip(b2), ~flip(b3)
    every = b0 | b1 | b2
    own = every & ~b3
    enemy = every & b3
    pawns, knights = b0 & ~(b1 | b2), b1 & ~(b0 | b2)
    diagonal, straight = b0 & (b1 ^ b2), b2 & ~b1
    kings = b1 & b2
    king_bit = kings & own
    king = first(king_bit)

    # Where the king may not go.
    their_pawns = pawns & enemy
    danger = (their_pawns >> _7) & _NOT_A | (their_pawns >> _9) & _NOT_H
    danger |= _fill_knights(knights & enemy) | KING_STEPS[first(kings & enemy)]
    empty = ~(every ^ king_bit)
    danger |= _fill_diagonals(diagonal & enemy, empty) | _fill_straights(straight & enemy, empty)

    # Checks and pins: lines between the king and a slider.
    checkers = KNIGHT_STEPS[king] & knights & enemy
    checkers |= ((king_bit << _9) & _NOT_A | (king_bit << _7) & _NOT_H) & their_pawns
    answers = checkers
    pinned_diagonal, pinned_straight = _0, _0
    snipers = (LINES[king, 0] | LINES[king, 2]) & diagonal & enemy
    while snipers != _0:
        sniper = first(snipers)
        snipers &= snipers - _1
        line = BETWEEN[king, sniper]
        blockers = line & every
        if blockers == _0:
            checkers |= _1 << sniper
            answers |= line | _1 << sniper
        elif blockers & (blockers - _1) == _0:
            pinned_diagonal |= line | _1 << sniper
    snipers = (LINES[king, 4] | LINES[king, 6]) & straight & enemy
    while snipers != _0:
        sniper = first(snipers)
        snipers &= snipers - _1
        line = BETWEEN[king, sniper]
        blockers = line & every
        if blockers == _0:
            checkers |= _1 << sniper
            answers |= line | _1 << sniper
        elif blockers & (blockers - _1) == _0:
            pinned_straight |= line | _1 << sniper

    sets[KING_FROM] = king
    sets[CHECKERS] = checkers
    sets[ENEMY] = enemy
    to_king = KING_STEPS[king] & ~own & ~danger
    sets[SINGLE], sets[DOUBLE], sets[WEST], sets[EAST], sets[EP_FROM], sets[EP_TO] = _0, _0, _0, _0, _0, _0
    if checkers != _0 and checkers & (checkers - _1) != _0:  # two at once: only the king can move
        sets[KING_TO] = to_king
        return PIECES
    if checkers == _0:
        answers = _ALL
        rights = meta >> _1 >> (black + black)
        if rights & _1 != _0 and every & _SHORT_EMPTY == _0 and danger & _SHORT_SAFE == _0:
            to_king |= _SHORT_TO
        if rights & _2 != _0 and every & _LONG_EMPTY == _0 and danger & _LONG_SAFE == _0:
            to_king |= _LONG_TO
    sets[KING_TO] = to_king

    # Pawns. One that is pinned stays on the line of its pin.
    mine = pawns & own
    walkers = mine & ~pinned_diagonal
    single = ((walkers & ~pinned_straight) << _8 | (walkers & pinned_straight) << _8 & pinned_straight) & ~every
    sets[SINGLE] = single & answers
    sets[DOUBLE] = (single & _RANK_3) << _8 & ~every & answers
    takers = mine & ~pinned_straight
    loose, bound = takers & ~pinned_diagonal, takers & pinned_diagonal
    prey = enemy & answers
    sets[WEST] = ((loose << _7) | (bound << _7) & pinned_diagonal) & _NOT_H & prey
    sets[EAST] = ((loose << _9) | (bound << _9) & pinned_diagonal) & _NOT_A & prey
    if meta & _EP_LEGAL != _0:
        target = meta >> _7 & _63
        target = target ^ _56 if black != _0 else target
        sets[EP_TO] = target
        sets[EP_FROM] = _en_passant(target, mine, every, king, checkers, diagonal & enemy, straight & enemy)

    # The others.
    allowed = ~own & answers
    end = PIECES
    movers = knights & own & ~(pinned_diagonal | pinned_straight)
    while movers != _0:
        square = first(movers)
        movers &= movers - _1
        sets[end] = square
        sets[end + 1] = KNIGHT_STEPS[square] & allowed
        end += 2
    movers = diagonal & own & ~pinned_straight
    while movers != _0:
        square = first(movers)
        targets = bishop_attacks(square, every) & allowed
        if pinned_diagonal >> square & _1 != _0:
            targets &= pinned_diagonal
        movers &= movers - _1
        sets[end] = square
        sets[end + 1] = targets
        end += 2
    movers = straight & own & ~pinned_diagonal
    while movers != _0:
        square = first(movers)
        targets = rook_attacks(square, every) & allowed
        if pinned_straight >> square & _1 != _0:
            targets &= pinned_straight
        movers &= movers - _1
        sets[end] = square
        sets[end + 1] = targets
        end += 2
    return end


@kernel
def _en_passant(
    target: Bits, pawns: Bits, every: Bits, king: Bits, checkers: Bits, diagonal: Bits, straight: Bits
) -> Bits:
    """The mover's pawns that may capture to ``target``: two pawns leave their squares at once, so checks are tested."""
    bit = _1 << target
    takers = ((bit >> _7) & _NOT_A | (bit >> _9) & _NOT_H) & pawns
    taken = bit >> _8
    found = _0
    while takers != _0:
        taker = takers & ~(takers - _1)
        takers ^= taker
        after = (every ^ taker ^ taken) | bit
        seen = bishop_attacks(king, after) & diagonal | rook_attacks(king, after) & straight
        if (seen | checkers & ~(diagonal | straight) & ~taken) == _0:
            found |= taker
    return found


# -- reading the sets --------------------------------------------------------------------------------------------------


@kernel
def count_sets(sets: NDArray[np.uint64], end: int) -> Any:
    """How many moves there are in sets written by ``scan``."""
    total = popcount(sets[KING_TO]) + popcount(sets[DOUBLE]) + popcount(sets[EP_FROM])
    for k in (SINGLE, WEST, EAST):
        total += popcount(sets[k]) + _3 * popcount(sets[k] & _RANK_8)
    for k in range(PIECES, end, 2):
        total += popcount(sets[k + 1])
    return np.int64(total)


@kernel
def count(position: Position) -> Any:
    """How many legal moves there are."""
    sets = scratch_words()
    return count_sets(sets, scan(position, sets))


@kernel
def any_move(sets: NDArray[np.uint64], end: int) -> Any:
    """Whether sets written by ``scan`` hold a move."""
    found = sets[KING_TO] | sets[SINGLE] | sets[DOUBLE] | sets[WEST] | sets[EAST] | sets[EP_FROM]
    for k in range(PIECES, end, 2):
        found |= sets[k + 1]
    return found != _0


@kernel
def has_move(position: Position) -> Any:
    """Whether there is a legal move."""
    sets = scratch_words()
    return any_move(sets, scan(position, sets))


@kernel
def _put(moves: NDArray[np.int32], n: int, start: Bits, targets: Bits, turned: Bits) -> Any:
    """Append the moves from a square to each of ``targets``; ``turned`` is 56 for black, to flip its squares back."""
    while targets != _0:
        moves[n] = np.int32((start ^ turned) | (first(targets) ^ turned) << _6)
        targets &= targets - _1
        n += 1
    return n


@kernel
def _put_pawns(moves: NDArray[np.int32], n: int, targets: Bits, back: Bits, turned: Bits, queens_only: bool) -> Any:
    """Append pawn moves from ``back`` squares below their targets, each promotion four times, the queen first."""
    while targets != _0:
        target = first(targets)
        targets &= targets - _1
        move = np.int32(((target - back) ^ turned) | (target ^ turned) << _6)
        if target < _56:
            moves[n] = move
            n += 1
        else:
            moves[n] = move | np.int32(5 << 12)
            n += 1
            if not queens_only:
                moves[n] = move | np.int32(4 << 12)
                moves[n + 1] = move | np.int32(3 << 12)
                moves[n + 2] = move | np.int32(2 << 12)
                n += 3
    return n


@kernel
def _put_en_passant(moves: NDArray[np.int32], n: int, takers: Bits, target: Bits, turned: Bits) -> Any:
    while takers != _0:
        moves[n] = np.int32((first(takers) ^ turned) | (target ^ turned) << _6)
        takers &= takers - _1
        n += 1
    return n


@kernel
def generate(position: Position, moves: NDArray[np.int32]) -> Any:
    """All legal moves into moves [>= 256]; returns how many."""
    sets = scratch_words()
    end = scan(position, sets)
    turned = _56 * (position[META] & _1)
    n = _put_pawns(moves, 0, sets[WEST], _7, turned, False)
    n = _put_pawns(moves, n, sets[EAST], _9, turned, False)
    n = _put_en_passant(moves, n, sets[EP_FROM], sets[EP_TO], turned)
    n = _put_pawns(moves, n, sets[SINGLE], _8, turned, False)
    n = _put_pawns(moves, n, sets[DOUBLE], _16, turned, False)
    for k in range(PIECES, end, 2):
        n = _put(moves, n, sets[k], sets[k + 1], turned)
    return _put(moves, n, sets[KING_FROM], sets[KING_TO], turned)


@kernel
def generate_captures(position: Position, moves: NDArray[np.int32]) -> Any:
    """Captures (also en passant and with promotion) and queen promotions, into moves [>= 256]; returns how many."""
    sets = scratch_words()
    end = scan(position, sets)
    turned = _56 * (position[META] & _1)
    n = _put_pawns(moves, 0, sets[WEST], _7, turned, False)
    n = _put_pawns(moves, n, sets[EAST], _9, turned, False)
    n = _put_en_passant(moves, n, sets[EP_FROM], sets[EP_TO], turned)
    n = _put_pawns(moves, n, sets[SINGLE] & _RANK_8, _8, turned, True)
    for k in range(PIECES, end, 2):
        n = _put(moves, n, sets[k], sets[k + 1] & sets[ENEMY], turned)
    return _put(moves, n, sets[KING_FROM], sets[KING_TO] & sets[ENEMY], turned)


@kernel
def _nth(targets: Bits, k: Any) -> Bits:
    """Square number k of a set, from the lowest."""
    for _ in range(k):
        targets &= targets - _1
    return first(targets)


@kernel
def pick_from(sets: NDArray[np.uint64], end: int, k: Any, turned: Bits) -> Any:
    """Move number k of sets written by ``scan``, in the order of ``generate``; k must be below the count."""
    for way in range(4):
        # West, east, en passant, one step: the order in which generate writes them.
        if way == 2:
            here: Any = np.int64(popcount(sets[EP_FROM]))
            if k < here:
                return np.int64((_nth(sets[EP_FROM], k) ^ turned) | (sets[EP_TO] ^ turned) << _6)
            k -= here
            continue
        targets = sets[WEST] if way == 0 else sets[EAST] if way == 1 else sets[SINGLE]
        back = _7 if way == 0 else _9 if way == 1 else _8
        last = targets & _RANK_8
        here = np.int64(popcount(targets ^ last))
        if k < here:
            target = _nth(targets, k)
            return np.int64(((target - back) ^ turned) | (target ^ turned) << _6)
        k -= here
        here = 4 * np.int64(popcount(last))
        if k < here:
            target = _nth(last, k >> 2)
            return np.int64(((target - back) ^ turned) | (target ^ turned) << _6 | _U(5 - (k & 3)) << _U(12))
        k -= here
    here = np.int64(popcount(sets[DOUBLE]))
    if k < here:
        target = _nth(sets[DOUBLE], k)
        return np.int64(((target - _16) ^ turned) | (target ^ turned) << _6)
    k -= here
    for at in range(PIECES, end, 2):
        here = np.int64(popcount(sets[at + 1]))
        if k < here:
            return np.int64((sets[at] ^ turned) | (_nth(sets[at + 1], k) ^ turned) << _6)
        k -= here
    return np.int64((sets[KING_FROM] ^ turned) | (_nth(sets[KING_TO], k) ^ turned) << _6)


@kernel
def pick(position: Position, k: int) -> Any:
    """Legal move number k, in the order of ``generate``; k must be below ``count(position)``."""
    sets = scratch_words()
    end = scan(position, sets)
    return pick_from(sets, end, k, _56 * (position[META] & _1))


@kernel
def perft(position: Position, depth: int, positions: Position, moves: NDArray[np.int32]) -> Any:
    """Leaves of the tree of legal moves; moves of the last ply are counted, not made.

    positions [>= depth, WORDS] and moves [>= depth, 256] are scratch space.
    """
    if depth == 0:
        return 1
    if depth == 1:
        return count(position)
    total: Any = 0
    last = depth - 2  # the level whose children are counted
    left = scratch_words()  # moves still to try at each level
    copy(position, positions[0])
    left[0] = _U(generate(position, moves[0]))
    level = 0
    while level >= 0:
        if left[level] == _0:
            level -= 1
            continue
        left[level] -= _1
        below = positions[level + 1]
        copy(positions[level], below)
        make(below, moves[level, left[level]])
        if level == last:
            total += count(below)
        else:
            level += 1
            left[level] = _U(generate(below, moves[level]))
    return total
