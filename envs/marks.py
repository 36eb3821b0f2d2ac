r"""Finds the answer in what a person or a model writes: the rules of docs/answers.md, for every game.

Thoughts are dropped. In the rest, the last of all ``\boxed{}``, ``<answer>`` and JSON marks counts; without one, the
last ``Answer:``; then the last pair of brackets, if it holds an action; then the text itself. Reading takes time linear
in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..errors import InvalidAction

__all__ = ["TAG", "braced", "marked", "reading", "without_thoughts"]

Read = TypeVar("Read")

TAG = re.compile(r"<answer>", re.IGNORECASE)
_THOUGHT = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_TAG_END = re.compile(r"</answer>", re.IGNORECASE)
_BOX = re.compile(r"\\f?box(?:ed)?\s?\{")
_STYLE = re.compile(r"\\(?:text|math)[a-z]{0,6}\{([^{}]*)\}")
_KEY = re.compile(r'[{,]\s*"(?:action|move)"\s*:\s*', re.IGNORECASE)
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9]+', re.DOTALL)
_SAID = re.compile(r"\banswer\b[*_ \t]{0,4}:", re.IGNORECASE)
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_LEVELS = 4
"""Marks inside each other that are followed."""


class _Mark(NamedTuple):
    """Where a mark ends, and what it holds."""

    end: int
    text: str


def without_thoughts(text: str) -> str:
    """The text without ``<think>...</think>``; a text without thoughts comes back as it is.

    What stands before a closing tag is a thought even where no tag opens it: chat templates often end with it.

    Raises:
        InvalidAction: a thought has no end.
    """
    kept: list[str] = []
    start, inside = 0, False
    for tag in _THOUGHT.finditer(text):
        if tag[1]:
            kept = kept if inside else []
            start, inside = tag.end(), False
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    if inside:
        raise InvalidAction("The answer ends within its thoughts: <think> has no </think>. Write the answer after it.")
    return " ".join([*kept, text[start:]]).strip() if start else text


def marked(text: str) -> str | None:
    """What a text without thoughts marks as its answer, in brackets or not; None: nothing."""
    found = None
    for _ in range(_LEVELS):
        mark = max(filter(None, (_boxed(text), _tagged(text), _keyed(text))), default=None) or _said(text)
        if mark is None:
            break
        found = text = mark.text.strip()
    return found


def reading(read: Callable[[str], Read], text: str) -> Read:
    """What ``read`` makes of the answer in a text.

    Args:
        read: raises InvalidAction if a text is no answer, other ActionErrors if it is one that cannot be accepted.
        text: as it was written.

    Raises:
        ActionError: from ``read``; InvalidAction also if a thought has no end.
    """
    said = without_thoughts(text)
    mark = marked(said)
    said = (said if mark is None else mark).strip()
    last = _last(_BRACKETS, said)
    if last is None:
        return read(said)
    try:
        return read(last[1].strip())
    except InvalidAction as refused:
        try:
            return read(said)
        except InvalidAction:
            raise refused from None


def braced(text: str) -> str:
    """As far as the brace that closes one opened before the text."""
    depth = 1
    for mark in re.finditer(r"[{}]", text):
        depth += 1 if mark[0] == "{" else -1
        if not depth:
            return text[: mark.start()]
    return text


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last place that a pattern matches."""
    return next(iter(deque(pattern.finditer(text), 1)), None)


def _boxed(text: str) -> _Mark | None:
    r"""The last ``\boxed{...}``, as far as the text goes if it is not closed."""
    last = _last(_BOX, text)
    if last is None:
        return None
    inside = braced(text[last.end() :])
    return _Mark(last.end() + len(inside), _STYLE.sub(r"\1", inside))


def _tagged(text: str) -> _Mark | None:
    """The last ``<answer>...</answer>``, likewise."""
    last = _last(TAG, text)
    if last is None:
        return None
    closed = _TAG_END.search(text, last.end())
    end = closed.start() if closed else len(text)
    return _Mark(end, text[last.end() : end])


def _keyed(text: str) -> _Mark | None:
    """The last text or whole number under ``"action"`` or ``"move"`` in JSON."""
    last = _last(_KEY, text)
    value = last and _VALUE.match(text, last.end())
    if not value:
        return None
    try:
        return _Mark(value.end(), str(json.loads(value[0], strict=False)) if value[0][0] == '"' else value[0])
    except ValueError:  # an escape that JSON doesn't have
        return None


def _said(text: str) -> _Mark | None:
    """The line after the last ``Answer:``."""
    last = _last(_SAID, text)
    if last is None:
        return None
    line = text[last.end() :].strip(" \t\r\n*`'\"").partition("\n")[0]
    return _Mark(len(text), line.strip(" \t\r*`'\""))
