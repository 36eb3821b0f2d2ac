"""Sets of positions to learn chess from, and the program that made them.

    python -m coterie.envs.chess.curricula --out envs/chess/data

writes the files again, byte for byte, on every platform: every random choice follows from a seed and the number of a
game. They use no engine and no human games; a search over all moves and all answers establishes what a set promises
(mate in one, mate in two but not in one).

Positions of ``mate-in-1`` and ``mate-in-2`` occurred in play. A game begins at the start position; its number decides
for each side whether it moves at random (any legal move, uniformly) or greedily (with probability 1/2 it takes the
most valuable piece it can, otherwise it moves at random). It ends with mate, stalemate, bare kings, 100 plies without
capture or pawn move, or after 300 plies. Of all its positions that fit, one is kept, sampled uniformly: a game gives at
most one position, to one set. ``kqk`` and ``krk`` have three pieces on random squares, the side with the queen or rook
to move.

No two positions of a set, train and test together, are alike: equal, mirrored left to right, with colours swapped, or,
if no pawn is left, rotated or mirrored in any way (see ``likeness``, which compares only pieces and side to move, so
different castling rights do not count). Counters are reset: every position ends in ``0 1``.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Curriculum
from ..stepping.jit import kernel
from ..stepping.rng import Word, below, word
from . import fen as _fen
from .bits import popcount
from .moves import generate, has_move
from .position import (
    KING,
    META,
    PAWN,
    QUEEN,
    ROOK,
    WORDS,
    Position,
    attacked,
    copy,
    halfmoves,
    in_check,
    make,
    occupied,
    piece_at,
)

__all__ = ["CURRICULA", "likeness", "main", "mates_in_one", "mates_in_two", "recipe"]

DATA = Path(__file__).with_name("data")

CURRICULA = {
    name: Curriculum("fen", DATA / f"{name}.train.txt.gz", DATA / f"{name}.test.txt.gz", max_plies)
    for name, max_plies in (("mate-in-1", 1), ("mate-in-2", 3), ("kqk", 60), ("krk", 60))
}
"""``Game.curricula`` of chess."""

SIZES = {"mate-in-1": (20_000, 2_000), "mate-in-2": (3_000, 500), "kqk": (1_000, 200), "krk": (1_000, 200)}
"""How many positions a set has for training and for testing."""

SEED = 2026
LONGEST = 300
_GREEDY = np.array([0, 1, 3, 3, 5, 9, 0, 0], np.int64)
"""The value of a piece of each kind to a greedy player."""

_U = np.uint64
_63 = _U(63)


# -- search ------------------------------------------------------------------------------------------------------------


@kernel
def mates_in_one(position: Position, moves: NDArray[np.int32], after: Position) -> int:
    """Writes the moves that mate at once to the front of ``moves`` [256]; returns how many. ``after`` is scratch."""
    n = generate(position, moves)
    found = 0
    for k in range(n):
        copy(position, after)
        make(after, moves[k])
        if in_check(after) and not has_move(after):
            moves[found] = moves[k]
            found += 1
    return found


@kernel
def mates_in_two(position: Position, moves: NDArray[np.int32], scratch: Position, lists: NDArray[np.int32]) -> int:
    """Writes the moves after which every answer allows mate to the front of ``moves`` [256]; returns how many.

    Moves that mate at once do not count. ``scratch`` is [3, WORDS], ``lists`` [2, 256].
    """
    n = generate(position, moves)
    found = 0
    for k in range(n):
        copy(position, scratch[0])
        make(scratch[0], moves[k])
        answers = generate(scratch[0], lists[0])
        forced = answers > 0
        for answer in range(answers):
            copy(scratch[0], scratch[1])
            make(scratch[1], lists[0, answer])
            if mates_in_one(scratch[1], lists[1], scratch[2]) == 0:
                forced = False
                break
        if forced:
            moves[found] = moves[k]
            found += 1
    return found


# -- play --------------------------------------------------------------------------------------------------------------


@kernel
def _choose(position: Position, moves: NDArray[np.int32], n: int, greedy: bool, random_word: Word) -> Any:
    """The side to move's choice among ``moves[:n]``."""
    if greedy and random_word & _U(1) == _U(0):
        best, ties = 0, 0
        for k in range(n):
            worth = _GREEDY[piece_at(position, _U(moves[k]) >> _U(6) & _63) & _U(7)]
            if worth > best:
                best, ties = worth, 0
            if worth == best:
                ties += 1
        chosen = below(random_word, ties)
        for k in range(n):
            if _GREEDY[piece_at(position, _U(moves[k]) >> _U(6) & _63) & _U(7)] == best:
                if chosen == 0:
                    return moves[k]
                chosen -= 1
    return moves[below(random_word, n)]


@kernel
def _play(seed: Word, style: int, depth: int, found: Position, scratch: Position, lists: NDArray[np.int32]) -> int:
    """Plays a game from the start position in ``scratch[0]`` and writes one of its positions with a mate to ``found``.

    ``depth`` is 1 for a mate in one, 2 for a mate in two where there is none in one. ``style`` has bit 0 for a greedy
    white, bit 1 for a greedy black. Returns how many positions there were to choose from. ``scratch`` is [5, WORDS],
    ``lists`` [4, 256].
    """
    position, moves = scratch[0], lists[0]
    fitting = 0
    for ply in range(LONGEST):
        n = generate(position, moves)
        if n == 0 or halfmoves(position) >= _U(100) or popcount(occupied(position)) == _U(2):
            break
        fits = mates_in_one(position, lists[1], scratch[1]) > 0
        if depth == 2:
            fits = not fits and mates_in_two(position, lists[1], scratch[1:4], lists[2:4]) > 0
        if fits:
            fitting += 1
            if below(word(seed, 2 * ply + 1), fitting) == 0:
                copy(position, found)
        black = position[META] & _U(1)
        greedy = (_U(style) >> black) & _U(1) != _U(0)
        make(position, _choose(position, moves, n, greedy, word(seed, 2 * ply)))
    return fitting


