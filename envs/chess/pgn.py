"""Reads and writes games of chess as PGN.

    for game in iter_pgn("games.pgn"):        # lazily: one game in memory at a time
        print(game.headers["White"], game.moves[:4], game.result)
    text = write_pgn(game)                    # what other programs read

Reading handles several games in a file, headers, SetUp and FEN, comments ``{}`` and ``;``, glyphs, results, ``%`` lines
and variations (their tokens are checked, their moves are not played). Every move of the game itself is played, so an
impossible one is found. Writing puts the seven tags first, moves in SAN with ``+`` and ``#``, in lines of at most 80
characters.

Left out: reading drops variations, and refuses variants of chess by name.

Source: Edwards, "Standard: Portable Game Notation Specification and Implementation Guide" (1994).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...aliases import TERMINATED
from ...errors import ActionError, NotationError, UsageError
from ..core import GameRecord, Written
from .fen import START
from .line import Line
from .pattern import is_move
from .pgn_tokens import NAME, Word, words

__all__ = ["PGNGame", "iter_pgn", "read_pgn", "record_to_pgn", "write_pgn", "written"]

ROSTER = {"Event": "?", "Site": "?", "Date": "????.??.??", "Round": "?", "White": "?", "Black": "?", "Result": "*"}
"""The seven tags of every game, in order, with their values if unknown."""

WIDTH = 80
"""The longest line written, in characters."""

_RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
_SUFFIXES = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6}
_STANDARD = ("", "standard", "chess", "normal", "from position")


@dataclass
class PGNGame:
    """One game.

    Attributes:
        headers: tag -> value, in the file's order. ``Result`` and ``FEN`` follow from ``result`` and ``fen`` when the
            game is written.
        moves: in UCI, from ``fen`` on.
        result: ``1-0``, ``0-1``, ``1/2-1/2`` or ``*``.
        fen: the position the game began from.
        comments: number of moves played -> the comment there (0: before the first).
        glyphs: number of moves played -> numeric annotation glyphs of the last of them (``$1`` is 1).
    """

    headers: dict[str, str] = field(default_factory=dict)
    moves: list[str] = field(default_factory=list)
    result: str = "*"
    fen: str = START
    comments: dict[int, str] = field(default_factory=dict)
    glyphs: dict[int, list[int]] = field(default_factory=dict)


def read_pgn(source: str | bytes | Path | Iterable[str] | Iterable[bytes]) -> list[PGNGame]:
    """All games of a text or file; ``iter_pgn`` takes the same sources and reads lazily.

    Raises:
        NotationError: as ``iter_pgn``; ``read`` lists all games before the fault, the unfinished one last.
    """
    games: list[PGNGame] = []
    try:
        for game in iter_pgn(source):
            games.append(game)
    except NotationError as error:
        error.read = [*games, *(error.read if isinstance(error.read, list) else ())]
        raise
    return games


def iter_pgn(source: str | bytes | Path | Iterable[str] | Iterable[bytes]) -> Iterator[PGNGame]:
    """The games of a text or file, one by one.

    Args:
        source: the text itself or its bytes, or a file: a Path, a name that ends in ``.pgn``, or an iterable of lines.
            Files and bytes are UTF-8; lines that aren't are read as Latin-1, as in old files.

    Raises:
        NotationError: something that cannot be read or a move that cannot be played. The message names game, line,
            column and token; ``at`` is the offset in characters, ``read`` a list with the game up to there.
        UsageError: the file cannot be opened, or the source is neither a text nor lines.
    """
    reader = _Reader()
    try:
        for word in words(_lines(source)):
            yield from reader.take(word)
        yield from reader.end()
    except NotationError as error:
        unfinished = [reader.so_far()] if reader.anything() else []
        raise NotationError(f"Game {reader.number}, {error}", at=error.at, read=unfinished) from error


def _lines(source: object) -> Iterable[str]:
    """The lines of a source, with their line ends unchanged."""
    if isinstance(source, str) and not (source.endswith(".pgn") and "\n" not in source):
        return io.StringIO(source, newline="")
    if isinstance(source, str | Path):
        return _file_lines(Path(source))
    if isinstance(source, bytes | bytearray):
        return _decoded(io.BytesIO(source))
    if isinstance(source, Iterable):
        return _decoded(source)
    raise UsageError(f"Games are PGN text, its bytes, the path of a file or lines, not {source!r}.")


def _file_lines(path: Path) -> Iterator[str]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be opened: {error.strerror}.") from error
    with file:
        yield from _decoded(file)


def _decoded(lines: Iterable[object]) -> Iterator[str]:
    """Lines as texts, from texts or bytes."""
    for line in lines:
        if isinstance(line, str):
            yield line
        elif isinstance(line, bytes):
            try:
                yield line.decode()
            except UnicodeDecodeError:
                yield line.decode("latin-1")
        else:
            raise UsageError(f"A line of PGN is a text or bytes, not {line!r}.")


class _Reader:
    """Builds games from tokens."""

    def __init__(self) -> None:
        self.number = 0
        self._next()

    def _next(self) -> None:
        self.number += 1
        self.game = PGNGame()
        self.said: dict[int, list[str]] = {}  # comments by the number of moves played
        self.begun = False  # tags are over, the moves have begun
        self.open: list[Word] = []  # variations that are not closed yet
        self.line: Line | None = None

    def take(self, word: Word) -> Iterator[PGNGame]:
        """Take one more token; yields the game that it ends, if any."""
        if word.kind == "tag":
            if self.begun or (word.text == "Event" and "Event" in self.game.headers):
                yield from self.end()
            self._tag(word)
        elif word.kind == "open":
            if not self.game.moves:
                raise _fault(word, "'(' begins a variation, which comes after the move it replaces; there is none yet.")
            self.open.append(word)
        elif word.kind == "close":
            if not self.open:
                raise _fault(word, "')' ends a variation, and no variation is open here.")
            self.open.pop()
        elif self.open:
            if word.kind == "move" and not is_move(word.text):
                raise _fault(word, f"{word.text!r} in a variation is not a move.")
        elif word.kind == "result":
            if self.number > 1 and not self.anything():
                raise _fault(word, f"{word.text!r} is a second result: the game before it has ended already.")
            self.game.result = _RESULT_AS_READ.get(word.text, word.text)
            yield self._finish()
        else:
            self._in_game(word)

    def end(self) -> Iterator[PGNGame]:
        """End a game without a result token, at the end of the text or the next game's first tag."""
        if self.open:
            raise _fault(self.open[-1], "the variation that '(' begins here has no end. Close it with ).")
        if self.anything():
            yield self._finish()
        self.begun = False

    def anything(self) -> bool:
        """Whether there is a game; numbers, glyphs and comments alone are not one."""
        return bool(self.game.moves or self.game.headers)

    def so_far(self) -> PGNGame:
        """The game as read, with its comments."""
        self.game.comments = {played: " ".join(texts) for played, texts in self.said.items()}
        return self.game

    def _finish(self) -> PGNGame:
        game = self.so_far()
        told = game.headers.get("Result", "*")
        if game.result == "*" and told in _RESULTS:
            game.result = told
        self._next()
        return game

    def _tag(self, word: Word) -> None:
        self.game.headers[word.text] = word.value
        if word.text == "FEN":
            try:
                self.line = Line(word.value)
            except NotationError as error:
                raise _fault(word, str(error)) from error
            self.game.fen = self.line.fen()
        elif word.text == "Variant" and word.value.lower() not in _STANDARD:
            raise _fault(word, f"the Variant {word.value!r} is not played here, only standard chess.")

    def _in_game(self, word: Word) -> None:
        """A move, a comment, a glyph or a number of the game itself."""
        game = self.game
        played = len(game.moves)
        if word.kind == "comment":
            if word.text:
                self.said.setdefault(played, []).append(word.text)
            self.begun = self.begun or bool(game.headers)
            return
        self.begun = True
        if word.kind == "glyph":
            number = _SUFFIXES.get(word.text) or (int(word.text[1:]) if word.text[0] == "$" else 0)
            game.glyphs.setdefault(played, []).append(number)
        elif word.kind == "move" and word.text.lower() not in _EN_PASSANT:
            self.line = self.line or Line()
            try:
                game.moves.append(self.line.play(word.text))
            except ActionError as error:
                raise _fault(word, str(error)) from error


