"""How fast and how good the searching players are: ``coterie bench search``.

Alpha-beta's nodes and MCTS's playouts per second, on one thread, by wall-clock time and by CPU time (which a busy
machine changes less); then matches with 95 % Wilson intervals. If Stockfish is installed, its nodes per second are
measured in the same run, position by position, on one thread and otherwise with its defaults (its nodes are worth more:
a network evaluates better than tables).
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..agents.baselines import make_baseline
from ..agents.core import Turn
from ..agents.search.alphabeta import analyse
from ..agents.search.mcts import MCTSAgent
from ..agents.search.uci_process import Engine
from ..envs.core import Game
from ..envs.registry import make_game
from ..training.evaluation.match import play_match
from . import Measurement

__all__ = ["POSITIONS", "measurements"]

POSITIONS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r1bq1rk1/pp2bppp/2n1pn2/3p4/2PP4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 0 9",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "4rrk1/pp1n3p/3q2pQ/2p1pb2/2PP4/2P3N1/P2B2PP/4RRK1 b - - 7 19",
)
"""The start, positions 2, 3 and 6 of the usual perft set, and two middlegames."""

NODES = 1_000_000
PLAYOUTS = {"tictactoe": 20_000, "connect_four": 20_000, "hex": 2_000, "go": 2_000, "chess": 2_000}
MATCHES = (
    ("chess", "alphabeta", "random", 100),
    ("chess", "alphabeta", "greedy", 100),
    ("chess", "alphabeta:6", "alphabeta:4", 60),
    ("chess", "greedy", "random", 100),
    ("connect_four", "mcts", "random", 200),
    ("connect_four", "mcts", "greedy", 200),
    ("connect_four", "mcts:2000", "mcts:200", 100),
    ("tictactoe", "mcts:1000", "minimax", 200),
)
"""Game, player, opponent, games; chess games begin with up to 4 random plies, so that they differ."""


def measurements() -> Iterator[Measurement]:
    """All figures of this room, one by one."""
    yield from _nodes()
    for name, playouts in PLAYOUTS.items():
        yield _playouts(make_game(name), playouts)
    for name, player, opponent, games in MATCHES:
        yield _match(make_game(name), player, opponent, games)


def _nodes() -> Iterator[Measurement]:
    """Median over the positions; each is searched briefly first, to warm up."""
    stockfish = shutil.which("stockfish") or "/usr/games/stockfish"
    engine = Engine(stockfish) if Path(stockfish).exists() else None
    ours, busy, theirs, depths = [], [], [], []
    try:
        if engine:
            engine.set("Threads", "1")
            engine.ready()
        for fen in POSITIONS:
            analyse(fen, nodes=1000)
            start, worked = time.perf_counter(), time.process_time()
            found = analyse(fen, nodes=NODES)
            ours.append(found.nodes / (time.perf_counter() - start))
            busy.append(found.nodes / (time.process_time() - worked))
            depths.append(found.depth)
            if engine:
                start = time.perf_counter()
                _, info = engine.best(fen, {"nodes": NODES})
                theirs.append(float(str(info["nodes"])) / (time.perf_counter() - start))
    finally:
        if engine:
            engine.close()
    peer = engine.name if engine else ""
    more = {
        "positions": len(POSITIONS),
        "nodes each": NODES,
        "least": round(min(ours)),
        "a second of processor time": round(statistics.median(busy)),
        "depths": depths,
    }
    rate = statistics.median(theirs) if theirs else None
    yield Measurement("chess alpha-beta", statistics.median(ours), "nodes/s", 1, peer, rate, more)


def _playouts(game: Game, playouts: int) -> Measurement:
    """From the start of the game, median of five searches."""
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    seat = game.mover(state, 0)
    turn = Turn(game, state, 0, seat, game.legal_mask(state, 0, seat), game.key(state, 0))
    agent = MCTSAgent(game, playouts)
    agent.search(turn, 0)
    rates, busy = [], []
    for seed in range(1, 6):
        start, worked = time.perf_counter(), time.process_time()
        agent.search(turn, seed)
        rates.append(playouts / (time.perf_counter() - start))
        busy.append(playouts / (time.process_time() - worked))
    more = {"playouts": playouts, "a second of processor time": round(statistics.median(busy))}
    return Measurement(f"{game.info.name} MCTS", statistics.median(rates), "playouts/s", more=more)


def _match(game: Game, player: str, opponent: str, games: int) -> Measurement:
    """Percentage of games won; with the numbers won, drawn and lost, and the time."""
    agents = make_baseline(player, game), make_baseline(opponent, game)
    start = time.perf_counter()
    result = play_match(game, agents, games, seed=0, opening_plies=4 if game.info.name == "chess" else 0)
    seconds = time.perf_counter() - start
    won, drawn, lost = result.won_drawn_lost
    low, high = result.intervals[0]
    more = {
        "won": won,
        "drawn": drawn,
        "lost": lost,
        "interval": f"{100 * low:.1f} to {100 * high:.1f}",
        "seconds": round(seconds, 1),
    }
    name = f"{game.info.name}: {player} against {opponent}"
    return Measurement(name, 100 * result.shares[0], "% won", more=more)
