"""FEN and UCI: read, written, refused; and the reset option that takes one."""

from __future__ import annotations

import numpy as np
import pytest

import coterie
from coterie.envs import make_game
from coterie.envs.chess import fen as fens
from coterie.envs.chess import legal_moves, outcome, push
from coterie.envs.chess.position import attacked, en_passant, fullmoves, halfmoves, side
from coterie.errors import IllegalAction, InvalidAction, NotationError, UnknownName


@pytest.mark.parametrize(
    "fen",
    [
        fens.START,
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w Qk - 12 34",
        "8/8/8/8/8/8/8/k1K5 b - - 149 9999",
        "rnbqkbnr/pp1ppppp/8/8/1PpP4/8/P1P1PPPP/RNBQKBNR b KQkq d3 0 3",
    ],
)
def test_read_and_written(fen):
    assert fens.write(fens.parse(fen)) == fen


@pytest.mark.parametrize(
    ("given", "written"),
    [
        # No black pawn can take on e3, so the square is not written.
        (
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
        ),
        # One could, but would open the rank to its own king.
        ("8/8/8/8/k2pP2R/8/8/4K3 b - e3 0 1", "8/8/8/8/k2pP2R/8/8/4K3 b - - 0 1"),
        # Its king is in check, and taking answers it.
        ("8/8/8/8/3pPk2/8/6N1/4K3 b - e3 0 1", "8/8/8/8/3pPk2/8/6N1/4K3 b - - 0 1"),
        ("8/8/8/5k2/3pP3/8/8/4K3 b - e3 0 1", "8/8/8/5k2/3pP3/8/8/4K3 b - e3 0 1"),
        ("4k3/8/8/8/8/8/8/4K2R w K -", "4k3/8/8/8/8/8/8/4K2R w K - 0 1"),
        ("  4k3/8/8/8/8/8/8/4K2R  w qkQK - 3".replace("qkQK", "K"), "4k3/8/8/8/8/8/8/4K2R w K - 3 1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w qkQK - 0 1", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"),
    ],
)
def test_written_otherwise_than_read(given, written):
    assert fens.write(fens.parse(given)) == written


@pytest.mark.parametrize(
    ("fen", "says", "at"),
    [
        ("", "0 fields", None),
        ("8/8/8/8/8/8/8/8", "1 fields", None),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1 extra", "7 fields", None),
        ("4k3/8/8/8/8/8/4K3 w - - 0 1", "placement .* 7 ranks", 0),
        ("4k3/8/8/8/8/8/8/4K2 w - - 0 1", "placement .* rank 1 has 7 squares", 0),
        ("4k3/9/8/8/8/8/8/4K3 w - - 0 1", "placement .* '9' is none of", 4),
        ("4k3/44/8/8/8/8/8/4K3 w - - 0 1", "placement .* two digits", 5),
        ("4k3/8/8/8/8/8/8/4KX2 w - - 0 1", "placement .* 'X' is none of", 18),
        ("8/8/8/8/8/8/8/4K3 w - - 0 1", "placement .* black has 0 kings", 0),
        ("4k3/8/8/8/8/8/8/3KK3 w - - 0 1", "placement .* white has 2 kings", 0),
        ("4k2P/8/8/8/8/8/8/4K3 w - - 0 1", "placement .* a pawn stands on h8", 0),
        ("4k3/8/8/8/8/8/8/p3K3 w - - 0 1", "placement .* a pawn stands on a1", 0),
        ("4k3/pppppppp/p7/8/8/8/8/4K3 w - - 0 1", "placement .* black has 9 pawns", 0),
        ("4k3/8/8/8/8/8/PPPPPPPP/QQ2K3 w - - 0 1", "placement .* white has 1 pieces more", 0),
        ("4k3/8/8/8/8/8/8/4K3 x - - 0 1", "side to move .* 'x': it must be w or b", 20),
        ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "side to move .* on e8, is in check", 22),
        ("4k3/8/8/8/8/8/8/4K3 w K - 0 1", "castling .* K needs the king on e1 and a rook on h1", 22),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkk - 0 1", "castling .* at most once", 29),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQx - 0 1", "castling .* some of KQkq", 28),
        ("r3k2r/8/8/8/8/8/8/1R2K2R w Q - 0 1", "castling .* Q needs", 27),
        ("4k3/8/8/8/8/8/8/4K3 w - e3 0 1", "en passant .* rank 6", 24),
        ("4k3/8/8/8/8/8/8/4K3 w - e9 0 1", "en passant .* rank 6", 24),
        ("4k3/8/8/8/8/8/8/4K3 w - e6 0 1", "en passant .* no pawn stands on e5", 24),
        ("4k3/8/4n3/4p3/8/8/8/4K3 w - e6 0 1", "en passant .* e6 is not empty", 28),
        ("4k3/4p3/8/4p3/8/8/8/4K3 w - e6 0 1", "en passant .* e7 is not empty", 28),
        ("4k3/8/8/8/8/8/8/4K3 w - - x 1", "halfmove clock .* from 0 to 150", 26),
        ("4k3/8/8/8/8/8/8/4K3 w - - 151 1", "halfmove clock", 26),
        ("4k3/8/8/8/8/8/8/4K3 w - - -1 1", "halfmove clock", 26),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 0", "fullmove number .* from 1", 28),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 ²", "fullmove number", 28),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 99999999999999999999", "fullmove number", 28),
    ],
)
def test_refused(fen, says, at):
    with pytest.raises(NotationError, match=says) as caught:
        fens.parse(fen)
    assert caught.value.at == at


