"""Token observations: the planes without their zeros, as rows (place, plane, value) from the observer outward.

The place is 16 x row + column in the window; cells come by their distance from the centre (the larger of both offsets),
then row by row; in a cell planes ascend. What does not fit is cut off at the far end, so a small budget still shows
what is near. Only cells that hold something cost more than one look at a byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import Player
from ..jit import kernel
from .layout import AGENT_KIND, COLUMN_STEP, EMPTY, OBJECT_KIND, OUTSIDE, PAD, ROW_STEP, World
from .planes import FIRST_ITEM, kin, orientation, turned

__all__ = ["UNUSED", "observe_tokens"]

UNUSED = 255
"""Fills the rows that a token observation doesn't need."""


@kernel
def _put(out: NDArray[np.uint8], n: int, place: int, plane: int, value: int) -> int:
    """One more row, if the value isn't 0 and there is room; returns how many there are."""
    if value <= 0 or n >= out.shape[0]:
        return n
    out[n, 0] = place
    out[n, 1] = plane
    out[n, 2] = min(value, 255)
    return n + 1


@kernel
def _agent(state: World, i: int, player: Player, other: Player, place: int, out: NDArray[np.uint8], n: int) -> int:
    """The rows of an agent's cell."""
    rules, seen = state.rules[i], state.agents[i, other]
    hidden = 0 if other == player else rules["hidden"]
    n = _put(out, n, place, 0, 1)
    if not hidden & 2:
        n = _put(out, n, place, 1, int(seen["hp"]))
    if not hidden & 4:
        n = _put(out, n, place, 2, int(seen["frozen_until"]) - int(rules["clock"]))
    if not hidden & 8:
        n = _put(out, n, place, 3, int(seen["energy"]))
    if not hidden & 16:
        n = _put(out, n, place, 4, int(orientation(state, i, player, other, turned(state, i, player))))
    if not hidden & 32:
        n = _put(out, n, place, 5, int(seen["shield"]))
    for j in range(state.items.shape[2]):
        if not hidden >> (FIRST_ITEM + j) & 1:
            n = _put(out, n, place, FIRST_ITEM + j, int(state.items[i, other, j]))
    if rules["plane_kinship"] >= 0:
        n = _put(out, n, place, int(rules["plane_kinship"]), kin(state, i, player, other))
    return n


@kernel
def _object(state: World, i: int, kind: int, which: int, place: int, out: NDArray[np.uint8], n: int) -> int:
    """The rows of an object's cell."""
    shown, thing = state.types[i, kind], state.objects[i, which]
    n = _put(out, n, place, int(shown["plane"]), 1)
    if shown["plane_hp"] >= 0:
        n = _put(out, n, place, int(shown["plane_hp"]), int(thing["hp"]))
    if not shown["usable"]:
        return n
    if shown["plane_stock"] >= 0:
        n = _put(out, n, place, int(shown["plane_stock"]), int(thing["stock"]))
    if shown["plane_input"] >= 0:
        n = _put(out, n, place, int(shown["plane_input"]), int(shown["first_input"]))
    if shown["plane_output"] >= 0:
        n = _put(out, n, place, int(shown["plane_output"]), int(shown["first_output"]))
    if shown["plane_gain"] >= 0:
        n = _put(out, n, place, int(shown["plane_gain"]), int(shown["energy_gain"]))
    if shown["plane_ready"] >= 0:
        ready = int(state.rules[i]["clock"]) + 1 > int(thing["busy_until"])
        n = _put(out, n, place, int(shown["plane_ready"]), int(ready))
    return n


@kernel
def _everywhere(rules: Any, me: Any, place: int, out: NDArray[np.uint8]) -> int:
    """The rows of the planes that have one value everywhere, told once."""
    n = 0
    if rules["plane_last_action"] >= 0:
        n = _put(out, n, place, int(rules["plane_last_action"]), 1 + int(me["last_action"]))
    if rules["plane_last_reward"] >= 0:
        shown = np.rint(128.0 + 32.0 * float(me["last_reward"]))
        n = _put(out, n, place, int(rules["plane_last_reward"]), int(min(max(shown, 0.0), 255.0)))
    return n


@kernel
def observe_tokens(state: World, i: int, player: Player, out: NDArray[np.uint8]) -> None:
    """[T, 3] uint8 rows (place, plane, value), the rest UNUSED; a dead agent sees nothing."""
    rules, me = state.rules[i], state.agents[i, player]
    high, wide = int(rules["window_height"]) // 2, int(rules["window_width"]) // 2
    up = turned(state, i, player)
    # A step down in the window is (down_row, down_col) on the map, a step to the right (-down_col, down_row).
    down_row, down_col = -ROW_STEP[up], -COLUMN_STEP[up]
    row, col = int(me["row"]) + PAD, int(me["col"]) + PAD
    n = 0
    if me["alive"]:
        n = _everywhere(rules, me, 16 * high + wide, out)
        for far in range(max(high, wide) + 1):
            for r in range(-min(far, high), min(far, high) + 1):
                edge = abs(r) == far  # the whole row belongs to this ring, else its two ends
                if not edge and far > wide:
                    continue
                c, step = (-min(far, wide), 1) if edge else (-far, 2 * far)
                while c <= min(far, wide):
                    y, x = row + r * down_row - c * down_col, col + r * down_col + c * down_row
                    kind = int(state.kind[i, y, x])
                    if kind != EMPTY and kind != OUTSIDE:
                        place, which = 16 * (r + high) + c + wide, int(state.which[i, y, x])
                        if kind == AGENT_KIND:
                            n = _agent(state, i, player, which, place, out, n)
                        else:
                            n = _object(state, i, kind - OBJECT_KIND, which, place, out, n)
                    c += step
            if n >= out.shape[0]:
                break
    out[n:] = UNUSED
