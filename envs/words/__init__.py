"""Games of free text: what a player says is its action. See ``core.text_game`` to write one."""

from __future__ import annotations

from .core import Plain, TextGame, text_game

__all__ = ["Plain", "TextGame", "text_game"]
