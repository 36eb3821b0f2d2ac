"""Tic-tac-toe as a plain function."""

from __future__ import annotations

from functools import partial

from . import play as _play

__all__ = ["play"]

play = partial(_play, "tictactoe")
"""``play("minimax", "random", seed=0) -> [1.0, -1.0]``, see ``coterie.games.play``."""
