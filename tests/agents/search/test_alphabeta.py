"""Chess search: mates and draws that are known, an independent program, colours swapped, and matches."""

from __future__ import annotations

import gzip
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import chess
import numpy as np
import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Turn, seeded
from coterie.agents.human.table import Match
from coterie.agents.search.alphabeta import AlphaBetaAgent, analyse
from coterie.agents.search.chess_evaluation import evaluate
from coterie.agents.search.chess_search import BASE, DEPTH, DRAWN, NODES, PAST, PLIES, new_desk, think
from coterie.agents.search.mates import mating_moves
from coterie.envs.chess import fen as notation
from coterie.envs.chess import push
from coterie.envs.core import Game
from coterie.envs.registry import make_game
from coterie.envs.state import to_bytes
from coterie.errors import IllegalAction, NotationError, UsageError

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"

MATES = [
    (1, "6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1"),
    (1, "8/8/8/8/8/6k1/4q3/7K b - - 0 1"),
    (2, "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"),
    (2, "7r/p3ppk1/3p4/2p1P1Kp/2Pb4/3P1QPq/PP5P/R6R b - - 0 1"),
    (3, "r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1"),
    (3, "1k5r/pP3ppp/3p2b1/1BN1n3/1Q2P3/P1B5/KP3P1P/7q w - - 1 1"),
]
"""Moves to mate, position. The first of two moves is Morphy's: a quiet move, after which whatever is played loses."""


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("chess")


def turn_at(game: Game, fen: str, moves: str = "") -> Turn:
    """The position after some moves (UCI) of a game that began at a FEN."""
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    game.options["fen"](state, 0, fen)
    acts, rewards = np.zeros(2, np.int32), np.zeros(2, np.float32)
    for uci in moves.split():
        acts[:] = game.parse_action(state, 0, uci)
        game.kernels.step(state, 0, acts, rewards)
    seat = game.mover(state, 0)
    return Turn(game, state, 0, seat, game.legal_mask(state, 0, seat), game.key(state, 0))


def played(game: Game, turn: Turn, spec: str = "alphabeta", seed: int = 0) -> str:
    """A player's answer as UCI."""
    (decision,) = make_baseline(spec, game).act(seeded([turn], seed))
    position = turn.state[turn.row]["position"]
    for move in notation.legal(position):
        if turn.parse_action(notation.uci(move)) == decision.action:
            return notation.uci(move)
    raise AssertionError(f"{decision} is no legal move")


def held_out(game: Game, name: str, count: int) -> list[str]:
    with gzip.open(game.curricula[name].test, "rt") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [lines[int(k)] for k in np.random.default_rng(0).choice(len(lines), count, replace=False)]


# -- forced mates ------------------------------------------------------------------------------------------------------


def oracle(board: chess.Board, moves: int) -> list[str]:
    """``mating_moves`` by python-chess."""
    return sorted(move.uci() for move in board.legal_moves if after(board, move, lambda b: mated(b, moves - 1)))


def after(board: chess.Board, move: chess.Move, ask: Any) -> bool:
    board.push(move)
    try:
        return bool(ask(board))
    finally:
        board.pop()


def mated(board: chess.Board, moves: int) -> bool:
    """Whether the side to move is mated in ``moves`` more moves of the other side at most."""
    if board.is_checkmate():
        return True
    replies = list(board.legal_moves)
    if moves == 0 or not replies:
        return False
    return all(
        after(board, reply, lambda b: any(after(b, m, lambda c: mated(c, moves - 1)) for m in b.legal_moves))
        for reply in replies
    )


@pytest.mark.parametrize(("moves", "fen"), MATES)
def test_known_mates(game: Game, moves: int, fen: str) -> None:
    keys = mating_moves(fen, moves)
    assert keys
    assert moves == 1 or not mating_moves(fen, moves - 1)
    if moves < 3:
        assert keys == oracle(chess.Board(fen), moves)
    turn = turn_at(game, fen)
    for seed in range(3):
        assert played(game, turn, f"alphabeta:{2 * moves + 1}", seed) in keys
    told = analyse(fen, depth=2 * moves + 2)
    assert told.mate == moves
    assert told.move in keys


