"""The column beside a board: what each side has taken, its time, and the moves."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final

from ..envs.core import Game
from .board import PALETTE, Color
from .panel import View
from .screen import WORDS
from .sheet import DIM, Sheet

__all__ = ["SIDE", "draw_side"]

SIDE: Final = 220
"""Its width, pixels."""

PIECE: Final = 22
"""The side of a taken piece, pixels."""


def draw_side(
    surface: Any, box: tuple[int, int, int, int], game: Game, drawer: ModuleType, view: View, colors: Sequence[Color]
) -> None:
    """Draw the column into a box (x, y, w, h) of the window's surface; the viewer's seat is at the bottom."""
    x, y, w, h = box
    near = view.player or 0
    below = [near] if len(view.names) == 2 else []
    block = 76 * len(below)
    top = Sheet(surface, x, y, w, y + h)
    for seat in range(len(view.names)):
        if seat not in below:
            _seat(top, seat, game, drawer, view, colors[seat])
    top.rule()
    _moves(top, y + h - block, view)
    for seat in below:
        _seat(Sheet(surface, x, y + h - block, w, y + h), seat, game, drawer, view, colors[seat])


def _seat(sheet: Sheet, seat: int, game: Game, drawer: ModuleType, view: View, color: Color) -> None:
    """A player's name and time, and what it has taken if the game's drawer knows."""
    clock = view.clocks[seat] if view.clocks else ""
    sheet.rectangle(sheet.x, sheet.y + 4, 12, 12, PALETTE.faint, radius=3)
    sheet.rectangle(sheet.x + 1, sheet.y + 5, 10, 10, color, radius=3)
    shade = PALETTE.accent if seat in view.active else PALETTE.text
    sheet.line(view.names[seat], shade, left=20, right=clock)
    if not hasattr(drawer, "taken"):
        return
    pieces, lead = drawer.taken(game, view.state, 0, seat, PIECE)
    steps = [0.45 if k and kind == pieces[k - 1][1] else 0.8 for k, (_, kind) in enumerate(pieces)]
    left, right = float(sheet.x), sheet.x + (sum(steps[1:]) + 1) * PIECE
    if pieces:
        sheet.rectangle(left, sheet.y, right - left, PIECE, PALETTE.faint, radius=4)
    for k, (sprite, _) in enumerate(pieces):
        sheet.picture(sprite, left + sum(steps[1 : k + 1]) * PIECE, sheet.y)
    if lead > 0:
        sheet.text(right + 8, sheet.y + PIECE / 2, f"+{lead}", WORDS, DIM, anchor=0.0)
    sheet.gap(PIECE)


def _moves(sheet: Sheet, bottom: int, view: View) -> None:
    """The moves, as many of the last ones as there is room for; two sides in turn have two columns."""
    short = all(len(text) <= 10 for turn in view.moves for _, text in turn)
    pairs = short and len(view.names) == 2 and all(len(turn) == 1 for turn in view.moves)
    rows: list[tuple[str, list[str]]] = []
    for number, turn in enumerate(view.moves):
        said = [text for _, text in turn]
        if not pairs:
            rows.append((f"player_{turn[0][0]}" if len(turn) == 1 else f"{number + 1}.", [" / ".join(said)]))
        elif rows and len(rows[-1][1]) == 1 and turn[0][0] != view.moves[0][0][0]:
            rows[-1][1].append(said[0])
        else:
            rows.append((f"{len(rows) + 1}.", said))
    high = round(1.5 * WORDS)
    room = max(0, int(bottom - sheet.y) // high)
    for k, (head, said) in enumerate(rows[max(0, len(rows) - room) :], max(0, len(rows) - room)):
        middle = sheet.y + high / 2
        left = 34 if head[-1] == "." else 76
        sheet.text(sheet.x, middle, head, WORDS, DIM, anchor=0.0)
        wide = (sheet.width - left) / (2 if pairs else 1)
        for column, words in enumerate(said):
            last = k == len(rows) - 1 and column == len(said) - 1
            place, shade = sheet.x + left + column * wide, PALETTE.accent if last else PALETTE.text
            sheet.text(place, middle, words, WORDS, shade, anchor=0.0, room=wide - 6, cut=not short)
        sheet.gap(high)
