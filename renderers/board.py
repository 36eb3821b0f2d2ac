"""What pictures and windows share: a brush, an off-screen canvas that draws smooth shapes, a palette, captions.

A canvas draws at ``OVERSAMPLE`` times the size and scales down, which smooths all edges. Coordinates are floats in
pixels of the finished picture; x grows to the right, y downwards.

Windows and mouse input are in ``window``.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingExtra

__all__ = [
    "MIXES",
    "OVERSAMPLE",
    "PALETTE",
    "STAND_IN",
    "Brush",
    "Canvas",
    "Color",
    "Frame",
    "Palette",
    "captioned",
    "load_pygame",
    "mixed",
]

Frame: TypeAlias = NDArray[np.uint8]
"""[H, W, 3] red, green, blue."""

Color: TypeAlias = tuple[int, int, int]

OVERSAMPLE: Final = 3


class Palette(NamedTuple):
    """Colours by their use, so that all games look alike."""

    background: Color = (24, 28, 38)
    cell: Color = (37, 43, 58)
    highlight: Color = (72, 68, 52)
    faint: Color = (78, 88, 112)
    text: Color = (214, 220, 232)
    first: Color = (255, 122, 97)
    second: Color = (84, 200, 190)
    accent: Color = (250, 204, 84)
    third: Color = (178, 140, 255)
    fourth: Color = (120, 170, 255)
    fifth: Color = (240, 150, 210)
    sixth: Color = (160, 210, 110)
    felt: Color = (31, 60, 56)


PALETTE: Final = Palette()


STAND_IN: Final[ContextVar[type[Canvas] | None]] = ContextVar("STAND_IN", default=None)
"""The canvas that every ``Canvas(...)`` makes instead of one of pixels, if any: how pages record what drawers draw."""

MIXES: Final[ContextVar[dict[Color, tuple[Color, Color, float]] | None]] = ContextVar("MIXES", default=None)
"""Where ``mixed`` notes what it mixed, if anywhere: pages mix the same colours anew in their light theme."""


def mixed(color: Color, other: Color, part: float) -> Color:
    """``color`` mixed with the fraction ``part`` (0 to 1) of ``other``."""
    r, g, b = (round((1 - part) * a + part * b) for a, b in zip(color, other, strict=True))
    if (mixes := MIXES.get()) is not None:
        mixes[r, g, b] = color, other, part
    return r, g, b


class Brush:
    """Draws shapes and text on a surface.

    Args:
        surface: what to draw on.
        scale: pixels of the surface per pixel of the finished picture.
    """

    def __init__(self, surface: Any, scale: int = 1) -> None:
        self._pygame = load_pygame()
        self.surface, self.scale = surface, scale

    def rectangle(
        self, x: float, y: float, w: float, h: float, color: Color, radius: float = 0.0, line: int = 0
    ) -> None:
        """A rectangle, its corners rounded by ``radius``: filled, or with ``line`` only an outline of that width."""
        rect = self._pygame.Rect(*(round(v * self.scale) for v in (x, y, w, h)))
        self._pygame.draw.rect(self.surface, color, rect, line * self.scale, border_radius=round(radius * self.scale))

    def disc(self, x: float, y: float, radius: float, color: Color) -> None:
        """A filled circle."""
        self._pygame.draw.circle(self.surface, color, self._point(x, y), radius * self.scale)

    def ring(self, x: float, y: float, radius: float, width: float, color: Color, inside: Color) -> None:
        """A circle of the given line width, centred on ``radius``; ``inside`` is the colour within it."""
        # Two discs, because pygame's thick circles have holes in their lines.
        self.disc(x, y, radius + width / 2, color)
        self.disc(x, y, radius - width / 2, inside)

    def stroke(self, start: tuple[float, float], end: tuple[float, float], width: float, color: Color) -> None:
        """A straight line with round ends."""
        (x0, y0), (x1, y1) = start, end
        length = float(np.hypot(x1 - x0, y1 - y0)) or 1.0
        dx, dy = (y1 - y0) / length * width / 2, (x0 - x1) / length * width / 2
        self.polygon([(x0 + dx, y0 + dy), (x1 + dx, y1 + dy), (x1 - dx, y1 - dy), (x0 - dx, y0 - dy)], color)
        self.disc(x0, y0, width / 2, color)
        self.disc(x1, y1, width / 2, color)

    def polygon(self, points: Sequence[tuple[float, float]], color: Color) -> None:
        """A filled polygon of at least three points."""
        self._pygame.draw.polygon(self.surface, color, [self._point(x, y) for x, y in points])

    def polyline(self, points: Sequence[tuple[float, float]], width: float, color: Color) -> None:
        """Straight lines from point to point, with round ends and joints."""
        for start, end in itertools.pairwise(points):
            self.stroke(start, end, width, color)

    def veil(self, x: float, y: float, w: float, h: float, opacity: int) -> None:
        """Cover an area with the background's colour; ``opacity`` is 0 to 255."""
        cover = self._pygame.Surface((w * self.scale, h * self.scale), self._pygame.SRCALPHA)
        cover.fill((*PALETTE.background, opacity))
        self.surface.blit(cover, self._point(x, y))

    def text(
        self,
        x: float,
        y: float,
        words: str,
        height: float,
        color: Color = PALETTE.text,
        anchor: float = 0.5,
        room: float = math.inf,
        *,
        bold: bool = False,
        cut: bool = False,
    ) -> float:
        """One line of text centred on y; it starts (anchor 0), is centred (0.5) or ends (1) at x.

        It is ``height`` tall. Where it would be wider than ``room``, it is smaller, or with ``cut`` ends there.

        Returns:
            the width in pixels that the whole line takes.
        """
        if room < math.inf and not cut:
            height *= min(1.0, room / max(1.0, self.text_width(words, height)))
        drawn = _written(words, self._points(height), color, bold)
        w, h = drawn.get_size()
        part = (0, 0, max(0, int(min(w, room * self.scale))), h) if cut else None
        self.surface.blit(drawn, (round(x * self.scale - w * anchor), round(y * self.scale - h / 2)), part)
        return float(w) / self.scale

    def text_width(self, words: str, height: float) -> float:
        """The width in pixels of these words as ``text`` draws them."""
        return float(_font(self._points(height), False).size(words)[0]) / self.scale

    def wrapped(self, words: str, height: float, room: float) -> list[str]:
        """The lines of a text no wider than ``room``; words that are too long for a line are broken."""

        def fits(line: str) -> bool:
            return self.text_width(line, height) <= room

        lines, line = [], ""
        for word in words.split():
            longer = f"{line} {word}" if line else word
            if fits(longer):
                line = longer
                continue
            lines += [line] if line else []
            while len(word) > 1 and not fits(word):
                part = next((k for k in range(len(word) - 1, 1, -1) if fits(word[:k])), 1)
                lines.append(word[:part])
                word = word[part:]
            line = word
        return [*lines, line]

    def _points(self, height: float) -> int:
        return max(1, round(height * self.scale * 1.4))

    def _point(self, x: float, y: float) -> tuple[float, float]:
        return x * self.scale, y * self.scale


