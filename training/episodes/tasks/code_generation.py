"""Code that is verified by running it: a program pays the share of hidden cases that it passes.

Programs run in the sandbox of ``episodes.sandbox``; the values that they must give never enter it.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ..arena import Arena
from ..data.functions import puzzle
from ..episode import Episode
from ..records import EpisodeState, Rollout
from ..role import Role
from ..sandbox import Limits, passed
from .task import Task, drawn

__all__ = ["CodeEpisode", "code_generation", "read_code"]

SYSTEM = "You write Python. Answer with the function alone, in a ```python block."
LONGEST, RUNS = 20_000, 10_000
"""Most characters of a program, and most results that are kept."""


def read_code(text: str) -> str:
    """The last ``python`` block of a text; without one, the text itself."""
    blocks = re.findall(r"```(?:python|py)?[ ]*\n(.*?)```", text[-LONGEST:], re.DOTALL)
    return str(blocks[-1] if blocks else text[-LONGEST:])


class CodeEpisode(Episode):
    """The role Coder writes a program, which is run.

    Args:
        free: it writes the program; otherwise it chooses an expression.
        limits: of a run.
        unsafe: see ``sandbox.run_code``.
    """

    def __init__(self, *, free: bool, limits: Limits, unsafe: bool) -> None:
        super().__init__(self.reward)
        self.free, self.limits, self.unsafe = free, limits, unsafe
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._runs: dict[str, Future[list[bool]]] = {}

    def reward(self, rollout: Rollout, arena: object) -> dict[str, float]:
        """The share of cases that pass."""
        return {"Coder": rollout.extras["passed"]}

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Ask for a program and run it."""
        question = artifact["question"].removesuffix(" f(x) =") + " Write f." if self.free else artifact["question"]
        response = await self.call_model("Coder", question, arena, choices=None if self.free else artifact["choices"])
        code = read_code(response.text) if self.free else f"f = lambda x: {response.text}"
        found = await self.passed(code, artifact["cases"])
        state.rollout.extras |= {"code": code, "passed": sum(found) / len(found)}
        return state

    async def passed(self, code: str, cases: Sequence[Sequence[Any]]) -> list[bool]:
        """Which cases a program passes; the same program is run once, however many ask."""
        key = repr((code, cases))
        if key not in self._runs:
            if len(self._runs) >= RUNS:
                self._runs.clear()
            tried = [(expression, value) for expression, value in cases]
            self._runs[key] = self._pool.submit(passed, code, tried, limits=self.limits, unsafe=self.unsafe)
        return await asyncio.shield(asyncio.wrap_future(self._runs[key]))


def code_generation(
    *,
    level: int = 1,
    batch: int = 4,
    rollouts: int = 8,
    free: bool = False,
    seconds: float = 5.0,
    max_tokens: int = 256,
    unsafe: bool = False,
) -> Task:
    """The role Coder finds functions; hidden cases are run.

    Args:
        level: of the functions, 1 to 3.
        batch: problems of an update.
        rollouts: programs for each problem, compared with each other.
        free: the coder writes a program; otherwise it chooses an expression.
        seconds: the longest run of a program.
        max_tokens: the longest free answer.
        unsafe: run programs with your own rights where the system has no sandbox.

    Raises:
        UsageError: no such level.
    """
    puzzle(level, np.random.default_rng(0))  # an error now, not in an episode
    source = drawn("code", partial(puzzle, level), batch, rollouts)

    episode = CodeEpisode(free=free, limits=Limits(seconds=seconds), unsafe=unsafe)
    role = Role("Coder", SYSTEM if free else "", max_tokens=max_tokens)
    return Task("code_generation", (role,), {"code": episode}, source)
