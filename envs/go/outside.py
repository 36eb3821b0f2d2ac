"""Rows of go from outside: what boards, chains and hash tables must fulfil, so that all kernels can take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stepping.jit import kernel
from .rules import EMPTY, SIMPLE, STONES, Boards, Whole

__all__ = ["CONDITIONS", "sound"]


@kernel
def ring(cells: NDArray[np.uint16], chains: NDArray[Any], size: Whole, head: Whole) -> Whole:
    """The number of stones in the chain of ``head``; 0 if its ring is not closed, or its facts are wrong."""
    color, far = cells[head] & 3, size + 1
    count: Whole = 0
    free: Whole = 0
    hashed = np.uint64(0)
    q: Whole = head
    while count <= size * size:
        hashed = hashed ^ STONES[np.int64(color) - 1, q]
        free += np.int64(cells[q - far] & 3 == 0) + np.int64(cells[q - 1] & 3 == 0)
        free += np.int64(cells[q + 1] & 3 == 0) + np.int64(cells[q + far] & 3 == 0)
        count += 1
        q = np.int64(chains[q]["next"])
        if q == head:
            fine = chains[q]["size"] == count and chains[q]["libs"] == free and chains[q]["hash"] == hashed
            return count if fine else 0
        if q >= cells.shape[0] or cells[q] & 3 != color or chains[q]["head"] != head:
            return 0
    return 0


@kernel
def sound(state: Boards, i: int) -> int:
    """Walls, lines, chains and hash table are what play leads to.

    Every stone is in one closed ring, and the table has a free slot: ``capture`` and ``found`` end.
    """
    facts, cells, chains, rows, seen = state.facts[i], state.cells[i], state.chains[i], state.rows[i], state.seen[i]
    size = np.int64(facts["size"])
    far = size + 1
    stones: Whole = 0
    total: Whole = 0
    all_hash = EMPTY
    walls = np.int64(0xFFFF)
    for k in range(far):
        walls &= np.int64(cells[k]) & np.int64(cells[far * far + k])
    for row in range(size):
        walls &= np.int64(cells[(row + 2) * far - 1])
        black: Whole = 0
        white: Whole = 0
        for column in range(size):
            p = (row + 1) * far + column
            history = np.int64(cells[p])
            if history & history >> 1 & 0x5555 != 0:
                return 1
            color = history & 3
            black |= (color & 1) << column
            white |= (color >> 1) << column
            if color == 0:
                continue
            stones += 1
            head = np.int64(chains[p]["head"])
            if head >= cells.shape[0] or cells[head] & 3 != color or chains[head]["head"] != head:
                return 3
            if head == p:
                found_here = ring(cells, chains, size, p)
                if found_here == 0:
                    return 3
                total += found_here
                all_hash = all_hash ^ chains[p]["hash"]
        if rows[0, row + 1] != black or rows[1, row + 1] != white:
            return 2
    if walls != 0xFFFF:
        return 1
    if total != stones or facts["hash"] != all_hash:
        return 3
    taken = np.int64(facts["captured"][0]) + np.int64(facts["captured"][1])
    moves = np.int64(facts["moves"])
    if taken + stones > moves + size * size:
        return 4
    full = 0
    for slot in range(seen.shape[0]):
        full += seen[slot] != 0
    if full > (1 if facts["superko"] == SIMPLE else moves + 1):
        return 5
    over = facts["passes"] == 2 or moves == facts["max_moves"]
    return 0 if over == (facts["over"] == 1) else 6


CONDITIONS = (
    "cells has a wall on the board, or none around it",
    "rows holds other stones than cells",
    "chains does not describe the stones of cells",
    "more stones were captured than played",
    "seen holds more positions than were played",
    "the game is over after two passes or max_moves; facts.over says otherwise",
)
"""By the numbers that ``sound`` returns."""
