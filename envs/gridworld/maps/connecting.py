"""Opens walls until all agents can reach each other and every usable object."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stepping.jit import kernel
from ..state import AGENT_KIND, COLUMN_STEP, EMPTY, GONE, PAD, ROW_STEP, World
from .ground import ROCK, Ground, Work, i64
from .terrains.mirror import axis_of, image

__all__ = ["connect"]

_NOT_SEEN, _REACHED = 0, -1
"""Marks of cells, in the first half of ``work``; search n marks a cell 4 n + the direction of the step into it. The
second half links cells into lists. Here ``ground`` is the whole map, border included."""


@kernel
def connect(world: World, i: int) -> None:
    """Opens few walls of row i, so that all agents reach each other and every usable object.

    Agents by slot, then objects by place: each that is cut off is joined to the area that the first agent reaches,
    along the path through the fewest walls. Agents do not block a path; objects other than walls do, and what they
    enclose stays enclosed. The border stays closed. Opened walls become GONE; on the terrain ``mirror``,
    their images open as well.
    """
    rules, agents, objects, types = world.rules[i], world.agents[i], world.objects[i], world.types[i]
    height, width, border = i64(rules["height"]), i64(rules["width"]), i64(rules["border"])
    axis = axis_of(rules)
    ground = world.kind[i, PAD : PAD + height, PAD : PAD + width]
    which = world.which[i, PAD : PAD + height, PAD : PAD + width]
    work = world.work[i]
    for cell in range(height * width):
        work[cell] = _NOT_SEEN
    searches = i64(0)
    for k in range(len(agents) + len(objects)):
        if k < len(agents):
            s = k
            if not agents[s]["alive"]:
                continue
            start = i64(agents[s]["row"]) * width + agents[s]["col"]
            cut_off = work[start] != _REACHED
        else:
            o = k - len(agents)
            if objects[o]["type"] == GONE or not types[objects[o]["type"]]["usable"]:
                continue
            start = i64(objects[o]["row"]) * width + objects[o]["col"]
            cut_off = not _beside_reached(ground, work, start)
        if searches == 0:
            if k >= len(agents):
                return  # no agent is alive
            searches += 1
            _flood(ground, work, start)
        elif cut_off:
            here = _search(ground, work, start, searches, border)
            searches += 1
            if here >= 0:
                _open_way(ground, which, objects, work, start, here, axis)
                _flood(ground, work, here)
            elif k < len(agents):  # objects enclose it; join what else is in here to it
                _flood(ground, work, start)
            if axis >= 0:  # the images of opened walls can connect areas too
                for cell in range(height * width):
                    free = work[cell] != _REACHED and ground[cell // width, cell % width] <= AGENT_KIND
                    if free and _beside_reached(ground, work, cell):
                        _flood(ground, work, i64(cell))


@kernel
def _beside_reached(ground: Ground, work: Work, cell: int) -> bool:
    height, width = ground.shape
    row, col = cell // width, cell % width
    for way in range(4):
        r, c = row + ROW_STEP[way], col + COLUMN_STEP[way]
        if 0 <= r < height and 0 <= c < width and work[r * width + c] == _REACHED:
            return True
    return False


@kernel
def _flood(ground: Ground, work: Work, start: int) -> None:
    """Marks all cells that a cell reaches through open cells."""
    height, width = ground.shape
    links = height * width
    work[start] = _REACHED
    work[links + start] = -1
    first = start  # linked list of cells to expand
    while first >= 0:
        row, col = first // width, first % width
        first = i64(work[links + first])
        for way in range(4):
            r, c = row + ROW_STEP[way], col + COLUMN_STEP[way]
            cell = r * width + c
            if 0 <= r < height and 0 <= c < width and work[cell] != _REACHED and ground[r, c] <= AGENT_KIND:
                work[cell] = _REACHED
                work[links + cell] = first
                first = cell


@kernel
def _search(ground: Ground, work: Work, start: int, number: int, border: int) -> int:
    """The last cell before the reached area on a path from ``start`` through the fewest walls; -1: there is no path.

    A breadth-first search whose levels are numbers of walls: open cells join the list of this level, walls that of
    the next.
    """
    height, width = ground.shape
    links = height * width
    mark = 4 * number
    work[start] = mark
    work[links + start] = -1
    first, later = start, i64(-1)
    while first >= 0 or later >= 0:
        if first < 0:
            first, later = later, i64(-1)
        here = first
        first = i64(work[links + here])
        row, col = here // width, here % width
        for way in range(4):
            r, c = row + ROW_STEP[way], col + COLUMN_STEP[way]
            if not (0 <= r < height and 0 <= c < width):
                continue
            cell = r * width + c
            if work[cell] == _REACHED:
                return here
            if work[cell] >= mark:
                continue
            if ground[r, c] <= AGENT_KIND:
                work[cell], work[links + cell] = mark + way, first
                first = cell
            elif ground[r, c] == ROCK and border <= r < height - border and border <= c < width - border:
                work[cell], work[links + cell] = mark + way, later
                later = cell
    return -1


@kernel
def _open_way(
    ground: Ground, which: NDArray[np.int32], objects: Any, work: Work, start: int, here: int, axis: int
) -> None:
    """Opens the walls on the path from ``here`` back to ``start``."""
    height, width = ground.shape
    while True:
        other = image(axis, height, width, here) if axis >= 0 else here
        for cell in (here, other):
            row, col = cell // width, cell % width
            if ground[row, col] == ROCK:
                ground[row, col] = EMPTY
                objects[which[row, col]]["type"] = GONE
        if here == start:
            return
        way = work[here] % 4
        here -= ROW_STEP[way] * width + COLUMN_STEP[way]
