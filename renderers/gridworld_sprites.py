"""Sprites for a gridworld's cells, painted once for each size and then copied.

Objects are angular; agents are round and look where they face. An object type without a picture is a tile with its
glyph.
"""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from .board import Canvas, Color, mixed

__all__ = ["FLOOR", "ICONS", "ITEM_COLORS", "WALL_COLOR", "agent_color", "sprite", "type_color"]

FLOOR: Final[Color] = (40, 46, 62)
LINE: Final[Color] = (34, 39, 53)
WALL_COLOR: Final[Color] = (80, 88, 112)
WALL_LIGHT: Final[Color] = (104, 114, 142)
WALL_DARK: Final[Color] = (58, 65, 84)
ICE: Final[Color] = (186, 224, 255)
SHIELD: Final[Color] = (120, 216, 255)
INK: Final[Color] = (18, 21, 29)
BOLT: Final[Color] = (255, 221, 110)
CLEAR: Final[Any] = (0, 0, 0, 0)

ITEM_COLORS: Final[tuple[Color, ...]] = (
    (96, 211, 148),
    (150, 140, 255),
    (255, 138, 174),
    (255, 190, 92),
    (104, 200, 232),
    (206, 214, 110),
    (232, 120, 232),
)
"""Colours of items, in order; further items start again from the first."""

_TYPE_COLORS: Final = {"wall": WALL_COLOR, "generator": ITEM_COLORS[0], "converter": ITEM_COLORS[1], "altar": BOLT}
_OTHERS: Final[tuple[Color, ...]] = (
    (104, 200, 232),
    (255, 168, 92),
    (232, 120, 200),
    (190, 214, 100),
    (120, 150, 255),
    (255, 128, 128),
    (110, 214, 190),
    (214, 170, 255),
)


