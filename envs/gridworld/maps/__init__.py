"""Maps: terrains are built (``build``), and walls that cut somebody off are opened (``connect``)."""

from .connecting import connect
from .terrains import build

__all__ = ["build", "connect"]
