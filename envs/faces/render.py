"""Renders one game. Drawing functions and the window are imported by name, so that rules import no graphics."""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...aliases import State
from ...errors import MissingExtra
from ..core import Game

__all__ = ["SHOWN", "close_window", "fps", "in_window", "picture", "render_modes", "sheet"]

SHOWN: Final = 64
"""The most games that ``sheet`` shows."""

SHEET: Final = 960
"""Width of a sheet of several games, pixels; a game gets 96 at least."""

_SCREEN = f"{__name__.rsplit('.', 3)[0]}.renderers.screen"


def fps(game: Game) -> int:
    """Turns (ticks) per second in a window: 10 for worlds, which last thousands of ticks, else 2."""
    return 10 if game.info.is_world else 2


def render_modes(draw: str | None) -> list[str]:
    """The render modes of a game: ``rgb_array`` needs a drawing function."""
    return ["human", "ansi", "rgb_array"] if draw else ["human", "ansi"]


def picture(draw: str | None, game: Game, state: State, row: int = 0, **how: Any) -> NDArray[np.uint8]:
    """[H, W, 3] a row of a state, drawn by ``"module:function"``, which takes ``how`` (size, player).

    A game that is played inside another one has a method ``drawn(state)``, which returns it and its state.
    """
    inside: Any = getattr(game, "drawn", None)
    if inside is not None:
        game, state = inside(state)
    module, _, name = str(draw).partition(":")
    frame: NDArray[np.uint8] = getattr(importlib.import_module(module), name)(game, state, row, **how)
    return frame


def sheet(draw: str, game: Game, state: State, games: int) -> NDArray[np.uint8]:
    """[H, W, 3] the first games of a state, ``SHOWN`` at most, row by row in a square of pictures."""
    games = min(games, SHOWN)
    columns = math.ceil(math.sqrt(games))
    size = 480 if games == 1 else max(96, SHEET // columns)
    frames = [picture(draw, game, state, i, size=size) for i in range(games)]
    gap, high = max(1, size // 40) if games > 1 else 0, frames[0].shape[0]
    whole = np.zeros((math.ceil(games / columns) * (high + gap) - gap, columns * (size + gap) - gap, 3), np.uint8)
    for i, frame in enumerate(frames):
        top, left = i // columns * (high + gap), i % columns * (size + gap)
        whole[top : top + high, left : left + size] = frame
    return whole


def in_window(draw: str | None, game: Game, state: State) -> bool:
    """Show the picture for one turn; False if it cannot be shown."""
    if not draw:
        return False
    try:
        frame = picture(draw, game, state)
    except MissingExtra:
        return False
    screen: Any = importlib.import_module(_SCREEN)
    return bool(screen.show_frame(frame, game.info.id, seconds=1 / fps(game)))


def close_window() -> None:
    """Close the window, if there is one."""
    if _SCREEN in sys.modules:
        sys.modules[_SCREEN].close_frame()
