"""Checks that a map can be built: that its terrain always leaves enough room for everything placed on it."""

from __future__ import annotations

import dataclasses

import numpy as np

from ....errors import UnknownName, UsageError
from ...plain import told
from ..maps.building import build
from ..maps.table import TERRAINS, minimum, options_of, terrain_of, terrain_regions
from ..state import EMPTY, PAD
from .sections import GridworldConfig, KinshipRules
from .world import new_world

__all__ = ["check_room", "check_terrain", "open_cells"]


def open_cells(config: GridworldConfig) -> int:
    """How many cells this terrain leaves empty with any seed, at least: the most that can be placed."""
    here = config.map
    room = TERRAINS[here.terrain].room
    return _built(config) if room is None else room(here, options_of(here.terrain, here.terrain_options))


def _built(config: GridworldConfig) -> int:
    """The number of empty cells of a terrain that is the same with every seed."""
    world = new_world(dataclasses.replace(config, kinship=KinshipRules(), randomize={}), 1)  # they are not checked yet
    build(world, 0)
    h, w, b = config.map.height, config.map.width, config.map.border
    inside = world.kind[0, PAD + b : PAD + h - b, PAD + b : PAD + w - b]
    return int(np.count_nonzero(inside == EMPTY))


def check_terrain(config: GridworldConfig) -> None:
    """Check the terrain's options, and that the map is large enough for them.

    Raises:
        UnknownName: no such terrain or option.
        UsageError: an option is out of range, or the map is too small for its terrain.
    """
    here = config.map
    terrain = terrain_of(here.terrain)
    for name, value in here.terrain_options.items():
        option = terrain.options.get(name)
        if option is None:
            raise UnknownName(f"terrain option of {here.terrain!r}", name, terrain.options)
        if not option.low <= value <= option.high:
            raise UsageError(
                f"map.terrain_options.{name} is {told(value)}; for {here.terrain!r} it must be {option.low:,} to "
                f"{option.high:,} ({option.about})."
            )
    height, width = minimum(here.terrain, here.terrain_options, here.border)
    if here.height < height or here.width < width:
        raise UsageError(
            f"The map is {here.height}x{here.width}; the terrain {here.terrain!r} with these options and a border of "
            f"{here.border} needs at least {height}x{width}. Make the map larger, or its terrain_options smaller."
        )
    terrain.check(here, options_of(here.terrain, here.terrain_options))


def check_room(config: GridworldConfig) -> None:
    """Check for enough empty cells on the whole map, and in each region if the terrain leaves regions empty.

    Raises:
        UsageError: the map is too small for what is placed on it.
    """
    here, regions = config.map, terrain_regions(config.map)
    wanted = [region.agents + sum(region.objects.values()) for region in regions]
    room = open_cells(config)
    if sum(wanted) > room:
        raise UsageError(
            f"{sum(wanted)} agents and objects must be placed, but a map of {here.height}x{here.width} with "
            f"the terrain {here.terrain!r} has room for {room} of them. Make it larger or place fewer."
        )
    if not TERRAINS[here.terrain].open_regions:
        return
    owner = np.full((here.height, here.width), -1)
    for g, region in enumerate(regions):
        owner[region.top : region.top + region.height, region.left : region.left + region.width] = g
    b = here.border
    owned = np.bincount(owner[b : here.height - b, b : here.width - b].ravel() + 1, minlength=len(regions) + 1)[1:]
    for region, count, cells in zip(regions, wanted, owned, strict=True):
        if count > cells:
            raise UsageError(
                f"{count} agents and objects must be placed in the region of {region.height}x{region.width} cells at "
                f"row {region.top}, column {region.left}, which has room for {cells} (a cell belongs to the last "
                "region that contains it). Make it larger or place fewer."
            )
