"""How fast the board games run: ``coterie bench boards``.

Random legal play of many games in parallel, with observation, mask and restart in every step. If pgx (JAX, on the CPU)
is installed, it does the same work in the same process, in alternation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..envs import make, make_vec
from . import Measurement, median_rate
from .envs import GAMES, _documented, _duel, _peer, _pgx

__all__ = ["measurements"]

WORK = "observation, mask, restart, random legal action"


def measurements() -> Iterator[Measurement]:
    """All figures of this room, one by one."""
    yield from _connect_four()
    yield from _hex()
    yield from _go()


def _rollout(id: str, steps: int, games: int = GAMES, **config: Any) -> Callable[[], int]:
    """``steps`` random steps in each of many games, on one thread."""
    vec = make_vec(id, games, seed=0, **config)
    vec.reset()
    return lambda: vec.random_rollout(steps).steps


# -- connect four ------------------------------------------------------------------------------------------------------


def _connect_four() -> Iterator[Measurement]:
    """Batched against pgx, one game at a time against PettingZoo."""
    theirs = _pgx("connect_four", 50)
    ours, other = _duel(_rollout("connect_four-v0", 200), theirs)
    more = {"games": GAMES, "work": WORK}
    yield Measurement("connect_four batched, random_rollout", ours, "steps/s", 1, _peer(theirs), other, more)
    vec = make_vec("connect_four-v0", GAMES, seed=0)
    vec.reset()

    def sample_and_step() -> int:
        for _ in range(100):
            vec.step(vec.sample_actions())
        return 100 * GAMES

    rate = median_rate(sample_and_step)
    yield Measurement("connect_four batched, sample_actions + step", rate, "steps/s", more={"games": GAMES})
    single, peer = None, ""
    if find_spec("pygame"):
        import pettingzoo

        single = _documented(pettingzoo.make("aec", "classic/connect_four-v3"), 20)
        peer = f"PettingZoo {version('pettingzoo')}"
    ours, other = _duel(_documented(make("connect_four-v0"), 100), single)
    yield Measurement("connect_four AEC, documented loop", ours, "turns/s", 1, peer, other)


# -- go ----------------------------------------------------------------------------------------------------------------


def _go() -> Iterator[Measurement]:
    """Batched against pgx and OpenSpiel at 9x9 and 19x19, one game at a time against PettingZoo."""
    for size, games, steps in ((9, 1024, 20), (19, 128, 10)):
        name, more = f"go {size}x{size}", {"games": games, "work": WORK}
        ours = _rollout("go-v0", 400, games, size=size)
        theirs = _pgx(f"go_{size}x{size}", steps, games)
        rate, other = _duel(ours, theirs)
        yield Measurement(f"{name} batched, random_rollout", rate, "steps/s", 1, _peer(theirs), other, more)
        if find_spec("pyspiel"):
            rate, other = _duel(ours, _open_spiel(size))
            peer = f"OpenSpiel {version('open_spiel')}, a game at a time"
            yield Measurement(f"{name} batched, random_rollout", rate, "steps/s", 1, peer, other, more)
        single, peer = None, ""
        if find_spec("pygame"):
            import pettingzoo

            single = _documented(pettingzoo.make("aec", "classic/go-v5", board_size=size), 1)
            peer = f"PettingZoo {version('pettingzoo')}"
        rate, other = _duel(_documented(make("go-v0", size=size), 10), single, 3)
        yield Measurement(f"{name} AEC, documented loop", rate, "turns/s", 1, peer, other)


def _open_spiel(size: int) -> Callable[[], int]:
    """Random games of OpenSpiel, with observation and legal actions in every step, called from Python."""
    game = import_module("pyspiel").load_game("go", {"board_size": size})
    random = np.random.default_rng(0)

    def work() -> int:
        steps = 0
        for _ in range(10 if size == 9 else 2):
            state = game.new_initial_state()
            while not state.is_terminal():
                state.observation_tensor(state.current_player())
                legal = state.legal_actions()
                state.apply_action(legal[random.integers(len(legal))])
                steps += 1
        return steps

    return work


# -- hex ---------------------------------------------------------------------------------------------------------------


def _hex() -> Iterator[Measurement]:
    """The standard board against pgx, both with the swap rule; then a small board."""
    theirs = _pgx("hex", 4)
    ours, other = _duel(_rollout("hex-v0", 100, swap=True), theirs)
    more = {"games": GAMES, "work": WORK}
    yield Measurement("hex 11x11 batched, random_rollout", ours, "steps/s", 1, _peer(theirs), other, more)
    yield Measurement(
        "hex 5x5 batched, random_rollout", median_rate(_rollout("hex-v0", 200, size=5)), "steps/s", more=more
    )
