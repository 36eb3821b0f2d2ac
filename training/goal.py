"""When to stop: conditions on an evaluation, written as ``random.win>=0.92,minimax.draw>=0.99``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError

__all__ = ["Goal"]

_TERM = re.compile(r"^([\w./:@-]+)\.(win|draw|loss|illegal)(>=|<=)([0-9.eE+-]+)$")


@dataclass(frozen=True)
class Goal:
    """Conditions that must all hold.

    Attributes:
        terms: (opponent, column, ``>=`` or ``<=``, bound); no terms: never reached.
    """

    terms: tuple[tuple[str, str, str, float], ...]

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Read a goal.

        Raises:
            UsageError: a condition that doesn't read ``opponent.column>=number``.
        """
        terms = []
        for part in filter(None, (p.strip().replace(" ", "") for p in text.split(","))):
            match = _TERM.match(part)
            try:
                bound = float(match[4]) if match else float("nan")
            except ValueError:
                match = None
            if match is None:
                raise UsageError(
                    f"goal: {part!r} doesn't read OPPONENT.COLUMN>=NUMBER, such as random.win>=0.92; "
                    "columns are win, draw, loss and illegal."
                )
            terms.append((match[1], match[2], match[3], bound))
        return cls(tuple(terms))

    def check(self, opponents: Sequence[str]) -> None:
        """See that every condition is about somebody who is played.

        Raises:
            UsageError: one isn't, so the goal could never be reached.
        """
        for name, *_ in self.terms:
            if name not in opponents:
                raise UsageError(
                    f"goal asks for {name!r}, whom eval_vs ({','.join(opponents) or 'empty'}) doesn't name: "
                    "add it there, or change the goal."
                )

    def reached(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether all conditions hold; an opponent that wasn't played fails its conditions."""
        by_name = {row["opponent"]: row for row in rows}
        return bool(self.terms) and all(
            name in by_name and (by_name[name][column] >= bound if sign == ">=" else by_name[name][column] <= bound)
            for name, column, sign, bound in self.terms
        )

    def shown(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """``random.win 0.931 >= 0.92, ...`` for people."""
        by_name = {row["opponent"]: row for row in rows}
        return ", ".join(f"{n}.{c} {by_name[n][c]:.3f} {s} {b:g}" for n, c, s, b in self.terms if n in by_name)
