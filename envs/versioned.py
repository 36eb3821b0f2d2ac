"""Modules such as ``tictactoe_v0``, as PettingZoo's users import them, for every registered game.

Each is a small module with ``env()``, ``raw_env()`` and ``parallel_env()``. PettingZoo's registry takes strings:
``coterie.envs.versioned:tictactoe_v0__env`` is looked up here without a file of that name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .making import make
from .registry import list_envs

__all__ = ["module_names", "versioned"]


def module_names() -> dict[str, str]:
    """``{"tictactoe_v0": "tictactoe-v0", ...}``."""
    return {id.replace("-", "_"): id for id in list_envs()}


@cache
def versioned(name: str) -> ModuleType:
    """The module of a game: ``versioned("tictactoe_v0").env()``."""
    id = module_names()[name]
    module = ModuleType(
        f"{__package__}.{name}", f"{id} as PettingZoo's users know it: env(), raw_env(), parallel_env()."
    )
    module.__dict__.update(
        env=partial(make, id, "aec"),
        raw_env=partial(make, id, "raw"),
        parallel_env=partial(make, id, "parallel"),
        __all__=["env", "parallel_env", "raw_env"],
    )
    return module


class Finder(Loader):
    """Lets ``importlib.import_module("coterie.envs.tictactoe_v0")`` find the module of a game."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of a game's module; None for any other."""
        room, _, module = name.rpartition(".")
        return ModuleSpec(name, cls()) if room == __package__ and module in module_names() else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module that ``from coterie.envs import tictactoe_v0`` gives."""
        return versioned(spec.name.rpartition(".")[2])

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


sys.meta_path.append(Finder)


def __getattr__(name: str) -> Callable[..., Any]:
    module, found, attribute = name.partition("__")
    if found and module in module_names():
        maker: Callable[..., Any] = getattr(versioned(module), attribute)
        return maker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
