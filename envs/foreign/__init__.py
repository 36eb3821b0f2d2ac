"""Games whose code is not made for coterie: PettingZoo's environments, and plain functions that call players."""

from __future__ import annotations

from .aec import register_pettingzoo

__all__ = ["register_pettingzoo"]