@pytest.mark.parametrize("fen", [None, 7, b"8/8"])
def test_not_a_text(fen):
    with pytest.raises(NotationError, match="A FEN is a text"):
        fens.parse(fen)


def test_what_a_position_says():
    position = fens.parse("8/8/8/5k2/3pP3/8/8/4K3 b - e3 7 40")
    assert (side(position), en_passant(position), halfmoves(position), fullmoves(position)) == (1, 20, 7, 40)
    assert attacked(position, np.uint64(20), np.uint64(1))
    assert en_passant(fens.parse(fens.START)) == 64


def test_squares():
    assert [fens.parse_square(fens.square_name(square)) for square in range(64)] == list(range(64))
    for name in ("", "e", "e9", "i1", "e10", "E2"):
        assert fens.parse_square(name) is None


def test_push_and_legal_moves():
    fen = fens.START
    for uci in ["e2e4", "d7d5", "e4e5", "f7f5", "e5f6", "e8d7", "f6g7", "d7c6", "g7h8q"]:
        assert uci in legal_moves(fen)
        fen = push(fen, uci)
    assert fen == "rnbq1bnQ/ppp1p2p/2k5/3p4/8/8/PPPP1PPP/RNBQKBNR b KQ - 0 5"


@pytest.mark.parametrize(
    ("uci", "error"),
    [
        ("", InvalidAction),
        ("e2", InvalidAction),
        ("e2e9", InvalidAction),
        ("e2e4k", InvalidAction),
        ("e2e4qq", InvalidAction),
        ("e2e5", IllegalAction),
        ("e2e4q", IllegalAction),
        ("e7e5", IllegalAction),
    ],
)
def test_moves_that_cannot_be_pushed(uci, error):
    with pytest.raises(error):
        push(fens.START, uci)


@pytest.mark.parametrize(
    ("fen", "claim", "result"),
    [
        (fens.START, "never", None),
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "never", ("1-0", "checkmate")),
        ("8/8/8/8/8/6k1/6q1/7K w - - 0 1", "never", ("0-1", "checkmate")),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "never", ("1/2-1/2", "stalemate")),
        ("7k/8/6K1/8/8/8/8/5N2 b - - 0 1", "never", ("1/2-1/2", "insufficient material")),
        ("7k/8/6K1/8/8/8/8/5R2 b - - 150 100", "never", ("1/2-1/2", "seventy-five moves")),
        ("7k/8/6K1/8/8/8/8/4R3 b - - 100 100", "never", None),
        ("7k/8/6K1/8/8/8/8/4R3 b - - 100 100", "reached", ("1/2-1/2", "fifty moves")),
        ("7k/8/6K1/8/8/8/8/4R3 b - - 99 100", "reached", None),
        ("7k/8/6K1/8/8/8/8/4R3 b - - 99 100", "chess_v6", ("1/2-1/2", "fifty moves")),
        ("7k/8/6K1/8/8/8/8/4R3 b - - 98 100", "chess_v6", None),
    ],
)
def test_outcome(fen, claim, result):
    assert outcome(fen, claim) == result


def test_unknown_claim():
    with pytest.raises(UnknownName, match="chess_v6"):
        outcome(fens.START, "chess_v5")


# -- the reset option --------------------------------------------------------------------------------------------------

MATE = "7k/8/6K1/8/8/8/8/4R3 w - - 4 90"


def test_reset_from_a_fen():
    env = coterie.make("chess-v0")
    env.reset(seed=0, options={"fen": MATE})
    assert fens.write(env.table.state["position"][0]) == MATE
    env.step(env.game.parse_action(env.table.state, 0, "Re8"))
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    env.reset(seed=0)
    assert fens.write(env.table.state["position"][0]) == fens.START


def test_a_start_that_is_the_end():
    env = coterie.make("chess-v0")
    env.reset(options={"fen": "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"})
    assert all(env.terminations.values())
    assert not env.last()[0]["action_mask"].any()


def test_one_fen_a_row():
    vec = coterie.make_vec("chess-v0", 2, seed=0)
    obs, _ = vec.reset(options={"fen": [MATE, fens.START]})
    assert obs["action_mask"].sum(1).tolist() == [20, 20]
    assert [fens.write(row) for row in vec.state["position"]] == [MATE, fens.START]


def test_a_wrong_fen_changes_nothing():
    env = coterie.make("chess-v0")
    with pytest.raises(NotationError, match="castling"):
        env.reset(options={"fen": "7k/8/6K1/8/8/8/8/4R3 w KQ - 0 1"})
    assert make_game("chess-v0").options.keys() == {"fen"}
