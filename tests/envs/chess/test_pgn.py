"""PGN: what we write python-chess reads, and the other way round; files of others; faults and what stood before."""

from __future__ import annotations

import io
import random

import chess
import chess.pgn
import numpy as np
import pytest

from coterie.aliases import RUNNING, TERMINATED, TRUNCATED
from coterie.envs import make_game
from coterie.envs.chess.fen import START
from coterie.envs.chess.pgn import ROSTER, PGNGame, iter_pgn, read_pgn, record_to_pgn, write_pgn
from coterie.envs.core import GameRecord
from coterie.envs.stepping.jit import disabled
from coterie.errors import IllegalAction, NotationError, UsageError

GAME = make_game("chess-v0")
GAMES = 4 if disabled() else 24
STARTS = [
    START,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 3 17",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 1 30",
]
SAID = [
    'The answer is {"move": "e4"}; 100% sure.',
    "% looks like an escaped line " * 6,
    "line one\nline two\r\n\tand a tab",
    "a" * 300,
    "ends with a brace }",
    '1-0 * ( ) $3 [White "nobody"] ; e4',
    "ünïcödé – 我走王 ♞",
    "  ",
]


def random_game(seed, plies=120):
    """A PGNGame of random legal moves, with comments and glyphs in random places."""
    rng = random.Random(seed)
    board = chess.Board(STARTS[seed % len(STARTS)])
    game = PGNGame(fen=board.fen())
    game.headers = {"White": f'Ann "A" {seed}\\', "Black": "Bob", "Annotator": "x" * seed}
    if rng.random() < 0.5:
        game.comments[0] = rng.choice(SAID)
    for ply in range(1, rng.randrange(plies)):
        if not any(board.legal_moves):
            break
        board.push(rng.choice(list(board.legal_moves)))
        game.moves.append(board.peek().uci())
        if rng.random() < 0.2:
            game.comments[ply] = rng.choice(SAID)
        if rng.random() < 0.1:
            game.glyphs[ply] = [rng.randrange(1, 20)]
    game.result = rng.choice(["1-0", "0-1", "1/2-1/2", "*"])
    return game


def as_read(text):
    """A comment as it comes back: braces are parentheses, spaces are single."""
    return " ".join(text.replace("{", "(").replace("}", ")").split())


def test_python_chess_reads_what_we_write():
    games = [random_game(seed) for seed in range(GAMES)]
    text = "".join(map(write_pgn, games))
    assert max(map(len, text.splitlines())) <= 80
    assert not any(line.startswith("%") for line in text.splitlines())
    file = io.StringIO(text)
    for game in games:
        theirs = chess.pgn.read_game(file)
        assert theirs is not None
        assert theirs.errors == []
        assert theirs.board().fen() == game.fen
        assert [move.uci() for move in theirs.mainline_moves()] == game.moves
        assert theirs.headers["Result"] == game.result
        assert theirs.headers["Black"] == "Bob"
        assert list(theirs.headers)[:7] == list(ROSTER)
        nodes = [theirs, *theirs.mainline()]
        for ply, node in enumerate(nodes):
            wanted = as_read(game.comments.get(ply, ""))
            found = " ".join(node.comment.split())
            assert found.replace(" ", "") == wanted.replace(" ", "")
            assert node.nags == set(game.glyphs.get(ply, []))
    assert chess.pgn.read_game(file) is None


def test_we_read_what_we_write(tmp_path):
    games = [random_game(seed) for seed in range(GAMES)]
    path = tmp_path / "games.pgn"
    path.write_text("".join(map(write_pgn, games)), encoding="utf-8")
    for read in (read_pgn(path), read_pgn(str(path)), read_pgn(path.read_text(encoding="utf-8"))):
        assert len(read) == len(games)
        for ours, game in zip(read, games, strict=True):
            assert (ours.moves, ours.result, ours.fen, ours.glyphs) == (game.moves, game.result, game.fen, game.glyphs)
            assert ours.headers["White"] == game.headers["White"]
            assert ours.headers["Annotator"] == game.headers["Annotator"]
            said = {ply: as_read(text).replace(" ", "") for ply, text in game.comments.items() if text.strip()}
            assert {ply: text.replace(" ", "") for ply, text in ours.comments.items()} == said
    assert read_pgn("".join(map(write_pgn, read_pgn(path)))) == read_pgn(path)


