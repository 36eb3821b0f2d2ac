"""Tic-tac-toe as a picture.

Cells show their action numbers until they are taken (column by column, as in PettingZoo's tictactoe_v3)::

    0 3 6
    1 4 7
    2 5 8
"""

from __future__ import annotations

from ..aliases import Action, Player, State
from ..envs.core import Game
from ..envs.tictactoe import LINES, marks
from .board import PALETTE, Canvas, Color, Frame

__all__ = ["boxes", "cells", "draw"]


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[size, size, 3] uint8: row i of ``state``, crosses for player 0, rings for player 1, a winning line marked.

    It is the same for every seat.

    Raises:
        MissingExtra: pygame is not installed.
    """
    board = marks(state, i)
    won = {cell for line in LINES if {board[c] for c in line} in ({"X"}, {"O"}) for cell in line}
    canvas = Canvas(size)
    for cell, (x, y, side, _) in enumerate(boxes(game, size)):
        ground = PALETTE.highlight if cell in won else PALETTE.cell
        canvas.rectangle(x, y, side, side, ground, radius=side * 0.12)
        _mark(canvas, board[cell], str(cell), x + side / 2, y + side / 2, side, ground)
    return canvas.frame()


def boxes(game: Game, size: int = 480, player: Player | None = None) -> list[tuple[float, float, float, float]]:
    """[9] x, y, w, h of the cells, by their action numbers."""
    gap = size * 0.022
    side = (size - 4 * gap) / 3
    return [(gap + (cell // 3) * (side + gap), gap + (cell % 3) * (side + gap), side, side) for cell in range(9)]


def cells(game: Game, state: State, i: int, action: Action) -> tuple[int, ...]:
    """The cell that is marked."""
    return (action,)


def _mark(canvas: Canvas, mark: str, number: str, x: float, y: float, side: float, ground: Color) -> None:
    reach, width = side * 0.26, side * 0.13
    if mark == "X":
        canvas.stroke((x - reach, y - reach), (x + reach, y + reach), width, PALETTE.first)
        canvas.stroke((x - reach, y + reach), (x + reach, y - reach), width, PALETTE.first)
    elif mark == "O":
        canvas.ring(x, y, reach * 1.08, width, PALETTE.second, ground)
    else:
        canvas.text(x, y, number, side * 0.2, PALETTE.faint)
