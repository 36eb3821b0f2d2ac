"""Episodes at once against one after another: how much their questions gain from sharing the engine's calls.

The workload: conversations of two roles with four turns, 128 of them (8 one by one on tiny), one thread.

* ``mock``: answers at random; each call takes 20 ms, however many questions it has, as a server's would.
* ``tiny``: the built-in model with an adapter for each role; choices among four answers, or 16 tokens of free text.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..agents.engines.base import Answer, Ask
from ..agents.engines.mock import MockEngine
from ..training.episodes import AlternatingRolesEpisode, Arena, EpisodeRequest, EpisodeState, Role
from . import Measurement

__all__ = ["measurements"]

TURNS, MANY = 4, 64
PAUSE = 0.02
"""Seconds of a call of the mock."""


class Server(MockEngine):
    """A mock whose calls take a while."""

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer after a pause."""
        time.sleep(PAUSE)
        return super().sample(asks)


class Choosing(AlternatingRolesEpisode):
    """Two roles choose words in turn."""

    def choices(self, state: EpisodeState, role_id: str) -> Sequence[str]:
        """Four words."""
        return ["north", "east", "south", "west"]


def measurements() -> Iterator[Measurement]:
    """Episodes per second with 64 at once; the peer is the same arena with one at a time."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield _measured("mock, 20 ms a call", Server, Choosing, 128, 64)
        yield _measured("tiny, choices", _tiny, Choosing, 256, 64)
        yield _measured("tiny, 16 free tokens", _tiny, AlternatingRolesEpisode, 256, 32)
    finally:
        torch.set_num_threads(threads)


def _tiny() -> Any:
    from ..training.runs.config import PolicyConfig
    from ..training.runs.players import build_policy

    return build_policy(PolicyConfig(), players=())


def _measured(name: str, policy: Callable[[], Any], episode: Any, many: int, one: int) -> Measurement:
    together, work, size = _rate(policy(), episode, MANY, many)
    alone, work_alone, _ = _rate(policy(), episode, 1, one)
    more = {"ratio of processor time": round(work_alone / work, 1), "questions a call": round(size, 1)}
    return Measurement(f"episodes, {name}", together, "episodes/s", 1, "one at a time", alone, more)


def _rate(policy: Any, episode: Any, concurrency: int, count: int) -> tuple[float, float, float]:
    """Episodes per second after a warm-up, processor seconds of one, and the mean number of questions in a call."""
    arena = Arena(policy, concurrency=concurrency)
    for role in ("A", "B"):
        arena.add_role(Role(role, max_tokens=16))
    arena.add_episode("talk", episode(["A", "B"], max_turns=TURNS))
    asyncio.run(arena.generate_rollouts([EpisodeRequest("talk", "Begin.")] * 4))
    sizes = arena.models[""].batcher.sizes
    before, start, worked = len(sizes), time.perf_counter(), time.process_time()
    asyncio.run(arena.generate_rollouts([EpisodeRequest("talk", f"Begin with {k}.") for k in range(count)]))
    rate, work = count / (time.perf_counter() - start), (time.process_time() - worked) / count
    return rate, work, sum(sizes[before:]) / (len(sizes) - before)
