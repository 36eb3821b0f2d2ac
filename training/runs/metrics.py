"""metrics.jsonl of a run: one JSON object an update, appended, and read line by line.

A run may be long: what was read is not read again. The file's own process knows how far it is; another one starts anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...envs.atomic import write_atomically
from ...envs.reading import lines_of, parsed
from ...errors import RunError

__all__ = ["Metrics"]

_WAY_OUT = "Restore it, or remove it, which loses the run's curves and its time so far."


class Metrics:
    """The lines of one run's metrics.

    Args:
        path: of metrics.jsonl; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._forget()

    def _forget(self) -> None:
        """Nothing of the file is known."""
        self._bytes, self._lines, self._last, self._looked = 0, 0, -1, list[dict[str, Any]]()
        self._sum = hashlib.sha256()

    def append(self, row: Mapping[str, Any]) -> None:
        """Append one line.

        Raises:
            RunError: the disk is full or the folder is gone.
        """
        with self._written(), self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def rows(self) -> list[dict[str, Any]]:
        """All complete lines.

        Raises:
            RunError: the file can't be read, or holds something else.
        """
        return [row for _, row in self._from(0, 0)]

    def looked(self) -> list[dict[str, Any]]:
        """The rows of the last evaluation; raises as ``rows``."""
        self._catch_up()
        return self._looked

    def sum(self, update: int) -> str:
        """SHA-256 of the lines before ``update``; raises as ``rows``."""
        self._catch_up()
        if self._last < update:
            return self._sum.hexdigest()
        lines = (json.dumps(row) for row in self.rows() if row["update"] < update)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def cut(self, update: int) -> None:
        """Remove the lines from ``update`` on, which the run will write again.

        Raises:
            RunError: the file can't be read or written.
        """
        rows = [row for row in self.rows() if row["update"] < update]
        self._forget()
        with self._written():
            write_atomically(self.path, "".join(json.dumps(row) + "\n" for row in rows))

    def _catch_up(self) -> None:
        """Read what was appended since."""
        for at, row in self._from(self._bytes, self._lines):
            self._sum.update(("\n" * (self._lines > 0) + json.dumps(row)).encode())
            self._bytes, self._lines, self._last = at, self._lines + 1, max(self._last, row["update"])
            self._looked = row.get("eval", self._looked)

    def _from(self, at: int, number: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(bytes up to its end, row) of each line from byte ``at`` on; ``number`` lines are before."""
        lines = lines_of(self.path, at) if self.path.exists() else iter(())
        torn = False
        try:
            for line in lines:
                text = line.decode()
                if torn:
                    raise self._damaged(number)
                number, at = number + 1, at + len(line)
                try:
                    row = parsed(text)
                except ValueError:
                    torn = True  # killed while writing it, if it is the last one
                    continue
                if not isinstance(row, dict) or not _is_row(row):
                    raise self._damaged(number)
                yield at, row
        except (OSError, ValueError) as error:
            raise RunError(f"{self.path} can't be read: {error}. {_WAY_OUT}") from None

    def _damaged(self, number: int) -> RunError:
        return RunError(f"{self.path} is damaged: line {number} is not a line of metrics. {_WAY_OUT}")

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"metrics.jsonl in {self.path.parent} can't be written: {error.strerror}.") from None


def _is_row(row: Mapping[str, Any]) -> bool:
    """Whether a line of metrics.jsonl has what its readers need: numbers of update and seconds, rows of evaluations."""
    looked = [row.get(name, []) for name in ("eval", "before")]
    return (
        all(isinstance(rows, list) and all(isinstance(e, dict) for e in rows) for rows in looked)
        and type(row.get("update")) is int
        and 0 <= row["update"] < 2**53
        and type(row.get("elapsed")) in (int, float)
        and 0 <= row["elapsed"] < 1e12
        and isinstance(row.get("players", {}), dict)
    )
