"""Go: rules (``rules``), positions and scoring (``position``), texts (``text``), records (``sgf``, ``record``)."""

from __future__ import annotations

from .game import go
from .position import Score, score
from .record import write_sgf
from .sgf import SgfGame, SgfMove, read_sgf

__all__ = ["Score", "SgfGame", "SgfMove", "go", "read_sgf", "score", "write_sgf"]
