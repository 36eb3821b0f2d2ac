"""A coterie: agents that learn by playing each other.

Games with numba rules behind PettingZoo's APIs and a batched one, language models with many LoRA adapters as players, and a
trainer for them. Importing this package imports nothing heavy; each name below is fetched when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .envs.registry import list_envs as list_envs
    from .envs.registry import make as make
    from .envs.registry import make_vec as make_vec
    from .envs.registry import register as register

__version__ = "0.1.0"

_HOME = {
    "list_envs": ".envs.registry",
    "make": ".envs.registry",
    "make_vec": ".envs.registry",
    "register": ".envs.registry",
}
"""Where each public name lives, relative to this package."""

__all__ = ["__version__", "list_envs", "make", "make_vec", "register"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
