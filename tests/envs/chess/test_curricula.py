"""The sets of positions: made again they are equal, each keeps its promise, and none is like another."""

from __future__ import annotations

import gzip
from functools import cache
from itertools import islice

import chess
import numpy as np
import pytest

from coterie.envs import make_game
from coterie.envs.chess import curricula, fen
from coterie.envs.chess.curricula import CURRICULA, SIZES, figures, likeness, mates_in_one, mates_in_two, recipe
from coterie.envs.chess.moves import generate
from coterie.envs.chess.position import KING, META, QUEEN, ROOK, WORDS, attacked, in_check
from coterie.envs.stepping.jit import disabled, kernel

EVERY = 400 if disabled() else 1
"""Without the compiler, look at every so manieth position."""


@cache
def lines(name, part):
    text = gzip.decompress(getattr(CURRICULA[name], part).read_bytes()).decode()
    head, *positions = text.splitlines()
    assert head.startswith(f"# {name}, {part}: {len(positions)} positions; made by coterie.envs.chess.curricula")
    return positions


@cache
def positions(name, part):
    return [fen.parse(line) for line in lines(name, part)[::EVERY]]


def both(name):
    return [*positions(name, "train"), *positions(name, "test")]


def test_the_game_knows_them():
    game = make_game("chess-v0")
    assert game.curricula == CURRICULA
    assert {name: c.max_plies for name, c in CURRICULA.items()} == {
        "mate-in-1": 1,
        "mate-in-2": 3,
        "kqk": 60,
        "krk": 60,
    }
    for name, curriculum in CURRICULA.items():
        assert curriculum.option in game.options
        assert (len(lines(name, "train")), len(lines(name, "test"))) == SIZES[name]
        state = game.new_state(1)
        for line in lines(name, "test")[:: 100 if disabled() else 10]:
            game.options[curriculum.option](state, 0, line)
            assert not state["over"][0]
            assert fen.write(state["position"][0]) == line
    assert sum(c.train.stat().st_size + c.test.stat().st_size for c in CURRICULA.values()) < 1e6


@pytest.mark.parametrize("name", list(SIZES))
def test_the_recipe_makes_them_again(name):
    if disabled() and name == "mate-in-2":
        pytest.skip("half a minute")
    few = 2 if disabled() else 50 if name == "mate-in-2" else 200
    taken: set[bytes] = set()
    assert list(islice(recipe(name, "test", taken), few)) == lines(name, "test")[:few]
    if not disabled():
        taken = {likeness(position) for position in positions(name, "test")}
        assert list(islice(recipe(name, "train", taken), few)) == lines(name, "train")[:few]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SIZES))
def test_no_two_are_alike(name):
    found = [likeness(position) for position in both(name)]
    assert len(set(found)) == len(found)


def test_likeness():
    """Colours, left and right, castling rights and counters make no difference; the mover does."""
    base = "r3k2r/pp6/8/8/5q2/8/PPP5/R3K2R w KQkq - 0 1"
    board = chess.Board(base)
    like = [board.mirror(), board.transform(chess.flip_horizontal), board.mirror().transform(chess.flip_horizontal)]
    alike = {likeness(fen.parse(b.fen())) for b in [board, *like]} | {
        likeness(fen.parse(base.replace("KQkq - 0", "- - 9")))
    }
    assert len(alike) == 1
    for other in (base.replace(" w ", " b "), base.replace("5q2", "4q3"), base.replace("PPP5", "PP6")):
        assert likeness(fen.parse(other)) not in alike
    turned = chess.Board(base).transform(chess.flip_vertical)  # pawns go the other way: another position
    assert likeness(fen.parse(turned.fen().replace("KQkq", "-"))) not in alike
    bare = chess.Board("8/8/8/3k4/8/8/1Q6/K7 w - - 0 1")
    ways = (chess.flip_vertical, chess.flip_horizontal, chess.flip_diagonal, chess.flip_anti_diagonal)
    assert len({likeness(fen.parse(b.fen())) for b in [bare, bare.mirror(), *map(bare.transform, ways)]}) == 1


def test_every_mate_in_one():
    moves, below = np.zeros(256, np.int32), np.zeros(WORDS, np.uint64)
    for position in both("mate-in-1"):
        assert mates_in_one(position, moves, below) > 0


@pytest.mark.slow
def test_every_mate_in_two_and_none_in_one():
    moves, scratch, lists = np.zeros(256, np.int32), np.zeros((3, WORDS), np.uint64), np.zeros((2, 256), np.int32)
    for position in both("mate-in-2")[: 1 if disabled() else None]:
        assert mates_in_one(position, moves, scratch[0]) == 0
        assert mates_in_two(position, moves, scratch, lists) > 0


def naive_mates(board):
    out = set()
    for move in list(board.legal_moves):
        board.push(move)
        if board.is_checkmate():
            out.add(move.uci())
        board.pop()
    return out


