"""Hex as a picture: a rhombus of hexagons between coloured edges.

The last stone has a bright centre; the winner's shortest chain is ringed.

The centre of cell (row r, column c) is c (w, 0) + r (w / 2, 1.5 R) from the centre of the first cell, where R is the
radius of a hexagon with a corner at the top and w = sqrt(3) R is its width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..aliases import Action, Player, State
from ..envs.core import Game
from ..envs.hex import LAST, LETTERS, board, neighbours
from .board import PALETTE, Canvas, Frame, mixed

__all__ = ["MARKS_LAST", "boxes", "cells", "chain", "draw"]

MARKS_LAST = True
"""The picture marks the last move, so the window does not have to."""

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


def _layout(side: int, size: int) -> _Layout:
    last = side - 1 + BAND
    left, above = 1.5 * BAND + 2 * MARGIN, 1.5 * BAND + 1.3  # from the first centre: in widths, in radii
    width = size / (left + 1.5 * last + MARGIN)
    radius = width / math.sqrt(3)
    return _Layout(left * width, above * radius, radius, width, round((above + 1.5 * last) * radius + MARGIN * width))


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[about 0.62 size, size, 3] uint8: row i of ``state``, the same for every seat.

    Raises:
        MissingExtra: pygame is not installed.
    """
    marks, side = board(state, i), int(game.config["size"])
    at = _layout(side, size)
    canvas = Canvas(size, at.height)
    _edges(canvas, at, side)
    for share, color in ((1.08, PALETTE.background), (0.93, PALETTE.cell)):
        for cell in range(side * side):
            canvas.polygon(at.hexagon(*divmod(cell, side), share), color)
    for k in range(side):
        (column, above), (before, row) = at.at(0, k), at.at(k, -BAND - 0.5)
        canvas.text(column, above - (1.5 * BAND + 0.55) * at.radius, LETTERS[k], at.radius * 0.6, PALETTE.faint)
        canvas.text(before, row, str(k + 1), at.radius * 0.6, PALETTE.faint)
    won = chain(marks, side)
    for cell, mark in enumerate(marks):
        if mark != ".":
            _stone(canvas, *at.at(*divmod(cell, side)), at.radius, mark, cell in won)
            if cell == state.facts[i, LAST]:
                canvas.disc(*at.at(*divmod(cell, side)), at.radius * 0.16, PALETTE.text)
    return canvas.frame()


def boxes(game: Game, size: int = 480, player: Player | None = None) -> list[tuple[float, float, float, float]]:
    """[S * S] x, y, w, h of the cells without their top and bottom tips, so that boxes touch and never overlap."""
    side = int(game.config["size"])
    at = _layout(side, size)
    centres = [at.at(*divmod(cell, side)) for cell in range(side * side)]
    return [(x - at.width / 2, y - 0.75 * at.radius, at.width, 1.5 * at.radius) for x, y in centres]


def cells(game: Game, state: State, i: int, action: Action) -> tuple[int, ...]:
    """The cell; () for the swap."""
    return (action,) if action < int(game.config["size"]) ** 2 else ()


def chain(marks: str, side: int) -> list[int]:
    """The shortest winning chain from edge to edge, or [] while no player has won."""
    for mark, first, last in (
        ("X", range(side), range(side * (side - 1), side * side)),
        ("O", range(0, side * side, side), range(side - 1, side * side, side)),
    ):
        before: dict[int, int] = {cell: -1 for cell in first if marks[cell] == mark}
        queue = list(before)
        for cell in queue:
            if cell in last:
                found = [cell]
                while before[found[-1]] >= 0:
                    found.append(before[found[-1]])
                return found
            for near in neighbours(cell, side):
                if marks[near] == mark and near not in before:
                    before[near] = cell
                    queue.append(near)
    return []


def _edges(canvas: Canvas, at: _Layout, side: int) -> None:
    """Draw four triangles under the cells; their uncovered parts are the edges, X's at the top and bottom."""
    low, high = -BAND, side - 1 + BAND
    corners = [at.at(low, low), at.at(low, high), at.at(high, high), at.at(high, low)]
    middle = at.at((side - 1) / 2, (side - 1) / 2)
    for k in range(4):
        color = mixed(PALETTE.first if k % 2 == 0 else PALETTE.second, (0, 0, 0), 0.2)
        canvas.polygon([corners[k], corners[(k + 1) % 4], middle], color)


def _stone(canvas: Canvas, x: float, y: float, radius: float, mark: str, won: bool) -> None:
    color = PALETTE.first if mark == "X" else PALETTE.second
    if won:
        canvas.disc(x, y, radius * 0.78, PALETTE.accent)
    canvas.disc(x, y, radius * 0.64, color)
    canvas.ring(x, y, radius * 0.42, radius * 0.06, mixed(color, (0, 0, 0), 0.22), color)
