"""What each terrain promises."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from coterie.envs.gridworld.config.presets import configure
from coterie.envs.gridworld.maps.table import minimum
from coterie.errors import UsageError

from .map_reading import EXAMPLES, SEEDS, Lines, beside, build, cells_of, drawn, inside, lines_of, parts_of, world_of


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
