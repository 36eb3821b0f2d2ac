"""What a terrain is: a name, its options, a builder, and what is known of its maps before one is built."""

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


WALL = Option(1, 1, 100, "thickness of the walls between, in cells")
"""An option that several terrains have."""


class Site(NamedTuple):
    """What a builder reads and writes of one world.

    Attributes:
        whole: [H, W] the map, border included.
        ground: [h, w] what the border encloses; empty at first.
        rules: one record of RULES.
        regions: [G] REGION.
        counts: [K + 1] what region 0 gets: objects of each type, and agents (last).
        plan: [H, W] a drawn map; else [1, 1].
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
    """(height, width) of what the border encloses."""
    return max(0, here.height - 2 * here.border), max(0, here.width - 2 * here.border)


def anywhere(here: MapRules, options: Options, named: list[Region]) -> list[Region]:
    """``map.agents`` and ``map.objects`` on the whole map, then the regions that the map names."""
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
    """A kind of ``map.terrain``: what is walled before anything is placed.

    Attributes:
        number: by which a state names it; never another one.
        name: as a configuration has it.
        about: a sentence for people.
        build: a kernel that writes the ground; None: it stays empty.
        options: at most four; the builder gets them as ``terrain_a`` to ``terrain_d`` of ``RULES``, in this order.
        minimum: (height, width) of the smallest ground that it fits into.
        regions: all regions of a map, in the order in which a cell is asked where it belongs (the last one has it). A
            region without cells (height 0) is placed by the builder and by nobody else.
        room: how many cells it leaves empty for certain; None: as many with every seed, so they are counted.
        check: raises UsageError for what these options or counts cannot make.
        open_regions: all cells of a region are empty before anything is placed.
        drawn: the map is the configuration's text.
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
