"""Plane observations: what an agent sees, as planes of bytes.

A window is scanned a row at a time: most of it is empty, and an empty cell costs only a bit. Writing an object does not
branch on its type: a feature that the type lacks is written to the presence plane, which is written last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stepping.jit import entry, part
from ...stepping.machine import first_bit, get, positive_bytes, put, zero
from ..config import Sharing
from ..state import AGENT_KIND, DOWN, LEFT, OBJECT_KIND, PAD, RIGHT, UP, World

__all__ = ["FIRST_ITEM", "TURNED", "kin", "observe_planes", "orientation", "relatedness", "turned"]

NONE, MATRIX, RELATEDNESS = int(Sharing.NONE), int(Sharing.MATRIX), int(Sharing.RELATEDNESS)

TURNED = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 0, 1], [2, 3, 1, 0]], np.uint8)
"""[up, direction] -> the direction in a window in which the map's direction ``up`` points up."""

FIRST_ITEM = 6
"""The plane of the first item."""

_INDEX = 2**63 - 1  # ``k & _INDEX`` is k, and tells the compiler that the index is not negative
_ONE = np.uint64(1)


@part
def turned(world: World, i: Any, player: Any) -> Any:
    """The map's direction that is up in the player's window."""
    return np.int64(world.agents[i, player]["facing"]) if world.rules[i]["rotate"] else UP


@part
def orientation(world: World, i: Any, observer: Any, other: Any, up: Any) -> Any:
    """Where ``other`` looks in a window in which ``up`` is up; for the observer itself, where it looks on the map."""
    facing = world.agents[i, other]["facing"]
    return facing if observer == other else TURNED[up, facing]


@entry
def relatedness(world: World, i: Any, observer: Any, other: Any) -> Any:
    """How related ``other`` is to the observer, 0 to 1: 1 to itself; else R or K, or 1 if labels are equal."""
    if observer == other:
        return 1.0
    mode = world.rules[i]["kinship"]
    if mode == NONE:
        return 0.0
    if mode in (MATRIX, RELATEDNESS):
        return min(max(np.float64(world.related[i, observer, other]), 0.0), 1.0)
    label = world.agents[i, other]["label"]
    return 1.0 if label >= 0 and label == world.agents[i, observer]["label"] else 0.0


@part
def kin(world: World, i: Any, observer: Any, other: Any) -> Any:
    """The value of the kinship plane, 0..255."""
    return np.int64(np.rint(255.0 * relatedness(world, i, observer, other)))


@part
def _paint_agent(
    world: World, i: Any, observer: Any, other: Any, up: Any, out: NDArray[np.uint8], at: Any, area: Any
) -> None:
    """Writes the planes of one agent to cell ``at`` of a zeroed window of ``area`` cells."""
    rules, agent = world.rules[i], world.agents[i, other & _INDEX]
    items = world.items.shape[2]
    put(out, at, 1)
    put(out, at + area, min(255, max(0, agent["hp"])))
    put(out, at + 2 * area, min(255, max(0, agent["frozen_until"] - rules["clock"])))
    put(out, at + 3 * area, min(255, agent["energy"]))
    put(out, at + 4 * area, orientation(world, i, observer, other, up))
    put(out, at + 5 * area, agent["shield"])
    for j in range(items):
        put(out, at + (FIRST_ITEM + j) * area, min(255, world.items[i, other & _INDEX, j]))
    if rules["hidden"] != 0 and observer != other:
        for plane in range(1, FIRST_ITEM + items):
            if (rules["hidden"] >> plane) & 1:
                put(out, at + plane * area, 0)
    if rules["plane_kinship"] >= 0:
        put(out, at + rules["plane_kinship"] * area, kin(world, i, observer, other))


@part
def _paint_object(kind: Any, thing: Any, clock: Any, out: NDArray[np.uint8], at: Any) -> None:
    """Writes the planes of one object, from its TYPE and OBJECT, to cell ``at``."""
    put(out, at + kind["offset_hp"], min(255, thing["hp"]))
    if kind["usable"]:
        put(out, at + kind["offset_stock"], min(255, max(0, thing["stock"])))
        put(out, at + kind["offset_input"], kind["first_input"])
        put(out, at + kind["offset_output"], kind["first_output"])
        put(out, at + kind["offset_gain"], min(255, kind["energy_gain"]))
        put(out, at + kind["offset_ready"], clock >= thing["busy_until"])
    put(out, at + kind["offset"], 1)


@part
def occupied(world: World, start: Any, wide: Any) -> Any:
    """Which of the ``wide`` cells from byte ``start`` of ``kind`` are not empty: bit k is cell k."""
    first = min(start, world.kind.size - 16)
    return (positive_bytes(world.kind, first) >> np.uint64(start - first)) & ((_ONE << np.uint64(wide)) - _ONE)


@part
def _everywhere(out: NDArray[np.uint8], first: Any, area: Any, value: Any) -> None:
    """Fills a plane with one value."""
    for k in range(area):
        put(out, first + k, value)


@entry
def observe_planes(world: World, i: Any, player: Any, out: NDArray[np.uint8]) -> None:
    """Writes the player's window [C, height, width]; the dead see zeros."""
    zero(out)
    rules, agent = world.rules[i], world.agents[i, player]
    if not agent["alive"]:
        return
    up = turned(world, i, player)
    height: Any = np.int64(rules["window_height"])
    width: Any = np.int64(rules["window_width"])
    area = height * width
    # A step down and a step right on the map, as index steps in the window.
    down, right, tall, wide = width, 1, height, width
    if up == DOWN:
        down, right = -width, -1
    elif up == LEFT:
        down, right, tall, wide = -1, width, width, height
    elif up == RIGHT:
        down, right, tall, wide = 1, -width, width, height
    stride = world.kind.shape[2]
    top, left = agent["row"] + PAD - tall // 2, agent["col"] + PAD - wide // 2
    start = (i * world.kind.shape[1] + top) * stride + left
    first = height // 2 * width + width // 2 - tall // 2 * down - wide // 2 * right
    types, objects, clock = world.types[i], world.objects[i], rules["clock"]
    for r in range(0, tall, 4):  # four rows of at most 15 cells fit into 64 bits
        found = np.uint64(0)
        for k in range(min(4, tall - r)):
            found |= occupied(world, start + (r + k) * stride, wide) << np.uint64(16 * k)
        while found != 0:
            bit = first_bit(found)
            found &= found - _ONE
            row, column = r + (bit >> 4), bit & 15
            cell = start + row * stride + column
            kind, number = np.int64(get(world.kind, cell)), np.int64(get(world.which, cell))
            at = first + row * down + column * right
            if kind == AGENT_KIND:
                _paint_agent(world, i, player, number, up, out, at, area)
            else:
                _paint_object(types[(kind - OBJECT_KIND) & _INDEX], objects[number & _INDEX], clock, out, at)
    if rules["plane_last_action"] >= 0:
        _everywhere(out, rules["plane_last_action"] * area, area, 1 + agent["last_action"])
    if rules["plane_last_reward"] >= 0:
        shade = np.rint(128.0 + 32.0 * np.float64(agent["last_reward"]))
        _everywhere(out, rules["plane_last_reward"] * area, area, np.int64(min(max(shade, 0.0), 255.0)))
