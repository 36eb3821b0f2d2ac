"""Games of free text: what a player says is its action. See ``core.text_game`` to write one."""

from __future__ import annotations

from .core import SAY, Plain, TextGame, text_game

__all__ = ["SAY", "Plain", "TextGame", "text_game"]
