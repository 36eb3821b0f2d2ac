"""The list of terrains and what depends on it. Nothing here runs in a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from ....errors import UnknownName
from ..config.sections import MapRules, Region
from .terrain import Option, Terrain
from .terrains.bases import BASES
from .terrains.bsp import BSP
from .terrains.caves import CAVES
from .terrains.drawn import ASCII
from .terrains.maze import MAZE
from .terrains.mean_distance import MEAN_DISTANCE
from .terrains.mirror import MIRROR
from .terrains.radial_maze import RADIAL_MAZE
from .terrains.random import RANDOM
from .terrains.rooms import ROOMS

__all__ = [
    "OPTIONS",
    "TERRAINS",
    "Numbers",
    "Option",
    "minimum",
    "option_values",
    "options_of",
    "terrain_of",
    "terrain_regions",
]

TERRAINS: Mapping[str, Terrain] = {
    terrain.name: terrain
    for terrain in (RANDOM, ROOMS, BSP, MAZE, RADIAL_MAZE, MEAN_DISTANCE, MIRROR, ASCII, CAVES, BASES)
}
"""Name -> terrain. To add one, write a file in ``terrains/`` and list it here."""

Numbers: Any = IntEnum("Terrain", {name.upper(): terrain.number for name, terrain in TERRAINS.items()})  # type: ignore[misc]
Numbers.__doc__ = "The terrains' numbers by name: ``Numbers.CAVES``."

OPTIONS: Mapping[str, Mapping[str, Option]] = {name: terrain.options for name, terrain in TERRAINS.items()}
"""Name -> the terrain's options, at most four."""


def terrain_of(name: str) -> Terrain:
    """The terrain with a given name.

    Raises:
        UnknownName: there is no such terrain.
    """
    if name not in TERRAINS:
        raise UnknownName("terrain", name, TERRAINS)
    return TERRAINS[name]


def options_of(terrain: str, options: Mapping[str, int]) -> dict[str, int]:
    """Every option of a terrain: the given value, else the default."""
    return {name: int(options.get(name, option.default)) for name, option in OPTIONS[terrain].items()}


def option_values(here: MapRules) -> tuple[int, int, int, int]:
    """The options as the builder reads them: ``terrain_a`` to ``terrain_d``, 0 where there are fewer."""
    a, b, c, d = [*options_of(here.terrain, here.terrain_options).values(), 0, 0, 0, 0][:4]
    return a, b, c, d


def minimum(terrain: str, options: Mapping[str, int], border: int = 1) -> tuple[int, int]:
    """(height, width) of the smallest map that this terrain fits, border included.

    Args:
        terrain: a name.
        options: as ``MapRules.terrain_options``; missing ones take their defaults.
        border: thickness of the wall around it.
    """
    high, wide = TERRAINS[terrain].minimum(options_of(terrain, options))
    return high + 2 * border, wide + 2 * border


def terrain_regions(here: MapRules) -> list[Region]:
    """All regions of a map, in order; a cell belongs to the last region that contains it.

    The terrain decides where ``map.agents`` and ``map.objects`` go: anywhere, in every room or in every base. Only the
    terrain's builder fills a region without cells (height 0).
    """
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
    return TERRAINS[here.terrain].regions(here, options_of(here.terrain, here.terrain_options), named)
