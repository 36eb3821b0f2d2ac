"""Benchmarks, one file per room: ``benchmarks/envs.py``, ``policy.py``, ``train.py``, ...

Each defines ``measurements() -> Iterator[Measurement]``; ``coterie bench ROOM [--json]`` imports it, runs it and prints
a line for each measurement at once. If a peer (another library that does the same work) is installed, it is measured
in the same run: a ratio from one run says more than two rates from different days.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UnknownName

__all__ = ["ROOMS", "Measurement", "command", "measurements", "median_rate", "starting"]

ROOMS = ("envs", "chess", "boards", "gridworld", "search", "policy", "population", "train", "episodes")


@dataclass(frozen=True)
class Measurement:
    """One figure.

    Attributes:
        name: of the workload, e.g. ``"tictactoe batched"``.
        rate: the figure, in ``unit``.
        unit: e.g. ``"steps/s"``.
        threads: number of threads used.
        peer: the library that did the same work in the same run, or ``""``.
        peer_rate: its figure, or None.
        more: further columns: workload, sizes, version; plain data.
    """

    name: str
    rate: float
    unit: str
    threads: int = 1
    peer: str = ""
    peer_rate: float | None = None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Our rate over the peer's, or None without a peer."""
        return self.rate / self.peer_rate if self.peer_rate else None

    def as_dict(self) -> dict[str, Any]:
        """Plain data for one JSON line: the fields, ``ratio``, then the items of ``more``."""
        row = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "more"}
        return {**row, "ratio": self.ratio, **self.more}

    def __str__(self) -> str:
        """One line for people."""
        line = (
            f"{self.name:<44} {_short(self.rate):>9} {self.unit:<14} {self.threads} thread{'s' * (self.threads != 1)}"
        )
        if self.peer_rate:
            line += f"   {self.peer}: {_short(self.peer_rate)}, ratio {self.rate / self.peer_rate:.2f}"
        return line + "".join(f"   {key} {value}" for key, value in self.more.items())


_START = """
import time
start = time.perf_counter()
import coterie
vec = coterie.make_vec({id!r}, {games}, seed=0)
vec.reset()
vec.step(vec.sample_actions())
vec.random_rollout(2)
env = coterie.make({id!r})
env.reset(seed=0)
for _ in env.agents:
    env.step(int(env.last()[0]["action_mask"].argmax()))
print(time.perf_counter() - start)
"""


def starting(id: str, games: int = 64) -> Iterator[Measurement]:
    """Seconds of a new process from import to the first moves of both faces, with an empty and a full numba cache."""
    with tempfile.TemporaryDirectory() as folder:
        for cache in ("cold", "warm"):
            done = subprocess.run(
                [sys.executable, "-c", _START.format(id=id, games=games)],
                env=os.environ | {"NUMBA_CACHE_DIR": folder},
                cwd=folder,
                capture_output=True,
                text=True,
                check=True,
            )
            yield Measurement(f"{id} {cache} start", float(done.stdout), "s", more={"lower": "is better"})


def median_rate(work: Callable[[], int], repeats: int = 5) -> float:
    """Median over ``repeats`` calls of (units of work that ``work()`` returns) / seconds, after one warm-up call."""
    work()
    rates = []
    for _ in range(repeats):
        start = time.perf_counter()
        units = work()
        rates.append(units / (time.perf_counter() - start))
    return statistics.median(rates)


def measurements(room: str) -> Iterator[Measurement]:
    """Take and yield the measurements of a room, one by one.

    Raises:
        UnknownName: there is no such room.
    """
    if room not in ROOMS:
        raise UnknownName("benchmark", room, ROOMS)
    yield from importlib.import_module(f".{room}", __name__).measurements()


def command(words: Sequence[str]) -> int:
    """Run a command line in this process, as ``python -m coterie WORDS`` does, and return its exit code."""
    before, sys.argv = sys.argv, ["coterie", *words]
    try:
        runpy.run_module(__name__.partition(".")[0], run_name="__main__")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    finally:
        sys.argv = before
    return 0


def _short(number: float) -> str:
    """12_345_678 -> ``12.3 M``."""
    for factor, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(number) >= factor:
            return f"{number / factor:.3g}{letter}"
    return f"{number:.3g}"
