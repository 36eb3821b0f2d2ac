"""Token observations: the planes without their zeros, as rows (place, plane, value) from the observer outward.

The place is 16 x row + column in the window. Cells are in order of distance from the centre (the larger of both
offsets), then row by row; within a cell, planes ascend. Rows that do not fit are cut off at the far end, so a small
budget still shows what is near. An empty cell costs one bit of a scan.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....aliases import Player
from ...stepping.jit import entry, part
from ...stepping.machine import first_bit, put
from ..state import AGENT_KIND, COLUMN_STEP, LEFT, OBJECT_KIND, PAD, ROW_STEP, World
from .planes import FIRST_ITEM, kin, occupied, orientation, turned

__all__ = ["UNUSED", "observe_tokens"]

UNUSED = 255
"""Fills unused rows of a token observation."""

_ORDER = sorted(
    ((r, c) for r in range(-PAD, PAD + 1) for c in range(-PAD, PAD + 1)),
    key=lambda cell: (max(abs(cell[0]), abs(cell[1])), cell),
)
CELL = np.array([16 * (r + PAD) + c + PAD for r, c in _ORDER], np.uint8)
"""[225] 16 x row + column of the widest window, by distance; a smaller window keeps this order of its cells."""

RANK = np.zeros((2 * PAD + 1, 2 * PAD + 1), np.uint8)
"""[row, column] -> index in CELL."""
RANK[CELL >> 4, CELL & 15] = np.arange(len(CELL))

_ONE = np.uint64(1)


@part
def _add(out: NDArray[np.uint8], n: int, place: int, plane: int, value: Any) -> Any:
    """Writes row n, if there is room; returns the number of rows that count. A row of value 0 does not."""
    if 3 * n >= out.size:
        return n
    put(out, 3 * n, place)
    put(out, 3 * n + 1, plane)
    put(out, 3 * n + 2, min(value, 255))
    return n + (value > 0)


@part
def _agent(world: World, i: int, player: Player, other: Any, place: Any, out: NDArray[np.uint8], n: Any) -> Any:
    """Writes the rows of an agent's cell; returns the number of rows so far."""
    rules, seen = world.rules[i], world.agents[i, other]
    hidden = 0 if other == player else np.int64(rules["hidden"])
    n = _add(out, n, place, 0, 1)
    if not hidden & 2:
        n = _add(out, n, place, 1, np.int64(seen["hp"]))
    if not hidden & 4:
        n = _add(out, n, place, 2, np.int64(seen["frozen_until"]) - rules["clock"])
    if not hidden & 8:
        n = _add(out, n, place, 3, np.int64(seen["energy"]))
    if not hidden & 16:
        n = _add(out, n, place, 4, np.int64(orientation(world, i, player, other, turned(world, i, player))))
    if not hidden & 32:
        n = _add(out, n, place, 5, np.int64(seen["shield"]))
    for j in range(world.items.shape[2]):
        if not hidden >> (FIRST_ITEM + j) & 1:
            n = _add(out, n, place, FIRST_ITEM + j, np.int64(world.items[i, other, j]))
    if rules["plane_kinship"] >= 0:
        n = _add(out, n, place, rules["plane_kinship"], kin(world, i, player, other))
    return n


@part
def _object(world: World, i: int, t: Any, number: Any, place: Any, out: NDArray[np.uint8], n: Any) -> Any:
    """Writes the rows of the cell of an object of type t; returns the number of rows so far."""
    kind, thing = world.types[i, t], world.objects[i, number]
    n = _add(out, n, place, kind["plane"], 1)
    if kind["plane_hp"] >= 0:
        n = _add(out, n, place, kind["plane_hp"], np.int64(thing["hp"]))
    if kind["plane_stock"] >= 0:
        n = _add(out, n, place, kind["plane_stock"], np.int64(thing["stock"]))
    if kind["plane_input"] >= 0:
        n = _add(out, n, place, kind["plane_input"], np.int64(kind["first_input"]))
    if kind["plane_output"] >= 0:
        n = _add(out, n, place, kind["plane_output"], np.int64(kind["first_output"]))
    if kind["plane_gain"] >= 0:
        n = _add(out, n, place, kind["plane_gain"], np.int64(kind["energy_gain"]))
    if kind["plane_ready"] >= 0:
        n = _add(out, n, place, kind["plane_ready"], np.int64(world.rules[i]["clock"] >= thing["busy_until"]))
    return n


