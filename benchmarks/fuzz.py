"""Feeds altered inputs to everything that takes what others wrote: ``python -m coterie.benchmarks.fuzz --minutes 5``.

The inputs begin as real ones (saved games, positions, states, worlds, files of runs, options, actions, command lines).
Then fields are swapped, removed, repeated or replaced by extremes, and texts and bytes are cut, spliced and flipped,
mostly with right checksums, so that the checks behind these are reached too. An input must either be accepted, and what
it describes must be playable, or be refused with one of coterie's own errors. Any other exception is a failure. So is
a process that dies, needs gigabytes, or computes for more than --timeout seconds.

The seed and k determine input k of a target. The shortest input of each failure (one for each place in the code) is
kept in --keep, and the command that repeats it is printed.

    python -m coterie.benchmarks.fuzz --minutes 60 --seed 7
    python -m coterie.benchmarks.fuzz --targets rows PGN                groups, targets or parts of their names
    python -m coterie.benchmarks.fuzz --repeat runs/fuzz/PGN-1f0c9a3e   one input again, with its traceback
    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=/tmp/checked python -m coterie.benchmarks.fuzz --targets rows

With the last line, kernels check bounds: it finds accesses outside arrays that happen not to kill the process.
Exits with code 1 if anything failed.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hashlib
import multiprocessing
import os
import random
import re
import resource
import secrets
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

from tqdm import tqdm

from ..errors import CoterieError
from .fuzz_commands import PACKAGE, place
from .fuzz_targets import GROUPS, Target, targets

__all__ = ["Fuzzing", "main"]

ROOM = 2 << 30
"""Bytes of memory that an input may need beyond what the process holds already."""

SILENCE = 900.0
"""Seconds without a word after which a process is given up. Preparing a target may compile kernels."""

SETTINGS = {"SDL_VIDEODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1", "MPLBACKEND": "Agg", "HF_HUB_OFFLINE": "1"}
SETTINGS |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
"""Of the processes that run inputs: no windows, no network, no threads that a fork would lose."""


# -- the process that runs inputs --------------------------------------------------------------------------------------


def _outcome(target: Target, data: bytes) -> tuple[str, str, str]:
    """``accepted``, ``refused`` or ``failed``; of a failure also the place and the message."""
    try:
        target.feed(data)
    except CoterieError:
        return "refused", "", ""
    except (Exception, SystemExit) as error:
        return "failed", place(error), str(error)
    return "accepted", "", ""


def _prepare(target: Target) -> list[bytes]:
    """A target's real inputs, none of which may fail; limits the memory from here on."""
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    real = target.corpus()
    for data in real:
        try:
            target.feed(data)
        except CoterieError:
            if target.group not in ("actions", "commands"):  # some of these are refused as they are
                raise
    if sys.platform == "linux":
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + ROOM, resource.RLIM_INFINITY))
    return real


Known: TypeAlias = Callable[[], dict[str, Target]]
"""A function of a module that makes the targets by name; another process imports and calls it."""


