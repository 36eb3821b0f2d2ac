"""Gymnasium spaces of a game's observations, actions and state."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space, Text, Tuple

from ..core import Game
from .verbs import Verbs

__all__ = ["action_space", "observation_space", "state_space", "text_spaces"]


def observation_space(game: Game) -> Dict:
    """One player's observation and mask: the mask is one array, or for games with verbs one per part of a pair."""
    info = game.info
    box = Box(
        info.observation_low, info.observation_high, info.observation_shape, np.dtype(info.observation_dtype).type
    )
    return Dict({"observation": box, "action_mask": _mask_space(game)})


def _mask_space(game: Game) -> Space[Any]:
    if game.verbs:
        verbs, arguments = Verbs(game).shape
        return Tuple((Box(0, 1, (verbs,), np.int8), Box(0, 1, (arguments,), np.int8)))
    return Box(0, 1, (game.info.num_actions,), np.int8)


def action_space(game: Game) -> Space[Any]:
    """One player's actions: numbers, or pairs (verb, argument)."""
    return MultiDiscrete(list(Verbs(game).shape)) if game.verbs else Discrete(game.info.num_actions)


def text_spaces() -> tuple[Text, Text]:
    """Observations and actions as strings."""
    return Text(8192, charset=string.printable), Text(256, charset=string.printable)


def state_space(game: Game) -> Dict | None:
    """The space of ``state()``; None if the game does not define it."""
    whole = game.whole
    if whole is None:
        return None
    return Dict(
        {
            name: Box(whole.low[name], whole.high[name], tuple(shape), np.dtype(whole.dtype[name]).type)
            for name, shape in whole.shape.items()
        }
    )
