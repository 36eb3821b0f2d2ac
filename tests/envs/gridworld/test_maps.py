"""Terrains, walls that open, drawn maps: what each promises, looked at as characters.

Longer than most files: a section for each terrain, and all read maps in the same way.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import coterie
from coterie.envs import make_game
from coterie.envs.gridworld.config import GridworldConfig, Terrain
from coterie.envs.gridworld.drawing import draw_map, put_map, read_map
from coterie.envs.gridworld.files import from_dict
from coterie.envs.gridworld.layout import GONE, OBJECT_KIND, PAD, WALL, World
from coterie.envs.gridworld.presets import configure
from coterie.envs.gridworld.reset import reset
from coterie.envs.gridworld.terrain import OPTIONS, minimum, open_cells, terrain_regions
from coterie.envs.gridworld.world import new_world
from coterie.envs.jit import disabled
from coterie.errors import NotationError, UsageError

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


# -- all of them -------------------------------------------------------------------------------------------------------


@SLOW
@given(any_map(), SEEDS)
def test_any_map_is_closed_and_holds_what_was_asked_for(fields: dict[str, Any], seed: int) -> None:
    config = built(fields)
    world = new_world(config, 1)
    around = np.ones(world.kind.shape[1:], bool)
    around[PAD:-PAD, PAD:-PAD] = False
    beyond = world.kind[0][around].copy()
    reset(world, 0, np.uint64(seed))
    assert (world.kind[0][around] == beyond).all(), "written outside the map"
    lines = lines_of(config, world)
    everywhere = inside(lines, 0)
    assert everywhere - inside(lines, fields["border"]) <= cells_of(lines, "#")
    found, regions = Counter("".join(lines)), terrain_regions(config.map)
    times = sum(region.agents for region in regions) // fields["agents"]
    assert found["@"] == times * fields["agents"]
    assert found["n"] == times * fields["objects"]["generator"]
    assert found["a"] == times * fields["objects"]["altar"]
    if not fields["connected"]:
        bare = len(everywhere - inside(lines, fields["border"]))
        assert found["#"] >= bare + times * fields["objects"]["wall"]


@SLOW
@given(any_map(), SEEDS)
def test_the_room_that_a_terrain_promises_is_there(fields: dict[str, Any], seed: int) -> None:
    config = built(fields | {"connected": False})
    placed = sum(region.agents + sum(region.objects.values()) for region in terrain_regions(config.map))
    lines = lines_of(config, build(config, seed))
    assert len(cells_of(lines, ".")) + placed >= open_cells(config)


@SLOW
@given(any_map(), SEEDS)
def test_connected_maps_are(fields: dict[str, Any], seed: int) -> None:
    """Agents reach each other and the neighbours of all that can be used, unless objects or the border enclose it."""
    config = built(fields | {"connected": True})
    lines = lines_of(config, build(config, seed))
    before = drawn(**(fields | {"connected": False, "seed": seed}))
    open_now, open_then = cells_of(lines, ".@"), cells_of(before, ".@")
    assert open_then <= open_now
    assert cells_of(lines, "@na") == cells_of(before, "@na"), "something else than walls was touched"
    agents = cells_of(lines, "@")
    for first in agents:
        most = reached(open_now | (cells_of(lines, "#") & inside(lines, fields["border"])), first)
        here = reached(open_now, first)
        assert agents & most <= here
    rock = cells_of(lines, "#") & inside(lines, fields["border"])
    could, can = (set().union(*(reached(open_now | more, first) for first in agents)) for more in (rock, set()))
    for thing in cells_of(lines, "na"):
        assert can & set(beside(thing)) or not could & set(beside(thing))
    there = reached(open_then, min(agents))
    fine = agents <= there and all(there & set(beside(thing)) for thing in cells_of(before, "na"))
    if fine:
        assert lines == before, "walls were opened though nobody was cut off"


@pytest.mark.parametrize("terrain", [name for name in OPTIONS if name != "ascii"])
def test_maps_of_the_smallest_size_are_built_and_smaller_ones_refused(terrain: str) -> None:
    agents = 2 if terrain == "mirror" else 1
    for border in (0, 1, 2):
        height, width = minimum(terrain, {}, border)
        for more in (0, 1):
            if height + more - 2 * border >= agents:
                assert drawn(terrain, height + more, width, agents=agents, border=border)
        for smaller in ((height - 1, width), (height, width - 1)):
            with pytest.raises(UsageError):
                world_of(terrain, *smaller, agents=agents, border=border)
            if min(smaller) > 2 * border + 1:
                with pytest.raises(UsageError, match=f"{terrain}.*needs at least {height}x{width}"):
                    world_of(terrain, *smaller, agents=agents, border=border)


@pytest.mark.parametrize("terrain", [name for name in OPTIONS if name not in ("ascii", "random")])
def test_wrong_options_are_told(terrain: str) -> None:
    for name, option in OPTIONS[terrain].items():
        for value in (option.low - 1, option.high + 1):
            with pytest.raises(UsageError, match=rf"terrain_options\.{name} is {value}.*{option.low} to {option.high}"):
                world_of(terrain, 90, 90, terrain_options={name: value})


def test_things_that_do_not_fit_are_told() -> None:
    with pytest.raises(UsageError, match=r"82 agents and objects.*11x11.*'maze' has room for 49"):
        world_of("maze", 11, 11, agents=2, objects={"altar": 80})
    with pytest.raises(UsageError, match=r"36 agents and objects.*'rooms' has room for 16 of them"):
        world_of("rooms", 7, 7, agents=9, terrain_options={"rows": 2, "columns": 2, "wall": 1})
    with pytest.raises(UsageError, match="region of 2x2 cells at row 1, column 1"):
        world_of("random", 9, 9, regions=[{"top": 1, "left": 1, "height": 2, "width": 2, "objects": {"altar": 5}}])


def test_another_terrain_begins_with_its_own_options() -> None:
    rooms = {"rows": 2, "columns": 2}
    assert configure("a20_r4_40x40").map.terrain_options == rooms
    assert configure("a20_r4_40x40", overrides={"map": {"terrain": "maze"}}).map.terrain_options == {}
    assert configure("a20_r4_40x40", overrides={"map": {"terrain": "rooms"}}).map.terrain_options == rooms
    changes = {"terrain": "maze", "terrain_options": {"corridor": 2}}
    assert configure("a20_r4_40x40", overrides={"map": changes}).map.terrain_options == {"corridor": 2}


def test_at_most_four_options_each() -> None:
    assert {terrain.name.lower() for terrain in Terrain} == set(OPTIONS)
    assert all(len(options) <= 4 for options in OPTIONS.values())


# -- the same everywhere -----------------------------------------------------------------------------------------------

SAMPLES: dict[str, dict[str, Any]] = {
    "rooms": {"terrain_options": {"rows": 2, "columns": 3}, "agents": 1},
    "bsp": {"terrain_options": {"rooms": 6}},
    "maze": {"terrain_options": {"branching": 30, "loops": 20}},
    "radial_maze": {"terrain_options": {"arms": 7}},
    "mean_distance": {"terrain_options": {"distance": 6, "spread": 3}},
    "mirror": {"objects": {"wall": 30, "altar": 2}},
    "caves": {},
    "bases": {"terrain_options": {"size": 4, "centre": 3}, "agents": 1},
}


def digests() -> dict[str, str]:
    found = {}
    for terrain, more in SAMPLES.items():
        fields = {"agents": 2, "objects": {"wall": 4, "altar": 2}, "connected": True} | more
        config = world_of(terrain, 20, 23, **fields)
        text = "".join(draw_map(config, build(config, seed)) for seed in (1, 2**63 + 5))
        found[terrain] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def test_maps_are_the_same_without_the_compiler() -> None:
    code = (
        f"import sys, json; sys.path.insert(0, {str(Path(__file__).parent)!r}); "
        "import test_maps; print(json.dumps(test_maps.digests()))"
    )
    other = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert other.returncode == 0, other.stderr
    assert json.loads(other.stdout) == digests()


@pytest.mark.parametrize("terrain", SAMPLES)
def test_a_seed_is_a_map_and_others_are_others(terrain: str) -> None:
    fields = {"agents": 2, "objects": {"altar": 2}} | SAMPLES[terrain]
    config = world_of(terrain, 20, 23, **fields)
    many = new_world(config, 5)
    for i, seed in enumerate((7, 8, 7, 9, 8)):
        reset(many, i, np.uint64(seed))
    maps = [draw_map(config, many, i) for i in range(5)]
    assert maps[0] == maps[2] == draw_map(config, build(config, 7))
    assert maps[1] == maps[4]
    assert len(set(maps)) == 3
    reset(many, 0, np.uint64(9))  # nothing of the map before is left
    assert draw_map(config, many, 0) == maps[3]


# -- each of them ------------------------------------------------------------------------------------------------------


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3), SEEDS)
@settings(max_examples=EXAMPLES // 2, deadline=None)
def test_rooms_have_equal_floors_and_a_door_in_each_shared_wall(
    rows: int, columns: int, wall: int, door: int, seed: int
) -> None:
    options = {"rows": rows, "columns": columns, "wall": wall, "door": door}
    high, wide = 2 + 3 * rows + (rows - 1) * wall, 2 + 4 * columns + (columns - 1) * wall
    lines = drawn("rooms", high, wide, seed, terrain_options=options)
    for r in range(rows):
        for c in range(columns):
            top, left = 1 + r * (3 + wall), 1 + c * (4 + wall)
            floor = [line[left : left + 4] for line in lines[top : top + 3]]
            assert ("".join(floor).count("#"), "".join(floor).count("@")) == (0, 1)
            if c < columns - 1:
                between = [line[left + 4 : left + 4 + wall] for line in lines[top : top + 3]]
                assert sorted(between) == sorted(["." * wall] * door + ["#" * wall] * (3 - door))
                assert door == 0 or "." * wall * door in "".join(between), "one door, not several"
            if r < rows - 1:
                between = lines[top + 3 : top + 3 + wall]
                assert len({line[left : left + 4] for line in between}) == 1
                assert between[0][left : left + 4].strip("#") == "." * door


def test_rooms_hold_the_map_s_things_each() -> None:
    config = configure("a20_r4_40x40")
    lines = lines_of(config, build(config, 3))
    for top, left in ((1, 1), (1, 21), (21, 1), (21, 21)):
        room = Counter("".join(line[left : left + 18] for line in lines[top : top + 18]))
        assert (room["@"], room["a"], room["c"], room["n"], room["#"]) == (5, 1, 3, 10, 40)
    config = configure("a100_r25_100x100")
    lines = lines_of(config, build(config, 3))
    assert Counter("".join(line[41:59] for line in lines[61:79]))["@"] == 4


@given(st.integers(1, 12), st.integers(2, 5), st.integers(1, 2), SEEDS)
@settings(max_examples=EXAMPLES // 2, deadline=None)
def test_bsp_rooms_are_joined(rooms: int, least: int, corridor: int, seed: int) -> None:
    lines = drawn("bsp", 24, 31, seed, terrain_options={"rooms": rooms, "min_room": least, "corridor": corridor})
    assert len(parts_of(cells_of(lines, ".@"))) == 1
    if rooms == 1:  # a single rectangle
        cells = cells_of(lines, ".@")
        (top, left), (bottom, right) = min(cells), max(cells)
        assert len(cells) == (bottom - top + 1) * (right - left + 1)
        assert bottom - top + 1 >= 15  # two thirds of 22
        assert right - left + 1 >= 20


def test_bsp_makes_as_many_rooms_as_fit() -> None:
    few, many = (drawn("bsp", 40, 40, 5, terrain_options={"rooms": rooms, "min_room": 3}) for rooms in (2, 40))

    def corners(lines: Lines) -> int:
        """Open cells with rock above and to the left, and open floor below and right: where a room begins."""
        open_cells = cells_of(lines, ".@")
        return sum(
            (r - 1, c) not in open_cells
            and (r, c - 1) not in open_cells
            and {(r + 1, c), (r, c + 1), (r + 1, c + 1)} <= open_cells
            for r, c in open_cells
        )

    assert corners(few) <= 4 < 15 <= corners(many)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 100), st.integers(0, 9), st.integers(0, 9), SEEDS)
@settings(max_examples=EXAMPLES // 2, deadline=None)
@example(1, 1, 0, 0, 0, 0)
def test_mazes_are_perfect(corridor: int, wall: int, branching: int, more: int, wider: int, seed: int) -> None:
    """The maze's cells and the passages between them are a tree that holds them all."""
    options = {"corridor": corridor, "wall": wall, "branching": branching}
    high, wide = corridor + 2 + more, corridor + 2 + wider
    lines = drawn("maze", high, wide, seed, terrain_options=options)
    step = corridor + wall
    rows, columns = (high - 2 + wall) // step, (wide - 2 + wall) // step
    cells = cells_of(lines, ".@")
    top, left = min(r for r, _ in cells), min(c for _, c in cells)
    edges = 0
    for r in range(rows):
        for c in range(columns):
            row, col = top + r * step, left + c * step
            assert {(row + y, col + x) for y in range(corridor) for x in range(corridor)} <= cells
            for y, x, last in ((corridor, 0, r == rows - 1), (0, corridor, c == columns - 1)):
                edges += not last and (row + y, col + x) in cells
    assert edges == rows * columns - 1
    assert len(parts_of(cells)) == 1
    assert len(cells) == rows * columns * corridor**2 + edges * corridor * wall


