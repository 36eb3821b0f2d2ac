"""How an observation is arranged: flat, as the game has it, channels first or last, or with its mask."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space
from numpy.typing import NDArray

from ...errors import UsageError
from ..answers import known_name
from ..core import Game
from .spaces import observation_space

__all__ = ["LAYOUTS", "Layout"]

LAYOUTS = ("flat", "native", "channels_first", "channels_last", "dict")


class Layout:
    """One of ``LAYOUTS`` for a game.

    ``flat``: [D] float32. ``native``: [...] the game's own array: channels last for boards, first for worlds.
    ``channels_first`` and ``channels_last``: [C, H, W] and [H, W, C], for observations of three axes. ``dict``: the
    native array and the mask, ``{"observation", "action_mask"}``.

    Args:
        game: the game.
        name: of the layout.

    Raises:
        UnknownName: no such layout.
        UsageError: the observation has no channels to move.
    """

    def __init__(self, game: Game, name: str) -> None:
        known_name("layout", name, LAYOUTS)
        self.name = name
        info, shape = game.info, game.info.observation_shape
        if name.startswith("channels_") and len(shape) != 3:
            raise UsageError(
                f"layout={name!r}: an observation of {info.id} has shape {shape}, without channels to move. Choose "
                "'flat', 'native' or 'dict'."
            )
        has = "channels_first" if info.is_world else "channels_last"
        self._move = (-1, -3) if name == "channels_first" else (-3, -1)
        self._moves = name.startswith("channels_") and name != has
        example = self.of(np.zeros(shape, info.observation_dtype), None)
        box = Box(info.observation_low, info.observation_high, example.shape, example.dtype.type)
        self.space: Space[Any] = observation_space(game) if name == "dict" else box

    def of(self, seen: NDArray[Any], mask: Any, rows: int = 0) -> Any:
        """New arrays in this layout; ``rows``: 1 if the observations have an axis of rows in front."""
        if self.name == "dict" and mask is not None:
            return {"observation": seen.copy(), "action_mask": mask.copy()}
        if self.name == "flat":
            return seen.reshape(*seen.shape[:rows], -1).astype(np.float32)
        return np.moveaxis(seen, *self._move).copy() if self._moves else seen.copy()
