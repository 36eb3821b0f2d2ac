"""Modules such as ``tictactoe_v0``, as PettingZoo's users import them, for every registered game.

Each is a small module with ``env()``, ``raw_env()`` and ``parallel_env()``. PettingZoo's registry takes strings:
``coterie.envs.versioned:tictactoe_v0__env`` is looked up here without a file of that name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .making import make
from .registry import list_envs, make_game, spec

if TYPE_CHECKING:
    from .faces.aec import AECGame

__all__ = ["module_names", "versioned"]


def module_names() -> dict[str, str]:
    """``{"tictactoe_v0": "tictactoe-v0", ...}``."""
    return {id.replace("-", "_"): id for id in list_envs()}


def _raw(
    id: str,
    render_mode: str | None = None,
    text: bool = False,
    illegal: str | None = None,
    illegal_reward: float | None = None,
    max_cycles: int | None = None,
    **config: Any,
) -> AECGame:
    from .faces.aec import AECGame

    return AECGame(
        make_game(id, **config),
        checked=False,
        render_mode=render_mode,
        text=text,
        illegal=illegal,
        illegal_reward=illegal_reward,
        max_cycles=max_cycles,
        draw=spec(id).draw,
    )


@cache
def versioned(name: str) -> ModuleType:
    """The module of a game: ``versioned("tictactoe_v0").env()``."""
    id = module_names()[name]
    module = ModuleType(
        f"{__package__}.{name}", f"{id} as PettingZoo's users know it: env(), raw_env(), parallel_env()."
    )
    module.__dict__.update(
        env=partial(make, id, "aec"),
        raw_env=partial(_raw, id),
        parallel_env=partial(make, id, "parallel"),
        __all__=["env", "parallel_env", "raw_env"],
    )
    return module


def __getattr__(name: str) -> Callable[..., Any]:
    module, found, attribute = name.partition("__")
    if found and module in module_names():
        maker: Callable[..., Any] = getattr(versioned(module), attribute)
        return maker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
