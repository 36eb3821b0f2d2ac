"""Who speaks when: the schedule language of Actors, such as ``"A -> B -> (A/B)*5"``.

::

    schedule := together ("->" together)*           one after the other; each hears what was said before
    together := either ("&" either)*                at the same time, without hearing each other; kept in this order
    either   := repeated ("/" repeated)*            one of them, drawn with equal shares
    repeated := turn ["*" (N | "(" N ".." N ")")]   N times, or a number of times drawn between the two
    turn     := ROLE | "*" | "(" schedule ")"       "*" alone: any of the roles, drawn with equal shares

Every repetition draws anew: ``(A/B)*5`` is five turns of A or B in any order, ``A*5/B*5`` is five of one of them.
``(A & B & C) -> A`` thinks in parallel and merges. Spaces don't matter. A role's name starts with a letter and holds
letters, digits, ``_``, ``.`` and ``-``.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from ...envs.plain import told
from ...errors import UsageError, did_you_mean

__all__ = ["Group", "Plan", "Schedule", "Turn", "drive", "parse_schedule", "turns"]

T = TypeVar("T")
TOKEN = re.compile(r"\s*(->|\.\.|[&/*()]|[^\W\d]\w*(?:[-.]\w+)*|\d+|\S)")
MARKS = {"->": "one after the other", "&": "at the same time", "/": "one of"}
ANYONE = "*"
TURNS, DEPTH = 1000, 50
"""Most turns of a schedule, and most parentheses within each other."""


@dataclass(frozen=True)
class Group:
    """Parts of a schedule and what joins them.

    Attributes:
        mark: ``"->"``, ``"&"``, ``"/"``, or ``"*"`` for the repetition of a single part.
        parts: the parts, in the order written.
        least, most: bounds of the number of repetitions.
    """

    mark: str
    parts: tuple[Plan, ...]
    least: int = 1
    most: int = 1


Plan: TypeAlias = str | Group
"""A role's turn, or parts. Nothing is left to chance in the plan that ``Schedule.draw`` returns: no ``/`` and ``*``."""


@dataclass(frozen=True)
class Schedule:
    """A parsed schedule.

    Attributes:
        text: as written.
        plan: what it says.
        roles: the roles who may speak: those given to ``parse_schedule``, or else all that are named.
    """

    text: str
    plan: Plan
    roles: tuple[str, ...]

    def draw(self, rng: np.random.Generator) -> Plan:
        """A plan in which every choice and every number of repetitions is drawn."""

        def drawn(plan: Plan) -> Plan:
            if isinstance(plan, str):
                return self.roles[int(rng.integers(len(self.roles)))] if plan == ANYONE else plan
            if plan.mark == "/":
                return drawn(plan.parts[int(rng.integers(len(plan.parts)))])
            if plan.mark == "*":
                times = int(rng.integers(plan.least, plan.most + 1))
                return Group("->", tuple(drawn(plan.parts[0]) for _ in range(times)))
            return Group(plan.mark, tuple(drawn(part) for part in plan.parts))

        return drawn(self.plan)

    def __str__(self) -> str:
        """The plan as lines, a part further in than what it belongs to."""

        def lines(plan: Plan, depth: int) -> list[str]:
            inset = "  " * depth
            if isinstance(plan, str):
                return [inset + (f"one of {', '.join(self.roles)}" if plan == ANYONE else plan)]
            times = f"{plan.least} times" if plan.least == plan.most else f"{plan.least} to {plan.most} times"
            head = [f"{inset}{MARKS.get(plan.mark, times)}:"]
            return head + [line for part in plan.parts for line in lines(part, depth + 1)]

        return "\n".join(lines(self.plan, 0))


def parse_schedule(text: str, roles: Collection[str] = ()) -> Schedule:
    """Read a schedule; the module's docstring has the language.

    Args:
        text: the schedule.
        roles: the roles that there are; none: whoever the schedule names.

    Raises:
        UsageError: it names nobody or an unknown role, does not follow the language, repeats something 0 times, or may
            take more than 1,000 turns.
    """
    if len(text) > TURNS:
        raise UsageError(f"The schedule {told(text)} has {len(text):,} characters; at most {TURNS:,} are read.")
    tokens = [(match[1], match.start(1)) for match in TOKEN.finditer(text)]
    if not tokens:
        raise UsageError(f"The schedule {told(text)} names nobody; write for example 'A -> B -> (A/B)*5'.")
    reader = _Reader(text, [*tokens, ("", len(text))])
    plan, most = reader.joined(0)
    if reader.token:
        raise reader.wrong("'->', '&', '/', '*' or the end")
    named = tuple(dict.fromkeys(reader.named))
    known = tuple(roles) or named
    for name in named:
        if name not in known:
            raise UsageError(
                f"The schedule names {name!r}, no role.{did_you_mean(name, known)} Roles: {', '.join(known)}."
            )
    if not known:
        raise UsageError(f"The schedule {told(text)} names nobody; say which roles there are.")
    if most > TURNS:
        raise UsageError(f"The schedule {told(text)} may take {most:,} turns; at most {TURNS:,} are allowed.")
    return Schedule(text, plan, known)


