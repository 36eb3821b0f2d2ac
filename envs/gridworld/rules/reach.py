"""What the best use within an agent's reach would bring: the part of the dense signals that shows the way.

An agent that stands before an altar is nearer to a reward than one that must walk there first, although both hold the
same. ``prospect`` searches, breadth first over (cell, direction), the quickest sequence of moves and turns that ends in
a use that pays, and discounts what it pays by the ticks until then. It reads the map itself, so it is for training
alone. Other agents block the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stepping.jit import kernel
from ..state import COLUMN_STEP, EMPTY, OBJECT_KIND, OUTSIDE, PAD, ROW_STEP, World

__all__ = ["prospect"]


@kernel
def _gain(world: World, i: int, s: int, t: int, energy: float, items: NDArray[np.float32]) -> Any:
    """What agent s gains by a use of type t now, in rewards; 0: it can't use it, or loses by it."""
    kind, me, rules = world.types[i, t], world.agents[i, s], world.rules[i]
    left = me["energy"] - kind["energy_cost"] - rules["use_cost"]
    if not kind["usable"] or left < 0:
        return 0.0
    gain = kind["reward"] + energy * (min(left + kind["energy_gain"], max(left, me["max_energy"])) - me["energy"])
    for j in range(world.items.shape[2]):
        have, taken = world.items[i, s, j], world.recipes[i, t, 0, j]
        if have < taken:
            return 0.0
        after = min(have - taken + world.recipes[i, t, 1, j], max(have - taken, me["max_items"]))
        gain += items[j] * (after - have)
    return max(gain, 0.0)


@kernel
def prospect(
    world: World,
    energy: float,
    items: NDArray[np.float32],
    gamma: float,
    gains: NDArray[np.float64],
    queue: NDArray[np.int32],
    depth: NDArray[np.int32],
    out: NDArray[np.float32],
) -> None:
    """Write into out [N, S] gain * gamma ** (ticks until the use), for the use of each agent for which that is most.

    Args:
        world: N worlds.
        energy: the worth of one energy, in rewards.
        items: [I] the worth of one item of each kind.
        gamma: discount per tick.
        gains: [K] scratch.
        queue: [4 H W] scratch, with H and W of the padded map: nodes (cell * 4 + direction) in order of distance.
        depth: [4 H W] scratch: a node's distance, or -1.
        out: 0 where no use within reach pays, and for dead agents.
    """
    width = world.kind.shape[2]
    for i in range(out.shape[0]):
        clock = world.rules[i]["clock"]
        for s in range(out.shape[1]):
            out[i, s] = 0
            me = world.agents[i, s]
            if not me["alive"]:
                continue
            most = 0.0
            for t in range(gains.shape[0]):
                gains[t] = _gain(world, i, s, t, energy, items)
                most = max(most, gains[t])
            if most <= 0:
                continue
            depth[:] = -1
            queue[0] = ((me["row"] + PAD) * width + me["col"] + PAD) * 4 + me["facing"]
            depth[queue[0]] = 0
            head, tail, best = 0, 1, 0.0
            while head < tail:
                node = queue[head]
                head += 1
                ticks = depth[node]
                if most * gamma**ticks <= best:
                    break
                place, facing = node // 4, node % 4
                row, col = place // width, place % width
                step_row, step_col = ROW_STEP[facing], COLUMN_STEP[facing]
                ahead = world.kind[i, row + step_row, col + step_col]
                if OBJECT_KIND <= ahead < OUTSIDE:
                    thing = world.objects[i, world.which[i, row + step_row, col + step_col]]
                    if thing["stock"] != 0:
                        wait = max(ticks, thing["busy_until"] - clock)
                        best = max(best, gains[ahead - OBJECT_KIND] * gamma**wait)
                for k in range(6):  # forward, back, turns to the four directions
                    to_row, to_col, turned = row, col, facing
                    if k < 2:
                        way = 1 - 2 * k
                        to_row, to_col = row + way * step_row, col + way * step_col
                        if world.kind[i, to_row, to_col] != EMPTY:
                            continue
                    else:
                        turned = k - 2
                    other = (to_row * width + to_col) * 4 + turned
                    if depth[other] < 0:
                        depth[other] = ticks + 1
                        queue[tail] = other
                        tail += 1
            out[i, s] = best
