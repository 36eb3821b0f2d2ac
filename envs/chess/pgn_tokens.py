"""The tokens of a PGN file, in order, each with its place.

Lines are read as they are needed, so a file of any length takes no more memory than its longest comment. Tokens follow
the PGN standard's import format (tags, moves, move numbers, annotation glyphs, comments in braces and to the end of a
line, variations in parentheses, results, lines that ``%`` escapes); ``pgn.py`` checks whether they make sense.

Source: Edwards, "Standard: Portable Game Notation Specification and Implementation Guide" (1994), sections 5 to 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...errors import NotationError

__all__ = ["NAME", "Word", "words"]


class Word(NamedTuple):
    """One token of a file.

    Attributes:
        kind: tag, move, number, glyph, comment, open, close or result.
        text: the token; for a tag its name, for a comment its content.
        at: offset in characters from the beginning.
        line, column: the same place for people, from 1.
        value: a tag's value.
    """

    kind: str
    text: str
    at: int
    line: int
    column: int
    value: str = ""


NAME = r"[A-Za-z0-9_][A-Za-z0-9_+#=:-]*"
"""A tag's name."""

_WORD = re.compile(
    rf"""
      (?P<space>\s+)
    | (?P<brace>\{{)
    | (?P<rest>;.*)
    | (?P<tag>\[\s*(?P<name>{NAME})\s*"(?P<value>(?:[^"\\]|\\.)*)"\s*\])
    | (?P<glyph>\$[0-9]{{1,4}}(?![0-9])|[!?]+)
    | (?P<open>\()
    | (?P<close>\))
    | (?P<result>(?:1-0|0-1|1/2-1/2|½-½|\*)(?![\w/-]))
    | (?P<number>[0-9]+(?:\s*\.+|(?![\w./-]))|\.+)
    | (?P<move>[A-Za-z0-9@-][^\s(){{}}\[\];$!?<>]*)
    """,
    re.VERBOSE,
)
_LOOSE_TAG = re.compile(rf'\[\s*(?P<name>{NAME})\s*"(?P<value>.*)"\s*\]\s*$')
"""A tag whose value holds unescaped quotation marks: accepted at the end of a line."""

_WHAT_STANDS = {
    "[": 'a tag is written [Name "value"]',
    "}": "no comment is open here",
    "]": "no tag is open here",
    "<": "< and > are reserved",
    ">": "< and > are reserved",
}


def words(lines: Iterable[str]) -> Iterator[Word]:
    """Every token of a text that comes line by line, with its line ends.

    Raises:
        NotationError: a character that begins no token, or a comment without an end; ``at`` is its offset.
    """
    begin = 0  # offset of the line
    opened: Word | None = None
    said: list[str] = []
    for number, line in enumerate(lines, 1):
        if number == 1 and line.startswith("\ufeff"):
            begin, line = 1, line[1:]
        place = 0
        if opened is not None:
            place = line.find("}") + 1
            said.append(line[: place - 1] if place else line)
            if place:
                yield opened._replace(text=" ".join(" ".join(said).split()))
                opened = None
        elif line.startswith("%"):
            place = len(line)
        while opened is None and place < len(line):
            match = _WORD.match(line, place) or _LOOSE_TAG.match(line, place)
            if match is None:
                raise _unknown(line, begin, number, place)
            kind = match.lastgroup if match.re is _WORD else "tag"
            word = Word(str(kind), match.group(), begin + place, number, place + 1)
            place = match.end()
            if kind == "brace":
                end = line.find("}", place)
                if end < 0:
                    opened, said = word._replace(kind="comment"), [line[place:]]
                else:
                    yield word._replace(kind="comment", text=" ".join(line[place:end].split()))
                    place = end + 1
            elif kind == "rest":
                yield word._replace(kind="comment", text=" ".join(word.text[1:].split()))
            elif match["name"] is not None:
                value = match["value"]
                if match.re is _WORD:
                    value = re.sub(r'\\(["\\])', r"\1", value)
                yield word._replace(kind="tag", text=match["name"], value=value)
            elif kind != "space":
                yield word
        begin += len(line)
    if opened is not None:
        raise NotationError(
            f"line {opened.line}, column {opened.column}: the comment that begins here has no end. Close it with }}.",
            at=opened.at,
        )


def _unknown(line: str, begin: int, number: int, place: int) -> NotationError:
    """The error about a character that begins no token."""
    what = line[place:].split()[0]
    hint = _WHAT_STANDS.get(what[0], "neither a tag, a move, a comment nor a result")
    return NotationError(f"line {number}, column {place + 1}: {what!r} cannot be read: {hint}.", at=begin + place)
