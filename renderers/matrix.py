"""A matrix game as a picture: the table of payoffs with the last choices marked, and the scores over the rounds.

A seat's own choices are the rows and the other's the columns; a spectator sees player_0's view. Each payoff has the
colour of the player who gets it.
"""

from __future__ import annotations

from typing import Final

from ..aliases import Player, State
from ..envs.core import Game
from ..envs.matrix import choices, names_of, payoff_table
from .board import PALETTE, Canvas, Color, Frame
from .words import boxes, cells

__all__ = ["SEAT_COLORS", "boxes", "cells", "draw"]

ASPECT: Final = 0.9
SEAT_COLORS: Final[tuple[Color, ...]] = (PALETTE.first, PALETTE.second)


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[0.9 size, size, 3] uint8: row i of ``state``.

    Args:
        game: the game.
        state: N games.
        i: which of them.
        size: width in pixels.
        player: the seat whose view it is; None: player_0.

    Raises:
        MissingExtra: pygame is not installed.
    """
    own = player or 0
    canvas = Canvas(size, round(size * ASPECT))
    w, h = float(size), size * ASPECT
    played, total = (int(n) for n in state.rounds[i, :2])
    words = f"round {min(played + 1, total)} of {total}" if played < total else f"over after {total} rounds"
    canvas.text(w * 0.5, h * 0.045, words, h * 0.04, PALETTE.text)
    _payoffs(canvas, game, state, i, own, (w * 0.03, h * 0.09, w * 0.94, h * 0.56))
    _scores(canvas, state, i, (w * 0.06, h * 0.76, w * 0.88, h * 0.20))
    return canvas.frame()


def _payoffs(
    canvas: Canvas, game: Game, state: State, i: int, own: Player, area: tuple[float, float, float, float]
) -> None:
    names, table = names_of(game), payoff_table(state, i, own)
    rows, columns = choices(state, i, own), choices(state, i, 1 - own)
    x, y, w, h = area
    left, top = w * 0.20, h * 0.13
    side_w, side_h = (w - left) / columns, (h - top) / rows
    last = tuple(int(a) for a in state.past[i, 0, :: 1 if own == 0 else -1])
    label = min(top * 0.42, side_h * 0.5)
    for c in range(columns):
        at = x + left + (c + 0.5) * side_w, y + top * 0.5
        canvas.text(*at, names[c], label, SEAT_COLORS[1 - own], room=0.94 * side_w)
    for r in range(rows):
        middle = y + top + (r + 0.5) * side_h
        canvas.text(x + left * 0.5, middle, names[r], label, SEAT_COLORS[own], room=0.94 * left)
        for c in range(columns):
            cx = x + left + (c + 0.5) * side_w
            ground = PALETTE.highlight if last == (r, c) else PALETTE.cell
            gap = min(side_w, side_h) * 0.06
            canvas.rectangle(
                cx - side_w / 2 + gap, middle - side_h / 2 + gap, side_w - 2 * gap, side_h - 2 * gap, ground, 3
            )
            height, room = min(side_h * 0.34, side_w * 0.22), 0.94 * (side_w * 0.42)
            mine, other = (f"{number:g}" for number in table[r][c])
            canvas.text(cx - side_w * 0.22, middle, mine, height, SEAT_COLORS[own], room=room)
            canvas.text(cx + side_w * 0.22, middle, other, height, SEAT_COLORS[1 - own], room=room)


def _scores(canvas: Canvas, state: State, i: int, area: tuple[float, float, float, float]) -> None:
    """Draw one line per player: its score after each of the remembered rounds."""
    x, y, w, h = area
    known = [(int(a), int(b)) for a, b in state.past[i, ::-1] if a >= 0]
    lines = []
    for p in (0, 1):
        paid = [float(state.payoffs[i, a, b, p]) for a, b in known]
        line = [float(state.scores[i, p]) - sum(paid)]
        for amount in paid:
            line.append(line[-1] + amount)
        lines.append(line)
    low, high = min(map(min, lines)), max(map(max, lines))
    span, steps = max(high - low, 1.0), max(1, len(lines[0]) - 1)
    room = w * 0.80
    for p, line in enumerate(lines):
        score = f"player_{p}  {line[-1]:g}"
        at = x + w * (0.25 + 0.5 * p), y - h * 0.22
        canvas.text(*at, score, h * 0.22, SEAT_COLORS[p], room=0.94 * (w * 0.45))
        shift = (p - 0.5) * h * 0.02  # equal scores stay visible side by side
        points = [
            (x + w * 0.1 + room * k / steps, y + h * (1 - (value - low) / span) * 0.9 + shift + h * 0.05)
            for k, value in enumerate(line)
        ]
        canvas.polyline(points, h * 0.025, SEAT_COLORS[p])
        for px, py in points:
            canvas.disc(px, py, h * 0.03, SEAT_COLORS[p])
