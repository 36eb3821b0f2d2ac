"""Kills training runs at random moments and resumes them: ``python -m coterie.benchmarks.kills --kind llm``.

Two short runs that nothing interrupts come first. Then runs with the same configuration get SIGKILL at a random moment,
again and again, and go on with --resume until they are done. Each must end as the unbroken ones did, bit for bit: all
tensors of the last checkpoint, all saved players, and every line of the metrics but for clocks (fields in which the two
unbroken runs differ). Exits with code 1 if one does not.

    python -m coterie.benchmarks.kills --kind llm --kills 100 --seed 1
    python -m coterie.benchmarks.kills --kind many --kills 100 --seed 1     three learners and their past selves
    python -m coterie.benchmarks.kills --kind net --kills 100 --seed 1
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import random
import secrets
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from ..training.loop import train
from ..training.runs.config import (
    BudgetConfig,
    NetConfig,
    PolicyConfig,
    RolloutConfig,
    SchemeConfig,
    TrainConfig,
)
from ..training.runs.net_run import train_net

__all__ = ["KINDS", "contents", "differences", "main"]

UPDATES = 8

LLM = TrainConfig(
    game="tictactoe",
    threads=1,
    policy=PolicyConfig(lora_r=4),
    rollout=RolloutConfig(games=16, num_generations=4, opening_plies=2),
    scheme=SchemeConfig(opponents="random=1,self=1,past=1", snapshot_every=2, max_past=2),
    budget=BudgetConfig(updates=UPDATES, minutes=0.0, eval_every=3, eval_games=10, checkpoint_every=2),
)
NET = NetConfig(
    set=("preset=a3_9x9",),
    threads=1,
    worlds=4,
    updates=UPDATES,
    minutes=0.0,
    hidden=16,
    eval_every=3,
    eval_worlds=2,
    eval_ticks=20,
    checkpoint_every=2,
)

MANY = dataclasses.replace(
    LLM,
    rollout=RolloutConfig(games=6, num_generations=2, opening_plies=2),
    scheme=SchemeConfig(scheme="fictitious", learners=3, snapshot_every=2, max_past=2),
    budget=dataclasses.replace(LLM.budget, eval_games=2),
)
"""A population: three learners, each against past selves of the others."""

LEAGUE = dataclasses.replace(
    MANY, rollout=RolloutConfig(games=8, num_generations=2), scheme=SchemeConfig(scheme="league", snapshot_every=1)
)
"""A league: past selves, resets and a table of results."""

KINDS: dict[str, Callable[[Path], Any]] = {
    "llm": lambda folder: train(LLM, folder, resume=(folder / "config.yaml").exists(), watcher=None),
    "many": lambda folder: train(MANY, folder, resume=(folder / "config.yaml").exists(), watcher=None),
    "league": lambda folder: train(LEAGUE, folder, resume=(folder / "config.yaml").exists(), watcher=None),
    "net": lambda folder: train_net(NET, folder, resume=(folder / "config.yaml").exists(), watcher=None),
}
"""Kind -> a function that begins or resumes a run in a folder and takes it to its end."""


def _started(work: Callable[[Path], Any], folder: Path) -> int:
    """Start the run in a copy of this process, which has loaded all it needs; its process id."""
    if child := os.fork():
        return child
    code = 1
    try:
        work(folder)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _ended(child: int, patience: float) -> int | None:
    """Wait at most so many seconds: the process's exit code, or None if it is still running."""
    end = time.monotonic() + patience
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= end:
            return None
        time.sleep(0.002)


def _unbroken(work: Callable[[Path], Any], folder: Path) -> float:
    """Take a run to its end at one go; the seconds it took."""
    start = time.monotonic()
    if code := _ended(_started(work, folder), 3600):
        raise RuntimeError(f"The unbroken run ended with code {code}.")
    return time.monotonic() - start


def contents(folder: Path) -> dict[str, Any]:
    """What a finished run holds: tensors of the last checkpoint, digests of the players, lines of the metrics."""
    last = max(path for path in (folder / "checkpoints").iterdir() if path.name.isdigit())
    found: dict[str, Any] = {
        f"checkpoint {path.name}": torch.load(path, weights_only=True) for path in sorted(last.glob("*.pt"))
    }
    if (last / "state.json").is_file():  # nets have none
        told = json.loads((last / "state.json").read_text())
        found |= {f"state {name}": told[name] for name in ("pool", "scheme") if name in told}
    for path in sorted((folder / "players").rglob("*.safetensors")):
        found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        found |= {f"metrics {row['update']} {name}": value for name, value in row.items()}
    return found


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def differences(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """Names of what only one run holds or what is not the same in both, bit for bit."""
    shared = one.keys() & other.keys()
    return (one.keys() ^ other.keys()) | {name for name in shared if not _same(one[name], other[name])}


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m coterie.benchmarks.kills",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--kind", choices=KINDS, default="llm", help="a language model, several that learn, a league, or a net (llm)"
    )
    parser.add_argument("--kills", type=int, default=100, help="how often a process is killed, at least (100)")
    parser.add_argument("--minutes", type=float, default=0.0, help="begin no further run after so long (0: no limit)")
    parser.add_argument("--seed", type=int, help="of the moments (a new one each time)")
    asked = parser.parse_args(argv)
    seed = secrets.randbits(32) if asked.seed is None else asked.seed
    rng, work, begun = random.Random(seed), KINDS[asked.kind], time.monotonic()
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    kills = runs = failed = 0
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="coterie-kills-") as made, tqdm(total=asked.kills, unit=" kills") as bar:
        folder = Path(made)
        _unbroken(work, folder / "first")
        took = _unbroken(work, folder / "second")
        whole = contents(folder / "second")
        clocks = differences(contents(folder / "first"), whole)
        if wrong := [name for name in clocks if not name.startswith("metrics ")]:
            raise RuntimeError(f"Two unbroken runs differ, so this says nothing: {', '.join(sorted(wrong))}")
        names = {name.split()[2] for name in clocks}
        while kills < asked.kills and not (asked.minutes and time.monotonic() - begun > 60 * asked.minutes):
            run, code, before = folder / f"run{runs}", None, kills
            while code is None:
                child = _started(work, run)
                code = _ended(child, rng.uniform(0, took))
                if code is None:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    kills += 1
                    bar.update(min(1, bar.total - bar.n))
            runs += 1
            found = differences(contents(run), whole) if code == 0 else {f"exit code {code}"}
            found = {name for name in found if name.split()[-1] not in names or not name.startswith("metrics")}
            failed += bool(found)
            if found:
                print(f"run {runs}, killed {kills - before} times: {', '.join(sorted(found)[:8])}", flush=True)
    print(f"{asked.kind}: {kills} kills in {runs} runs of {UPDATES} updates; an unbroken one takes {took:.1f} s")
    print(f"{failed} runs ended otherwise" if failed else f"All ended alike, bit for bit, in {len(whole)} parts.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
