"""Chess as a picture: the board with coordinates, the last move tinted, a king in check marked.

Cells are squares, a1 = 0, b1 = 1, ... h8 = 63, as ``envs.chess.position`` numbers them. The side of ``player`` is at
the bottom; White's for spectators.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from ..aliases import Action, Player, State
from ..envs.chess.fen import codes
from ..envs.chess.position import KING, META, in_check
from ..envs.chess.rules import move_of
from ..envs.core import Game
from .board import OVERSAMPLE, Canvas, Color, Frame, mixed
from .chess_pieces import BLACK, KINDS, WHITE, draw_piece

__all__ = ["ARROWS", "MARKS_LAST", "SEAT_COLORS", "boxes", "cells", "draw", "last_move", "moved", "taken"]

LIGHT: Final[Color] = (186, 195, 214)
DARK: Final[Color] = (108, 123, 155)
LAST: Final[Color] = (236, 196, 84)
CHECK: Final[Color] = (240, 84, 72)
SEAT_COLORS: Final = (WHITE.body, BLACK.body)
WORTH: Final = {1: 1, 2: 3, 3: 3, 4: 5, 5: 9}
"""Kind (``KINDS`` from 1) -> pawns."""

MARKS_LAST: Final = True
"""The picture marks the last move, so the window does not have to."""
ARROWS: Final = True
"""The cells of an action are where it starts and ends, so pages draw it as an arrow."""


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[size, size, 3] uint8: row i of ``state``.

    Raises:
        MissingExtra: pygame is not installed.
    """
    position = state[i]["position"]
    black = int(position[META]) & 1
    board = codes(position)
    canvas = Canvas(size)
    side = size / 8
    checked = KING + 8 * black if in_check(position) else None
    played = last_move(state, i)
    for square, (x, y, _, _) in enumerate(boxes(game, size, player)):
        light = (square % 8 + square // 8) % 2 == 1
        ground = LIGHT if light else DARK
        if square in played:
            ground = mixed(ground, LAST, 0.55)
        if board[square] and board[square] == checked:
            ground = mixed(ground, CHECK, 0.8)
        left, right, top, bottom = (round(v * OVERSAMPLE) / OVERSAMPLE for v in (x, x + side, y, y + side))
        canvas.rectangle(left, top, right - left, bottom - top, ground)  # no gap, whatever the size
        _coordinates(canvas, square, x, y, side, DARK if light else LIGHT, player == 1)
    for square, (x, y, _, _) in enumerate(boxes(game, size, player)):
        if board[square]:
            kind = KINDS[(board[square] & 7) - 1]
            draw_piece(canvas, kind, board[square] >= 8, x + side / 2, y + side / 2, side)
    return canvas.frame()


def boxes(game: Game, size: int = 480, player: Player | None = None) -> list[tuple[float, float, float, float]]:
    """[64] x, y, w, h of the squares."""
    side = size / 8
    turned = player == 1
    return [
        ((7 - s % 8 if turned else s % 8) * side, (s // 8 if turned else 7 - s // 8) * side, side, side)
        for s in range(64)
    ]


def cells(game: Game, state: State, i: int, action: Action) -> tuple[int, ...]:
    """The squares that the piece moves from and to; castling is the king's move."""
    move = int(move_of(state[i]["position"], action))
    return move & 63, move >> 6 & 63


def moved(game: Game, state: State, i: int, action: Action, size: int, landed: bool = False) -> Any:
    """The piece that an action moves (``landed``: what it becomes), as a sprite ``size`` pixels wide."""
    move = int(move_of(state[i]["position"], action))
    code = int(codes(state[i]["position"])[move & 63])
    return _piece(move >> 12 if landed and move >> 12 else code & 7, code >= 8, size)


def taken(game: Game, state: State, i: int, player: Player, size: int) -> tuple[list[tuple[Any, int]], int]:
    """The pieces that a side has more of than the other, as (sprite, kind), and how many pawns all of it is worth."""
    board = [int(code) for code in codes(state[i]["position"])]
    other = 8 * (1 - player)
    more = {kind: board.count(kind + 8 * player) - board.count(kind + other) for kind in WORTH}
    pieces = [(_piece(kind, other > 0, size), kind) for kind, n in more.items() for _ in range(n)]
    return pieces, sum(WORTH[kind] * n for kind, n in more.items())


@lru_cache(64)
def _piece(kind: int, black: bool, size: int) -> Any:
    canvas = Canvas(size, background=None)
    draw_piece(canvas, KINDS[kind - 1], black, size / 2, size / 2, size)
    return canvas.sprite()


def last_move(state: State, i: int) -> tuple[int, ...]:
    """The two squares of the last move (castling: the king's), or () if the row has no last move."""
    row = state[i]
    plies = int(row["plies"])
    if plies == 0:
        return ()
    moved = 1 - (int(row["position"][META]) & 1)
    before, after = (_kinds(row["boards"][k & 7], moved) for k in (plies - 1, plies))
    changed = [s for s in range(64) if (before[s] > 0) != (after[s] > 0)]
    kings = [s for s in changed if KING in (before[s], after[s])]
    return tuple(kings or changed)


def _kinds(board: Any, black: int) -> list[int]:
    """[64] the kind of each piece of one side (``black`` 0 or 1); 0 elsewhere."""
    words = np.array(board, np.uint64)
    return [int(code & 7) if code >> 3 == black else 0 for code in codes(words)]


def _coordinates(canvas: Canvas, square: int, x: float, y: float, side: float, color: Color, turned: bool) -> None:
    """The rank's number in the squares at the left edge, the file's letter in those at the bottom edge."""
    height = max(side * 0.17, 7.5)
    if square % 8 == (7 if turned else 0):
        canvas.text(x + 0.05 * side, y + 0.14 * side, "12345678"[square // 8], height, color, anchor=0.0)
    if square // 8 == (7 if turned else 0):
        canvas.text(x + 0.95 * side, y + 0.88 * side, "abcdefgh"[square % 8], height, color, anchor=1.0)
