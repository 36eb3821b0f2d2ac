"""Objects at random distances from the centre. The builder places the counts of region 0, which has no cells."""

from __future__ import annotations

from .....errors import UsageError
from ....stepping.jit import kernel
from ...config.sections import MapRules, Region
from ...state import AGENT_KIND, EMPTY, OBJECT_KIND
from ..ground import FAR, Ground, Rules, chance, i64
from ..terrain import Option, Options, Site, Terrain

__all__ = ["MEAN_DISTANCE"]


@kernel
def build_mean_distance(site: Site) -> None:
    """Agents near the centre, objects around it: each gets a random distance, then a random free cell at it.

    Distances are steps on an empty map. If no cell at a distance is free, the nearest one that has a free cell is used.
    Options: a mean distance, b half of its range, c the farthest start of an agent.
    """
    ground, rules, counts = site.ground, site.rules, site.counts
    types = len(counts) - 1
    for step in range(types + 1):
        t = (step + types) % (types + 1)  # agents first, so that they find places
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
    """Writes ``value`` to a random free cell at a distance from the centre. False: no cell is free."""
    free = 0
    chosen = -1
    for look in range(2):  # count the free cells, then find the chosen one
        for k in range(max(1, 4 * distance)):
            # The 4 x distance cells at this distance, clockwise from the top.
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


def _minimum(o: Options) -> tuple[int, int]:
    side = max(o["distance"] + o["spread"], o["near"]) + 1
    return side, side


def _regions(here: MapRules, o: Options, named: list[Region]) -> list[Region]:
    walls = {name: count for name, count in here.objects.items() if name == "wall"}
    others = {name: count for name, count in here.objects.items() if name != "wall"}
    return [Region(0, 0, 0, 0, here.agents, others), Region(0, 0, here.height, here.width, 0, walls), *named]


def _check(here: MapRules, o: Options) -> None:
    if o["spread"] > o["distance"]:
        raise UsageError(
            f"map.terrain_options: spread is {o['spread']} and distance {o['distance']}; nothing is nearer than 0 "
            "steps, so spread must not be larger than distance."
        )


MEAN_DISTANCE = Terrain(
    number=5,
    name="mean_distance",
    about="Agents start near the centre.",
    build=build_mean_distance,
    options={
        "distance": Option(10, 1, FAR, "mean of the objects' distances from the centre, in steps"),
        "spread": Option(5, 0, FAR, "distances are drawn from distance - spread to distance + spread"),
        "near": Option(3, 0, FAR, "largest distance of an agent's start from the centre, in steps"),
    },
    minimum=_minimum,
    regions=_regions,
    check=_check,
)
