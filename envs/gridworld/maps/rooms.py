"""Terrains with rooms: in rows and columns, by binary space partition, and bases in the corners."""

from __future__ import annotations

from typing import Any

from ...stepping.jit import kernel
from .ground import ONE, ROCK, Ground, Rules, Work, chance, clear, dig, i64, wall_up

__all__ = ["build_bases", "build_bsp", "build_rooms"]


@kernel
def build_rooms(ground: Ground, rules: Rules, regions: Any) -> None:
    """Rows x columns of rooms, whose floors are the first regions, and a door in each wall that two of them share.

    Options: a rows, b columns, d width of the doors.
    """
    border, door = i64(rules["border"]), i64(rules["terrain_d"])
    rows, columns = i64(rules["terrain_a"]), i64(rules["terrain_b"])
    wall_up(ground)
    for g in range(rows * columns):
        top, left = i64(regions[g]["top"]) - border, i64(regions[g]["left"]) - border
        height, width = i64(regions[g]["height"]), i64(regions[g]["width"])
        clear(ground, top, left, height, width)
        if door and g % columns < columns - 1:
            wide, start = min(door, height), left + width
            depth = i64(regions[g + 1]["left"]) - border - start
            clear(ground, top + chance(rules, height - wide + 1), start, wide, depth)
        if door and g // columns < rows - 1:
            wide, start = min(door, width), top + height
            depth = i64(regions[g + columns]["top"]) - border - start
            clear(ground, start, left + chance(rules, width - wide + 1), depth, wide)


# -- binary space partition --------------------------------------------------------------------------------------------

_TOP, _LEFT, _HEIGHT, _WIDTH, _PARENT, _FIELDS = 0, 1, 2, 3, 4, 5
"""A part of the map in ``work``. Its last row and column are for walls, so the whole map counts one more of each."""


@kernel
def build_bsp(ground: Ground, rules: Rules, work: Work) -> None:
    """The largest part of the map is cut in two until there are enough; a room in each, corridors along the cuts' tree.

    A room's sides are drawn from two thirds of what its part allows up to all of it.
    Options: a rooms, b shortest side of a room, c width of the corridors.
    """
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
        # From the middle of a room to the middle of the one that it was cut off from, with one corner.
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
    """Cuts the largest part that is large enough; the new half becomes part number ``parts``. False: there is none."""
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


# -- bases -------------------------------------------------------------------------------------------------------------


@kernel
def build_bases(ground: Ground, rules: Rules) -> None:
    """A walled square in each corner with doors in both inner walls, and one in the middle with four.

    Options: a side of the bases, b width of the doors, c side of the square in the middle; 0: none.
    """
    size, door, centre = i64(rules["terrain_a"]), i64(rules["terrain_b"]), i64(rules["terrain_c"])
    high, wide = ground.shape
    for k in range(5 if centre else 4):
        side = size if k < 4 else centre
        top = (high - side) // 2 if k == 4 else (high - side) * (k // 2)
        left = (wide - side) // 2 if k == 4 else (wide - side) * (k % 2)
        for row in range(max(top - 1, 0), min(top + side + 1, high)):
            for col in range(max(left - 1, 0), min(left + side + 1, wide)):
                ground[row, col] = ROCK
        clear(ground, top, left, side, side)
        gap = min(door, side)
        for edge in range(top - 1, top + side + 1, side + 1):  # the wall above and the one below; outer ones are border
            if 0 <= edge < high:
                clear(ground, edge, left + chance(rules, side - gap + 1), ONE, gap)
        for edge in range(left - 1, left + side + 1, side + 1):
            if 0 <= edge < wide:
                clear(ground, top + chance(rules, side - gap + 1), edge, gap, ONE)
