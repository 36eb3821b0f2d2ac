"""Maps: terrains are built (``build``), and walls that cut somebody off are opened (``connect``)."""

from .building import build
from .connecting import connect

__all__ = ["build", "connect"]
