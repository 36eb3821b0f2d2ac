"""Explains why a move cannot be played, for the messages of ``san``.

Nothing here decides what is legal: it explains decisions of ``moves``, and says only what is certain.
"""

from __future__ import annotations

import numpy as np

from . import fen as _fen
from .moves import has_move
from .pattern import Pattern
from .position import (
    BISHOP,
    KING,
    KNIGHT,
    META,
    PAWN,
    QUEEN,
    ROOK,
    Position,
    attacked,
    bishop_attacks,
    castling,
    in_check,
    king_attacks,
    knight_attacks,
    occupied,
    rook_attacks,
)

__all__ = ["why_not"]

_NAMES = ("", "pawn", "knight", "bishop", "rook", "queen", "king")
_COLOURS = ("white", "black")


def why_not(position: Position, pattern: Pattern) -> str:
    """Why no legal move of a position fits a pattern."""
    black = int(position[META]) & 1
    colour = _COLOURS[black]
    check = bool(in_check(position))
    if not has_move(position):
        return f"the game is over, {colour} is {'mated' if check else 'stalemated'}"
    board = _fen.codes(position)
    if pattern.castle:
        return _why_not_castle(position, board, black, pattern.castle)
    kinds = range(1, 7) if pattern.kind is None else (pattern.kind,)
    own = [s for s in range(64) if board[s] and board[s] >> 3 == black and board[s] & 7 in kinds and pattern.starts(s)]
    target = _fen.square_name(pattern.target)
    if not own:
        return _nothing_there(board, black, pattern)
    if board[pattern.target] and board[pattern.target] >> 3 == black:
        return f"{target} holds a {colour} {_NAMES[board[pattern.target] & 7]}"
    reaching = [s for s in own if _reaches(position, board, black, s, pattern.target)]
    if not reaching:
        if pattern.kind is not None and len(own) > 1:
            return f"no {colour} {_NAMES[pattern.kind]} can go to {target}"
        return f"the {colour} {_NAMES[board[own[0]] & 7]} on {_fen.square_name(own[0])} cannot go to {target}"
    last = pattern.target >> 3 in (0, 7)
    if pattern.promotion is not None and not (last and any(board[s] & 7 == PAWN for s in reaching)):
        return "only a pawn that reaches the last rank becomes another piece"
    if all(board[s] & 7 == KING for s in reaching):
        return f"{_COLOURS[1 - black]} attacks {target}"
    return f"{colour} is in check and would still be" if check else f"it would leave the {colour} king in check"


def _nothing_there(board: list[int], black: int, pattern: Pattern) -> str:
    colour = _COLOURS[black]
    if pattern.file is not None and pattern.rank is not None:
        square = pattern.file + 8 * pattern.rank
        found = board[square]
        what = f"holds a {_COLOURS[found >> 3]} {_NAMES[found & 7]}" if found else "is empty"
        return f"{_fen.square_name(square)} {what}, and {colour} is to move"
    name = _NAMES[pattern.kind or PAWN]
    if pattern.file is not None:
        return f"{colour} has no {name} on the {'abcdefgh'[pattern.file]}-file"
    if pattern.rank is not None:
        return f"{colour} has no {name} on rank {pattern.rank + 1}"
    return f"{colour} has no {name}"


def _reaches(position: Position, board: list[int], black: int, start: int, target: int) -> bool:
    """Whether a piece could go there if its king's safety did not count."""
    kind, square, every = board[start] & 7, np.uint64(start), np.uint64(occupied(position))
    if kind == PAWN:
        return _pawn_reaches(position, board, black, start, target)
    attacks = 0
    if kind == KNIGHT:
        attacks = int(knight_attacks(square))
    if kind == KING:
        attacks = int(king_attacks(square))
    if kind in (BISHOP, QUEEN):
        attacks |= int(bishop_attacks(square, every))
    if kind in (ROOK, QUEEN):
        attacks |= int(rook_attacks(square, every))
    return bool(attacks >> target & 1)


def _pawn_reaches(position: Position, board: list[int], black: int, start: int, target: int) -> bool:
    ahead = -8 if black else 8
    files = abs((target & 7) - (start & 7))
    if files == 1 and target - ahead in (start - 1, start + 1):
        meta = int(position[META])
        stepped_over = bool(meta >> 6 & 1) and meta >> 7 & 63 == target
        return board[target] != 0 or stepped_over
    home = start >> 3 == (6 if black else 1)
    if target == start + ahead:
        return board[target] == 0
    return target == start + 2 * ahead and home and not board[target] and not board[start + ahead]


def _why_not_castle(position: Position, board: list[int], black: int, step: int) -> str:
    colour, side = _COLOURS[black], "kingside" if step > 0 else "queenside"
    right = (1 if step > 0 else 2) << 2 * black
    if not int(castling(position)) & right:
        return f"{colour} may not castle {side} any more: king or rook have moved, or the rook is gone"
    if in_check(position):
        return f"{colour} is in check, and castling does not answer a check"
    king = 60 if black else 4
    between = range(king + 1, king + 3) if step > 0 else range(king - 3, king)
    full = [s for s in between if board[s]]
    if full:
        return f"{_fen.square_name(full[0])} between king and rook is not empty"
    way = (king + step // 2, king + step)
    hit = [s for s in way if attacked(position, np.uint64(s), np.uint64(1 - black))]
    return f"{_COLOURS[1 - black]} attacks {_fen.square_name(hit[0])}, where the king would pass"
