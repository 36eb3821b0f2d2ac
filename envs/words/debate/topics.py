"""The topics of debates: 200 written for this project, 20 in each of ten fields, or a caller's own.

``data/topics.csv`` holds one topic a line: a question, what each side wants, and six words for each side, which name
reasons for it. Neither side is meant to be right.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ....errors import UnknownName, UsageError
from ...answers import whole_number
from ...plain import told

__all__ = ["Topic", "all_topics", "chosen_topics", "fields"]

LONGEST = 200
"""The most characters of a question or a side."""

MOST = 10_000
"""The most topics of a caller's own."""


@dataclass(frozen=True)
class Topic:
    """A question with two sides.

    Attributes:
        field: what it is about: ``"cities"``; ``""`` for a caller's own topics.
        question: a question.
        sides: what each side wants.
        grounds: for each side, words that name reasons for it; empty if nobody wrote any.
    """

    field: str
    question: str
    sides: tuple[str, str]
    grounds: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


@cache
def all_topics() -> tuple[Topic, ...]:
    """The project's own topics, in the order of the file."""
    with (Path(__file__).parent / "data" / "topics.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Topic(
                row["field"],
                row["question"],
                (row["first"], row["second"]),
                (tuple(row["first_words"].split()), tuple(row["second_words"].split())),
            )
            for row in csv.DictReader(file)
        )


@cache
def fields() -> tuple[str, ...]:
    """The fields of the project's topics, in the order of the file."""
    return tuple(dict.fromkeys(topic.field for topic in all_topics()))


def chosen_topics(topics: Any) -> tuple[Topic, ...]:
    """The topics that an argument means.

    Args:
        topics: ``""``: all; a field; the number of a topic, from 0; or a list of ``[question, side, side]``.

    Raises:
        UnknownName: no field of this name.
        UsageError: a number out of range, a list of something else, or too long a list.
    """
    known = all_topics()
    if isinstance(topics, str):
        if topics and topics not in fields():
            raise UnknownName("field of topics", topics, fields())
        return tuple(topic for topic in known if topics in ("", topic.field))
    if isinstance(topics, int):
        return (known[whole_number("debate: topics", topics, 0, len(known) - 1)],)
    own = topics if isinstance(topics, Sequence) and not isinstance(topics, bytes) else ()
    if len(own) > MOST:
        raise UsageError(f"debate: {len(own):,} topics came; at most {MOST:,} are read.")
    for one in own or [topics]:
        texts = isinstance(one, Sequence) and not isinstance(one, str) and all(isinstance(text, str) for text in one)
        if not texts or len(one) != 3 or not all(text.isprintable() and 0 < len(text) <= LONGEST for text in one):
            raise UsageError(
                f"debate: topics={told(one)} came; give a field, a number, or a list of [question, side, other side], "
                f"each a line of 1 to {LONGEST} characters."
            )
    return tuple(Topic("", question, (first, second)) for question, first, second in own)
