"""Pictures of chess: pieces on their squares, sides, the last move, check, coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.envs.registry import make_game
from coterie.renderers.chess import CHECK, LAST, boxes, cells, draw, last_move, taken
from coterie.renderers.chess_pieces import BLACK, KINDS, WHITE, draw_piece

GAME = make_game("chess-v0")


def position(fen: str | None = None, *moves: str):
    state = GAME.new_state(2)
    for i in range(2):
        GAME.kernels.reset(state, i, np.uint64(0))
    if fen:
        GAME.options["fen"](state, 1, fen)
    for move in moves:
        action = GAME.parse_action(state, 1, move)
        GAME.kernels.step(state, 1, np.array([action, action], np.int32), np.zeros(2, np.float32))
    return state


def square(name: str) -> int:
    return "abcdefgh".index(name[0]) + 8 * (int(name[1]) - 1)


def parts(frame, player: int | None = None):
    """[64] the pixels of every square."""
    return [
        frame[round(y) : round(y + h), round(x) : round(x + w)].astype(int)
        for x, y, w, h in boxes(GAME, size=frame.shape[0], player=player)
    ]


def share(part, color) -> float:
    return float((np.abs(part - color).sum(-1) <= 6).mean())


@pytest.mark.parametrize("size", [240, 480, 601])
@pytest.mark.parametrize("player", [None, 0, 1])
def test_pieces_stand_on_their_squares(size: int, player: int | None) -> None:
    seen = parts(draw(GAME, position(), 1, size=size, player=player), player)
    for s, part in enumerate(seen):
        assert (share(part, WHITE.body) > 0.08) == (s < 16), s
        assert (share(part, BLACK.body) > 0.08) == (s >= 48), s


def test_the_side_of_the_player_is_below() -> None:
    state = position()
    frames = {player: draw(GAME, state, 1, player=player) for player in (None, 0, 1)}
    assert np.array_equal(frames[None], frames[0])
    assert share(frames[0][-60:].reshape(1, -1, 3).astype(int), WHITE.body) > 0.05
    assert share(frames[1][-60:].reshape(1, -1, 3).astype(int), BLACK.body) > 0.05
    assert boxes(GAME, player=1)[0][:2] == (420, 0)
    assert boxes(GAME)[0][:2] == (0, 420)


def test_every_kind_looks_different() -> None:
    from coterie.renderers.board import Canvas

    seen = []
    for kind in KINDS:
        for black in (False, True):
            canvas = Canvas(60)
            draw_piece(canvas, kind, black, 30, 30, 60)
            frame = canvas.frame().astype(int)
            ink = np.abs(frame - frame[0, 0]).sum(-1) > 30
            assert 0.15 < ink.mean() < 0.6
            assert not ink[:2].any()
            assert not ink[-2:].any()
            if kind != "N":
                assert (ink != ink[:, ::-1]).mean() < 0.03, "not symmetric"
            seen.append(frame)
    for k, one in enumerate(seen):
        for other in seen[:k]:
            assert (np.abs(one - other).sum(-1) > 100).mean() > 0.02


@pytest.mark.parametrize(
    ("fen", "moves", "marked"),
    [
        (None, (), ""),
        (None, ("e4",), "e2 e4"),
        (None, ("e4", "Nc6"), "b8 c6"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", ("O-O",), "e1 g1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", ("O-O-O",), "e8 c8"),
        ("4k3/8/8/8/4p3/8/3P4/4K3 w - - 0 1", ("d4", "exd3"), "e4 d3"),
        ("7k/P7/8/8/8/8/8/4K3 w - - 0 1", ("a8=N",), "a7 a8"),
        ("7k/8/8/3r4/8/4N3/8/4K3 w - - 0 1", ("Nxd5",), "e3 d5"),
    ],
)
def test_the_last_move_is_tinted(fen: str | None, moves: tuple[str, ...], marked: str) -> None:
    state = position(fen, *moves)
    assert sorted(last_move(state, 1)) == sorted(square(name) for name in marked.split())
    seen = parts(draw(GAME, state, 1))
    tinted = [s for s, part in enumerate(seen) if part[5, 54, 0] - part[5, 54, 2] > 20]
    assert sorted(tinted) == sorted(square(name) for name in marked.split())
    assert LAST[0] - LAST[2] > 100


def test_a_king_in_check_is_marked() -> None:
    quiet = parts(draw(GAME, position("4k3/8/8/8/8/8/8/R3K3 w - - 0 1"), 1))
    check = parts(draw(GAME, position("4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "Ra8"), 1))

    def red(part) -> bool:
        return bool(part[5, 54, 0] - part[5, 54, 1] > 80)

    assert not any(map(red, quiet))
    assert [s for s, part in enumerate(check) if red(part)] == [square("e8")]
    assert CHECK[0] - CHECK[1] > 100


def test_coordinates() -> None:
    empty = position("8/8/8/3k4/8/3K4/8/8 w - - 0 1")
    for player, numbered, lettered in ((0, "a8", "h1"), (1, "h1", "a8")):
        seen = parts(draw(GAME, empty, 1, player=player), player)
        for name, inked in ((numbered, True), (lettered, True), ("d4", False), ("c6", False)):
            assert (seen[square(name)].std(axis=(0, 1)).max() > 2) == inked, (player, name)


def test_cells_are_from_and_to() -> None:
    for fen, move, path in (
        (None, "Nf3", "g1 f3"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "O-O", "e8 g8"),
        ("7k/P7/8/8/8/8/8/4K3 w - - 0 1", "a8=N", "a7 a8"),
        ("4k3/p7/8/8/8/8/8/4K3 b - - 0 1", "a5", "a7 a5"),
    ):
        state = position(fen)
        action = GAME.parse_action(state, 1, move)
        assert cells(GAME, state, 1, action) == tuple(square(name) for name in path.split())


def test_what_a_side_has_taken_is_what_it_has_more_of() -> None:
    game, state = make_game("chess"), make_game("chess").new_state(1)
    game.options["fen"](state, 0, "4k3/8/8/8/8/8/PP6/Q2NK2r w - - 0 1")
    pieces, lead = taken(game, state, 0, 0, 20)
    assert ([kind for _, kind in pieces], lead) == ([1, 1, 2, 5], 2 + 3 + 9 - 5)
    pieces, lead = taken(game, state, 0, 1, 20)
    assert ([kind for _, kind in pieces], lead) == ([4], -9)
    assert all(sprite.get_size() == (20, 20) for sprite, _ in pieces)
