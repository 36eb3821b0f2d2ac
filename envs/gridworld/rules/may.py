"""Whether an action would succeed: the conditions that the dynamics and the masks share.

Each ``may_`` kernel tests one verb of the agent in slot s of world i, which is alive and not frozen, in tick ``now``.
None of them changes anything. Integers are int64, so that each kernel is compiled once. A cell is a flat index into
``kind`` and ``which``, which saves the arithmetic of three indices. The caller calls ``steps`` once to find the cells
ahead; ``there`` is the cell that the verb acts on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...stepping.jit import part
from ...stepping.machine import get
from ..state import AGENT_KIND, DOWN, EMPTY, LEFT, OBJECT_KIND, OUTSIDE, PAD, UP, World

__all__ = [
    "attackable",
    "attacked",
    "cell",
    "may_attack",
    "may_gift",
    "may_loot",
    "may_move",
    "may_rotate",
    "may_shield",
    "may_swap",
    "may_use",
    "steps",
]


@part
def cell(world: World, i: Any, row: Any, column: Any) -> Any:
    """The flat index of a cell of the map."""
    return (i * world.kind.shape[1] + row + PAD) * world.kind.shape[2] + column + PAD


@part
def steps(world: World, i: Any, s: Any) -> Any:
    """The flat index of the agent's cell, and the steps from it to the cell ahead and to the cell on its left."""
    agent, below = world.agents[i, s], world.kind.shape[2]
    here, facing = cell(world, i, np.int64(agent["row"]), np.int64(agent["col"])), agent["facing"]
    if facing == UP:
        return here, -below, -1
    if facing == DOWN:
        return here, below, 1
    if facing == LEFT:
        return here, -1, below
    return here, 1, -below


@part
def may_move(world: World, i: Any, s: Any, there: Any) -> bool:
    """Whether s can move to the cell ``there``."""
    free = get(world.kind, there) == EMPTY
    return bool(free and world.agents[i, s]["energy"] >= world.rules[i]["move_cost"])


@part
def may_rotate(world: World, i: Any, s: Any) -> bool:
    """Whether s can turn; the direction does not matter."""
    return bool(world.agents[i, s]["energy"] >= world.rules[i]["rotate_cost"])


@part
def may_loot(world: World, i: Any, s: Any, target: Any) -> bool:
    """Whether s has room for anything that the target holds."""
    limit = world.agents[i, s]["max_items"]
    found = False
    for j in range(world.items.shape[2]):
        found |= world.items[i, target, j] > 0 and world.items[i, s, j] < limit
    return found


@part
def _gains(world: World, i: Any, s: Any, t: Any, energy: Any) -> bool:
    """Whether a use of type t would give s anything; ``energy`` is what s has left after paying for it."""
    agent, kind = world.agents[i, s], world.types[i, t]
    if kind["reward"] != 0 or (kind["energy_gain"] > 0 and energy < agent["max_energy"]):
        return True
    for j in range(world.items.shape[2]):
        left = world.items[i, s, j] - world.recipes[i, t, 0, j]
        if world.recipes[i, t, 1, j] > 0 and left < agent["max_items"]:
            return True
    return False


@part
def may_use(world: World, i: Any, s: Any, there: Any, now: Any) -> bool:
    """Whether s can use the object there, or loot the frozen agent there if ``loot_by_use``."""
    found = np.int64(get(world.kind, there))
    if not EMPTY < found < OUTSIDE:
        return False
    rules, energy = world.rules[i], np.int64(world.agents[i, s]["energy"])
    other = np.int64(get(world.which, there))
    if found == AGENT_KIND:
        if not rules["loot_by_use"] or energy < rules["use_cost"] or now > world.agents[i, other]["frozen_until"]:
            return False
        return may_loot(world, i, s, other)
    t = found - OBJECT_KIND
    kind, thing = world.types[i, t], world.objects[i, other]
    if not kind["usable"] or now <= thing["busy_until"] or thing["stock"] == 0:
        return False
    left = energy - rules["use_cost"] - kind["energy_cost"]
    if left < 0:
        return False
    for j in range(world.items.shape[2]):
        if world.items[i, s, j] < world.recipes[i, t, 0, j]:
            return False
    return _gains(world, i, s, t, left)


@part
def attacked(here: Any, ahead: Any, left: Any, k: Any) -> Any:
    """The cell that attack k, 0..8, hits in the 3 x 3 block ahead: nearest row first, each from left to right."""
    return here + (1 + k // 3) * ahead + (1 - k % 3) * left


@part
def may_attack(world: World, i: Any, s: Any) -> bool:
    """Whether s can attack at all; the cell must be ``attackable`` too."""
    rules = world.rules[i]
    return bool(rules["attack"] and world.agents[i, s]["energy"] >= rules["attack_cost"])


@part
def attackable(world: World, i: Any, target: Any) -> bool:
    """Whether the cell holds an agent, or an object of a type that has hit points."""
    found = np.int64(get(world.kind, target))
    if found <= AGENT_KIND or found == OUTSIDE:
        return bool(found == AGENT_KIND)
    return bool(world.types[i, found - OBJECT_KIND]["hp"] > 0)


@part
def may_shield(world: World, i: Any, s: Any) -> bool:
    """Whether s can turn its shield on or off."""
    rules = world.rules[i]
    return bool(rules["shield"] and world.agents[i, s]["energy"] >= rules["shield_cost"])


@part
def may_swap(world: World, i: Any, s: Any, there: Any, now: Any) -> bool:
    """Whether s can swap places with a frozen agent there."""
    rules = world.rules[i]
    if get(world.kind, there) != AGENT_KIND:
        return False
    if not rules["swap"] or world.agents[i, s]["energy"] < rules["swap_cost"]:
        return False
    return bool(now <= world.agents[i, np.int64(get(world.which, there))]["frozen_until"])


@part
def may_gift(world: World, i: Any, s: Any, there: Any, j: Any) -> bool:
    """Whether s can give one item j to the agent there."""
    rules = world.rules[i]
    if get(world.kind, there) != AGENT_KIND:
        return False
    if not rules["gift"] or world.agents[i, s]["energy"] < rules["gift_cost"] or world.items[i, s, j] <= 0:
        return False
    other = np.int64(get(world.which, there))
    return bool(world.items[i, other, j] < world.agents[i, other]["max_items"])
