"""A column of text, bars and pictures on a surface, filled from top to bottom; for panels that change every tick.

Unlike ``board.Canvas`` it draws in screen pixels: a page of text takes a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .board import PALETTE, Brush, Color
from .screen import WORDS, Spot, beside

__all__ = ["DIM", "PAD", "Sheet", "draw_keys"]

PAD: Final = 14
"""Margin at the left, right and top of the column, pixels."""

DIM: Final[Color] = (150, 160, 184)
"""The colour of what matters less."""

BESIDE: Final = 190
"""Pixels from the left edge of a list of keys to what they do."""


class Sheet(Brush):
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
        super().__init__(surface)
        self.x, self.y, self.width, self.bottom = x + PAD, y + PAD, width - 2 * PAD, bottom
        self.spots: list[Spot] = []

    def room(self, height: float) -> bool:
        """Whether ``height`` pixels are left."""
        return self.y + height <= self.bottom

    def gap(self, height: int = 8) -> None:
        """Leave ``height`` pixels empty."""
        self.y += height

    def line(
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
        high = round(1.35 * height)
        if not self.room(high):
            return
        middle = self.y + high / 2
        end = self.text(self.x + self.width, middle, right, height, anchor=1.0) if right else 0
        room = self.width - left - end
        self.text(self.x + left, middle, words, height, color, anchor=0.0, room=room, bold=bold, cut=True)
        if spot is not None:
            self.spots.append(Spot(spot[0], self.x, self.y, self.width, high, value=spot[1]))
        self.y += high

    def paragraph(self, words: str, height: int = WORDS) -> None:
        """Text in as many lines as it needs."""
        for line in filter(None, self.wrapped(words, height, self.width)):
            self.line(line, PALETTE.text, height)

    def bar(self, part: float, color: Color, height: int = 8) -> None:
        """A bar filled to ``part`` (0..1)."""
        if not self.room(height):
            return
        self.rectangle(self.x, self.y, self.width, height, PALETTE.cell, 3)
        if part > 0:
            self.rectangle(self.x, self.y, max(4, self.width * min(1.0, part)), height, color, 3)
        self.y += height

    def rule(self) -> None:
        """A thin horizontal line."""
        self.gap(7)
        if self.room(1):
            self.surface.fill(PALETTE.cell, (self.x, self.y, self.width, 1))
        self.gap(8)

    def picture(self, sprite: Any, x: float, y: float) -> None:
        """A sprite with premultiplied alpha, its upper left corner at (x, y)."""
        self.surface.blit(sprite, (round(x), round(y)), None, self._pygame.BLEND_PREMULTIPLIED)

    def buttons(self, labels: Sequence[tuple[str, str, int]], over: tuple[int, int] | None = None) -> None:
        """Buttons (name, label, value) side by side, across the width of the column."""
        if not self.room(28):
            return
        for spot in beside(labels, self.x, self.y, self.width, 26):
            self.button(spot, over)
        self.y += 32

    def button(self, spot: Spot, over: tuple[int, int] | None = None) -> None:
        """One button at its spot."""
        spot.draw(self, over)
        self.spots.append(spot)

    def grid(self, lines: Sequence[str], width: int, height: int, color: Color = PALETTE.text) -> None:
        """Lines of characters in fixed columns, whatever the characters' widths."""
        for line in lines:
            if not self.room(height):
                return
            for k, letter in enumerate(line):
                if letter != " " and (k + 1) * width <= self.width:
                    self.text(self.x + (k + 0.5) * width, self.y + height / 2, letter, round(0.8 * height), color)
            self.y += height


def draw_keys(
    surface: Any,
    box: tuple[int, int, int, int],
    goal: str,
    parts: Sequence[tuple[str, Sequence[tuple[str, str]]]],
) -> None:
    """Draw the goal of a game and lists of keys over a box of a surface.

    Args:
        surface: the window's surface.
        box: x, y, w, h in pixels.
        goal: one sentence; "": none.
        parts: (title, [(keys, what they do), ...]) of each list.
    """
    x, y, w, h = box
    sheet = Sheet(surface, x, y, w, y + h)
    sheet.veil(*box, 235)
    if goal:
        sheet.line("Goal", PALETTE.accent, 18, bold=True)
        sheet.paragraph(goal)
    for title, rows in parts:
        sheet.gap(6)
        sheet.line(title, PALETTE.accent, 18, bold=True)
        sheet.gap(4)
        for keys, words in rows:
            if sheet.room(22):
                sheet.text(sheet.x, sheet.y + 10, keys, WORDS, anchor=0.0, bold=True)
            sheet.line(words, DIM, left=BESIDE)
            sheet.gap(2)
