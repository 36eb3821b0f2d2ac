"""Chess: rules as bitboard kernels, and functions on FEN strings for users of the rules alone.

``position`` says what a position is, ``moves`` which moves it has, ``fen`` how both are written, ``rules`` what makes
them a game.
"""

from __future__ import annotations

from . import fen as _fen
from . import moves as _moves
from .position import WORDS, make

__all__ = ["legal_moves", "perft", "push"]


def legal_moves(fen: str) -> list[str]:
    """The legal moves of a position as UCI, sorted.

    Raises:
        NotationError: the FEN cannot be read.
    """
    return sorted(_fen.uci(move) for move in _fen.legal(_fen.parse(fen)))


def push(fen: str, uci: str) -> str:
    """The FEN after a move.

    Raises:
        NotationError: the FEN cannot be read.
        InvalidAction, IllegalAction: the move cannot be read, or is not legal.
    """
    position = _fen.parse(fen)
    make(position, _fen.parse_uci(position, uci))
    return _fen.write(position)


def perft(fen: str, depth: int) -> int:
    """Leaves of the tree of legal moves, ``depth`` plies deep.

    Raises:
        NotationError: the FEN cannot be read.
        UsageError: the depth is no whole number from 0 to 60.
    """
    import numpy as np

    from ...errors import UsageError

    if isinstance(depth, bool) or not isinstance(depth, int) or not 0 <= depth <= 60:
        raise UsageError(f"depth={depth!r} came; a whole number from 0 to 60 is needed.")
    scratch = np.zeros((depth + 1, WORDS), np.uint64), np.zeros((depth + 1, 256), np.int32)
    return int(_moves.perft(_fen.parse(fen), depth, *scratch))
