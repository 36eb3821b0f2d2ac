"""Chess as a game: endings, claims, rewards, what a row remembers; against python-chess in random play."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.envs import make_game
from coterie.envs.chess import fen as fens
from coterie.envs.chess import perft
from coterie.envs.chess.position import KEY, META, attacked, copy, make, pieces
from coterie.envs.chess.rules import CLAIMS, DTYPE, ENDINGS, action_of
from coterie.envs.stepping import jit
from coterie.errors import UnknownName

SHUFFLE = ["g1f3", "g8f6", "f3g1", "f6g8"]


def play(moves, claim="chess_v6", fen=fens.START):
    """Row, ending and rewards after some moves (UCI); all but the last must leave the game running."""
    game = make_game("chess-v0", claim=claim)
    state, rewards = game.new_state(1), np.zeros(2, np.float32)
    game.kernels.reset(state, 0, np.uint64(0))
    if fen != fens.START:
        game.options["fen"](state, 0, fen)
    for k, uci in enumerate(moves):
        assert state["over"][0] == 0, f"the game ended before move {k}"
        position = state["position"][0]
        action = int(action_of(position, fens.parse_uci(position, uci)))
        rewards[:] = 0
        status = game.kernels.step(state, 0, np.full(2, action, np.int32), rewards)
        assert (status != 0) == (state["over"][0] != 0)
    return state, ENDINGS[int(state["over"][0])], rewards.tolist()


def test_mate():
    state, ending, rewards = play(["f2f3", "e7e5", "g2g4", "d8h4"])
    assert (ending, rewards) == ("checkmate", [-1.0, 1.0])
    assert not make_game("chess").legal_actions(state, 0, 0)
    assert play(["e2e4", "e7e5", "d1h5", "b8c6", "f1c4", "g8f6", "h5f7"])[1:] == ("checkmate", [1.0, -1.0])


@pytest.mark.parametrize(
    ("fen", "moves", "ending"),
    [
        ("7k/8/6K1/5Q2/8/8/8/8 w - - 0 1", "f5f7", "stalemate"),
        ("7k/8/6K1/8/8/8/8/4N2r b - - 0 1", "h1e1", "running"),
        ("7k/8/6K1/8/8/8/8/4r2N b - - 0 1", "e1h1", "running"),
        ("7k/8/6K1/8/8/8/6r1/7N w - - 0 1", "g6h5", "running"),
        ("7k/8/8/8/8/8/5Kr1/7N w - - 0 1", "f2g2", "insufficient material"),
        ("7k/8/8/8/8/8/5Kr1/7B w - - 0 1", "f2g2", "insufficient material"),
        ("7k/6n1/8/8/8/8/5Kr1/7B w - - 0 1", "f2g2", "running"),  # bishop and knight can still help each other mate
        ("7k/6b1/8/8/8/8/5Kr1/7B w - - 0 1", "f2g2", "running"),  # bishops on squares of both colours
        ("7k/6b1/8/8/8/8/5Kr1/B7 w - - 0 1", "f2g2", "insufficient material"),
        ("7k/8/8/8/8/8/5Kr1/6NN w - - 0 1", "f2g2", "running"),
        ("8/8/8/8/2b5/8/8/K1Nk4 b - - 0 1", "d1c1", "insufficient material"),  # it goes before stalemate
    ],
)
def test_ends_that_need_no_claim(fen, moves, ending):
    for claim in CLAIMS:
        assert play(moves.split(), claim, fen)[1] == ending
    chess = pytest.importorskip("chess")
    board = chess.Board(fen)
    for move in moves.split():
        board.push_uci(move)
    outcome = board.outcome()
    assert (outcome.termination.name.lower().replace("_", " ") if outcome else "running") == ending


@pytest.mark.parametrize(("claim", "plies"), [("chess_v6", 7), ("reached", 8), ("never", 16)])
def test_repetition(claim, plies):
    """The start position occurs again after 4, 8, 12 and 16 plies; after 7 a move would make it the third time."""
    moves = (SHUFFLE * 4)[:plies]
    _, ending, rewards = play(moves, claim)
    assert ending == ("fivefold repetition" if claim == "never" else "threefold repetition")
    assert rewards == [0, 0]
    assert play(moves[:-1], claim)[1] == "running"


def test_a_lost_right_makes_another_position():
    """The king goes out and back: what follows is not the position from before, though the pieces stand alike."""
    start = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    dance = ["e1e2", "e8e7", "e2e1", "e7e8"]
    assert play((dance * 3)[:9], "reached", start)[1] == "running"
    assert play((dance * 3)[:10], "reached", start)[1] == "threefold repetition"
    assert play((dance * 2)[:8], "reached", start.replace("KQkq", "-"))[1] == "threefold repetition"


def test_an_en_passant_right_makes_another_position():
    """It only counts where the capture is legal."""
    for fen, plies in (("4k2n/8/8/8/3p4/8/4P3/4K2N w - - 0 1", 10), ("4k2n/8/8/8/8/8/4P3/4K2N w - - 0 1", 9)):
        moves = ["e2e4", *["h8g6", "h1g3", "g6h8", "g3h1"] * 3][:plies]
        assert play(moves, "reached", fen)[1] == "threefold repetition"
        assert play(moves[:-1], "reached", fen)[1] == "running"


def test_a_capture_or_pawn_move_starts_anew():
    moves = [*SHUFFLE, *SHUFFLE[:3], "e7e5", "g1f3", "f6g8", "f3g1", "g8f6"]
    state, ending, _ = play(moves, "reached")
    assert ending == "running"
    assert state["known"][0] == 5
    assert state["twice"][0].tolist() == [1 << 4, 0, 0]


ROOKS = "4k3/8/8/8/8/8/8/R3K3 {} - - {} 80"


@pytest.mark.parametrize(
    ("claim", "clock", "ending"),
    [
        ("chess_v6", 97, "running"),
        ("chess_v6", 98, "fifty moves"),
        ("reached", 98, "running"),
        ("reached", 99, "fifty moves"),
        ("never", 99, "running"),
        ("never", 148, "running"),
        ("never", 149, "seventy-five moves"),
    ],
)
def test_move_counts(claim, clock, ending):
    assert play(["a1b1"], claim, ROOKS.format("w", clock))[1] == ending


def test_mate_goes_before_fifty_moves():
    mate = "7k/8/6K1/5Q2/8/8/8/8 w - - 99 90"
    assert play(["f5c8"], "reached", mate)[1:] == ("checkmate", [1.0, -1.0])
    assert play(["f5c2"], "reached", mate)[1:] == ("fifty moves", [0.0, 0.0])


@pytest.mark.parametrize(
    ("fen", "ending"),
    [
        ("k7/7n/1K1B4/8/8/8/8/6R1 w - - 98 90", "fifty moves"),
        ("k7/7p/1K1B4/8/8/8/8/6R1 w - - 98 90", "running"),  # black can only move its pawn
        ("k7/1R5p/3B4/1K6/8/8/8/6R1 w - - 98 90", "running"),  # or capture
    ],
)
def test_fifty_moves_are_claimed_ahead_only_where_a_move_completes_them(fen, ending):
    assert play(["g1h1"], "chess_v6", fen)[1] == ending
    chess = pytest.importorskip("chess")
    board = chess.Board(fen)
    board.push_uci("g1h1")
    assert board.can_claim_draw() == (ending != "running")


def test_claims_are_checked():
    with pytest.raises(UnknownName, match="Did you mean 'reached'"):
        make_game("chess-v0", claim="reach")
    assert make_game("chess-v0").config == {"claim": "chess_v6"}


def test_the_row_is_small():
    """What a clone costs; see docs/benchmarks/games.md."""
    assert DTYPE.itemsize == 1560


def test_what_a_key_depends_on():
    game = make_game("chess-v0")
    one, _, _ = play(["e2e4", "e7e5", "g1f3", "b8c6"])
    two, _, _ = play(["g1f3", "b8c6", "e2e4", "e7e5"])
    assert fens.write(one["position"][0])[:-5] == fens.write(two["position"][0])[:-5]
    assert one["position"][0, KEY] == two["position"][0, KEY]
    assert game.key(one, 0) != game.key(two, 0)  # the clock differs, and what can be repeated
    again, _, _ = play(["e2e4", "e7e5", "g1f3", "b8c6"])
    assert game.key(one, 0) == game.key(again, 0)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_games_against_python_chess(first):
    """FEN, legal moves, SAN, check, repetitions, claims and results; the command plays as many as one likes."""
    pytest.importorskip("chess")
    from coterie.benchmarks.chess_differential import run

    games = range(first, first + (1 if jit.disabled() else 20))
    assert run(games, tell=lambda line: None)["games"] == len(games)


def test_drawn_games_are_those_of_the_rules():
    """Rollouts that write no masks end as the others do."""
    vec = coterie.make_vec("chess-v0", 64, seed=1, autoreset_mode="Disabled")
    vec.reset()
    steps = 20 if jit.disabled() else 3000
    vec.random_rollout(steps, observe=False)
    if not jit.disabled():
        assert (vec.status == 1).all()
        assert len({ENDINGS[k] for k in vec.state["over"]}) >= 4
    assert (vec.action_mask.any(1) == (vec.status == 0)).all()


# -- properties --------------------------------------------------------------------------------------------------------


def walk(choices):
    """The positions of a game in which move number k is ``choices[k]``, as a share of the legal ones."""
    position = fens.parse(fens.START)
    yield position.copy()
    for choice in choices:
        moves = sorted(fens.legal(position))
        if not moves:
            return
        make(position, moves[int(choice * len(moves))])
        yield position.copy()


def mirrored(fen):
    """The same position with colours changed."""
    board, side, rights, passed, clock, number = fen.split()
    rows = "/".join(row.swapcase() for row in reversed(board.split("/")))
    passed = passed if passed == "-" else passed[0] + str(9 - int(passed[1]))
    rights = "".join(sorted(rights.swapcase()))
    return f"{rows} {'w' if side == 'b' else 'b'} {rights} {passed} {clock} {number}"


WALKS = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=120)


@settings(deadline=None, max_examples=10 if jit.disabled() else 60)
@given(WALKS)
def test_colours_do_not_matter(choices):
    *_, position = walk(choices)
    fen = fens.write(position)
    other = mirrored(fen)
    assert mirrored(other) == fen
    flip = str.maketrans("12345678", "87654321")
    theirs = sorted(fens.uci(move).translate(flip) for move in fens.legal(fens.parse(other)))
    assert theirs == sorted(map(fens.uci, fens.legal(position)))
    assert perft(other, 2) == perft(fen, 2)


@settings(deadline=None, max_examples=10 if jit.disabled() else 60)
@given(WALKS)
def test_what_always_holds(choices):
    keys = {}
    before = None
    for position in walk(choices):
        fen = fens.write(position)
        black = int(position[META]) & 1
        kings = [int(pieces(position, np.uint64(6), np.uint64(colour))) for colour in (0, 1)]
        assert all(king.bit_count() == 1 for king in kings)
        other = kings[1 - black].bit_length() - 1
        assert not attacked(position, np.uint64(other), np.uint64(black)), "the side that moved is in check"
        assert np.array_equal(fens.parse(fen)[:META], position[:META])
        assert fens.parse(fen)[KEY] == position[KEY]
        seen = fen.rsplit(" ", 2)[0]
        assert keys.setdefault(int(position[KEY]), seen) == seen, "two positions with one key"
        if before is not None:
            assert black != int(before[META]) & 1
            again = np.zeros_like(position)
            copy(position, again)
            assert np.array_equal(again, position)
        before = position
