"""The mask: which actions would succeed if the agent acted first in the next tick, before its events."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....aliases import Mask
from ...stepping.jit import entry
from ..state import ATTACK, BACK, FORWARD, GIFT, NOOP, ROTATE, SHIELD, SWAP, USE, World
from .may import attackable, attacked, may_attack, may_gift, may_move, may_rotate, may_shield, may_swap, may_use, steps

__all__ = ["alive", "legal"]


@entry
def alive(world: World, i: Any, player: Any) -> bool:
    """Whether the slot ``player`` holds a living agent."""
    return bool(world.agents[i, player]["alive"])


@entry
def legal(world: World, i: Any, player: Any, mask: Mask) -> None:
    """Writes the whole mask [A]: all zeros for the dead and after the last tick; only noop for the frozen."""
    mask[:] = 0
    rules, agent = world.rules[i], world.agents[i, player]
    now = np.int64(rules["clock"]) + 1
    if not agent["alive"] or now > rules["max_steps"]:
        return
    mask[NOOP] = 1
    if now <= agent["frozen_until"]:
        return
    here, ahead, left = steps(world, i, player)
    mask[FORWARD] = may_move(world, i, player, here + ahead)
    mask[BACK] = may_move(world, i, player, here - ahead)
    turn = may_rotate(world, i, player)
    for k in range(4):
        mask[ROTATE + k] = turn
    mask[USE] = may_use(world, i, player, here + ahead, now)
    if may_attack(world, i, player):
        for k in range(9):
            mask[ATTACK + k] = attackable(world, i, attacked(here, ahead, left, k))
    mask[SHIELD] = may_shield(world, i, player)
    mask[SWAP] = may_swap(world, i, player, here + ahead, now)
    for j in range(world.items.shape[2]):
        mask[GIFT + j] = may_gift(world, i, player, here + ahead, j)
