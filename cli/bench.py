"""``coterie bench``: measure speed on this machine."""

from __future__ import annotations

import json

from .. import benchmarks
from .arguments import Bench, parse

__all__ = ["run"]


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        UnknownName: no such room.
    """
    asked: Bench = parse(Bench, "bench", words)
    for measured in benchmarks.measurements(asked.room):
        print(json.dumps(measured.as_dict()) if asked.json else measured, flush=True)
    return 0
