"""Games of free text, in which a player's message is its action. ``core.text_game`` makes one."""

from __future__ import annotations

from .core import SAY, Plain, Script, TextGame, text_game

__all__ = ["SAY", "Plain", "Script", "TextGame", "text_game"]