@pytest.mark.parametrize(("name", "moves", "count"), [("mate-in-1", 1, 100), ("mate-in-2", 2, 60)])
def test_puzzles_are_solved(game: Game, name: str, moves: int, count: int) -> None:
    agent = make_baseline(f"alphabeta:{2 * moves + 1}", game)
    fens = held_out(game, name, count)
    turns = [turn_at(game, fen) for fen in fens]
    for turn, fen, decision in zip(turns, fens, agent.act(seeded(turns)), strict=True):
        assert decision.info["mate"] == moves, fen
        assert decision.action in {turn.parse_action(uci) for uci in mating_moves(fen, moves)}, fen


def test_mates_in_one_against_python_chess(game: Game) -> None:
    for fen in [*held_out(game, "mate-in-1", 40), *positions(40, seed=2)]:
        assert mating_moves(fen, 1) == oracle(chess.Board(fen), 1), fen


def test_numbers_of_moves_that_cannot_be_looked_at() -> None:
    for moves in (0, 11, True, 1.5):
        with pytest.raises(UsageError, match="from 1 to 10"):
            mating_moves(notation.START, moves)  # type: ignore[arg-type]
    with pytest.raises(NotationError):
        mating_moves("8/8/8/8/8/8/8/8 w - - 0 1", 1)
    assert mating_moves("7k/5K2/6Q1/8/8/8/8/8 b - - 0 1", 1) == []  # stalemate: nothing to move


# -- what a position is worth ------------------------------------------------------------------------------------------


def positions(count: int, seed: int = 0) -> list[str]:
    """FENs of random games."""
    rng, out = np.random.default_rng(seed), []
    while len(out) < count:
        board = chess.Board()
        for _ in range(int(rng.integers(1, 120))):
            if board.is_game_over():
                break
            board.push(list(board.legal_moves)[rng.integers(board.legal_moves.count())])
        if not board.is_game_over():
            out.append(board.fen())
    return out


def test_colours_make_no_difference() -> None:
    for fen in [notation.START, KIWIPETE, *positions(80)]:
        swapped = chess.Board(fen).mirror().fen()
        assert evaluate(notation.parse(fen)) == evaluate(notation.parse(swapped)), fen


def test_left_and_right_of_a_board_without_castling() -> None:
    """Files d and e differ for the king alone, which stands on its first rank: pawns and pieces don't care."""
    board = chess.Board("8/pp3k2/3n4/8/4B3/1P3K2/P7/8 w - - 0 1")
    turned = board.transform(chess.flip_horizontal)
    assert evaluate(notation.parse(board.fen())) == evaluate(notation.parse(turned.fen()))


@pytest.mark.parametrize(
    ("fen", "low", "high"),
    [
        ("4k3/8/8/8/8/8/8/4K2Q w - - 0 1", 900, 1400),
        ("4k3/8/8/8/8/8/8/4K2Q b - - 0 1", -1400, -900),
        ("4k3/8/8/8/8/8/8/4K2N w - - 0 1", 0, 0),
        ("4k3/8/8/8/8/8/8/3NKN2 w - - 0 1", 0, 0),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", 50, 250),
        ("4k1n1/8/8/8/8/8/8/4K2R w - - 0 1", 100, 400),
        ("4k1n1/4p3/8/8/8/8/8/4K1N1 w - - 0 1", -150, 0),  # White cannot win, Black hardly
        (notation.START, 0, 30),
    ],
)
def test_worth_of_simple_positions(fen: str, low: int, high: int) -> None:
    assert low <= evaluate(notation.parse(fen)) <= high


def test_more_of_anything_is_better() -> None:
    empty = "4k3/pppp4/8/8/8/8/PPPP4/4K3 w - - 0 1"
    base = evaluate(notation.parse(empty))
    worth = {}
    for piece in "PNBRQ":
        worth[piece] = evaluate(notation.parse(empty.replace("PPPP4", f"PPPP2{piece}1"))) - base
    assert 0 < worth["P"] < worth["N"] < worth["R"] < worth["Q"]
    assert worth["P"] < worth["B"] < worth["R"]


# -- draws -------------------------------------------------------------------------------------------------------------


