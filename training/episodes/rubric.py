"""Rubrics: what an episode's roles are paid."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

from ...envs.plain import told
from ...errors import UsageError
from .records import Rollout

__all__ = ["RewardFn", "Rubric"]

RewardFn: TypeAlias = Callable[[Rollout, Any], Mapping[str, float] | Awaitable[Mapping[str, float]]]
"""(rollout, arena) -> {role: reward}, as a function or as a coroutine that may ask a judge (``arena.call_model``)."""


class Rubric:
    """A weighted sum of reward functions. A role that none of them names is paid 0.

    Args:
        functions: one or several; they are called in order.
        weights: as many; None: 1 each.

    Raises:
        UsageError: another number of weights.
    """

    def __init__(self, functions: RewardFn | Sequence[RewardFn] = (), weights: Sequence[float] | None = None) -> None:
        self.functions = [functions] if callable(functions) else list(functions)
        self.weights = [1.0] * len(self.functions) if weights is None else [float(w) for w in weights]
        if len(self.weights) != len(self.functions):
            raise UsageError(f"A rubric of {len(self.functions)} functions got {len(self.weights)} weights.")

    async def score(self, rollout: Rollout, arena: Any) -> dict[str, float]:
        """Role -> reward.

        Raises:
            UsageError: a function returned something else than finite rewards by role.
        """
        total: dict[str, float] = {}
        for function, weight in zip(self.functions, self.weights, strict=True):
            found: Any = function(rollout, arena)
            if inspect.isawaitable(found):
                found = await found
            name = getattr(function, "__name__", type(function).__name__)
            if not isinstance(found, Mapping):
                raise UsageError(f"The rubric's {name} returned {told(found)}; it must return {{role: reward}}.")
            for role, reward in found.items():
                if not isinstance(reward, Real) or not math.isfinite(reward):
                    raise UsageError(f"The rubric's {name} paid {role} {told(reward)}, which is no finite number.")
                total[str(role)] = total.get(str(role), 0.0) + weight * float(reward)
        return total
