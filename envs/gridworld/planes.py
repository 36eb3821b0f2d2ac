"""What an agent sees, as planes of bytes; and the whole map in the same planes.

A window is scanned eight cells at a time: most of it is empty, and a word of zeros is passed over at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..jit import kernel
from ..words import first_byte, load_word
from .config import Sharing
from .layout import AGENT_KIND, DOWN, EMPTY, LEFT, OBJECT_KIND, OUTSIDE, PAD, RIGHT, UP, World

__all__ = ["FIRST_ITEM", "TURNED", "kin", "observe_planes", "observe_whole", "orientation", "relatedness", "turned"]

NONE, MATRIX, RELATEDNESS = int(Sharing.NONE), int(Sharing.MATRIX), int(Sharing.RELATEDNESS)

TURNED = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 0, 1], [2, 3, 1, 0]], np.uint8)
"""[observer's direction, direction]: what that direction is for who sees its own as up."""

FIRST_ITEM = 6
"""The plane of the first item."""

_LOW, _HIGH, _ONE = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080), np.uint64(1)
_FULL, _BITS = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(8)


@kernel
def turned(world: World, i: int, player: int) -> Any:
    """The direction that is up in the player's window."""
    return np.int64(world.agents[i, player]["facing"]) if world.rules[i]["rotate"] else UP


@kernel
def orientation(world: World, i: int, observer: int, other: int, up: int) -> Any:
    """Where ``other`` looks in a picture whose up is that direction; the observer itself: where it looks on the map."""
    facing = world.agents[i, other]["facing"]
    return facing if observer == other else TURNED[up, facing]


@kernel
def relatedness(world: World, i: int, observer: int, other: int) -> Any:
    """What ``other`` is to the observer, 0 to 1: 1 to itself, R or K, or whether labels are equal."""
    if observer == other:
        return 1.0
    mode = world.rules[i]["kinship"]
    if mode == NONE:
        return 0.0
    if mode == MATRIX or mode == RELATEDNESS:
        return min(max(np.float64(world.related[i, observer, other]), 0.0), 1.0)
    label = world.agents[i, other]["label"]
    return 1.0 if label >= 0 and label == world.agents[i, observer]["label"] else 0.0


@kernel
def kin(world: World, i: int, observer: int, other: int) -> Any:
    """The value of the kinship plane, 0..255."""
    return np.int64(np.rint(255.0 * relatedness(world, i, observer, other)))


@kernel
def paint_agent(
    world: World, i: int, observer: int, other: int, up: int, out: NDArray[np.uint8], at: int, area: int
) -> None:
    """Write the planes of one agent.

    Args:
        world, i: where.
        observer: a slot, or -1: nobody; then nothing is hidden and there is no kinship.
        other: the slot of who is seen.
        up: the direction that is up in the picture.
        out: [C x area] flat planes; they hold zeros.
        at: the cell's number in a plane.
        area: cells of a plane.
    """
    rules, agent = world.rules[i], world.agents[i, other]
    items = world.items.shape[2]
    out[at] = 1
    out[at + area] = min(255, max(0, agent["hp"]))
    out[at + 2 * area] = min(255, max(0, agent["frozen_until"] - rules["clock"]))
    out[at + 3 * area] = min(255, agent["energy"])
    out[at + 4 * area] = orientation(world, i, observer, other, up)
    out[at + 5 * area] = agent["shield"]
    for j in range(items):
        out[at + (FIRST_ITEM + j) * area] = min(255, world.items[i, other, j])
    if rules["hidden"] != 0 and observer >= 0 and observer != other:
        for plane in range(1, FIRST_ITEM + items):
            if (rules["hidden"] >> plane) & 1:
                out[at + plane * area] = 0
    if rules["plane_kinship"] >= 0 and observer >= 0:
        out[at + rules["plane_kinship"] * area] = kin(world, i, observer, other)


