"""The six chess pieces as original shapes: polygons from lines and Bézier curves, no fonts and no bitmaps.

A piece is drawn in a box of 100 by 100 units, x to the right, y downwards. All but the knight are symmetric: only their
right half is defined, from the top of the middle line to its bottom, and then mirrored. A piece is a union of parts:
all outlines are drawn first and all bodies over them, so that only the outline of the union stays visible.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from .board import Canvas, Color

__all__ = ["KINDS", "draw_piece"]

Point: TypeAlias = tuple[float, float]
Points: TypeAlias = tuple[Point, ...]

KINDS: Final = "PNBRQK"
"""The letters of the pieces, as in FEN."""

_MIDDLE: Final = 50.0
_STEPS: Final = 10  # straight pieces that a curve becomes


class Shape(NamedTuple):
    """A piece.

    Attributes:
        parts: closed polygons; their union is the piece.
        lines: lines on the body.
        dots: x, y, radius of spots on the body.
    """

    parts: tuple[Points, ...]
    lines: tuple[Points, ...] = ()
    dots: tuple[tuple[float, float, float], ...] = ()


class Colors(NamedTuple):
    """The colours of a piece: its body, its outline and the lines on it."""

    body: Color
    rim: Color
    detail: Color


WHITE: Final = Colors((250, 246, 236), (44, 46, 58), (72, 74, 90))
BLACK: Final = Colors((52, 55, 70), (18, 20, 28), (196, 202, 218))


def draw_piece(canvas: Canvas, kind: str, black: bool, x: float, y: float, side: float) -> None:
    """Draw a piece into the square whose centre is (x, y).

    Args:
        canvas: the picture.
        kind: one of ``KINDS``.
        black: whether the piece is black.
        x: centre of the square, pixels.
        y: centre of the square, pixels.
        side: side of the square, pixels.
    """
    canvas.stamp(_paint, x, y, side, kind, black)


def _paint(canvas: Canvas, kind: str, black: bool) -> None:
    """Draw a piece that fills a square canvas."""
    scale = canvas.width / 100

    def place(points: Points) -> list[Point]:
        return [(x * scale, y * scale) for x, y in points]

    colors = BLACK if black else WHITE
    shape = _shapes()[kind]
    parts = [place(part) for part in shape.parts]
    rim = max(3.4 * scale, 1.1)
    for part in parts:
        canvas.polyline([*part, part[0]], 2 * rim, colors.rim)
    for part in parts:
        canvas.polygon(part, colors.body)
    for line in shape.lines:
        canvas.polyline(place(line), max(2.6 * scale, 0.8), colors.detail)
    for x, y, radius in shape.dots:
        canvas.disc(x * scale, y * scale, max(radius * scale, 0.8), colors.detail)


def _path(start: Point, *pieces: Sequence[float]) -> Points:
    """A path from ``start`` along segments: (x, y) straight, (x1, y1, x, y) quadratic, six numbers cubic."""
    points = [start]
    for piece in pieces:
        x0, y0 = points[-1]
        if len(piece) == 2:
            points.append((piece[0], piece[1]))
            continue
        # De Casteljau: between the control points, then between those, until one is left.
        controls = [(x0, y0), *zip(piece[::2], piece[1::2], strict=True)]
        for k in range(1, _STEPS + 1):
            t, level = k / _STEPS, controls
            while len(level) > 1:
                level = [(ax + (bx - ax) * t, ay + (by - ay) * t) for (ax, ay), (bx, by) in itertools.pairwise(level)]
            points.append(level[0])
    return tuple(points)


def _mirrored(half: Points) -> Points:
    """The right half and its mirror image, as one closed polygon."""
    return half + tuple((2 * _MIDDLE - x, y) for x, y in reversed(half) if x != _MIDDLE)


def _circle(x: float, y: float, radius: float) -> Points:
    k = 0.5523 * radius  # a quarter of a circle as a cubic curve
    return _path(
        (x, y - radius),
        (x + k, y - radius, x + radius, y - k, x + radius, y),
        (x + radius, y + k, x + k, y + radius, x, y + radius),
        (x - k, y + radius, x - radius, y + k, x - radius, y),
        (x - radius, y - k, x - k, y - radius, x, y - radius),
    )[:-1]


def _foot(width: float) -> Points:
    """The plate that a piece stands on, ``width`` from the middle to its edge."""
    edge = _MIDDLE + width
    return _mirrored(
        _path(
            (_MIDDLE, 78),
            (edge - 5, 78),
            (edge, 78, edge, 83),
            (edge, 84),
            (edge, 88, edge - 3, 88),
            (_MIDDLE, 88),
        )
    )


def _pawn() -> Shape:
    body = _path((50, 44), (57, 44), (59, 62, 69, 74), (70, 80), (50, 80))
    collar = _path((50, 43), (61, 43), (65, 43, 65, 46.5), (65, 50, 61, 50), (50, 50))
    return Shape((_mirrored(body), _mirrored(collar), _circle(50, 30.5, 13), _foot(26)))


def _rook() -> Shape:
    tower = _path(
        (50, 18),
        (55, 18),
        (55, 25),
        (62, 25),
        (62, 18),
        (72, 18),
        (72, 33),
        (64, 41),
        (65, 66),
        (71, 74),
        (71, 80),
        (50, 80),
    )
    return Shape((_mirrored(tower), _foot(28)), (((36.5, 41), (63.5, 41)), ((35.5, 66.5), (64.5, 66.5))))


def _bishop() -> Shape:
    hat = _path((50, 18), (60, 25, 69, 36, 66, 47), (65, 54, 58, 58), (50, 58))
    stem = _path((50, 56), (57, 56), (58, 68, 70, 76), (70, 80), (50, 80))
    collar = _path((50, 55), (61, 55), (65, 55, 65, 59), (65, 63, 61, 63), (50, 63))
    return Shape(
        (_mirrored(stem), _mirrored(hat), _mirrored(collar), _circle(50, 16, 5.5), _foot(27)),
        (((58, 27), (50, 42)),),
    )


def _knight() -> Shape:
    head = _path(
        (31, 80),
        (30, 66, 49, 64, 48, 50),
        (42, 55, 37, 56, 34, 58),
        (32, 62, 27, 65, 23, 62),
        (17, 59, 17, 55, 20, 51),
        (25, 44, 27, 37, 32, 29),
        (34, 25, 37, 23, 39, 21),
        (40, 12),
        (48, 18),
        (72, 24, 77, 52, 73, 80),
    )
    neck = _path((52, 25), (66, 34, 68, 54, 66, 72))
    return Shape((head, _foot(28)), (neck,), ((37, 34, 3.0), (23.5, 54.5, 1.7)))


def _queen() -> Shape:
    crown = _path((50, 26), (57, 50), (66.5, 27), (68, 52), (83, 33), (70, 66), (67, 73), (71, 80), (50, 80))
    balls = tuple(_circle(x, y, 5.0) for x, y in ((17, 31), (33.5, 23.5), (50, 21), (66.5, 23.5), (83, 31)))
    bands = (_path((31, 66), (50, 60, 69, 66)), _path((33.5, 73), (50, 68, 66.5, 73)))
    return Shape((_mirrored(crown), *balls, _foot(28)), bands)


def _king() -> Shape:
    lobes = _path((50, 42), (55, 30, 70, 28), (84, 28, 84, 43), (84, 54, 70, 65), (67, 73), (71, 80), (50, 80))
    cross = _mirrored(((50, 8), (53, 8), (53, 13.5), (59, 13.5), (59, 19.5), (53, 19.5), (53, 30), (50, 30)))
    drop = _path((50, 26), (58, 33, 58, 42, 50, 56))
    bands = (_path((31, 66), (50, 60, 69, 66)), _path((33.5, 73), (50, 68, 66.5, 73)), _path((50, 60), (50, 48)))
    return Shape((cross, _mirrored(drop), _mirrored(lobes), _foot(28)), bands)


@cache
def _shapes() -> dict[str, Shape]:
    makers = (_pawn, _knight, _bishop, _rook, _queen, _king)
    return {kind: maker() for kind, maker in zip(KINDS, makers, strict=True)}
