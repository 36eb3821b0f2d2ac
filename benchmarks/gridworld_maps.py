"""The cost of a new map, by terrain: microseconds of a whole ``reset``, with and without ``connected``.

Run ``python -m coterie.benchmarks.gridworld_maps [SIDE]``.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from ..envs.gridworld.config.presets import configure
from ..envs.gridworld.config.world import new_world
from ..envs.gridworld.maps.table import OPTIONS
from ..envs.gridworld.rules.reset import reset
from ..envs.gridworld.state import World
from ..envs.stepping.jit import kernel

__all__ = ["cost", "main"]


@kernel
def _resets(world: World, count: int) -> None:
    for seed in range(count):
        reset(world, 0, np.uint64(seed))


def cost(terrain: str, side: int, connected: bool, seconds: float = 0.5) -> float:
    """Microseconds per reset, from the fastest block of resets; agents on 1 in 96 cells, objects on 1 in 33.

    Args:
        terrain: its name.
        side: height and width of the map.
        connected: whether walls are opened to connect the map.
        seconds: how long to measure.
    """
    area = side * side
    counts = {"generator": area // 58, "converter": area // 116, "altar": area // 232}
    fields: dict[str, Any] = {"terrain": terrain, "height": side, "width": side, "connected": connected}
    agents = area // 96
    if terrain in ("rooms", "bases"):  # placed in each of the four
        agents, counts = agents // 4, {name: count // 4 for name, count in counts.items()}
    if terrain in ("mirror",):
        agents, counts = agents // 2 * 2, {name: count // 2 * 2 for name, count in counts.items()}
    options = {
        "bases": {"size": side // 5},
        "mean_distance": {"distance": side // 4, "spread": side // 8},
        "radial_maze": {"corridor": max(2, side // 24)},
    }
    fields |= {"agents": agents, "objects": counts, "terrain_options": options.get(terrain, {})}
    world = new_world(configure(config={"map": fields}), 1)
    _resets(world, 1)
    count, best, end = 1, np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        _resets(world, count)
        taken = time.perf_counter() - start
        best = min(best, taken / count)
        if taken < seconds / 20:
            count *= 2
    return float(best) * 1e6


def main(side: int = 48) -> None:
    """Print a table."""
    print(f"| terrain, {side}x{side} | µs a reset | with `connected` |")
    print("|---|---:|---:|")
    for terrain in OPTIONS:
        if terrain != "ascii":
            print(f"| {terrain} | {cost(terrain, side, False):,.0f} | {cost(terrain, side, True):,.0f} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
