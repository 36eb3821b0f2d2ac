"""Positions to start from: reads them, samples some for each update, and holds some out to evaluate with.

A curriculum is a name that the game knows (``Game.curricula``) or the user's own files. A file holds one position per
line, in the format of one of the game's reset options (chess: FENs); ``#`` begins a comment, ``.gz`` is unpacked.

Letters: M positions of a file, G groups of an update.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import plain
from ...envs.core import Game
from ...envs.reading import read_bytes, unzipped
from ...errors import CoterieError, UnknownName, UsageError, did_you_mean

__all__ = ["Positions", "Source", "find_curriculum", "read_positions"]

POSITIONS = 50_000
"""Most positions in a file: a state takes more memory than its line. ``COTERIE_LIMITS`` raises it."""


@dataclass(frozen=True)
class Source:
    """Where a curriculum's positions come from.

    Attributes:
        name: its name in tables and goals.
        option: the reset option that reads a line.
        train: file to learn from.
        test: file to evaluate with, or None.
        max_plies: as in ``envs.core.Curriculum``.
    """

    name: str
    option: str
    train: Path
    test: Path | None
    max_plies: int = 0


def find_curriculum(game: Game, text: str) -> Source:
    """Parse ``--curriculum``: a name in ``game.curricula``, or ``[OPTION=]FILE[,HELD_OUT_FILE]``.

    Raises:
        UnknownName: neither a known curriculum nor a file.
        UsageError: a game that can't start from positions, an option it doesn't have, a file that doesn't exist.
    """
    known = game.curricula.get(text)
    if known is not None:
        return Source(text, known.option, known.train, known.test, known.max_plies)
    if not game.options:
        raise UsageError(f"{game.info.id} always starts from its beginning: it has no curricula. Remove --curriculum.")
    option, files = _split(text)
    paths = [Path(name.strip()) for name in files.split(",")]
    if not option and not any(mark in files for mark in "/\\.,") and not paths[0].is_file():
        if not game.curricula:
            ways = ", ".join(f"{name}=FILE" for name in game.options)
            raise UsageError(f"{game.info.id} has no named curricula, so no {text!r}; name a file: {ways}.")
        raise UnknownName(f"curriculum of {game.info.id}", text, game.curricula)
    if not option:
        if len(game.options) > 1:
            ways = " or ".join(f"{name}={files}" for name in game.options)
            raise UsageError(f"Say what the lines of {paths[0]} hold: --curriculum {ways}.")
        option = next(iter(game.options))
    if option not in game.options:
        hint = did_you_mean(option, list(game.options))
        raise UsageError(
            f"{game.info.id} has no reset option {option!r}.{hint} Its options: {', '.join(game.options)}; "
            "write a curriculum as OPTION=FILE."
        )
    if len(paths) > 2:
        raise UsageError(f"{text!r} names {len(paths)} files; a curriculum has one to learn from and one held out.")
    for path in paths:
        if not path.is_file():
            raise UsageError(f"There is no file {path} with positions of {game.info.id}.")
    return Source(paths[0].name.split(".")[0], option, paths[0], paths[1] if len(paths) == 2 else None)


def _split(text: str) -> tuple[str, str]:
    """``fen=a.txt`` -> (``fen``, ``a.txt``); a path that contains ``=`` is not split."""
    option, equals, files = text.partition("=")
    return (option, files) if equals and option.isidentifier() else ("", text)


@dataclass
class Positions:
    """M positions, parsed.

    Attributes:
        source: where they come from.
        states: M rows.
        movers: [M] the seat to move; -1 in simultaneous games.
    """

    source: Source
    states: Any
    movers: NDArray[np.int64]
    _order: dict[int, NDArray[np.int64]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.movers)

    def draw(self, update: int, groups: int, seed: int) -> NDArray[np.int64]:
        """[G] indices of an update's positions: updates go through all M in random order, then again in a new order.

        They depend on ``seed`` and the update's number alone, so a resumed run gets the same ones.
        """
        places = update * groups + np.arange(groups)
        out = np.empty(groups, np.int64)
        for turn in np.unique(places // len(self)).tolist():
            if turn not in self._order:
                self._order = {k: v for k, v in self._order.items() if k == turn - 1}
                self._order[turn] = np.random.default_rng([seed, 0x9051, turn]).permutation(len(self))
            here = places // len(self) == turn
            out[here] = self._order[turn][places[here] % len(self)]
        return out


def read_positions(game: Game, source: Source, path: Path, limit: int = 0) -> Positions:
    """Read one of a source's files: at most ``limit`` positions, evenly spaced over the file (0: all).

    Raises:
        UsageError: the file can't be read or is empty, or a line isn't a position with a legal move; names the line.
    """
    lines = _lines(path)
    if limit < 0:
        raise UsageError(f"limit is {limit}: set the most positions to read, or 0 for all of them.")
    if len(lines) > plain.limit(POSITIONS):
        raise UsageError(
            f"{path} holds {len(lines):,} positions, more than {plain.limit(POSITIONS):,}; if you trust it, set "
            f"COTERIE_LIMITS=10 to allow ten times as many."
        )
    if not lines:
        raise UsageError(f"{path} holds no positions; write one per line.")
    if 0 < limit < len(lines):
        lines = [lines[k] for k in np.linspace(0, len(lines) - 1, limit).astype(int).tolist()]
    read = game.options[source.option]
    states = game.new_state(len(lines))
    movers = np.full(len(lines), -1, np.int64)
    seats = range(game.info.players)
    for i, (number, line) in enumerate(lines):
        game.kernels.reset(states, i, np.uint64(i))
        try:
            read(states, i, line)
        except CoterieError as error:
            raise UsageError(f"{path}, line {number}: {error}") from None
        if not game.info.simultaneous:
            movers[i] = game.mover(states, i)
        asked = seats if game.info.simultaneous else [int(movers[i])]
        if not any(game.legal_mask(states, i, player).any() for player in asked):
            raise UsageError(f"{path}, line {number}: the game is already over, no player can move: {line}")
    return Positions(source, states, movers)


def _lines(path: Path) -> list[tuple[int, str]]:
    """(number, text) of every line that is not empty after comments are removed."""
    try:
        raw = unzipped(path) if path.suffix == ".gz" else read_bytes(path)
        texts = raw.decode().splitlines()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"The positions in {path} can't be read: {reason}.") from None
    found = ((number, text.partition("#")[0].strip()) for number, text in enumerate(texts, 1))
    return [(number, text) for number, text in found if text]