@part
def _everywhere(world: World, i: int, player: Player, place: Any, out: NDArray[np.uint8]) -> Any:
    """Writes one row for each plane that has one value everywhere; returns the number of rows."""
    rules, me, n = world.rules[i], world.agents[i, player], 0
    if rules["plane_last_action"] >= 0:
        n = _add(out, n, place, rules["plane_last_action"], 1 + np.int64(me["last_action"]))
    if rules["plane_last_reward"] >= 0:
        shade = np.rint(128.0 + 32.0 * np.float64(me["last_reward"]))
        n = _add(out, n, place, rules["plane_last_reward"], np.int64(min(max(shade, 0.0), 255.0)))
    return n


@part
def _reach(rules: Any) -> Any:
    """Rows and columns from the window's centre to its edges."""
    return np.int64(rules["window_height"]) // 2, np.int64(rules["window_width"]) // 2


@part
def _cells(world: World, i: int, player: Player, bits: Any, first: int, out: NDArray[np.uint8], n: Any) -> Any:
    """Writes the rows of the cells whose bits are set: bit b is the cell of rank ``first + b``."""
    rules, me = world.rules[i], world.agents[i, player]
    high, wide = _reach(rules)
    up = turned(world, i, player)
    # A step down in the window is (down_row, down_col) on the map, a step to the right (-down_col, down_row).
    down_row, down_col = -ROW_STEP[up], -COLUMN_STEP[up]
    while bits != 0 and 3 * n < out.size:
        cell = np.int64(CELL[first + first_bit(bits)])
        bits &= bits - _ONE
        r, c = (cell >> 4) - PAD, (cell & 15) - PAD
        row = me["row"] + PAD + r * down_row - c * down_col
        column = me["col"] + PAD + r * down_col + c * down_row
        kind, number = np.int64(world.kind[i, row, column]), np.int64(world.which[i, row, column])
        place = 16 * (r + high) + c + wide
        if kind == AGENT_KIND:
            n = _agent(world, i, player, number, place, out, n)
        else:
            n = _object(world, i, kind - OBJECT_KIND, number, place, out, n)
    return n


@entry
def observe_tokens(world: World, i: int, player: Player, out: NDArray[np.uint8]) -> None:
    """Writes [T, 3] rows (place, plane, value) and fills the rest with UNUSED; the dead see nothing."""
    rules, me = world.rules[i], world.agents[i, player]
    n = 0
    if me["alive"]:
        high, wide = _reach(rules)
        n = _everywhere(world, i, player, 16 * high + wide, out)
        up = turned(world, i, player)
        if up >= LEFT:
            high, wide = wide, high
        tall = 2 * high + 1
        # A step down on the map is (down_row, down_col) in the window.
        down_row, down_col = -ROW_STEP[up], COLUMN_STEP[up]
        rank0 = rank1 = rank2 = rank3 = np.uint64(0)
        stride = world.kind.shape[2]
        start = (i * world.kind.shape[1] + me["row"] + PAD - high) * stride + me["col"] + PAD - wide
        for top in range(0, tall, 4):  # four rows of at most 15 cells fit into 64 bits
            found = np.uint64(0)
            for k in range(min(4, tall - top)):
                found |= occupied(world, start + (top + k) * stride, 2 * wide + 1) << np.uint64(16 * k)
            while found != 0:
                cell = first_bit(found)
                found &= found - _ONE
                r, c = top + (cell >> 4) - high, (cell & 15) - wide
                rank = np.int64(RANK[r * down_row - c * down_col + PAD, r * down_col + c * down_row + PAD])
                bit, word = _ONE << np.uint64(rank & 63), rank >> 6
                rank0 |= bit * np.uint64(word == 0)
                rank1 |= bit * np.uint64(word == 1)
                rank2 |= bit * np.uint64(word == 2)
                rank3 |= bit * np.uint64(word == 3)
        n = _cells(world, i, player, rank0, 0, out, n)
        n = _cells(world, i, player, rank1, 64, out, n)
        n = _cells(world, i, player, rank2, 128, out, n)
        n = _cells(world, i, player, rank3, 192, out, n)
    for k in range(3 * n, out.size):
        put(out, k, UNUSED)
