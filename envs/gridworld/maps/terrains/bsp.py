"""Rooms by binary space partition, and corridors between them."""

from __future__ import annotations

from ....stepping.jit import kernel
from ...config.sections import MapRules
from ..ground import ONE, Rules, Work, chance, clear, dig, i64, wall_up
from ..terrain import Option, Options, Site, Terrain, inside

__all__ = ["BSP"]

_TOP, _LEFT, _HEIGHT, _WIDTH, _PARENT, _FIELDS = 0, 1, 2, 3, 4, 5
"""Fields of a part of the map in ``work``. Its last row and column hold walls; the whole map has one more of each."""


@kernel
def build_bsp(site: Site) -> None:
    """Cuts the largest part of the map in two until there are enough, digs a room in each and corridors along the cuts.

    The sides of a room are random, from two thirds of what its part allows to all of it.
    Options: a most rooms, b shortest side of a room, c width of the corridors.
    """
    ground, rules, work = site.ground, site.rules, site.work
    least, corridor = i64(rules["terrain_b"]), i64(rules["terrain_c"])
    wall_up(ground)
    work[_TOP], work[_LEFT], work[_PARENT] = 0, 0, 0
    work[_HEIGHT], work[_WIDTH] = ground.shape[0] + 1, ground.shape[1] + 1
    parts = ONE
    while parts < rules["terrain_a"] and _split(rules, work, parts, least + 1):
        parts += 1
    for k in range(parts):
        at = k * _FIELDS
        for axis in range(2):
            most = i64(work[at + _HEIGHT + axis]) - 1
            short = max(least, (2 * most + 2) // 3)
            length = short + chance(rules, most - short + 1)
            work[at + _TOP + axis] += chance(rules, most - length + 1)
            work[at + _HEIGHT + axis] = length
        top, left = i64(work[at + _TOP]), i64(work[at + _LEFT])
        clear(ground, top, left, i64(work[at + _HEIGHT]), i64(work[at + _WIDTH]))
    for k in range(1, parts):
        # A corridor with one corner, from the middle of a room to that of the room in the part it was cut from.
        here, there = k * _FIELDS, i64(work[k * _FIELDS + _PARENT]) * _FIELDS
        row, to_row = work[here] + work[here + _HEIGHT] // 2, work[there] + work[there + _HEIGHT] // 2
        col, to_col = work[here + 1] + work[here + _WIDTH] // 2, work[there + 1] + work[there + _WIDTH] // 2
        across_first = chance(rules, 2) == 0
        for r in range(min(row, to_row), max(row, to_row) + 1):
            dig(ground, r, i64(to_col if across_first else col), corridor)
        for c in range(min(col, to_col), max(col, to_col) + 1):
            dig(ground, i64(row if across_first else to_row), c, corridor)


@kernel
def _split(rules: Rules, work: Work, parts: int, least: int) -> bool:
    """Cuts the largest part that can be cut; the new half becomes part number ``parts``. False: no part can be cut."""
    best, size = -1, 0
    for k in range(parts):
        height, width = i64(work[k * _FIELDS + _HEIGHT]), i64(work[k * _FIELDS + _WIDTH])
        if height * width > size and (height >= 2 * least or width >= 2 * least):
            best, size = k, height * width
    if best < 0:
        return False
    old, new = best * _FIELDS, parts * _FIELDS
    height, width = i64(work[old + _HEIGHT]), i64(work[old + _WIDTH])
    axis = 1
    if height >= 2 * least and (width < 2 * least or chance(rules, height + width) < height):
        axis = 0
    length = i64(work[old + _HEIGHT + axis])
    cut = least + chance(rules, length - 2 * least + 1)
    for field in range(_PARENT):
        work[new + field] = work[old + field]
    work[new + _PARENT] = best
    work[old + _HEIGHT + axis] = cut
    work[new + _HEIGHT + axis] = length - cut
    work[new + _TOP + axis] += cut
    return True


def _minimum(o: Options) -> tuple[int, int]:
    side = max(o["min_room"], o["corridor"])
    return side, side


def _room(here: MapRules, o: Options) -> int:
    (high, wide), side = inside(here), o["min_room"]
    return max(side * side, 4 * high * wide * side * side // (9 * (side + 1) ** 2))


BSP = Terrain(
    number=2,
    name="bsp",
    about="The map is repeatedly cut in two (binary space partition), the largest part first.",
    build=build_bsp,
    options={
        "rooms": Option(10, 1, 1000, "largest number of rooms"),
        "min_room": Option(4, 2, 100, "shortest side of a room"),
        "corridor": Option(1, 1, 10, "width of the corridors"),
    },
    minimum=_minimum,
    room=_room,
)
