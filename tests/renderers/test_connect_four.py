"""Pictures are looked at: pixels, not only shapes."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.envs.registry import make_game
from coterie.renderers.board import PALETTE
from coterie.renderers.connect_four import boxes, cells, draw, winning

GAME = make_game("connect_four")


def position(moves):
    state = GAME.new_state(2)
    rewards, actions = np.zeros(2, np.float32), np.zeros(2, np.int32)
    for i in range(2):
        GAME.kernels.reset(state, i, np.uint64(0))
    for move in moves:
        actions[:] = move
        GAME.kernels.step(state, 1, actions, rewards)
    return state


def count(picture, color, size=480):
    """{(column, height): pixels of that colour} where there are many, found by the columns' boxes."""
    found = {}
    for column, (x, y, w, h) in enumerate(boxes(GAME, size)):
        side = h / 6
        for height in range(6):
            top = round(y + (5 - height) * side)
            part = picture[top : top + round(side), round(x) : round(x + w)].astype(int)
            pixels = int((np.abs(part - color).max(-1) <= 3).sum())
            if pixels > side:
                found[column, height] = pixels
    return found


def test_stones_lie_where_they_fell():
    picture = draw(GAME, position([3, 3, 0, 6, 6]), 1)
    assert set(count(picture, PALETTE.first)) == {(3, 0), (0, 0), (6, 1)}
    assert set(count(picture, PALETTE.second)) == {(3, 1), (6, 0)}
    corners = {(0, 0), (6, 0)}  # their round corners show the background too
    assert len(set(count(picture, PALETTE.background)) - corners) == 42 - 5
    assert count(picture, PALETTE.accent) == {}


@pytest.mark.parametrize(
    ("moves", "line"),
    [
        ([0, 1, 0, 1, 0, 1, 0], {(0, 0), (0, 1), (0, 2), (0, 3)}),
        ([0, 0, 1, 1, 2, 2, 3], {(0, 0), (1, 0), (2, 0), (3, 0)}),
        ([3, 4, 4, 5, 5, 6, 5, 6, 6, 0, 6], {(3, 0), (4, 1), (5, 2), (6, 3)}),
        ([6, 3, 2, 2, 1, 1, 0, 1, 0, 0, 6, 0], {(3, 0), (2, 1), (1, 2), (0, 3)}),
        ([0, 1, 0, 1, 0, 1, 6, 1], {(1, 0), (1, 1), (1, 2), (1, 3)}),
    ],
)
def test_the_winning_line_is_ringed(moves, line):
    assert set(count(draw(GAME, position(moves), 1), PALETTE.accent)) == line


@pytest.mark.parametrize("moves", [[3], [3, 3], [3, 3, 0], [0, 1, 0, 1, 0, 1, 0]])
def test_the_last_stone_has_a_heart(moves):
    picture = draw(GAME, position(moves), 1)
    hearts = {}
    for column, (x, y, w, h) in enumerate(boxes(GAME, 480)):
        for height in range(6):
            middle = picture[round(y + (5.5 - height) * h / 6), round(x + w / 2)].astype(int)
            hearts[column, height] = np.abs(middle - PALETTE.text).max() <= 3
    assert [cell for cell, shines in hearts.items() if shines] == [(moves[-1], moves.count(moves[-1]) - 1)]


def test_two_lines_at_once():
    marks = "." * 7 + "X......" * 4 + "XXXX..."
    assert winning(marks) == {7, 14, 21, 28} | {14, 21, 28, 35} | {35, 36, 37, 38}
    assert winning("...XXXX" + "X" + "." * 34) == {3, 4, 5, 6}
    assert winning("....XXX" + "X" + "." * 34) == set(), "a line does not run around the edge"


def test_the_row_that_is_asked_for_is_drawn():
    state = position([4, 0])
    assert count(draw(GAME, state, 0), PALETTE.first) == {}
    assert set(count(draw(GAME, state, 1), PALETTE.first)) == {(4, 0)}
    assert np.array_equal(draw(GAME, state, 1, player=0), draw(GAME, state, 1, player=1))


@pytest.mark.parametrize("size", [96, 200, 481])
def test_any_size(size):
    picture = draw(GAME, position([4, 0]), 1, size=size)
    assert picture.shape[1:] == (size, 3)
    assert 0.85 * size < picture.shape[0] < 0.95 * size
    assert picture.dtype == np.uint8
    assert picture.flags.c_contiguous
    assert set(count(picture, PALETTE.first, size)) == {(4, 0)}


def test_columns_are_boxes_and_cells():
    places = boxes(GAME, 480)
    height, width, _ = draw(GAME, position([]), 1).shape
    assert len(places) == 7
    for (x, y, w, h), right in zip(places, [*places[1:], (width, 0, 0, 0)], strict=True):
        assert x + w <= right[0] + 1e-6
        assert 0 <= y < y + h <= height
    assert [cells(GAME, position([]), 1, action) for action in range(7)] == [(c,) for c in range(7)]
