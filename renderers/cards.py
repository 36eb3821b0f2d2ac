"""What pictures of card games share: cards, stacks of chips, and a table with the seats around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ..aliases import Player
from .board import PALETTE, Canvas, Color, Frame

__all__ = ["ASPECT", "SEAT_COLORS", "Seat", "card", "chips", "table"]

ASPECT: Final = 0.75
"""Height of a table's picture divided by its width."""

SEAT_COLORS: Final[tuple[Color, ...]] = (PALETTE.first, PALETTE.second, PALETTE.accent)

PAPER: Final[Color] = (236, 232, 220)
INK: Final[Color] = (40, 44, 58)
BACK: Final[Color] = (62, 84, 138)
BACK_LINES: Final[Color] = (92, 116, 172)


class Seat(NamedTuple):
    """One player at the table.

    Attributes:
        player: its number.
        card: a letter; ``"?"`` is a card face down.
        chips: the chips it has put in so far.
        said: its last action, its result, or ``""``.
        active: whether it is the current player.
        folded: whether it has folded.
        won: whether it has won.
    """

    player: Player
    card: str
    chips: int
    said: str = ""
    active: bool = False
    folded: bool = False
    won: bool = False


def card(canvas: Canvas, x: float, y: float, width: float, letter: str, faded: bool = False) -> None:
    """A card centred at (x, y): face up with its letter, or face down if the letter is ``"?"``."""
    height = width * 1.4
    left, top, radius = x - width / 2, y - height / 2, width * 0.12
    if letter == "?":
        edge = width * 0.07
        canvas.rectangle(left, top, width, height, PAPER, radius)
        canvas.rectangle(left + edge, top + edge, width - 2 * edge, height - 2 * edge, BACK, radius * 0.6)
        for k in range(1, 5):  # stripes
            a, b = left + width * k / 5, top + height * 0.12
            canvas.stroke((a, b), (a, b + height * 0.76), width * 0.03, BACK_LINES)
    else:
        canvas.rectangle(left, top, width, height, (150, 148, 142) if faded else PAPER, radius)
        canvas.text(x, y + height * 0.03, letter, width * 0.62, INK)
        canvas.text(left + width * 0.17, top + height * 0.13, letter, width * 0.2, INK)


def chips(canvas: Canvas, x: float, y: float, radius: float, count: int, color: Color) -> None:
    """A stack of ``count`` chips, at most ten drawn, with the number next to it."""
    for k in range(min(count, 10)):
        top = y - k * radius * 0.42
        canvas.disc(x, top, radius, INK)
        canvas.disc(x, top - radius * 0.12, radius * 0.9, color)
    canvas.text(x + radius * 1.5, y, str(count), radius * 1.5, PALETTE.text, anchor=0.0)


def table(size: int, seats: Sequence[Seat], community: Sequence[str], pot: int, notes: Sequence[str]) -> Frame:
    """[0.75 size, size, 3] uint8: the first seat at the bottom, the others opposite.

    Args:
        size: width in pixels.
        seats: 1 to 3, clockwise from the one at the bottom.
        community: cards in the middle, ``"?"`` face down.
        pot: chips in the middle.
        notes: lines about the betting, at the lower edge.
    """
    canvas = Canvas(size, round(size * ASPECT))
    w, h = float(size), size * ASPECT
    canvas.rectangle(w * 0.03, h * 0.04, w * 0.94, h * 0.80, PALETTE.felt, radius=h * 0.30)
    places = {1: [0.5], 2: [0.5, 0.5], 3: [0.5, 0.30, 0.75]}[len(seats)]
    for k, seat in enumerate(seats):
        _seat(canvas, seat, w * places[k], h * (0.68 if k == 0 else 0.20))
    side = w * 0.10
    for k, letter in enumerate(community):
        card(canvas, w * (0.5 + 0.12 * (k - (len(community) - 1) / 2)), h * 0.44, side, letter)
    x = w * (0.5 if not community else 0.62)
    canvas.text(x, h * 0.44, f"pot {pot}", h * 0.055, PALETTE.accent, anchor=0.0 if community else 0.5)
    for k, note in enumerate(notes):
        y = h * (0.90 + 0.06 * (k - (len(notes) - 1) / 2))
        canvas.text(w * 0.5, y, note, h * 0.042, room=w * 0.94)
    return canvas.frame()


def _seat(canvas: Canvas, seat: Seat, x: float, y: float) -> None:
    w, h = float(canvas.width), float(canvas.height)
    color, side = SEAT_COLORS[seat.player % len(SEAT_COLORS)], w * 0.10
    if seat.active or seat.won:
        glow = PALETTE.accent if seat.won else color
        canvas.rectangle(x - side * 0.57, y - side * 0.77, side * 1.14, side * 1.54, glow, radius=side * 0.18)
    card(canvas, x, y, side, seat.card, faded=seat.folded)
    height = h * 0.046
    name = f"player_{seat.player}"
    canvas.text(x - side * 0.8, y - height * 0.7, name, height, color, anchor=1.0)
    canvas.text(x - side * 0.8, y + height * 0.7, seat.said, height, PALETTE.text, anchor=1.0)
    chips(canvas, x + side * 0.95, y + side * 0.25, side * 0.2, seat.chips, color)
