"""How fast the games run: ``coterie bench envs``.

Random legal play throughout. Installed peers are measured in the same process, in alternation: PettingZoo's own
tic-tac-toe for the single-game faces, pgx (JAX, on the CPU) for the batched one.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..envs import make, make_vec
from ..envs.state import take
from ..envs.versioned import versioned
from . import Measurement, median_rate, starting

__all__ = ["measurements"]

GAMES = 4096
"""N of the batched workloads."""


def measurements() -> Iterator[Measurement]:
    """All figures of this room, one by one."""
    yield from _batched()
    yield from _single()
    yield from _states()
    yield from starting("tictactoe-v0")
    yield from starting("highest_number-v0")


def _duel(ours: Callable[[], int], theirs: Callable[[], int] | None, repeats: int = 5) -> tuple[float, float | None]:
    """Median rates of two workloads that alternate, so that a busy machine slows both."""
    if theirs is None:
        return median_rate(ours, repeats), None
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for work, into in zip((ours, theirs), rates, strict=True):
            into.append(median_rate(work, 1))
    return statistics.median(rates[0]), statistics.median(rates[1])


# -- batched -----------------------------------------------------------------------------------------------------------


def _batched() -> Iterator[Measurement]:
    """Observation, mask and restart in every step."""
    vec = make_vec("tictactoe-v0", GAMES, seed=0)
    vec.reset()
    rollout, theirs = _duel(lambda: vec.random_rollout(300).steps, _pgx("tic_tac_toe", 100))
    more = {"games": GAMES, "work": "observation, mask, restart, random legal action"}
    yield Measurement("tictactoe batched, random_rollout", rollout, "steps/s", 1, _peer(theirs), theirs, more)

    def sample_and_step() -> int:
        for _ in range(200):
            vec.step(vec.sample_actions())
        return 200 * GAMES

    yield Measurement(
        "tictactoe batched, sample_actions + step", median_rate(sample_and_step), "steps/s", more={"games": GAMES}
    )
    yield Measurement("tictactoe batched, step with actions given", _step_only(), "steps/s", more={"games": GAMES})
    threads = min(2, os.cpu_count() or 1)
    wide = make_vec("tictactoe-v0", GAMES, seed=0, num_threads=threads)
    wide.reset()
    rate = median_rate(lambda: wide.random_rollout(300).steps)
    wide.close()
    yield Measurement("tictactoe batched, random_rollout", rate, "steps/s", threads, more={"games": GAMES})
    numbers = make_vec("highest_number-v0", GAMES, seed=0)
    numbers.reset()
    rate = median_rate(lambda: numbers.random_rollout(100).steps)
    yield Measurement("highest_number batched, random_rollout", rate, "ticks/s", more={"games": GAMES, "players": 2})


def _step_only() -> float:
    """``step`` alone: the actions were sampled beforehand, on a copy that plays the same games."""
    start = make_vec("tictactoe-v0", GAMES, seed=1)
    start.reset()
    twin, actions = start.clone(), []
    for _ in range(200):
        actions.append(twin.sample_actions().copy())
        twin.step(actions[-1])

    def work() -> int:
        vec = start.clone()
        for chosen in actions:
            vec.step(chosen)
        return len(actions) * GAMES

    return median_rate(work)


def _pgx(name: str, steps: int, games: int = GAMES) -> Callable[[], int] | None:
    """The same with pgx: legal actions sampled from its mask, step with restart, in one compiled loop."""
    if not (find_spec("pgx") and find_spec("jax")):
        return None
    jax, pgx = import_module("jax"), import_module("pgx")
    auto_reset = import_module("pgx.experimental").auto_reset
    env = pgx.make(name)
    init, step = jax.vmap(env.init), jax.vmap(auto_reset(env.step, env.init))

    def one(carry: Any, _: Any) -> tuple[Any, Any]:
        state, key = carry
        key, first, second = jax.random.split(key, 3)
        logits = jax.numpy.log(state.legal_action_mask.astype(jax.numpy.float32))
        action = jax.random.categorical(first, logits, axis=-1)
        state = step(state, action, jax.random.split(second, games))
        return (state, key), state.observation.sum()

    play = jax.jit(lambda state, key: jax.lax.scan(one, (state, key), None, length=steps))
    state = jax.jit(init)(jax.random.split(jax.random.PRNGKey(0), games))

    def work() -> int:
        jax.block_until_ready(play(state, jax.random.PRNGKey(1)))
        return steps * games

    return work


def _peer(theirs: object) -> str:
    return f"pgx {version('pgx')}" if theirs else ""


# -- one game at a time ------------------------------------------------------------------------------------------------


def _documented(env: Any, games: int) -> Callable[[], int]:
    """PettingZoo's documented loop; counts turns, including the final ones with action None."""

    def work() -> int:
        turns = 0
        for seed in range(games):
            env.reset(seed=seed)
            for agent in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                over = terminated or truncated
                env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
                turns += 1
        return turns

    return work


def _bare(env: Any, games: int) -> Callable[[], int]:
    """reset, last and step only: the actions are cells, shuffled beforehand."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(9).tolist() for _ in range(games)]

    def work() -> int:
        turns = 0
        for order in orders:
            env.reset()
            for action in order:
                _, _, terminated, _, _ = env.last()
                if terminated:
                    break
                env.step(action)
                turns += 1
        return turns

    return work


def _single() -> Iterator[Measurement]:
    """AEC, against PettingZoo's tictactoe_v3."""
    theirs = _pettingzoo()
    peer = f"PettingZoo {version('pettingzoo')}" if theirs else ""
    ours, other = _duel(_documented(make("tictactoe-v0"), 200), theirs and _documented(theirs, 200))
    yield Measurement("tictactoe AEC, documented loop", ours, "turns/s", 1, peer, other)
    raw = theirs.unwrapped if theirs else None
    ours, other = _duel(_bare(versioned("tictactoe_v0").raw_env(), 500), raw and _bare(raw, 500))
    yield Measurement("tictactoe raw_env, last + step", ours, "turns/s", 1, peer, other)


def _pettingzoo() -> Any:
    if not find_spec("pygame"):
        return None
    import pettingzoo

    return pettingzoo.make("aec", "classic/tictactoe-v3")


# -- states ------------------------------------------------------------------------------------------------------------


def _states() -> Iterator[Measurement]:
    """The cost of copying games."""
    vec = make_vec("tictactoe-v0", GAMES, seed=0)
    vec.reset()
    vec.random_rollout(3)
    rows = np.random.default_rng(0).permutation(GAMES)

    def many(copy: Callable[[], Any], each: int, times: int) -> float:
        def work() -> int:
            for _ in range(times):
                copy()
            return each * times

        return median_rate(work)

    size = {"bytes": int(vec.state.dtype.itemsize)}
    yield Measurement(
        "state rows copied, 4096 a call", many(lambda: take(vec.state, rows), GAMES, 100), "rows/s", more=size
    )
    yield Measurement("state row copied, one a call", many(lambda: vec.state[:1].copy(), 1, 5000), "rows/s", more=size)
    yield Measurement("get_state, 4096 a call", many(lambda: vec.get_state(rows), GAMES, 20), "rows/s")
    whole = vec.get_state(rows)
    yield Measurement("set_state, 4096 a call", many(lambda: vec.set_state(whole), GAMES, 20), "rows/s")
    env = make("tictactoe-v0")
    env.reset(seed=0)
    yield Measurement("AEC clone", many(env.clone, 1, 500), "clones/s")
