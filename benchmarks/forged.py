"""Forged rows at the doors of the board, card and word games, and what it costs to examine rows.

    python -m coterie.benchmarks.forged --rows 1000000
    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(mktemp -d) python -m coterie.benchmarks.forged --games go chess

``envs/testing/rows.py`` forges the rows and plays on with those that a game accepts. The gridworld has a forger of its
own: ``python -m coterie.benchmarks.gridworld_forged``.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from tqdm import tqdm

from ..envs.core import Game
from ..envs.making import make_vec
from ..envs.registry import list_envs, make_game
from ..envs.sound import UNKNOWN, unsound
from ..envs.testing.rows import forge, try_rows

__all__ = ["cost", "main"]

BATCH = 50_000
REAL = 4096
"""Rows from play whose examination is timed."""


def cost(game: Game) -> float:
    """Nanoseconds of processor time to examine one row, best of twenty calls with ``REAL`` rows from random play."""
    vec = make_vec(game.info.id, REAL, seed=0, **dict(game.config))
    vec.reset(seed=0)
    vec.random_rollout(100, observe=False)
    gone = np.zeros((REAL, game.info.players), np.bool_)
    times = []
    for _ in range(20):
        status = np.full(REAL, UNKNOWN, np.uint8)
        started = time.process_time_ns()
        assert not unsound(game, vec.state, status, gone).any()
        times.append(time.process_time_ns() - started)
    return min(times) / REAL


def main(argv: list[str] | None = None) -> None:
    """The command line of this file."""
    known = [id.rpartition("-")[0] for id in list_envs() if not id.startswith("gridworld")]
    parser = argparse.ArgumentParser(prog="python -m coterie.benchmarks.forged", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000, help="of each game (default: %(default)s)")
    parser.add_argument("--games", nargs="+", default=known, choices=known, metavar="GAME", help=" ".join(known))
    parser.add_argument("--seed", type=int, default=0, help="of the first batch (default: %(default)s)")
    options = parser.parse_args(argv)
    print(f"{'game':16} {'rows':>10} {'accepted':>10} {'seconds':>8} {'ns to examine a row':>20}")
    for name in options.games:
        game = make_game(name)
        words = isinstance(game.new_state(1), list)
        started, accepted = time.monotonic(), 0
        with tqdm(total=options.rows, desc=name, unit="row", leave=False) as bar:
            while bar.n < options.rows:
                count = min(BATCH if not words else 1000, options.rows - bar.n)
                seed = options.seed + bar.n
                accepted += try_rows(game, forge(game, count, seed), seed)
                bar.update(count)
        took = f"{time.monotonic() - started:8.0f}"
        examined = "" if words else f"{cost(game):20.0f}"
        print(f"{name:16} {options.rows:10,} {accepted:10,} {took} {examined}", flush=True)


if __name__ == "__main__":
    main()
