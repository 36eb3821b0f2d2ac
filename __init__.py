"""A coterie: agents that learn by playing each other.

Games with numba rules behind PettingZoo's APIs and a batched one, language models with many LoRA adapters as players,
and a trainer for them. Importing this package imports nothing heavy. It registers our games with ``pettingzoo.make``
and keeps old module names importable.
"""

from __future__ import annotations

from . import moved as _moved  # noqa: F401  # old module names still import
from .envs.making import make, make_vec
from .envs.registry import list_envs, register, register_elsewhere
from .version import __version__

__all__ = ["__version__", "list_envs", "make", "make_vec", "register"]

register_elsewhere()
del register_elsewhere
