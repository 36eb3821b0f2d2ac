"""The ``Terrain`` dataclass: name, options, builder, and what is known of its maps before they are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..config.sections import MapRules, Region
from .ground import Ground, Rules, Work

__all__ = ["WALL", "Option", "Options", "Site", "Terrain", "anywhere", "inside"]

Options: TypeAlias = Mapping[str, int]
"""Every option of a terrain, by name."""


class Option(NamedTuple):
    """A numeric option of a terrain.

    Attributes:
        default: used if ``terrain_options`` lacks it.
        low, high: bounds, both included.
        about: what it means.
    """

    default: int
    low: int
    high: int
    about: str


WALL = Option(1, 1, 100, "thickness of the walls between, in cells")
"""An option that several terrains share."""


class Site(NamedTuple):
    """What a builder reads and writes of one world.

    Attributes:
        whole: [H, W] the map, border included.
        ground: [h, w] the part inside the border; empty at first.
        rules: one element of type RULES.
        regions: [G] REGION.
        counts: [K + 1] what region 0 gets: the number of objects of each type, then of agents.
        plan: [H, W] the drawn map; [1, 1] for other terrains.
        work: [M] scratch.
    """

    whole: Ground
    ground: Ground
    rules: Rules
    regions: NDArray[Any]
    counts: NDArray[np.int16]
    plan: NDArray[np.uint8]
    work: Work


def inside(here: MapRules) -> tuple[int, int]:
    """(height, width) of the ground inside the border."""
    return max(0, here.height - 2 * here.border), max(0, here.width - 2 * here.border)


def anywhere(here: MapRules, options: Options, named: list[Region]) -> list[Region]:
    """``map.agents`` and ``map.objects`` on the whole map, then the map's own ``regions``."""
    return [Region(0, 0, here.height, here.width, here.agents, here.objects), *named]


def _one_cell(options: Options) -> tuple[int, int]:
    return 1, 1


def _all_cells(here: MapRules, options: Options) -> int:
    high, wide = inside(here)
    return high * wide


def _nothing(here: MapRules, options: Options) -> None:
    pass


@dataclass(frozen=True)
class Terrain:
    """A value of ``map.terrain``: how walls are built before anything is placed.

    Attributes:
        number: identifies it in states; never changes.
        name: as in a configuration.
        about: a sentence for people.
        build: a kernel that writes the ground; None: the ground stays empty.
        options: at most four; the builder reads them as ``terrain_a`` to ``terrain_d`` of ``RULES``, in this order.
        minimum: (height, width) of the smallest ground that it fits.
        regions: all regions of a map, in order; a cell belongs to the last region that contains it. Only the builder
            fills a region without cells (height 0).
        room: the least number of cells that it leaves empty; None: it is the same with every seed, so count a built
            map.
        check: raises UsageError for options or counts that cannot be built.
        open_regions: all cells of a region are empty before anything is placed.
        drawn: the map is the text of the configuration.
    """

    number: int
    name: str
    about: str
    build: Callable[[Site], None] | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    minimum: Callable[[Options], tuple[int, int]] = _one_cell
    regions: Callable[[MapRules, Options, list[Region]], list[Region]] = anywhere
    room: Callable[[MapRules, Options], int] | None = _all_cells
    check: Callable[[MapRules, Options], None] = _nothing
    open_regions: bool = False
    drawn: bool = False
