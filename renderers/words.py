"""The drawer of games that have none: the position in words, as its players are told it.

Drawers of games whose actions are all buttons take ``boxes`` and ``cells`` from here.
"""

from __future__ import annotations

from ..aliases import Action, Player, State
from ..envs.core import Game
from .board import PALETTE, Canvas, Frame

__all__ = ["boxes", "cells", "draw"]

LINES = 16
"""Lines that a picture has room for; with more, they get smaller."""


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[size, size, 3] uint8: what ``player`` is told; a spectator is told what every seat is, one after the other.

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
    """None: there are no cells."""
    return []


def cells(game: Game, state: State, i: int, action: Action) -> tuple[int, ...]:
    """None: every action is a button."""
    return ()
