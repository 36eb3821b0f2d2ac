"""Plays and trains for a long time and looks for leaks: ``python -m coterie.benchmarks.soak --minutes 60``.

One process goes round: every game in the AEC, text, parallel and batched face, a picture of it, a saved game that is
read back, and a short training run of the built-in language model and of a net. After each round it notes its memory
(RSS), open file handles and threads. In the end it fits a line (Theil and Sen's median of slopes, 95 % interval) to the
rounds after the first third, in which caches fill, draws all rounds, and says whether memory grows.

    python -m coterie.benchmarks.soak --minutes 60 --picture docs/images/soak.png

Exits with code 1 if the interval lies above --allowed, or if there are more file handles or threads at the end than
after the first third.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
from scipy.stats import theilslopes
from tqdm import tqdm

from ..envs.making import make
from ..envs.registry import list_envs, make_game, spec
from ..envs.words.vec import vec_of
from . import command

__all__ = ["Sample", "Verdict", "main", "verdict"]

SMALL: dict[str, dict[str, Any]] = {"gridworld-v0": {"preset": "a3_9x9"}, "go-v0": {"size": 5}, "hex-v0": {"size": 5}}
TRAINING = (
    "train tictactoe --updates 2 --games 16 --num-generations 4 --lora-r 4 --eval-games 4 --threads 1",
    "train gridworld --policy net --preset a3_9x9 --updates 2 --worlds 2 --hidden 8 --eval-worlds 1 --eval-ticks 4",
)


class Sample(NamedTuple):
    """The process after a round: seconds since the start, MiB of memory, file handles, threads."""

    seconds: float
    memory: float
    handles: int
    threads: int


class Verdict(NamedTuple):
    """How memory grows, in MiB an hour with the ends of its 95 % interval, and what more is open than before."""

    slope: float
    low: float
    high: float
    handles: int
    threads: int


def verdict(samples: list[Sample]) -> Verdict:
    """The verdict on the rounds after the first third.

    Args:
        samples: one a round, at least 6.
    """
    late = samples[len(samples) // 3 :]
    slope, _, low, high = theilslopes([s.memory for s in late], [s.seconds / 3600 for s in late], 0.95)
    third = max(1, len(late) // 3)  # the least of several rounds: what is open for a moment does not count
    before, after = late[:third], late[-third:]
    handles = min(s.handles for s in after) - min(s.handles for s in before)
    return Verdict(slope, low, high, handles, min(s.threads for s in after) - min(s.threads for s in before))


def _turns(id: str, face: str, seed: int, count: int = 40) -> None:
    """Play random legal turns in a face; ended games begin anew."""
    game = make_game(id, **SMALL.get(id, {}))
    rng = np.random.default_rng(seed)
    if face == "batched":
        vec: Any = vec_of(game, 16, seed=seed)
        vec.reset()
        for _ in range(count):
            vec.step(vec.sample_actions())
        if hasattr(vec, "close"):
            vec.close()
        return
    picture = "rgb_array" if face == "aec" and spec(id).draw else None
    options = {"render_mode": picture, "text": face == "text", "api": "parallel" if face == "parallel" else "aec"}
    env: Any = make(id, **options, **SMALL.get(id, {}))  # type: ignore[arg-type]
    env.reset(seed=seed)
    for _ in range(count):
        if not env.agents:
            env.reset()
        if face == "parallel":
            env.step({agent: env.action_space(agent).sample() for agent in env.agents})
            continue
        _, _, terminated, truncated, info = env.last()
        legal = np.flatnonzero(info.get("action_mask", ()))
        action = int(rng.choice(legal)) if len(legal) else env.action_space(env.agent_selection).sample()
        if face == "text" and len(legal):
            action = game.action_to_text(env.table.state, 0, action)
        env.step(None if terminated or truncated else action)
    if picture:
        env.render()
    env.close()


def _round(number: int, folder: Path) -> None:
    """Every face of every game, files, and training."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for id in list_envs():
            for face in ("aec", "text", "parallel", "batched"):
                _turns(id, face, number)
            path = folder / "game.json"
            path.unlink(missing_ok=True)
            size = [f"{name}={value}" for name, value in SMALL.get(id, {}).items()]
            play = ["play", id, "--players", "random", "random", "--ticks", "20", "--seed", str(number)]
            command([*play, "--save", str(path), "--set", *size])
            command(["play", "--replay", str(path)])
        for line in TRAINING:
            code = command([*line.split(), "--run", str(folder / "run"), "--seed", str(number)])
            shutil.rmtree(folder / "run")
            if code:
                raise RuntimeError(f"`coterie {line}` ended with code {code}")