def test_search_against_python_chess():
    """Which moves mate, in one and in two: in our positions, and in random ones that mostly hold none."""
    moves, scratch, lists = np.zeros(256, np.int32), np.zeros((3, WORDS), np.uint64), np.zeros((2, 256), np.int32)
    for line in lines("mate-in-1", "test")[:: 500 if disabled() else 10]:
        position, board = fen.parse(line), chess.Board(line)
        n = mates_in_one(position, moves, scratch[0])
        assert {fen.uci(int(move)) for move in moves[:n]} == naive_mates(board)
    for line in ["6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"] if disabled() else lines("mate-in-2", "test")[::100]:
        position, board = fen.parse(line), chess.Board(line)
        n = mates_in_two(position, moves, scratch, lists)
        forced = set()
        for move in list(board.legal_moves):
            board.push(move)
            answers, good = list(board.legal_moves), True
            for answer in answers:
                board.push(answer)
                good = good and bool(naive_mates(board))
                board.pop()
            if answers and good:
                forced.add(move.uci())
            board.pop()
        assert {fen.uci(int(move)) for move in moves[:n]} == forced
    assert mates_in_one(fen.parse(fen.START), moves, scratch[0]) == 0


@pytest.mark.parametrize(("name", "piece"), [("kqk", "q"), ("krk", "r")])
def test_three_pieces(name, piece):
    for line, position in zip(lines(name, "test")[::EVERY], positions(name, "test"), strict=True):
        board = chess.Board(line)
        assert board.is_valid()
        assert sorted(p.symbol().lower() for p in board.piece_map().values()) == sorted(["k", "k", piece])
        assert len(board.pieces(chess.PIECE_SYMBOLS.index(piece), board.turn)) == 1
        assert not board.is_check()
        assert not in_check(position)
    movers = [line.split()[1] for line in lines(name, "train")]
    assert 0.4 < movers.count("w") / len(movers) < 0.6


@kernel
def place(position, kind, index):
    """The position number ``side + 2 * (weak king + 64 * (piece + 64 * strong king))``; False where it is none."""
    side, weak, piece, strong = index & 1, index >> 1 & 63, index >> 7 & 63, index >> 13
    for k in range(WORDS):
        position[k] = 0
    if weak in (piece, strong) or piece == strong:
        return False
    for k in range(3):
        position[k] |= np.uint64(6 >> k & 1) << np.uint64(weak) | np.uint64(6 >> k & 1) << np.uint64(strong)
        position[k] |= np.uint64(kind >> k & 1) << np.uint64(piece)
    position[3] = np.uint64(1) << np.uint64(weak)
    position[META] = np.uint64(side)
    king = np.uint64(weak if side == 0 else strong)
    return not attacked(position, king, np.uint64(side))


@kernel
def sweep(kind, depth, distance, position, moves):
    """Note the positions that mate, or are mated, in ``depth`` plies; returns how many. Others hold -1."""
    found = 0
    for index in range(1 - depth & 1, len(distance), 2):
        if distance[index] != -1 or not place(position, kind, index):
            continue
        strong = index & 1 == 0
        n = generate(position, moves)
        fits = not strong and (n > 0 or (depth == 0 and in_check(position)))
        for k in range(n):
            start, target = moves[k] & 63, moves[k] >> 6 & 63
            if not strong:
                taken = target == index >> 7 & 63
                after = -1 if taken else distance[(index & ~0b1111111) | target << 1]
                fits = fits and 0 <= after < depth
            else:
                shift = 13 if start == index >> 13 else 7
                after = distance[(index & ~(63 << shift)) | target << shift | 1]
                fits = fits or after == depth - 1
        if fits:
            distance[index] = depth
            found += 1
    return found


@pytest.mark.slow
@pytest.mark.skipif(disabled(), reason="half a million positions")
@pytest.mark.parametrize(("name", "kind", "longest"), [("kqk", QUEEN, 10), ("krk", ROOK, 16)])
def test_three_pieces_are_won_in_time(name, kind, longest):
    """All positions with these pieces, solved from the mates backwards: the known longest wins, and ours among them."""
    distance = np.full(2 * 64**3, -1, np.int16)
    position, moves = np.zeros(WORDS, np.uint64), np.zeros(256, np.int32)
    depth = 0
    while sweep(kind, depth, distance, position, moves):
        depth += 1
    assert distance[::2].max() == 2 * longest - 1  # plies, the side with the piece to move
    for ours in both(name):
        codes = fen.codes(ours)
        black = int(ours[META]) & 1
        strong, weak = (codes.index(KING | side << 3) for side in (black, 1 - black))
        piece = codes.index(kind | black << 3)
        turn = 56 if black else 0
        plies = distance[(weak ^ turn) << 1 | (piece ^ turn) << 7 | (strong ^ turn) << 13]
        assert 0 < plies <= CURRICULA[name].max_plies


def test_figures_of_the_page():
    """What docs/games/chess-curricula.md says of the mates in one."""
    if disabled():
        pytest.skip("thousands of positions")
    shown = figures(lines("mate-in-1", "test"))
    assert shown["black"] == pytest.approx(0.5, abs=0.05)
    assert shown["uniform"] == pytest.approx(0.034, abs=0.001)
    assert shown["checks"] == pytest.approx(0.335, abs=0.001)


def test_the_command_writes_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(curricula.SIZES, "kqk", (5, 3))
    curricula.main(["--out", str(tmp_path / "data"), "--only", "kqk"])
    assert "kqk, test: 3 positions" in capsys.readouterr().out
    text = gzip.decompress((tmp_path / "data" / "kqk.test.txt.gz").read_bytes()).decode()
    assert text.splitlines()[1:] == lines("kqk", "test")[:3]
