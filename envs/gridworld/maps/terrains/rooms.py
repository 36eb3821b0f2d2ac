"""Rooms of equal size, in rows and columns."""

from __future__ import annotations

from ....stepping.jit import kernel
from ...config.sections import MapRules, Region
from ..ground import chance, clear, i64, wall_up
from ..terrain import WALL, Option, Options, Site, Terrain, inside

__all__ = ["ROOMS"]


@kernel
def build_rooms(site: Site) -> None:
    """Rows x columns of rooms, whose floors are the first regions, and a door in each wall between two of them.

    Options: a rows, b columns, d width of the doors.
    """
    ground, rules, regions = site.ground, site.rules, site.regions
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


def _pieces(length: int, pieces: int, wall: int) -> list[tuple[int, int]]:
    """(start, length) of equal pieces with walls between; the first pieces take the cells left over."""
    share, more = divmod(max(0, length - (pieces - 1) * wall), pieces)
    return [(k * (share + wall) + min(k, more), share + (k < more)) for k in range(pieces)]


def _floors(here: MapRules, o: Options) -> list[Region]:
    high, wide = inside(here)
    return [
        Region(here.border + top, here.border + left, tall, broad, here.agents, here.objects)
        for top, tall in _pieces(high, o["rows"], o["wall"])
        for left, broad in _pieces(wide, o["columns"], o["wall"])
    ]


def _minimum(o: Options) -> tuple[int, int]:
    return o["rows"] + (o["rows"] - 1) * o["wall"], o["columns"] + (o["columns"] - 1) * o["wall"]


def _regions(here: MapRules, o: Options, named: list[Region]) -> list[Region]:
    return _floors(here, o) + named


def _room(here: MapRules, o: Options) -> int:
    return sum(floor.height * floor.width for floor in _floors(here, o))


ROOMS = Terrain(
    number=1,
    name="rooms",
    about="Rooms of equal size in rows and columns.",
    build=build_rooms,
    options={
        "rows": Option(2, 1, 100, "rooms from top to bottom"),
        "columns": Option(2, 1, 100, "rooms from left to right"),
        "wall": WALL._replace(default=2),
        "door": Option(1, 0, 100, "width of the door between neighbours; 0: none"),
    },
    minimum=_minimum,
    regions=_regions,
    room=_room,
    open_regions=True,
)
