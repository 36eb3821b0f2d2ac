"""Forced mates in chess, proved by exhaustive search without pruning or evaluation.

The alpha-beta player finds mates faster, but does not prove that they are shortest; puzzles are made and checked with
this module. Repetition and the 50-move rule are left out: a mate in a few moves ends the game before they matter.

Letters: L plies of the proof.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.answers import whole_number
from ...envs.chess import fen as notation
from ...envs.chess.moves import generate, has_move
from ...envs.chess.position import WORDS, Position, copy, in_check, make
from ...envs.stepping.jit import kernel

__all__ = ["forced", "mating_moves"]

MOST = 10
"""The most moves that ``mating_moves`` takes; longer proofs would take for ever."""


@kernel
def forced(positions: Position, moves: NDArray[np.int32], level: int, plies: int) -> Any:
    """Whether mate is forced within ``plies`` from ``positions[level]``.

    With odd plies the side to move mates; with even plies it is mated. positions [> level + plies, WORDS] and moves
    [> level + plies, 256] are scratch space beyond ``level``.
    """
    here = positions[level]
    if plies == 0:
        return in_check(here) and not has_move(here)
    n = generate(here, moves[level])
    attacks = plies % 2 == 1
    if n == 0:
        return not attacks and in_check(here)
    for k in range(n):
        below = positions[level + 1]
        copy(here, below)
        make(below, moves[level, k])
        if plies == 1 and not in_check(below):
            continue
        if forced(positions, moves, level + 1, plies - 1) == attacks:
            return attacks
    return not attacks


def mating_moves(fen: str, moves: int) -> list[str]:
    """The moves (UCI, sorted) that force mate in at most ``moves`` moves of the side to move, themselves included.

    ``mating_moves(fen, 1)`` gives the mates in one. A position is a mate in exactly two if that is empty and
    ``mating_moves(fen, 2)`` isn't.

    Raises:
        NotationError: the FEN cannot be read.
        UsageError: ``moves`` is not a whole number from 1 to 10.
    """
    moves = whole_number("moves", moves, 1, MOST)
    plies = 2 * moves - 1
    positions, scratch = np.zeros((plies + 1, WORDS), np.uint64), np.zeros((plies + 1, 256), np.int32)
    start = notation.parse(fen)
    found = []
    for move in notation.legal(start):
        copy(start, positions[0])
        make(positions[0], move)
        if forced(positions, scratch, 0, plies - 1):
            found.append(notation.uci(move))
    return sorted(found)
