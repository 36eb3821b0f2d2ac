"""Read game records in SGF (FF[4], GM[1]); ``record`` writes them and starts games from them.

``read_sgf`` reads the main line of a record, which always takes the first branch; it counts and skips other variations.
It also reads older formats (FF[1] to FF[3]). Stones may be set up before the first move, but not between moves.

This is a separate reader because errors must give their position and keep the moves before it; the tests compare reader
and writer with sgfmill. Source: "SGF File Format FF[4]", https://www.red-bean.com/sgf/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ...aliases import Action, Player
from ...errors import NotationError, UsageError
from ..reading import read_bytes
from .position import breathless, point
from .rules import MAX_SIZE, MIN_SIZE

__all__ = ["SgfGame", "SgfMove", "read_sgf"]


@dataclass(frozen=True)
class SgfMove:
    """A move of a record.

    Attributes:
        player: 0 black, 1 white.
        action: the action number of the point or pass.
        comment: the comment on the move.
        at: its offset in the text, in characters; None if it was not read from a text.
    """

    player: Player
    action: Action
    comment: str = ""
    at: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SgfGame:
    """A game record of Go.

    Attributes:
        size: points along a side.
        komi: points for white; None if the record has no komi.
        handicap: the number of handicap stones (HA); their points are in ``black``.
        players: the names of black and white.
        result: the result as recorded: ``"B+3.5"``, ``"W+R"``, ``"0"``, ``""``.
        rules: the name of the rules.
        black, white: the stones before the first move, as actions.
        to_move: the side to move at the start.
        moves: the moves of the main line.
        comment: the comment on the whole game.
        others: the root's other properties, e.g. ``{"DT": "2026-01-01"}``.
        variations: the number of variations that were skipped.
    """

    size: int = 19
    komi: float | None = None
    handicap: int = 0
    players: tuple[str, str] = ("", "")
    result: str = ""
    rules: str = ""
    black: tuple[Action, ...] = ()
    white: tuple[Action, ...] = ()
    to_move: Player = 0
    moves: tuple[SgfMove, ...] = ()
    comment: str = ""
    others: Mapping[str, str] = field(default_factory=dict)
    variations: int = 0


# -- reading -----------------------------------------------------------------------------------------------------------


class _Property(NamedTuple):
    """An identifier, its values with their offsets, and its offset."""

    name: str
    values: list[tuple[str, int]]
    at: int


_IDENT = re.compile(r"[A-Za-z]+")
_SPACE = re.compile(r"\s*")
_VALUE = re.compile(r"\[((?:[^\]\\]|\\.)*)\]", re.DOTALL)
_ENCODING = re.compile(rb"CA\s*\[\s*([\w.:-]+)\s*\]")
_ROOT = ("AP", "CA", "FF", "GM", "ST")  # of the file, not of the game
_COLORS = {"B": 0, "W": 1}


def read_sgf(source: str | bytes | Path) -> SgfGame:
    """The main line of the first game in an SGF text or file.

    Args:
        source: the text (with ``"(;"`` in it), its bytes, or the path of a file.

    Raises:
        NotationError: ``at`` is the offset of the fault (in characters), ``read`` is the SgfGame before it.
        UsageError: another kind of source, or a file that cannot be read.
    """
    text = _text_of(source)
    reader = _Reader(text)
    try:
        reader.run()
    except NotationError as error:
        line = text.count("\n", 0, error.at or 0) + 1
        message = f"{error} (line {line}, character {error.at} of the record)"
        raise NotationError(message, error.at, reader.read) from None
    return reader.read


def _text_of(source: str | bytes | Path) -> str:
    if isinstance(source, str) and ("(" in source or not source.strip()):
        return source
    if not isinstance(source, bytes | bytearray | str | Path):
        raise UsageError(f"A record is SGF text or the path of a file, not {type(source).__name__}.")
    if isinstance(source, bytes | bytearray):
        data = bytes(source)
    else:
        try:
            data = read_bytes(source)
        except OSError as error:
            raise UsageError(
                f"{str(source)!r} is neither SGF text, which begins with '(;', nor a readable file: {error}."
            ) from None
    named = _ENCODING.search(data)
    for encoding in ([named[1].decode()] if named else []) + ["utf-8-sig"]:
        try:
            return data.decode(encoding)
        except (LookupError, UnicodeError):
            continue
    return data.decode("latin-1")  # the standard's default, which can decode anything


class _Reader:
    """Reads the text once from start to end; ``read`` is the game read so far."""

    def __init__(self, text: str) -> None:
        self.text, self.game = text, SgfGame()
        self.moves: list[SgfMove] = []
        self.said: list[list[str]] = [[]]  # comments on the whole game, then on each move
        self.variations = 0
        self.named = False  # a colour to move was given
        self.started = False  # the first move, or one with its node, has been read
        self.nodes = 0
        self.set_up_at = 0  # offset of the last property that set up stones

    @property
    def read(self) -> SgfGame:
        words = ["\n".join(parts).strip() if len(parts) > 1 else "".join(parts) for parts in self.said]
        moves = (replace(move, comment=text) for move, text in zip(self.moves, words[1:], strict=True))
        return replace(self.game, comment=words[0], moves=tuple(moves), variations=self.variations)

    def run(self) -> None:
        for properties in self._main_line():
            if self.nodes == 0:
                self._root(properties)
            self._node(properties)
            self.nodes += 1
        if not self.started:
            self._check_start()

    # -- syntax

    def _main_line(self) -> Iterator[list[_Property]]:
        """The nodes of the main line. Brackets are counted without recursion, so any depth can be read."""
        begin = re.search(r"\(\s*;", self.text)
        if begin is None:
            raise NotationError("There is no game in this text; a game begins with '(;'", 0)
        at, depth, skipped, ended = begin.start(), 0, 0, False
        while True:
            at = self._skip(at)
            sign = self.text[at : at + 1]
            if sign == "":
                raise NotationError(f"The record is cut off: {depth + skipped} ')' are missing", at)
            if sign == "(":
                if ended and not skipped:
                    self.variations += 1
                depth, skipped = (depth, skipped + 1) if ended else (depth + 1, skipped)
                at += 1
            elif sign == ")":
                if skipped:
                    skipped -= 1
                else:
                    depth, ended = depth - 1, True
                at += 1
            elif sign == ";":
                if ended and not skipped:
                    raise NotationError("A node follows after a branch has ended; expected '(' or ')' here", at)
                properties, at = self._properties(at + 1)
                if not skipped:
                    yield properties
            else:
                raise NotationError(f"Expected one of ( ) ; here, not {sign!r}", at)
            if depth == 0:
                return

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def _properties(self, at: int) -> tuple[list[_Property], int]:
        found = []
        at = self._skip(at)
        while ident := _IDENT.match(self.text, at):
            name = "".join(c for c in ident[0] if c.isupper())  # FF[3] and older: "White" is W
            values: list[tuple[str, int]] = []
            after = self._skip(ident.end())
            while self.text[after : after + 1] == "[":
                value = _VALUE.match(self.text, after)
                if value is None:
                    raise NotationError(f"The value of {ident[0]} has no closing ']'", after)
                values.append((value[1], after + 1))
                after = self._skip(value.end())
            if not values:
                raise NotationError(f"{ident[0]} has no value; [...] must follow", after)
            found.append(_Property(name, values, at))
            at = after
        return found, at

    # -- meaning

    def _root(self, properties: list[_Property]) -> None:
        values = {p.name: (p.values[0][0].strip(), p.values[0][1]) for p in properties}
        kind, at = values.get("GM", ("1", 0))
        if kind != "1":
            raise NotationError(f"This is a record of another game: it has GM[{kind}], and Go is GM[1]", at)
        version, at = values.get("FF", ("4", 0))
        if version not in ("1", "2", "3", "4"):
            raise NotationError(f"FF[{version}] is not a known version of the format (1 to 4)", at)
        size, at = values.get("SZ", ("19", 0))
        sides = size.split(":")
        if not re.fullmatch(r"[0-9]{1,9}(:[0-9]{1,9})?", size) or len(set(sides)) != 1:
            raise NotationError(f"SZ[{size[:40]}] is not the size of a square board", at)
        if not MIN_SIZE <= int(sides[0]) <= MAX_SIZE:
            raise NotationError(f"SZ[{size}]: only boards of {MIN_SIZE} to {MAX_SIZE} points a side can be read", at)
        self.game = replace(self.game, size=int(sides[0]))
        komi, at = values.get("KM", ("", 0))
        if komi:
            try:
                self.game = replace(self.game, komi=_finite(komi))
            except ValueError:
                raise NotationError(f"KM[{komi}] is not a number of points such as 7.5", at) from None
        handicap, at = values.get("HA", ("", 0))
        if handicap:
            if not re.fullmatch(r"[0-9]{1,9}", handicap):
                raise NotationError(f"HA[{handicap[:40]}] is not a number of stones", at)
            self.game = replace(self.game, handicap=int(handicap))
        words = {p.name: _plain(p.values[0][0], simple=True) for p in properties}
        known = {"SZ", "KM", "HA", "PB", "PW", "RE", "RU", "C", "AB", "AW", "AE", "PL", "B", "W", *_ROOT}
        self.game = replace(
            self.game,
            players=(words.get("PB", ""), words.get("PW", "")),
            result=words.get("RE", ""),
            rules=words.get("RU", ""),
            others={name: text for name, text in words.items() if name not in known},
        )

    def _node(self, properties: list[_Property]) -> None:
        comment = "\n".join(_plain(text) for p in properties if p.name == "C" for text, _ in p.values)
        moved = False
        for p in properties:
            if p.name in ("AB", "AW", "AE"):
                self._stones(p)
            elif p.name == "PL":
                self._turn(p)
            elif p.name in _COLORS:
                self._move(p, "" if moved else comment)
                moved = True
        if comment and not moved:  # a node with only a comment: it goes to the move before
            self.said[-1].append(comment)

    def _stones(self, p: _Property) -> None:
        if self.moves:
            raise NotationError(
                f"{p.name} sets up stones after move {len(self.moves)}; stones can be set up only before the first "
                "move",
                p.at,
            )
        self.set_up_at = p.at
        black, white = dict.fromkeys(self.game.black), dict.fromkeys(self.game.white)
        for text, at in p.values:
            for action in self._points(text.strip(), at):
                black.pop(action, None)
                white.pop(action, None)
                if p.name != "AE":
                    (black if p.name == "AB" else white)[action] = None
        self.game = replace(self.game, black=tuple(black), white=tuple(white))
        self._infer()

    def _turn(self, p: _Property) -> None:
        text, at = p.values[0]
        player = {"B": 0, "W": 1, "1": 0, "2": 1}.get(text.strip().upper()[:1])
        if player is None:
            raise NotationError(f"PL[{text}] names no colour; it must be B or W", at)
        if self.moves:
            raise NotationError(f"PL changes the turn after move {len(self.moves)}, in the middle of the game", p.at)
        self.named = True
        self.game = replace(self.game, to_move=player)

    def _move(self, p: _Property, comment: str) -> None:
        text, at = p.values[0]
        player, size = _COLORS[p.name], self.game.size
        if not self.started:
            self._check_start()
        # "tt" is a pass on boards of up to 19 points a side.
        action = size * size if text.strip() in ("", "tt") else self._point(text.strip(), at)
        if not self.moves and not self.named:
            self.game = replace(self.game, to_move=player)
        self.moves.append(SgfMove(player, action, at=p.at))
        self.said.append([comment] if comment else [])

    def _infer(self) -> None:
        """If the record does not say who begins, white does if only black has stones."""
        if not self.named:
            self.game = replace(self.game, to_move=1 if self.game.black and not self.game.white else 0)

    def _check_start(self) -> None:
        self.started = True
        game = self.game
        stone = breathless(game.size, game.black, game.white)
        if stone is not None:
            raise NotationError(f"The chain of {point(game.size, stone)} is set up without a liberty", self.set_up_at)

    def _points(self, text: str, at: int) -> list[Action]:
        """One point, or a rectangle of them ("aa:cc")."""
        if ":" not in text:
            return [self._point(text, at)]
        first, last = (self._point(corner, at) for corner in (text[:2], text[3:]))
        size = self.game.size
        rows = sorted((first // size, last // size))
        columns = sorted((first % size, last % size))
        return [r * size + c for r in range(rows[0], rows[1] + 1) for c in range(columns[0], columns[1] + 1)]

    def _point(self, text: str, at: int) -> Action:
        size = self.game.size
        column, row = (ord(c) - ord("a") for c in (text if len(text) == 2 else "~~"))
        if not (0 <= column < size and 0 <= row < size):
            last = chr(ord("a") + size - 1)
            raise NotationError(f"[{text}] is not a point of a {size}x{size} board (aa to {last}{last})", at)
        return row * size + column


def _finite(text: str) -> float:
    number = float(text)
    if not abs(number) < 1e6:
        raise ValueError(text)
    return number


def _plain(text: str, simple: bool = False) -> str:
    """A value without its escapes; simple text becomes one line."""
    text = re.sub(r"\r\n|\n\r|\r", "\n", text)
    text = re.sub(r"\\(\n|.)", lambda m: "" if m[1] == "\n" else m[1], text, flags=re.DOTALL)
    text = re.sub(r"[^\S\n]", " ", text)
    return " ".join(text.split("\n")).strip() if simple else text