def test_we_read_what_python_chess_writes():
    rng = random.Random(4)
    texts, games = [], []
    for seed in range(GAMES):
        ours = random_game(seed)
        game = chess.pgn.Game()
        game.setup(chess.Board(ours.fen))
        game.headers["Event"] = "oracle"
        game.headers["Result"] = ours.result
        node = game
        for ply, uci in enumerate(ours.moves, 1):
            others = [move for move in node.board().legal_moves if move.uci() != uci]
            main = node.add_main_variation(
                chess.Move.from_uci(uci), comment=ours.comments.get(ply, "").replace("}", "")
            )
            main.nags = set(ours.glyphs.get(ply, []))
            if others and rng.random() < 0.2:
                branch = node.add_variation(rng.choice(others), comment="or (so) $5 ; why not")
                branch.add_line(list(branch.board().legal_moves)[:1], starting_comment="deeper")
            node = main
        texts.append(str(game))
        games.append(ours)
    for ours, game in zip(read_pgn("\n\n".join(texts)), games, strict=True):
        assert (ours.moves, ours.result, ours.fen) == (game.moves, game.result, game.fen)
        assert ours.glyphs == game.glyphs
        assert ours.headers["Event"] == "oracle"


OTHERS = """\ufeff; a file by hand
%escaped [Event "no"]
[Event "A \\"fine\\" \\\\ game"]
[Site "He said "yes" here"]
[White "Ann"] [Black "Bob"]
[Result "1-0"]

{before} 1.e4 e5 2. Nf3! ; the rest } of { this line
( 2. f4 exf4 (2... d5 {a } 3. exd5) 3. Nf3 ) 2...Nc6 $14 $1 3.Bb5 {one} {two
%lines} a6?! 4
. 0-0 Nf6
5 Re1 Be7

6.Bxc6?? dxc6 1-0

1. d4 d5 1/2-1/2
[Event "no moves"]
[Result "0-1"]

[Event "en passant"]

1. e4 a6 2. e5 d5 3. exd6 e.p. cxd6 4. d4 1... Nf6 ½-½
[Event "unfinished"]
1. h4
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_files_by_other_hands(tmp_path, ends):
    text = OTHERS.replace("\n", ends)
    games = read_pgn(text)
    assert [game.result for game in games] == ["1-0", "1/2-1/2", "0-1", "1/2-1/2", "*"]
    first = games[0]
    assert first.headers["Event"] == 'A "fine" \\ game'
    assert first.headers["Site"] == 'He said "yes" here'
    assert (first.headers["White"], first.headers["Black"]) == ("Ann", "Bob")
    assert first.moves[:6] == ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6"]
    assert first.moves[6:8] == ["e1g1", "g8f6"]
    assert len(first.moves) == 12
    assert first.comments == {0: "a file by hand before", 3: "the rest } of { this line", 5: "one two %lines"}
    assert first.glyphs == {3: [1], 4: [14, 1], 6: [6], 11: [4]}
    assert games[1].moves == ["d2d4", "d7d5"]
    assert games[2].moves == []
    assert games[3].moves[4:6] == ["e5d6", "c7d6"]
    assert games[4].headers == {"Event": "unfinished"}
    path = tmp_path / "old.pgn"
    path.write_bytes(text.replace("one", "Größe").replace("½-½", "1/2-1/2").encode("latin-1", "ignore"))
    assert read_pgn(path)[0].comments[5].startswith("Größe")


def test_games_come_one_by_one():
    """A reader that stops early has read no further than it needed."""

    def lines():
        yield "1. e4 e5 1-0\n"
        yield "1. d4 *\n"
        raise AssertionError("read too far")

    games = iter_pgn(lines())
    assert next(games).moves == ["e2e4", "e7e5"]
    assert next(games).moves == ["d2d4"]


GOOD = '[Event "first"]\n\n1. e4 e5 *\n\n'


@pytest.mark.parametrize(
    ("text", "word", "why", "moves"),
    [
        ('[Event "x"]\n\n1. e4 e5\n2. Nf3 Qh3 *', "Qh3", "the black queen on d8 cannot go to h3", 3),
        ("1. e4 e5 2. Ke3 *", "Ke3", "the white king on e1 cannot go to e3", 2),
        ("1. Nf3 d5 2. Nc3 d4 3. Nd2 *", "Nd2", "d2 holds a white pawn", 4),
        ("1. e4 Zf6", "Zf6", "does not read like a move", 1),
        ("1. d4 d5 2. Nf3 Nf6 3. Nd2", "Nd2", "Nbd2 or Nfd2", 4),
        ("1. e4 (1. d4 d5", "(", "has no end", 1),
        ("1. e4 ) e5", ")", "no variation is open", 1),
        ("(1. e4)", "(", "comes after the move it replaces", 0),
        ("1. e4 (1. hello) e5", "hello", "not a move", 1),
        ("1. e4 {never closed\n\nmore", "", "has no end", 1),
        ("1. e4 e5 } 2. Nf3", "}", "no comment is open", 2),
        ("1. e4 <reserved>", "<reserved>", "are reserved", 1),
        ("1. e4 -- 2. d4", "--", "does not read like a move", 1),
        ('[Event "x" 1. e4', "[Event", "a tag is written", 0),
        ('[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n1. e4', "FEN", "kings", 0),
        ('[Variant "Atomic"]\n1. e4', "Variant", "'Atomic' is not played here", 0),
        ("1. e4 e5 2. ♞f3", "♞f3", "neither a tag", 2),
    ],
)
def test_faults_are_named_with_their_place(text, word, why, moves):
    for before in ("", GOOD):
        whole = before + text
        with pytest.raises(NotationError) as caught:
            read_pgn(whole)
        error = caught.value
        message = str(error)
        assert why in message
        assert error.at is not None
        assert whole[error.at :].startswith(word if word not in ("FEN", "Variant") else "[")
        line = whole.count("\n", 0, error.at) + 1
        column = error.at - whole.rfind("\n", 0, error.at)
        assert f"Game {2 if before else 1}, line {line}, column {column}: " in message
        assert word in message
        assert isinstance(error.read, list)
        if before:
            assert error.read[0].moves == ["e2e4", "e7e5"]
        unfinished = error.read[bool(before) :]
        assert sum(len(game.moves) for game in unfinished) == moves
        with pytest.raises(NotationError) as again:
            list(iter_pgn(whole))
        assert isinstance(again.value.read, list)
        assert len(again.value.read) <= 1


def test_what_stands_behind_a_result_makes_no_game():
    for more in ("", "2.", "$1", "{well played}", "2. {well played} $1"):
        (game,) = read_pgn(f"1. e4 1-0 {more}")
        assert (game.moves, game.result) == (["e2e4"], "1-0")
    games = read_pgn('1. e4 1-0 2. [Event "x"] [Site "y"] 1. d4 0-1 1. c4')
    assert [game.moves for game in games] == [["e2e4"], ["d2d4"], ["c2c4"]]
    assert games[1].headers == {"Event": "x", "Site": "y"}
    for more in ("0-1", "2. $1 {more} 0-1"):
        with pytest.raises(NotationError, match="'0-1' is a second result") as caught:
            read_pgn(f"1. e4 1-0 {more}")
        assert [game.moves for game in caught.value.read] == [["e2e4"]]
    with pytest.raises(NotationError) as caught:
        read_pgn("1. e4 1-0 e5")
    assert [game.moves for game in caught.value.read] == [["e2e4"]]


def test_bytes_are_read_and_other_things_are_not():
    text = '[White "Müller"]\n\n1. e4 {gut} e5 *\n'
    wanted = read_pgn(text)
    for source in (text.encode(), bytearray(text.encode()), text.encode("latin-1"), io.BytesIO(text.encode())):
        assert read_pgn(source) == wanted
    for source in (5, None):
        with pytest.raises(UsageError, match=f"not {source}"):
            read_pgn(source)
    with pytest.raises(UsageError, match="not 5"):
        read_pgn(["1. e4", 5])


def test_a_byte_order_mark_is_counted():
    with pytest.raises(NotationError) as caught:
        read_pgn("\ufeff1. e4 Ke4")
    assert caught.value.at == 7
    assert "line 1, column 7" in str(caught.value)


def test_what_cannot_be_opened_or_written(tmp_path):
    with pytest.raises(UsageError, match="cannot be opened: No such file"):
        read_pgn(tmp_path / "missing.pgn")
    with pytest.raises(UsageError, match="missing"):
        read_pgn("missing.pgn")
    with pytest.raises(UsageError, match="result"):
        write_pgn(PGNGame(result="2-0"))
    with pytest.raises(UsageError, match="after move 3 of a game of 1"):
        write_pgn(PGNGame(moves=["e2e4"], comments={3: "?"}))
    with pytest.raises(UsageError, match="cannot name a tag"):
        write_pgn(PGNGame(headers={"White player": "x"}))
    with pytest.raises(IllegalAction):
        write_pgn(PGNGame(moves=["e2e5"]))
    with pytest.raises(NotationError):
        write_pgn(PGNGame(fen="nonsense"))
    assert read_pgn("") == read_pgn(" \n\n") == []


def record(texts, fen=None, **facts):
    """A GameRecord of moves in SAN."""
    state = GAME.new_state(1)
    GAME.kernels.reset(state, 0, np.uint64(0))
    if fen:
        GAME.options["fen"](state, 0, fen)
    start, rewards, status, actions = state.copy(), np.zeros(2, np.float32), RUNNING, []
    for text in texts:
        action = GAME.parse_action(state, 0, text)
        actions.append([action, action])
        status = int(GAME.kernels.step(state, 0, np.array(actions[-1], np.int32), rewards))
    facts = {"players": ("tiny", "stockfish"), "returns": tuple(rewards.tolist()), "status": status, **facts}
    return GameRecord(start, actions, **facts)


def test_records_of_games():
    mate = record(["f3", "e5", "g4", "Qh4"], comments={0: "I {think}", 3: "Mate!"})
    text = record_to_pgn(mate)
    assert GAME.formats[".pgn"](mate) == text
    assert text.endswith("1. f3 { I (think) } 1... e5 2. g4 Qh4# { Mate! } 0-1\n\n")
    theirs = chess.pgn.read_game(io.StringIO(text))
    assert theirs.errors == []
    assert theirs.end().board().is_checkmate()
    (ours,) = read_pgn(text)
    assert (ours.result, ours.headers["White"], ours.headers["Black"]) == ("0-1", "tiny", "stockfish")
    assert ours.headers["Termination"] == "normal"
    fen = "k7/8/1K6/8/8/8/8/7R b - - 0 40"
    (ours,) = read_pgn(record_to_pgn(record(["Kb8", "Rh8"], fen)))
    assert (ours.fen, ours.result, ours.headers["SetUp"]) == (fen, "1-0", "1")
    assert record_to_pgn(record(["Kb8", "Rh8"], fen)).endswith("40... Kb8 41. Rh8# 1-0\n\n")


@pytest.mark.parametrize(
    ("facts", "result", "termination"),
    [
        ({}, "*", "unterminated"),
        ({"status": TRUNCATED}, "*", "unterminated"),
        ({"status": TERMINATED, "returns": (0.0, 0.0)}, "1/2-1/2", "normal"),
        ({"status": TERMINATED, "returns": (1.0, -1.0)}, "1-0", "normal"),
        ({"status": TERMINATED, "returns": (-1.0, 0.0), "illegal": 0}, "0-1", "rules infraction"),
        ({"status": TERMINATED, "returns": (0.0, -1.0), "illegal": 1}, "1-0", "rules infraction"),
    ],
)
def test_results_of_records(facts, result, termination):
    text = record_to_pgn(record(["e4", "e5"], comments={2: "I resign"}, **facts))
    (game,) = read_pgn(text)
    assert (game.result, game.headers["Termination"]) == (result, termination)
    assert game.comments == {2: "I resign"}  # said instead of a third move
    assert chess.pgn.read_game(io.StringIO(text)).errors == []


def test_damaged_files_are_read_or_refused():
    """Whatever is struck out or put in: games that can be written and read again, or a NotationError in its place."""
    rng = random.Random(0)
    base = "".join(write_pgn(random_game(seed, 30)) for seed in range(3)) + OTHERS
    scraps = [*'{}()[];%$"\\ \n\r.*-1/xNbRO=+#!?<>~e½\x00\ufeff', "1-0", '[Event "', "$99999999999", "0-0-0", "e8=Q"]
    faults = []
    for _ in range(10 if disabled() else 400):
        start = rng.randrange(len(base))
        text = base[start : start + rng.randrange(300)]
        for _ in range(rng.randrange(1, 6)):
            cut = rng.randrange(len(text) + 1)
            text = text[:cut] + rng.choice([*scraps, ""]) + text[cut + rng.randrange(9) :]
        try:
            games = read_pgn(text)
        except NotationError as error:
            faults.append((error, len(text)))
        else:
            again = read_pgn("".join(map(write_pgn, games)))
            assert [(game.moves, game.result) for game in again] == [(game.moves, game.result) for game in games]
    assert all(0 <= error.at < length and isinstance(error.read, list) for error, length in faults)
    assert disabled() or 50 < len(faults) < 400