def _font(points: int, bold: bool) -> Any:
    """A new font each time, since pygame crashes with a font from before a ``pygame.quit()``."""
    font = load_pygame().font.Font(None, points)
    font.set_bold(bold)
    return font


@lru_cache(maxsize=1024)
def _written(words: str, points: int, color: Color, bold: bool) -> Any:
    return _font(points, bold).render(words, True, color)


class Canvas(Brush):
    """A picture to draw on, [height, width] pixels.

    Args:
        width: pixels.
        height: pixels; by default, the width.
        background: its colour; None leaves it transparent, for a stamp.

    Raises:
        MissingExtra: pygame is not installed.
    """

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """A canvas of the kind that ``STAND_IN`` names."""
        return super().__new__(STAND_IN.get() or cls)  # type: ignore[return-value]  # only pages stand in

    def __init__(self, width: int, height: int | None = None, background: Color | None = PALETTE.background) -> None:
        pygame = load_pygame()
        self.width, self.height = width, height if height is not None else width
        flags = pygame.SRCALPHA if background is None else 0
        super().__init__(pygame.Surface((self.width * OVERSAMPLE, self.height * OVERSAMPLE), flags, 32), OVERSAMPLE)
        if background is not None:
            self.surface.fill(background)

    def stamp(self, paint: Callable[..., None], x: float, y: float, side: float, *what: Hashable) -> None:
        """A shape that is drawn often: painted once on a separate square canvas, then copied.

        Args:
            paint: a function of a module, ``(canvas, *what) -> None``, that fills the canvas it gets.
            x: the shape's centre, pixels.
            y: its centre, pixels.
            side: the side of its square, pixels; rounded.
            *what: the painter's further arguments.
        """
        side = max(1, round(side))
        corner = (round((x - side / 2) * OVERSAMPLE), round((y - side / 2) * OVERSAMPLE))
        self.surface.blit(_stamped(paint, side, *what), corner)

    def frame(self) -> Frame:
        """The finished picture, [height, width, 3] uint8."""
        small = self._pygame.transform.smoothscale(self.surface, (self.width, self.height))
        return np.ascontiguousarray(self._pygame.surfarray.array3d(small).transpose(1, 0, 2))

    def sprite(self, opacity: float = 1.0) -> Any:
        """The picture on a transparent background, as a surface to copy with ``BLEND_PREMULTIPLIED``.

        Its colours are multiplied by their alpha, so that smooth edges have no dark rims on any background.
        """
        clear = self.surface.copy()
        if opacity < 1.0:
            clear.fill((255, 255, 255, round(255 * opacity)), special_flags=self._pygame.BLEND_RGBA_MULT)
        return self._pygame.transform.smoothscale(clear.premul_alpha(), (self.width, self.height))


@lru_cache(maxsize=256)  # resizing a window asks for many sizes
def _stamped(paint: Callable[..., None], side: int, *what: Hashable) -> Any:
    alone = Canvas(side, background=None)
    paint(alone, *what)
    return alone.surface


def captioned(frame: Frame, parts: Sequence[tuple[str, Color]]) -> Frame:
    """The picture with a line of text below it, each part in its own colour.

    Args:
        frame: [H, W, 3] uint8.
        parts: texts and colours from left to right, e.g. ``[("minimax", PALETTE.first), (" against ", PALETTE.text)]``.

    Returns:
        [H + max(24, W // 11), W, 3] uint8.
    """
    width = frame.shape[1]
    bar = Canvas(width, max(24, width // 11))
    size = bar.height * 0.5
    widths = [bar.text_width(words, size) for words, _ in parts]
    shrink = min(1.0, 0.94 * width / max(sum(widths), 1.0))  # a long line shrinks to fit the picture
    x = (width - shrink * sum(widths)) / 2
    for (words, color), part in zip(parts, widths, strict=True):
        bar.text(x, bar.height * 0.42, words, size * shrink, color, anchor=0.0)
        x += part * shrink
    return np.concatenate([frame, bar.frame()])


def load_pygame() -> Any:
    """The pygame module, with fonts initialised; its greeting on standard output is suppressed.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            import pygame
    except ModuleNotFoundError as error:
        raise MissingExtra("Drawing", "pygame", "render") from error
    if not pygame.font.get_init():
        pygame.font.init()
    return pygame
