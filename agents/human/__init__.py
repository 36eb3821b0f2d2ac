"""People as players: in the terminal, in a board game's window, in a world's window."""

from __future__ import annotations

from .terminal import HumanAgent

__all__ = ["HumanAgent"]
