"""SAN against python-chess in random play, and every way to misspell a move."""

from __future__ import annotations

import contextlib
import random

import chess
import pytest

from coterie.envs.chess import fen as notation
from coterie.envs.chess import push
from coterie.envs.chess.position import make
from coterie.envs.chess.san import find, is_move, moves_and_sans, parse_san, san, with_marks
from coterie.envs.stepping.jit import disabled
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction, NotationError, UsageError

START = notation.START
CASTLES = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
PROMOTES = "1n3rk1/P7/8/8/8/8/6K1/8 w - - 0 1"
ROOKS = "6k1/8/8/R6R/8/8/8/R3K2R w KQ - 0 1"
PINNED = "4r1k1/8/8/8/8/8/N3N3/4K3 w - - 0 1"
QUEENS = "Q3Q3/8/8/8/Q7/8/8/4K1k1 w - - 0 1"
TAKES = "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3"

RACES = ["8/PPPPPPPP/k7/8/8/K7/pppppppp/8 w - - 0 1", "rnbq1bnr/PPPPPPPP/k7/8/8/7K/pppppppp/RNBQ1BNR w - - 0 1"]
MANY_PIECES = [
    "8/1k6/8/B1B5/B1B5/3R1R2/3R1R2/7K w - - 0 1",
    "7k/8/N1N1N3/8/N1N1N3/8/8/K7 w - - 0 1",
    QUEENS,
    ROOKS,
    PINNED,
]


def positions(count: int, seed: int):
    """Positions of random games, from openings, races of pawns and boards with many pieces of a kind."""
    rng = random.Random(seed)
    starts = [chess.STARTING_FEN, *RACES, *MANY_PIECES]
    board = chess.Board()
    for _ in range(count):
        if board.is_game_over() or rng.random() < 0.02:
            board = chess.Board(rng.choice(starts))
        yield board
        if any(board.legal_moves):
            board.push(rng.choice(list(board.legal_moves)))


@pytest.mark.slow
def test_equal_to_python_chess():
    seen = {"+": 0, "#": 0, "=": 0, "O-O-O": 0, "full": 0}
    for board in positions(60 if disabled() else 2500, seed=1):
        position = notation.parse(board.fen())
        moves, ours = moves_and_sans(position)
        theirs = {move.uci(): board.san(move) for move in board.legal_moves}
        marked = [with_marks(position, move, text) for move, text in zip(moves, ours, strict=True)]
        assert dict(zip(map(notation.uci, moves), marked, strict=True)) == theirs, board.fen()
        assert [text.rstrip("+#") for text in marked] == ours
        assert len(set(ours)) == len(ours)
        for move, text in list(zip(moves, marked, strict=True))[:: 1 if len(moves) < 4 else 7]:
            uci = notation.uci(move)
            for spelling in (text, uci, board.lan(chess.Move.from_uci(uci))):
                assert find(position, spelling) == move, (board.fen(), spelling)
        for word in seen:
            seen[word] += sum(word in text for text in marked)
        seen["full"] += sum(len(text) >= 5 and text[1:3].isalnum() and text[3].isalpha() for text in ours)
    assert disabled() or all(seen.values()), seen


@pytest.mark.slow
@pytest.mark.skipif(disabled(), reason="thousands of positions")
def test_what_python_chess_reads_we_read():
    """Random spellings, right and wrong, from moves of other positions."""
    rng = random.Random(5)
    pool = ["O-O", "O-O-O", "e8=Q", "a1", "Kxe1"]
    agreed = 0
    for board in positions(800, seed=2):
        position = notation.parse(board.fen())
        pool.extend(board.san(move) for move in list(board.legal_moves)[:3])
        for text in rng.sample(pool, min(len(pool), 12)):
            try:
                theirs = board.parse_san(text).uci()
            except ValueError:
                theirs = None
            try:
                ours = notation.uci(find(position, text))
            except (IllegalAction, AmbiguousAction):
                ours = None
            assert ours == theirs, (board.fen(), text)
            agreed += ours is not None
    assert agreed > 300


