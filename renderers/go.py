"""Go as a picture: a wooden board with star points and coordinates, stones, the last move, points forbidden by ko.

Cells are points, numbered like actions from the top left; a pass touches none. When the game is over, the empty points
of each side's area have a small square in its colour.
"""

from __future__ import annotations

from typing import Final

from ..aliases import Action, Player, State
from ..envs.core import Game
from ..envs.go.position import COLUMNS, forbidden, owners, size_of, stones
from .board import PALETTE, Canvas, Color, Frame

__all__ = ["BLACK", "LINE", "MARKS_LAST", "SEAT_COLORS", "WHITE", "WOOD", "boxes", "cells", "draw", "stars"]

WOOD: Final[Color] = (212, 166, 96)
EDGE: Final[Color] = (176, 130, 68)
LINE: Final[Color] = (98, 68, 34)
BLACK: Final[Color] = (26, 28, 36)
SHEEN: Final[Color] = (62, 68, 86)
WHITE: Final[Color] = (236, 238, 242)
SHADE: Final[Color] = (196, 200, 210)
LAST: Final[Color] = PALETTE.first
SEAT_COLORS: Final = (PALETTE.faint, WHITE)
"""The disc before Black's name is on a dark background, so it is lighter than the stones."""
MARKS_LAST: Final = True
"""The picture marks the last move, so the window does not have to."""

MARGIN: Final = 0.055
"""Margin for coordinates on all four sides, as a fraction of the picture's side."""


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[size, size, 3] uint8: row i of ``state``, the same for every seat.

    Raises:
        MissingExtra: pygame is not installed.
    """
    canvas = Canvas(size)
    facts = state.facts[i]
    side, width = size_of(state, i), boxes(game, size)[0][2]
    places = [(x + w / 2, y + h / 2) for x, y, w, h in boxes(game, size)]
    _board(canvas, places, side, width)
    there = stones(state, i)
    owner = owners(state, i) if facts["over"] else ""
    closed = [a for a, why in forbidden(state, i).items() if why == "ko"]
    last = int(facts["last"])
    for action, (x, y) in enumerate(places):
        if there[action] != ".":
            _stone(canvas, there[action] == "X", x, y, width)
            if action == last:
                ink = WHITE if there[action] == "X" else BLACK
                canvas.disc(x, y, width * 0.2, LAST)
                canvas.disc(x, y, width * 0.07, ink)
        elif owner and owner[action] != ".":
            half = width * 0.14
            ink = BLACK if owner[action] == "X" else WHITE
            canvas.rectangle(x - half, y - half, 2 * half, 2 * half, ink)
        elif action in closed:
            half, thin = width * 0.2, max(1.0, width * 0.05)
            canvas.rectangle(x - half, y - half, 2 * half, 2 * half, LAST)
            canvas.rectangle(x - half + thin, y - half + thin, 2 * (half - thin), 2 * (half - thin), WOOD)
    return canvas.frame()


def boxes(game: Game, size: int = 480, player: Player | None = None) -> list[tuple[float, float, float, float]]:
    """[side * side] x, y, w, h around the points; the same from both sides."""
    side = int(game.config["size"])
    margin = MARGIN * size
    width = (size - 2 * margin) / side
    return [(margin + (a % side) * width, margin + (a // side) * width, width, width) for a in range(side * side)]


def cells(game: Game, state: State, i: int, action: Action) -> tuple[int, ...]:
    """The point of a stone; () for a pass."""
    return () if action == int(game.config["size"]) ** 2 else (int(action),)


def stars(side: int) -> list[Action]:
    """The points with a dot: corners and centre; on boards from 15 x 15, also the middles of the sides."""
    if side < 7:
        return [side * side // 2] if side % 2 else []
    near = 2 if side < 13 else 3
    lines = [near, side - 1 - near]
    points = [r * side + c for r in lines for c in lines]
    if side % 2:
        half = side // 2
        points.append(half * side + half)
        if side >= 15:
            points += [half * side + line for line in lines] + [line * side + half for line in lines]
    return sorted(points)


def _board(canvas: Canvas, places: list[tuple[float, float]], side: int, width: float) -> None:
    margin, size = MARGIN * canvas.width, canvas.width
    rim = size * 0.006
    canvas.rectangle(
        margin - rim, margin - rim, size - 2 * (margin - rim), size - 2 * (margin - rim), EDGE, width * 0.2
    )
    canvas.rectangle(margin, margin, size - 2 * margin, size - 2 * margin, WOOD, width * 0.2)
    thin = max(0.7, width * 0.03)
    for k in range(side):
        canvas.stroke(places[k], places[k + side * (side - 1)], thin, LINE)
        canvas.stroke(places[k * side], places[k * side + side - 1], thin, LINE)
    for action in stars(side):
        canvas.disc(*places[action], max(1.6, width * 0.1), LINE)
    height = min(margin * 0.5, width * 0.5)
    for k in range(side):
        x, y = places[k][0], places[k * side][1]
        for across in (margin * 0.45, size - margin * 0.45):
            canvas.text(x, across, COLUMNS[k], height, PALETTE.text)
            canvas.text(across, y, str(side - k), height, PALETTE.text)


def _stone(canvas: Canvas, black: bool, x: float, y: float, width: float) -> None:
    radius = width * 0.46
    canvas.disc(x + radius * 0.06, y + radius * 0.1, radius, EDGE)  # its shadow
    canvas.disc(x, y, radius, BLACK if black else SHADE)
    if black:
        canvas.disc(x - radius * 0.3, y - radius * 0.32, radius * 0.24, SHEEN)
    else:
        canvas.disc(x - radius * 0.05, y - radius * 0.06, radius * 0.93, WHITE)
