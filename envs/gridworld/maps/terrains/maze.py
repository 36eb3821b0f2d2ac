"""Mazes: a spanning tree of passages."""

from __future__ import annotations

from ....stepping.jit import kernel
from ...config.sections import MapRules
from ...state import COLUMN_STEP, EMPTY, ROW_STEP
from ..ground import Ground, Rules, chance, clear, i64, wall_up
from ..terrain import WALL, Option, Options, Site, Terrain, inside

__all__ = ["MAZE"]


@kernel
def build_maze(site: Site) -> None:
    """A perfect maze by the growing tree: each step opens a visited cell to a random unvisited neighbour.

    It extends the newest cell (depth first) or, with a probability of c per cent, a random one (as Prim does).
    Options: a width of the passages, b wall between them, c branching, d per cent of the other walls to open.
    Source: Jamis Buck, "Mazes for Programmers", chapter 11.
    """
    ground, rules, work = site.ground, site.rules, site.work
    corridor, branching = i64(rules["terrain_a"]), i64(rules["terrain_c"])
    wall, loops = i64(rules["terrain_b"]), i64(rules["terrain_d"])
    step = corridor + wall
    rows, columns = (ground.shape[0] + wall) // step, (ground.shape[1] + wall) // step
    top = (ground.shape[0] - (rows * step - wall)) // 2
    left = (ground.shape[1] - (columns * step - wall)) // 2
    maze = ground[top : top + rows * step - wall, left : left + columns * step - wall]
    wall_up(ground)
    work[0] = chance(rules, rows * columns)
    clear(maze, work[0] // columns * step, work[0] % columns * step, corridor, corridor)
    count = 1
    while count:  # each round adds a cell to the maze or removes one from the list
        place = count - 1
        if branching and chance(rules, 100) < branching:
            place = chance(rules, count)
        row, col = work[place] // columns, work[place] % columns
        way = _free_way(maze, rules, row * step, col * step, step)
        if way < 0:
            count -= 1
            work[place] = work[count]
        else:
            _passage(maze, row * step, col * step, corridor, step, way)
            work[count] = (row + ROW_STEP[way]) * columns + col + COLUMN_STEP[way]
            count += 1
    if loops:
        for row in range(0, maze.shape[0], step):
            for col in range(0, maze.shape[1], step):
                for way in range(1, 4, 2):  # down and right
                    r, c = row + ROW_STEP[way] * corridor, col + COLUMN_STEP[way] * corridor
                    shut = r < maze.shape[0] and c < maze.shape[1] and maze[r, c] != EMPTY
                    if shut and chance(rules, 100) < loops:
                        _passage(maze, row, col, corridor, step, way)


@kernel
def _free_way(maze: Ground, rules: Rules, row: int, col: int, step: int) -> int:
    """A random direction in which the next cell is still rock; -1: no direction."""
    free = 0
    chosen = -1
    for look in range(2):  # count them, then find the chosen one
        for way in range(4):
            r, c = row + ROW_STEP[way] * step, col + COLUMN_STEP[way] * step
            if 0 <= r < maze.shape[0] and 0 <= c < maze.shape[1] and maze[r, c] != EMPTY:
                if look == 0:
                    free += 1
                elif chosen == 0:
                    return way
                else:
                    chosen -= 1
        if free == 0:
            return -1
        if look == 0:
            chosen = chance(rules, free)
    return -1


@kernel
def _passage(maze: Ground, row: int, col: int, corridor: int, step: int, way: int) -> None:
    """Opens the neighbour in a direction and the wall between; (row, col) is the cell's upper left corner."""
    down, right = ROW_STEP[way] * step, COLUMN_STEP[way] * step
    clear(maze, min(row, row + down), min(col, col + right), abs(down) + corridor, abs(right) + corridor)


def _minimum(o: Options) -> tuple[int, int]:
    return o["corridor"], o["corridor"]


def _room(here: MapRules, o: Options) -> int:
    (high, wide), corridor, wall = inside(here), o["corridor"], o["wall"]
    cells = ((high + wall) // (corridor + wall)) * ((wide + wall) // (corridor + wall))
    return cells * corridor**2 + (cells - 1) * corridor * wall


MAZE = Terrain(
    number=3,
    name="maze",
    about="A perfect maze: exactly one path between any two cells, until something is placed in it.",
    build=build_maze,
    options={
        "corridor": Option(1, 1, 50, "width of the passages"),
        "wall": WALL,
        "branching": Option(10, 0, 100, "0: long winding passages; 100: many short dead ends"),
        "loops": Option(0, 0, 100, "per cent of the remaining walls between neighbours that are opened as well"),
    },
    minimum=_minimum,
    room=_room,
)