class _Reader:
    """Recursive descent over tokens; every method returns a part and the most turns it may take."""

    def __init__(self, text: str, tokens: list[tuple[str, int]]) -> None:
        self.text, self.tokens, self.at = text, tokens, 0
        self.named: list[str] = []

    @property
    def token(self) -> str:
        return self.tokens[self.at][0]

    def wrong(self, expected: str) -> UsageError:
        token, place = self.tokens[self.at]
        found = repr(token) if token else "the end"
        return UsageError(f"The schedule {told(self.text)} has {found} at character {place + 1}; expected {expected}.")

    def take(self, *wanted: str) -> bool:
        """Go past the next token if it is one of these."""
        found = self.token in wanted
        self.at += found
        return found

    def joined(self, depth: int, level: int = 0) -> tuple[Plan, int]:
        """Parts joined by the mark of a level: ``->``, ``&``, ``/``."""
        if level == len(MARKS):
            return self.repeated(depth)
        mark = list(MARKS)[level]
        found = [self.joined(depth, level + 1)]
        while self.take(mark):
            found.append(self.joined(depth, level + 1))
        if len(found) == 1:
            return found[0]
        parts, counts = zip(*found, strict=True)
        return Group(mark, parts), max(counts) if mark == "/" else sum(counts)

    def repeated(self, depth: int) -> tuple[Plan, int]:
        plan, count = self.turn(depth)
        if self.take("*"):
            if self.take("("):
                least = self.number()
                if not self.take(".."):
                    raise self.wrong("'..', as in A*(2..5)")
                most = self.number(least)
                if not self.take(")"):
                    raise self.wrong("')'")
            else:
                least = most = self.number()
            plan, count = Group("*", (plan,), least, most), count * most
        return plan, count

    def number(self, least: int = 1) -> int:
        token = self.token
        if not (token.isdecimal() and len(token) < 9 and int(token) >= least):
            raise self.wrong(f"a whole number of at least {least}")
        self.at += 1
        return int(token)

    def turn(self, depth: int) -> tuple[Plan, int]:
        if self.take("("):
            if depth == DEPTH:
                raise self.wrong(f"at most {DEPTH} parentheses within each other")
            found = self.joined(depth + 1)
            if not self.take(")"):
                raise self.wrong("')'")
            return found
        token = self.token
        if not (token == ANYONE or token[:1].isalpha() or token[:1] == "_"):
            raise self.wrong("a role or '('")
        self.at += 1
        self.named += [token] if token != ANYONE else []
        return token, 1


class Turn(NamedTuple):
    """One turn of a drawn plan.

    Attributes:
        role: who speaks.
        hears: indices of the turns it has heard.
        wave: turns of the same wave are taken at the same time.
    """

    role: str
    hears: tuple[int, ...]
    wave: int


def turns(plan: Plan) -> list[Turn]:
    """The turns of a drawn plan, in the order written."""
    found: list[Turn] = []

    def add(plan: Plan, hears: tuple[int, ...], wave: int) -> tuple[tuple[int, ...], int]:
        """Add a part's turns; returns their indices and the wave after them."""
        if isinstance(plan, str):
            found.append(Turn(plan, hears, wave))
            return (len(found) - 1,), wave + 1
        own: tuple[int, ...] = ()
        end = wave
        for part in plan.parts:
            new, after = add(part, hears if plan.mark == "&" else hears + own, wave if plan.mark == "&" else end)
            own, end = own + new, max(end, after)
        return own, end

    add(plan, (), 0)
    return found


async def drive(plan: Plan, speak: Callable[[str, Sequence[T]], Awaitable[T]], heard: Sequence[T] = ()) -> list[T]:
    """Play a drawn plan.

    Args:
        plan: from ``Schedule.draw``.
        speak: what a role says, given what it has heard. It is called in the same order whoever answers first: turns
            at the same time go in step.
        heard: what was said before the plan starts.

    Returns:
        What was said in the plan, in the order written.

    Raises:
        Exception: from ``speak``, once all who speak at the same time are done.
    """
    order = turns(plan)
    said: dict[int, T] = {}
    for wave in range(max(turn.wave for turn in order) + 1):
        now = [k for k, turn in enumerate(order) if turn.wave == wave]
        asked = [speak(order[k].role, [*heard, *(said[i] for i in order[k].hears)]) for k in now]
        for k, answer in zip(now, await asyncio.gather(*asked, return_exceptions=True), strict=True):
            if isinstance(answer, BaseException):
                raise answer
            said[k] = answer
    return [said[k] for k in range(len(order))]