@pytest.mark.parametrize(
    ("fen", "uci", "written"),
    [
        (START, "g1f3", "Nf3"),
        (START, "e2e4", "e4"),
        (CASTLES, "e1g1", "O-O"),
        (CASTLES, "e1c1", "O-O-O"),
        (CASTLES, "a1a8", "Rxa8+"),
        (PROMOTES, "a7a8q", "a8=Q"),
        (PROMOTES, "a7b8n", "axb8=N"),
        (ROOKS, "a1a3", "R1a3"),
        (ROOKS, "a5f5", "Raf5"),
        (ROOKS, "h1f1", "Rf1"),
        (PINNED, "a2c1", "Nc1"),  # the other knight is pinned and does not count
        (QUEENS, "a8d5", "Qd5"),
        (TAKES, "e5f6", "exf6"),
        ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "a1a8", "Ra8#"),
    ],
)
def test_writing(fen, uci, written):
    assert san(fen, uci) == written == chess.Board(fen).san(chess.Move.from_uci(uci))
    assert san(fen, uci, marks=False) == written.rstrip("+#")
    assert parse_san(fen, written) == parse_san(fen, uci) == uci


@pytest.mark.parametrize(
    ("fen", "text", "uci"),
    [
        (START, " Nf3\n", "g1f3"),
        (START, "Nf3!?", "g1f3"),
        (START, "Ng1-f3", "g1f3"),
        (START, "Ngf3", "g1f3"),
        (START, "Nxf3", "g1f3"),
        (START, "1. Nf3", "g1f3"),
        (START, "1.e4", "e2e4"),
        (START, "e2-e4", "e2e4"),
        (START, "Pe4", "e2e4"),
        (START, "g1f3", "g1f3"),
        (CASTLES, "0-0", "e1g1"),
        (CASTLES, "o-o-o", "e1c1"),
        (CASTLES, "0-0-0+!", "e1c1"),
        (CASTLES, "e1g1", "e1g1"),
        (CASTLES, "Ra8", "a1a8"),
        (PROMOTES, "a8Q", "a7a8q"),
        (PROMOTES, "a8=n", "a7a8n"),
        (PROMOTES, "a8/R", "a7a8r"),
        (PROMOTES, "a8(B)", "a7a8b"),
        (PROMOTES, "a7xb8=Q+", "a7b8q"),
        (PROMOTES, "ab8R", "a7b8r"),
        (TAKES, "exf6 e.p.", "e5f6"),
        (TAKES, "exf6ep", "e5f6"),
        (TAKES, "e5xf6", "e5f6"),
    ],
)
def test_usual_variants_are_read(fen, text, uci):
    assert parse_san(fen, text) == uci


@pytest.mark.parametrize("text", ["", "hello", "--", "Zf3", "N", "Nf9", "i4", "a8=K", "O-O-O-O", "e4 e5", "♞f3"])
def test_no_move_at_all(text):
    assert not is_move(text)
    with pytest.raises(InvalidAction, match="does not read like a move"):
        parse_san(START, text)


