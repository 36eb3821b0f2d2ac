"""Terrains that place things as well: at a distance from the centre, and mirrored.

They write agents and objects onto the ground. What they place are the counts of region 0, which has no cells, so that
nobody else places them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...stepping.jit import kernel
from ..state import AGENT_KIND, EMPTY, OBJECT_KIND
from .ground import Ground, Rules, Work, chance, i64

__all__ = ["build_mean_distance", "build_mirror", "image"]

Counts = NDArray[np.int16]
"""[K + 1] how many of each type of object, and how many agents (last)."""


@kernel
def build_mean_distance(ground: Ground, rules: Rules, counts: Counts) -> None:
    """Agents near the centre, and objects around it: each draws its distance, and then a free cell of that distance.

    Distances are steps on an empty map. Where no cell of a distance is free, the next one that has some is taken.
    Options: a mean distance, b half of its range, c the farthest start of an agent.
    """
    types = len(counts) - 1
    for step in range(types + 1):
        t = (step + types) % (types + 1)  # agents first, so that they get their places
        least, ways = i64(0), i64(rules["terrain_c"]) + 1
        if t < types:
            least = i64(rules["terrain_a"]) - i64(rules["terrain_b"])
            ways = 2 * i64(rules["terrain_b"]) + 1
        for _ in range(counts[t]):
            wanted = least + chance(rules, ways)
            value = AGENT_KIND if t == types else OBJECT_KIND + t
            for off in range(2 * (ground.shape[0] + ground.shape[1])):
                distance = wanted - off // 2 if off % 2 == 0 else wanted + off // 2 + 1
                if distance >= 0 and _put_at(ground, rules, distance, value):
                    break


@kernel
def _put_at(ground: Ground, rules: Rules, distance: int, value: int) -> bool:
    """Puts something into a random free cell of a distance from the centre. False: there is none."""
    free = 0
    chosen = -1
    for look in range(2):  # count the free cells, then find the one that was drawn
        for k in range(max(1, 4 * distance)):
            # The 4 x distance cells that are so many steps away, clockwise from the top.
            j = k % max(1, distance)
            y, x = j - distance, j
            for _ in range(k // max(1, distance)):
                y, x = x, -y
            row, col = (ground.shape[0] - 1) // 2 + y, (ground.shape[1] - 1) // 2 + x
            if 0 <= row < ground.shape[0] and 0 <= col < ground.shape[1] and ground[row, col] == EMPTY:
                if look == 0:
                    free += 1
                elif chosen == 0:
                    ground[row, col] = value
                    return True
                else:
                    chosen -= 1
        if free == 0:
            return False
        if look == 0:
            chosen = chance(rules, free)
    return False


# -- mirrors -----------------------------------------------------------------------------------------------------------


@kernel
def image(axis: int, height: int, width: int, cell: int) -> int:
    """The cell (row x width + column) that mirrors another one on a ground of a size."""
    row, col = cell // width, cell % width
    if axis != 0:
        row = height - 1 - row
    if axis != 1:
        col = width - 1 - col
    return row * width + col


@kernel
def build_mirror(ground: Ground, rules: Rules, counts: Counts, work: Work) -> None:
    """Everything in pairs, each half of which is where the other is mirrored; what is odd goes on the line between.

    Option: a axis.
    """
    axis, types = i64(rules["terrain_a"]), len(counts) - 1
    high, wide = ground.shape
    pairs, middle, end = 0, 0, high * wide
    for cell in range(end):
        other = image(axis, high, wide, cell)
        if cell < other:  # the front of the list holds one cell of each pair, its end the cells on the line
            work[pairs] = cell
            pairs += 1
        elif cell == other:
            middle += 1
            work[end - middle] = cell
    for t in range(types + 1):
        value = AGENT_KIND if t == types else OBJECT_KIND + t
        left = i64(counts[t])
        while left > 0 and pairs + middle > 0:
            if pairs and (left > 1 or middle == 0):
                k = chance(rules, pairs)
                cell = i64(work[k])
                pairs -= 1
                work[k] = work[pairs]
                other = image(axis, high, wide, cell)
                ground[other // wide, other % wide] = value
                left -= 2
            else:
                k = end - 1 - chance(rules, middle)
                cell = i64(work[k])
                work[k] = work[end - middle]
                middle -= 1
                left -= 1
            ground[cell // wide, cell % wide] = value
