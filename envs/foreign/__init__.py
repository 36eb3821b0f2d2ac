"""Games whose code is not made for coterie: PettingZoo's environments, and plain functions that call players."""

from __future__ import annotations

from .aec import register_pettingzoo
from .played import Called, register_play

__all__ = ["Called", "register_pettingzoo", "register_play"]
