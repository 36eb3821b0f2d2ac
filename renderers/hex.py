"""Hex and dark hex as a picture: a rhombus of hexagons between coloured edges.

Hex's last stone has a bright centre; the winner's shortest chain is ringed. In dark hex a seat sees the stones that it
has placed or found; a spectator sees all, with a dark centre on those that both players know.

The centre of cell (row r, column c) is c (w, 0) + r (w / 2, 1.5 R) from the centre of the first cell, where R is the
radius of a hexagon with a corner at the top and w = sqrt(3) R is its width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..aliases import Action, Player, State
from ..envs.core import Game
from ..envs.hex import LAST, LETTERS, board, neighbours
from ..envs.phantom import view
from .board import PALETTE, Canvas, Frame, mixed

__all__ = ["MARKS_LAST", "boxes", "cells", "chain", "draw"]

MARKS_LAST = True
"""The picture marks the last move where players may see it, so the window does not have to."""

BAND = 0.86
"""How far the coloured edges extend beyond the outer cells' centres, in rows or columns."""
MARGIN = 0.35
"""Free space around the edges, in widths of a hexagon."""


class _Layout(NamedTuple):
    """In pixels: the centre of the first cell, radius and width of a hexagon, height of the picture."""

    x: float
    y: float
    radius: float
    width: float
    height: int

    def at(self, row: float, column: float) -> tuple[float, float]:
        """The centre of a cell, or a point between cells."""
        return self.x + (column + 0.5 * row) * self.width, self.y + 1.5 * self.radius * row

    def hexagon(self, row: int, column: int, share: float) -> list[tuple[float, float]]:
        """The corners of a cell whose radius is scaled by ``share``."""
        x, y = self.at(row, column)
        turns = [math.pi * (k / 3 + 1 / 6) for k in range(6)]
        return [(x + share * self.radius * math.cos(t), y + share * self.radius * math.sin(t)) for t in turns]


def _sides(game: Game) -> tuple[int, int]:
    """Rows and columns."""
    config = game.config
    return (config["size"], config["size"]) if "size" in config else (config["num_rows"], config["num_cols"])


def _layout(rows: int, columns: int, size: int) -> _Layout:
    low, far = rows - 1 + BAND, columns - 1 + BAND
    left, above = 1.5 * BAND + 2 * MARGIN, 1.5 * BAND + 1.3  # from the first centre: in widths, in radii
    width = size / (left + far + 0.5 * low + MARGIN)
    radius = width / math.sqrt(3)
    return _Layout(left * width, above * radius, radius, width, round((above + 1.5 * low) * radius + MARGIN * width))


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[about 0.62 size, size, 3] uint8: row i of ``state``; hex is the same for every seat.

    Raises:
        MissingExtra: pygame is not installed.
    """
    dark, (rows, columns) = game.info.secret, _sides(game)
    marks = view(state, i, player) if dark else board(state, i)
    both = state.tried[i].all(0) if dark and player is None else np.zeros(rows * columns, np.bool_)
    at = _layout(rows, columns, size)
    canvas = Canvas(size, at.height)
    _edges(canvas, at, rows, columns)
    for share, color in ((1.08, PALETTE.background), (0.93, PALETTE.cell)):
        for cell in range(rows * columns):
            canvas.polygon(at.hexagon(*divmod(cell, columns), share), color)
    for k in range(columns):
        column, above = at.at(0, k)
        canvas.text(column, above - (1.5 * BAND + 0.55) * at.radius, LETTERS[k], at.radius * 0.6, PALETTE.faint)
    for k in range(rows):
        canvas.text(*at.at(k, -BAND - 0.5), str(k + 1), at.radius * 0.6, PALETTE.faint)
    won = chain(marks, rows, columns)
    for cell, mark in enumerate(marks):
        if mark != ".":
            x, y = at.at(*divmod(cell, columns))
            _stone(canvas, x, y, at.radius, mark, cell in won)
            if both[cell]:
                canvas.disc(x, y, at.radius * 0.16, PALETTE.background)
            elif not dark and cell == state.facts[i, LAST]:
                canvas.disc(x, y, at.radius * 0.16, PALETTE.text)
    return canvas.frame()


def boxes(game: Game, size: int = 480, player: Player | None = None) -> list[tuple[float, float, float, float]]:
    """[C] x, y, w, h of the C cells without their top and bottom tips, so that boxes touch and never overlap."""
    rows, columns = _sides(game)
    at = _layout(rows, columns, size)
    centres = [at.at(*divmod(cell, columns)) for cell in range(rows * columns)]
    return [(x - at.width / 2, y - 0.75 * at.radius, at.width, 1.5 * at.radius) for x, y in centres]


def cells(game: Game, state: State, i: int, action: Action) -> tuple[int, ...]:
    """The cell; () for the swap."""
    return (action,) if action < math.prod(_sides(game)) else ()


def chain(marks: str, rows: int, columns: int | None = None) -> list[int]:
    """The shortest winning chain from edge to edge, or [] while no player has won."""
    columns = columns or rows
    count = rows * columns
    for mark, first, last in (
        ("X", range(columns), range(count - columns, count)),
        ("O", range(0, count, columns), range(columns - 1, count, columns)),
    ):
        before: dict[int, int] = {cell: -1 for cell in first if marks[cell] == mark}
        queue = list(before)
        for cell in queue:
            if cell in last:
                found = [cell]
                while before[found[-1]] >= 0:
                    found.append(before[found[-1]])
                return found
            for near in neighbours(cell, rows, columns):
                if marks[near] == mark and near not in before:
                    before[near] = cell
                    queue.append(near)
    return []


def _edges(canvas: Canvas, at: _Layout, rows: int, columns: int) -> None:
    """Draw four triangles under the cells; their uncovered parts are the edges, X's at the top and bottom."""
    low, below, right = -BAND, rows - 1 + BAND, columns - 1 + BAND
    corners = [at.at(low, low), at.at(low, right), at.at(below, right), at.at(below, low)]
    middle = at.at((rows - 1) / 2, (columns - 1) / 2)
    for k in range(4):
        color = mixed(PALETTE.first if k % 2 == 0 else PALETTE.second, (0, 0, 0), 0.2)
        canvas.polygon([corners[k], corners[(k + 1) % 4], middle], color)


def _stone(canvas: Canvas, x: float, y: float, radius: float, mark: str, won: bool) -> None:
    color = PALETTE.first if mark == "X" else PALETTE.second
    if won:
        canvas.disc(x, y, radius * 0.78, PALETTE.accent)
    canvas.disc(x, y, radius * 0.64, color)
    canvas.ring(x, y, radius * 0.42, radius * 0.06, mixed(color, (0, 0, 0), 0.22), color)
