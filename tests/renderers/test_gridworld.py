"""Pictures of the gridworld: what stands where, in which colour, how it fares; any part of the map at any size."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from coterie.envs.gridworld.config import GridworldConfig
from coterie.envs.gridworld.config.presets import configure, configured
from coterie.envs.gridworld.state import ATTACK, GONE, PAD, World
from coterie.envs.making import make
from coterie.envs.registry import make_game
from coterie.errors import UsageError
from coterie.renderers.board import PALETTE
from coterie.renderers.gridworld import Camera, around, boxes, config_of, draw, draw_world, look_of, paint, whole
from coterie.renderers.gridworld_sprites import FLOOR, WALL_COLOR, agent_color, sprite

MAP = """
#########
#...n...#
#.@...c.#
#...a...#
#@.....p#
#########
"""
PRESS = {"press": {"glyph": "p", "inputs": {"r2": 1}, "outputs": {"r3": 1}, "cooldown": 4}}


def world(n: int = 2, **config: Any) -> tuple[GridworldConfig, World]:
    """N worlds with two agents, one of each object; row 1 is the one that tests change."""
    drawn = {"terrain": "ascii", "text": MAP, "height": 6, "width": 9, "agents": 0, "objects": {}}
    made = configure(None, None, {"map": drawn, "objects": PRESS, **config})
    game = make_game("gridworld", map=drawn, objects=PRESS, **config)
    state = game.new_state(n)
    for i in range(n):
        game.kernels.reset(state, i, np.uint64(i))
    state.agents["facing"] = 1
    state.agents["label"] = -1
    return made, state


def cell(frame: Any, row: int, col: int, columns: int = 9) -> Any:
    side = frame.shape[1] / columns
    top, left = round(row * side), round(col * side)
    return frame[top : top + round(side), left : left + round(side)].astype(int)


def share(part: Any, color: tuple[int, int, int], within: int = 8) -> float:
    return float((np.abs(part - color).max(-1) <= within).mean())


def place_of(state: World, t: int) -> int:
    return int(np.flatnonzero(state.objects[1]["type"] == t)[0])


# -- what is where ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [180, 450, 901])
def test_everything_stands_in_its_cell(size: int) -> None:
    config, state = world()
    frame = draw_world(config, state, 1, size)
    assert frame.shape == (round(size * 6 / 9), size, 3)
    lines = MAP.strip().split("\n")
    for row, line in enumerate(lines):
        for col, mark in enumerate(line):
            part = cell(frame, row, col)
            if mark == ".":
                assert share(part, FLOOR) > 0.7, (row, col)
            elif mark == "#":
                assert share(part, WALL_COLOR) > 0.6, (row, col)
            else:
                assert share(part, FLOOR) < 0.75, (row, col)
                assert share(part, WALL_COLOR) < 0.1, (row, col)


@pytest.mark.parametrize("size", [400, 480, 500])
def test_pieces_are_alike_though_cells_are_not(size: int) -> None:
    """36 columns: some cells are a pixel wider than others."""
    row = "#" + "a." * 17 + "#"
    rows = ["#" * 36, row.replace("a", "@", 1).replace("a", "."), row.replace("a", "."), row, row.replace("a", ".")]
    game = make_game("gridworld", map={"text": "\n".join([*rows, rows[0]])})
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    frame, side = draw(game, state, 0, size=size).astype(int), size / 36
    painted = []
    for col in range(1, 35, 2):
        left, top = round((col - 0.4) * side), round(2.6 * side)
        part = frame[top : round(4.4 * side), left : left + round(1.8 * side)]
        painted.append(int((np.abs(part - (255, 86, 80)).max(-1) <= 60).sum()))
    assert min(painted) > 0
    assert max(painted) - min(painted) <= 2


def test_types_differ_and_those_of_a_user_have_their_glyph() -> None:
    config, state = world()
    frame = draw_world(config, state, 1, 450)
    seen = [cell(frame, *at) for at in ((1, 4), (2, 6), (3, 4), (4, 7))]
    for k, one in enumerate(seen):
        for other in seen[:k]:
            assert (np.abs(one - other).max(-1) > 60).mean() > 0.15
    press = look_of(config).colors[list(config.objects).index("press")]
    assert share(seen[3], press, 40) > 0.2
    assert (seen[3].max(-1) < 60).mean() > 0.02, "its letter is dark"


def test_objects_that_rest_are_dim_and_empty_ones_faded() -> None:
    config, state = world()
    ready = draw_world(config, state, 1, 450)
    for t, at in ((1, (1, 4)), (2, (2, 6)), (3, (3, 4)), (4, (4, 7))):
        state.objects[1]["busy_until"][place_of(state, t)] = 3
        busy = draw_world(config, state, 1, 450)
        assert cell(busy, *at).std() < cell(ready, *at).std(), "dim"
        assert np.array_equal(cell(busy, 5, 5), cell(ready, 5, 5))
    state.objects[1]["busy_until"] = 0
    place = place_of(state, 1)
    levels = []
    for stock in (30, 15, 0):
        state.objects[1]["stock"][place] = stock
        bar = cell(draw_world(config, state, 1, 450), 1, 4)[-6:]
        levels.append(int((bar[..., 1] > 180).sum()))
    assert levels[0] > 1.5 * levels[1] > levels[2] == 0


def test_damaged_walls_have_cracks_and_those_that_are_gone_are_floor() -> None:
    config, state = world()
    before = draw_world(config, state, 1, 450)
    state.objects[1]["hp"][0] = 3
    after = draw_world(config, state, 1, 450)
    assert not np.array_equal(cell(before, 0, 0), cell(after, 0, 0))
    assert np.array_equal(cell(before, 0, 1), cell(after, 0, 1))
    state.objects[1]["type"][0] = GONE
    state.kind[1, PAD, PAD] = 0
    assert share(cell(draw_world(config, state, 1, 450), 0, 0), FLOOR) > 0.8


# -- agents ----------------------------------------------------------------------------------------------------------


def test_agents_have_the_colour_of_their_label_or_their_own() -> None:
    config, state = world()
    at = [(int(agent["row"]), int(agent["col"])) for agent in state.agents[1]]
    for labels in ([-1, -1], [5, 5], [2, 3]):
        state.agents[1]["label"] = labels
        frame = draw_world(config, state, 1, 450)
        for slot, place in enumerate(at):
            assert share(cell(frame, *place), agent_color(labels[slot] if labels[0] >= 0 else slot)) > 0.15
    assert len({agent_color(k) for k in range(200)}) == 200


@pytest.mark.parametrize("size", [72, 450])
def test_agents_look_where_they_face(size: int) -> None:
    config, state = world()
    row, col = int(state.agents[1, 0]["row"]), int(state.agents[1, 0]["col"])
    state.agents[1]["shield"] = False
    centres = []
    for facing in range(4):
        state.agents[1, 0]["facing"] = facing
        part = cell(draw_world(config, state, 1, size), row, col)
        white = np.argwhere(part.min(-1) > 200 if size > 100 else part.min(-1) >= part.min(-1).max() - 20)
        centres.append(white.mean(0) / len(part) - 0.5)
    up, down, left, right = centres
    assert up[0] < down[0] - 0.05
    assert left[1] < right[1] - 0.05


def test_ice_shields_energy_and_rewards_show() -> None:
    config, state = world()
    row, col = int(state.agents[1, 0]["row"]), int(state.agents[1, 0]["col"])

    def seen() -> Any:
        return cell(draw_world(config, state, 1, 450), row, col)

    plain = seen()
    for field, value in (("frozen_until", 9), ("shield", True), ("last_reward", 1.0)):
        before = state.agents[1, 0][field]
        state.agents[1, 0][field] = value
        assert (np.abs(seen() - plain).max(-1) > 30).mean() > 0.02, field
        state.agents[1, 0][field] = before
    lengths = []
    for energy in (250, 125, 0):
        state.agents[1, 0]["energy"] = energy
        bar = seen()[-6:]
        lengths.append(int((bar.max(-1) > 150).any(0).sum()))
    assert lengths[0] > 1.5 * lengths[1] > 0
    assert lengths[2] < lengths[1] / 2


def test_the_dead_are_gone() -> None:
    config, state = world()
    agent = state.agents[1, 0]
    row, col = int(agent["row"]), int(agent["col"])
    agent["alive"] = False
    state.kind[1, row + PAD, col + PAD] = 0
    assert share(cell(draw_world(config, state, 1, 450), row, col), FLOOR) > 0.8


@pytest.mark.parametrize(
    ("facing", "k", "at"),
    [
        (0, 2, (-1, 0)),
        (1, 2, (1, 0)),
        (2, 5, (0, -2)),
        (3, 8, (0, 3)),
        (0, 1, (-1, -1)),
        (1, 1, (1, 1)),
        (3, 4, (-1, 2)),
    ],
)
def test_a_cross_shows_where_an_attack_went(facing: int, k: int, at: tuple[int, int]) -> None:
    config, state = world()
    agent = state.agents[1, 0]
    row, col = 3, 2
    agent["row"], agent["col"], agent["facing"], agent["last_action"] = row, col, facing, ATTACK + k - 1
    for succeeded in (True, False):
        agent["succeeded"] = succeeded
        frame = draw_world(config, state, 1, 450)
        part = cell(frame, row + at[0], col + at[1])
        red = (part[..., 0] > 180) & (part[..., 1] < 100)
        assert (red.mean() > 0.05) == succeeded


# -- cameras and sizes -----------------------------------------------------------------------------------------------


def test_a_player_sees_its_window() -> None:
    game = make_game("gridworld", preset="a5_25x25")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(3))
    agent = state.agents[0, 1]
    frame = draw(game, state, 0, size=440, player=1)
    assert frame.shape == (440, 440, 3)
    assert share(cell(frame, 5, 5, 11), agent_color(1)) > 0.15, "itself in the middle"
    top, left = int(agent["row"]) - 5, int(agent["col"]) - 5
    for r in range(11):
        for c in range(11):
            inside = 0 <= top + r < 25 and 0 <= left + c < 25
            if not inside:
                assert share(cell(frame, r, c, 11), PALETTE.background) > 0.6
            elif state.kind[0, top + r + PAD, left + c + PAD] == 2:
                assert share(cell(frame, r, c, 11), WALL_COLOR) > 0.5
    assert len(boxes(game, player=1)) == 121
    assert len(boxes(game)) == 625


def test_a_camera_stays_in_the_map_where_it_is_asked_to() -> None:
    _, state = world()
    state.agents[1, 0]["row"], state.agents[1, 0]["col"] = 1, 1
    assert around(state, 1, 0, 5, 5) == Camera(-1, -1, 5, 5)
    assert around(state, 1, 0, 5, 5, inside=True) == Camera(0, 0, 5, 5)
    state.agents[1, 0]["row"], state.agents[1, 0]["col"] = 4, 7
    assert around(state, 1, 0, 5, 5, inside=True) == Camera(1, 4, 5, 5)
    assert whole(state, 1) == Camera(0, 0, 6, 9)


def test_tall_maps_get_margins() -> None:
    config = configure(None, None, {"map": {"height": 60, "width": 10, "agents": 2, "objects": {}}})
    game = make_game("gridworld", map={"height": 60, "width": 10, "agents": 2, "objects": {}})
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    frame = draw_world(config, state, 0, 400)
    assert frame.shape == (600, 400, 3)
    assert share(frame[:, :140].astype(int), PALETTE.background) == 1.0
    assert share(frame[:, 150:250].astype(int), PALETTE.background) < 0.1
    x, _, w, _ = boxes(game, 400)[0]
    assert (x, w) == (150, 10)


@pytest.mark.parametrize("size", [40, 120, 150, 299])
def test_maps_whose_cells_are_points(size: int) -> None:
    game = make_game("gridworld", preset="a100_100x100")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(1))
    frame = draw(game, state, 0, size=size)
    assert frame.shape == (size, size, 3)
    if size > 100:
        for agent in state.agents[0]:
            y, x = (int((int(agent[name]) + 0.5) * size / 100) for name in ("row", "col"))
            assert np.abs(frame[y, x].astype(int) - agent_color(int(agent["id"]))).max() <= 2
        assert share(frame[0].astype(int), WALL_COLOR) == 1.0


def test_the_state_is_not_changed_and_equal_states_look_alike() -> None:
    config, state = world()
    copies = [part.copy() for part in state]
    frame = draw_world(config, state, 1, 333)
    assert all(np.array_equal(one, other) for one, other in zip(copies, state, strict=True))
    assert np.array_equal(frame, draw_world(config, state, 1, 333))
    state.agents[0, 0]["row"] = 4
    assert np.array_equal(frame, draw_world(config, state, 1, 333)), "another row of the batch"


def test_sprites_are_painted_once() -> None:
    assert sprite("wall", 20, 20, 0) is sprite("wall", 20, 20, 0)
    assert sprite("wall", 20, 20, 0) is not sprite("wall", 20, 20, 1)


@pytest.mark.slow
def test_it_is_fast_enough_to_watch() -> None:
    for preset, size in (("bench_24_48x48", 720), ("a100_100x100", 800)):
        game = make_game("gridworld", preset=preset)
        state = game.new_state(1)
        game.kernels.reset(state, 0, np.uint64(1))
        look = look_of(configure(preset, None, {}))
        paint(look, state, 0, whole(state, 0), size)
        best = min(_seconds(lambda: paint(look, state, 0, whole(state, 0), size)) for _ in range(20))  # noqa: B023
        assert best < 1 / 30, f"{preset} {best:.3f} s"


def _seconds(call: Any) -> float:
    begun = time.process_time()  # others may be busy on this machine
    call()
    return time.process_time() - begun


# -- faces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_render_modes(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    for mode, kind in (("rgb_array", np.ndarray), ("ansi", str), ("human", type(None))):
        env = make("gridworld", api=api, render_mode=mode, preset="a5_25x25_simple")
        env.reset(seed=0)
        first = env.render()
        assert isinstance(first, kind)
        if mode == "rgb_array":
            assert first.shape == (480, 480, 3)
            assert first.dtype == np.uint8
        env.close()
    with pytest.raises(UsageError):
        make("gridworld", api=api, render_mode="rgb")


def test_a_world_is_shown_faster_than_a_board() -> None:
    for api in ("aec", "parallel"):
        rates = [make(id, api=api).metadata["render_fps"] for id in ("tictactoe", "gridworld")]
        assert rates == [2, 10]


@pytest.mark.parametrize(
    "arguments",
    [
        {
            "config": {
                "objects": {"wall": {"glyph": "#"}, "apple": {"glyph": "b", "energy_gain": 3}},
                "map": {"objects": {"apple": 3}},
            }
        },
        {
            "preset": "a3_11x11",
            "objects": {"zebra": {"glyph": "z", "energy_gain": 1}, "bank": {"glyph": "b", "energy_gain": 2}},
        },
    ],
)
def test_types_keep_their_numbers(arguments: dict[str, Any]) -> None:
    game = make_game("gridworld", **arguments)
    assert config_of(game) == configured(game.config)
    assert list(config_of(game).objects) == list(configured(game.config).objects)