@lru_cache(maxsize=4096)
def agent_color(number: int) -> Color:
    """A colour for the number of a team, a family or an agent; different numbers get different colours."""
    hue = (0.035 + 0.618034 * number) % 1.0
    r, g, b = colorsys.hls_to_rgb(hue, (0.6, 0.74, 0.5)[number // 8 % 3], 0.8)
    pure = round(255 * r), round(255 * g), round(255 * b)
    # Blue looks dark, so all colours get a minimum brightness.
    bright = 0.3 * pure[0] + 0.59 * pure[1] + 0.11 * pure[2]
    return mixed(pure, (255, 255, 255), max(0.0, (125 - bright) / (255 - bright)))


def type_color(name: str, place: int) -> Color:
    """The colour of an object type, by its name or else by its position among the types."""
    return _TYPE_COLORS.get(name, _OTHERS[place % len(_OTHERS)])


@lru_cache(maxsize=4000)
def sprite(kind: str, width: int, height: int, *what: Any) -> Any:
    """A surface [width, height] to copy with ``BLEND_PREMULTIPLIED``.

    Args:
        kind: names a painter of this module.
        width: of the cell, pixels.
        height: likewise.
        *what: the painter's further arguments; hashable.
    """
    canvas = Canvas(max(1, width), max(1, height), background=None)
    opacity = _PAINTERS[kind](canvas, *what)
    return canvas.sprite(opacity or 1.0)


# -- painters: each fills a canvas of one cell -----------------------------------------------------------------------


def _floor(c: Canvas) -> None:
    w, h = float(c.width), float(c.height)
    c.rectangle(0, 0, w, h, LINE)
    gap = min(1.0, 0.05 * w)
    c.rectangle(gap / 2, gap / 2, w - gap, h - gap, FLOOR, radius=0.08 * w)


def _wall(c: Canvas, damage: int) -> None:
    """A wall with cracks for damage 0..3."""
    w, h = float(c.width), float(c.height)
    c.rectangle(0, 0, w, h, WALL_DARK)
    if w < 6:
        c.rectangle(0, 0, w, h, WALL_COLOR)
        return
    c.rectangle(0, 0, w, 0.86 * h, WALL_COLOR, radius=0.06 * w)
    c.rectangle(0, 0, w, 0.12 * h, WALL_LIGHT, radius=0.06 * w)
    for k in range(damage if w >= 14 else 0):
        x = (0.3, 0.62, 0.45)[k] * w
        c.polyline([(x, 0.05 * h), (x + 0.12 * w, 0.36 * h), (x - 0.08 * w, 0.55 * h), (x, 0.9 * h)], 0.06 * w, INK)


def _generator(c: Canvas, ready: bool, color: Color) -> None:
    w, h = float(c.width), float(c.height)
    body = color if ready else mixed(color, FLOOR, 0.5)
    points = [(0.5, 0.07), (0.85, 0.4), (0.5, 0.95), (0.15, 0.4)]
    c.polygon([(x * w, y * h) for x, y in points], mixed(body, INK, 0.35))
    c.polygon([(0.5 * w, 0.13 * h), (0.78 * w, 0.4 * h), (0.5 * w, 0.86 * h), (0.22 * w, 0.4 * h)], body)
    c.polygon([(0.5 * w, 0.13 * h), (0.5 * w, 0.86 * h), (0.22 * w, 0.4 * h)], mixed(body, (255, 255, 255), 0.28))
    c.polygon(
        [(0.22 * w, 0.4 * h), (0.5 * w, 0.48 * h), (0.78 * w, 0.4 * h), (0.5 * w, 0.13 * h)],
        mixed(body, (255, 255, 255), 0.5 if ready else 0.2),
    )


def _converter(c: Canvas, ready: bool, color: Color) -> None:
    w, h = float(c.width), float(c.height)
    body = color if ready else mixed(color, FLOOR, 0.5)
    for radius, shade in ((0.46, mixed(body, INK, 0.4)), (0.39, body)):
        c.polygon(
            [
                (0.5 * w + radius * w * math.cos(math.pi * k / 3), 0.5 * h + radius * h * math.sin(math.pi * k / 3))
                for k in range(6)
            ],
            shade,
        )
    bolt = [(0.56, 0.2), (0.32, 0.55), (0.48, 0.55), (0.42, 0.82), (0.68, 0.43), (0.52, 0.43)]
    c.polygon([(x * w, y * h) for x, y in bolt], BOLT if ready else mixed(BOLT, FLOOR, 0.5))


def _altar(c: Canvas, ready: bool, color: Color) -> None:
    w, h = float(c.width), float(c.height)
    stone = (206, 196, 170) if ready else (104, 102, 100)
    c.rectangle(0.1 * w, 0.76 * h, 0.8 * w, 0.17 * h, mixed(stone, INK, 0.3), radius=0.04 * w)
    c.rectangle(0.2 * w, 0.62 * h, 0.6 * w, 0.17 * h, stone, radius=0.04 * w)
    heart = (255, 105, 97) if ready else (108, 74, 80)
    _heart(c, 0.5 * w, 0.34 * h, 0.25 * w, mixed(heart, INK, 0.35), 0.035 * w)
    _heart(c, 0.5 * w, 0.34 * h, 0.25 * w, heart, 0.0)
    if ready:
        c.disc(0.4 * w, 0.26 * h, 0.045 * w, (255, 214, 208))


def _heart(c: Canvas, x: float, y: float, r: float, color: Color, edge: float) -> None:
    lobe = 0.56 * r + edge
    c.disc(x - 0.5 * r, y - 0.3 * r, lobe, color)
    c.disc(x + 0.5 * r, y - 0.3 * r, lobe, color)
    wide = 1.0 * r + 1.2 * edge
    c.polygon(
        [(x - wide, y - 0.08 * r), (x, y + 1.05 * r + 1.5 * edge), (x + wide, y - 0.08 * r), (x, y - 0.5 * r)], color
    )


def _glyph(c: Canvas, ready: bool, color: Color, glyph: str) -> None:
    w, h = float(c.width), float(c.height)
    body = color if ready else mixed(color, FLOOR, 0.6)
    c.rectangle(0.08 * w, 0.08 * h, 0.84 * w, 0.84 * h, mixed(body, INK, 0.45), radius=0.18 * w)
    c.rectangle(0.13 * w, 0.11 * h, 0.74 * w, 0.74 * h, mixed(body, INK, 0.1), radius=0.14 * w)
    if w >= 9:
        c.text(0.5 * w, 0.5 * h, glyph, 0.62 * h, INK)


def _empty(c: Canvas) -> float:
    """Covers a used-up object."""
    w, h = float(c.width), float(c.height)
    c.rectangle(0, 0, w, h, FLOOR)
    return 0.5


def _agent(c: Canvas, color: Color, facing: int, frozen: bool) -> None:
    w, h = float(c.width), float(c.height)
    ahead = ((0, -1), (0, 1), (-1, 0), (1, 0))[facing]
    side = (-ahead[1], ahead[0])

    def at(forward: float, lateral: float) -> tuple[float, float]:
        return (
            (0.5 + forward * ahead[0] + lateral * side[0]) * w,
            (0.5 + forward * ahead[1] + lateral * side[1]) * h,
        )

    body = mixed(color, ICE, 0.62) if frozen else color
    edge = mixed(body, INK, 0.72)
    c.polygon([at(0.5, 0), at(0.1, 0.36), at(0.1, -0.36)], edge)
    c.disc(0.5 * w, 0.5 * h, 0.4 * w, edge)
    c.polygon([at(0.45, 0), at(0.1, 0.31), at(0.1, -0.31)], body)
    c.disc(0.5 * w, 0.5 * h, 0.34 * w, body)
    if w >= 12:
        for lateral in (-0.15, 0.15):
            c.disc(*at(0.14, lateral), 0.105 * w, (255, 255, 255))
            c.disc(*at(0.175, lateral), 0.055 * w, mixed(ICE, INK, 0.4) if frozen else INK)
    else:
        c.disc(*at(0.2, 0), 0.14 * w, (255, 255, 255))


def _ice(c: Canvas) -> float:
    w, h = float(c.width), float(c.height)
    edge = max(0.05 * w, 0.6)
    c.rectangle(0.02 * w, 0.02 * h, 0.96 * w, 0.96 * h, (255, 255, 255), radius=0.18 * w)
    c.rectangle(
        0.02 * w + edge, 0.02 * h + edge, 0.96 * w - 2 * edge, 0.96 * h - 2 * edge, (140, 190, 235), radius=0.15 * w
    )
    c.stroke((0.2 * w, 0.42 * h), (0.42 * w, 0.2 * h), 0.05 * w, (255, 255, 255))
    c.stroke((0.24 * w, 0.58 * h), (0.58 * w, 0.24 * h), 0.03 * w, (255, 255, 255))
    return 0.5


def _shield(c: Canvas) -> None:
    w, h = float(c.width), float(c.height)
    c.ring(0.5 * w, 0.5 * h, 0.45 * w, max(0.06 * w, 0.9), SHIELD, CLEAR)


def _hit(c: Canvas) -> float:
    """Marks where an attack went."""
    w, h = float(c.width), float(c.height)
    for start, end in (((0.2, 0.2), (0.8, 0.8)), ((0.8, 0.2), (0.2, 0.8))):
        c.stroke((start[0] * w, start[1] * h), (end[0] * w, end[1] * h), 0.14 * w, (255, 70, 70))
    return 0.85


def _heart_up(c: Canvas) -> None:
    """Marks an agent that has just earned a reward."""
    w, h = float(c.width), float(c.height)
    _heart(c, 0.8 * w, 0.2 * h, 0.17 * w, INK, 0.04 * w)
    _heart(c, 0.8 * w, 0.2 * h, 0.17 * w, (255, 105, 97), 0.0)


def _item(c: Canvas, color: Color) -> None:
    w, h = float(c.width), float(c.height)
    c.polygon([(0.5 * w, 0), (w, 0.5 * h), (0.5 * w, h), (0, 0.5 * h)], mixed(color, INK, 0.5))
    c.polygon([(0.5 * w, 0.14 * h), (0.86 * w, 0.5 * h), (0.5 * w, 0.86 * h), (0.14 * w, 0.5 * h)], color)


_PAINTERS: Final[dict[str, Callable[..., float | None]]] = {
    "floor": _floor,
    "wall": _wall,
    "generator": _generator,
    "converter": _converter,
    "altar": _altar,
    "glyph": _glyph,
    "empty": _empty,
    "agent": _agent,
    "ice": _ice,
    "shield": _shield,
    "hit": _hit,
    "earned": _heart_up,
    "item": _item,
}
ICONS: Final = ("generator", "converter", "altar")
"""The object types, other than walls, that have a picture."""
