"""How fast the gridworld runs: ``coterie bench gridworld``.

Random legal play in ``bench_24_48x48`` (24 agents, 48x48 cells, windows of 11x11), including the rebuilding of ended
episodes. An agent-step is one agent's action with its next observation and mask. If mettagrid (C++) is installed, it
plays a map of the same size with the same number of agents, walls and windows in the same process, in alternation; it
emits tokens, not planes, has no mask, and its rules differ.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numba
import numpy as np

from ..envs import make, make_vec
from ..envs.gridworld.config.presets import preset
from ..envs.gridworld.config.world import new_world
from . import Measurement, starting
from .envs import _duel

__all__ = ["measurements"]

WORLDS, AGENTS = 32, 24


def measurements() -> Iterator[Measurement]:
    """All figures of this room, one by one."""
    yield from _soak()  # first, since later measurements need more memory and would hide the growth
    yield from _batched()
    yield from _parallel()
    yield from _sizes()
    yield from _memory()
    yield from _threads()
    yield from starting("gridworld-v0", games=8)


def _rollout(worlds: int, ticks: int, threads: int = 1, **config: Any) -> Callable[[], int]:
    vec = make_vec("gridworld-v0", worlds, num_threads=threads, seed=0, **config)
    vec.reset()
    return lambda: vec.random_rollout(ticks).steps * vec.num_players


def _metta(ticks: int) -> Any:
    """Functions that step mettagrid and its PettingZoo adapter with random actions, or None if it is missing.

    Each plays ``ticks`` ticks and returns the number of agent-steps.
    """
    if not find_spec("mettagrid"):
        return None
    config = import_module("mettagrid.builder.envs").make_arena(
        AGENTS,
        map_builder=import_module("mettagrid.map_builder.random_map").RandomMapBuilder.Config(
            width=48, height=48, agents=AGENTS, objects={"wall": 144}, border_width=1
        ),
    )
    config.game.max_steps = 1_000_000
    simulator = import_module("mettagrid.simulator").Simulator()
    running = simulator.new_simulation(config, seed=0)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(running.action_names), (256, AGENTS)).astype(np.int32)
    actions = running._c_sim.actions()

    def step_only() -> int:
        for t in range(ticks):
            actions[:] = drawn[t % 256]
            running._c_sim.step()
        return ticks * AGENTS

    face = import_module("mettagrid.envs.pettingzoo_env").MettaGridPettingZooEnv(simulator, config)
    face.reset(seed=0)
    choices = [dict(enumerate(row.tolist())) for row in drawn % face.action_space(0).n]

    def documented() -> int:
        for t in range(ticks):
            face.step(choices[t % 256])
        return ticks * AGENTS

    return step_only, documented


def _name() -> str:
    return f"mettagrid {version('mettagrid')}" if find_spec("mettagrid") else ""


def _batched() -> Iterator[Measurement]:
    """Planes and tokens against mettagrid's step."""
    theirs = _metta(200)
    peer = _name()
    for kind in ("planes", "tokens"):
        observation = {"kind": kind}
        ours, other = _duel(_rollout(WORLDS, 40, observation=observation), theirs[0] if theirs else None)
        more = {"worlds": WORLDS, "observation": kind, "peer's": "tokens, step alone"} if theirs else {"worlds": WORLDS}
        yield Measurement(f"batched, {kind}, random_rollout", ours, "agent-steps/s", 1, peer, other, more)
    vec = make_vec("gridworld-v0", WORLDS, seed=0)
    vec.reset()

    def steps() -> int:
        for _ in range(40):
            vec.step(vec.sample_actions())
        return 40 * WORLDS * AGENTS

    ours, other = _duel(steps, theirs[0] if theirs else None)
    yield Measurement("batched, planes, step(sample_actions())", ours, "agent-steps/s", 1, peer, other)
    short = _rollout(WORLDS, 40, max_steps=100)
    ours, _ = _duel(short, None)
    yield Measurement(
        "batched, planes, episodes of 100 ticks", ours, "agent-steps/s", 1, more={"rebuilds": "every 100 ticks"}
    )


