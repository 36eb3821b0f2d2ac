"""The factory of Go: any size, with komi, handicap and a ko rule."""

from __future__ import annotations

import numpy as np

from ...errors import UsageError
from ..answers import known_name, whole_number
from ..core import Game, GameInfo, Kernels
from ..plain import told
from . import text
from .outside import CONDITIONS, sound
from .record import start_from, to_sgf, written
from .rules import (
    CHAIN,
    FACTS,
    MAX_SIZE,
    MIN_SIZE,
    SIMPLE,
    Boards,
    draw,
    key,
    legal,
    mover,
    observe,
    reset,
    step,
)

__all__ = ["go"]

SUPERKO = ("positional", "situational", "simple")
"""In the order of POSITIONAL, SITUATIONAL, SIMPLE."""

MOST_MOVES = 10_000


# Longer than most: its arguments, what they mean, and the game that they make.
def go(
    size: int = 9,
    komi: float | None = None,
    handicap: int = 0,
    superko: str = "positional",
    max_moves: int | None = None,
) -> Game:
    """Go with area scoring and the action numbers of PettingZoo's go_v5 (whose default size is 19).

    Args:
        size: points along a side, 5 to 19.
        komi: points for white, in halves; None: 7.5, or 0.5 with a handicap.
        handicap: 0, or 2 to 9 black stones on the usual points (odd sizes from 9 on); up to 4 on size 7 and on even
            sizes from 8 on. With a handicap, white moves first.
        superko: ``"positional"`` (no board position may repeat), ``"situational"`` (none may repeat with the same
            player to move) or ``"simple"`` (only a single stone may not be taken back at once).
        max_moves: moves, including passes, after which the board is scored. None: ``2 * size * size``.

    Raises:
        UsageError: any other value.
    """
    side = whole_number("go: size", size, MIN_SIZE, MAX_SIZE)
    stones = whole_number("go: handicap", handicap, 0, 9)
    most = _handicaps(side)
    if stones == 1 or stones > most:
        ways = f"0 or 2 to {most}" if most else "0"
        raise UsageError(
            f"go: handicap={stones} is not possible; a board of size {side} takes {ways}. For one stone, use komi=0.5."
        )
    points = (0.5 if stones else 7.5) if komi is None else _half("komi", komi, side * side)
    known_name("superko rule", superko, SUPERKO)
    moves = whole_number("go: max_moves", 2 * side * side if max_moves is None else max_moves, 2, MOST_MOVES)
    rule = SUPERKO.index(superko)
    # A search of the hash table ends at a free slot, so the table stays less than three quarters full.
    slots = 4 if rule == SIMPLE else 1 << (4 * (moves + 1) // 3).bit_length()
    cells = (side + 2) * (side + 1)

    def new_state(n: int) -> Boards:
        facts = np.zeros(n, FACTS)
        facts["size"], facts["handicap"], facts["superko"], facts["max_moves"] = side, stones, rule, moves
        facts["usual_komi"] = facts["komi"] = round(2 * points)
        return Boards(
            facts,
            np.zeros((n, cells), np.uint16),
            np.zeros((n, cells), CHAIN),
            np.zeros((n, 4, side + 2), np.uint32),
            np.zeros((n, slots), np.uint64),
        )

    return Game(
        info=GameInfo(
            name="go",
            players=2,
            num_actions=side * side + 1,
            observation_shape=(side, side, 17),
            observation_dtype="bool",
            max_cycles=moves,
        ),
        kernels=Kernels(reset, mover, legal, step, observe, key, draw, sound=sound),
        new_state=new_state,
        ranges={f"facts.{name}": bounds for name, bounds in _ranges(side, stones, rule, moves, points).items()},
        conditions=CONDITIONS,
        rules=_rules(side, points, stones, superko, moves),
        goal="Surround a larger area than the other player.",
        describe=text.describe,
        compact=text.compact,
        action_to_text=text.action_to_text,
        parse_action=text.parse_action,
        config={"size": side, "komi": points, "handicap": stones, "superko": superko, "max_moves": moves},
        options={"sgf": start_from},
        formats={".sgf": to_sgf},
        reads=written,
    )


def _ranges(side: int, stones: int, rule: int, moves: int, komi: float) -> dict[str, tuple[int, int]]:
    """Lowest and highest values of the facts."""
    fixed = {"size": side, "handicap": stones, "superko": rule, "max_moves": moves, "usual_komi": round(2 * komi)}
    area = side * side
    return {name: (value, value) for name, value in fixed.items()} | {
        "moves": (0, moves),
        "last": (-1, area),
        "captured": (0, moves + area),
        "komi": (-2 * area, 2 * area),
        "mover": (0, 1),
        "passes": (0, 2),
        "over": (0, 1),
    }


def _handicaps(size: int) -> int:
    """The most fixed handicap stones on a board (GTP 2, fixed_handicap)."""
    if size < 7:
        return 0
    return 9 if size % 2 == 1 and size >= 9 else 4


def _rules(size: int, komi: float, handicap: int, superko: str, max_moves: int) -> str:
    ko = {
        "positional": "a move may not repeat any earlier position of the board (superko)",
        "situational": "a move may not repeat an earlier position with the same player to move (superko)",
        "simple": "a single stone may not be taken back at once (ko)",
    }[superko]
    start = f"Black begins with {handicap} handicap stones and White moves first" if handicap else "Black moves first"
    return (
        f"Go on a {size}x{size} board. {start}; Black (X) and White (O) in turn put a stone on an empty point or pass. "
        "Connected stones of a colour live as long as an empty point touches them; who takes the last such point "
        f"captures them. Suicide is forbidden, and {ko}. Two passes in a row, or {max_moves} moves, end the game. A "
        "player's area is its stones and the empty points that reach only them; stones that could be captured count "
        f"as alive. White gets {komi:g} points of komi; the larger area wins."
    )


def _half(name: str, value: object, most: int) -> float:
    known = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not known or not -most <= value <= most or (2 * float(value)) % 1:  # type: ignore[operator, arg-type]
        raise UsageError(f"go: {name}={told(value)} must be whole or half points from -{most} to {most}, e.g. 7.5.")
    return float(value)  # type: ignore[arg-type]
