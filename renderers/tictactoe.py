"""Tic-tac-toe and phantom tic-tac-toe as a picture.

Cells show their action numbers until they are taken: column by column, as in PettingZoo's tictactoe_v3; in phantom
tic-tac-toe row by row, as in OpenSpiel::

    0 3 6        0 1 2
    1 4 7        3 4 5
    2 5 8        6 7 8

There a seat sees the marks that it has made or found; a spectator sees all, with a frame around those that both know.
"""

from __future__ import annotations

from ..aliases import Action, Player, State
from ..envs.core import Game
from ..envs.phantom import view
from ..envs.tictactoe import LINES, marks
from .board import PALETTE, Canvas, Color, Frame

__all__ = ["boxes", "cells", "draw"]


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[size, size, 3] uint8: row i of ``state``, crosses for player 0, rings for player 1, a winning line marked.

    Tic-tac-toe is the same for every seat.

    Raises:
        MissingExtra: pygame is not installed.
    """
    board = view(state, i, player) if game.info.secret else marks(state, i)
    both = state.tried[i].all(0) if game.info.secret and player is None else [False] * 9
    won = {cell for line in LINES if {board[c] for c in line} in ({"X"}, {"O"}) for cell in line}
    canvas = Canvas(size)
    for cell, (x, y, side, _) in enumerate(boxes(game, size)):
        if both[cell]:
            canvas.rectangle(x, y, side, side, PALETTE.faint, radius=side * 0.12)
            x, y, side = x + 0.02 * side, y + 0.02 * side, 0.96 * side
        ground = PALETTE.highlight if cell in won else PALETTE.cell
        canvas.rectangle(x, y, side, side, ground, radius=side * 0.12)
        _mark(canvas, board[cell], str(cell), x + side / 2, y + side / 2, side, ground)
    return canvas.frame()


def boxes(game: Game, size: int = 480, player: Player | None = None) -> list[tuple[float, float, float, float]]:
    """[9] x, y, w, h of the cells, by their action numbers."""
    gap = size * 0.022
    side = (size - 4 * gap) / 3
    down = [(gap + (cell // 3) * (side + gap), gap + (cell % 3) * (side + gap), side, side) for cell in range(9)]
    return [(y, x, w, h) for x, y, w, h in down] if game.info.secret else down


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
