"""Rules: games as kernels on flat arrays, and the faces that give them PettingZoo, batched and text interfaces.

``from coterie.envs import tictactoe_v0`` works for every registered game, as PettingZoo's users are used to.
"""

from __future__ import annotations

from typing import Any

from .making import make, make_vec
from .registry import list_envs, make_game, register, spec

__all__ = ["list_envs", "make", "make_game", "make_vec", "register", "spec"]


def __getattr__(name: str) -> Any:
    from .versioned import module_names, versioned

    if name in module_names():
        return versioned(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from .versioned import module_names

    return sorted(set(globals()) | set(module_names()))
