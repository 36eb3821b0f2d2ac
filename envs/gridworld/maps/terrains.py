"""Maps: ``build`` walls a world's terrain, ``connect`` opens what cut somebody off; docs/games/gridworld-maps.md.

``terrain`` says what may be said of each, ``rooms``, ``mazes``, ``caves`` and ``placing`` build them. A builder is a
kernel that writes the ground inside the border, with scratch in ``work`` and random words of the world's own; a new
one needs a number in ``config.Terrain``, a row in ``terrain.OPTIONS`` and a line here.
"""

from __future__ import annotations

from ...stepping.jit import kernel
from ..config import Terrain
from ..state import PAD, World
from .caves import build_caves
from .connecting import connect
from .ground import i64
from .mazes import build_maze, build_radial_maze
from .placing import build_mean_distance, build_mirror
from .rooms import build_bases, build_bsp, build_rooms

__all__ = ["build", "connect"]

_ROOMS, _BSP, _BASES = int(Terrain.ROOMS), int(Terrain.BSP), int(Terrain.BASES)
_MAZE, _RADIAL_MAZE, _CAVES = int(Terrain.MAZE), int(Terrain.RADIAL_MAZE), int(Terrain.CAVES)
_MEAN_DISTANCE, _MIRROR, _ASCII = int(Terrain.MEAN_DISTANCE), int(Terrain.MIRROR), int(Terrain.ASCII)


@kernel
def build(world: World, i: int) -> None:
    """Writes row i's terrain into ``kind``, which is empty inside the border."""
    rules, work, counts = world.rules[i], world.work[i], world.counts[i, 0]
    terrain = rules["terrain"]
    height, width = i64(rules["height"]), i64(rules["width"])
    if terrain == _ASCII:  # the drawing has a border of its own
        for row in range(height):
            for col in range(width):
                world.kind[i, PAD + row, PAD + col] = world.plan[i, row, col]
        return
    edge = PAD + i64(rules["border"])
    ground = world.kind[i, edge : 2 * PAD + height - edge, edge : 2 * PAD + width - edge]
    if terrain == _ROOMS:
        build_rooms(ground, rules, world.regions[i])
    elif terrain == _BSP:
        build_bsp(ground, rules, work)
    elif terrain == _MAZE:
        build_maze(ground, rules, work)
    elif terrain == _RADIAL_MAZE:
        build_radial_maze(ground, rules)
    elif terrain == _MEAN_DISTANCE:
        build_mean_distance(ground, rules, counts)
    elif terrain == _MIRROR:
        build_mirror(ground, rules, counts, work)
    elif terrain == _CAVES:
        build_caves(ground, rules, work)
    elif terrain == _BASES:
        build_bases(ground, rules)
