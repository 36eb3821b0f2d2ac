"""Alpha-beta for chess as kernels: principal-variation search with quiescence over ``envs.chess`` positions.

What it does: iterative deepening; a transposition table; null moves; late move reductions; check extensions; futility
pruning near the leaves; quiescence search of captures. Move order: the table's move, captures by victim and attacker
(MVV-LVA), killers, the others by the history heuristic. Positions that occurred before, in the game or on the line,
count as draws, and so do those in which the game's 50-move rule applies.

What it leaves out: opening books, endgame tables, threads, clocks. The budget is a depth or a number of nodes, so that
the same position and seed give the same move on every machine.

A score is in centipawns for the side to move; ``MATE - n`` is a mate in n plies.

The file is longer than most because the kernels of one search call each other and share its desk.

Source: Knuth and Moore 1975, An analysis of alpha-beta pruning; Marsland and Campbell 1982, Parallel search of strongly
ordered game trees (PVS); Donninger 1993, Null move and deep search; chessprogramming.org on the rest.

Letters: L plies from the root, T entries of the table.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs.chess.bits import popcount
from ...envs.chess.moves import generate, generate_captures
from ...envs.chess.position import (
    KEY,
    META,
    WORDS,
    Bits,
    Position,
    copy,
    halfmoves,
    in_check,
    make,
    occupied,
    pass_turn,
    piece_at,
)
from ...envs.stepping.jit import kernel
from ...envs.stepping.rng import word
from .chess_evaluation import VALUES, evaluate

__all__ = ["BEST", "DEPTH", "MATE", "NODES", "PLIES", "SCORE", "Desk", "new_desk", "think"]

PLIES = 96
"""L, the longest line, captures included."""
PAST = 152
"""The most earlier positions that a game has (its state keeps those since the last capture or pawn move)."""
MATE = 30_000
SURE = MATE - 2 * PLIES
"""Scores above this, or below its negative, are mates."""
INFINITE = 32_000
DECIDED = 900
"""If beta is beyond this, null moves and futility pruning are off: what is left to find there are mates."""

NODES, LIMIT, STOP, GENERATION, BASE, DRAWN, BEST, SCORE, DEPTH, SEED = range(10)
"""Indices of ``Desk.numbers``: nodes so far; the node limit; whether it is reached; the number of this search; the
number of earlier positions; the halfmove clock at which a game is drawn; the root's best move, its score, the last
completed depth; the seed.
"""

Number: TypeAlias = Any
"""An int64 in kernels."""

_U = np.uint64
_0, _1, _3, _7, _63 = _U(0), _U(1), _U(3), _U(7), _U(63)
_LOW = _U(0x3FFFF)
EXACT, LOWER, UPPER = 1, 2, 3

TABLE_MOVE, CAPTURE, KILLER, QUIETEST = 1 << 30, 1 << 24, 1 << 23, 1 << 22
"""Ranks of moves: the table's; captures and promotions (losing ones rank below the quiet moves); killers. History
scores stay below QUIETEST.
"""


class Desk(NamedTuple):
    """All memory that a search writes to, allocated once and reused.

    Attributes:
        positions: [L + 1, WORDS] the line being searched.
        line: [PAST + L + 1] uint64 keys of the game's earlier positions, then of the line's.
        moves, ranks: [L + 1, 256] int32 moves of each position on the line, and their ranks: higher ones come first.
        table: [T, 2] uint64 key, and packed: move 18 bits, score 16, depth 8, bound 2, generation 20.
        killers: [L + 1, 2] int32 quiet moves that caused a cutoff at that ply.
        history: [2, 4096] int32 by side and by from and to square.
        numbers: [10] int64, see ``NODES``.
    """

    positions: Position
    line: NDArray[np.uint64]
    moves: NDArray[np.int32]
    ranks: NDArray[np.int32]
    table: NDArray[np.uint64]
    killers: NDArray[np.int32]
    history: NDArray[np.int32]
    numbers: NDArray[np.int64]


def new_desk(entries: int = 1 << 18) -> Desk:
    """An empty desk; ``entries`` of the table, 16 bytes each, is a power of two."""
    return Desk(
        np.zeros((PLIES + 1, WORDS), np.uint64),
        np.zeros(PAST + PLIES + 1, np.uint64),
        np.zeros((PLIES + 1, 256), np.int32),
        np.zeros((PLIES + 1, 256), np.int32),
        np.zeros((entries, 2), np.uint64),
        np.zeros((PLIES + 1, 2), np.int32),
        np.zeros((2, 4096), np.int32),
        np.zeros(10, np.int64),
    )


# -- the table ---------------------------------------------------------------------------------------------------------


@kernel
def _store(d: Desk, key: Bits, ply: int, depth: int, move: Number, score: Number, bound: Number) -> None:
    """Store a result in the table, unless its entry holds a deeper one (by more than 2 plies) of this search."""
    entry = d.table[np.int64(key & _U(d.table.shape[0] - 1))]
    old = entry[1]
    generation = _U(d.numbers[GENERATION])
    if old >> _U(44) == generation and entry[0] != key and np.int64(old >> _U(34) & _U(255)) > depth + 2:
        return
    if score > SURE:
        score += ply
    elif score < -SURE:
        score -= ply
    entry[0] = key
    entry[1] = (
        _U(move) & _LOW
        | _U(score + 32768) << _U(18)
        | _U(max(depth, 0)) << _U(34)
        | _U(bound) << _U(42)
        | generation << _U(44)
    )


@kernel
def _probe(d: Desk, key: Bits) -> Bits:
    """The packed entry of a position; 0 if this search has stored none."""
    entry = d.table[np.int64(key & _U(d.table.shape[0] - 1))]
    data = entry[1]
    return data if entry[0] == key and data >> _U(44) == _U(d.numbers[GENERATION]) else _0


@kernel
def _score_of(data: Bits, ply: int) -> Any:
    score = np.int64(data >> _U(18) & _U(0xFFFF)) - 32768
    if score > SURE:
        return score - ply
    return score + ply if score < -SURE else score


# -- order -------------------------------------------------------------------------------------------------------------


@kernel
def _taken(position: Position, move: Number) -> Any:
    """The kind of piece that a move captures; 0 if none. En passant captures a pawn."""
    target = _U(move >> 6 & 63)
    kind = np.int64(piece_at(position, target) & _7)
    if kind == 0 and move >> 12 == 0 and (move ^ move >> 6) & 7 != 0:
        start = _U(move & 63)
        return np.int64(piece_at(position, start) & _7 == _1)
    return kind


@kernel
def _loses(position: Position, move: Number, taken: Number) -> Any:
    """Whether a capture is sure to lose material: a more valuable piece takes one that a pawn guards."""
    kind = np.int64(piece_at(position, _U(move & 63)) & _7)
    if kind == 6 or VALUES[kind] <= VALUES[taken] + 50:
        return False
    mover = position[META] & _1
    target = _U(move >> 6 & 63)
    file = np.int64(target & _7)
    step = -8 if mover != _0 else 8
    pawn = 1 | (8 if mover == _0 else 0)
    for side in (-1, 1):
        square = np.int64(target) + step + side
        if 0 <= file + side < 8 and 0 <= square < 64 and np.int64(piece_at(position, _U(square))) == pawn:
            return True
    return False


@kernel
def _rank(d: Desk, ply: int, n: int, first_move: Number) -> None:
    """Give each of the n moves at a ply its rank."""
    here = d.positions[ply]
    side = np.int64(here[META] & _1)
    for k in range(n):
        move = np.int64(d.moves[ply, k])
        taken, promotion = _taken(here, move), move >> 12
        rank: Any = 0
        if move == first_move:
            rank = TABLE_MOVE
        elif taken != 0 or promotion != 0:
            kind = np.int64(piece_at(here, _U(move & 63)) & _7)
            gain = 16 * VALUES[taken] + 16 * VALUES[promotion] - VALUES[kind] // 8
            even = (promotion == 0 or promotion == 5) and (taken == 0 or not _loses(here, move, taken))
            rank = CAPTURE + gain if even else gain - CAPTURE
        elif move == d.killers[ply, 0]:
            rank = KILLER + 1
        elif move == d.killers[ply, 1]:
            rank = KILLER
        else:
            rank = np.int64(d.history[side, move & 4095])
        if ply == 0:  # the seed decides the order of equally good moves at the root
            rank += np.int64(word(_U(d.numbers[SEED]), k) & _U(15))
        d.ranks[ply, k] = rank


@kernel
def _next(d: Desk, ply: int, k: int, n: int) -> Any:
    """Swap the best-ranked of moves k to n - 1 to index k and return it."""
    moves, ranks = d.moves[ply], d.ranks[ply]
    best = k
    for j in range(k + 1, n):
        if ranks[j] > ranks[best]:
            best = j
    moves[k], moves[best] = moves[best], moves[k]
    ranks[k], ranks[best] = ranks[best], ranks[k]
    return np.int64(moves[k])


@kernel
def _praise(d: Desk, ply: int, k: int, depth: int) -> None:
    """Quiet move k of a ply caused a cutoff: make it a killer, raise its history, lower that of the ones before it."""
    side = np.int64(d.positions[ply, META] & _1)
    move = d.moves[ply, k]
    if d.killers[ply, 0] != move:
        d.killers[ply, 1] = d.killers[ply, 0]
        d.killers[ply, 0] = move
    for j in range(k + 1):
        rank = d.ranks[ply, j]
        if j == k or -QUIETEST < rank < QUIETEST:
            at = d.moves[ply, j] & 4095
            old = d.history[side, at]
            gain = min(depth * depth, 400) * 32
            d.history[side, at] = old + (gain if j == k else -gain) - old * gain // QUIETEST


# -- the search --------------------------------------------------------------------------------------------------------


@kernel
def _play(d: Desk, ply: int, move: int) -> None:
    """Write the position after a move to the next ply."""
    below = d.positions[ply + 1]
    copy(d.positions[ply], below)
    make(below, move)
    d.line[d.numbers[BASE] + ply + 1] = below[KEY]


@kernel
def _repeats(d: Desk, ply: int) -> Any:
    """Whether the position at a ply occurred before."""
    at = d.numbers[BASE] + ply
    back = min(np.int64(halfmoves(d.positions[ply])), at)
    for k in range(4, back + 1, 2):  # noqa: SIM110 (any() allocates a generator)
        if d.line[at - k] == d.line[at]:
            return True
    return False


@kernel
def _has_pieces(position: Position) -> Any:
    """Whether the side to move has at least two pieces besides its king and pawns; with fewer, zugzwang is likely."""
    own = position[3] if position[META] & _1 != _0 else occupied(position) & ~position[3]
    return popcount(own & (position[1] ^ position[2] | position[0] & position[2])) > _1


@kernel
def quiesce(d: Desk, ply: int, alpha: int, beta: int) -> Any:
    """The score after all worthwhile captures; in check, all evasions are searched."""
    d.numbers[NODES] += 1
    if d.numbers[NODES] >= d.numbers[LIMIT]:
        d.numbers[STOP] = 1
        return np.int64(0)
    here = d.positions[ply]
    checked = ply < PLIES and in_check(here)
    if checked:
        best = np.int64(ply - MATE)
        n = generate(here, d.moves[ply])
    else:
        best = evaluate(here)
        if best >= beta or ply >= PLIES:
            return best
        alpha = max(alpha, best)
        n = generate_captures(here, d.moves[ply])
    stand = best
    _rank(d, ply, n, np.int64(0))
    for k in range(n):
        move = _next(d, ply, k, n)
        if not checked:
            if d.ranks[ply, k] < 0:
                break
            gain = VALUES[_taken(here, move)] + VALUES[move >> 12]
            if stand + gain + 150 <= alpha:
                continue
        _play(d, ply, move)
        score = -quiesce(d, ply + 1, -beta, -alpha)
        if score > best:
            best = score
            if score >= beta:
                break
            alpha = max(alpha, score)
    return best


# Longer than most: alpha-beta calls itself in five places, and numba can only infer the type of one such function.
@kernel
def search(d: Desk, ply: Number, depth: Number, alpha: Number, beta: Number, may_pass: Number) -> Any:
    """The score of the position at a ply, searched ``depth`` plies deep; exact between alpha and beta, else a bound.

    All numbers must be int64: numba would compile another search for every other type.
    """
    if depth <= 0 or ply >= PLIES:
        return quiesce(d, ply, alpha, beta)
    d.numbers[NODES] += 1
    if d.numbers[NODES] >= d.numbers[LIMIT]:
        d.numbers[STOP] = 1
        return np.int64(0)
    here = d.positions[ply]
    checked = in_check(here)
    drawn = ply > 0 and np.int64(halfmoves(here)) >= d.numbers[DRAWN]
    if ply > 0:
        if _repeats(d, ply) or (drawn and not checked):
            return np.int64(0)
        alpha, beta = max(alpha, ply - MATE), min(beta, MATE - ply - 1)
        if alpha >= beta:
            return alpha
    wide = beta - alpha > 1
    key = here[KEY]
    known = _probe(d, key)
    if known != _0 and ply > 0 and not (wide or drawn) and np.int64(known >> _U(34) & _U(255)) >= depth:
        score, kind = _score_of(known, ply), np.int64(known >> _U(42) & _3)
        if kind == EXACT or (kind == LOWER and score >= beta) or (kind == UPPER and score <= alpha):
            return score
    stand = np.int64(-INFINITE)
    if checked:
        depth += 1
    elif not wide and abs(beta) < DECIDED:
        stand = evaluate(here)
        if depth <= 3 and stand - 100 * depth >= beta:
            return stand
        if may_pass != 0 and depth >= 3 and stand >= beta and _has_pieces(here):
            below = d.positions[ply + 1]
            copy(here, below)
            pass_turn(below)
            d.line[d.numbers[BASE] + ply + 1] = below[KEY]
            score = -search(d, ply + 1, depth - 3 - depth // 4, -beta, 1 - beta, np.int64(0))
            if d.numbers[STOP] != 0:
                return np.int64(0)
            if score >= beta:
                return score if score < SURE else beta  # a mate after a null move proves no mate
    n = generate(here, d.moves[ply])
    if n == 0:
        return np.int64(ply - MATE if checked else 0)
    if drawn:
        return np.int64(0)
    _rank(d, ply, n, np.int64(known & _LOW))
    one = np.int64(1)
    chosen: Any = np.int64(0)
    bound: Any = UPPER
    best: Any = np.int64(-INFINITE)
    for k in range(n):
        move = _next(d, ply, k, n)
        quiet = -QUIETEST < d.ranks[ply, k] <= KILLER + 16
        _play(d, ply, move)
        reduced: Any = 0
        if k > 0 and quiet and not checked and best > -SURE:
            check = in_check(d.positions[ply + 1])
            if depth <= 2 and not check and stand > -INFINITE and stand + 120 * depth <= alpha:
                continue
            if depth >= 3 and k >= 3 and not check:
                reduced = 1 + (k >= 8) + (depth >= 7)
        if k == 0:
            score = -search(d, ply + 1, depth - 1, -beta, -alpha, one)
        else:
            score = -search(d, ply + 1, depth - 1 - reduced, -alpha - 1, -alpha, one)
            if score > alpha and reduced > 0:
                score = -search(d, ply + 1, depth - 1, -alpha - 1, -alpha, one)
            if alpha < score < beta:
                score = -search(d, ply + 1, depth - 1, -beta, -alpha, one)
        if d.numbers[STOP] != 0:
            return np.int64(0)
        if score > best:
            best, chosen = score, move
            if score > alpha:
                alpha, bound = score, EXACT
                if ply == 0:
                    d.numbers[BEST], d.numbers[SCORE] = move, score
                if score >= beta:
                    bound = LOWER
                    if quiet:
                        _praise(d, ply, k, depth)
                    break
    _store(d, key, ply, depth, chosen, best, bound)
    return best


@kernel
def think(d: Desk, depth: int, nodes: int) -> None:
    """Search ``positions[0]`` by iterative deepening; the result is in BEST, SCORE, DEPTH and NODES of ``numbers``.

    The caller writes ``positions[0]``, the earlier keys in ``line``, and BASE, DRAWN and SEED of ``numbers`` before.
    """
    d.numbers[GENERATION] = (d.numbers[GENERATION] + 1) & 0xFFFFF
    d.numbers[NODES], d.numbers[STOP], d.numbers[DEPTH] = 0, 0, 0
    d.line[d.numbers[BASE]] = d.positions[0, KEY]
    d.killers[:, :] = 0
    d.history[:, :] = 0
    root, top, no = np.int64(0), np.int64(INFINITE), np.int64(0)
    for deep in range(1, depth + 1):
        d.numbers[LIMIT] = nodes if deep > 1 else 1 << 62  # depth 1 is always completed, so there is a move
        score = search(d, root, deep, -top, top, no)
        if d.numbers[STOP] != 0:
            break
        d.numbers[DEPTH] = deep
        if MATE - abs(score) <= deep:
            break
