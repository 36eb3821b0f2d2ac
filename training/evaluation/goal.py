"""When to stop: conditions on an evaluation, written as ``random.win>=0.92,minimax.draw>=0.99``.

With a curriculum they are about its held-out positions, ``mate-in-1.solved>=0.3``; with ``budget.exact`` also about the
policy itself, ``policy.exploitability<=0.02``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import UsageError

__all__ = ["Goal"]

_HELD_OUT = ("solved", "sampled")
"""Columns of a curriculum's row; it has no others but illegal."""

POLICY = "policy"
"""What the policy itself is called."""

_TERM = re.compile(r"^([\w./:@-]+)\.(win|draw|loss|illegal|score|solved|sampled|exploitability)(>=|<=)([0-9.eE+-]+)$")


@dataclass(frozen=True)
class Goal:
    """Conditions that must all hold.

    Attributes:
        terms: (opponent or curriculum, column, ``>=`` or ``<=``, bound); no terms: never reached.
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
                    "columns are win, draw, loss, score and illegal, and solved and sampled of a curriculum, such as "
                    "mate-in-1.solved>=0.3."
                )
            terms.append((match[1], match[2], match[3], bound))
        return cls(tuple(terms))

    def check(self, opponents: Sequence[str], curriculum: str = "", *, exact: bool = False) -> None:
        """See that every condition is about something that is measured.

        Args:
            opponents: who is played in evaluations.
            curriculum: whose held-out positions are measured instead, or nothing.
            exact: whether the policy itself is measured.

        Raises:
            UsageError: one isn't, so the goal could never be reached.
        """
        for name, column, *_ in self.terms:
            if curriculum:
                if name != curriculum or column not in (*_HELD_OUT, "illegal"):
                    raise UsageError(
                        f"goal asks for {name}.{column}, but with a curriculum its held-out positions are measured: "
                        f"say {curriculum}.solved>=NUMBER."
                    )
            elif name == POLICY or column == "exploitability":
                if not (exact and name == POLICY and column == "exploitability"):
                    raise UsageError(
                        f"goal asks for {name}.{column}; of the policy itself {POLICY}.exploitability is measured, "
                        "with --exact."
                    )
            elif column in _HELD_OUT:
                raise UsageError(f"goal asks for {name}.{column}, which takes a curriculum: add --curriculum {name}.")
            elif name not in opponents:
                raise UsageError(
                    f"goal asks for {name!r}, whom eval_vs ({','.join(opponents) or 'empty'}) doesn't name: "
                    "add it there, or change the goal."
                )

    def reached(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether all conditions hold in all rows that they are about; without such a row they fail."""

        def holds(name: str, column: str, sign: str, bound: float) -> bool:
            seen = [row[column] for row in _about(name, rows) if row.get(column) is not None]
            return bool(seen) and all(value >= bound if sign == ">=" else value <= bound for value in seen)

        return bool(self.terms) and all(holds(*term) for term in self.terms)

    def shown(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """``random.win 0.931 >= 0.92, ...`` for people."""
        return ", ".join(
            f"{n}.{c} {row[c]:.3f} {s} {b:g}"
            for n, c, s, b in self.terms
            for row in _about(n, rows)
            if row.get(c) is not None
        )

    def missed(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """``random.win 0.577, not >= 0.9, ...``: the conditions that do not hold."""
        return ", ".join(
            f"{n}.{c} {row[c]:.3f}, not {s} {b:g}"
            for n, c, s, b in self.terms
            for row in _about(n, rows)
            if row.get(c) is not None and not Goal(((n, c, s, b),)).reached([row])
        )


def subject(row: Mapping[str, Any]) -> str:
    """What a row is about: a player in worlds, a curriculum, an opponent, or the policy itself."""
    return str(row["player"] if "worlds" in row else row.get("curriculum", row.get("opponent") or POLICY))


def _about(name: str, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows of an opponent, of a curriculum or of the policy itself."""
    return [row for row in rows if subject(row) == name]
