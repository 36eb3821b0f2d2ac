"""SGF in and out: round trips, sgfmill as a second reader and writer, faults with their places."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import coterie
from coterie.aliases import RUNNING, TERMINATED, TRUNCATED
from coterie.envs import make_game
from coterie.envs.core import GameRecord
from coterie.envs.go import SgfGame, SgfMove, read_sgf, score, write_sgf
from coterie.envs.go.position import point, stones
from coterie.envs.go.record import start_from
from coterie.envs.state import take
from coterie.envs.stepping import jit
from coterie.errors import NotationError, UsageError

sgfmill = pytest.importorskip("sgfmill")

KO = "(;GM[1]FF[4]SZ[5]KM[0.5];B[cb];W[db];B[bc];W[ec];B[cd];W[dd];B[dc];W[cc])"
"""White has just taken D3; black may not take C3 back."""


def played(seed, turns=10_000, **config):
    """A random game as a record, and where it ended."""
    game = make_game("go-v0", **config)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    start, actions, status = take(state), [], RUNNING
    rng = np.random.default_rng(seed)
    rewards, comments = np.zeros(2, np.float32), {}
    while status == RUNNING and len(actions) < turns:
        mover = game.mover(state, 0)
        action = int(rng.choice(game.legal_actions(state, 0, mover)))
        status = game.kernels.step(state, 0, np.array([action, action], np.int32), rewards)
        if len(actions) % 7 == 3:
            comments[len(actions)] = (
                f"I take [{point(game.config['size'], action)}] \\ turn {len(actions)}: why?\nWell."
            )
        actions.append([action, action])
    record = GameRecord(start, actions, ("tiny", "random [9x9]"), tuple(rewards.tolist()), status, comments=comments)
    return game, record, state


CONFIGS = [
    {"size": 5},
    {"size": 9, "handicap": 4, "max_moves": 40},
    {"size": 9, "komi": 6},
    {"size": 13, "komi": 0, "max_moves": 90},
    {"size": 19, "handicap": 9, "max_moves": 120},
][: 2 if jit.disabled() else None]  # long games take long where the compiler is off


@pytest.mark.parametrize("config", CONFIGS)
def test_a_saved_game_reads_back_and_plays_to_the_same_end(config):
    for seed in range(3):
        game, record, state = played(seed, **config)
        text = game.formats[".sgf"](record)
        read = read_sgf(text)
        assert [move.action for move in read.moves] == [turn[0] for turn in record.actions]
        assert read.players == record.players
        assert read.result == score(state, 0).result
        assert (read.size, read.komi, read.handicap) == tuple(game.config[k] for k in ("size", "komi", "handicap"))
        assert {n: move.comment for n, move in enumerate(read.moves) if move.comment} == record.comments
        assert write_sgf(read) == text
        again = game.new_state(1)
        game.kernels.reset(again, 0, np.uint64(0))
        start_from(again, 0, {"sgf": text, "move": len(read.moves) - 1})
        last = record.actions[-1]
        game.kernels.step(again, 0, np.array(last, np.int32), np.zeros(2, np.float32))
        assert stones(again, 0) == stones(state, 0)
        assert np.array_equal(again.cells, state.cells) or config.get("handicap"), "the positions before are there too"


@pytest.mark.parametrize("config", CONFIGS)
def test_sgfmill_reads_what_we_write(config):
    """The other reader sees the same moves; its board comes to the same stones and the same area."""
    from sgfmill import sgf, sgf_moves

    for seed in range(3):
        game, record, state = played(seed, **config)
        theirs = sgf.Sgf_game.from_string(game.formats[".sgf"](record))
        size = config["size"]
        assert theirs.get_size() == size
        assert theirs.get_komi() == game.config["komi"]
        assert theirs.get_handicap() == (config.get("handicap") or None)
        assert (theirs.get_player_name("b"), theirs.get_player_name("w")) == record.players
        margin = score(state, 0).margin
        assert theirs.get_winner() == ("b" if margin > 0 else "w" if margin < 0 else None)
        for node in theirs.get_main_sequence():
            if node.has_property("C"):
                assert node.get("C") in record.comments.values()
        board, moves = sgf_moves.get_setup_and_moves(theirs)
        assert len(moves) == len(record.actions)
        for color, move in moves:
            if move is not None:
                board.play(*move, color)
        at = {(size - 1 - a // size, a % size): s for a, s in enumerate(stones(state, 0))}
        assert {p: {"b": "X", "w": "O", None: "."}[board.get(*p)] for p in at} == at
        assert board.area_score() == score(state, 0).black - score(state, 0).white


@pytest.mark.parametrize("seed", range(4))
def test_we_read_what_sgfmill_writes(seed):
    from sgfmill import sgf

    rng = np.random.default_rng(seed)
    size = [5, 9, 13, 19][seed]
    theirs = sgf.Sgf_game(size=size)
    root = theirs.get_root()
    root.set("KM", 5.5)
    root.set("PB", "A] \\ name")
    root.set("RE", "W+R")
    root.set_setup_stones({(0, 0), (1, 2)}, {(3, 3)})
    root.set("PL", "w")
    moves = []
    for n in range(12):
        color, move = "wb"[n % 2], None if n % 5 == 4 else tuple(int(k) for k in rng.integers(0, size, 2))
        node = theirs.extend_main_sequence()
        node.set_move(color, move)
        node.set("C", f"a ] b \\ c : {n}\nd\\")
        row, column = move or (None, None)
        moves.append(("bw".index(color), size * size if move is None else (size - 1 - row) * size + column))
    read = read_sgf(theirs.serialise())
    assert [(move.player, move.action) for move in read.moves] == moves
    assert [move.comment for move in read.moves] == [f"a ] b \\ c : {n}\nd\\" for n in range(12)]
    assert (read.size, read.komi, read.players[0], read.result) == (size, 5.5, "A] \\ name", "W+R")
    assert {point(size, a) for a in read.black} == {"A1", "C2"}
    assert {point(size, a) for a in read.white} == {"D4"}
    assert read.to_move == 1


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=60), st.text(max_size=20))
@example("]\\", "]\\")
@example("ends with \\", "a]b")
def test_any_comment_comes_back(comment, name):
    """But for control characters, kinds of line breaks and of spaces, which SGF does not tell apart."""
    from sgfmill import sgf

    game = SgfGame(size=9, players=(name, ""), moves=(SgfMove(0, 40, comment),))
    read = read_sgf(write_sgf(game))
    expected = re.sub(r"\r\n|\n\r|\r", "\n", comment)
    expected = "".join(c for c in expected if c in "\n\t" or c.isprintable() or c == " ")
    expected = re.sub(r"[^\S\n]", " ", expected)
    assert read.moves[0].comment == (expected if expected else "")
    assert read.moves[0].action == 40
    theirs = sgf.Sgf_game.from_bytes(write_sgf(game).encode())
    node = theirs.get_main_sequence()[1]
    assert node.get_move() == ("b", (4, 4))
    if expected:
        assert node.get("C") == expected


def test_what_a_record_may_say():
    read = read_sgf(
        """junk before (;GaMe[1]FF[3]SiZe[9]KM[6.5]HA[2]PB[Black
player]PW[White]RU[Japanese]RE[B+R]DT[2026-01-01]C[The \\
game\\: a \\] bracket]AB[gc][cg]AE[aa]
 ;W[ee]N[a name]C[middle](;B[ce];W[](;B[tt])(;B[aa];W[bb]))(;B[dd](;W[ff])(;W[gg])))
