"""What players are told of chess: nothing that gives a mate away; how answers are read."""

from __future__ import annotations

import gzip
import random
import re
import string
from pathlib import Path

import chess
import numpy as np
import pytest

import coterie
from coterie.envs import make_game
from coterie.envs.chess import text
from coterie.envs.chess.curricula import CURRICULA
from coterie.envs.chess.fen import START
from coterie.envs.stepping.jit import disabled
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction

GAME = make_game("chess-v0", claim="never")
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def begin(fen=START):
    state = GAME.new_state(1)
    GAME.kernels.reset(state, 0, np.uint64(0))
    GAME.options["fen"](state, 0, fen)
    return state


def play(state, *answers):
    rewards = np.zeros(2, np.float32)
    for answer in answers:
        action = GAME.parse_action(state, 0, answer)
        GAME.kernels.step(state, 0, np.array([action, action], np.int32), rewards)
    return state


def test_no_mate_can_be_read_off_the_page():
    """Neither + nor # stands in anything a player is told, and mates are written and listed like all other moves."""
    lines = gzip.decompress(CURRICULA["mate-in-1"].test.read_bytes()).decode().splitlines()[1:]
    assert not set("+#") & set(GAME.rules)
    for fen in lines[:: 500 if disabled() else 5]:
        state, board = begin(fen), chess.Board(fen)
        player = GAME.mover(state, 0)
        told = [GAME.describe(state, 0, p) for p in (0, 1)] + [GAME.compact(state, 0, p) for p in (0, 1)]
        legal = GAME.legal_actions(state, 0, player)
        names = [GAME.action_to_text(state, 0, action) for action in legal]
        assert not set("+#") & set("".join([*told, *names]))
        assert not {"mate", "mates"} & set("".join(told).lower().split())
        assert sorted(names) == sorted(board.san(move).rstrip("+#") for move in board.legal_moves)
        listed = told[player].rsplit("Legal moves: ", 1)[1].split()
        assert listed == sorted(listed)  # by spelling, so the order says nothing
        assert text.sans(state, 0) == names
        for action in legal:  # those who write them are understood all the same
            assert GAME.parse_action(state, 0, GAME.action_to_text(state, 0, action) + "#") == action


def test_describe():
    state = play(begin(), "e4", "e5", "Qh5", "Ke7")
    assert GAME.describe(state, 0, 0) == "\n".join(
        [
            "FEN: rnbq1bnr/ppppkppp/8/4p2Q/4P3/8/PPPP1PPP/RNB1KBNR w KQ - 2 3",
            "  a b c d e f g h",
            "8 r n b q . b n r 8",
            "7 p p p p k p p p 7",
            "6 . . . . . . . . 6",
            "5 . . . . p . . Q 5",
            "4 . . . . P . . . 4",
            "3 . . . . . . . . 3",
            "2 P P P P . P P P 2",
            "1 R N B . K B N R 1",
            "  a b c d e f g h",
            "Last moves: 1. e4 e5 2. Qh5 Ke7",
            "White is to move. You are White. Legal moves: " + " ".join(sorted(text.sans(state, 0))),
        ]
    )
    assert GAME.describe(state, 0, 1).endswith("White is to move. You are Black. You have no move now.")
    assert GAME.describe(play(state, "Qxe5"), 0, 1).splitlines()[-2:] == [
        "Last moves: 1. e4 e5 2. Qh5 Ke7 3. Qxe5",
        "You are Black. The game is over: White has mated.",
    ]


def test_describe_of_games_from_a_position_and_of_ends():
    state = begin("4k3/8/8/8/8/8/4P3/4K3 b - - 0 30")
    assert "Last moves" not in GAME.describe(state, 0, 1)
    play(state, "Kd7")
    assert "Last moves: 30... Kd7\n" in GAME.describe(state, 0, 0)
    play(state, "e4", "Ke6")
    assert "Last moves: 30... Kd7 31. e4 Ke6\n" in GAME.describe(state, 0, 0)
    check = begin("4k3/8/8/8/8/8/4r3/4K3 w - - 0 1")
    assert "White is in check. White is to move. You are White." in GAME.describe(check, 0, 0)
    stalemate = begin("8/8/8/8/8/k7/p7/K7 w - - 0 1")
    assert GAME.describe(stalemate, 0, 0).endswith("You are White. The game is drawn: stalemate.")
    assert text.sans(stalemate, 0) == []
    with pytest.raises(IllegalAction, match="comes too late"):
        GAME.parse_action(stalemate, 0, "Kb1")


@pytest.mark.slow
def test_last_moves_of_random_games():
    rng = random.Random(2)
    kinds = {"x": 0, "O-O": 0, "=": 0, "passant": 0}
    starts = [START, KIWIPETE, "r3k2r/1P4P1/8/2pPpP2/2PpPp2/8/1p4p1/R3K2R w KQkq e6 0 1"]
    for number in range(3 if disabled() else 60):
        board = chess.Board(starts[number % 3])
        state, played = begin(board.fen()), []
        for _ in range(80):
            if state["over"][0] or not any(board.legal_moves):
                break
            move = rng.choice(list(board.legal_moves))
            kinds["passant"] += board.is_en_passant(move)
            played.append(board.san(move).rstrip("+#"))
            board.push(move)
            play(state, move.uci())
            for most in (3, 7):
                assert text.last_moves(state, 0, most) == played[-most:]
            for word in kinds:
                kinds[word] += word in played[-1]
    assert disabled() or all(kinds.values()), kinds


