"""How fast chess runs: ``coterie bench chess``.

Installed peers are measured in the same process, in alternation: python-chess for perft, PettingZoo's chess_v6 for
single games, pgx and OpenSpiel for many. Random legal play throughout.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs import make, make_vec
from ..envs.chess import perft
from ..envs.chess.fen import START
from ..envs.stepping.jit import kernel
from ..envs.stepping.rng import mix64
from . import Measurement, starting
from .boards import WORK
from .envs import GAMES, _documented, _duel, _pgx

__all__ = ["measurements"]

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
SETTLE = 300
"""Plies to play before measuring batched play: all games begin alike, and end at different times."""


def measurements() -> Iterator[Measurement]:
    """All figures of this room, one by one."""
    yield from _perft()
    yield from _batched()
    yield _threads()
    yield from _single()
    yield from starting("chess-v0")


# -- moves alone -------------------------------------------------------------------------------------------------------


def _perft() -> Iterator[Measurement]:
    """Leaves per second; both programs count the last ply without making its moves."""
    peer = f"python-chess {version('chess')}" if find_spec("chess") else ""
    for name, fen, depth, theirs in (("start position", START, 6, 4), ("Kiwipete", KIWIPETE, 5, 3)):
        ours, other = _duel(partial(perft, fen, depth), _python_chess(fen, theirs), 3)
        yield Measurement(f"chess perft, {name}", ours, "nodes/s", 1, peer, other, {"depth": depth})


def _python_chess(fen: str, depth: int) -> Callable[[], int] | None:
    if not find_spec("chess"):
        return None
    board = import_module("chess").Board(fen)

    def leaves(depth: int) -> int:
        if depth == 1:
            return int(board.legal_moves.count())
        total = 0
        for move in board.legal_moves:
            board.push(move)
            total += leaves(depth - 1)
            board.pop()
        return total

    return lambda: leaves(depth)


# -- many games --------------------------------------------------------------------------------------------------------


def _vec(threads: int = 1) -> Any:
    vec = make_vec("chess-v0", GAMES, seed=0, num_threads=threads)
    vec.reset()
    vec.random_rollout(SETTLE, observe=False)
    return vec


def _batched() -> Iterator[Measurement]:
    """Moves only, then with observation and mask in every step."""
    vec = _vec()
    games = {"games": GAMES, "bytes a game": vec.state.dtype.itemsize}
    spiel = _open_spiel() if find_spec("pyspiel") else None
    peer = f"OpenSpiel {version('open_spiel')}, a game at a time" if spiel else ""
    ours, theirs = _duel(lambda: vec.random_rollout(100, observe=False).steps, spiel)
    yield Measurement("chess batched, moves only", ours, "plies/s", 1, peer, theirs, games)
    pgx = _pgx("chess", 5, 256)
    ours, theirs = _duel(lambda: vec.random_rollout(30).steps, pgx)
    peer = f"pgx {version('pgx')}" if pgx else ""
    yield Measurement("chess batched, random_rollout", ours, "steps/s", 1, peer, theirs, {"work": WORK})

    def sample_and_step() -> int:
        for _ in range(20):
            vec.step(vec.sample_actions())
        return 20 * GAMES

    ours, theirs = _duel(sample_and_step, _open_spiel(observe=True) if spiel else None)
    peer = f"OpenSpiel {version('open_spiel')}, a game at a time" if spiel else ""
    yield Measurement("chess batched, sample_actions + step", ours, "steps/s", 1, peer, theirs, {"work": WORK})


def _open_spiel(observe: bool = False) -> Callable[[], int]:
    """Random games one after the other, in C++ except for the loop."""
    game = import_module("pyspiel").load_game("chess")
    rng = np.random.default_rng(0)

    def work() -> int:
        plies = 0
        for _ in range(2):
            state = game.new_initial_state()
            while not state.is_terminal():
                if observe:
                    state.observation_tensor()
                    state.legal_actions_mask()
                actions = state.legal_actions()
                state.apply_action(actions[int(rng.integers(len(actions)))])
                plies += 1
        return plies

    return work


@kernel
def _arithmetic(count: int, out: NDArray[np.uint64]) -> None:
    """Arithmetic in registers that keeps a core busy: its gain from two threads is the most that can be expected."""
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    for _ in range(count):
        a, b, c, d = mix64(a), mix64(b), mix64(c), mix64(d)
    out[0] = a ^ b ^ c ^ d


def _threads(rounds: int = 25) -> Measurement:
    """The speed-up of two threads over one, for chess and for bare arithmetic; all four alternate, best times count."""
    one, two = _vec(1), _vec(2)
    sinks = np.zeros((2, 64), np.uint64)
    count = 10_000_000
    works: list[Callable[[], Any]] = [
        lambda: _arithmetic(count, sinks[0]),
        lambda: list(pool.map(_arithmetic, (count // 2, count // 2), sinks)),
        lambda: one.random_rollout(100, observe=False),
        lambda: two.random_rollout(100, observe=False),
    ]
    seconds: list[list[float]] = [[] for _ in works]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(rounds):
            for work, into in zip(works, seconds, strict=True):
                start = time.perf_counter()
                work()
                into.append(time.perf_counter() - start)
    two.close()
    best = [min(each) for each in seconds]
    more = {"games": GAMES, "plies a call": 100, "cores": os.cpu_count(), "rounds": rounds}
    name = "chess batched, two threads over one"
    return Measurement(name, best[2] / best[3], "x", 2, "bare arithmetic", best[0] / best[1], more)


# -- one game at a time ------------------------------------------------------------------------------------------------


def _single() -> Iterator[Measurement]:
    """PettingZoo's documented loop."""
    theirs, peer = None, ""
    if find_spec("pygame") and find_spec("chess"):
        import pettingzoo

        theirs = _documented(pettingzoo.make("aec", "classic/chess-v6"), 1)
        peer = f"PettingZoo {version('pettingzoo')}"
    ours, other = _duel(_documented(make("chess-v0"), 5), theirs)
    yield Measurement("chess AEC, documented loop", ours, "turns/s", 1, peer, other)