(;SZ[19];B[aa])"""
    )
    assert (read.size, read.komi, read.handicap, read.rules, read.result) == (9, 6.5, 2, "Japanese", "B+R")
    assert read.players == ("Black player", "White")
    assert read.comment == "The game: a ] bracket"
    assert read.others == {"DT": "2026-01-01"}
    assert [point(9, a) for a in read.black] == ["G7", "C3"]
    assert [(m.player, point(9, m.action)) for m in read.moves] == [(1, "E5"), (0, "C5"), (1, "pass"), (0, "pass")]
    assert read.moves[0].comment == "middle"
    assert read.variations == 2, "the side lines left out, not what they hold"
    assert read.to_move == 1


@pytest.mark.parametrize(
    ("text", "to_move"),
    [
        ("(;SZ[9])", 0),
        ("(;SZ[9]AB[aa][bb])", 1),
        ("(;SZ[9]AB[aa]AW[bb])", 0),
        ("(;SZ[9]AB[aa]PL[B])", 0),
        ("(;SZ[9];W[aa])", 1),
        ("(;SZ[9]AB[aa];B[bb])", 0),
        ("(;SZ[9]PL[W];W[aa])", 1),
    ],
)
def test_who_begins(text, to_move):
    assert read_sgf(text).to_move == to_move


def test_rectangles_of_stones():
    read = read_sgf("(;SZ[9]AB[aa:cb][ii]AE[bb])")
    assert {point(9, a) for a in read.black} == {"A9", "B9", "C9", "A8", "C8", "J1"}


def test_words_between_moves_belong_to_the_move_before():
    read = read_sgf("(;SZ[9]C[one];C[two];B[aa]C[three];C[four];W[bb])")
    assert read.comment == "one\ntwo"
    assert [m.comment for m in read.moves] == ["three\nfour", ""]


@pytest.mark.parametrize(
    ("text", "at", "words", "moves"),
    [
        ("", 0, "begins with", 0),
        ("no brackets (at all)", 0, "begins with", 0),
        ("(;GM[2];B[aa])", 5, r"GM\[2\]", 0),
        ("(;FF[9];B[aa])", 5, r"FF\[9\]", 0),
        ("(;SZ[nine])", 5, "not the size", 0),
        ("(;SZ[9:13])", 5, "square", 0),
        ("(;SZ[25])", 5, "5 to 19", 0),
        ("(;SZ[9]KM[many])", 10, "not a number of points", 0),
        ("(;SZ[9]KM[inf])", 10, "not a number of points", 0),
        ("(;SZ[9]HA[two])", 10, "number of stones", 0),
        ("(;SZ[9]PL[X])", 10, "no colour", 0),
        ("(;SZ[9];B[aa];W[ab];B[jj])", 22, "aa to ii", 2),
        ("(;SZ[9];B[aa];W[a])", 16, "not a point", 1),
        ("(;SZ[9];B[aa];W[AB])", 16, "not a point", 1),
        ("(;SZ[9];B[aa];W[ab", 15, "no closing", 1),
        ("(;SZ[9];B[aa];W[ab]", 19, r"1 '\)' are missing", 2),
        ("(;SZ[9];B[aa](;W[ab]", 20, r"2 '\)' are missing", 2),
        ("(;SZ[9];B[aa];W)", 15, "no value", 1),
        ("(;SZ[9];B[aa]?;W[bb])", 13, "not '\\?'", 1),
        ("(;SZ[9];B[aa](;W[ab]);B[cc])", 21, "after a branch", 2),
        ("(;SZ[9];B[aa];AB[bb])", 14, "after move 1", 1),
        ("(;SZ[9];B[aa];PL[W])", 14, "after move 1", 1),
        ("(;SZ[5]AB[aa]AW[ab][ba];B[cc])", 13, "A5 is set up without a liberty", 0),
        ("(;SZ[5]AW[aa]AB[ab][ba])", 13, "without a liberty", 0),
    ],
)
def test_faults_have_a_place(text, at, words, moves):
    with pytest.raises(NotationError, match=words) as caught:
        read_sgf(text)
    assert caught.value.at == at
    assert isinstance(caught.value.read, SgfGame)
    assert len(caught.value.read.moves) == moves
    assert f"character {at} " in str(caught.value)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="(;)[]BWCAabSZ9:\\ \n", max_size=60), st.integers(0, 80), st.integers(0, 80))
def test_any_text_is_read_or_refused(noise, lo, hi):
    text = KO[: min(lo, hi)] + noise + KO[max(lo, hi) :]
    for source in (noise + "(", text + "("):
        at = 0
        try:
            read_sgf(source)
        except NotationError as error:  # anything else fails the test
            at = error.at
        assert 0 <= at <= len(source)


def test_deep_and_long_records():
    assert len(read_sgf("(;SZ[9]" + "(;B[aa];W[])" * 1 + "(;B[bb])" * 3000 + ")").moves) == 2
    assert len(read_sgf("(;SZ[9]" + "(;B[]" * 5000 + ")" * 5001).moves) == 5000
    assert len(read_sgf("(;SZ[9]" + ";B[]" * 20_000 + ")").moves) == 20_000


def test_files(tmp_path):
    path = tmp_path / "game.sgf"
    path.write_bytes("(;SZ[9]PB[Übung];B[aa])".encode())
    assert read_sgf(path).players[0] == "Übung"
    assert read_sgf(str(path)) == read_sgf(path.read_bytes())
    path.write_bytes("(;SZ[9]CA[gb2312]PB[古力];B[aa])".encode("gb2312"))
    assert read_sgf(path).players[0] == "古力"
    path.write_bytes(b"(;SZ[9]CA[no-such-code]PB[\xdcbung];B[aa])")
    assert read_sgf(path).players[0] == "Übung"
    with pytest.raises(UsageError, match="neither SGF text"):
        read_sgf(str(tmp_path / "absent.sgf"))
    with pytest.raises(UsageError, match="not int"):
        read_sgf(7)


def test_a_start_position_from_a_curriculum_opens_no_file(tmp_path):
    file = tmp_path / "game.sgf"
    file.write_text("(;SZ[9];B[aa])")
    env = coterie.make("go", size=9)
    env.reset(options={"sgf": file})
    with pytest.raises(NotationError, match="no game in this text"):
        env.reset(options={"sgf": str(file)})


# -- starting from a record --------------------------------------------------------------------------------------------


def test_a_game_goes_on_from_a_record():
    env = coterie.make("go-v0", size=5)
    env.reset(options={"sgf": KO})
    assert env.agent_selection == "player_0"
    state = env.table.state
    game = env.game
    assert stones(state, 0) == "..." + ".." + "..XO." + ".XO.O" + "..XO." + "....."
    assert "D3 (superko)" in game.describe(state, 0, 0), "the record's past counts"
    assert int(state.facts[0]["komi"]) == 1, "the record's komi holds"
    seen = env.last()[0]["observation"]
    assert not seen[2, 3, 0]
    assert seen[2, 3, 2], "the position before is in the observation"
    env.reset()
    assert int(state.facts[0]["komi"]) == 15, "the next game has the usual one"
    assert stones(state, 0) == "." * 25


def test_a_game_goes_on_from_the_middle_of_a_record():
    env = coterie.make("go-v0", size=5, komi=3)
    for value, count in ({"sgf": KO, "move": 3}, 3), ({"sgf": read_sgf(KO), "move": 0}, 0):
        env.reset(options={"sgf": value})
        assert int(env.table.state.facts[0]["moves"]) == count
        assert env.agent_selection == f"player_{count % 2}"


def test_rows_start_from_records():
    vec = coterie.make_vec("go-v0", 3, seed=0, size=5)
    vec.reset(options={"sgf": [KO, "(;SZ[5]AB[aa])", {"sgf": KO, "move": 1}]})
    assert vec.player.tolist() == [0, 1, 1]
    assert [stones(vec.state, i).count("X") for i in range(3)] == [3, 1, 1]
    vec.reset(options={"sgf": KO})
    assert [stones(vec.state, i).count("O") for i in range(3)] == [4, 4, 4]


def test_moves_out_of_turn_are_taken_as_they_come():
    env = coterie.make("go-v0", size=5)
    env.reset(options={"sgf": "(;SZ[5];B[aa];B[bb];B[cc];W[dd])"})
    assert env.agent_selection == "player_0"
    assert stones(env.table.state, 0).count("X") == 3


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("(;SZ[9];B[aa])", "set size=9"),
        ({"sgf": KO, "move": 9}, "moves 0 to 8"),
        ({"sgf": KO, "move": "3"}, "moves 0 to 8"),
        ({"text": KO}, "keys"),
        ("(;SZ[5]KM[3.75])", "half points"),
        ("(;SZ[5];B[aa];W[];B[])", "'move' under 3"),
        ("(;SZ[5];B[aa];W[];B[];W[bb])", "cannot be played"),
        ("(;SZ[5]" + ";B[cc];W[]" * 25 + ")", "max_moves=50"),
    ],
)
def test_records_that_do_not_fit(value, words):
    env = coterie.make("go-v0", size=5)
    with pytest.raises(UsageError, match=words):
        env.reset(options={"sgf": value})


@pytest.mark.parametrize(
    ("text", "at", "moves", "why"),
    [
        (KO[:-1] + ";B[dc])", len(KO) - 1, 8, "ko"),
        ("(;SZ[5];B[aa];W[aa])", 13, 1, "occupied"),
        ("(;SZ[5];B[ab];W[dd];B[ba];W[aa])", 25, 3, "suicide"),
    ],
)
def test_records_that_break_the_rules(text, at, moves, why):
    game = make_game("go-v0", size=5)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    with pytest.raises(NotationError, match=why) as caught:
        start_from(state, 0, text)
    assert caught.value.at == at + 1
    assert len(caught.value.read.moves) == moves


# -- saving ------------------------------------------------------------------------------------------------------------


def test_results_of_games_that_did_not_end_by_counting():
    game, record, _ = played(1, turns=7, size=5)
    cases = {(RUNNING, None): "?", (TRUNCATED, None): "Void", (TERMINATED, 0): "W+F", (TERMINATED, 1): "B+F"}
    for (status, illegal), result in cases.items():
        text = game.formats[".sgf"](dataclasses.replace(record, status=status, illegal=illegal))
        assert read_sgf(text).result == result
        if illegal is not None:
            assert "answered illegally" in read_sgf(text).moves[-1].comment


def test_an_illegal_answer_is_no_move():
    game, record, _ = played(1, turns=7, size=5)
    record.actions.append([record.actions[0][0]] * 2)
    text = game.formats[".sgf"](dataclasses.replace(record, status=TERMINATED, illegal=1, comments={7: "my plan ]"}))
    read = read_sgf(text)
    assert len(read.moves) == 7
    assert read.moves[-1].comment.endswith("W answered illegally. my plan ]")
    record.actions.clear()
    text = game.formats[".sgf"](dataclasses.replace(record, status=TERMINATED, illegal=0, comments={0: "none"}))
    assert read_sgf(text).comment == "B answered illegally. none"


def test_a_game_that_began_in_the_middle_is_saved_with_its_stones():
    game = make_game("go-v0", size=5)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    start_from(state, 0, KO)
    record = GameRecord(take(state), [[0, 0], [24, 24]], ("a", "b"), (0.0, 0.0), RUNNING)
    read = read_sgf(game.formats[".sgf"](record))
    assert len(read.black) == 3
    assert len(read.white) == 4
    assert [m.action for m in read.moves] == [0, 24]
    assert read.komi == 0.5
