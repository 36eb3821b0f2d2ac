"""A canvas that notes shapes instead of drawing pixels: every drawer then draws for a browser too, without pygame.

A shape is a list of plain data that ``static/board.js`` turns into an SVG element. Lengths are in pixels of the
picture. Colours are CSS: those of ``PALETTE`` are variables, so that a page can show the picture in both its themes.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from ...aliases import State
from ...envs.core import Game
from ...envs.faces.render import picture
from ..board import MIXES, PALETTE, STAND_IN, Canvas, Color, Frame

__all__ = ["Shape", "css", "record"]

Shape: TypeAlias = list[Any]
"""One of::

    ["r", x, y, w, h, color, radius, line]          rectangle; line 0: filled, else the outline's width
    ["c", x, y, radius, color, width, outline]      circle; width 0: no outline
    ["p", [x, y, ...], color]                       polygon
    ["l", [x, y, ...], width, color]                lines with round ends and joints
    ["v", x, y, w, h, opacity]                      the background over an area
    ["t", x, y, words, height, color, anchor, bold] a line of text centred on y
    ["g", x, y, scale, [shape, ...]]                a group, moved and scaled
    ["i", x, y, w, h, address]                      a bitmap, as a data: address
"""

_NAMES: Final = {color: f"var(--{name})" for name, color in PALETTE._asdict().items()}
_STAMP: Final = 100
"""Side of the canvas on which stamps are recorded."""

_EM: Final = 0.96
"""Font size over the ``height`` of ``Brush.text``: as large as pygame writes it."""

_WIDE: Final = {
    **dict.fromkeys("ijl.,:;'|!", 0.3),
    **dict.fromkeys("ftrI()[]-/ ", 0.4),
    **dict.fromkeys("mwMW@%", 0.95),
}


def css(color: Color, mixes: dict[Color, tuple[Color, Color, float]] | None = None) -> str:
    """A colour for a browser: a variable where it is one of ``PALETTE``, a mixture where it was mixed from them."""
    color = (int(color[0]), int(color[1]), int(color[2]))
    if color in _NAMES:
        return _NAMES[color]
    if mixes and color in mixes:
        one, other, part = mixes[color]
        if {one, other} & _NAMES.keys():
            return f"color-mix(in srgb, {css(one)} {round(100 * (1 - part), 1):g}%, {css(other)})"
    return "#{:02x}{:02x}{:02x}".format(*color)


def record(draw: str, game: Game, state: State, **how: Any) -> tuple[int, int, list[Shape]]:
    """Width, height and shapes of the picture that ``"module:function"`` draws of row 0 of ``state``.

    A drawer that works on pixels itself gives one bitmap.

    Args:
        draw: the drawer that the game is registered with.
        game: the game.
        state: one game.
        **how: size and player, as drawers take them.

    Raises:
        MissingExtra: the drawer works on pixels, and pygame is not installed.
    """
    stand_in, mixes = STAND_IN.set(_Recording), MIXES.set({})
    try:
        frame = picture(draw, game, state, **how)
    except _NeedsPixels:
        frame = np.zeros(0, np.uint8)
    finally:
        STAND_IN.reset(stand_in)
        MIXES.reset(mixes)
    if isinstance(frame, _Drawn):
        return frame.width, frame.height, frame.shapes
    frame = picture(draw, game, state, **how)
    height, width = frame.shape[:2]
    return width, height, [["i", 0, 0, width, height, _png(frame)]]


class _Drawn(np.ndarray[Any, Any]):
    """What a recording returns as its frame: an empty picture that knows its shapes; copies and slices do not."""

    width: int
    height: int
    shapes: list[Shape]


class _NeedsPixels(Exception):
    """Raised where a drawer asks a recording for pixels."""


class _Recording(Canvas):
    """A canvas that notes what is drawn; see ``Shape``."""

    def __init__(self, width: int, height: int | None = None, background: Color | None = PALETTE.background) -> None:
        self.width, self.height, self.scale = width, height if height is not None else width, 1
        self.shapes: list[Shape] = []
        if background not in (None, PALETTE.background):
            self.rectangle(0, 0, self.width, self.height, background)

    def __getattr__(self, name: str) -> Any:
        if name in ("surface", "_pygame"):
            raise _NeedsPixels
        raise AttributeError(name)

    def rectangle(
        self, x: float, y: float, w: float, h: float, color: Color, radius: float = 0.0, line: int = 0
    ) -> None:
        self._add("r", x, y, w, h, color, min(radius, w / 2, h / 2), line)

    def disc(self, x: float, y: float, radius: float, color: Color) -> None:
        self._add("c", x, y, radius, color, 0, "")

    def ring(self, x: float, y: float, radius: float, width: float, color: Color, inside: Color) -> None:
        self._add("c", x, y, radius, inside, width, color)

    def stroke(self, start: tuple[float, float], end: tuple[float, float], width: float, color: Color) -> None:
        self.polyline([start, end], width, color)

    def polygon(self, points: Sequence[tuple[float, float]], color: Color) -> None:
        self._add("p", [v for point in points for v in point], color)

    def polyline(self, points: Sequence[tuple[float, float]], width: float, color: Color) -> None:
        self._add("l", [v for point in points for v in point], width, color)

    def veil(self, x: float, y: float, w: float, h: float, opacity: int) -> None:
        self._add("v", x, y, w, h, opacity / 255)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        height: float,
        color: Color = PALETTE.text,
        anchor: float = 0.5,
        room: float = float("inf"),
        *,
        bold: bool = False,
        cut: bool = False,
    ) -> float:
        wide = self.text_width(words, height)
        if wide > room:
            if cut:
                words = words[: max(1, int(len(words) * room / wide))]
            else:
                height *= room / wide
        self._add("t", x, y, words, height * _EM, color, anchor, int(bold))
        return min(wide, room)

    def text_width(self, words: str, height: float) -> float:
        return sum(_WIDE.get(c, 0.7 if c.isupper() else 0.57) for c in words) * height * _EM

    def stamp(self, paint: Callable[..., None], x: float, y: float, side: float, *what: Hashable) -> None:
        scale = round(side / _STAMP, 4)
        self.shapes.append(["g", _plain(x - side / 2), _plain(y - side / 2), scale, _stamped(paint, *what)])

    def frame(self) -> Frame:
        drawn = np.zeros((0, 0, 3), np.uint8).view(_Drawn)
        drawn.width, drawn.height, drawn.shapes = self.width, self.height, self.shapes
        return drawn

    def _add(self, *shape: Any) -> None:
        self.shapes.append([_plain(value) for value in shape])


@lru_cache(maxsize=256)
def _stamped(paint: Callable[..., None], *what: Hashable) -> list[Shape]:
    """The shapes of a stamp; the same list each time."""
    alone = _Recording(_STAMP, background=None)
    paint(alone, *what)
    return alone.shapes


def _plain(value: Any) -> Any:
    """A shape's value as it is written: lengths in hundredths of a pixel at most, colours as CSS."""
    if isinstance(value, tuple):
        return css(value, MIXES.get())
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, str | int):
        return value
    short = round(float(value), 2)
    return int(short) if short == int(short) else short


def _png(frame: Frame) -> str:
    """A picture as a ``data:`` address; a PNG without filters."""
    height, width = frame.shape[:2]
    lines = np.concatenate([np.zeros((height, 1), np.uint8), frame.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(lines.tobytes(), 9)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode()