_EN_PASSANT = ("e.p.", "e.p", "ep")
_RESULT_AS_READ = {"½-½": "1/2-1/2"}


def _fault(word: Word, why: str) -> NotationError:
    return NotationError(f"line {word.line}, column {word.column}: {why}", at=word.at)


def write_pgn(game: PGNGame) -> str:
    """One game as PGN with an empty line at its end: texts of several games can be joined to a file.

    Braces in comments become parentheses, since PGN cannot write them; line ends and other unprintable characters
    become spaces.

    Raises:
        UsageError: an unknown result, an invalid tag name, or a comment or glyph after a move that is not there.
        NotationError: ``fen`` cannot be read.
        ActionError: a move cannot be played.
    """
    if game.result not in _RESULTS:
        raise UsageError(f"The result {game.result!r} is none of {', '.join(_RESULTS)}.")
    for places in (game.comments, game.glyphs):
        wrong = [k for k in places if not 0 <= k <= len(game.moves)]
        if wrong:
            raise UsageError(
                f"A comment or glyph comes after move {wrong[0]} of a game of {len(game.moves)} half-moves."
            )
    line = Line(game.fen)
    headers = ROSTER | game.headers | {"Result": game.result}
    headers = {name: value for name, value in headers.items() if name not in ("SetUp", "FEN")}
    if line.fen() != START:
        headers |= {"SetUp": "1", "FEN": line.fen()}
    tags = [_tag_text(name, value) for name, value in headers.items()]
    return "\n".join([*tags, "", *_wrapped([*_move_words(game, line), game.result]), "", ""])


