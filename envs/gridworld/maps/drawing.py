"""Maps to and from text: ``@`` an agent, ``.`` an empty cell, objects by the glyphs of their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import NotationError, UsageError
from ...core import Game
from ..config import GridworldConfig
from ..config.presets import configured
from ..rules.reset import settle
from ..state import AGENT_KIND, EMPTY, OBJECT_KIND, PAD, World

__all__ = ["draw_map", "put_map", "read_map"]


def _config_of(of: Game | GridworldConfig) -> GridworldConfig:
    if isinstance(of, GridworldConfig):
        return of
    if of.info.name != "gridworld":
        raise UsageError(f"Only a gridworld has a map to draw; this game is {of.info.name}.")
    return configured(of.config)


def draw_map(of: Game | GridworldConfig, world: World, i: int = 0) -> str:
    """Row i's current map: H lines of W characters, which ``map.text`` and the reset option ``map`` accept.

    Args:
        of: the game or its configuration, which has the glyphs.
        world: its state.
        i: which row.
    """
    config = _config_of(of)
    here = config.map
    glyphs = {EMPTY: ".", AGENT_KIND: "@"} | {
        OBJECT_KIND + t: kind.glyph for t, kind in enumerate(config.objects.values())
    }
    cells = world.kind[i, PAD : PAD + here.height, PAD : PAD + here.width].tolist()
    return "\n".join("".join(glyphs[cell] for cell in row) for row in cells)


def read_map(of: Game | GridworldConfig, text: str) -> NDArray[np.uint8]:
    """[h, w] uint8 values of ``kind`` from a drawing. Empty lines before and after it are ignored.

    Raises:
        NotationError: lines differ in length, or a character is not a glyph; ``at`` is its position.
    """
    config = _config_of(of)
    names = {kind.glyph: name for name, kind in config.objects.items()}
    known = {".": EMPTY, " ": EMPTY, "@": AGENT_KIND} | {glyph: OBJECT_KIND + t for t, glyph in enumerate(names)}
    start = len(text) - len(text.lstrip("\n"))
    lines = text.strip("\n").split("\n")
    for k, line in enumerate(lines, 1):
        if len(line) != len(lines[0]):
            raise NotationError(
                f"The map is ragged: line {k} has {len(line)} cells and line 1 has {len(lines[0])}; pad the shorter "
                "with dots.",
                start,
            )
        for column, glyph in enumerate(line):
            if glyph not in known:
                told = ", ".join(f"{one} {name}" for one, name in names.items())
                raise NotationError(
                    f"Line {k}, column {column + 1} of the map has {glyph!r}, which stands for nothing. "
                    f"Known: {told}, @ agent, . nothing.",
                    start + column,
                )
        start += len(line) + 1
    return np.array([[known[glyph] for glyph in line] for line in lines], np.uint8).reshape(len(lines), -1)


def put_map(config: GridworldConfig) -> Callable[[World, int, Any], None]:
    """The reset option ``map``: a drawn map replaces the one that was built; nothing else is placed on it.

    ``(world, i, text) -> None`` raises NotationError as ``read_map`` does, and UsageError if the value is not a string
    or the map has another size, no agents, more agents than slots or more objects than places.
    """
    here = config.map

    def put(world: World, i: int, value: Any) -> None:
        if not isinstance(value, str):
            raise UsageError(f"The option map is {value!r}; it must be a drawn map as a string, one line per row.")
        cells = read_map(config, value)
        if cells.shape != (here.height, here.width):
            raise UsageError(
                f"This map has {cells.shape[0]}x{cells.shape[1]} cells, the world {here.height}x{here.width}: draw it "
                "in that size, or make a game with terrain='ascii' and this map as text."
            )
        counted = (
            ("agents", int(np.count_nonzero(cells == AGENT_KIND)), world.agents.shape[1], "raise slots"),
            ("objects", int(np.count_nonzero(cells >= OBJECT_KIND)), world.objects.shape[1], "use terrain='ascii'"),
        )
        for name, count, most, way_out in counted:
            if count > most:
                raise UsageError(f"This map has {count} {name}, but the world has room for {most}: {way_out}.")
        if counted[0][1] == 0:
            raise UsageError("This map has no agents; draw an @ where one starts.")
        world.kind[i, PAD : PAD + here.height, PAD : PAD + here.width] = cells
        settle(world, i)

    return put
