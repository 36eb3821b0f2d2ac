"""What may be said of each terrain: its options, how small a map can be, what regions it has.

The builders get their options as four numbers, ``terrain_a`` to ``terrain_d`` of ``RULES``, in the order of
``OPTIONS``. Nothing here runs in a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..config import MapRules, Region

__all__ = ["OPTIONS", "Option", "minimum", "option_values", "options_of", "terrain_regions"]


class Option(NamedTuple):
    """A number that a terrain understands.

    Attributes:
        default: where ``terrain_options`` doesn't say.
        low, high: both included.
        about: what it means.
    """

    default: int
    low: int
    high: int
    about: str


_FAR = 1000
_WALL = Option(1, 1, 100, "thickness of the walls between, in cells")

OPTIONS: Mapping[str, Mapping[str, Option]] = {
    "random": {},
    "rooms": {
        "rows": Option(2, 1, 100, "rooms from top to bottom"),
        "columns": Option(2, 1, 100, "rooms from left to right"),
        "wall": _WALL._replace(default=2),
        "door": Option(1, 0, 100, "width of the door between neighbours; 0: none"),
    },
    "bsp": {
        "rooms": Option(10, 1, 1000, "at most so many"),
        "min_room": Option(4, 2, 100, "shortest side of a room"),
        "corridor": Option(1, 1, 10, "width of the corridors"),
    },
    "maze": {
        "corridor": Option(1, 1, 50, "width of the passages"),
        "wall": _WALL,
        "branching": Option(10, 0, 100, "0: long winding passages; 100: many short dead ends"),
        "loops": Option(0, 0, 100, "per cent of the remaining walls between neighbours that are opened as well"),
    },
    "radial_maze": {
        "arms": Option(8, 1, 64, "how many arms leave the centre"),
        "corridor": Option(2, 1, 20, "width of an arm"),
        "length": Option(0, 0, _FAR, "how far they reach, in rows or columns; 0: to the border"),
    },
    "mean_distance": {
        "distance": Option(10, 1, _FAR, "mean of the objects' distances from the centre, in steps"),
        "spread": Option(5, 0, _FAR, "distances are drawn from distance - spread to distance + spread"),
        "near": Option(3, 0, _FAR, "agents start at most so many steps from the centre"),
    },
    "mirror": {"axis": Option(0, 0, 2, "0: left is right; 1: top is bottom; 2: the map turned by half is itself")},
    "ascii": {},
    "caves": {
        "fill": Option(45, 0, 100, "per cent of the cells that are rock at first"),
        "steps": Option(4, 0, 20, "of the automaton: rock is where 5 of the 9 cells around are rock"),
        "smallest": Option(8, 0, _FAR, "caves of fewer cells are filled"),
        "open": Option(40, 1, 100, "per cent of the cells that must be open in the end; caves widen until they are"),
    },
    "bases": {
        "size": Option(8, 1, _FAR, "side of each base"),
        "door": Option(2, 0, 100, "width of its two doors"),
        "centre": Option(0, 0, _FAR, "side of a walled square with four doors in the middle; 0: none"),
    },
}
"""Terrain -> its options, at most four."""


def option_values(here: MapRules) -> tuple[int, int, int, int]:
    """What the builder reads: ``terrain_a`` to ``terrain_d``."""
    known = OPTIONS[here.terrain]
    values = [int(here.terrain_options.get(name, option.default)) for name, option in known.items()]
    a, b, c, d = [*values, 0, 0, 0, 0][:4]
    return a, b, c, d


def options_of(terrain: str, options: Mapping[str, int]) -> dict[str, int]:
    """Every option of a terrain: what is said, else its default."""
    return {name: int(options.get(name, option.default)) for name, option in OPTIONS[terrain].items()}


def minimum(terrain: str, options: Mapping[str, int], border: int = 1) -> tuple[int, int]:
    """(height, width) of the smallest map that this terrain fits into, border included.

    Args:
        terrain: a name.
        options: as ``MapRules.terrain_options``; what is missing has its default.
        border: thickness of the wall around it.
    """
    o = options_of(terrain, options)
    high = wide = 1
    if terrain == "rooms":
        high, wide = (o[n] + (o[n] - 1) * o["wall"] for n in ("rows", "columns"))
    elif terrain == "bsp":
        high = wide = max(o["min_room"], o["corridor"])
    elif terrain == "caves":
        high = wide = 3
    elif terrain in ("maze", "radial_maze"):
        high = wide = o["corridor"]
    elif terrain == "mean_distance":
        high = wide = max(o["distance"] + o["spread"], o["near"]) + 1
    elif terrain == "bases":
        high = wide = 2 * (o["size"] + 1) + (o["centre"] + 4 if o["centre"] else 1)
    return high + 2 * border, wide + 2 * border


# -- regions -----------------------------------------------------------------------------------------------------------


def _pieces(length: int, pieces: int, wall: int) -> list[tuple[int, int]]:
    """(start, length) of equal pieces with walls between; the first ones take what is left over."""
    share, more = divmod(max(0, length - (pieces - 1) * wall), pieces)
    return [(k * (share + wall) + min(k, more), share + (k < more)) for k in range(pieces)]


def terrain_regions(here: MapRules) -> list[Region]:
    """All regions of a map, in the order in which a cell is asked where it belongs (the last one has it).

    ``map.agents`` and ``map.objects`` are wanted anywhere, or in every room, or in every base. A region without cells
    (height 0) is placed by the terrain's builder and by nobody else.
    """
    b, o = here.border, options_of(here.terrain, here.terrain_options)
    named = [
        Region(
            region.top,
            region.left,
            region.height or here.height,
            region.width or here.width,
            region.agents,
            region.objects,
        )
        for region in here.regions
    ]
    high, wide = here.height - 2 * b, here.width - 2 * b
    if here.terrain == "rooms":
        rooms = [
            Region(b + top, b + left, tall, broad, here.agents, here.objects)
            for top, tall in _pieces(high, o["rows"], o["wall"])
            for left, broad in _pieces(wide, o["columns"], o["wall"])
        ]
        return rooms + named
    if here.terrain == "bases":
        size = o["size"]
        far = (here.height - b - size, here.width - b - size)
        return named + [
            Region(top, left, size, size, here.agents, here.objects) for top in (b, far[0]) for left in (b, far[1])
        ]
    if here.terrain == "mirror":
        return [Region(0, 0, 0, 0, here.agents, here.objects), *named]
    if here.terrain == "mean_distance":
        walls = {name: count for name, count in here.objects.items() if name == "wall"}
        others = {name: count for name, count in here.objects.items() if name != "wall"}
        return [
            Region(0, 0, 0, 0, here.agents, others),
            Region(0, 0, here.height, here.width, 0, walls),
            *named,
        ]
    return [Region(0, 0, here.height, here.width, here.agents, here.objects), *named]