def dead_ends(lines: Lines) -> int:
    cells = cells_of(lines, ".@")
    return sum(len(cells & set(beside(cell))) == 1 for cell in cells)


def test_branching_makes_dead_ends_and_loops_take_walls() -> None:
    ends = [
        sum(dead_ends(drawn("maze", 31, 31, seed, terrain_options={"branching": share})) for seed in range(8))
        for share in (0, 20, 100)
    ]
    assert ends[0] * 1.5 < ends[1] < ends[2]
    open_ = [len(cells_of(drawn("maze", 31, 31, 1, terrain_options={"loops": share}), ".@")) for share in (0, 30, 100)]
    assert open_[0] == 15 * 15 * 2 - 1
    assert open_[2] == 15 * 15 + 2 * 15 * 14
    assert open_[0] + 30 < open_[1] < open_[0] + 90  # 196 walls are left, and 59 of them go on average


def test_radial_mazes_have_arms_all_around() -> None:
    lines = drawn("radial_maze", 25, 25, terrain_options={"arms": 4, "corridor": 1})
    cells = cells_of(lines, ".@")
    assert cells == {(12, c) for c in range(1, 24)} | {(r, 12) for r in range(1, 24)} | {
        (r, c) for r in (11, 12, 13) for c in (11, 12, 13)
    }
    short = cells_of(drawn("radial_maze", 25, 25, terrain_options={"arms": 4, "corridor": 1, "length": 5}), ".@")
    assert short == {(r, c) for r, c in cells if abs(r - 12) <= 5 and abs(c - 12) <= 5}
    for arms in range(1, 20):
        for side in (1, 2, 3):
            lines = drawn("radial_maze", 31, 42, terrain_options={"arms": arms, "corridor": side})
            assert len(parts_of(cells_of(lines, ".@"))) == 1
    eight = cells_of(drawn("radial_maze", 21, 25, terrain_options={"arms": 8, "corridor": 3}), ".@")
    assert {(r, c) for r in (1, 10, 19) for c in (1, 12, 23)} <= eight


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 4), SEEDS)
@settings(max_examples=EXAMPLES // 2, deadline=None)
def test_objects_lie_at_their_distance(distance: int, spread: int, near: int, seed: int) -> None:
    spread = min(spread, distance)
    side = max(distance + spread, near) + 6
    lines = drawn(
        "mean_distance",
        side,
        side + 1,
        seed,
        agents=1,
        objects={"altar": 1},
        terrain_options={"distance": distance, "spread": spread, "near": near},
    )
    middle = ((side - 1) // 2, side // 2)

    def steps(glyph: str) -> int:
        ((r, c),) = cells_of(lines, glyph)
        return abs(r - middle[0]) + abs(c - middle[1])

    assert steps("@") <= near
    crowded = distance == spread and steps("@") == 0  # the agent stands where the object would lie
    assert distance - spread <= steps("a") <= max(distance + spread, int(crowded))


def test_distances_have_their_mean() -> None:
    lines = [
        drawn("mean_distance", 41, 41, seed, objects={"altar": 20, "wall": 30}, terrain_options={"distance": 12})
        for seed in range(20)
    ]
    steps = [abs(r - 20) + abs(c - 20) for one in lines for r, c in cells_of(one, "a")]
    assert np.mean(steps) == pytest.approx(12, abs=0.5)  # 400 draws from 7..17: a standard error of 0.16
    assert set(steps) == set(range(7, 18))
    walls = [abs(r - 20) + abs(c - 20) for one in lines for r, c in cells_of(one, "#") & inside(one, 1)]
    assert max(walls) > 22, "walls lie anywhere"


def turned(lines: Lines, axis: int) -> Lines:
    if axis == 0:
        return [line[::-1] for line in lines]
    return lines[::-1] if axis == 1 else [line[::-1] for line in lines[::-1]]


@given(st.integers(0, 2), st.integers(5, 12), st.integers(5, 12), st.integers(1, 6), st.booleans(), SEEDS)
@settings(max_examples=EXAMPLES // 2, deadline=None)
def test_mirrored_maps_are_fair(axis: int, high: int, wide: int, agents: int, connected: bool, seed: int) -> None:
    middle = ((high - 2) * (wide % 2), (wide - 2) * (high % 2), (wide % 2) * (high % 2))[axis]
    fields = {"agents": agents, "objects": {"wall": 6, "altar": 1}, "terrain_options": {"axis": axis}}
    odd = 1 + agents % 2
    if odd > middle:
        with pytest.raises(UsageError, match="needs two of everything"):
            world_of("mirror", high, wide, **fields)
        return
    assume(agents + 7 <= (high - 2) * (wide - 2))
    lines = drawn("mirror", high, wide, seed, connected=connected, **fields)
    assert lines == turned(lines, axis)
    assert ("".join(lines).count("@"), "".join(lines).count("a")) == (agents, 1)


@given(st.integers(5, 30), st.integers(5, 30), st.integers(0, 100), st.integers(0, 6), SEEDS)
@settings(max_examples=EXAMPLES // 2, deadline=None)
@example(12, 12, 100, 4, 0)
@example(12, 12, 0, 0, 0)
def test_caves_are_open_as_far_as_asked(high: int, wide: int, rock: int, steps: int, seed: int) -> None:
    options = {"fill": rock, "steps": steps, "open": 30, "smallest": 6}
    lines = drawn("caves", high, wide, seed, terrain_options=options)
    cells = cells_of(lines, ".@")
    assert 100 * len(cells) >= 30 * (high - 2) * (wide - 2)
    if 100 * (len(cells) - 4) > 30 * (high - 2) * (wide - 2):  # nothing had to be widened
        assert min(map(len, parts_of(cells))) >= 6
    if rock == 0 and steps == 0:
        assert len(cells) == (high - 2) * (wide - 2)


def test_the_automaton_smooths() -> None:
    """Rock and open cells with neighbours of the other kind become fewer with each step."""
    edges = []
    for steps in (0, 1, 4):
        lines = drawn("caves", 60, 60, 4, terrain_options={"steps": steps, "smallest": 0})
        cells = cells_of(lines, ".@")
        edges.append(sum((other not in cells) for cell in cells for other in beside(cell)))
    assert edges[0] > 1.5 * edges[1] > 1.5 * 1.2 * edges[2]


def test_one_step_of_the_automaton_is_as_told() -> None:
    before, after = (
        drawn("caves", 24, 31, 9, terrain_options={"steps": steps, "smallest": 0, "open": 1}) for steps in (2, 3)
    )
    rock = inside(before, 0) - cells_of(before, ".@")
    beyond = {(r, c) for r in (0, 23) for c in range(31)} | {(r, c) for r in range(24) for c in (0, 30)}
    expected = {
        (r, c) for r, c in inside(before, 1) if sum((r + y, c + x) in rock for y in (-1, 0, 1) for x in (-1, 0, 1)) >= 5
    }
    assert inside(after, 0) - cells_of(after, ".@") == expected | beyond


@given(st.integers(1, 6), st.integers(0, 4), st.integers(0, 5), st.integers(0, 2), SEEDS)
@settings(max_examples=EXAMPLES // 2, deadline=None)
def test_bases_lie_in_the_corners(size: int, door: int, centre: int, border: int, seed: int) -> None:
    options = {"size": size, "door": door, "centre": centre}
    high, wide = minimum("bases", options, border)
    lines = drawn("bases", high + 1, wide + 2, seed, border=border, terrain_options=options)
    last_row, last_col = high + 1 - border - size, wide + 2 - border - size
    gap = min(size, door)
    for top, left in ((border, border), (border, last_col), (last_row, border), (last_row, last_col)):
        floor = "".join(line[left : left + size] for line in lines[top : top + size])
        assert (floor.count("@"), floor.count(".")) == (1, size * size - 1)
        shut = top + size if top == border else top - 1
        assert lines[shut][left : left + size].count(".") == gap
        side = left + size if left == border else left - 1
        assert "".join(line[side] for line in lines[top : top + size]).count(".") == gap
    parts = parts_of(cells_of(lines, ".@"))
    assert len(parts) == (1 if door else 5 + (centre > 0))


def test_bases_leave_wilds_and_centre_to_regions() -> None:
    config = configure("a20_b4_40x40")
    lines = lines_of(config, build(config, 5))
    size = config.map.terrain_options["size"]
    for rows in (lines[1 : 1 + size], lines[39 - size : 39]):
        for start in (1, 39 - size):
            assert "".join(line[start : start + size] for line in rows).count("@") == 5
    assert "".join(lines).count("@") == 20
    assert len(parts_of(cells_of(lines, ".@"))) >= 1


# -- opening walls -----------------------------------------------------------------------------------------------------


def connected(text: str, border: int = 1) -> Lines:
    lines = text.strip("\n").split("\n")
    config = from_dict(
        {
            "map": {
                "terrain": "ascii",
                "text": text,
                "height": len(lines),
                "width": len(lines[0]),
                "agents": 0,
                "objects": {},
                "border": border,
                "connected": True,
            }
        }
    )
    return lines_of(configure(config=config), build(configure(config=config)))


def opened(text: str) -> set[Cell]:
    before = text.strip("\n").split("\n")
    after = connected(text)
    changed = {(r, c) for r, c in inside(before, 0) if before[r][c] != after[r][c]}
    assert all(before[r][c] == "#" and after[r][c] == "." for r, c in changed)
    return changed


def test_the_thinnest_wall_opens() -> None:
    assert opened("#########\n#@..#...#\n#######.#\n#@......#\n#########") == {(1, 4)}
    assert opened("########\n#@..##@#\n#...####\n#...##.#\n########") == {(1, 4), (1, 5)}
    assert opened("#######\n#@.#@.#\n#.....#\n#######") == set()


def test_walls_open_for_what_can_be_used_and_not_for_others() -> None:
    assert len(opened("########\n#@.###a#\n#..##n##\n#..#####\n########")) == 3
    assert opened("#######\n#@.##.#\n#..##.#\n#######") == set(), "nobody is there"


def test_objects_are_walked_around() -> None:
    assert opened("######\n#@na@#\n#.##.#\n######") == {(2, 2), (2, 3)}
    assert opened("######\n#@na@#\n######") == set(), "the border stays"
    assert opened("#######\n#@.naa#\n#..aaa#\n#..aaa#\n#######") == set(), "what other objects enclose stays enclosed"


def test_opened_walls_are_gone() -> None:
    text = "#####\n#@#@#\n#####"
    config = configure(
        config={"map": {"terrain": "ascii", "text": text, "agents": 0, "objects": {}, "connected": True}}
    )
    world = build(config)
    assert draw_map(config, world) == "#####\n#@.@#\n#####"
    left = world.objects[0][world.objects[0]["type"] != GONE]
    assert sorted(zip(left["row"].tolist(), left["col"].tolist(), strict=True)) == sorted(
        cells_of(draw_map(config, world).split("\n"), "#")
    )
    assert (left["type"] == WALL).all()


def test_many_cut_off_are_joined_by_few_walls() -> None:
    """A row of cells behind one wall each: as many walls open as there are cells."""
    lines = ["#" * 21, "#" + "@#" * 10, "#" + "." * 19 + "#", "#" * 21]
    assert opened("\n".join(lines)) == set()
    lines = ["#" * 21, "#" + "@#" * 10, "#" * 21, "#" + "." * 19 + "#", "#" * 21]
    changed = opened("\n".join(lines))
    assert len(changed) <= 10


# -- drawn maps --------------------------------------------------------------------------------------------------------


@given(any_map(), SEEDS)
@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_drawing_reads_back_as_the_same_map(fields: dict[str, Any], seed: int) -> None:
    config = built(fields)
    world = build(config, seed)
    text = draw_map(config, world)
    assert (read_map(config, f"\n{text}\n") == world.kind[0, PAD:-PAD, PAD:-PAD]).all()
    again = configure(config={"map": {"terrain": "ascii", "text": text, "agents": 0, "objects": {}}})
    copy = build(again, seed + 1 & 2**64 - 1)
    assert draw_map(again, copy) == text
    assert copy.agents["alive"].sum() == world.agents["alive"].sum()
    other = new_world(config, 2)
    reset(other, 1, np.uint64(0))
    put_map(config)(other, 1, text)
    assert draw_map(config, other, 1) == text
    for s in np.flatnonzero(other.agents[1]["alive"]):
        agent = other.agents[1, s]
        assert text.split("\n")[agent["row"]][agent["col"]] == "@"


def test_a_put_map_is_played_on() -> None:
    config = world_of("random", 5, 6, agents=3, objects={"altar": 4})
    world = build(config)
    put_map(config)(world, 0, "######\n#@.a.#\n#.##.#\n#..@.#\n######")
    assert world.agents[0]["alive"].tolist() == [True, True, False]
    assert [(a["row"], a["col"]) for a in world.agents[0, :2]] == [(1, 1), (3, 3)]
    altar = world.objects[0, world.which[0, 1 + PAD, 3 + PAD]]
    assert (altar["row"], altar["col"], altar["type"] + OBJECT_KIND) == (1, 3, world.kind[0, 1 + PAD, 3 + PAD])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("####\n#@#\n####", r"ragged: line 2 has 3 cells and line 1 has 4"),
        ("####\n#@x#\n####", r"Line 2, column 3 of the map has 'x'.*# wall.*@ agent"),
        ("####\n#@.#\n####", r"3x4 cells, the world 5x6"),
        ("######\n#....#\n#....#\n#....#\n######", r"no agents"),
        ("######\n#@@@@#\n#....#\n#....#\n######", r"4 agents, and the world has places for 3: raise slots"),
        ("######\n#@aaa#\n#aaaa#\n#aaaa#\n######", r"29 objects, and the world has places for 22"),
        ("", r"1x0 cells"),
        (7, r"option map is 7; it takes a drawn map"),
    ],
)
def test_maps_that_cannot_be_put_are_told(value: Any, message: str) -> None:
    config = world_of("random", 5, 6, agents=3, objects={"altar": 4})
    world = build(config)
    before = draw_map(config, world)
    with pytest.raises(UsageError, match=message):
        put_map(config)(world, 0, value)
    assert draw_map(config, world) == before


def test_a_fault_s_place_is_told() -> None:
    config = world_of("random", 5, 6)
    text = "\n#####\n#@.?#\n#####"
    with pytest.raises(NotationError) as caught:
        read_map(config, text)
    assert text.index("?") == caught.value.at


def test_a_drawn_map_through_the_public_faces() -> None:
    game = make_game("gridworld-v0", preset="a3_11x11")
    env = coterie.make("gridworld-v0", api="parallel", preset="a3_11x11")
    text = "\n".join(["#" * 11, "#@a......c#", *["#...#.....#"] * 7, "#........@#", "#" * 11])
    seen, _ = env.reset(seed=1, options={"map": text})
    assert len(env.agents) == 2
    assert len(seen) == 2
    vec = coterie.make_vec("gridworld-v0", 3, preset="a3_11x11")
    vec.reset(seed=1, options={"map": text})
    assert draw_map(game, vec.state, 2) == text
    with pytest.raises(UsageError, match=r"3x3 cells, the world 11x11"):
        vec.reset(seed=1, options={"map": "###\n#@#\n###"})
    with pytest.raises(UsageError, match=r"this is a game of hex"):
        draw_map(make_game("hex-v0"), vec.state)


@pytest.mark.skipif(disabled(), reason="threads change nothing where nothing is compiled")
def test_threads_change_no_map() -> None:
    """Episodes of three ticks, so that every row is built anew several times."""
    one, eight = (
        coterie.make_vec(
            "gridworld-v0",
            600,
            num_threads=threads,
            preset="a3_11x11",
            max_steps=3,
            map={"terrain": "caves", "connected": True, "agents": 2, "objects": {"wall": 3, "altar": 1}},
        )
        for threads in (1, 8)
    )
    for vec in (one, eight):
        vec.reset(seed=5)
        vec.random_rollout(10)
    assert (one.state.kind == eight.state.kind).all()
    assert len({row.tobytes() for row in one.state.kind}) > 590


# -- the gallery -------------------------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs" / "games" / "gridworld-maps.md"


def test_the_gallery_shows_every_terrain_and_option() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^!\[.*?\]\((.*?)\)\n\n```yaml\n(.*?)^```$", text, re.M | re.S)
    configs = [configure(config=yaml.safe_load(block)) for _, block in shown]
    assert {config.map.terrain for config in configs} == set(OPTIONS)
    assert all((PAGE.parent / picture).exists() for picture, _ in shown)
    rows = {
        f"| `{name}` | {option.default} | {option.low} to {option.high} | {option.about} |"
        for options in OPTIONS.values()
        for name, option in options.items()
    }
    assert {line for line in text.split("\n") if re.match(r"\| `\w+` \| \d", line)} == rows
