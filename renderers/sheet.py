"""A column of text, bars and pictures on a surface, filled from top to bottom; for panels that change every tick.

Unlike ``board.Canvas`` it draws in screen pixels: a page of text takes a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from .board import PALETTE, Color, load_pygame
from .screen import Spot

__all__ = ["PAD", "WORDS", "Sheet"]

WORDS: Final = 15
"""Height of letters, pixels."""

PAD: Final = 14
"""Margin at the left, right and top of the column, pixels."""


def _font(height: int, bold: bool) -> Any:
    """A new font each time, since pygame crashes with a font from before a ``pygame.quit()``."""
    font = load_pygame().font.Font(None, max(8, round(1.4 * height)))
    font.set_bold(bold)
    return font


@lru_cache(maxsize=4096)
def _written(words: str, height: int, color: Color, bold: bool) -> Any:
    return _font(height, bold).render(words, True, color)


class Sheet:
    """A column that is filled from top to bottom.

    Args:
        surface: the surface to draw on.
        x, y: the column's upper left corner, pixels.
        width: pixels.
        bottom: the y below which nothing is drawn.

    Attributes:
        y: where the next line begins.
        spots: the areas that can be clicked.
    """

    def __init__(self, surface: Any, x: int, y: int, width: int, bottom: int) -> None:
        self._pygame = load_pygame()
        self.surface, self.x, self.y, self.width, self.bottom = surface, x + PAD, y + PAD, width - 2 * PAD, bottom
        self.spots: list[Spot] = []

    def room(self, height: float) -> bool:
        """Whether ``height`` pixels are left."""
        return self.y + height <= self.bottom

    def gap(self, height: int = 8) -> None:
        """Leave ``height`` pixels empty."""
        self.y += height

    def text(
        self,
        words: str,
        color: Color = PALETTE.text,
        height: int = WORDS,
        bold: bool = False,
        left: int = 0,
        right: str = "",
        spot: tuple[str, int] | None = None,
    ) -> None:
        """A line of text, cut off if it is too long; ``right`` is put at the right edge, ``spot`` makes it a button."""
        line = round(1.35 * height)
        if not self.room(line):
            return
        end = (
            self.place(right, self.x + self.width, self.y + line / 2, height, PALETTE.text, anchor=1.0) if right else 0
        )
        self.place(words, self.x + left, self.y + line / 2, height, color, bold, room=self.width - left - end)
        if spot is not None:
            self.spots.append(Spot(spot[0], self.x, self.y, self.width, line, value=spot[1]))
        self.y += line

    def place(
        self,
        words: str,
        x: float,
        y: float,
        height: int = WORDS,
        color: Color = PALETTE.text,
        bold: bool = False,
        anchor: float = 0.0,
        room: float | None = None,
    ) -> int:
        """One line of text centred on y; it starts (anchor 0), is centred (0.5) or ends (1) at x. Returns its width."""
        drawn = _written(words, height, color, bold)
        width, high = drawn.get_size()
        part = None if room is None or width <= room else (0, 0, max(0, int(room)), high)
        self.surface.blit(drawn, (round(x - width * anchor), round(y - high / 2)), part)
        return int(width)

    def paragraph(self, words: str, color: Color = PALETTE.text, height: int = WORDS) -> None:
        """Text in as many lines as it needs."""
        line, font = "", _font(height, False)
        for word in words.split():
            longer = f"{line} {word}".strip()
            if line and font.size(longer)[0] > self.width:
                self.text(line, color, height)
                longer = word
            line = longer
        if line:
            self.text(line, color, height)

    def bar(self, part: float, color: Color, height: int = 8) -> None:
        """A bar filled to ``part`` (0..1)."""
        if not self.room(height):
            return
        self.box(self.x, self.y, self.width, height, PALETTE.cell, 3)
        if part > 0:
            self.box(self.x, self.y, max(4, self.width * min(1.0, part)), height, color, 3)
        self.y += height

    def box(self, x: float, y: float, w: float, h: float, color: Color, radius: int = 4, line: int = 0) -> None:
        """A rectangle; with ``line``, only its outline of that width."""
        self._pygame.draw.rect(
            self.surface, color, (round(x), round(y), round(w), round(h)), line, border_radius=radius
        )

    def rule(self) -> None:
        """A thin horizontal line."""
        self.gap(7)
        if self.room(1):
            self.surface.fill(PALETTE.cell, (self.x, self.y, self.width, 1))
        self.gap(8)

    def picture(self, sprite: Any, x: float, y: float) -> None:
        """A sprite with premultiplied alpha, its upper left corner at (x, y)."""
        self.surface.blit(sprite, (round(x), round(y)), None, self._pygame.BLEND_PREMULTIPLIED)

    def buttons(self, labels: Sequence[tuple[str, int, str]], over: tuple[int, int] | None = None) -> None:
        """Buttons (name, value, label) side by side, across the width of the column."""
        if not labels or not self.room(28):
            return
        wide = (self.width - 6 * (len(labels) - 1)) / len(labels)
        for k, (name, value, label) in enumerate(labels):
            self.button(Spot(name, self.x + k * (wide + 6), self.y, wide, 26, label, value), over)
        self.y += 32

    def button(self, spot: Spot, over: tuple[int, int] | None = None) -> None:
        """One button at its spot."""
        self.box(spot.x, spot.y, spot.w, spot.h, spot.ground(over), 6)
        self.place(spot.label, spot.x + spot.w / 2, spot.y + spot.h / 2, WORDS, anchor=0.5)
        self.spots.append(spot)

    def grid(self, lines: Sequence[str], width: int, height: int, color: Color = PALETTE.text) -> None:
        """Lines of characters in fixed columns, whatever the characters' widths."""
        for line in lines:
            if not self.room(height):
                return
            for k, letter in enumerate(line):
                if letter != " " and (k + 1) * width <= self.width:
                    self.place(
                        letter, self.x + (k + 0.5) * width, self.y + height / 2, round(0.8 * height), color, anchor=0.5
                    )
            self.y += height
