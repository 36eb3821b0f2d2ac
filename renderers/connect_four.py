"""Connect four as a picture: a wall of seven columns, their action numbers below.

The last stone has a bright centre; four in a row are ringed.
"""

from __future__ import annotations

from typing import NamedTuple

from ..aliases import Action, Player, State
from ..envs.connect_four import COLUMNS, ROWS, board
from ..envs.core import Game
from .board import PALETTE, Canvas, Frame, mixed

__all__ = ["MARKS_LAST", "boxes", "cells", "draw", "winning"]

MARKS_LAST = True
"""The picture marks the last move, so the window does not have to."""


class _Layout(NamedTuple):
    """Positions in pixels: the wall's left and top edge, the side of a cell, the height of the picture."""

    edge: float
    side: float
    height: int


def _layout(size: int) -> _Layout:
    edge = size * 0.03
    side = (size - 2 * edge) / COLUMNS
    return _Layout(edge, side, round(edge + ROWS * side + 0.62 * side))


def winning(marks: str) -> set[int]:
    """The cells of all lines of four, as indices of ``board``'s 42 characters."""
    found: set[int] = set()
    for start, mark in enumerate(marks):
        row, column = divmod(start, COLUMNS)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            if mark != "." and row + 3 * down < ROWS and 0 <= column + 3 * right < COLUMNS:
                line = [start + k * (down * COLUMNS + right) for k in range(4)]
                found |= set(line) if all(marks[cell] == mark for cell in line) else set()
    return found


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[0.90 size, size, 3] uint8: row i of ``state``, the same for every seat.

    Raises:
        MissingExtra: pygame is not installed.
    """
    edge, side, height = _layout(size)
    marks = board(state, i)
    won, last = winning(marks), _last(state, i, marks)
    canvas = Canvas(size, height)
    canvas.rectangle(edge, edge, COLUMNS * side, ROWS * side, PALETTE.cell, radius=side * 0.3)
    for cell, mark in enumerate(marks):
        x, y = edge + (cell % COLUMNS + 0.5) * side, edge + (cell // COLUMNS + 0.5) * side
        _stone(canvas, mark, x, y, side, cell in won)
        if cell == last:
            canvas.disc(x, y, side * 0.09, PALETTE.text)
    for column in range(COLUMNS):
        y = edge + ROWS * side + 0.31 * side
        canvas.text(edge + (column + 0.5) * side, y, str(column), side * 0.24, PALETTE.faint)
    return canvas.frame()


def boxes(game: Game, size: int = 480, player: Player | None = None) -> list[tuple[float, float, float, float]]:
    """[7] x, y, w, h of the columns."""
    edge, side, _ = _layout(size)
    return [(edge + column * side, edge, side, ROWS * side) for column in range(COLUMNS)]


def cells(game: Game, state: State, i: int, action: Action) -> tuple[int, ...]:
    """The column."""
    return (action,)


def _last(state: State, i: int, marks: str) -> int | None:
    """The cell of the last stone, the top one of its column; None before the first move."""
    stones = [cell for cell in range(int(state[i]["last"]), len(marks), COLUMNS) if marks[cell] != "."]
    return stones[0] if stones else None


def _stone(canvas: Canvas, mark: str, x: float, y: float, side: float, won: bool) -> None:
    if mark == ".":
        canvas.disc(x, y, side * 0.38, PALETTE.background)
        return
    color = PALETTE.first if mark == "X" else PALETTE.second
    if won:
        canvas.disc(x, y, side * 0.46, PALETTE.accent)
    canvas.disc(x, y, side * 0.38, color)
    canvas.ring(x, y, side * 0.25, side * 0.035, mixed(color, (0, 0, 0), 0.22), color)
