"""Chess against python-chess, position by position in random play: ``python -m coterie.benchmarks.chess_differential``.

Compares every position of every game: FEN, the legal moves (from the action mask, in UCI and in SAN), check, how often
the position has occurred, which draws can be claimed and how the game ends. ``+`` and ``#`` are compared for all moves
in every fourth position, and for the move played in every position. Games differ in ``claim``: of ten, seven are played
under ``"chess_v6"``, two under ``"reached"`` and one under ``"never"``, which lasts until 75 moves or the fifth
repetition. Prints what was compared; stops with an AssertionError at the first difference.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ..envs import make_game
from ..envs.chess import fen as _fen
from ..envs.chess.position import KEY, in_check
from ..envs.chess.rules import ENDINGS, action_of, move_of
from ..envs.chess.san import moves_and_sans, with_marks
from ..envs.core import Game
from ..envs.stepping.rng import below, word

__all__ = ["compare_game", "ending_there", "main"]

CLAIMS = ("chess_v6",) * 7 + ("reached",) * 2 + ("never",)
"""The ``claim`` of game number g is ``CLAIMS[g % 10]``."""


def ending_there(board: Any, claim: str) -> str:
    """The ending of a position according to python-chess: one of our ``ENDINGS``."""
    outcome = board.outcome(claim_draw=False)
    if outcome is not None:
        name: str = outcome.termination.name.lower().replace("_", " ")
        return name.replace("seventyfive", "seventy-five")
    if claim == "never" or board.halfmove_clock < 7:  # no third repetition, not even one ply ahead
        return "running"
    if claim == "reached":
        return (
            "fifty moves" if board.is_fifty_moves() else "threefold repetition" if board.is_repetition(3) else "running"
        )
    if board.can_claim_fifty_moves():
        return "fifty moves"
    return "threefold repetition" if board.can_claim_threefold_repetition() else "running"


def compare_sans(position: Any, board: Any, names: dict[str, Any], marks: bool, seen: Counter[str]) -> None:
    """Compare all moves of a position in SAN, with or without marks; ``names`` are python-chess's moves by UCI."""
    bare = getattr(board, "_algebraic_without_suffix", None)  # faster: does not play every move
    for move, san in zip(*moves_and_sans(position), strict=True):
        other = names[_fen.uci(move)]
        if marks:
            assert with_marks(position, move, san) == board.san(other), (board.fen(), san, board.san(other))
        else:
            there = bare(other) if bare else board.san(other).rstrip("+#")
            assert san == there, (board.fen(), san, there)
        seen["en passant"] += san[1] == "x" and board.is_en_passant(other)
        seen["castling"] += san[0] == "O"
        seen["promotions"] += "=" in san
        seen["moves compared with marks"] += marks


def compare_position(game: Game, state: Any, board: Any, mask: Any, seen: Counter[str]) -> None:
    """Compare one position: everything except the ending."""
    position = state["position"][0]
    fen = board.fen()
    assert _fen.write(position) == fen, (_fen.write(position), fen)
    player = 0 if board.turn else 1
    game.kernels.legal(state, 0, player, mask)
    moves = [int(move_of(position, action)) for action in np.flatnonzero(mask)]
    theirs = list(board.legal_moves)
    names = {move.uci(): move for move in theirs}
    assert sorted(map(_fen.uci, moves)) == sorted(names), (fen, sorted(map(_fen.uci, moves)), sorted(names))
    assert all(mask[action_of(position, move)] for move in moves), fen
    compare_sans(position, board, names, seen["positions"] % 4 == 0, seen)
    assert bool(in_check(position)) == board.is_check(), fen
    known = int(state["known"][0])
    occurred = int((state["keys"][0, :known] == position[KEY]).sum())
    if board.halfmove_clock >= 4:
        assert board.is_repetition(occurred), (fen, occurred)
        assert not board.is_repetition(occurred + 1), (fen, occurred)
    else:
        assert occurred == 1, fen
    seen["positions"] += 1
    seen["moves"] += len(moves)
    seen["checks"] += board.is_check()
    seen["repeated"] += occurred > 1


def compare_game(number: int, seen: Counter[str]) -> None:
    """Play random game number ``number`` in both programs and compare them.

    Raises:
        AssertionError: they differ; names the position.
    """
    claim = CLAIMS[number % len(CLAIMS)]
    game = make_game("chess-v0", claim=claim)
    state, board = game.new_state(1), import_module("chess").Board()
    mask, rewards = np.zeros(game.info.num_actions, np.int8), np.zeros(2, np.float32)
    game.kernels.reset(state, 0, np.uint64(0))
    ending = "running"
    while ending == "running":
        compare_position(game, state, board, mask, seen)
        legal = np.flatnonzero(mask)
        action = int(legal[below(np.uint64(word(np.uint64(number), board.ply())), len(legal))])
        played = int(move_of(state["position"][0], action))
        move, san = _fen.uci(played), game.action_to_text(state, 0, action)
        marked = with_marks(state["position"][0], played, san)
        rewards[:] = 0
        status = game.kernels.step(state, 0, np.full(2, action, np.int32), rewards)
        there = board.san_and_push(board.parse_uci(move))
        assert marked == there, (board.fen(), marked, there)
        seen["mates"] += there.endswith("#")
        ending = ending_there(board, claim)
        ours = ENDINGS[int(state["over"][0])]
        assert ours == ending, (board.fen(), claim, ours, ending)
        assert (status != 0) == (ending != "running"), board.fen()
    won = {"1-0": [1, -1], "0-1": [-1, 1], "1/2-1/2": [0, 0]}[board.result(claim_draw=claim != "never")]
    assert rewards.tolist() == won, (board.fen(), rewards)
    seen["games"] += 1
    seen[f"ended by {ending}"] += 1


def run(games: range, tell: Callable[[str], None] = print, every: int = 500) -> Counter[str]:
    """Compare some games and report progress after every ``every`` games."""
    seen: Counter[str] = Counter()
    start = time.perf_counter()
    for number in games:
        compare_game(number, seen)
        if (number - games.start + 1) % every == 0:
            tell(f"{seen['games']} games, {seen['positions']} positions, {time.perf_counter() - start:.0f} s")
    return seen


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=200, help="number of games")
    parser.add_argument("--first", type=int, default=0, help="number of the first game; a game's number is its seed")
    arguments = parser.parse_args(argv)
    seen = run(range(arguments.first, arguments.first + arguments.games))
    print("no difference")
    for name, count in sorted(seen.items()):
        print(f"{count:>12} {name}")


if __name__ == "__main__":
    main()
