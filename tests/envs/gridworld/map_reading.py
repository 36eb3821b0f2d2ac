"""Maps of any terrain, built and read as characters."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

from coterie.envs.gridworld.config import GridworldConfig
from coterie.envs.gridworld.config.presets import configure
from coterie.envs.gridworld.config.world import new_world
from coterie.envs.gridworld.maps.drawing import draw_map
from coterie.envs.gridworld.maps.table import OPTIONS, minimum
from coterie.envs.gridworld.rules.reset import reset
from coterie.envs.gridworld.state import World
from coterie.envs.stepping.jit import disabled
from coterie.errors import UsageError

Lines = list[str]
Cell = tuple[int, int]

EXAMPLES = 6 if disabled() else 60
SEEDS = st.integers(0, 2**64 - 1)
SLOW = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def world_of(terrain: str, height: int, width: int, **here: Any) -> GridworldConfig:
    """A checked configuration; ``here`` are other fields of the map, placed is what they say and one agent."""
    fields = {"terrain": terrain, "height": height, "width": width, "agents": 1, "objects": {}} | here
    return configure(config={"map": fields})


def build(config: GridworldConfig, seed: int = 0) -> World:
    world = new_world(config, 1)
    reset(world, 0, np.uint64(seed))
    return world


def lines_of(config: GridworldConfig, world: World) -> Lines:
    return draw_map(config, world).split("\n")


def drawn(terrain: str, height: int, width: int, seed: int = 0, **here: Any) -> Lines:
    config = world_of(terrain, height, width, **here)
    return lines_of(config, build(config, seed))


def cells_of(lines: Lines, glyphs: str) -> set[Cell]:
    return {(r, c) for r, line in enumerate(lines) for c, glyph in enumerate(line) if glyph in glyphs}


def beside(cell: Cell) -> list[Cell]:
    r, c = cell
    return [(r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)]


def reached(cells: set[Cell], start: Cell) -> set[Cell]:
    found, waiting = {start}, [start]
    while waiting:
        for cell in beside(waiting.pop()):
            if cell in cells and cell not in found:
                found.add(cell)
                waiting.append(cell)
    return found


def parts_of(cells: set[Cell]) -> list[set[Cell]]:
    parts, left = [], set(cells)
    while left:
        parts.append(reached(left, next(iter(left))))
        left -= parts[-1]
    return parts


def inside(lines: Lines, border: int) -> set[Cell]:
    high, wide = len(lines), len(lines[0])
    return {(r, c) for r in range(border, high - border) for c in range(border, wide - border)}


@st.composite
def any_map(draw: Any, terrains: tuple[str, ...] = tuple(OPTIONS)) -> dict[str, Any]:
    """The fields of any map that can be, small ones and odd ones first."""
    terrain = draw(st.sampled_from([name for name in terrains if name != "ascii"]))
    options = {
        name: draw(
            st.integers(option.low, min(option.high, max(option.low + 5, 7 if option.high > 100 else option.high)))
        )
        for name, option in OPTIONS[terrain].items()
        if draw(st.booleans())
    }
    for name in ("rows", "columns", "wall", "corridor", "min_room", "door"):
        if name in options:
            options[name] = OPTIONS[terrain][name].low + options[name] % 4
    if terrain == "mean_distance":
        options["distance"] = options.get("distance", 4)
        options["spread"] = min(options.get("spread", 2), options["distance"])
    border = draw(st.integers(0, 2))
    height, width = minimum(terrain, options, border)
    return {
        "terrain": terrain,
        "terrain_options": options,
        "border": border,
        "height": height + draw(st.integers(0, 12)),
        "width": width + draw(st.integers(0, 12)),
        "agents": 1 + draw(st.integers(0, 3)),
        "objects": {name: draw(st.integers(0, 6)) for name in ("wall", "generator", "altar")},
        "connected": draw(st.booleans()),
    }


def built(fields: dict[str, Any]) -> GridworldConfig:
    try:
        return configure(config={"map": fields})
    except UsageError as refused:
        assume("room for" not in str(refused) and "own (a cell" not in str(refused) and "mirrored" not in str(refused))
        raise
