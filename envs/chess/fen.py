"""Reads and writes FEN and UCI: positions and moves as other programs write them.

``parse`` refuses positions that no game can reach and names the wrong field; ``write`` gives an en passant square
only if such a capture is legal (as python-chess and Stockfish do).

Source: Edwards, "Standard: Portable Game Notation Specification and Implementation Guide", 1994, section 16.1.
"""

from __future__ import annotations

import numpy as np

from ...errors import IllegalAction, InvalidAction, NotationError, UsageError
from .moves import generate
from .position import BLACK, KING, META, PAWN, ROOK, WORDS, Position, attacked, rekey, step_over

__all__ = ["PIECES", "START", "parse", "parse_square", "parse_uci", "square_name", "uci", "write"]

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
PIECES = ".PNBRQK..pnbrqk."
"""The letter of each piece code (see ``position``)."""

_FIELDS = ("placement", "side to move", "castling", "en passant", "halfmove clock", "fullmove number")
_PROMOTIONS = "..nbrq"
_MOST = {2: 2, 3: 2, 4: 2, 5: 1}  # knights, bishops, rooks, queens at the start


def square_name(square: int) -> str:
    """``"e4"``."""
    return "abcdefgh"[square & 7] + "12345678"[square >> 3]


def parse_square(name: str) -> int | None:
    """The number of ``"e4"``, or None."""
    if len(name) != 2 or name[0] not in "abcdefgh" or name[1] not in "12345678":
        return None
    return "abcdefgh".index(name[0]) + 8 * "12345678".index(name[1])


# -- writing -----------------------------------------------------------------------------------------------------------


def codes(position: Position) -> list[int]:
    """The code of each of the 64 squares."""
    b0, b1, b2, b3 = (int(position[k]) for k in range(4))
    return [b0 >> s & 1 | (b1 >> s & 1) << 1 | (b2 >> s & 1) << 2 | (b3 >> s & 1) << 3 for s in range(64)]


def write(position: Position) -> str:
    """The FEN of a position [WORDS]."""
    board = codes(position)
    ranks = []
    for rank in range(7, -1, -1):
        text = "".join(PIECES[code] for code in board[8 * rank : 8 * rank + 8])
        for empty in range(8, 0, -1):
            text = text.replace("." * empty, str(empty))
        ranks.append(text)
    meta = int(position[META])
    rights = "".join(letter for k, letter in enumerate("KQkq") if meta >> (1 + k) & 1) or "-"
    passed = square_name(meta >> 7 & 63) if meta >> 5 & 1 else "-"
    return f"{'/'.join(ranks)} {'wb'[meta & 1]} {rights} {passed} {meta >> 16 & 0xFFFF} {meta >> 32}"


# -- reading -----------------------------------------------------------------------------------------------------------


class _Reader:
    """The fields of one FEN, and errors that name one of them."""

    def __init__(self, fen: object) -> None:
        if not isinstance(fen, str):
            raise NotationError(f"A FEN is a text, not {fen!r}. The start position is {START!r}.")
        self.fen, self.fields, self.starts = fen, fen.split(), [0] * 7
        at = 0
        for k, word in enumerate(self.fields[:7]):
            at = fen.index(word, at)
            self.starts[k] = at
            at += len(word)
        if not 4 <= len(self.fields) <= 6:
            raise NotationError(
                f"The FEN {fen!r} has {len(self.fields)} fields; there are six, and the last two may be left out: "
                f"{', '.join(_FIELDS)}."
            )

    def wrong(self, field: int, why: str, offset: int = 0) -> NotationError:
        return NotationError(
            f"The {_FIELDS[field]} of the FEN {self.fen!r} is {self.fields[field]!r}: {why}",
            at=self.starts[field] + offset,
        )


def parse(fen: str) -> Position:
    """A new position [WORDS] from a FEN; clock and move number may be left out (0 and 1).

    Raises:
        NotationError: names the field that is wrong; ``at`` is its offset.
    """
    reader = _Reader(fen)
    board = _board(reader)
    position = np.zeros(WORDS, np.uint64)
    for square, code in enumerate(board):
        for k in range(4):
            position[k] |= np.uint64((code >> k & 1) << square)
    if reader.fields[1] not in ("w", "b"):
        raise reader.wrong(1, "it must be w or b.")
    black = int(reader.fields[1] == "b")
    rights = _rights(reader, board)
    passed = _passed(reader, board, black)
    clock = _number(reader, 4, 0, 0, 150)
    number = _number(reader, 5, 1, 1, 2**31 - 1)
    position[META] = np.uint64(black | rights << 1 | clock << 16 | number << 32)
    king = board.index(KING | (0 if black else 8))
    if attacked(position, np.uint64(king), np.uint64(black)):
        raise reader.wrong(1, f"but the other king, on {square_name(king)}, is in check: its side must be to move.")
    rekey(position)
    if passed is not None:
        step_over(position, np.uint64(passed))
    return position


