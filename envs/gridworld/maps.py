"""Maps: ``build`` walls a world's terrain, ``connect`` opens what cut somebody off."""

from __future__ import annotations

from ..jit import kernel
from .layout import World

__all__ = ["build", "connect"]


@kernel
def build(world: World, i: int) -> None:
    """Writes row i's terrain into ``kind``, which is empty inside the border."""


@kernel
def connect(world: World, i: int) -> None:
    """Opens walls of row i until all agents reach each other and everything that can be used."""
