"""What may be said of each terrain: its options, how small a map can be, how much room it surely leaves.

The builders get their options as four numbers, ``terrain_a`` to ``terrain_d`` of ``RULES``, in the order of
``OPTIONS``. Nothing here runs in a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...errors import UnknownName, UsageError
from .config import GridworldConfig, MapRules, Region, Terrain

__all__ = ["OPTIONS", "Option", "check_terrain", "minimum", "open_cells", "option_values", "terrain_regions"]


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


def _options(terrain: str, options: Mapping[str, int]) -> dict[str, int]:
    return {name: int(options.get(name, option.default)) for name, option in OPTIONS[terrain].items()}


def minimum(terrain: str, options: Mapping[str, int], border: int = 1) -> tuple[int, int]:
    """(height, width) of the smallest map that this terrain fits into, border included.

    Args:
        terrain: a name.
        options: as ``MapRules.terrain_options``; what is missing has its default.
        border: thickness of the wall around it.
    """
    o = _options(terrain, options)
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
    b, o = here.border, _options(here.terrain, here.terrain_options)
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


# -- room --------------------------------------------------------------------------------------------------------------


def open_cells(config: GridworldConfig) -> int:
    """How many cells this terrain leaves empty for certain: no more than that can be placed."""
    here = config.map
    b, o = here.border, _options(here.terrain, here.terrain_options)
    high, wide = max(0, here.height - 2 * b), max(0, here.width - 2 * b)
    if here.terrain == "ascii":
        return sum(c in ". " for line in here.lines for c in line)
    if here.terrain == "rooms":
        return sum(region.height * region.width for region in terrain_regions(here)[: o["rows"] * o["columns"]])
    if here.terrain == "bases":
        doorless = 8 * o["size"] + 4 + (4 * o["centre"] + 4 if o["centre"] else 0)
        return high * wide - doorless
    if here.terrain == "bsp":
        side = o["min_room"]
        return max(side * side, 4 * high * wide * side * side // (9 * (side + 1) ** 2))
    if here.terrain == "caves":
        return -(-high * wide * o["open"] // 100)
    if here.terrain == "maze":
        corridor, wall = o["corridor"], o["wall"]
        cells = ((high + wall) // (corridor + wall)) * ((wide + wall) // (corridor + wall))
        return cells * corridor**2 + (cells - 1) * corridor * wall
    if here.terrain == "radial_maze":
        return _built(config)
    return high * wide


def _built(config: GridworldConfig) -> int:
    """Empty cells of a terrain that is the same with every seed, counted."""
    from .layout import EMPTY, PAD
    from .maps import build
    from .world import new_world

    world = new_world(config, 1)
    build(world, 0)
    h, w, b = config.map.height, config.map.width, config.map.border
    inside = world.kind[0, PAD + b : PAD + h - b, PAD + b : PAD + w - b]
    return int(np.count_nonzero(inside == EMPTY))


# -- faults ------------------------------------------------------------------------------------------------------------


def check_terrain(config: GridworldConfig) -> None:
    """Whether the map can be built.

    Raises:
        UnknownName: no such terrain or option.
        UsageError: an option out of its range, a map too small for its terrain or for what is to be placed on it.
    """
    here = config.map
    known = tuple(terrain.name.lower() for terrain in Terrain)
    if here.terrain not in known:
        raise UnknownName("terrain", here.terrain, known)
    for name, value in here.terrain_options.items():
        option = OPTIONS[here.terrain].get(name)
        if option is None:
            raise UnknownName(f"terrain option of {here.terrain!r}", name, OPTIONS[here.terrain])
        if not option.low <= value <= option.high:
            raise UsageError(
                f"map.terrain_options.{name} is {value}; for {here.terrain!r} it must be {option.low} to {option.high} "
                f"({option.about})."
            )
    o = _options(here.terrain, here.terrain_options)
    if here.terrain == "mean_distance" and o["spread"] > o["distance"]:
        raise UsageError(
            f"map.terrain_options: spread is {o['spread']} and distance {o['distance']}; nothing is nearer than 0 "
            "steps, so spread must not be larger than distance."
        )
    height, width = minimum(here.terrain, here.terrain_options, here.border)
    if here.height < height or here.width < width:
        raise UsageError(
            f"The map is {here.height}x{here.width}; the terrain {here.terrain!r} with these options and a border of "
            f"{here.border} needs at least {height}x{width}. Make the map larger, or its terrain_options smaller."
        )
    if here.terrain == "mirror":
        _check_pairs(here, o["axis"])
    _check_room(config)


def _check_pairs(here: MapRules, axis: int) -> None:
    """Whether what a mirrored map holds comes in pairs, but for what can lie on the line in the middle."""
    high, wide = here.height - 2 * here.border, here.width - 2 * here.border
    middle = (high * (wide % 2), wide * (high % 2), (wide % 2) * (high % 2))[axis]
    counts = {"agents": here.agents} | {f"objects.{name}": count for name, count in here.objects.items()}
    odd = [f"map.{name} ({count})" for name, count in counts.items() if count % 2]
    if len(odd) > middle:
        raise UsageError(
            f"A mirrored map needs two of everything: {', '.join(odd)} cannot be halved, and "
            + (f"only {middle} cells lie" if middle else "no cell lies")
            + " on the line in the middle. Make the counts even."
        )


def _check_room(config: GridworldConfig) -> None:
    """Whether everything finds an empty cell: on the whole map, and in each region whose cells are known beforehand."""
    here, regions = config.map, terrain_regions(config.map)
    wanted = [region.agents + sum(region.objects.values()) for region in regions]
    room = open_cells(config)
    if sum(wanted) > room:
        raise UsageError(
            f"{sum(wanted)} agents and objects are to be placed, and a map of {here.height}x{here.width} with the "
            f"terrain {here.terrain!r} has room for {room} of them. Make it larger or place fewer."
        )
    if here.terrain not in ("random", "rooms", "bases"):
        return
    owner = np.full((here.height, here.width), -1)
    for g, region in enumerate(regions):
        owner[region.top : region.top + region.height, region.left : region.left + region.width] = g
    b = here.border
    owned = np.bincount(owner[b : here.height - b, b : here.width - b].ravel() + 1, minlength=len(regions) + 1)[1:]
    for region, count, cells in zip(regions, wanted, owned, strict=True):
        if count > cells:
            raise UsageError(
                f"{count} agents and objects are to be placed in the region of {region.height}x{region.width} cells at "
                f"row {region.top}, column {region.left}, which has {cells} of its own (a cell belongs to the last "
                "region that contains it). Make it larger or place fewer."
            )
