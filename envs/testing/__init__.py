"""One conformance check for all games: ``check_game(game)``."""

from __future__ import annotations

from .games import CHECKS, check_batched, check_game, check_rules, check_state, check_text, transcript
from .play import FARAMA_WARNINGS, check_copies, check_determinism, check_pettingzoo

__all__ = [
    "CHECKS",
    "FARAMA_WARNINGS",
    "check_batched",
    "check_copies",
    "check_determinism",
    "check_game",
    "check_pettingzoo",
    "check_rules",
    "check_state",
    "check_text",
    "transcript",
]