def _tag_text(name: str, value: str) -> str:
    if not re.fullmatch(NAME, name):
        raise UsageError(f"{name!r} cannot name a tag: letters, digits and _ are allowed.")
    value = _printable(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'[{name} "{value}"]'


def _printable(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _move_words(game: PGNGame, line: Line) -> Iterator[str]:
    """Numbers, moves, glyphs and comments, word by word."""
    yield from _comment_words(game.comments.get(0, ""))
    fresh = True  # black's move needs its number if it doesn't directly follow white's
    for played, uci in enumerate(game.moves, 1):
        if line.white:
            yield f"{line.number}."
        elif fresh:
            yield f"{line.number}..."
        yield line.write(uci)
        for glyph in game.glyphs.get(played, []):
            yield f"${glyph}"
        comment = list(_comment_words(game.comments.get(played, "")))
        yield from comment
        fresh = bool(comment)


def _comment_words(text: str) -> Iterator[str]:
    said = _printable(text.replace("{", "(").replace("}", ")")).split()
    if said:
        yield from ("{", *said, "}")


def _wrapped(parts: Iterable[str]) -> Iterator[str]:
    """Lines of at most WIDTH characters. None begins with ``%``, which would hide it from readers."""
    line = ""
    for part in parts:
        word = part
        while word:
            if line and len(line) + 1 + len(word) <= WIDTH:
                line, word = f"{line} {word}", ""
                continue
            if line:
                yield line
            start = " " if word[0] == "%" else ""
            line, word = start + word[: WIDTH - 1], word[WIDTH - 1 :]
    yield line


def record_to_pgn(record: GameRecord) -> str:
    """A played game as PGN: the writer of ``Game.formats``.

    White is seat 0. A player that answered illegally lost by "rules infraction", one whose time ran out by "time
    forfeit"; an unfinished or truncated game has no result. The comment on a turn comes after its move, and begins with
    the time that was left, as ``[%clk 0:04:59]``.
    """
    line = Line(record.start["position"][0])
    game = PGNGame(fen=line.fen(), result=_result(record))
    game.headers = dict(zip(("White", "Black"), record.players, strict=True))
    for actions in record.actions:
        game.moves.append(line.act(actions[0 if line.white else 1]))
    game.comments = {min(turn + 1, len(game.moves)): text for turn, text in record.comments.items()}
    if record.clock is not None:
        added = f"+{record.clock.increment}" if record.clock.increment else ""
        game.headers["TimeControl"] = f"{record.clock.base}{added}"
        for played, seconds in enumerate(map(int, record.clock.left[: len(game.moves)]), 1):
            said = f"[%clk {seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}]"
            game.comments[played] = f"{said} {game.comments.get(played, '')}".strip()
    game.headers["Termination"] = _termination(record)
    return write_pgn(game)


def written(text: str) -> Iterator[Written]:
    """The games of a PGN text: the reader ``Game.reads``."""
    ended = {"1-0": (1.0, -1.0), "0-1": (-1.0, 1.0), "1/2-1/2": (0.0, 0.0)}
    for found in iter_pgn(text.encode()):
        names = (found.headers.get("White", "?"), found.headers.get("Black", "?"))
        comments = {max(0, number - 1): words for number, words in found.comments.items()}
        moves = [(None, move) for move in found.moves]
        start = {} if found.fen == START else {"fen": found.fen}
        yield Written({}, start, moves, names, comments, ended.get(found.result))


def _result(record: GameRecord) -> str:
    white, black = record.returns
    if record.illegal is not None:
        return "0-1" if record.illegal == 0 else "1-0"
    if record.status != TERMINATED:
        return "*"
    return "1-0" if white > black else "0-1" if black > white else "1/2-1/2"


def _termination(record: GameRecord) -> str:
    if record.illegal is not None:
        return "rules infraction"
    if record.clock is not None and record.clock.flagged is not None:
        return "time forfeit"
    return "normal" if record.status == TERMINATED else "unterminated"
