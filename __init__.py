"""A coterie: agents that learn by playing each other.

Games with numba rules behind PettingZoo's APIs and a batched one, language models with many LoRA adapters as players,
and a trainer for them. Importing this package imports nothing heavy; its one effect is that ``pettingzoo.make`` finds
our games.
"""

from __future__ import annotations

from .envs.making import make, make_vec
from .envs.registry import list_envs, register, register_with_pettingzoo

__version__ = "0.1.0"

__all__ = ["__version__", "list_envs", "make", "make_vec", "register"]

register_with_pettingzoo()
del register_with_pettingzoo