def _work(pipe: Connection, folder: Path, make: Known, seed: int, timeout: float, done: dict[str, int]) -> None:
    """Run inputs until killed; groups, and targets within a group, get equal time. ``done``: inputs run before."""
    warnings.simplefilter("ignore")
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401  # later its libraries might not fit into an input's room
    trace = (folder / "trace").open("w")
    faulthandler.enable(trace)
    faulthandler.register(signal.SIGPROF, trace, chain=True)  # writes where it was, then ends the process
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (1, 2):
        os.dup2(os.open("said", os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    known = {name: target for name, target in make().items() if name in done}
    spent = dict.fromkeys(known, 0.0)
    groups = dict.fromkeys((target.group for target in known.values()), 0.0)
    real: dict[str, list[bytes]] = {}
    while True:
        group = min(groups, key=lambda group: groups[group])
        name = min((n for n in known if known[n].group == group), key=lambda name: spent[name])
        target = known[name]
        if name not in real:
            pipe.send(("prepares", name))
            try:
                real[name] = _prepare(target)
            except Exception as error:
                pipe.send(("unprepared", name, place(error), traceback.format_exc()))
                return
        start = time.perf_counter()
        data = target.make(random.Random(f"{seed} {name} {done[name]}"), real[name])
        Path("input").write_bytes(data)
        pipe.send(("runs", name))
        signal.setitimer(signal.ITIMER_PROF, timeout)
        outcome, where, message = _outcome(target, data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send(("ran", name, outcome, where, message, data if outcome == "failed" else b""))
        took = time.perf_counter() - start
        done[name] += 1
        spent[name] += took
        groups[group] += took


# -- the process that watches it ---------------------------------------------------------------------------------------


class Fuzzing:
    """One run.

    Args:
        names: of the targets.
        seed: inputs depend on it.
        keep: folder for the inputs of failures.
        timeout: processor seconds that one input may take.
        known: where the targets are from.

    Attributes:
        counts: (target, outcome) -> number of inputs.
        failures: (target, place) -> [number, message, file with the shortest input].
        seconds: time spent on inputs, without preparing.
    """

    def __init__(
        self, names: Sequence[str], seed: int, keep: Path, timeout: float = 20.0, known: Known = targets
    ) -> None:
        self.seed, self.keep, self.timeout, self.known = seed, keep, timeout, known
        self.counts: Counter[tuple[str, str]] = Counter()
        self.failures: dict[tuple[str, str], list[Any]] = {}
        self.seconds = 0.0
        self._done = dict.fromkeys(names, 0)

    def run(self, seconds: float, tell: Callable[[float], Any] = lambda took: None) -> None:
        """Run inputs for so many seconds; ``tell`` is called with the seconds of each.

        Raises:
            RuntimeError: a target's real inputs are not accepted.
        """
        os.environ.update(SETTINGS)
        with tempfile.TemporaryDirectory(prefix="coterie-fuzz-") as folder:
            while self.seconds < seconds:
                self._one_process(Path(folder), seconds, tell)

    def _one_process(self, folder: Path, seconds: float, tell: Callable[[float], Any]) -> None:
        """Run inputs in one process until the time is over or it dies."""
        (folder / "said").write_text("")
        pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        process = context.Process(
            target=_work, args=(theirs, folder, self.known, self.seed, self.timeout, self._done), daemon=True
        )
        process.start()
        theirs.close()
        doing, name, last, start = "starts", "", "", time.perf_counter()
        while self.seconds < seconds:
            try:
                if not pipe.poll(SILENCE):
                    os.kill(process.pid or 0, signal.SIGPROF)
                    break
                doing, name, *told = pipe.recv()
            except (EOFError, ConnectionResetError):
                break
            if doing == "unprepared":
                raise RuntimeError(f"A real input of {name} was not accepted, at {told[0]}.\n{told[1]}")
            if doing == "runs":
                last, start = name, time.perf_counter()
            if doing == "ran":
                self._note(name, *told)
                self.seconds += (took := time.perf_counter() - start)
                tell(took)
        else:
            process.kill()
            process.join()
            return
        process.join(30)
        if doing != "runs" and not last:
            raise RuntimeError(f"The process ended while it prepared {name}:\n{(folder / 'said').read_text()[-2000:]}")
        # If it died later than in an input, while it prepared the next target, an input has damaged its memory.
        self._note(last, "failed", *self._died(process.exitcode or 0, folder), (folder / "input").read_bytes())
        self.seconds += (took := time.perf_counter() - start)
        tell(took)

    def _died(self, code: int, folder: Path) -> tuple[str, str]:
        """Place and message of a process that hung or died; its trace says where."""
        trace = (folder / "trace").read_text(errors="replace")
        found = re.search(rf'File "{re.escape(str(PACKAGE))}/((?!benchmarks/fuzz)[^"]+)", line (\d+)', trace)
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        how = "hangs" if how == "SIGPROF" else how
        return f"{found[1]}:{found[2]} {how}" if found else f"outside {how}", (folder / "said").read_text()[-300:]

    def _note(self, name: str, outcome: str, where: str, message: str, data: bytes) -> None:
        """Count an input; keep it if it failed and is the shortest that failed there."""
        self._done[name] += 1
        self.counts[name, outcome] += 1
        if outcome == "failed":
            self.keep.mkdir(parents=True, exist_ok=True)
            path = self.keep / f"{name}-{hashlib.sha256(where.encode()).hexdigest()[:8]}"
            known = self.failures.setdefault((name, where), [0, message, path])
            if not known[0] or len(data) < path.stat().st_size:
                path.write_bytes(data)
            known[0] += 1

    def report(self) -> str:
        """Counts by target, then the failures, each with the command that repeats it."""
        lines = [f"{'target':<40}{'inputs':>10}{'accepted':>10}{'refused':>10}{'failures':>10}"]
        for name in [*self._done, "all"]:
            by = [
                sum(n for (target, how), n in self.counts.items() if how == outcome and name in ("all", target))
                for outcome in ("accepted", "refused", "failed")
            ]
            lines.append(f"{name:<40}{sum(by):>10,}{by[0]:>10,}{by[1]:>10,}{by[2]:>10,}")
        rate = self.counts.total() / max(self.seconds, 1e-9)
        lines.append(f"seed {self.seed}, {self.seconds:.0f} s, {rate:.0f} inputs/s, {len(self.failures)} failures")
        for (name, where), (number, message, path) in sorted(self.failures.items()):
            lines.append(f"\n{name}: {where}, {number} times: {' '.join(message.split())[:200]}")
            lines.append(f"    python -m coterie.benchmarks.fuzz --repeat {path}")
        return "\n".join(lines)


def _repeat(path: Path) -> int:
    """Run one kept input in this process: an exception that is a failure comes out. Returns the exit code."""
    data, name, known = path.read_bytes(), path.name.rpartition("-")[0], targets()
    if name not in known:
        sys.exit(f"{path} must be called TARGET-NUMBER, with one of the targets {', '.join(known)}.")
    faulthandler.enable()
    os.environ.update(SETTINGS)
    with tempfile.TemporaryDirectory(prefix="coterie-fuzz-") as folder:
        os.chdir(folder)
        known[name].corpus()  # files that commands read
        try:
            known[name].feed(data)
            print("accepted")
        except CoterieError as error:
            print(f"refused: {type(error).__name__}: {error}")
    return 0


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m coterie.benchmarks.fuzz",
        description=__doc__,
        epilog="groups of targets:\n" + "\n".join(f"  {name:<12}{told}" for name, told in GROUPS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="time for inputs, without preparing (1)")
    parser.add_argument("--seed", type=int, help="the same seed makes the same inputs (a new one each time)")
    parser.add_argument("--targets", nargs="+", metavar="NAME", help="groups, targets or parts of their names (all)")
    parser.add_argument("--timeout", type=float, default=20.0, help="processor seconds for one input (20)")
    parser.add_argument("--keep", type=Path, default=Path("runs/fuzz"), help="folder for inputs that fail (runs/fuzz)")
    parser.add_argument("--repeat", type=Path, metavar="FILE", help="run one kept input again and show its traceback")
    asked = parser.parse_args(argv)
    if asked.repeat:
        return _repeat(asked.repeat.resolve())
    known = targets()
    names = [
        name
        for name, target in known.items()
        if not asked.targets or any(word == target.group or word in name for word in asked.targets)
    ]
    if not names:
        parser.error(f"no target is called {' '.join(asked.targets)}; there are {', '.join(known)}")
    seed = secrets.randbits(32) if asked.seed is None else asked.seed
    fuzzing = Fuzzing(names, seed, asked.keep.resolve(), asked.timeout)
    print(f"seed {seed}", flush=True)
    with tqdm(total=60 * asked.minutes, bar_format="{l_bar}{bar}| {n:.0f} of {total:.0f} s{postfix}") as bar:

        def tell(took: float) -> None:
            bar.set_postfix_str(f"{len(fuzzing.failures)} failures", refresh=False)
            bar.update(min(took, bar.total - bar.n))

        fuzzing.run(60 * asked.minutes, tell)
    print(fuzzing.report())
    return 1 if fuzzing.failures else 0


if __name__ == "__main__":
    sys.exit(main())
