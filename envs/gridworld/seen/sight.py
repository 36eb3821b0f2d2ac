"""What an agent sees, as rows of numbers from the observer outward; the text observations are built from them.

A row holds what the planes show of a cell, under the same options (window, rotation, hidden features), but not clipped
to 255. -1 means hidden or not applicable::

    ROW COL  cells below and to the right of the observer, in the window
    KIND     0 an agent, 1 + t an object of type t
    HP       hit points
    READY STOCK                         of an object: 1 if its cooldown is over; uses left
    FACING ENERGY FROZEN SHIELD KIN     of an agent: direction in the window, ticks frozen, thousandths of relatedness
    ITEMS +j                            how many of item j it holds

The first row is always the observer. ``Sight`` adds what only the observer knows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....aliases import Player
from ...stepping.jit import kernel
from ..state import AGENT_KIND, COLUMN_STEP, EMPTY, OBJECT_KIND, OUTSIDE, PAD, ROW_STEP, World
from .planes import FIRST_ITEM, TURNED, relatedness, turned

__all__ = [
    "COL",
    "ENERGY",
    "FACING",
    "FROZEN",
    "HP",
    "ITEMS",
    "KIN",
    "KIND",
    "KIN_UNIT",
    "READY",
    "ROW",
    "SHIELD",
    "STOCK",
    "Sight",
    "see",
]

ROW, COL, KIND, HP = range(4)
READY, STOCK = 4, 5
FACING, ENERGY, FROZEN, SHIELD, KIN, ITEMS = range(4, 10)

KIN_UNIT = 1000

_LARGEST = 15 * 15
_OWN = 8


class Sight(NamedTuple):
    """What one agent sees and knows.

    Attributes:
        cells: rows as above; the observer first, then by distance. Empty for the dead.
        edges: number of cells of the map in the window above, below, left and right of the observer.
        last_action: its number; -1 before the first.
        succeeded: whether that action succeeded.
        last_reward: reward of the last tick, after sharing.
        facing: the observer's direction on the map.
        over: whether the episode has reached its last tick.
    """

    cells: list[list[int]]
    edges: list[int]
    last_action: int
    succeeded: bool
    last_reward: float
    facing: int
    over: bool


@kernel
def _agent(state: World, i: int, player: Player, other: Player, row: NDArray[np.int32]) -> None:
    rules, seen = state.rules[i], state.agents[i, other]
    hidden = 0 if other == player else int(rules["hidden"])
    row[KIND] = 0
    row[HP] = -1 if hidden & 2 else int(seen["hp"])
    row[FROZEN] = -1 if hidden & 4 else max(0, int(seen["frozen_until"]) - int(rules["clock"]))
    row[ENERGY] = -1 if hidden & 8 else int(seen["energy"])
    row[FACING] = -1 if hidden & 16 else int(TURNED[turned(state, i, player), seen["facing"]])
    row[SHIELD] = -1 if hidden & 32 else int(seen["shield"])
    row[KIN] = int(np.rint(KIN_UNIT * relatedness(state, i, player, other)))
    for j in range(state.items.shape[2]):
        row[ITEMS + j] = -1 if hidden >> (FIRST_ITEM + j) & 1 else int(state.items[i, other, j])


@kernel
def _object(state: World, i: int, kind: int, which: int, row: NDArray[np.int32]) -> None:
    shown, thing = state.types[i, kind], state.objects[i, which]
    row[KIND] = 1 + kind
    row[HP] = int(thing["hp"]) if shown["plane_hp"] >= 0 else -1
    row[STOCK] = int(thing["stock"]) if shown["plane_stock"] >= 0 and shown["usable"] else -1
    ready = int(state.rules[i]["clock"]) + 1 > int(thing["busy_until"])
    row[READY] = int(ready) if shown["plane_ready"] >= 0 else -1


@kernel
def _look(state: World, i: int, player: Player, own: NDArray[np.int32], cells: NDArray[np.int32]) -> int:
    """Writes the observer's facts to ``own`` [_OWN] and rows to ``cells``; returns the number of rows."""
    rules, me = state.rules[i], state.agents[i, player]
    own[0] = int(me["last_action"])
    own[1] = int(me["succeeded"])
    own[2] = int(rules["clock"] >= rules["max_steps"])
    own[3] = int(me["facing"])
    if not me["alive"]:
        return 0
    high, wide = int(rules["window_height"]) // 2, int(rules["window_width"]) // 2
    up = turned(state, i, player)
    down_row, down_col = -ROW_STEP[up], -COLUMN_STEP[up]
    row, col = int(me["row"]), int(me["col"])
    for side in range(4):  # above, below, left and right in the window, as steps on the map
        y = ROW_STEP[side] * down_row - COLUMN_STEP[side] * down_col
        x = ROW_STEP[side] * down_col + COLUMN_STEP[side] * down_row
        room = int(rules["height"]) - 1 - row if y > 0 else row
        if x != 0:
            room = int(rules["width"]) - 1 - col if x > 0 else col
        own[4 + side] = min(room, high if side < 2 else wide)
    row, col, n = row + PAD, col + PAD, 0
    for far in range(max(high, wide) + 1):
        for r in range(-min(far, high), min(far, high) + 1):
            edge = abs(r) == far
            if not edge and far > wide:
                continue
            c, step = (-min(far, wide), 1) if edge else (-far, 2 * far)
            while c <= min(far, wide):
                y, x = row + r * down_row - c * down_col, col + r * down_col + c * down_row
                kind = int(state.kind[i, y, x])
                if kind != EMPTY and kind != OUTSIDE:
                    which = int(state.which[i, y, x])
                    cells[n, ROW] = r
                    cells[n, COL] = c
                    if kind == AGENT_KIND:
                        _agent(state, i, player, which, cells[n])
                    else:
                        _object(state, i, kind - OBJECT_KIND, which, cells[n])
                    n += 1
                c += step
    return n


def see(state: World, i: int, player: Player) -> Sight:
    """What an agent sees in world i."""
    own = np.empty(_OWN, np.int32)
    cells = np.empty((_LARGEST, ITEMS + state.items.shape[2]), np.int32)
    n = _look(state, i, player, own, cells)
    last_action, succeeded, over, facing, *edges = own.tolist()
    reward = float(state.agents[i, player]["last_reward"])
    return Sight(cells[:n].tolist(), edges, last_action, bool(succeeded), reward, facing, bool(over))
