"""The default drawer: the position as text, as the game describes it to its players.

Drawers of games whose actions are all buttons import ``boxes`` and ``cells`` from here.
"""

from __future__ import annotations

from ..aliases import Action, Player, State
from ..envs.core import Game
from .board import PALETTE, Canvas, Frame

__all__ = ["boxes", "cells", "draw"]

LINES = 16
"""Lines that fit at full size; more lines get smaller."""


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[size, size, 3] uint8: the description for ``player``.

    For a spectator (None) it is that for the current player, or in games with hidden information those for all seats.

    Raises:
        MissingExtra: pygame is not installed.
    """
    seats = range(game.info.players) if player is None else [player]
    if player is None and not game.info.hidden:
        seats = [max(0, game.mover(state, i))]
    lines = [line for p in seats for line in [*game.describe(state, i, p).splitlines(), ""]][:-1]
    canvas = Canvas(size)
    canvas.rectangle(size * 0.02, size * 0.02, size * 0.96, size * 0.96, PALETTE.cell, radius=size * 0.02)
    pitch = 0.9 * size / max(LINES, len(lines))
    height = 0.58 * pitch
    widest = max((canvas.text_width(line, height) for line in lines), default=1.0)
    height *= min(1.0, 0.9 * size / max(widest, 1.0))
    top = (size - pitch * len(lines)) / 2
    for k, line in enumerate(lines):
        canvas.text(size * 0.05, top + (k + 0.5) * pitch, line, height, anchor=0.0)
    return canvas.frame()


def boxes(game: Game, size: int = 480, player: Player | None = None) -> list[tuple[float, float, float, float]]:
    """No boxes: there are no cells."""
    return []


def cells(game: Game, state: State, i: int, action: Action) -> tuple[int, ...]:
    """No cells: every action is a button."""
    return ()
