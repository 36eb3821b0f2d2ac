"""Pictures of batched games: a sheet of boards, and one picture a row for Gymnasium's wrappers."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import coterie
from coterie.envs.faces.gym_vector import make_gym_vec
from coterie.envs.registry import spec
from coterie.errors import UnknownName, UsageError
from coterie.renderers.connect_four import draw

pytest.importorskip("pygame")


@pytest.mark.parametrize(("games", "columns"), [(1, 1), (2, 2), (5, 3), (64, 8), (100, 8)])
def test_a_sheet_shows_each_game_in_its_place(games: int, columns: int) -> None:
    vec = coterie.make_vec("connect_four", games, seed=1, render_mode="rgb_array")
    vec.reset()
    for _ in range(6):
        vec.step(vec.sample_actions())
    sheet = vec.render()
    assert sheet.dtype == np.uint8
    assert sheet.shape[1] <= 1000
    size = 480 if games == 1 else max(96, 960 // columns)
    shown = [draw(vec.game, vec.state, i, size=size) for i in range(min(games, 64))]
    gap = (sheet.shape[1] - columns * size) // max(1, columns - 1)
    high = shown[0].shape[0]
    for i, picture in enumerate(shown):
        top, left = i // columns * (high + gap), i % columns * (size + gap)
        assert np.array_equal(sheet[top : top + high, left : left + size], picture)
    assert len({picture.tobytes() for picture in shown}) > min(3, games - 1), "the games differ"


def test_copies_render_too() -> None:
    vec = coterie.make_vec("tictactoe", 4, seed=1, render_mode="rgb_array")
    vec.reset()
    vec.step(vec.sample_actions())
    for other in (copy.deepcopy(vec), pickle.loads(pickle.dumps(vec))):
        assert np.array_equal(other.render(), vec.render())


def test_worlds_and_their_rows() -> None:
    vec = coterie.make_vec("gridworld", 2, preset="a3_9x9", seed=1, render_mode="rgb_array")
    vec.reset()
    assert vec.render().shape[1] >= 960
    assert len(vec.pictures()) == 6
    assert vec.metadata["render_modes"] == ["rgb_array"]


def test_what_is_refused() -> None:
    vec = coterie.make_vec("tictactoe", 2)
    vec.reset()
    with pytest.raises(UsageError, match="needs a render_mode"):
        vec.render()
    with pytest.raises(UsageError, match=r"reset\(\)"):
        coterie.make_vec("tictactoe", 2, render_mode="rgb_array").render()
    with pytest.raises(UsageError, match="no pictures"):
        coterie.make_vec("highest_number", 2, render_mode="rgb_array")
    with pytest.raises(UnknownName, match="rgb_array"):
        coterie.make_vec("tictactoe", 2, render_mode="rgb_aray")
    assert spec("highest_number").draw is None


def test_gymnasiums_vectors_give_a_picture_a_row() -> None:
    envs = gymnasium.make_vec("coterie/tictactoe-v0", num_envs=3, render_mode="rgb_array")
    envs.reset(seed=0)
    envs.step(np.array([0, 4, 8]))
    frames = envs.render()
    assert isinstance(frames, tuple)
    assert [frame.shape for frame in frames] == [(480, 480, 3)] * 3
    assert envs.render_mode == "rgb_array"
    rows = make_gym_vec("highest_number", 2)
    assert rows.render_mode is None