def _board(reader: _Reader) -> list[int]:
    text = reader.fields[0]
    rows: list[list[int]] = [[]]
    for offset, letter in enumerate(text):
        if letter == "/":
            rows.append([])
        elif letter in "12345678":
            if offset and text[offset - 1] in "12345678":
                raise reader.wrong(0, "two digits are adjacent; add them up.", offset)
            rows[-1] += [0] * int(letter)
        elif letter in PIECES and letter != ".":
            rows[-1].append(PIECES.index(letter))
        else:
            raise reader.wrong(0, f"{letter!r} is none of PNBRQKpnbrqk.", offset)
    if len(rows) != 8:
        raise reader.wrong(0, f"it has {len(rows)} ranks instead of 8.")
    for k, row in enumerate(rows):
        if len(row) != 8:
            raise reader.wrong(0, f"rank {8 - k} has {len(row)} squares instead of 8.")
    board = [code for row in reversed(rows) for code in row]
    _count(reader, board)
    return board


def _count(reader: _Reader, board: list[int]) -> None:
    for name, colour in (("white", 0), ("black", BLACK << 3)):
        have = {kind: board.count(kind | colour) for kind in range(PAWN, KING + 1)}
        if have[KING] != 1:
            raise reader.wrong(0, f"{name} has {have[KING]} kings instead of one.")
        if have[PAWN] > 8:
            raise reader.wrong(0, f"{name} has {have[PAWN]} pawns; the most is 8.")
        promoted = sum(max(0, have[kind] - most) for kind, most in _MOST.items())
        if promoted > 8 - have[PAWN]:
            raise reader.wrong(
                0, f"{name} has {promoted} pieces more than it began with, but only {8 - have[PAWN]} pawns are gone."
            )
    for square in (*range(8), *range(56, 64)):
        if board[square] & 7 == PAWN:
            raise reader.wrong(0, f"a pawn stands on {square_name(square)}; pawns are never on the first or last rank.")


def _rights(reader: _Reader, board: list[int]) -> int:
    text = reader.fields[2]
    if text == "-":
        return 0
    rights = 0
    for offset, letter in enumerate(text):
        k = "KQkq".find(letter)
        if k < 0 or rights >> k & 1:
            raise reader.wrong(2, "it must be - or some of KQkq, each at most once.", offset)
        home, corner, colour = ((4, 7, 0), (4, 0, 0), (60, 63, 8), (60, 56, 8))[k]
        if board[home] != KING | colour or board[corner] != ROOK | colour:
            raise reader.wrong(
                2,
                f"{letter} needs the king on {square_name(home)} and a rook on {square_name(corner)}.",
                offset,
            )
        rights |= 1 << k
    return rights


def _passed(reader: _Reader, board: list[int], black: int) -> int | None:
    text = reader.fields[3]
    if text == "-":
        return None
    square = parse_square(text)
    if square is None or square >> 3 != (2 if black else 5):
        raise reader.wrong(3, f"it must be - or the square on rank {3 if black else 6} that a pawn just stepped over.")
    pawn, origin = square ^ 8, square ^ 24
    if board[pawn] != PAWN | (0 if black else 8):
        raise reader.wrong(3, f"no pawn stands on {square_name(pawn)} that could have stepped over it.")
    if board[square] or board[origin]:
        full = square if board[square] else origin
        raise reader.wrong(3, f"{square_name(full)} is not empty, so no pawn has just come that way.")
    return square


def _number(reader: _Reader, field: int, default: int, least: int, most: int) -> int:
    if field >= len(reader.fields):
        return default
    text = reader.fields[field]
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and least <= int(text) <= most):
        raise reader.wrong(field, f"it must be a whole number from {least} to {most}.")
    return int(text)


# -- UCI ---------------------------------------------------------------------------------------------------------------


def uci(move: int) -> str:
    """``"e2e4"``, ``"e7e8q"``; castling is the king's move."""
    promotion = _PROMOTIONS[move >> 12] if move >> 12 else ""
    return square_name(move & 63) + square_name(move >> 6 & 63) + promotion


def legal(position: Position) -> list[int]:
    """All legal moves of a position."""
    moves = np.zeros(256, np.int32)
    return [int(move) for move in moves[: generate(position, moves)]]


def parse_uci(position: Position, text: str) -> int:
    """The legal move that a text like ``"e2e4"`` names.

    Raises:
        InvalidAction: the text does not read like a move.
        IllegalAction: the move is not legal in this position.
        UsageError: it is not a text.
    """
    if not isinstance(text, str):
        raise UsageError(f"A move is a text like 'e2e4', not {text!r}.")
    given = text.strip().lower()
    start, target = parse_square(given[:2]), parse_square(given[2:4])
    promotion = _PROMOTIONS.find(given[4:]) if len(given) == 5 and given[4] in "nbrq" else 0
    if start is None or target is None or (len(given) > 4 and not promotion):
        raise InvalidAction(f"{text!r} does not read like a UCI move, e.g. e2e4 or e7e8q.")
    move = start | target << 6 | promotion << 12
    moves = legal(position)
    if move not in moves:
        raise IllegalAction(
            f"{text!r} is not legal in {write(position)}. Legal: {' '.join(sorted(map(uci, moves))) or 'nothing'}."
        )
    return move