def test_compact():
    assert GAME.compact(begin(), 0, 0) == "w KQkq -- rnbqkbnrpppppppp" + "." * 32 + "PPPPPPPPRNBQKBNR>"
    state = play(begin(KIWIPETE), "O-O")
    assert GAME.compact(state, 0, 1) == GAME.compact(state, 0, 0)
    rows = ["R...K..R", "P.PPQPB.", "BN..PNP.", "...pn...", ".P..p...", "..n..q.P", "pppbbppp", "r....rk."]
    assert GAME.compact(state, 0, 1) == f"b KQ-- -- {''.join(rows)}>"
    passing = begin("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1")
    assert GAME.compact(passing, 0, 0).startswith("w ---- d6 ")
    for fen in (START, KIWIPETE, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 b - - 3 40"):
        line, board = GAME.compact(begin(fen), 0, 0), chess.Board(fen)
        assert len(line) == 75
        for square, letter in zip(chess.SQUARES_180, line[10:74], strict=True):
            piece = board.piece_at(square)
            symbol = "." if piece is None else piece.symbol()
            assert letter == (symbol if board.turn else symbol.swapcase())


@pytest.mark.parametrize(
    ("answer", "move"),
    [
        ("Nf3", "Nf3"),
        ("nothing but Nf3.", "Nf3"),
        ("I play 1. Nf3!", "Nf3"),
        ("g1f3", "Nf3"),
        ("Ng1-f3", "Nf3"),
        ("**Nf3**", "Nf3"),
        ("Answer: `e4`", "e4"),
        ("e4, yes, e2e4", "e4"),
        ('{"move": "e2e4"}', "e4"),
    ],
)
def test_answers_that_are_understood(answer, move):
    state = begin()
    assert GAME.action_to_text(state, 0, GAME.parse_action(state, 0, answer)) == move


@pytest.mark.parametrize(
    ("answer", "error", "why"),
    [
        ("", InvalidAction, "names no move. Answer with one of Na3 Nc3"),
        ("I resign", InvalidAction, "names no move"),
        ("xNf3x", InvalidAction, "names no move"),
        ("e4 or d4", AmbiguousAction, "names several moves: e4, d4"),
        ("after e5 I like Nf3", AmbiguousAction, "several moves: e5, Nf3"),
        ("Ke2 it is", IllegalAction, "e2 holds a white pawn"),
        ("e5", IllegalAction, "the white pawn on e2 cannot go to e5"),
    ],
)
def test_answers_that_are_not(answer, error, why):
    state = begin()
    with pytest.raises(error, match=why):
        GAME.parse_action(state, 0, answer)


def test_actions_that_are_not_legal_are_written_so_that_nobody_takes_them():
    state = begin(KIWIPETE)
    legal = set(GAME.legal_actions(state, 0, 0))
    rejected = (InvalidAction, IllegalAction)
    for action in [*range(0, 4672, 61), -1, 4672]:
        if action not in legal:
            with pytest.raises(rejected):
                GAME.parse_action(state, 0, GAME.action_to_text(state, 0, action))


def test_texts_fit_their_space():
    """The position with the most legal moves, in printable ASCII; and the text environment takes both."""
    crowded = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"
    for fen in (START, KIWIPETE, crowded):
        state = begin(fen)
        for face in (GAME.describe, GAME.compact):
            told = face(state, 0, GAME.mover(state, 0))
            assert len(told) <= 2048
            assert set(told) <= set(string.printable)
    env = coterie.make("chess-v0", text=True)
    env.reset(options={"fen": KIWIPETE})
    assert env.observation_space("player_0").contains(env.last()[0])
    env.step("O-O")
    assert "Last moves: 1. O-O\n" in env.last()[0]
    env.step("hello")
    assert env.terminations["player_1"]


def test_rows_of_a_batch_do_not_mix():
    """Texts are kept by position: rows that move on are spelt anew."""
    state = GAME.new_state(3)
    rng, rewards = random.Random(0), np.zeros(2, np.float32)
    boards = [chess.Board() for _ in range(3)]
    for i in range(3):
        GAME.kernels.reset(state, i, np.uint64(0))
    for _ in range(10):
        for i, board in enumerate(boards):
            names = text.sans(state, i)
            assert sorted(names) == sorted(board.san(move).rstrip("+#") for move in board.legal_moves)
            action = rng.choice(GAME.legal_actions(state, i, GAME.mover(state, i)))
            board.push_san(GAME.action_to_text(state, i, action))
            GAME.kernels.step(state, i, np.array([action, action], np.int32), rewards)


def test_all_moves_of_a_position_are_spelt_at_once(monkeypatch):
    state, passes = begin(KIWIPETE), []
    spell = text._spell_row
    monkeypatch.setattr(text, "_spell_row", lambda *arguments: passes.append(arguments) or spell(*arguments))
    text._spelt.cache_clear()
    legal = GAME.legal_actions(state, 0, 0)
    assert len({GAME.action_to_text(state, 0, action) for action in legal}) == len(legal) == 48
    assert len(passes) == 1


def test_the_page_shows_what_its_blocks_print(capsys):
    page = (Path(__file__).parents[3] / "docs" / "games" / "chess-notation.md").read_text()
    names: dict[str, object] = {}
    found = re.findall(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", page, re.M | re.S)
    assert len(found) == page.count("```python")
    for block, shown in found:
        exec(compile(block, "chess-notation.md", "exec"), names)
        assert capsys.readouterr().out.rstrip() == shown.rstrip()
