"""When to stop: conditions on an evaluation, written as ``random.win>=0.92,minimax.draw>=0.99``.

With a curriculum they concern its held-out positions, ``mate-in-1.solved>=0.3``; with ``budget.exact`` they may concern
the policy itself, ``policy.exploitability<=0.02``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import UsageError

__all__ = ["Goal"]

_HELD_OUT = ("solved", "sampled")
"""The columns of a curriculum's row, besides illegal."""

POLICY = "policy"
"""The name of the policy itself in goals."""

_TERM = re.compile(r"^([\w./:@-]+)\.(win|draw|loss|illegal|score|solved|sampled|exploitability)(>=|<=)([0-9.eE+-]+)$")


@dataclass(frozen=True)
class Goal:
    """Conditions that must all hold.

    Attributes:
        terms: (opponent, curriculum or ``policy``, column, ``>=`` or ``<=``, bound); no terms: never reached.
    """

    terms: tuple[tuple[str, str, str, float], ...]

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Read a goal.

        Raises:
            UsageError: a condition that isn't of the form ``opponent.column>=number``.
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
                    f"goal: {part!r} isn't of the form OPPONENT.COLUMN>=NUMBER, such as random.win>=0.92; "
                    "columns are win, draw, loss, score and illegal, and for a curriculum solved and sampled, such as "
                    "mate-in-1.solved>=0.3."
                )
            terms.append((match[1], match[2], match[3], bound))
        return cls(tuple(terms))

    def check(self, opponents: Sequence[str], curriculum: str = "", *, exact: bool = False) -> None:
        """Check that the run measures every condition: for opponents, a curriculum, or the policy (``exact``).

        Raises:
            UsageError: a condition that is not measured, so the goal could never be reached.
        """
        for name, column, *_ in self.terms:
            asked, exactly = f"{name}.{column}", column == "exploitability"
            if curriculum:
                fine = name == curriculum and column in (*_HELD_OUT, "illegal")
                why = f"but with a curriculum only its held-out positions are measured: use {curriculum}.solved>=NUMBER"
            elif name == POLICY or exactly:
                fine = exact and name == POLICY and exactly
                why = f"but the only measure of the policy itself is {POLICY}.exploitability, with --exact"
            elif column in _HELD_OUT:
                fine, why = False, f"which needs a curriculum: add --curriculum {name}"
            else:
                asked, listed = repr(name), ",".join(opponents) or "empty"
                fine, why = name in opponents, f"which isn't in eval_vs ({listed}): add it there, or change the goal"
            if not fine:
                raise UsageError(f"goal asks for {asked}, {why}.")

    def reached(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether every condition holds in all rows that have its figure; without such a row it fails."""
        found = [[holds for _, _, holds in self._seen(term, rows)] for term in self.terms]
        return bool(found) and all(seen and all(seen) for seen in found)

    def shown(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """``random.win 0.931 >= 0.92, ...`` for people."""
        seen = [found for term in self.terms for found in self._seen(term, rows)]
        return ", ".join(f"{value} {bound}" for value, bound, _ in seen)

    def missed(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """``random.win 0.577, not >= 0.9, ...``: the conditions that do not hold."""
        seen = [found for term in self.terms for found in self._seen(term, rows)]
        return ", ".join(f"{value}, not {bound}" for value, bound, holds in seen if not holds)

    def _seen(
        self, term: tuple[str, str, str, float], rows: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[str, str, bool]]:
        """A condition in each row that has its figure: ``random.win 0.931``, ``>= 0.92``, and whether it holds."""
        name, column, sign, bound = term
        for row in rows:
            value = row.get(column) if subject(row) == name else None
            if value is not None:
                holds = value >= bound if sign == ">=" else value <= bound
                yield f"{name}.{column} {value:.3f}", f"{sign} {bound:g}", holds


def subject(row: Mapping[str, Any]) -> str:
    """The subject of a row in goals: a player in worlds, a curriculum, an opponent, or ``policy``."""
    return str(row["player"] if "worlds" in row else row.get("curriculum", row.get("opponent") or POLICY))
