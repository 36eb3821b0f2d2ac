"""A coterie: agents that learn by playing each other.

Games with numba rules behind PettingZoo's APIs and a batched one, language models with many LoRA adapters as players,
and a trainer for them. Importing this package imports nothing heavy. It registers our games with ``pettingzoo.make``
and keeps old module names importable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import moved as _moved  # noqa: F401  # old module names still import
from .envs.making import make, make_vec
from .envs.registry import list_envs, register, register_elsewhere
from .version import __version__

if TYPE_CHECKING:
    from .training.facade import (
        FictitiousGANConfig,
        FictitiousGANTrainer,
        LeagueConfig,
        LeagueTrainer,
        SelfPlayConfig,
        SelfPlayTrainer,
    )

__all__ = [
    "FictitiousGANConfig",
    "FictitiousGANTrainer",
    "LeagueConfig",
    "LeagueTrainer",
    "SelfPlayConfig",
    "SelfPlayTrainer",
    "__version__",
    "list_envs",
    "make",
    "make_vec",
    "register",
]

register_elsewhere()
del register_elsewhere


def __getattr__(name: str) -> Any:
    """The trainers, which need torch, are imported when they are first asked for."""
    if name in __all__:
        from .errors import needs

        with needs(f"coterie.{name}", "train"):
            from .training import facade
        return getattr(facade, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
