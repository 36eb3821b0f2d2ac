"""Pictures are looked at: pixels, not only shapes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from coterie.envs.registry import make_game
from coterie.renderers.board import PALETTE
from coterie.renderers.tictactoe import draw

GAME = make_game("tictactoe")


def position(moves: list[int]):
    state = GAME.new_state(2)
    rewards, actions = np.zeros(2, np.float32), np.zeros(2, np.int32)
    for i in range(2):
        GAME.kernels.reset(state, i, np.uint64(0))
    for move in moves:
        actions[:] = move
        GAME.kernels.step(state, 1, actions, rewards)
    return state


def cells(picture: NDArray[np.uint8], color: tuple[int, int, int]) -> list[int]:
    """Action numbers of the cells in which many pixels are of that colour, but for rounding when scaled down."""
    h, w = picture.shape[0] // 3, picture.shape[1] // 3
    parts = {a: picture[(a % 3) * h : (a % 3 + 1) * h, (a // 3) * w : (a // 3 + 1) * w] for a in range(9)}
    return [a for a, part in parts.items() if (np.abs(part.astype(int) - color).max(-1) <= 3).sum() > part.shape[0]]


@pytest.mark.parametrize("moves", [[], [4], [4, 0], [0, 4, 8, 2], [6, 1, 3, 5]])
def test_marks_stand_in_their_cells(moves: list[int]) -> None:
    picture = draw(GAME, position(moves), 1)
    assert cells(picture, PALETTE.first) == sorted(moves[::2])
    assert cells(picture, PALETTE.second) == sorted(moves[1::2])
    assert cells(picture, PALETTE.highlight) == []


def test_the_last_move_and_its_line_are_drawn() -> None:
    picture = draw(GAME, position([4, 0, 1, 6, 7]), 1)
    assert cells(picture, PALETTE.first) == [1, 4, 7]
    assert cells(picture, PALETTE.highlight) == [1, 4, 7]


def test_the_row_that_is_asked_for_is_drawn() -> None:
    state = position([4, 0])
    assert cells(draw(GAME, state, 0), PALETTE.first) == []
    assert cells(draw(GAME, state, 1), PALETTE.first) == [4]


@pytest.mark.parametrize("size", [48, 96, 481])
def test_any_size(size: int) -> None:
    picture = draw(GAME, position([4, 0]), 1, size=size)
    assert picture.shape == (size, size, 3)
    assert picture.dtype == np.uint8
    assert picture.flags.c_contiguous
    assert cells(picture, PALETTE.cell)
    assert np.array_equal(picture, draw(GAME, position([4, 0]), 1, size=size))


def test_drawing_opens_no_display() -> None:
    import pygame

    draw(GAME, position([4]), 1)
    assert not pygame.display.get_init()
