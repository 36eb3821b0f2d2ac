"""The curves of a run: metrics.jsonl, read as it grows, thinned for a page.

A page needs no more points than it has pixels, so each point is the mean of as many updates as it takes. The size of
the file is looked at again and again, since network file systems announce no changes. A line that cannot be read is
skipped and counted; the last one may still be incomplete.
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic_core import from_json

__all__ = ["POINTS", "Series"]

POINTS: Final = 1000
"""Most points of a curve."""

LOOKS: Final = 400
"""Most points of the curve of an evaluation."""

COLUMNS: Final = 400
"""Most curves of a run."""

LINE: Final = 2**24
"""Bytes of the longest line."""

FIGURES: Final = 100
"""Most figures of one subject of evaluations."""

HUGE: Final = 1e300
"""Numbers beyond it are drawn as missing."""


class Series:
    """All that metrics.jsonl holds, in columns.

    Args:
        path: of the file; it need not exist.

    Attributes:
        rows: lines read.
        skipped: the number of the first lines that could not be read.
        damaged: how many could not be read.
        looks: evaluations: (title, player) -> rows with ``update``, ``minutes`` and the figures.
        last: rows of the newest evaluation.
        why: why the file could not be read; ``""``: it could.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begin()

    def _begin(self) -> None:
        self.rows = self.lines = self.damaged = 0
        self.skipped: list[int] = []
        self.full, self.why = False, ""
        self.looks: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.last: dict[str, Any] = {}
        self._columns: dict[str, array[float]] = {"update": array("d"), "minutes": array("d")}
        self._at = 0
        self._inside = False  # a line that is too long
        self._known: tuple[int, int] = (0, 0)  # inode, size

    def catch_up(self) -> None:
        """Read what was appended since; a file that was cut or replaced is read anew."""
        try:
            now = os.stat(self.path)
            if now.st_ino != self._known[0] or now.st_size < self._known[1]:
                self._begin()
            if now.st_size > self._at:
                for line in self._lines():
                    self._take(line)
            self._known = now.st_ino, now.st_size
        except OSError as error:
            self._begin()
            self.why = "" if isinstance(error, FileNotFoundError) else str(error.strerror)

    def _lines(self) -> Iterator[bytes]:
        """Whole lines from where we are."""
        with self.path.open("rb") as file:
            file.seek(self._at)
            while (line := file.readline(LINE)) and (line.endswith(b"\n") or len(line) == LINE):
                self._at += len(line)
                if not self._inside:
                    yield line
                self._inside = not line.endswith(b"\n")

    def _take(self, line: bytes) -> None:
        self.lines += 1
        try:
            row = from_json(line)
            update, minutes = float(row["update"]), float(row["elapsed"]) / 60
            if not (math.isfinite(update) and math.isfinite(minutes)):
                raise ValueError("not finite")
            looked = [(e, dict(e)) for e in row.get("eval", ())]
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError):
            self.damaged += 1
            if len(self.skipped) < 5:
                self.skipped.append(self.lines)
            return
        self._put("update", update)
        self._put("minutes", minutes)
        columns, rows = self._columns, self.rows
        for name, value in row.items():  # of 100,000 lines: the common case first
            kind = type(value)
            if kind is float or kind is int:
                column = columns.get(name)
                if column is not None and len(column) == rows and -HUGE < value < HUGE:
                    column.append(value)
                elif name != "elapsed":
                    self._put(name, _number(value))
        for name, value in _nested(row):
            self._put(name, value)
        self.rows += 1
        if looked:
            self.last = {"update": update, "rows": [e for _, e in looked]}
        for _, e in looked:
            key = (_title(e), str(e.get("player", "")))
            if len(self.looks) < COLUMNS or key in self.looks:
                figures = {k: _number(v) for k, v in e.items() if isinstance(v, int | float) and type(v) is not bool}
                self.looks.setdefault(key, []).append({"update": update, "minutes": minutes, **figures})

    def _put(self, name: str, value: float) -> None:
        column = self._columns.get(name)
        if column is None:
            if len(self._columns) >= COLUMNS:
                self.full = True
                return
            column = self._columns[name] = array("d")
        if (missing := self.rows - len(column)) > 0:
            column.extend([math.nan] * missing)
        if missing >= 0:
            column.append(value)

    def stride(self) -> int:
        """How many updates one point stands for: a power of two."""
        return 1 << max(0, math.ceil(math.log2(max(1, self.rows) / POINTS)))

    def points(self, first: int = 0) -> dict[str, list[float | None]]:
        """The curves from point ``first`` on: name -> a mean per point, None where there is none."""
        stride = self.stride()
        found = {}
        for name, column in self._columns.items():
            values = np.frombuffer(column, np.float64, count=len(column))[first * stride :]
            missing = self.rows - first * stride - len(values)
            found[name] = _means(np.concatenate([values, np.full(max(0, missing), np.nan)]), stride)
        return found

    def evaluations(self) -> list[dict[str, Any]]:
        """The curves of evaluations, thinned: title, player, and columns."""
        found = []
        for (title, player), rows in self.looks.items():
            every = max(1, math.ceil(len(rows) / LOOKS))
            kept = rows[::-1][::every][::-1]  # the last one always
            names = list(dict.fromkeys(name for row in kept for name in row))[:FIGURES]
            columns = {name: [_short(row.get(name, math.nan)) for row in kept] for name in names}
            found.append({"title": title, "player": player, "columns": columns})
        return found


def _nested(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Names and numbers of a row's task, and of each learner where there are several."""
    parts: list[tuple[str, Any]] = [("task/", row["task"])] if "task" in row else []
    players = row.get("players")
    if isinstance(players, dict) and len(players) > 1:
        parts += [(f"{name}/", figures) for name, figures in players.items()]
    for prefix, figures in parts:
        if isinstance(figures, dict):
            for name, value in figures.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    yield f"{prefix}{name}", _number(value)


def _title(row: Mapping[str, Any]) -> str:
    """The subject of a row of an evaluation, whatever it holds."""
    from ..runs.curves import title

    try:
        return title(row)
    except (LookupError, TypeError):
        return "evaluation"


def _means(values: Any, stride: int) -> list[float | None]:
    """Means of each ``stride`` values, which may be missing; the last ones may be fewer."""
    whole = len(values) // stride * stride
    blocks = values[:whole].reshape(-1, stride)
    there = np.isfinite(blocks)
    counts = there.sum(1)
    sums = np.where(there, blocks, 0.0).sum(1)
    means = [float(s / c) if c else math.nan for s, c in zip(sums, counts, strict=True)]
    rest = values[whole:][np.isfinite(values[whole:])]
    if len(values) > whole:
        means.append(float(rest.mean()) if len(rest) else math.nan)
    return [_short(mean) for mean in means]


def _number(value: float) -> float:
    """A number that can be drawn, or NaN."""
    return float(value) if -HUGE < value < HUGE else math.nan


def _short(value: float) -> float | None:
    """A number for JSON, with seven digits; None if it is none."""
    return float(f"{value:.7g}") if math.isfinite(value) else None
