"""No terrain but the border."""

from __future__ import annotations

from ..terrain import Terrain

__all__ = ["RANDOM"]

RANDOM = Terrain(
    number=0,
    name="random",
    about="Only the border; walls are objects like others, placed anywhere.",
    open_regions=True,
)
