"""Language models as players: their prompts, how they answer, and the built-in model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .policy import LLMAgent, LoraPolicy

__all__ = ["LLMAgent", "LoraPolicy"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import policy

        return getattr(policy, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
