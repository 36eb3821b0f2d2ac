"""Opening walls until everybody can reach everybody, and everything that can be used."""

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
"""Marks of cells, in the first half of ``work``; search number n leaves 4 n + the direction it came from. The second
half links cells to lists. ``ground`` is the whole map here, border included."""


@kernel
def connect(world: World, i: int) -> None:
    """Opens walls of row i until all agents reach each other and every object that can be used, in few walls.

    Who is cut off (agents by slot, then objects by place) is joined to what the first agent reaches by the way that
    goes through the fewest walls. Other agents are no obstacle, objects are. The border stays, and so does what is
    enclosed by objects that are no walls. Opened walls are objects that are GONE; with the terrain ``mirror`` the
    wall's image is opened as well.
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
                return  # nobody lives here
            searches += 1
            _flood(ground, work, start)
        elif cut_off:
            here = _search(ground, work, start, searches, border)
            searches += 1
            if here >= 0:
                _open_way(ground, which, objects, work, start, here, axis)
                _flood(ground, work, here)
            elif k < len(agents):  # objects keep it from the others for ever; who is in here is joined to it
                _flood(ground, work, start)
            if axis >= 0:  # the images of opened walls may lead somewhere as well
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
    """Marks all that is reached from a cell through open ones."""
    height, width = ground.shape
    links = height * width
    work[start] = _REACHED
    work[links + start] = -1
    first = start  # cells that wait, as a linked list
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
    """The last cell on the way with the fewest walls from a cell to what is reached; -1: there is no way.

    A breadth-first search whose levels are numbers of walls: open cells come into the list of this level, walls
    into that of the next one.
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
    """Opens the walls from a cell back to where the search began."""
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
