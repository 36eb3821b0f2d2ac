"""Whether an action would succeed: the conditions that the rules and the masks share.

Every kernel here asks about one verb of the agent in slot s of world i, which is alive and not frozen, in tick
``now``. None of them changes anything. Numbers come as int64, so that each is compiled once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import part
from .layout import AGENT_KIND, COLUMN_STEP, EMPTY, OBJECT_KIND, OUTSIDE, PAD, ROW_STEP, World

__all__ = ["may_attack", "may_gift", "may_loot", "may_move", "may_rotate", "may_shield", "may_swap", "may_use", "place"]

LEFT_OF = np.array([2, 3, 1, 0], np.int64)
"""Direction -> the one to the left of who looks that way."""


@part
def place(world: World, i: int, s: int, ahead: int, left: int) -> Any:
    """Where ``kind`` and ``which`` have the cell so many cells ahead and to the left: (row, column)."""
    agent = world.agents[i, s]
    facing = np.int64(agent["facing"])
    side = LEFT_OF[facing]
    row = agent["row"] + PAD + ahead * ROW_STEP[facing] + left * ROW_STEP[side]
    column = agent["col"] + PAD + ahead * COLUMN_STEP[facing] + left * COLUMN_STEP[side]
    return row, column


@part
def may_move(world: World, i: int, s: int, way: int) -> bool:
    """Forward (way 1) or back (-1)."""
    row, column = place(world, i, s, way, 0)
    return world.kind[i, row, column] == EMPTY and world.agents[i, s]["energy"] >= world.rules[i]["move_cost"]


@part
def may_rotate(world: World, i: int, s: int) -> bool:
    """To any direction."""
    return bool(world.agents[i, s]["energy"] >= world.rules[i]["rotate_cost"])


@part
def may_loot(world: World, i: int, s: int, target: int) -> bool:
    """Whether s has room for anything that the target holds."""
    limit = world.agents[i, s]["max_items"]
    found = False
    for j in range(world.items.shape[2]):
        found |= world.items[i, target, j] > 0 and world.items[i, s, j] < limit
    return found


@part
def _gains(world: World, i: int, s: int, t: int, energy: int) -> bool:
    """Whether a use of type t would give anything to s, which then has so much energy left."""
    agent, kind = world.agents[i, s], world.types[i, t]
    if kind["reward"] != 0 or (kind["energy_gain"] > 0 and energy < agent["max_energy"]):
        return True
    for j in range(world.items.shape[2]):
        left = world.items[i, s, j] - world.recipes[i, t, 0, j]
        if world.recipes[i, t, 1, j] > 0 and left < agent["max_items"]:
            return True
    return False


@part
def may_use(world: World, i: int, s: int, now: int) -> bool:
    """The object ahead; or, where looting is a use, the frozen agent ahead."""
    row, column = place(world, i, s, 1, 0)
    found = world.kind[i, row, column]
    if not EMPTY < found < OUTSIDE:
        return False
    rules, energy = world.rules[i], world.agents[i, s]["energy"]
    other = np.int64(world.which[i, row, column])
    if found == AGENT_KIND:
        if not rules["loot_by_use"] or energy < rules["use_cost"] or now > world.agents[i, other]["frozen_until"]:
            return False
        return may_loot(world, i, s, other)
    t = np.int64(found) - OBJECT_KIND
    kind = world.types[i, t]
    if not kind["usable"] or now <= world.objects[i, other]["busy_until"] or world.objects[i, other]["stock"] == 0:
        return False
    left = np.int64(energy) - rules["use_cost"] - kind["energy_cost"]
    if left < 0:
        return False
    for j in range(world.items.shape[2]):
        if world.items[i, s, j] < world.recipes[i, t, 0, j]:
            return False
    return _gains(world, i, s, t, left)


@part
def may_attack(world: World, i: int, s: int, k: int) -> bool:
    """Attack k, 1..9."""
    rules = world.rules[i]
    if not rules["attack"] or world.agents[i, s]["energy"] < rules["attack_cost"]:
        return False
    row, column = place(world, i, s, 1 + (k - 1) // 3, 1 - (k - 1) % 3)
    found = world.kind[i, row, column]
    if found == AGENT_KIND:
        return True
    return bool(EMPTY < found < OUTSIDE and world.types[i, found - OBJECT_KIND]["hp"] > 0)


@part
def may_shield(world: World, i: int, s: int) -> bool:
    """On or off."""
    rules = world.rules[i]
    return bool(rules["shield"] and world.agents[i, s]["energy"] >= rules["shield_cost"])


@part
def may_swap(world: World, i: int, s: int, now: int) -> bool:
    """With the frozen agent ahead."""
    rules = world.rules[i]
    if not rules["swap"] or world.agents[i, s]["energy"] < rules["swap_cost"]:
        return False
    row, column = place(world, i, s, 1, 0)
    if world.kind[i, row, column] != AGENT_KIND:
        return False
    return bool(now <= world.agents[i, world.which[i, row, column]]["frozen_until"])


@part
def may_gift(world: World, i: int, s: int, j: int) -> bool:
    """Item j to the agent ahead."""
    rules = world.rules[i]
    if not rules["gift"] or world.agents[i, s]["energy"] < rules["gift_cost"] or world.items[i, s, j] <= 0:
        return False
    row, column = place(world, i, s, 1, 0)
    if world.kind[i, row, column] != AGENT_KIND:
        return False
    other = np.int64(world.which[i, row, column])
    return bool(world.items[i, other, j] < world.agents[i, other]["max_items"])
