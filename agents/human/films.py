"""Films of matches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from ...aliases import Player
from ...envs.faces import render
from ...envs.registry import spec
from ...envs.replay.file import replay
from .table import Match, picture

if TYPE_CHECKING:
    from ...renderers.board import Frame

__all__ = ["draw_film"]

LONGEST_GIF: Final = 1000
"""Frames; a GIF of a longer world has only every second, third, ... tick. MP4s have every tick."""


def draw_film(match: Match, path: Path, follow: Player | None = None) -> Path:
    """Write a match as a GIF or MP4, one frame per position (long worlds: see ``LONGEST_GIF``).

    Args:
        match: a match of a game that has a drawer.
        path: ends in ``.gif`` or ``.mp4``.
        follow: in worlds, the slot that the camera follows.

    Returns:
        The path.

    Raises:
        CoterieError: it cannot be rendered or written.
    """
    from ...renderers.film import film

    draw, gif = str(spec(match.game.info.id).draw), path.suffix.lower() == ".gif"
    if match.world:
        every = 1 + max(0, len(match.plies) - 1) // LONGEST_GIF if gif else 1
        return film(_ticks(match, draw, follow, every), path, 0.1 if gif else 0.05, 1.0)
    return film((picture(draw, match.game, state, match.names) for state in match.positions()), path, 0.8, 2.5)


def _ticks(match: Match, draw: str, slot: Player | None, every: int) -> Iterator[Frame]:
    """Frames of a world with a caption: every ``every``-th tick, always with the first and the last one."""
    from ...renderers.board import PALETTE, captioned

    returns, last = np.zeros(match.game.info.players), len(match.plies)
    for tick, (state, rewards, _) in enumerate(replay(match.game, match.record())):
        returns += rewards
        if tick % every and tick != last:
            continue
        paid = f"{returns.sum():.4g} in all" if slot is None else f"{match.names[slot]} {returns[slot]:.4g}"
        words = f"tick {tick:,}     return: {paid}"
        yield captioned(render.picture(draw, match.game, state, player=slot), [(words, PALETTE.text)])
