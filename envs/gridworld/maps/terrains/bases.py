"""A base in each corner."""

from __future__ import annotations

from ....stepping.jit import kernel
from ...config.sections import MapRules, Region
from ..ground import FAR, ONE, ROCK, chance, clear, i64
from ..terrain import Option, Options, Site, Terrain, inside

__all__ = ["BASES"]


@kernel
def build_bases(site: Site) -> None:
    """A walled square in each corner with doors in both inner walls, and one in the middle with four doors.

    Options: a side of the bases, b width of the doors, c side of the square in the middle (0: none).
    """
    ground, rules = site.ground, site.rules
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
        for edge in range(top - 1, top + side + 1, side + 1):  # the walls above and below; outer ones are the border
            if 0 <= edge < high:
                clear(ground, edge, left + chance(rules, side - gap + 1), ONE, gap)
        for edge in range(left - 1, left + side + 1, side + 1):
            if 0 <= edge < wide:
                clear(ground, top + chance(rules, side - gap + 1), edge, gap, ONE)


def _minimum(o: Options) -> tuple[int, int]:
    side = 2 * (o["size"] + 1) + (o["centre"] + 4 if o["centre"] else 1)
    return side, side


def _regions(here: MapRules, o: Options, named: list[Region]) -> list[Region]:
    b, size = here.border, o["size"]
    far = (here.height - b - size, here.width - b - size)
    corners = [(top, left) for top in (b, far[0]) for left in (b, far[1])]
    return named + [Region(top, left, size, size, here.agents, here.objects) for top, left in corners]


def _room(here: MapRules, o: Options) -> int:
    high, wide = inside(here)
    return high * wide - (8 * o["size"] + 4 + (4 * o["centre"] + 4 if o["centre"] else 0))  # doors not counted


BASES = Terrain(
    number=9,
    name="bases",
    about="Four bases in the corners, with doors in both walls that face inwards.",
    build=build_bases,
    options={
        "size": Option(8, 1, FAR, "side of each base"),
        "door": Option(2, 0, 100, "width of its two doors"),
        "centre": Option(0, 0, FAR, "side of a walled square with four doors in the middle; 0: none"),
    },
    minimum=_minimum,
    regions=_regions,
    room=_room,
    open_regions=True,
)
