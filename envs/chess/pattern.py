"""What a text says about a move, without a board: for ``san`` and ``reasons``."""

from __future__ import annotations

import re

from ...errors import InvalidAction
from . import fen as _fen

__all__ = ["MOVE", "Pattern", "is_move"]

MOVE = (
    r"(?:(?P<castle>[Oo0]-[Oo0](?P<long>-[Oo0])?)"
    r"|(?P<kind>[PNBRQK]?)(?P<file>[a-h]?)(?P<rank>[1-8]?)[-x:]?(?P<target>[a-h][1-8])"
    r"(?:[=/]?(?P<piece>[NBRQnbrq])|\((?P<piece2>[NBRQ])\))?)"
)
"""Matches a move without its marks."""

_WHOLE = re.compile(rf"(?:[0-9]+\s*\.+\s*)?{MOVE}(?:\s*e\.?p\.?)?\s*[+#!?]*\.?")
_NO_PROMOTION = re.compile(r".*[a-h][18][=/(]?(?P<piece>[KkPp])\)?\s*[+#!?]*")
_KINDS = "?PNBRQK"


def is_move(text: str) -> bool:
    """Whether a text reads like a move in some position."""
    return _WHOLE.fullmatch(text.strip()) is not None


class Pattern:
    """What a text says about a move; what it leaves open is None.

    Attributes:
        kind: of the piece that moves; None where the text gives only its square, as UCI does.
        file, rank: of the square it starts from.
        target: the square it goes to; -1 when castling.
        promotion: the kind it becomes.
        castle: 2 or -2, how many files the king goes; 0 otherwise.

    Raises:
        InvalidAction: the text does not read like a move.
    """

    def __init__(self, text: str) -> None:
        match = _WHOLE.fullmatch(text.strip())
        if match is None:
            other = _NO_PROMOTION.fullmatch(text.strip())
            if other:
                what = "king" if other["piece"] in "Kk" else "pawn"
                raise InvalidAction(
                    f"{text!r} does not read like a move: a pawn becomes a queen, rook, bishop or knight, never a "
                    f"{what}. Write one like a8=Q."
                )
            raise InvalidAction(
                f"{text!r} does not read like a move. Write one like Nf3, exd5, e8=Q or O-O, or squares like g1f3."
            )
        self.castle = (-2 if match["long"] else 2) if match["castle"] else 0
        self.kind: int | None = 6
        self.file = self.rank = self.promotion = None
        self.target = -1
        if self.castle:
            return
        self.file = "abcdefgh".index(match["file"]) if match["file"] else None
        self.rank = int(match["rank"]) - 1 if match["rank"] else None
        self.target = int(_fen.parse_square(match["target"]) or 0)
        piece = match["piece"] or match["piece2"]
        self.promotion = _KINDS.index(piece.upper()) if piece else None
        self.kind = _KINDS.index(match["kind"]) if match["kind"] else 1
        if not match["kind"] and match["file"] and match["rank"]:
            self.kind = None
        elif self.kind == 1 and self.file is None:
            self.file = self.target & 7  # only a capture changes the file, and it names the old one

    def starts(self, square: int) -> bool:
        """Whether a piece on this square fits the text."""
        return self.file in (None, square & 7) and self.rank in (None, square >> 3)

    def fits(self, move: int, kind: int) -> bool:
        """Whether a legal move of a piece of this kind fits the text."""
        start, target = move & 63, move >> 6 & 63
        castles = kind == 6 and abs(target - start) == 2
        if self.castle or (castles and self.file is None):  # Kg1 is one step; castling is O-O, or names its start
            return castles and target - start == self.castle
        return (
            self.kind in (None, kind)
            and target == self.target
            and self.starts(start)
            and self.promotion in (None, move >> 12)
        )
