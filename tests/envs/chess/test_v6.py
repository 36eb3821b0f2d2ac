"""Chess against PettingZoo's chess_v6, position by position: equal but for the faults that are mended here."""

from __future__ import annotations

import numpy as np
import pytest

import coterie
from coterie.envs import make_game
from coterie.envs.chess import fen as fens
from coterie.envs.chess.rules import action_of, move_of

from ..beside import play_beside

START_ROWS = {0: (4, 2, 3, 5, 6, 3, 2, 4), 1: (1,) * 8}
"""Kinds on the first two ranks, a to h."""


def start_board():
    """[8, 8, 13] the start position as one board of an observation; both sides see the same."""
    out = np.zeros((8, 8, 13), bool)
    for rank, kinds in START_ROWS.items():
        for file, kind in enumerate(kinds):
            out[7 - rank, file, kind - 1] = True
            out[rank, file, kind + 5] = True
    return out


def mended(theirs, ply):
    """What chess_v6 shows after some plies, with its faults mended."""
    out = theirs.copy()
    out[..., [0, 1, 2, 3]] = theirs[..., [1, 0, 3, 2]]  # as its documentation has it: queenside first
    if ply < 8:  # it forgets the position that the game began with
        assert not theirs[..., 7 + 13 * ply :].any()
        out[..., 7 + 13 * ply : 20 + 13 * ply] = start_board()
    return out


@pytest.mark.parametrize("seed", range(4))
def test_equal_to_pettingzoo_move_by_move(seed):
    pytest.importorskip("pygame")
    pettingzoo = pytest.importorskip("pettingzoo")
    pytest.importorskip("chess")
    theirs, ours = pettingzoo.make("aec", "classic/chess-v6"), coterie.make("chess-v0")
    assert ours.observation_space("player_0")["observation"].dtype == bool
    play_beside(ours, theirs, np.random.default_rng(seed), mended=mended)


def test_their_faults_are_still_there():
    """If one of these fails, PettingZoo has mended it: take it out of ``mended`` and of the game's page."""
    pytest.importorskip("pygame")
    pettingzoo = pytest.importorskip("pettingzoo")
    pytest.importorskip("chess")
    theirs = pettingzoo.make("aec", "classic/chess-v6")
    theirs.reset()
    first = theirs.observe("player_0")["observation"]
    assert not first[..., 7:].any(), "white's first observation has pieces"
    theirs.unwrapped.board.set_fen("r3k3/8/8/8/8/8/8/4K2R w Kq - 0 1")
    castling = theirs.observe("player_0")["observation"][0, 0, :4]
    assert castling.tolist() == [True, False, False, True], "castling planes are in the documented order"
    raw = pettingzoo.make("aec", "classic/chess-v6").unwrapped
    raw.reset(options={"fen": "4k3/8/8/8/8/8/8/4K2R w K - 0 1"})
    assert raw.board.fen() == fens.START, "reset options are read"


def test_castling_planes_from_both_sides():
    game = make_game("chess-v0")
    state = game.new_state(1)
    game.options["fen"](state, 0, "r3k3/8/8/8/8/8/8/4K2R w Kq - 0 1")
    out = np.zeros((8, 8, 111), bool)
    for player, planes in ((0, [0, 1, 1, 0]), (1, [1, 0, 0, 1])):
        game.kernels.observe(state, 0, player, out)
        assert (out[..., :4] == np.array(planes, bool)).all()
        assert (out[..., 4] == bool(player)).all()
        assert out[..., 6].all()


@pytest.mark.parametrize(("fen", "player", "cell"), [("b", 1, (2, 4)), ("w", 0, (5, 4)), ("w", 1, (2, 4))])
def test_clock_plane(fen, player, cell):
    """Half the clock, counted from a1 by rows; black's board is flipped, and so the cell is counted from the top."""
    game = make_game("chess-v0", claim="never")
    state = game.new_state(1)
    game.options["fen"](state, 0, f"4k3/8/8/8/8/8/4R3/3K4 {fen} - - 41 60".replace("4R3", "R7"))
    out = np.zeros((8, 8, 111), bool)
    game.kernels.observe(state, 0, player, out)
    assert np.argwhere(out[..., 5]).tolist() == [list(cell)]


def test_a_pawn_that_may_be_taken_stands_on_the_first_rank():
    """The example of chess_v6's own documentation."""
    game = make_game("chess-v0")
    state = game.new_state(1)
    game.options["fen"](state, 0, "4k3/8/8/8/4Pp2/8/8/4K3 b - e3 0 50")
    out = np.zeros((8, 8, 111), bool)
    game.kernels.observe(state, 0, 0, out)
    assert np.argwhere(out[..., 7]).tolist() == [[7, 4]]  # own pawns
    assert np.argwhere(out[..., 12]).tolist() == [[7, 4]]  # own king
    game.kernels.observe(state, 0, 1, out)
    assert np.argwhere(out[..., 13]).tolist() == [[0, 4]]  # the other's pawns, seen by black
    assert np.argwhere(out[..., 7]).tolist() == [[3, 5]]


def test_actions_and_moves_come_back():
    """Every action number that can be a move of some piece, in both directions, for both sides."""
    game = make_game("chess-v0")
    fen = "1n2k3/P6P/8/8/8/8/p6p/4K1N1 {} - - 0 1"
    found = set()
    for side, square in (("w", "b8"), ("b", "g1")):
        position = fens.parse(fen.format(side))
        for move in fens.legal(position):
            action = int(action_of(position, move))
            found.add(action)
            assert int(move_of(position, action)) == move
            assert 0 <= action < game.info.num_actions
        under = [fens.uci(m) for m in fens.legal(position) if m >> 6 & 63 == fens.parse_square(square) and m >> 12]
        assert len(under) == 4
    assert sum(action % 73 >= 64 for action in found) >= 9


def test_any_number_can_be_asked():
    """Numbers that no piece can play are -1, never a wrong square."""
    for fen in (fens.START, "1n2k3/P6P/8/8/8/8/p6p/4K1N1 b - - 0 1"):
        position = fens.parse(fen)
        for action in range(64 * 73):
            move = int(move_of(position, action))
            assert move == -1 or int(action_of(position, move)) == action
        assert sum(int(move_of(position, action)) >= 0 for action in range(64 * 73)) > 100