def _parallel() -> Iterator[Measurement]:
    """The documented loop of PettingZoo's parallel API; actions are sampled beforehand."""
    env: Any = make("gridworld-v0", api="parallel")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    drawn = [dict(zip(env.possible_agents, row, strict=True)) for row in rng.integers(0, 8, (256, AGENTS)).tolist()]

    def ours() -> int:
        for t in range(200):
            env.step(drawn[t % 256])
            if not env.agents:
                env.reset()
        return 200 * AGENTS

    theirs = _metta(200)
    rate, other = _duel(ours, theirs[1] if theirs else None)
    yield Measurement("PettingZoo parallel API, planes and masks", rate, "agent-steps/s", 1, _name(), other)


def _sizes() -> Iterator[Measurement]:
    """The cost of an agent-step relative to 5 agents', at equal density: 5 to 1,990 agents on 25x25 to 500x500."""
    rates: dict[int, float] = {}
    for agents, side in ((5, 25), (24, 55), (100, 112), (1000, 354), (1990, 500)):
        cells = side * side
        objects = {"wall": cells // 16, "generator": cells // 58, "converter": cells // 115, "altar": cells // 230}
        world = {"height": side, "width": side, "agents": agents, "objects": objects}
        worlds = max(1, 480 // agents)
        rates[agents], _ = _duel(_rollout(worlds, max(4, 9600 // (worlds * agents)), map=world), None)
        more = {
            "map": f"{side}x{side}",
            "worlds": worlds,
            "cost to that of 5 agents": round(rates[5] / rates[agents], 2),
        }
        yield Measurement(f"batched, {agents} agents at equal density", rates[agents], "agent-steps/s", 1, more=more)


def _memory() -> Iterator[Measurement]:
    """Bytes of one world's state."""
    for name in ("bench_24_48x48", "a100_100x100"):
        state = sum(part.nbytes for part in new_world(preset(name), 1))
        yield Measurement(f"{name}: state of a world", float(state), "bytes", 1)


def _peak() -> float:
    """Peak memory of this process in MiB."""
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _soak() -> Iterator[Measurement]:
    """By how much a million ticks of one world, and 60,000 of the parallel face, raise the process's peak memory."""
    play = _rollout(1, 10_000)
    env: Any = make("gridworld-v0", api="parallel", max_steps=500)
    waits = dict.fromkeys(env.possible_agents, 0)

    def tick() -> None:
        if not env.agents:
            env.reset(seed=0)
        env.step(waits)

    for name, work, times in (("1,000,000 ticks", play, 100), ("parallel API, 60,000 ticks", tick, 60_000)):
        for _ in range(times // 50):
            work()
        before = _peak()
        for _ in range(times):
            work()
        more = {"before": round(before, 1), "after": round(_peak(), 1), "lower": "is better"}
        yield Measurement(f"memory that {name} add", _peak() - before, "MB", more=more)


@numba.njit(nogil=True, cache=True)
def _arithmetic(rounds: int) -> int:  # pragma: no cover
    x = np.uint64(1)
    for _ in range(rounds):
        x = (x ^ (x >> np.uint64(13))) * np.uint64(0x9E3779B97F4A7C15)
    return int(x & np.uint64(1))


def _threads() -> Iterator[Measurement]:
    """The speed-up of two threads over many worlds and over a loop of bare arithmetic, in alternation."""
    one, two = _rollout(1024, 16), _rollout(1024, 16, threads=2)
    rounds = 60_000_000
    _arithmetic(10)
    gains: dict[str, list[float]] = {"worlds": [], "arithmetic": []}
    one(), two()
    with ThreadPoolExecutor(2) as pool:
        for _ in range(7):
            spent = []
            for work in (one, two):
                began = time.perf_counter()
                work()
                spent.append(time.perf_counter() - began)
            gains["worlds"].append(spent[0] / spent[1])
            began = time.perf_counter()
            _arithmetic(rounds)
            alone = time.perf_counter() - began
            began = time.perf_counter()
            list(pool.map(_arithmetic, (rounds // 2, rounds // 2)))
            gains["arithmetic"].append(alone / (time.perf_counter() - began))
    worlds, plain = statistics.median(gains["worlds"]), statistics.median(gains["arithmetic"])
    more = {"arithmetic alone": round(plain, 2), "of its gain": round(worlds / plain, 2)}
    yield Measurement("two threads, 1,024 worlds: gain over one", worlds, "times", 2, more=more)
