"""Maps: ``build`` writes terrains, ``connect`` opens walls that cut agents off."""

from .building import build
from .connecting import connect

__all__ = ["build", "connect"]
