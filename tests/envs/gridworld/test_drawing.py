"""Maps as text, out and in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import coterie
from coterie.envs import make_game
from coterie.envs.gridworld.config.presets import configure
from coterie.envs.gridworld.config.world import new_world
from coterie.envs.gridworld.maps.drawing import draw_map, put_map, read_map
from coterie.envs.gridworld.rules.reset import reset
from coterie.envs.gridworld.state import OBJECT_KIND, PAD
from coterie.errors import NotationError, UsageError

from .map_reading import EXAMPLES, SEEDS, any_map, build, built, world_of


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
        ("######\n#@@@@#\n#....#\n#....#\n######", r"4 agents, but the world has room for 3: raise slots"),
        ("######\n#@aaa#\n#aaaa#\n#aaaa#\n######", r"29 objects, but the world has room for 22"),
        ("", r"1x0 cells"),
        (7, r"option map is 7; it must be a drawn map"),
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
    with pytest.raises(UsageError, match=r"this game is hex"):
        draw_map(make_game("hex-v0"), vec.state)
