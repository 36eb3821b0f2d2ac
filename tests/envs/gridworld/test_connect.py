"""Walls that open."""

from __future__ import annotations

from coterie.envs.gridworld.config.files import from_dict
from coterie.envs.gridworld.config.presets import configure
from coterie.envs.gridworld.maps.drawing import draw_map
from coterie.envs.gridworld.state import GONE, WALL

from .map_reading import Cell, Lines, build, cells_of, inside, lines_of


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
