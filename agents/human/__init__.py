"""A person in a seat: at the terminal, at the window of a board game, at the window of a world."""

from __future__ import annotations

from .terminal import HumanAgent

__all__ = ["HumanAgent"]
