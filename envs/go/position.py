"""Positions as people read them: names of points, the stones as text, scoring, setting up stones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ...aliases import Action, Player
from ..state import take
from .rules import ILLEGAL, Boards, area, cell_of, enter, legal, remember, verdict, wipe

__all__ = [
    "COLUMNS",
    "Score",
    "breathless",
    "forbidden",
    "named",
    "owners",
    "point",
    "score",
    "set_up",
    "size_of",
    "stones",
]

COLUMNS = "ABCDEFGHJKLMNOPQRST"
"""The letters of the columns from the left, without I."""


class Score(NamedTuple):
    """The score of a board.

    Attributes:
        black, white: the area of each side (its stones and the empty points that only they reach), without komi.
        komi: points added for white.
    """

    black: int
    white: int
    komi: float

    @property
    def margin(self) -> float:
        """By how many points black leads; negative if white does."""
        return self.black - self.white - self.komi

    @property
    def result(self) -> str:
        """The result as in SGF: ``"B+3.5"``, ``"W+12"``, or ``"0"`` for a draw."""
        points = f"{abs(self.margin):g}"
        return "0" if self.margin == 0 else f"{'B' if self.margin > 0 else 'W'}+{points}"


def size_of(state: Boards, i: int) -> int:
    """Points along a side."""
    return int(state.facts[i]["size"])


def point(size: int, action: Action) -> str:
    """``"D4"`` or ``"pass"``: letters from the left without I, numbers from the bottom."""
    return "pass" if action == size * size else f"{COLUMNS[action % size]}{size - action // size}"


def named(size: int, name: str) -> Action | None:
    """The action that a name such as ``"d4"`` stands for, or None if the board has no such point."""
    column, row = COLUMNS[:size].find(name[:1].upper()), name[1:]
    if column < 0 or not (row.isascii() and row.isdigit()) or not 1 <= int(row) <= size:
        return None
    return (size - int(row)) * size + column


def stones(state: Boards, i: int) -> str:
    """[size * size] characters in action order: X black, O white, a dot for an empty point."""
    size = size_of(state, i)
    board = state.cells[i].reshape(size + 2, size + 1)[1:-1, :-1] & 3
    return "".join(".XO"[color] for color in board.reshape(-1).tolist())


def forbidden(state: Boards, i: int) -> dict[Action, str]:
    """Empty points that the current player may not play, and why: ``"suicide"`` or ``"ko"``; {} after the end."""
    size, facts = size_of(state, i), state.facts[i]
    if facts["over"]:
        return {}
    mask = np.zeros(size * size + 1, np.int8)
    legal(state, i, int(facts["mover"]), mask)
    closed = [a for a, stone in enumerate(stones(state, i)) if stone == "." and not mask[a]]
    return {action: ILLEGAL[int(verdict(state, i, cell_of(size, action)))] for action in closed}


def owners(state: Boards, i: int) -> str:
    """[size * size] whose area each point is: X, O or a dot for neither; the row is not changed."""
    size = size_of(state, i)
    copy = take(state, [i])
    area(copy, 0)  # writes to the entries of empty cells which side's stones they reach
    there = stones(copy, 0)
    chains = [copy.chains[0, cell_of(size, action)] for action in range(size * size)]
    return "".join(stone if stone != "." else ".XO."[chain["libs"]] for stone, chain in zip(there, chains, strict=True))


def score(state: Boards, i: int) -> Score:
    """Score the board: the area of both sides, with all stones counted as alive; the row is not changed."""
    of_whom = owners(state, i)
    return Score(of_whom.count("X"), of_whom.count("O"), int(state.facts[i]["komi"]) / 2)


def set_up(state: Boards, i: int, black: Iterable[Action], white: Iterable[Action], player: Player) -> None:
    """Make row i a game that starts with these stones and ``player`` to move; komi and limits stay.

    The caller must ensure that every chain has a liberty (see ``breathless``).
    """
    size, facts = size_of(state, i), state.facts[i]
    wipe(state, i)
    for owner, points in ((0, black), (1, white)):
        for action in points:
            enter(state, i, cell_of(size, action), owner)
    facts["moves"], facts["last"], facts["passes"], facts["over"] = 0, -1, 0, 0
    facts["captured"] = 0
    facts["mover"] = player
    remember(state, i)


def breathless(size: int, black: Iterable[Action], white: Iterable[Action]) -> Action | None:
    """A point of a chain without liberties, which cannot occur in a game, or None if every chain has one."""
    color = dict.fromkeys(black, "X") | dict.fromkeys(white, "O")
    done: set[Action] = set()
    for start in color:
        chain, queue, free = {start}, [start], False
        while queue and start not in done:
            for other in _around(size, queue.pop()):
                free |= other not in color
                if color.get(other) == color[start] and other not in chain:
                    chain.add(other)
                    queue.append(other)
        if start not in done and not free:
            return start
        done |= chain
    return None


def _around(size: int, action: Action) -> list[Action]:
    row, column = divmod(action, size)
    places = ((row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column))
    return [r * size + c for r, c in places if 0 <= r < size and 0 <= c < size]
