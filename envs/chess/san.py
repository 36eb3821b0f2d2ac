"""Moves as people write them: ``Nf3``, ``exd5``, ``R1a3``, ``e8=Q``, ``O-O``, ``Qxf7#``.

``spell`` writes the shortest form that the standard allows, for all moves of a position in one pass: if another piece
of the same kind has a legal move to the same square, the file tells them apart, else the rank, else both. ``find`` also
reads long forms (``Ng1-f3``), UCI (``g1f3``), ``0-0``, ``e8Q``, ``exd6 e.p.``, a missing or needless ``x``, and any
marks at the end. A text that is not a move, not a legal move, or fits several moves raises a different error for each
case, and the message says why.

Source: Edwards, "Standard: Portable Game Notation Specification and Implementation Guide" (1994), section 8.2.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import AmbiguousAction, IllegalAction, UsageError
from ..stepping.jit import kernel
from . import fen as _fen
from .moves import generate, has_move
from .pattern import Pattern, is_move
from .position import Position, copy, in_check, make, piece_at
from .reasons import why_not

__all__ = ["find", "is_move", "moves_and_sans", "parse_san", "san", "spell", "with_marks"]

LETTERS = np.frombuffer(b"??NBRQK?", np.uint8)
"""[8] letters by kind; pawns have none."""

ROOM = 2048
"""Bytes that hold all moves of any position: at most 218 moves of at most 7 bytes, with the space after each."""

_U = np.uint64
_63, _7 = _U(63), _U(7)
_SPACE, _FILE, _RANK, _TAKES, _EQUALS, _DASH, _CASTLE = (np.uint8(ord(c)) for c in " a1x=-O")


@kernel
def spell(position: Position, moves: NDArray[np.int32], n: int, out: NDArray[np.uint8]) -> int:
    """Write the SANs of ``moves[:n]`` into ``out`` [ROOM], a space after each; returns the number of bytes.

    ``moves`` must be all legal moves of the position, in any order: whether a move needs a file or rank depends on the
    others.
    """
    at = 0
    for k in range(n):
        move = _U(moves[k])
        start, target, promotion = move & _63, move >> _U(6) & _63, move >> _U(12)
        code = piece_at(position, start)
        kind = code & _7
        takes = piece_at(position, target) != _U(0)
        if kind == _U(6) and (target == start + _U(2) or start == target + _U(2)):
            parts = 2 if target > start else 3
            for _ in range(parts):
                out[at], out[at + 1] = _CASTLE, _DASH
                at += 2
            out[at - 1] = _SPACE
            continue
        if kind == _U(1):
            if start & _7 != target & _7:
                takes = True
                out[at] = _FILE + np.uint8(start & _7)
                at += 1
        else:
            out[at] = LETTERS[kind]
            at += 1
            same_file, same_rank, another = False, False, False
            for j in range(n):
                other = _U(moves[j])
                place = other & _63
                if (other ^ move) >> _U(6) & _63 == _U(0) and place != start and piece_at(position, place) == code:
                    another = True
                    same_file |= (place ^ start) & _7 == _U(0)
                    same_rank |= (place ^ start) >> _U(3) == _U(0)
            if another and (same_rank or not same_file):
                out[at] = _FILE + np.uint8(start & _7)
                at += 1
            if same_file:
                out[at] = _RANK + np.uint8(start >> _U(3))
                at += 1
        if takes:
            out[at] = _TAKES
            at += 1
        out[at], out[at + 1] = _FILE + np.uint8(target & _7), _RANK + np.uint8(target >> _U(3))
        at += 2
        if promotion != _U(0):
            out[at], out[at + 1] = _EQUALS, LETTERS[promotion]
            at += 2
        out[at] = _SPACE
        at += 1
    return at


def moves_and_sans(position: Position) -> tuple[list[int], list[str]]:
    """All legal moves of a position [WORDS], and their SANs without ``+`` and ``#``."""
    moves, text = np.empty(256, np.int32), np.empty(ROOM, np.uint8)
    n = generate(position, moves)
    return moves[:n].tolist(), text[: spell(position, moves, n, text)].tobytes().decode().split()


def with_marks(position: Position, move: int, san: str) -> str:
    """``san`` with ``+`` or ``#`` appended if the move gives check or mate."""
    after = np.empty_like(position)
    copy(position, after)
    make(after, move)
    if not in_check(after):
        return san
    return san + ("+" if has_move(after) else "#")


def san(fen: str, uci: str, *, marks: bool = True) -> str:
    """The SAN of a move: ``san(START, "g1f3")`` is ``"Nf3"``.

    Args:
        fen: the position.
        uci: a legal move in that position.
        marks: append ``+`` or ``#`` to a move that gives check or mate.

    Raises:
        NotationError: the FEN cannot be read.
        InvalidAction, IllegalAction: the move cannot be read, or is not legal.
        UsageError: the move is not a text.
    """
    position = _fen.parse(fen)
    move = _fen.parse_uci(position, uci)
    moves, sans = moves_and_sans(position)
    text = sans[moves.index(move)]
    return with_marks(position, move, text) if marks else text


def parse_san(fen: str, san: str) -> str:
    """The move that a text means, as UCI: ``parse_san(START, "Nf3")`` is ``"g1f3"``.

    Raises:
        NotationError: the FEN cannot be read.
        InvalidAction: the text does not read like a move.
        IllegalAction: the text reads like a move, but no legal move fits; the message says why.
        AmbiguousAction: several legal moves fit; the message names them.
        UsageError: it is not a text.
    """
    return _fen.uci(find(_fen.parse(fen), san))


# -- reading -----------------------------------------------------------------------------------------------------------


def find(position: Position, text: str) -> int:
    """The legal move of a position [WORDS] that a text means.

    Raises:
        InvalidAction, IllegalAction, AmbiguousAction, UsageError: see ``parse_san``.
    """
    if not isinstance(text, str):
        raise UsageError(f"A move is a text like 'Nf3', not {text!r}.")
    moves, sans = moves_and_sans(position)
    if text in sans:
        return moves[sans.index(text)]
    pattern = Pattern(text)
    board = _fen.codes(position)
    meant = [k for k, move in enumerate(moves) if pattern.fits(move, board[move & 63] & 7)]
    if len(meant) == 1:
        return moves[meant[0]]
    if meant:
        raise AmbiguousAction(
            f"{text!r} could be {_or([sans[k] for k in meant])} in {_fen.write(position)}. Write one of them."
        )
    raise IllegalAction(
        f"{text!r} cannot be played in {_fen.write(position)}: {why_not(position, pattern)}. "
        f"Legal: {' '.join(sorted(sans)) or 'nothing'}."
    )


def _or(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]])
