r"""Problems with exact answers, and how an answer is found in a text.

Thoughts (``<think>``) are dropped. An answer is what the text marks last: ``<answer>5</answer>``, ``\boxed{5}``,
``#### 5``, ``Answer: 5`` or ``the answer is 5``. In a text without a mark it is the last line; where a number is asked
for, the last number of that.
"""

from __future__ import annotations

import re
from collections import deque
from fractions import Fraction
from typing import TypedDict

from ....envs.marks import TAG, braced, without_thoughts
from ....errors import InvalidAction, UsageError

__all__ = ["Problem", "checked", "is_marked", "number", "read_answer", "right"]


class Problem(TypedDict):
    """A question and its answer: plain data, so that stores and transcripts can keep it.

    Attributes:
        question: what is asked.
        answer: the right answer; a number is compared as a number, anything else word by word.
        choices: every answer that may be given, the right one among them; empty: any text.
        level: how hard it is, from 1 on, within its kind; 0: unknown.
    """

    question: str
    answer: str
    choices: list[str]
    level: int


def checked(level: int, most: int) -> None:
    """Raises UsageError: a level outside of 1 to ``most``."""
    if not 1 <= level <= most:
        raise UsageError(f"Levels go from 1 to {most}; {level} came.")


LONGEST = 20_000
"""Characters of the end of an answer that are read."""

SAID = re.compile(r"\banswer(?:[ \t]{0,4}[:=]|[ \t]{1,4}is\b[ \t]{0,4}:?)", re.IGNORECASE)
FRACTION = re.compile(r"\\[dt]?frac\{(\d{1,40})\}\{(\d{1,40})\}")
NUMBER = re.compile(
    r"(?:(?<![\w)])[-\u2212])?\$?"  # a sign, unless it is a minus between two terms
    r"(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<!\d)\.\d+)"
    r"(?:e[-+]?\d{1,2}\b|[ ]?/[ ]?\d+)?",
    re.IGNORECASE,
)


def read_answer(text: str) -> str:
    """The answer that a text gives, as the module's docstring says; without spaces around it and the full stop."""
    text = _end(text)
    last, at = _mark(text)
    if at < 0:
        found = text.rstrip().rpartition("\n")[2]
    elif last == "tag":
        found = re.split(r"</answer>", text[at:], maxsplit=1, flags=re.IGNORECASE)[0]
    elif last == "boxed":
        found = braced(text[at + len(r"\boxed{") :])
    else:
        found = text[at + 4 * (last == "hashes") :].lstrip().partition("\n")[0]
    return found.strip().removesuffix(".").strip("*").strip()


def is_marked(text: str) -> bool:
    """Whether a text marks its answer as one."""
    return _mark(_end(text))[1] >= 0


def _end(text: str) -> str:
    """The end of a text without thoughts; nothing if a thought has no end."""
    try:
        return without_thoughts(text)[-LONGEST:]
    except InvalidAction:
        return ""


def _mark(text: str) -> tuple[str, int]:
    """The last mark of an answer, and where it is; -1: there is none."""
    ends = {
        "tag": max((m.end() for m in TAG.finditer(text)), default=-1),
        "boxed": text.rfind(r"\boxed{"),
        "hashes": text.rfind("####"),
        "said": max((m.end() for m in SAID.finditer(text)), default=-1),
    }
    return max(ends.items(), key=lambda mark: mark[1])


def number(text: str) -> Fraction | None:
    """The last number of a text, exactly: ``-1,234.5``, ``$3``, ``3/4``, ``1e3``; None if there is none to read."""
    found = deque(NUMBER.finditer(FRACTION.sub(r"\1/\2", text)), maxlen=1)
    if not found or len(found[0][0]) > 50:
        return None
    plain = re.sub(r"[$, ]", "", found[0][0]).replace("\u2212", "-")
    try:
        return Fraction(plain)
    except (ValueError, ZeroDivisionError):  # 1/0; 1.5/2
        return None


def right(problem: Problem, text: str) -> bool:
    """Whether a text gives the right answer."""
    said, wanted = read_answer(text), problem["answer"].strip()
    if NUMBER.fullmatch(FRACTION.sub(r"\1/\2", wanted)):
        return number(said) == number(wanted)
    return _words(said) == _words(wanted)


def _words(text: str) -> list[str]:
    """Words in lower case, without punctuation and ``and``."""
    return [word for word in re.findall(r"\w+", text.casefold()) if word != "and"]
