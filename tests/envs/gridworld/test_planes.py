"""What agents see, as planes."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.envs.gridworld.state import DOWN, LEFT, RIGHT, UP

from .scenes import NAMES, SHIELD, USE, Scene


def test_planes_of_everything():
    scene = Scene("#nca\n.@@.\n....", observation={"kinship": True, "last_action": True, "last_reward": True})
    scene.give(1, 1, 2, 3)
    scene.agent(1)["facing"] = RIGHT
    scene.tick(USE, SHIELD)
    seen = scene.seen(0)
    assert seen.shape == (27, 11, 11)
    at = {name: (4 if name != "agent" else 5, 5 + k) for k, name in enumerate(("n", "c", "a"))}
    agent = [1, 1, 0, 249, RIGHT, 1, 1, 2, 3]
    assert seen[:9, 5, 6].tolist() == agent
    assert seen[:9, 5, 5].tolist() == [1, 1, 0, 250, UP, 0, 1, 0, 0]
    assert seen[9:24, 4, 4].tolist() == [1, 10] + [0] * 13
    assert seen[9:24, *at["n"]].tolist() == [0, 0, 1, 30, 29, 0] + [0] * 9
    assert seen[9:24, *at["c"]].tolist() == [0] * 6 + [1, 30, 1, 2, 100, 1] + [0] * 3
    assert seen[9:24, *at["a"]].tolist() == [0] * 12 + [1, 30, 1]
    assert seen[24].sum() == 255  # only oneself
    assert (seen[25] == 1 + USE).all()
    assert (seen[26] == 128).all()
    assert (seen[:25].any(0).sum()) == 6
    shown = np.zeros_like(seen[:24])
    whole = scene.game.whole.read(scene.world, 0)["planes"]
    shown[:, 4:7, 4:8] = whole[:24]
    assert np.array_equal(seen[:24], shown)


def test_numbers_are_cut_off_at_255():
    scene = Scene("@a", agent={"energy": 1000, "max_energy": 2000})
    scene.thing(0, 1)["hp"] = 300
    seen = scene.seen()
    assert (seen[3, 5, 5], seen[22, 5, 6]) == (255, 255)


def test_hidden_features():
    scene = Scene("@@a", observation={"hidden": ["agent.energy", "agent.r2", "altar.ready"]})
    scene.give(0, 1, 1)
    scene.give(1, 1, 1)
    seen = scene.seen()
    assert seen[:9, 5, 5].tolist() == [1, 1, 0, 250, UP, 0, 1, 1, 0]
    assert seen[:9, 5, 6].tolist() == [1, 1, 0, 0, UP, 0, 1, 0, 0]
    assert seen[21:24, 5, 7].tolist() == [1, 30, 0]


def test_a_feature_that_is_hidden_twice_is_hidden_and_no_other():
    scene = Scene("@@", observation={"hidden": ["agent.energy", "agent.energy"]})
    scene.agent(1)["facing"] = RIGHT
    assert scene.seen()[:5, 5, 6].tolist() == [1, 1, 0, 0, RIGHT]


@pytest.mark.parametrize("shape", [(11, 11), (5, 3), (3, 15), (15, 9), (1, 1)])
@pytest.mark.parametrize("facing", NAMES)
def test_rotated_windows(shape, facing):
    """A window is the one of the turned map."""
    rng = np.random.default_rng(facing)
    cells = rng.choice(list("....#nca"), (20, 20))
    cells[8, 11] = cells[9, 12] = cells[10, 10] = "@"
    text = "\n".join("".join(row) for row in cells)
    scene = Scene(text, observation={"rotate": True, "height": shape[0], "width": shape[1]})
    scene.world.agents[0]["facing"] = [RIGHT, facing, DOWN]
    whole = scene.game.whole.read(scene.world, 0)["planes"]
    quarters = {UP: 0, RIGHT: 1, DOWN: 2, LEFT: 3}
    padded = np.pad(whole, ((0, 0), (7, 7), (7, 7)))
    square = np.rot90(padded[:, 9 : 9 + 15, 12 : 12 + 15], quarters[facing], (1, 2)).copy()
    present = square[0] > 0
    clockwise = [UP, RIGHT, DOWN, LEFT]
    for row, col in np.argwhere(present):
        if (row, col) != (7, 7):
            turned = (quarters[int(square[4, row, col])] - quarters[facing]) % 4
            square[4, row, col] = clockwise[turned]
    high, wide = shape[0] // 2, shape[1] // 2
    assert np.array_equal(scene.seen(1), square[:, 7 - high : 8 + high, 7 - wide : 8 + wide])


def test_windows_at_the_edge_of_a_map_without_border():
    text = "\n".join("@" if k in (0, 20) else "#" for k in range(21))
    scene = Scene(text, observation={"height": 15, "width": 15})
    first, last = scene.seen(0), scene.seen(1)
    assert (first[0].sum(), first[9].sum(), last[0].sum(), last[9].sum()) == (1, 7, 1, 7)
    assert first[9, 8:, 7].all()
    assert last[9, :7, 7].all()
