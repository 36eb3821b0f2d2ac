"""Moves as people write them: ``Nf3``, ``exd5``, ``R1a3``, ``e8=Q``, ``O-O``, ``Qxf7#``.

Written is the standard's shortest form: a piece that shares its target with another of its kind is told apart by file,
else by rank, else by both, and only legal moves count. All moves of a position are spelt in one pass. Read are also
long forms (``Ng1-f3``), UCI (``g1f3``), ``0-0``, ``e8Q``, ``exd6 e.p.``, a missing or needless ``x``, and whatever
marks stand behind; an answer that is no move, no legal move or several moves is an error of its own kind, which says
why.

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
"""[8] by kind; pawns have none."""

ROOM = 2048
"""Bytes that all moves of any position fit into: 218 are the most, of at most 7 with the space behind."""

_U = np.uint64
_63, _7 = _U(63), _U(7)
_SPACE, _FILE, _RANK, _TAKES, _EQUALS, _DASH, _CASTLE = (np.uint8(ord(c)) for c in " a1x=-O")


@kernel
def spell(position: Position, moves: NDArray[np.int32], n: int, out: NDArray[np.uint8]) -> int:
    """Write the SANs of ``moves[:n]`` into ``out`` [ROOM], a space behind each; returns how many bytes.

    ``moves`` are all legal moves of the position, in any order: which of them stands there decides how a move is told
    apart.
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
    """``san`` with ``+`` or ``#`` behind it, if the move gives check or mate."""
    after = np.empty_like(position)
    copy(position, after)
    make(after, move)
    if not in_check(after):
        return san
    return san + ("+" if has_move(after) else "#")


def san(fen: str, uci: str, *, marks: bool = True) -> str:
    """How a move is written: ``san(START, "g1f3")`` is ``"Nf3"``.

    Args:
        fen: the position.
        uci: a legal move of it.
        marks: put ``+`` or ``#`` behind a move that gives check or mate.

    Raises:
        NotationError: the FEN cannot be read.
        InvalidAction, IllegalAction: the move cannot be read, or is not legal.
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
        IllegalAction: it does, but cannot be played here; the message says why.
        AmbiguousAction: several legal moves are meant; the message names them.
        UsageError: it is no text.
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
