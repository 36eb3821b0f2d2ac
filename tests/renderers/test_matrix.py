"""Pictures of matrix games."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.envs.registry import make_game
from coterie.renderers.board import PALETTE
from coterie.renderers.matrix import draw

GAME = make_game("matrix", game="prisoners_dilemma", rounds=4)


def played(game, rounds):
    state = game.new_state(2)
    for i in (0, 1):
        game.kernels.reset(state, i, np.uint64(0))
    for said in rounds:
        game.kernels.step(state, 1, np.array(said, np.int32), np.zeros(2, np.float32))
    return state


def pixels(picture, color):
    """[n, 2] rows and columns of the pixels of a colour, but for rounding, as shares of the picture."""
    return np.argwhere(np.abs(picture.astype(int) - color).max(-1) <= 3) / picture.shape[:2]


@pytest.mark.parametrize("player", [None, 0, 1])
@pytest.mark.parametrize("said", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_the_last_choices_are_marked_from_ones_own_side(player, said):
    assert not len(pixels(draw(GAME, played(GAME, []), 1, player=player), PALETTE.highlight))
    marked = pixels(draw(GAME, played(GAME, [(0, 0), said]), 1, player=player), PALETTE.highlight).mean(0)
    down, across = said[::-1] if player == 1 else said
    assert (marked[0] > 0.42) == bool(down)
    assert (marked[1] > 0.6) == bool(across)


def test_scores_rise_with_the_rounds():
    """Who is paid more has the higher line."""
    picture = draw(GAME, played(GAME, [(1, 0), (1, 0), (1, 0)]), 1)
    lines = [pixels(picture, color) for color in (PALETTE.first, PALETTE.second)]
    ends = [line[(line[:, 0] > 0.75) & (line[:, 1] > 0.8)][:, 0].min() for line in lines]
    assert ends[0] < ends[1]


@pytest.mark.parametrize(
    "game",
    [
        GAME,
        make_game("matrix", payoffs=[[0.25] * 20] * 20, rounds=60, memory=50),
        make_game("matrix", payoffs=[[[123456, -99999.5], [1, 2], [3, 4]]], actions=["a", "b", "a_very_long_name"]),
    ],
)
@pytest.mark.parametrize("size", [60, 333])
def test_any_table_and_size(game, size):
    for rounds in ([], [(0, 0)] * 3):
        picture = draw(game, played(game, rounds), 1, size=size)
        assert picture.shape == (round(size * 0.9), size, 3)
        assert picture.dtype == np.uint8
