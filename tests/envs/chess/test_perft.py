"""Counts of legal moves, ply by ply: published ones, and python-chess's for positions of all kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from coterie.envs.chess import fen as fens
from coterie.envs.chess import legal_moves, perft
from coterie.envs.chess.moves import count, generate, generate_captures, has_move, pick
from coterie.envs.chess.position import KEY, attacked, in_check, make, pass_turn, piece_at, rekey
from coterie.envs.stepping import jit
from coterie.errors import UsageError

# Source: chessprogramming.org/Perft_Results
PUBLISHED = {
    "start": (
        fens.START,
        [20, 400, 8_902, 197_281, 4_865_609, 119_060_324],
    ),
    "kiwipete": (
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        [48, 2_039, 97_862, 4_085_603, 193_690_690],
    ),
    "position 3": (
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        [14, 191, 2_812, 43_238, 674_624, 11_030_083, 178_633_661],
    ),
    "position 4": (
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        [6, 264, 9_467, 422_333, 15_833_292],
    ),
    "position 4 mirrored": (
        "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1",
        [6, 264, 9_467, 422_333, 15_833_292],
    ),
    "position 5": (
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
        [44, 1_486, 62_379, 2_103_487, 89_941_194],
    ),
    "position 6": (
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
        [46, 2_079, 89_890, 3_894_594, 164_075_551],
    ),
}
SHORT, LONG = (3_000, 0) if jit.disabled() else (5_000_000, 10**9)
SUITE = [line.split(";") for line in (Path(__file__).parent / "data" / "chess_perft.epd").read_text().splitlines()]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts(name):
    fen, counts = PUBLISHED[name]
    for depth, leaves in enumerate(counts, 1):
        if leaves <= SHORT:
            assert perft(fen, depth) == leaves


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts_in_full(name):
    fen, counts = PUBLISHED[name]
    for depth, leaves in enumerate(counts, 1):
        if SHORT < leaves <= LONG:
            assert perft(fen, depth) == leaves


def test_the_suite():
    """132 positions with en passant, castling, promotions, checks and pins; counts by python-chess."""
    assert len(SUITE) == 132
    assert {line[-1] for line in SUITE} == {"en passant", "castling", "promotion", "check", "pin", "any"}
    for fen, *counts, _ in SUITE:
        for part in counts:
            depth, leaves = (int(word) for word in part[1:].split())
            if leaves <= SHORT:
                assert perft(fen.strip(), depth) == leaves, fen


def test_nothing_deep():
    assert perft(fens.START, 0) == 1
    assert perft("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", 3) == 0
    for depth in (-1, 61, 1.0, True):
        with pytest.raises(UsageError, match="from 0 to 60"):
            perft(fens.START, depth)


@pytest.mark.parametrize("line", SUITE[::4], ids=lambda line: line[-1])
def test_every_way_of_reading_the_sets(line):
    """generate, generate_captures, count, has_move and pick agree with python-chess; so do squares, checks and keys."""
    chess = pytest.importorskip("chess")
    board, position = chess.Board(line[0].strip()), fens.parse(line[0].strip())
    moves = np.zeros(256, np.int32)
    n = generate(position, moves)
    every = moves[:n].tolist()
    assert sorted(map(fens.uci, every)) == sorted(move.uci() for move in board.legal_moves)
    assert legal_moves(line[0].strip()) == sorted(map(fens.uci, every))
    assert count(position) == n
    assert has_move(position) == (n > 0)
    assert [pick(position, k) for k in range(n)] == every
    taking = moves[: generate_captures(position, moves)].tolist()
    wanted = [move.uci() for move in board.legal_moves if board.is_capture(move) or move.promotion == chess.QUEEN]
    assert sorted(map(fens.uci, taking)) == sorted(wanted)
    assert in_check(position) == board.is_check()
    for square in range(64):
        piece = board.piece_at(square)
        code = 0 if piece is None else piece.piece_type | (0 if piece.color else 8)
        assert piece_at(position, np.uint64(square)) == code
        for black in (0, 1):
            there = board.is_attacked_by(not black, square)
            assert attacked(position, np.uint64(square), np.uint64(black)) == there
    for move in every:
        after = position.copy()
        make(after, move)
        board.push_uci(fens.uci(move))
        assert fens.write(after) == board.fen()
        board.pop()
        again = after.copy()
        rekey(again)
        assert again[KEY] == after[KEY], "the key that make keeps up differs from the one computed anew"


def test_the_null_move():
    position = fens.parse("rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3")
    pass_turn(position)
    assert fens.write(position) == "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 3"
    again = position.copy()
    rekey(again)
    assert again[KEY] == position[KEY]


def test_no_move_list_overflows():
    """218 legal moves are the most that are known of any position that can be reached (Petrovic 1964)."""
    assert len(legal_moves("R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1")) == 218