def test_a_stalemate_is_no_win(game: Game) -> None:
    fen = "7k/8/6K1/8/8/8/8/5Q2 w - - 0 1"  # Qf7 is stalemate, Qf8 mate
    assert played(game, turn_at(game, fen), "alphabeta:3") == "f1f8"
    assert analyse("k7/8/1Q6/8/8/8/8/K7 w - - 0 1", depth=1).score < 1400
    losing = "7k/7P/5K2/8/8/8/8/6r1 w - - 0 1"
    assert analyse(losing, depth=6).score < 0


def test_who_loses_repeats_and_who_wins_does_not(game: Game) -> None:
    agent = make_baseline("alphabeta:3", game)
    start = "7k/8/8/8/8/8/1R6/K7 w - - 0 1"
    losing = turn_at(game, start, "b2b3 h8g8 b3b2")  # Kh8 makes the first position again
    (decision,) = agent.act(seeded([losing]))
    assert decision.info["score"] == 0
    assert played(game, losing, "alphabeta:3") == "g8h8"
    (without,) = agent.act(seeded([turn_at(game, "6k1/8/8/8/8/8/1R6/K7 b - - 3 2")]))
    assert without.info["score"] < -400  # type: ignore[operator]
    winning = turn_at(game, start, "b2b3 h8g8 b3b2 g8h8")
    assert "b2b3" not in {played(game, winning, "alphabeta:3", seed) for seed in range(5)}


def test_the_clock_counts(game: Game) -> None:
    """With one quiet ply left to claim a draw, only a capture or a pawn move keeps the win."""
    for seed in range(3):
        turn = turn_at(game, "6k1/8/8/8/8/8/P6R/K7 w - - 98 80")
        assert played(game, turn, "alphabeta:3", seed) in ("a2a3", "a2a4")
    bare = "6k1/8/8/8/8/8/7R/K7 w - - 98 80"
    for claim, depth, drawn in (
        ("chess_v6", 2, True),
        ("reached", 2, False),
        ("reached", 3, True),
        ("never", 4, False),
    ):
        other = make_game("chess", claim=claim)
        (decision,) = AlphaBetaAgent(other, depth).act(seeded([turn_at(other, bare)]))
        assert (decision.info["score"] == 0) == drawn, (claim, depth)


def test_a_mate_counts_before_the_clock() -> None:
    told = analyse("7k/8/6K1/8/8/8/8/R7 w - - 99 90", depth=2)
    assert told.mate == 1


@pytest.mark.parametrize("pieces", ["KQ", "KR"])
def test_bare_kings_are_mated(game: Game, pieces: str) -> None:
    """Against random and best defence, from held-out positions, within the 50 moves."""
    agent = make_baseline("alphabeta:6" if pieces == "KR" else "alphabeta:4", game)
    for fen in held_out(game, "kqk" if pieces == "KQ" else "krk", 3):
        turn = turn_at(game, fen)
        state, strong = turn.state, turn.player
        acts, rewards = np.zeros(2, np.int32), np.zeros(2, np.float32)
        status = 0
        while status == 0:
            seat = game.mover(state, 0)
            turn = Turn(game, state, 0, seat, game.legal_mask(state, 0, seat), 0)
            (decision,) = agent.act(seeded([turn]))
            acts[:] = decision.action
            rewards[:] = 0
            status = game.kernels.step(state, 0, acts, rewards)
        assert rewards[strong] == 1, fen


# -- the same question, the same answer --------------------------------------------------------------------------------


def test_the_generator_decides_and_nothing_else(game: Game) -> None:
    turns = [turn_at(game, fen) for fen in positions(12, seed=4)]
    fresh = make_baseline("alphabeta:3", game)
    used = make_baseline("alphabeta:3", game)
    used.act(seeded(turns[::-1], 9))  # what it has seen must not matter
    answers = [[(d.action, d.info) for d in a.act(seeded(turns, 1))] for a in (fresh, used)]
    assert answers[0] == answers[1]
    states = [to_bytes(game, turn.state) for turn in turns]
    fresh.act(seeded(turns, 2))
    assert states == [to_bytes(game, turn.state) for turn in turns]


def test_equal_moves_are_all_played(game: Game) -> None:
    turn = turn_at(game, "k7/8/1K6/8/8/8/8/3R3R w - - 0 1")
    assert {played(game, turn, "alphabeta:2", seed) for seed in range(20)} == {"d1d8", "h1h8"}  # both mate


