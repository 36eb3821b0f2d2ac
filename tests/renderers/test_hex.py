"""Pictures are looked at: pixels, not only shapes."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.envs.hex import board
from coterie.envs.registry import make_game
from coterie.renderers.board import PALETTE
from coterie.renderers.hex import boxes, cells, chain, draw

FIVE = make_game("hex", size=5)


def position(game, moves):
    """Row 1 of two after some moves, given as texts."""
    state = game.new_state(2)
    for i in range(2):
        game.kernels.reset(state, i, np.uint64(0))
    for text in moves.split():
        action = game.parse_action(state, 1, text)
        game.kernels.step(state, 1, np.full(2, action, np.int32), np.zeros(2, np.float32))
    return state


def coloured(game, picture, color, size=480):
    """Cells with many pixels of that colour."""
    found = []
    for cell, (x, y, w, h) in enumerate(boxes(game, size)):
        part = picture[round(y) : round(y + h), round(x) : round(x + w)].astype(int)
        if (np.abs(part - color).max(-1) <= 3).sum() > h:
            found.append(cell)
    return found


@pytest.mark.parametrize("size", [3, 5, 11])
def test_stones_lie_in_their_cells(size):
    game = make_game("hex", size=size)
    state = position(game, "b1 a2 c3 b3")
    picture = draw(game, state, 1)
    stones = np.array(list(board(state, 1)))
    assert coloured(game, picture, PALETTE.first) == np.flatnonzero(stones == "X").tolist()
    assert coloured(game, picture, PALETTE.second) == np.flatnonzero(stones == "O").tolist()
    assert len(coloured(game, picture, PALETTE.cell)) == size**2
    assert coloured(game, picture, PALETTE.accent) == []
    assert coloured(game, draw(game, state, 0), PALETTE.first) == []
    assert np.array_equal(draw(game, state, 1, player=0), draw(game, state, 1, player=1))


@pytest.mark.parametrize(
    ("moves", "won"),
    [
        ("c1 a1 c2 b1 b3 d1 b4 e1 a5", [2, 7, 11, 16, 20]),
        ("a1 a3 a2 b3 b1 c3 b2 c2 c1 d2 d1 e2", [7, 8, 9, 10, 11]),
        ("c1 e1 c2 e2 d2 e3 d3 a1 c3 b1 c4 a2 c5", [2, 7, 12, 17, 22]),
    ],
)
def test_the_winning_chain_is_ringed(moves, won):
    assert coloured(FIVE, draw(FIVE, position(FIVE, moves), 1), PALETTE.accent) == won


@pytest.mark.parametrize(("moves", "last"), [("a1", 0), ("a1 e5", 24), ("b1 swap", 5), ("c3 b2 d4", 18)])
def test_the_last_stone_has_a_heart(moves, last):
    game = make_game("hex", size=5, swap=True)
    picture = draw(game, position(game, moves), 1).astype(int)
    middles = [picture[round(y + h / 2), round(x + w / 2)] for x, y, w, h in boxes(game)]
    assert [cell for cell, middle in enumerate(middles) if np.abs(middle - PALETTE.text).max() <= 3] == [last]


def test_the_shortest_chain_goes_from_edge_to_edge():
    assert chain("." * 9, 3) == []
    assert chain("X..XO.OX.", 3) == [], "a3 breaks it"
    assert sorted(chain("X..X..XO.", 3)) == [0, 3, 6]
    assert sorted(chain(".XXOOO.XX", 3)) == [3, 4, 5]
    assert len(chain("XXXXXXXXX", 3)) == 3


def test_edges_have_their_colours():
    """Above and below the first player's, left and right the second's, all round the cells."""
    picture = draw(FIVE, position(FIVE, ""), 1).astype(int)
    places = boxes(FIVE)

    def shows(x, y, color):
        part = picture[round(y) - 2 : round(y) + 3, round(x) - 2 : round(x) + 3]
        return (np.abs(part - np.array(color) * 0.8).max(-1) <= 4).any()

    for k in range(1, 4):
        (x, y, w, h), (x2, y2, w2, h2) = places[k], places[20 + k]
        assert shows(x, y - 0.3 * h, PALETTE.first)
        assert shows(x2, y2 + 1.3 * h2, PALETTE.first)
        (x, y, w, h), (x2, y2, w2, h2) = places[5 * k], places[5 * k + 4]
        assert shows(x - 0.12 * w, y + h, PALETTE.second)
        assert shows(x2 + 1.12 * w2, y2, PALETTE.second)


@pytest.mark.parametrize(("side", "size"), [(3, 96), (11, 240), (19, 481), (5, 480)])
def test_boxes_touch_and_stay_in_the_picture(side, size):
    game = make_game("hex", size=side, swap=True)
    picture = draw(game, position(game, "a1"), 1, size)
    assert picture.shape[1:] == (size, 3)
    assert 0.5 * size < picture.shape[0] < 0.75 * size
    places = np.array(boxes(game, size))
    assert places.shape == (side**2, 4)
    assert (places[:, :2] >= 0).all()
    assert (places[:, :2] + places[:, 2:] <= [picture.shape[1], picture.shape[0]]).all()
    x, y, w, h = places[0]
    assert places[1] == pytest.approx([x + w, y, w, h])
    assert places[side] == pytest.approx([x + w / 2, y + h, w, h])
    assert coloured(game, picture, PALETTE.first, size) == [0]


def test_actions_touch_their_cell():
    game = make_game("hex", size=3, swap=True)
    state = position(game, "a1")
    assert [cells(game, state, 1, action) for action in range(10)] == [(a,) for a in range(9)] + [()]
