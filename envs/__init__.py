"""Games as kernels on flat arrays, and the faces that give them PettingZoo, batched and text interfaces.

``from coterie.envs import tictactoe_v0`` works for every registered game, as PettingZoo's users expect. The parts of a
new game are here too: Game, GameInfo, Kernels, kernel, the shared kernels row_key, row_mover and everybody, and the
statuses that a step returns.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..aliases import RUNNING, TERMINATED, TRUNCATED
from .core import Game, GameInfo, Kernels
from .making import make, make_vec
from .registry import list_envs, make_game, register, spec
from .versioned import module_names, versioned

if TYPE_CHECKING:
    from .stepping.defaults import everybody, row_key, row_mover
    from .stepping.jit import checked as kernel

__all__ = [
    "RUNNING",
    "TERMINATED",
    "TRUNCATED",
    "Game",
    "GameInfo",
    "Kernels",
    "everybody",
    "kernel",
    "list_envs",
    "make",
    "make_game",
    "make_vec",
    "register",
    "row_key",
    "row_mover",
    "spec",
]

_COMPILED = {
    "kernel": ("jit", "checked"),
    "everybody": ("defaults", "everybody"),
    "row_key": ("defaults", "row_key"),
    "row_mover": ("defaults", "row_mover"),
}
"""Names whose modules import numba, loaded on first use: the module in ``stepping``, and the name there."""


def __getattr__(name: str) -> Any:
    if name in _COMPILED:
        module, there = _COMPILED[name]
        return getattr(import_module(f".stepping.{module}", __name__), there)
    if name in module_names():
        return versioned(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(module_names()))