@pytest.mark.parametrize(
    ("fen", "text", "why"),
    [
        (START, "Ke2", "e2 holds a white pawn"),
        (START, "Nd4", "no white knight can go to d4"),
        (START, "Qh5", "the white queen on d1 cannot go to h5"),
        (START, "exd3", "the white pawn on e2 cannot go to d3"),
        (START, "e2e5", "the white pawn on e2 cannot go to e5"),
        (START, "e7e5", "e7 holds a black pawn, and white is to move"),
        (START, "e3e4", "e3 is empty"),
        (START, "Nce4", "white has no knight on the c-file"),
        (START, "N3e4", "white has no knight on rank 3"),
        (START, "O-O", "f1 between king and rook is not empty"),
        (START, "O-O-O", "b1 between king and rook is not empty"),
        (PROMOTES, "Qa8", "white has no queen"),
        (PROMOTES, "Kg3=Q", "only a pawn that reaches the last rank"),
        (PINNED, "Nf4", "it would leave the white king in check"),
        ("r3k2r/8/8/8/8/8/4R3/4K3 b kq - 0 1", "O-O", "black is in check, and castling does not answer a check"),
        ("4r1k1/8/8/8/8/8/8/R3K2R w KQ - 0 1", "Rh3", "white is in check and would still be"),
        ("5rk1/8/8/8/8/8/8/R3K2R w KQ - 0 1", "O-O", "black attacks f1, where the king would pass"),
        ("5rk1/8/8/8/8/8/8/R3K2R w KQ - 0 1", "Kf2", "black attacks f2"),
        (CASTLES, "Kg1", "the white king on e1 cannot go to g1"),
        ("5rk1/8/8/8/8/8/8/R3K2R w Q - 0 1", "O-O", "may not castle kingside any more"),
        (TAKES, "exd6", "the white pawn on e5 cannot go to d6"),
        ("8/8/8/8/8/k7/p7/K7 w - - 0 1", "Kb1", "the game is over, white is stalemated"),
        ("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1", "Kh8", "the game is over, black is mated"),
    ],
)
def test_a_move_but_not_now(fen, text, why):
    assert is_move(text)
    with pytest.raises(IllegalAction) as caught:
        parse_san(fen, text)
    assert why in str(caught.value)
    assert text in str(caught.value)
    assert fen.split()[0] in str(caught.value)
    assert "Legal: " in str(caught.value)
    with pytest.raises(ValueError, match=r".*"):
        chess.Board(fen).parse_san(text)


@pytest.mark.slow
def test_a_reason_is_found_for_every_illegal_move():
    """Each of all squares to all squares: an IllegalAction with words, or the legal move."""
    for board in positions(4, seed=3):
        position = notation.parse(board.fen())
        legal = {move.uci()[:4] for move in board.legal_moves}
        for start in chess.SQUARE_NAMES[:: 8 if disabled() else 1]:
            for target in chess.SQUARE_NAMES:
                if start + target not in legal:
                    with pytest.raises(IllegalAction, match=r": [a-z].*\. Legal: "):
                        find(position, start + target)
        for text in ("O-O", "O-O-O", "Na3", "Bh6", "Rd1=Q", "Qa1b2", "Kh1"):
            with contextlib.suppress(IllegalAction, AmbiguousAction):
                find(position, text)


@pytest.mark.parametrize(
    ("fen", "text", "names"),
    [
        (ROOKS, "Ra3", ["R1a3", "R5a3"]),
        (ROOKS, "Rf5", ["Raf5", "Rhf5"]),
        (PROMOTES, "a8", ["a8=Q", "a8=R", "a8=B", "a8=N"]),
        (PROMOTES, "a7b8", ["axb8=Q", "axb8=N"]),
    ],
)
def test_several_moves(fen, text, names):
    with pytest.raises(AmbiguousAction) as caught:
        parse_san(fen, text)
    for name in names:
        assert name in str(caught.value)


def test_bad_positions_and_moves():
    with pytest.raises(NotationError):
        san("nonsense", "e2e4")
    with pytest.raises(NotationError):
        parse_san("nonsense", "e4")
    with pytest.raises(IllegalAction):
        san(START, "e2e5")
    with pytest.raises(InvalidAction):
        san(START, "e4")
    for given in (None, 5):
        for refuse in (parse_san, san, push):
            with pytest.raises(UsageError, match=f"A move is a text like .*, not {given}"):
                refuse(START, given)


@pytest.mark.parametrize(("text", "what"), [("a8=K", "king"), ("a8K+", "king"), ("bxa8=P", "pawn"), ("a7a8k", "king")])
def test_promotions_that_there_are_not(text, what):
    with pytest.raises(InvalidAction, match=f"becomes a queen, rook, bishop or knight, never a {what}"):
        parse_san("1n5k/P7/8/8/8/8/8/7K w - - 0 1", text)


def test_most_moves_of_all():
    """218 legal moves, the most that are known: they fit the kernel's room."""
    fen = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"
    position = notation.parse(fen)
    moves, texts = moves_and_sans(position)
    assert len(moves) == len(texts) == 218
    board = chess.Board(fen)
    assert sorted(texts) == sorted(board.san(move).rstrip("+#") for move in board.legal_moves)
    make(position, moves[0])
