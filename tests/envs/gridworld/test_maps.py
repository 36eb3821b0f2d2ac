"""What all terrains promise: closed maps with room for all, and the same from a seed however they are built."""

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
from hypothesis import given

import coterie
from coterie.envs.gridworld.config import Terrain
from coterie.envs.gridworld.config.fitting import open_cells
from coterie.envs.gridworld.config.presets import configure
from coterie.envs.gridworld.config.world import new_world
from coterie.envs.gridworld.maps.drawing import draw_map
from coterie.envs.gridworld.maps.table import OPTIONS, TERRAINS, minimum, terrain_regions
from coterie.envs.gridworld.rules.reset import reset
from coterie.envs.gridworld.state import PAD
from coterie.envs.stepping.jit import disabled
from coterie.errors import UsageError

from .map_reading import (
    SEEDS,
    SLOW,
    any_map,
    beside,
    build,
    built,
    cells_of,
    drawn,
    inside,
    lines_of,
    reached,
    world_of,
)

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
            told = rf"terrain_options\.{name} is {value:,}; .* it must be {option.low:,} to {option.high:,} "
            with pytest.raises(UsageError, match=told):
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
    assert {terrain.name.lower(): int(terrain) for terrain in Terrain} == {
        name: terrain.number for name, terrain in TERRAINS.items()
    }
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
        f"import sys, json; sys.path.insert(0, {str(Path(__file__).parents[1])!r}); "
        "from gridworld.test_maps import digests; print(json.dumps(digests()))"
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


@pytest.mark.slow
@pytest.mark.skipif(disabled(), reason="threads change nothing where nothing is compiled")
def test_threads_change_no_map() -> None:
    """Episodes of three ticks, so that every row is built anew several times."""
    one, eight = (
        coterie.make_vec(
            "gridworld-v0",
            160,
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
    assert len({row.tobytes() for row in one.state.kind}) > 155


# -- the gallery -------------------------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs" / "games" / "gridworld-maps.md"


def test_the_gallery_shows_every_terrain_and_option() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^!\[.*?\]\((.*?)\)\n\n```yaml\n(.*?)^```$", text, re.M | re.S)
    configs = [configure(config=yaml.safe_load(block)) for _, block in shown]
    assert {config.map.terrain for config in configs} == set(OPTIONS)
    assert all((PAGE.parent / picture).exists() for picture, _ in shown)
    for name, terrain in TERRAINS.items():
        assert f"### {name}\n\n{terrain.about[:-1]}" in text, name
    rows = {
        f"| `{name}` | {option.default} | {option.low} to {option.high} | {option.about} |"
        for options in OPTIONS.values()
        for name, option in options.items()
    }
    assert {line for line in text.split("\n") if re.match(r"\| `\w+` \| \d", line)} == rows