def draw(samples: list[Sample], found: Verdict, path: Path) -> None:
    """Write a picture of the memory and the file handles over time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (upper, lower) = plt.subplots(2, sharex=True, figsize=(7, 4.5), height_ratios=(2, 1), layout="constrained")
    minutes = [s.seconds / 60 for s in samples]
    upper.plot(minutes, [s.memory for s in samples], ".-", markersize=3, linewidth=0.8)
    upper.axvspan(0, minutes[len(samples) // 3], color="0.93")
    upper.set(ylabel="RSS (MiB)", ylim=(0, 1.15 * max(s.memory for s in samples)))
    upper.set_title(f"{found.slope:+.1f} MiB/h (95 %: {found.low:+.1f} to {found.high:+.1f})", fontsize=10)
    lower.plot(minutes, [s.handles for s in samples], drawstyle="steps-post", label="file handles")
    lower.plot(minutes, [s.threads for s in samples], drawstyle="steps-post", label="threads")
    lower.set(xlabel="minutes", ylim=(0, None))
    lower.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m coterie.benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="how long, after a first round that compiles (60)")
    parser.add_argument("--allowed", type=float, default=10.0, help="growth that is no leak, in MiB an hour (10)")
    parser.add_argument("--picture", type=Path, help="write a picture of all rounds (PNG)")
    parser.add_argument("--samples", type=Path, help="write all rounds (JSON lines), while it runs")
    asked = parser.parse_args(argv)
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    process, samples = psutil.Process(), list[Sample]()
    with (
        tempfile.TemporaryDirectory(prefix="coterie-soak-") as folder,
        tqdm(total=60 * asked.minutes, bar_format="{l_bar}{bar}| {n:.0f} of {total:.0f} s{postfix}") as bar,
    ):
        _round(0, Path(folder))
        start = time.perf_counter()
        while len(samples) < 6 or time.perf_counter() - start < 60 * asked.minutes:
            _round(len(samples) + 1, Path(folder))
            gc.collect()
            now, memory = time.perf_counter() - start, process.memory_info().rss / 2**20
            samples.append(Sample(now, memory, process.num_fds(), process.num_threads()))
            if asked.samples:
                with asked.samples.open("a") as file:
                    file.write(json.dumps(samples[-1]._asdict()) + "\n")
            bar.set_postfix_str(f"{len(samples)} rounds, {memory:.0f} MiB", refresh=False)
            bar.update(min(now, bar.total) - bar.n)
    found = verdict(samples)
    if asked.picture:
        draw(samples, found, asked.picture)
    print(f"{len(samples)} rounds in {samples[-1].seconds / 60:.0f} min; {samples[-1].memory:.0f} MiB at the end")
    print(f"memory: {found.slope:+.1f} MiB/h (95 %: {found.low:+.1f} to {found.high:+.1f}) after the first third")
    print(
        f"file handles: {samples[-1].handles} ({found.handles:+d}); threads: {samples[-1].threads} ({found.threads:+d})"
    )
    leaks = found.low > asked.allowed or found.handles > 0 or found.threads > 0
    grows = "Memory grows, by less than --allowed." if found.low > 0 else "No growth that differs from none."
    print("LEAKS" if leaks else grows)
    return 1 if leaks else 0


if __name__ == "__main__":
    sys.exit(main())
