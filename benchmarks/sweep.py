"""The command line of benchmarks that compare kinds of learning over seeds; runs in the results are not repeated."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..errors import CoterieError

__all__ = ["Parser", "save_picture", "sweep"]


class Parser(argparse.ArgumentParser):
    """Says what it refuses in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Leave with code 2."""
        self.exit(2, f"{self.prog}: {message.rstrip('.')}.\n")


def sweep(
    argv: Sequence[str] | None,
    *,
    name: str,
    about: str | None,
    kind: str,
    kinds: Sequence[str],
    train: Callable[..., Iterator[dict[str, Any]]],
    draw: Callable[[Sequence[dict[str, Any]], Path], None],
    seeds: Sequence[int],
    updates: int,
    games: int,
    group: int,
    marks: Mapping[str, Any] | None = None,
) -> None:
    """Run ``python -m coterie.benchmarks.NAME``.

    Args:
        argv: its words; None: this process's.
        name: of the module.
        about: the help text.
        kind: what differs between runs, a key of their rows: ``credit``.
        kinds: its values.
        train: (kind, seed, model=, updates=, every=, games=) -> the rows of a run.
        draw: (rows, path) writes a picture.
        seeds: by default.
        updates: by default.
        games: of an update, by default.
        group: what the games of an update must be a multiple of.
        marks: written into each row, as is the size of a run; a file of results with others is refused.
    """
    parser = Parser(
        prog=f"python -m coterie.benchmarks.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=list(seeds))
    parser.add_argument(f"--{kind}s", dest="kinds", nargs="+", choices=kinds, default=list(kinds))
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--updates", type=int, default=updates)
    parser.add_argument("--every", type=int, default=5, help="updates between two measurements")
    parser.add_argument("--games", type=int, default=games, help=f"of an update; a multiple of {group}")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, default=Path(f"{name}.jsonl"), help="read and added to")
    parser.add_argument("--picture", type=Path, help="write a picture of all results (PNG)")
    asked = parser.parse_args(argv)
    if asked.games < group or asked.games % group:
        parser.error(f"--games is {asked.games}: it must be a multiple of {group}")
    for count in ("updates", "every", "threads"):
        if getattr(asked, count) < 1:
            parser.error(f"--{count} is {getattr(asked, count)}: it must be at least 1")
    for path in (asked.results, asked.picture):
        if path and (path.is_dir() or not path.parent.is_dir()):
            parser.error(f"{path} cannot be written: name a file in a folder that exists")
    marks = {**(marks or {}), "run": f"{asked.updates} updates of {asked.games} games"}
    try:
        rows = [json.loads(line) for line in asked.results.read_text().splitlines()] if asked.results.exists() else []
        known = {(row[kind], row["seed"]) for row in rows}
        others = {name: row[name] for row in rows for name in marks if row.get(name, marks[name]) != marks[name]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        parser.error(f"{asked.results} does not hold results of this benchmark: name another file with --results")
    if others:
        told = " and ".join(f"{name}: {value}" for name, value in others.items())
        parser.error(f"{asked.results} holds other results ({told}): name another file with --results")
    import torch

    torch.set_num_threads(asked.threads)
    sizes = {"model": asked.model, "updates": asked.updates, "every": asked.every, "games": asked.games}
    for seed in asked.seeds:
        for one in asked.kinds:
            if (one, seed) in known:
                continue
            run = []
            try:
                for row in train(one, seed, **sizes):
                    run.append({**marks, **row})
                    print(json.dumps(run[-1]), flush=True)
            except CoterieError as error:
                parser.error(str(error))
            with asked.results.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in run)
            rows += run
    if asked.picture:
        draw(rows, asked.picture)


def save_picture(figure: Any, path: Path) -> None:
    """Write a matplotlib figure as a small PNG."""
    from matplotlib import pyplot as plt
    from PIL import Image

    figure.savefig(path, dpi=65)
    plt.close(figure)
    Image.open(path).quantize(48).save(path, optimize=True)
