"""Pictures of Go are looked at: which colour is where."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.envs.registry import make_game
from coterie.renderers.board import PALETTE
from coterie.renderers.go import BLACK, LAST, LINE, WHITE, WOOD, boxes, cells, draw, stars


def position(names: str, **config):
    game = make_game("go-v0", **config)
    state = game.new_state(2)
    for i in range(2):
        game.kernels.reset(state, i, np.uint64(0))
    for name in names.split():
        action = game.parse_action(state, 1, name)
        game.kernels.step(state, 1, np.array([action, action], np.int32), np.zeros(2, np.float32))
    return game, state


def at(game, picture, name: str, right: float = 0.0, down: float = 0.0):
    """The colour of a pixel in a point's box; right and down in halves of the box."""
    size = game.config["size"]
    action = (size - int(name[1:])) * size + "ABCDEFGHJKLMNOPQRST".index(name[0])
    x, y, w, h = boxes(game, picture.shape[0])[action]
    return tuple(int(c) for c in picture[int(y + h / 2 * (1 + down)), int(x + w / 2 * (1 + right))])


def near(a, b) -> bool:
    return max(abs(x - y) for x, y in zip(a, b, strict=True)) <= 6


@pytest.mark.parametrize("size", [5, 9, 13, 19])
def test_stones_stand_on_their_points(size: int) -> None:
    game, state = position("B2 C3 D5 A1", size=size)
    picture = draw(game, state, 1)
    assert picture.shape == (480, 480, 3)
    for name, color in (("B2", BLACK), ("D5", BLACK), ("C3", WHITE)):
        assert near(at(game, picture, name), color)
        assert near(at(game, picture, name, 0.5, 0.3), color)
    assert near(at(game, picture, "A1"), BLACK), "the eye of the last move's mark"
    assert near(at(game, picture, "A1", 0.25), LAST)
    assert not near(at(game, picture, "B2", 0.25), LAST)
    for name in ("E1", "D2"):
        assert near(at(game, picture, name, 0.5, 0.5), WOOD)
    empty = draw(game, state, 0)
    for name in ("B2", "C3", "D5"):
        assert near(at(game, empty, name, 0.5, 0.3), WOOD)


def test_lines_and_star_points() -> None:
    game, state = position("", size=9)
    picture = draw(game, state, 0, size=720)
    assert near(at(game, picture, "E5"), LINE)
    assert near(at(game, picture, "E5", 0.1, 0.1), LINE), "a star point is wider than a line"
    assert near(at(game, picture, "D5", 0.1, 0.1), WOOD)
    assert near(at(game, picture, "D5", 0.5), LINE)
    assert near(at(game, picture, "A5", -0.5, -0.5), WOOD)
    assert near(at(game, picture, "A5", -0.5), WOOD), "no line beyond the edge"


def test_star_points() -> None:
    names = lambda size: {("ABCDEFGHJKLMNOPQRST"[a % size], size - a // size) for a in stars(size)}  # noqa: E731
    assert names(9) == {("C", 3), ("C", 7), ("G", 3), ("G", 7), ("E", 5)}
    assert len(stars(19)) == 9
    assert {("D", 4), ("Q", 16), ("K", 10), ("K", 4)} <= names(19)
    assert len(stars(13)) == 5
    assert len(stars(8)) == 4
    assert names(5) == {("C", 3)}
    assert stars(6) == []


def test_coordinates_stand_in_the_margin() -> None:
    game, state = position("", size=9)
    picture = draw(game, state, 0)
    x, _, w, _ = boxes(game)[4]
    for rows in (slice(0, 20), slice(462, 480)):
        column = picture[rows, int(x) : int(x + w)].astype(int)
        assert (np.abs(column - PALETTE.text).max(-1) < 40).sum() > 10, "the letter E"


def test_a_point_closed_by_ko_is_marked() -> None:
    game, state = position("C4 D4 B3 E3 C2 D2 D3 C3", size=5)
    picture = draw(game, state, 1)
    assert near(at(game, picture, "D3", 0.37), LAST)
    assert near(at(game, picture, "D3", 0.2), WOOD)
    assert not near(at(game, picture, "A1", 0.37), LAST)


def test_the_area_is_marked_at_the_end() -> None:
    moves = "B1 D1 B2 D2 B3 D3 B4 D4 B5 D5"
    game, state = position(moves, size=5)
    assert near(at(game, draw(game, state, 1), "A3", 0.1, 0.1), WOOD)
    game, state = position(moves + " pass pass", size=5)
    picture = draw(game, state, 1)
    assert near(at(game, picture, "A3", 0.1, 0.1), BLACK)
    assert near(at(game, picture, "E3", 0.1, 0.1), WHITE)
    assert near(at(game, picture, "C2", 0.3, 0.3), WOOD), "nobody's"
    assert near(at(game, picture, "D5", 0.25), WHITE), "a pass marks no stone"


@pytest.mark.parametrize("size", [60, 131, 600])
def test_any_size(size: int) -> None:
    game, state = position("C3 D4", size=5)
    picture = draw(game, state, 1, size=size, player=0)
    assert picture.shape == (size, size, 3)
    assert picture.dtype == np.uint8
    assert np.array_equal(picture, draw(game, state, 1, size=size, player=1)), "nothing is hidden"
    assert near(at(game, picture, "C3"), BLACK)


def test_cells_are_points() -> None:
    game, state = position("", size=9)
    assert cells(game, state, 0, 0) == (0,)
    assert cells(game, state, 0, 80) == (80,)
    assert cells(game, state, 0, 81) == ()
    places = boxes(game, 480, 1)
    assert len(places) == 81
    assert places[0][0] < places[1][0]
    assert places[0][1] < places[9][1]
    assert all(x >= 0 and x + w <= 480 and y >= 0 and y + h <= 480 for x, y, w, h in places)
