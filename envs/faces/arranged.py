"""PettingZoo environments whose observations and infos are arranged as another library wants them.

``coterie.make(..., layout=, mask=, idle=, infos=)`` wraps a face in one of these; without these arguments nothing is
wrapped, and costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Space
from pettingzoo.utils.wrappers import BaseParallelWrapper, BaseWrapper

from ...errors import UsageError
from ..answers import known_name
from .layouts import Layout

__all__ = ["ArrangedAEC", "ArrangedParallel", "Arrangement"]

LAYOUTS = ("native", "flat", "channels_first", "channels_last")
MASKS = ("both", "observation", "info", "none")
IDLE = ("zeros", "ones")
INFOS = ("all", "numbers")


class Arrangement:
    """What is done to observations and infos.

    Args:
        face: of a game of numbered actions.
        layout: ``native``, ``flat`` [D] float32, ``channels_first`` or ``channels_last``.
        mask: where the mask is: in the observation, in the info, in both or in neither. An observation without one is a
            plain array.
        idle: the mask of an agent that is not to act: zeros, or ones for libraries that sample from every mask.
        infos: ``numbers`` leaves out of infos all that is neither a number nor an array.

    Raises:
        UnknownName: not one of these.
        UsageError: a game whose observations or actions cannot be arranged, or ``idle`` without masks.
    """

    def __init__(
        self, face: Any, layout: str = "native", mask: str = "both", idle: str = "zeros", infos: str = "all"
    ) -> None:
        for name, value, known in (
            ("layout", layout, LAYOUTS),
            ("mask", mask, MASKS),
            ("idle", idle, IDLE),
            ("infos", infos, INFOS),
        ):
            known_name(name, value, known)
        if mask == "none" and idle == "ones":
            raise UsageError("idle='ones' came with mask='none', which shows no masks; leave out one of the two.")
        if face.table.text or face.game.verbs:
            what = "pairs as actions" if face.game.verbs else "texts as observations"
            raise UsageError(f"{face.game.info.id} has {what} here; layout, mask and idle are for arrays and masks.")
        self.layout, self.numbers = Layout(face.game, layout), infos == "numbers"
        self.shown, self.said, self.ones = mask in ("both", "observation"), mask in ("both", "info"), idle == "ones"
        whole: Any = face.observation_space(face.possible_agents[0])
        self.space: Space[Any] = (
            Dict({"observation": self.layout.space, "action_mask": whole["action_mask"]})
            if self.shown
            else self.layout.space
        )

    def observation(self, seen: Any) -> Any:
        """A face's observation, arranged; None (of an agent that PettingZoo's ``last`` does not observe) stays."""
        if seen is None:
            return None
        array = self.layout.of(seen["observation"], None)
        return {"observation": array, "action_mask": self._mask(seen["action_mask"])} if self.shown else array

    def info(self, told: dict[str, Any]) -> dict[str, Any]:
        """A face's info, arranged."""
        out = {name: value for name, value in told.items() if not self.numbers or _is_number(value)}
        mask = out.pop("action_mask", None)
        return out | {"action_mask": self._mask(mask)} if self.said and mask is not None else out

    def _mask(self, mask: Any) -> Any:
        return np.ones_like(mask) if self.ones and not mask.any() else mask


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_ | np.ndarray)


class _Spaces:
    """Of all agents: the same object at every call."""

    def __init__(self, env: Any, arrangement: Arrangement) -> None:
        super().__init__(env)  # type: ignore[call-arg]  # of PettingZoo's wrapper
        self.arrangement = arrangement
        self._spaces = dict.fromkeys(env.possible_agents, arrangement.space)

    def observation_space(self, agent: str) -> Space[Any]:
        """The space of an agent's observations."""
        return self._spaces[agent]


class ArrangedAEC(_Spaces, BaseWrapper):
    """An AEC face, see ``Arrangement``."""

    def observe(self, agent: str) -> Any:
        """See ``Arrangement.observation``."""
        return self.arrangement.observation(self.env.observe(agent))

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """Each agent's info."""
        return {agent: self.arrangement.info(told) for agent, told in self.env.infos.items()}

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """As PettingZoo's ``last``."""
        seen, reward, terminated, truncated, told = self.env.last(observe)
        return self.arrangement.observation(seen), reward, terminated, truncated, self.arrangement.info(told)


class ArrangedParallel(_Spaces, BaseParallelWrapper):
    """A parallel face, see ``Arrangement``."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], ...]:
        """As PettingZoo's ``reset``."""
        return self._arrange(*self.env.reset(seed=seed, options=options))

    def step(self, actions: Any) -> tuple[dict[str, Any], ...]:
        """As PettingZoo's ``step``."""
        seen, *rest, told = self.env.step(actions)
        seen, told = self._arrange(seen, told)
        return seen, *rest, told

    def _arrange(self, seen: dict[str, Any], told: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        how = self.arrangement
        return (
            {agent: how.observation(one) for agent, one in seen.items()},
            {agent: how.info(one) for agent, one in told.items()},
        )
