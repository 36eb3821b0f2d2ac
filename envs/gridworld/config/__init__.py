"""Gridworld configurations: the dataclasses (``sections``), reading (``fields``, ``files``, ``presets``), checks."""

from typing import TYPE_CHECKING, Any

from . import sections
from .sections import *  # noqa: F403

__all__ = [*sections.__all__, "Terrain"]

if TYPE_CHECKING:
    from ..maps.table import Numbers as Terrain
else:

    def __getattr__(name: str) -> Any:
        """``Terrain``, looked up when it is asked for: the maps that number it import the sections."""
        if name != "Terrain":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ..maps.table import Numbers

        return Numbers
