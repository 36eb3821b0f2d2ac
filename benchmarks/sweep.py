"""The command line of benchmarks that compare kinds of learning over seeds; runs in the results are not repeated."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["save_picture", "sweep"]


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
    """
    parser = argparse.ArgumentParser(
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
    if asked.games < group or asked.games % group or asked.every < 1:
        parser.error(f"--games is {asked.games} and --every {asked.every}: a multiple of {group}, and at least 1.")
    import torch

    torch.set_num_threads(asked.threads)
    rows = [json.loads(line) for line in asked.results.read_text().splitlines()] if asked.results.exists() else []
    known = {(row[kind], row["seed"]) for row in rows}
    sizes = {"model": asked.model, "updates": asked.updates, "every": asked.every, "games": asked.games}
    for seed in asked.seeds:
        for one in asked.kinds:
            if (one, seed) in known:
                continue
            run = []
            for row in train(one, seed, **sizes):
                run.append(row)
                print(json.dumps(row), flush=True)
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