def test_nodes_bound_the_work() -> None:
    for nodes in (1, 500, 20_000):
        told = analyse(KIWIPETE, nodes=nodes)
        assert told.depth >= (1 if nodes < 1000 else 3)
        assert told.nodes <= max(nodes, 2000) + 100  # the first ply is always finished
    assert analyse(KIWIPETE, depth=3, nodes=10**9).depth == 3


def test_deeper_is_stronger_on_tactics() -> None:
    fen = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
    assert analyse(fen, depth=1).move == "h5f7"
    hanging = "4k3/8/8/3q4/8/8/3R4/4K3 w - - 0 1"
    assert analyse(hanging, depth=1).move == "d2d5"
    guarded = "4k3/8/2p5/3p4/8/8/3Q4/4K3 w - - 0 1"  # the pawn on d5 is guarded
    assert analyse(guarded, depth=2).move != "d2d5"


def test_longest_lines_and_histories_fit() -> None:
    """Nothing is written past the desk: the longest history a state keeps, and a search as deep as it gets."""
    desk = new_desk(1 << 10)
    desk.positions[0] = notation.parse("k7/p1p1p1p1/P1P1P1P1/8/8/p1p1p1p1/P1P1P1P1/K7 w - - 0 1")
    desk.numbers[BASE], desk.numbers[DRAWN] = PAST - 1, 150
    think(desk, 64, 200_000)
    assert desk.numbers[NODES] > 0
    assert len(desk.line) == PAST + PLIES + 1


# -- asked wrongly -----------------------------------------------------------------------------------------------------


def test_what_it_refuses(game: Game) -> None:
    with pytest.raises(UsageError, match="plays only chess, not tictactoe-v0"):
        make_baseline("alphabeta", make_game("tictactoe"))
    for wrong in ({"depth": 0}, {"depth": 65}, {"nodes": 0}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            AlphaBetaAgent(game, **wrong)  # type: ignore[arg-type]
    over = turn_at(game, "7k/5KQ1/8/8/8/8/8/8 b - - 0 1")
    with pytest.raises(IllegalAction):
        AlphaBetaAgent(game).act(seeded([over]))
    for fen, why in (
        ("7k/5KQ1/8/8/8/8/8/8 b - - 0 1", "checkmate"),
        ("7k/5K2/6Q1/8/8/8/8/8 b - - 0 1", "stalemate"),
        ("7k/5K2/8/8/8/8/8/8 b - - 0 1", "material"),
        ("7k/5K2/8/8/8/8/8/R7 b - - 150 100", "75|seventy"),
    ):
        with pytest.raises(UsageError, match=f"the game is over by .*({why})"):
            analyse(fen)
    with pytest.raises(NotationError):
        analyse("nonsense")


# -- matches -----------------------------------------------------------------------------------------------------------


def test_random_never_gets_half_a_point(game: Game) -> None:
    from coterie.training.evaluation.match import play_match

    result = play_match(game, (make_baseline("alphabeta", game), make_baseline("random", game)), 100, seed=1)
    assert result.by_seat.tolist() == [[50, 0, 0], [50, 0, 0]]


def test_greedy_loses(game: Game) -> None:
    from coterie.training.evaluation.match import play_match

    result = play_match(game, (make_baseline("alphabeta:3", game), make_baseline("greedy", game)), 60, seed=1)
    assert result.shares[0] >= 0.95


def test_moves_are_legal_all_game_long(game: Game) -> None:
    from coterie.training.evaluation.match import play_match

    one, other = make_baseline("alphabeta:2", game), make_baseline("alphabeta:nodes=800", game)
    assert play_match(game, (one, other), 6, seed=3, opening_plies=8).illegal == 0


def test_analysis_agrees_with_the_board() -> None:
    fen = notation.START
    for _ in range(30):
        fen = push(fen, analyse(fen, depth=2).move)
    assert chess.Board(fen).is_valid()


def test_a_search_is_stopped_from_another_thread(game: Game) -> None:
    agent = AlphaBetaAgent(game, 60)
    match = Match(game, ["a", "b"], 0)
    turn = match.turn(0)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(agent.act, [turn])
        while agent._desk.numbers[DEPTH] < 2:
            time.sleep(0.01)
        agent.stop()
        (decision,) = answer.result(timeout=60)
        assert decision.action in turn.legal_actions
