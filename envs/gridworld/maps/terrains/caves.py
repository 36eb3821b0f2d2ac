"""Caves: rock at random, smoothed by a cellular automaton."""

from __future__ import annotations

from ....stepping.jit import kernel
from ...config.sections import MapRules
from ...state import COLUMN_STEP, EMPTY, ROW_STEP
from ..ground import FAR, ROCK, Ground, Work, chance, i64
from ..terrain import Option, Options, Site, Terrain, inside

__all__ = ["CAVES"]


@kernel
def build_caves(site: Site) -> None:
    """Random rock, then steps: a cell becomes rock if at least 5 of the 3 x 3 cells around it are, else empty.

    Small caves are then filled; if too few cells are open in the end, caves widen.
    Options: a per cent of rock, b steps, c cells of the smallest cave, d least per cent of open cells.
    Source: Johnson, Yannakakis, Togelius, "Cellular automata for real-time generation of infinite cave levels", 2010.
    """
    ground, rules, work = site.ground, site.rules, site.work
    high, wide = ground.shape
    for row in range(high):
        for col in range(wide):
            if chance(rules, 100) < rules["terrain_a"]:
                ground[row, col] = ROCK
    for _ in range(rules["terrain_b"]):
        _smooth(ground, work)
    _fill_small(ground, work, i64(rules["terrain_c"]))
    _widen(ground, work, (high * wide * i64(rules["terrain_d"]) + 99) // 100)


@kernel
def _smooth(ground: Ground, work: Work) -> None:
    """One step of the automaton. Everything outside counts as rock."""
    high, wide = ground.shape
    for row in range(-1, high + 1):
        # Sums of three neighbours in a row; the rows just above and below the ground are all rock.
        for col in range(wide):
            three = 3
            if 0 <= row < high:
                three = 1 if ground[row, col] else 0
                three += 1 if col == 0 or ground[row, col - 1] else 0
                three += 1 if col == wide - 1 or ground[row, col + 1] else 0
            work[(row + 1) * wide + col] = three
    for row in range(high):
        for col in range(wide):
            around = work[row * wide + col] + work[(row + 1) * wide + col] + work[(row + 2) * wide + col]
            ground[row, col] = ROCK if around >= 5 else EMPTY


@kernel
def _fill_small(ground: Ground, work: Work, smallest: int) -> None:
    """Fills caves with fewer than ``smallest`` cells; floods each cave once."""
    high, wide = ground.shape
    seen = high * wide
    for k in range(seen):
        work[seen + k] = 0
    for k in range(seen):
        if work[seen + k] or ground[k // wide, k % wide] != EMPTY:
            continue
        work[0], work[seen + k] = k, 1
        done, count = 0, 1
        while done < count:
            row, col = work[done] // wide, work[done] % wide
            done += 1
            for way in range(4):
                r, c = row + ROW_STEP[way], col + COLUMN_STEP[way]
                if 0 <= r < high and 0 <= c < wide and ground[r, c] == EMPTY and work[seen + r * wide + c] == 0:
                    work[seen + r * wide + c] = 1
                    work[count] = r * wide + c
                    count += 1
        if count < smallest:
            for j in range(count):
                ground[work[j] // wide, work[j] % wide] = ROCK


@kernel
def _widen(ground: Ground, work: Work, wanted: int) -> None:
    """Opens rock next to open cells, nearest first, until ``wanted`` are open; solid rock opens from the middle."""
    high, wide = ground.shape
    count = 0
    for k in range(high * wide):
        if ground[k // wide, k % wide] == EMPTY:
            work[count] = k
            count += 1
    if count == 0:
        ground[high // 2, wide // 2] = EMPTY
        work[0], count = high // 2 * wide + wide // 2, 1
    done = 0
    while count < wanted and done < count:
        row, col = work[done] // wide, work[done] % wide
        done += 1
        for way in range(4):
            r, c = row + ROW_STEP[way], col + COLUMN_STEP[way]
            if count < wanted and 0 <= r < high and 0 <= c < wide and ground[r, c] != EMPTY:
                ground[r, c] = EMPTY
                work[count] = r * wide + c
                count += 1


def _minimum(o: Options) -> tuple[int, int]:
    return 3, 3


def _room(here: MapRules, o: Options) -> int:
    high, wide = inside(here)
    return -(-high * wide * o["open"] // 100)


CAVES = Terrain(
    number=8,
    name="caves",
    about="Random rock, smoothed by a cellular automaton.",
    build=build_caves,
    options={
        "fill": Option(45, 0, 100, "per cent of the cells that are rock at first"),
        "steps": Option(4, 0, 20, "steps of the automaton: rock where at least 5 of the 3 x 3 cells around are rock"),
        "smallest": Option(8, 0, FAR, "caves of fewer cells are filled"),
        "open": Option(40, 1, 100, "per cent of the cells that must be open in the end; caves widen until they are"),
    },
    minimum=_minimum,
    room=_room,
)