def _from_play(depth: int, stream: Word) -> Iterator[Position]:
    """One position of each game that had any, game by game, without end."""
    scratch, lists = np.zeros((5, WORDS), np.uint64), np.zeros((4, 256), np.int32)
    start = _fen.parse(_fen.START)
    for number in count():
        found = np.zeros(WORDS, np.uint64)
        scratch[0] = start
        if _play(np.uint64(word(stream, number)), number % 4, depth, found, scratch, lists):
            yield found


def _three_pieces(kind: int, stream: Word) -> Iterator[Position]:
    """A king and a piece, to move, against a king that is not in check; white and black have the piece in turn."""
    for number in count():
        king, piece, other = (int(below(np.uint64(word(stream, 3 * number + k)), 64)) for k in range(3))
        if len({king, piece, other}) < 3:
            continue
        position = np.zeros(WORDS, np.uint64)
        black = number & 1
        for square, code in ((king, KING | black << 3), (piece, kind | black << 3), (other, KING | (1 - black) << 3)):
            for bit in range(4):
                position[bit] |= np.uint64((code >> bit & 1) << square)
        if not attacked(position, np.uint64(other), np.uint64(black)):
            position[META] = np.uint64(black)
            yield position


_SOURCES: dict[str, Callable[[Word], Iterator[Position]]] = {
    "mate-in-1": partial(_from_play, 1),
    "mate-in-2": partial(_from_play, 2),
    "kqk": partial(_three_pieces, QUEEN),
    "krk": partial(_three_pieces, ROOK),
}


# -- sets --------------------------------------------------------------------------------------------------------------


def likeness(position: Position) -> bytes:
    """The same bytes for positions that are alike: pieces and side to move up to colour and symmetry, nothing else.

    The board is taken from the side to move, with its pieces as white. With pawns, left and right may be swapped;
    without, the board may be rotated and mirrored in all eight ways.
    """
    board = np.array(_fen.codes(position), np.uint8).reshape(8, 8)
    if int(position[META]) & 1:
        board = np.where(board > 0, board ^ 8, 0).astype(np.uint8)[::-1]
    if (board & 7 == PAWN).any():
        return min(board.tobytes(), board[:, ::-1].tobytes())
    turned = [np.rot90(board, k) for k in range(4)]
    return min(view.tobytes() for b in turned for view in (b, b[:, ::-1]))


def recipe(name: str, part: str, taken: set[bytes]) -> Iterator[str]:
    """The positions of a set as FENs, without end.

    Args:
        name: the set's name.
        part: ``"test"`` or ``"train"``, two disjoint streams of games.
        taken: likenesses that must not occur again; grows. The test part is made first, with an empty set.
    """
    stream = np.uint64(word(np.uint64(SEED), 2 * list(SIZES).index(name) + ("test", "train").index(part)))
    for position in _SOURCES[name](stream):
        alike = likeness(position)
        if alike not in taken:
            taken.add(alike)
            position[META] = position[META] & np.uint64(0xFFFF) | np.uint64(1 << 32)
            yield _fen.write(position)


def make_set(name: str) -> dict[str, list[str]]:
    """Both parts of a set."""
    taken: set[bytes] = set()
    train, test = SIZES[name]
    return {part: list(islice(recipe(name, part, taken), size)) for part, size in (("test", test), ("train", train))}


def figures(fens: Iterable[str]) -> dict[str, float]:
    """Statistics of a set of mates in one, as means over its positions.

    ``uniform`` is the share that a uniformly random move solves, ``checks`` the share that a uniformly random checking
    move solves, ``single`` the share of positions with one solution.
    """
    rows = []
    moves, scratch = np.zeros(256, np.int32), np.zeros(WORDS, np.uint64)
    for fen in fens:
        position = _fen.parse(fen)
        checks, n = 0, generate(position, moves)
        for move in moves[:n]:
            copy(position, scratch)
            make(scratch, int(move))
            checks += bool(in_check(scratch))
        mates = mates_in_one(position, moves, scratch)
        pieces = sum(code > 0 for code in _fen.codes(position))
        black = int(position[META]) & 1
        rows.append((pieces, n, checks, mates, black, mates == 1, mates / n, mates / max(checks, 1)))
    names = ("pieces", "moves", "checking", "mating", "black", "single", "uniform", "checks")
    return dict(zip(names, np.mean(rows, 0).tolist(), strict=True))


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m coterie.envs.chess.curricula", description="Make the sets.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write, e.g. envs/chess/data")
    parser.add_argument("--only", choices=list(SIZES), help="one set instead of all")
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in [options.only] if options.only else SIZES:
        for part, fens in make_set(name).items():
            told = f"# {name}, {part}: {len(fens)} positions; made by coterie.envs.chess.curricula, seed {SEED}"
            path = options.out / f"{name}.{part}.txt.gz"
            path.write_bytes(gzip.compress("\n".join([told, *fens, ""]).encode(), mtime=0))
            shown = figures(fens) if name == "mate-in-1" else {}
            print(told[2:], f"({path.stat().st_size} bytes)", *(f"{k} {v:.3f}" for k, v in shown.items()))


if __name__ == "__main__":
    main()
