"""Whether a map can be built: how much room its terrain surely leaves, and whether everything finds a place."""

from __future__ import annotations

import numpy as np

from ....errors import UnknownName, UsageError
from ..maps.options import OPTIONS, minimum, options_of, terrain_regions
from ..maps.terrains import build
from ..state import EMPTY, PAD
from .sections import GridworldConfig, MapRules, Terrain
from .world import new_world

__all__ = ["check_terrain", "open_cells"]


def open_cells(config: GridworldConfig) -> int:
    """How many cells this terrain leaves empty for certain: no more than that can be placed."""
    here = config.map
    b, o = here.border, options_of(here.terrain, here.terrain_options)
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
    world = new_world(config, 1)
    build(world, 0)
    h, w, b = config.map.height, config.map.width, config.map.border
    inside = world.kind[0, PAD + b : PAD + h - b, PAD + b : PAD + w - b]
    return int(np.count_nonzero(inside == EMPTY))


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
    o = options_of(here.terrain, here.terrain_options)
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
