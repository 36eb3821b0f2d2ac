"""What the map builders share: rectangles of the ground, straight paths, random numbers.

``ground`` is the part of ``kind`` that the border encloses, [h, w] uint8, so (0, 0) is the upper left cell inside
the border. Builders take arrays instead of the ``World``, which would cost seconds of compilation each.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...stepping.jit import kernel
from ...stepping.rng import below, word
from ..state import EMPTY, OBJECT_KIND, WALL

__all__ = ["FAR", "ONE", "ROCK", "Ground", "Rules", "Work", "chance", "clear", "dig", "i64", "open_line", "wall_up"]

Ground: TypeAlias = "NDArray[np.uint8]"
Work: TypeAlias = "NDArray[np.int32]"
Rules: TypeAlias = Any
"""One element of type ``RULES``."""

FAR = 1000
"""The largest distance that an option can have."""

ROCK = OBJECT_KIND + WALL
"""The value of ``kind`` in a cell with a wall."""

i64: Any = np.int64
"""The type of all integers in the builders, so that no kernel is compiled again for a narrower type."""

ONE = i64(1)
"""1 as an int64: a literal would make numba compile the kernels again."""


@kernel
def chance(rules: Rules, n: int) -> int:
    """A random number in 0..n-1, from the world's next 64 random bits."""
    drawn = word(rules["seed"], rules["draws"])
    rules["draws"] += 1
    return int(below(drawn, i64(n)))


@kernel
def wall_up(ground: Ground) -> None:
    """Fills the ground with walls."""
    for row in range(ground.shape[0]):
        for col in range(ground.shape[1]):
            ground[row, col] = ROCK


@kernel
def clear(ground: Ground, top: int, left: int, height: int, width: int) -> None:
    """Empties the part of a rectangle that lies on the ground."""
    for row in range(max(top, 0), min(top + height, ground.shape[0])):
        for col in range(max(left, 0), min(left + width, ground.shape[1])):
            ground[row, col] = EMPTY


@kernel
def dig(ground: Ground, row: int, col: int, side: int) -> None:
    """Empties a square centred on a cell; if ``side`` is even, the cell is the one up and left of the centre."""
    back = (side - 1) // 2
    clear(ground, row - back, col - back, side, side)


@kernel
def open_line(ground: Ground, row: int, col: int, to_row: int, to_col: int, side: int) -> None:
    """Digs the straightest path from one cell to another in steps up, down, left or right."""
    high, wide = abs(to_row - row), abs(to_col - col)
    down, right = 1 if to_row > row else -1, 1 if to_col > col else -1
    dig(ground, row, col, side)
    rows = cols = 0
    while rows < high or cols < wide:
        # Step to the next row or the next column, whichever the straight line crosses first.
        if cols == wide or (rows < high and (2 * rows + 1) * wide < (2 * cols + 1) * high):
            rows += 1
        else:
            cols += 1
        dig(ground, row + down * rows, col + right * cols, side)
