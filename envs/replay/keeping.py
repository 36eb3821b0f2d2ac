"""Save games to files, in the format of the file's suffix."""

from __future__ import annotations

import itertools
import shlex
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ...aliases import RUNNING
from ...errors import UsageError
from ..core import Game, GameRecord
from .file import write_json

__all__ = ["JSON", "Keeper", "dated"]

JSON: Final = (".json", ".jsonl")
"""JSON lines; a file with a single game is also plain JSON."""


class Keeper:
    """Appends games to a file, in the format of its suffix; the file and its folder are created when needed.

    Args:
        path: the file; None: a new file for each game.
        game: the game.
        words: what was typed for each seat.
        known: a game that is already in the file, which is saved again only if it has been continued.
        retyped: whether these players must be typed again to continue, because a file may not name them.

    Raises:
        UsageError: a suffix in which this game cannot be written.
    """

    def __init__(
        self,
        path: Path | None,
        game: Game,
        words: Sequence[str] = (),
        known: GameRecord | None = None,
        *,
        retyped: bool = False,
    ) -> None:
        can = [*JSON, *sorted(game.formats)]
        if path is not None and path.suffix.lower() not in can:
            raise UsageError(f"{path} cannot be written: a game of {game.info.name} can be saved as {', '.join(can)}.")
        self.path, self.game, self.words = path, game, tuple(words)
        self._players = f" --players {shlex.join(words)}" if retyped else ""
        self._known = known
        self._told: set[Path] = set()

    def check(self) -> None:
        """Check that the file can be written before anything is played.

        Raises:
            UsageError: it cannot.
        """
        if self.path is not None:
            there = self.path.exists()
            _append(self.path, "")
            if not there:
                self.path.unlink()

    def keep(self, record: GameRecord, seed: int) -> None:
        """Write a game and print where; unfinished games are also saved in a format that can be resumed.

        If the file can no longer be written, the game is saved in the folder for temporary files.

        Raises:
            UsageError: that fails too.
        """
        lost = record.illegal is not None or (record.clock is not None and record.clock.flagged is not None)
        if not lost and record.actions == (self._known.actions if self._known is not None else []):
            return
        line = write_json(self.game, record, seed, self.words)
        paths = [self.path or dated(Path(), self.game.info.name, JSON[0])]
        if record.status == RUNNING and paths[0].suffix.lower() not in JSON:
            paths.append(paths[0].with_suffix(JSON[0]))
        try:
            for path in paths:
                suffix = path.suffix.lower()
                _append(path, line if suffix in JSON else self.game.formats[suffix](record))
        except UsageError as error:
            print(error)
            paths = [dated(Path(tempfile.gettempdir()), self.game.info.name, JSON[0])]
            _append(paths[0], line)
        for path in paths:
            if path not in self._told:
                print(f"Saved: {path}")
        self._told.update(paths)
        if record.status == RUNNING:
            print(f"Continue it: coterie play {self.game.info.name} --from {paths[-1]}{self._players}")


def dated(folder: Path, name: str, ending: str = "") -> Path:
    """A path that nothing has yet: ``NAME-TIME`` in a folder, or ``NAME-TIME-2`` and so on."""
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    numbers = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    return next(path for number in numbers if not (path := folder / f"{stem}{number}{ending}").exists())


def _append(path: Path, text: str) -> None:
    """Add a text to a file, after an empty line between games except in JSON lines."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        begun = path.exists() and path.stat().st_size > 0
        with path.open("a", encoding="utf-8") as file:
            if begun and text and path.suffix.lower() not in JSON:
                file.write("\n")
            file.write(text.rstrip("\n") + "\n" if text else "")
    except OSError as error:
        raise UsageError(f"Cannot write the game to {path}: {error.strerror or error}.") from error
