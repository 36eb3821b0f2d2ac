"""Tic-tac-toe as a plain function."""

from __future__ import annotations

from . import play_of

__all__ = ["play"]

play = play_of("tictactoe")
"""``play("minimax", "random", seed=0)`` returns the returns of both players, see ``coterie.games.play``."""