@kernel
def paint_object(world: World, i: int, t: int, number: int, out: NDArray[np.uint8], at: int, area: int) -> None:
    """Write the planes of the object of type t in place ``number``; the other arguments are those of ``paint_agent``."""
    kind, thing = world.types[i, t], world.objects[i, number]
    out[at + kind["plane"] * area] = 1
    if kind["plane_hp"] >= 0:
        out[at + kind["plane_hp"] * area] = min(255, thing["hp"])
    if not kind["usable"]:
        return
    if kind["plane_stock"] >= 0:
        out[at + kind["plane_stock"] * area] = min(255, max(0, thing["stock"]))
    if kind["plane_input"] >= 0:
        out[at + kind["plane_input"] * area] = kind["first_input"]
    if kind["plane_output"] >= 0:
        out[at + kind["plane_output"] * area] = kind["first_output"]
    if kind["plane_gain"] >= 0:
        out[at + kind["plane_gain"] * area] = min(255, kind["energy_gain"])
    if kind["plane_ready"] >= 0:
        out[at + kind["plane_ready"] * area] = world.rules[i]["clock"] >= thing["busy_until"]


@kernel
def occupied(word: Any) -> Any:
    """Of eight cells of ``kind``: the highest bit of each byte that is neither EMPTY nor OUTSIDE."""
    return ((word & _LOW) + _LOW) & _HIGH & ~word


@kernel
def _cells(world: World, start: int, part: int, wide: int) -> Any:
    """Cells ``8 * part`` and after of the row of ``wide`` cells that begins at byte ``start``; zeros beyond its end.

    No byte is read that ``kind`` does not have: a row is followed by padding, and of a wide one the last eight are read.
    """
    if part == 0:
        word = load_word(world.kind, start)
        return word if wide >= 8 else word & (_FULL >> (_BITS * np.uint64(8 - wide)))
    return load_word(world.kind, start + wide - 8) >> (_BITS * np.uint64(16 - wide))


@kernel
def observe_planes(world: World, i: int, player: int, out: NDArray[np.uint8]) -> None:
    """Writes the player's window, [C, height, width]; the dead see zeros."""
    flat = out.reshape(-1)
    flat[:] = 0
    rules, agent = world.rules[i], world.agents[i, player]
    if not agent["alive"]:
        return
    up = turned(world, i, player)
    height, width = np.int64(rules["window_height"]), np.int64(rules["window_width"])
    area = height * width
    # A step down and a step right on the map, as steps from cell to cell of the picture.
    down, right, tall, wide = width, 1, height, width
    if up == DOWN:
        down, right = -width, -1
    elif up == LEFT:
        down, right, tall, wide = -1, width, width, height
    elif up == RIGHT:
        down, right, tall, wide = 1, -width, width, height
    stride = world.kind.shape[2]
    top, left = agent["row"] + PAD - tall // 2, agent["col"] + PAD - wide // 2
    first = height // 2 * width + width // 2 - tall // 2 * down - wide // 2 * right
    for r in range(tall):
        start = (i * world.kind.shape[1] + top + r) * stride + left
        for part in range(1 if wide <= 8 else 2):
            found = occupied(_cells(world, start, part, wide))
            while found != 0:
                c = 8 * part + first_byte(found)
                found &= found - _ONE
                kind, number = world.kind[i, top + r, left + c], world.which[i, top + r, left + c]
                at = first + r * down + c * right
                if kind == AGENT_KIND:
                    paint_agent(world, i, player, number, up, flat, at, area)
                else:
                    paint_object(world, i, kind - OBJECT_KIND, number, flat, at, area)
    if rules["plane_last_action"] >= 0:
        out[rules["plane_last_action"], :, :] = 1 + agent["last_action"]
    if rules["plane_last_reward"] >= 0:
        shade = np.rint(128.0 + 32.0 * np.float64(agent["last_reward"]))
        out[rules["plane_last_reward"], :, :] = np.uint8(min(max(shade, 0.0), 255.0))


@kernel
def observe_whole(world: World, i: int, out: NDArray[np.uint8]) -> None:
    """Writes the whole map, [C, H, W]; nothing of agents is hidden, and planes that belong to an observer are 0."""
    flat = out.reshape(-1)
    flat[:] = 0
    height, width = out.shape[1], out.shape[2]
    for row in range(height):
        for column in range(width):
            kind = world.kind[i, row + PAD, column + PAD]
            if kind == EMPTY or kind == OUTSIDE:
                continue
            number, at = world.which[i, row + PAD, column + PAD], row * width + column
            if kind == AGENT_KIND:
                paint_agent(world, i, -1, number, UP, flat, at, height * width)
            else:
                paint_object(world, i, kind - OBJECT_KIND, number, flat, at, height * width)
