"""The rules of Go as kernels: chains of stones, captures, superko by position hashes, area scoring.

A board is a flat array of cells with a wall around it, so that neighbours need no bounds checks. A line of the board is
``size + 1`` cells wide: the wall at its right end is also the wall at the left of the next line. Size 5, with the
action numbers of the points::

     #  #  #  #  #  #        cell of action a = (a // size + 1) * (size + 1) + a % size
     0  1  2  3  4  #        neighbours of cell p: p - size - 1, p - 1, p + 1, p + size + 1
     5  6  7  8  9  #
    10 11 12 13 14  #        action 0 is the top left corner, A5; action size * size is a pass
    15 16 17 18 19  #
    20 21 22 23 24  #
     #  #  #  #  #  #

A cell has 16 bits: bits 0 and 1 mean black and white (both: wall; none: empty) now, bits 2 and 3 the same one turn ago,
and so on for eight positions. These bits, spread over 16 bytes, are the cell's part of an observation.

A chain is a set of connected stones of one colour. Its stones form a ring (``next``) and name one of them as ``head``,
whose entry has the chain's facts. A liberty is counted once for every stone that it touches, which is cheap to keep up
to date. Since an empty point p thus counts as often as the chain has stones next to p, p is the chain's *last* liberty
exactly if the two numbers are equal. The rules need no other count.
Source: "pseudo-liberties", https://senseis.xmp.net/?PseudoLiberty

Superko: every position has a 64-bit Zobrist hash, all hashes of a game are in an open-addressing hash table in the
row, and a move is illegal if that table has the hash of the resulting position (own stone added, captured chains
removed, each by one exclusive or). The probability that two positions of a game share a hash is about
``max_moves ** 2 / 2 ** 65``.

This file is longer than others because chains, captures, superko, scoring and masks are kernels over one row that call
each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, Mask, Player, Rewards, Status
from ..stepping.jit import kernel
from ..stepping.machine import store_word
from ..stepping.rng import Word, below, mix64, word

__all__ = [
    "ILLEGAL",
    "KO",
    "MAX_SIZE",
    "MIN_SIZE",
    "OCCUPIED",
    "POSITIONAL",
    "SIMPLE",
    "SITUATIONAL",
    "SUICIDE",
    "Boards",
    "area",
    "cell_of",
    "draw",
    "enter",
    "key",
    "legal",
    "mover",
    "observe",
    "remember",
    "reset",
    "step",
    "verdict",
    "wipe",
]

Whole: TypeAlias = Any
"""An integer: np.int64 in kernels, int outside."""

MIN_SIZE, MAX_SIZE = 5, 19
POSITIONAL, SITUATIONAL, SIMPLE = range(3)
FINE, OCCUPIED, SUICIDE, KO = range(4)
ILLEGAL = {OCCUPIED: "occupied", SUICIDE: "suicide", KO: "ko"}
"""Why a point cannot be played, by ``verdict``."""

FACTS = np.dtype(
    [
        ("hash", np.uint64),
        ("trail", np.uint64),
        ("max_moves", np.int32),
        ("moves", np.int32),
        ("last", np.int32),
        ("captured", np.int32, (2,)),
        ("usual_komi", np.int16),
        ("komi", np.int16),
        ("size", np.uint8),
        ("handicap", np.uint8),
        ("superko", np.uint8),
        ("mover", np.uint8),
        ("passes", np.uint8),
        ("over", np.uint8),
    ]
)
"""hash: of the stones on the board; trail: hash of the set of positions that may not repeat.

max_moves: moves after which the game is scored; moves: moves played; last: the last action, or -1; captured: stones
captured by each player; usual_komi: half points for white, as configured; komi: those of the current game (a record may
have its own); superko: POSITIONAL, SITUATIONAL or SIMPLE; mover: the current player, 0 is black; passes: consecutive
passes; over: 1 when the game has ended.
"""

CHAIN = np.dtype(
    [("hash", np.uint64), ("head", np.uint16), ("next", np.uint16), ("size", np.uint16), ("libs", np.uint16)]
)
"""hash: of all its stones; head, next: cells; size: stones; libs: liberties, once for each stone they touch.

All but ``next`` and ``head`` are valid only in the head's entry. Entries of empty cells have no meaning.
"""


class Boards(NamedTuple):
    """N games; C cells, T slots.

    Attributes:
        facts: [N] FACTS.
        cells: [N, C] uint16 eight positions of two bits each, the newest in the lowest bits.
        chains: [N, C] CHAIN.
        rows: [N, 4, size + 2] uint32 one bit per column, row r of the board at r + 1: black stones, white stones,
            points that have ever had a black stone, a white stone.
        seen: [N, T] uint64 hash table of the positions that may not repeat, 0 in free slots; T is a power of two.
    """

    facts: NDArray[Any]
    cells: NDArray[np.uint16]
    chains: NDArray[Any]
    rows: NDArray[np.uint32]
    seen: NDArray[np.uint64]


def _random_words(count: int, salt: int) -> NDArray[np.uint64]:
    """[count] uint64 random bits: SplitMix64 (see ``rng``) over whole arrays, which overflow without a warning."""
    x = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


CELLS = (MAX_SIZE + 2) * (MAX_SIZE + 1)
STONES: NDArray[np.uint64] = _random_words(2 * CELLS, 1 << 32).reshape(2, CELLS)
"""[2, C] hash of a stone of player 0, 1 on a cell."""

EMPTY, SIDE = (np.uint64(word) for word in _random_words(2, 1 << 33))
"""Hash of the empty board; what is XORed into a position's hash when white is to move (situational superko)."""

BYTES: NDArray[np.uint64] = np.array([sum((k >> c & 1) << 8 * c for c in range(8)) for k in range(256)], np.uint64)
"""[256] the eight bits of each number, one byte per bit."""


@kernel
def cell_of(size: Whole, action: Whole) -> Whole:
    """The cell of a point."""
    return (action // size + 1) * (size + 1) + action % size


@kernel
def neighbour(size: Whole, cell: Whole, side: int) -> Whole:
    """The neighbouring cell: side 0..3 is above, left, right, below."""
    far = size + 1
    return cell + (-far if side == 0 else -1 if side == 1 else 1 if side == 2 else far)


# -- positions ---------------------------------------------------------------------------------------------------------


@kernel
def wipe(state: Boards, i: int) -> None:
    """Empty the board and its history; the turn stays."""
    facts, cells = state.facts[i], state.cells[i]
    size = np.int64(facts["size"])
    facts["hash"] = EMPTY
    for p in range(cells.shape[0]):
        column = p % (size + 1)
        cells[p] = 0xFFFF if p <= size or p >= (size + 1) ** 2 or column == size else 0
    rows = state.rows[i]
    for color in range(4):
        for row in range(rows.shape[1]):
            rows[color, row] = 0
    forget(state, i)


@kernel
def forget(state: Boards, i: int) -> None:
    """Clear the hash table: any position may repeat."""
    seen = state.seen[i]
    for slot in range(seen.shape[0]):
        seen[slot] = 0
    state.facts[i]["trail"] = 0


@kernel
def found(seen: NDArray[np.uint64], position: Word) -> Any:
    """Whether a hash is in the table."""
    last = seen.shape[0] - 1
    slot = np.int64(position & np.uint64(last))
    while seen[slot] != 0:
        if seen[slot] == position:
            return True
        slot = (slot + 1) & last
    return False


@kernel
def forbid(state: Boards, i: int, position: Word) -> None:
    """Put a hash into the table."""
    facts, seen = state.facts[i], state.seen[i]
    last = seen.shape[0] - 1
    slot = np.int64(position & np.uint64(last))
    while seen[slot] != 0:
        if seen[slot] == position:
            return
        slot = (slot + 1) & last
    seen[slot] = position
    facts["trail"] = facts["trail"] ^ mix64(position)


@kernel
def remember(state: Boards, i: int) -> None:
    """Under a superko rule, forbid that the current position repeats."""
    facts = state.facts[i]
    if facts["superko"] == POSITIONAL:
        forbid(state, i, facts["hash"])
    elif facts["superko"] == SITUATIONAL:
        forbid(state, i, facts["hash"] ^ SIDE if facts["mover"] == 1 else facts["hash"])


@kernel
def capture(state: Boards, i: int, stone: Whole) -> Whole:
    """Remove the chain of that stone from the board; returns its number of stones."""
    facts, cells, chains, rows = state.facts[i], state.cells[i], state.chains[i], state.rows[i]
    size = np.int64(facts["size"])
    head = np.int64(chains[stone]["head"])
    plane = np.int64(cells[stone] & 3) - 1
    facts["hash"] = facts["hash"] ^ chains[head]["hash"]
    taken: Whole = 0
    q = np.int64(stone)
    while True:
        cells[q] = cells[q] & 0xFFFC
        rows[plane, q // (size + 1)] &= ~(1 << q % (size + 1))
        for side in range(4):
            n = neighbour(size, q, side)
            if cells[n] & 3 == 1 or cells[n] & 3 == 2:
                chains[chains[n]["head"]]["libs"] += 1
        taken += 1
        q = np.int64(chains[q]["next"])
        if q == stone:
            return taken


@kernel
def join(state: Boards, i: int, p: Whole, q: Whole) -> None:
    """Merge the chains of stones p and q: the smaller one changes its head."""
    chains = state.chains[i]
    a, b = np.int64(chains[p]["head"]), np.int64(chains[q]["head"])
    if a == b:
        return
    if chains[a]["size"] < chains[b]["size"]:
        a, b = b, a
    chains[a]["size"] += chains[b]["size"]
    chains[a]["libs"] += chains[b]["libs"]
    chains[a]["hash"] = chains[a]["hash"] ^ chains[b]["hash"]
    r = b
    while True:
        chains[r]["head"] = a
        r = np.int64(chains[r]["next"])
        if r == b:
            break
    after = np.int64(chains[a]["next"])
    chains[a]["next"] = chains[b]["next"]
    chains[b]["next"] = after


@kernel
def enter(state: Boards, i: int, p: Whole, player: Whole) -> Whole:
    """Put a stone on the empty cell p and remove opposing chains without liberties; returns the stones captured."""
    facts, cells, chains, rows = state.facts[i], state.cells[i], state.chains[i], state.rows[i]
    size = np.int64(facts["size"])
    rows[player, p // (size + 1)] |= 1 << p % (size + 1)
    rows[2 + player, p // (size + 1)] |= 1 << p % (size + 1)
    stone = STONES[player, p]
    facts["hash"] = facts["hash"] ^ stone
    cells[p] = cells[p] | (player + 1)
    free = 0
    for side in range(4):
        n = neighbour(size, p, side)
        color = cells[n] & 3
        if color == 0:
            free += 1
        elif color != 3:
            chains[chains[n]["head"]]["libs"] -= 1
    chains[p]["hash"] = stone
    chains[p]["head"] = p
    chains[p]["next"] = p
    chains[p]["size"] = 1
    chains[p]["libs"] = free
    taken: Whole = 0
    for side in range(4):
        n = neighbour(size, p, side)
        color = cells[n] & 3
        if color == player + 1:
            join(state, i, p, n)
        elif color == 2 - player and chains[chains[n]["head"]]["libs"] == 0:
            taken += capture(state, i, n)
    return taken


@kernel
def handicap_point(size: Whole, count: Whole, k: int) -> Whole:
    """The action of handicap stone k of ``count``, placed as in GTP's fixed_handicap.

    In this order::

        2 7 1       corners first: bottom left, top right, top left, bottom right; then left and right, top and bottom.
        4 c 5       Odd counts from 5 on put their last stone on the centre, c.
        0 6 3

    Source: "GTP - Go Text Protocol, version 2, draft 2", section 4.1.1.
    """
    near = 2 if size < 13 else 3
    far, half = size - 1 - near, size // 2
    if count % 2 == 1 and count >= 5 and k == count - 1:
        return half * size + half
    row = near if k == 1 or k == 2 or k == 7 else half if k == 4 or k == 5 else far
    column = near if k == 0 or k == 2 or k == 4 else half if k >= 6 else far
    return row * size + column


# -- verbs -------------------------------------------------------------------------------------------------------------


@kernel
def reset(state: Boards, i: int, seed: int) -> None:
    """Start with the empty board, or with handicap stones and white to move; nothing is random."""
    facts = state.facts[i]
    wipe(state, i)
    facts["komi"] = facts["usual_komi"]
    facts["moves"] = 0
    facts["last"] = -1
    facts["captured"][0] = 0
    facts["captured"][1] = 0
    facts["passes"] = 0
    facts["over"] = 0
    size, count = np.int64(facts["size"]), np.int64(facts["handicap"])
    facts["mover"] = 1 if count > 0 else 0
    for k in range(count):
        enter(state, i, cell_of(size, handicap_point(size, count, k)), 0)
    remember(state, i)


@kernel
def mover(state: Boards, i: int) -> Any:
    """The seat to move."""
    return np.int64(state.facts[i]["mover"])


@kernel
def judge(
    cells: NDArray[np.uint16],
    chains: NDArray[Any],
    seen: NDArray[np.uint64],
    far: Whole,
    p: Whole,
    own: Whole,
    base: Word,
) -> Any:
    """The ``verdict`` on the empty cell p in a board ``far`` cells wide, for a stone of colour ``own``.

    ``base``: see ``base_of``. It is unrolled over the four neighbours because a batch spends most of its time here.
    """
    n0, n1, n2, n3 = np.uint64(p - far), np.uint64(p - 1), np.uint64(p + 1), np.uint64(p + far)
    c0, c1, c2, c3 = cells[n0] & 3, cells[n1] & 3, cells[n2] & 3, cells[n3] & 3
    breathes = c0 == 0 or c1 == 0 or c2 == 0 or c3 == 0
    after = base ^ STONES[own - 1, np.uint64(p)]
    # Heads of the neighbouring chains; a wall or an empty cell has a distinct number that no chain has.
    h0 = np.int64(chains[n0]["head"]) if c0 == 1 or c0 == 2 else -1
    h1 = np.int64(chains[n1]["head"]) if c1 == 1 or c1 == 2 else -2
    h2 = np.int64(chains[n2]["head"]) if c2 == 1 or c2 == 2 else -3
    h3 = np.int64(chains[n3]["head"]) if c3 == 1 or c3 == 2 else -4
    e01, e02, e03, e12, e13, e23 = h0 == h1, h0 == h2, h0 == h3, h1 == h2, h1 == h3, h2 == h3
    if h0 >= 0:
        last = chains[np.uint64(h0)]["libs"] == 1 + np.int64(e01) + np.int64(e02) + np.int64(e03)
        breathes |= last != (c0 == own)
        if last and c0 != own:
            after = after ^ chains[np.uint64(h0)]["hash"]
    if h1 >= 0:
        last = chains[np.uint64(h1)]["libs"] == 1 + np.int64(e01) + np.int64(e12) + np.int64(e13)
        breathes |= last != (c1 == own)
        if last and c1 != own and not e01:
            after = after ^ chains[np.uint64(h1)]["hash"]
    if h2 >= 0:
        last = chains[np.uint64(h2)]["libs"] == 1 + np.int64(e02) + np.int64(e12) + np.int64(e23)
        breathes |= last != (c2 == own)
        if last and c2 != own and not (e02 or e12):
            after = after ^ chains[np.uint64(h2)]["hash"]
    if h3 >= 0:
        last = chains[np.uint64(h3)]["libs"] == 1 + np.int64(e03) + np.int64(e13) + np.int64(e23)
        breathes |= last != (c3 == own)
        if last and c3 != own and not (e03 or e13 or e23):
            after = after ^ chains[np.uint64(h3)]["hash"]
    if not breathes:
        return SUICIDE
    return KO if base != 0 and found(seen, after) else FINE


@kernel
def base_of(state: Boards, i: int) -> Word:
    """The hash that a move's changes are XORed into, or 0 if no position can repeat.

    None can repeat before the first capture, since every stone played adds to the number of stones.
    """
    facts = state.facts[i]
    if facts["captured"][0] + facts["captured"][1] == 0:
        return np.uint64(0)
    return facts["hash"] ^ SIDE if facts["superko"] == SITUATIONAL and facts["mover"] == 0 else facts["hash"]


@kernel
def verdict(state: Boards, i: int, p: Whole) -> Whole:
    """Whether the current player may put a stone on cell p: FINE, OCCUPIED, SUICIDE or KO."""
    facts, cells = state.facts[i], state.cells[i]
    if cells[p] & 3 != 0:
        return OCCUPIED
    far, own = np.int64(facts["size"]) + 1, np.int64(facts["mover"]) + 1
    return judge(cells, state.chains[i], state.seen[i], far, p, own, base_of(state, i))


@kernel
def legal(state: Boards, i: int, player: Player, mask: Mask) -> None:
    """Write the mask: empty points without suicide and ko, and the pass; all 0 if ``player`` is not to move."""
    facts, cells, chains, seen = state.facts[i], state.cells[i], state.chains[i], state.seen[i]
    size = np.int64(facts["size"])
    if facts["over"] != 0 or facts["mover"] != player:
        mask[:] = 0
        return
    rows, base, own, full = state.rows[i], base_of(state, i), np.int64(player) + 1, (1 << size) - 1
    here: Whole = 0
    below_it: Whole = full & ~np.int64(rows[0, 1] | rows[1, 1])
    for row in range(size):
        above, here = here, below_it
        below_it = full & ~np.int64(rows[0, row + 2] | rows[1, row + 2]) if row + 1 < size else 0
        # A point with an empty neighbour is no suicide; a point that never had an own stone repeats no position.
        sure = here & (here << 1 | here >> 1 | above | below_it)
        if base != 0:
            sure &= ~np.int64(rows[1 + own, row + 1])
        for column in range(0, size, 8):
            at = row * size + column
            if at + 8 <= size * size:  # this may write beyond the row; the next row overwrites it
                store_word(mask, at, BYTES[sure >> column & 255])
            else:
                for k in range(at, size * size):
                    mask[k] = sure >> (column + k - at) & 1
        unsure = here & ~sure
        column = 0
        while unsure != 0:
            if unsure & 1 != 0:
                p = (row + 1) * (size + 1) + column
                mask[row * size + column] = judge(cells, chains, seen, size + 1, p, own, base) == FINE
            unsure >>= 1
            column += 1
    mask[size * size] = 1


@kernel
def draw(state: Boards, i: int, random_word: Word) -> Any:
    """A uniformly random legal action: actions are sampled until one is legal (a pass always is)."""
    size: Whole = np.int64(state.facts[i]["size"])
    tries = 0
    while True:
        action = below(word(random_word, tries), size * size + 1)
        if action == size * size or verdict(state, i, cell_of(size, action)) == FINE:
            return action
        tries += 1


@kernel
def step(state: Boards, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """Play a stone or a pass; after two passes, or the last move allowed, the game ends and is scored."""
    facts, cells = state.facts[i], state.cells[i]
    size, player = np.int64(facts["size"]), np.int64(facts["mover"])
    action = np.int64(actions[player])
    for p in range(cells.shape[0]):
        cells[p] = ((cells[p] << 2) | (cells[p] & 3)) & 0xFFFF
    before = facts["hash"]
    if facts["superko"] == SIMPLE:
        forget(state, i)
    if action == size * size:
        facts["passes"] += 1
    else:
        facts["passes"] = 0
        p = cell_of(size, action)
        taken = enter(state, i, p, player)
        facts["captured"][player] += taken
        chain = state.chains[i][p]
        if facts["superko"] == SIMPLE and taken == 1 and chain["size"] == 1 and chain["libs"] == 1:
            forbid(state, i, before)
    facts["last"] = action
    facts["moves"] += 1
    facts["mover"] = 1 - player
    remember(state, i)
    if facts["passes"] < 2 and facts["moves"] < facts["max_moves"]:
        return RUNNING
    facts["over"] = 1
    points = area(state, i) - facts["komi"]
    if points != 0:
        rewards[0] = 1.0 if points > 0 else -1.0
        rewards[1] = -rewards[0]
    return TERMINATED


@kernel
def area(state: Boards, i: int) -> Any:
    """Black's area minus white's, in half points without komi; uses the chain entries of empty cells as scratch.

    A player's area is its stones and the empty points from which no path over empty points reaches the other's stones
    (Tromp-Taylor): all stones count as alive. Sweeps forwards and backwards spread what is reached until nothing
    changes.
    """
    cells, chains = state.cells[i], state.chains[i]
    size = np.int64(state.facts[i]["size"])
    for p in range(cells.shape[0]):
        if cells[p] & 3 == 0:
            chains[p]["libs"] = 0
    backwards, changed, unchanged = False, True, 0
    while unchanged < 2:
        changed = False
        for k in range(size * size):
            p = cell_of(size, size * size - 1 - k if backwards else k)
            if cells[p] & 3 != 0:
                continue
            reached: Whole = np.int64(chains[p]["libs"])
            for side in range(4):
                n = neighbour(size, p, side)
                color = np.int64(cells[n] & 3)
                reached |= np.int64(chains[n]["libs"]) if color == 0 else color if color != 3 else 0
            if reached != chains[p]["libs"]:
                chains[p]["libs"] = reached
                changed = True
        backwards = not backwards
        unchanged = 0 if changed else unchanged + 1
    points: Whole = 0
    for k in range(size * size):
        p = cell_of(size, k)
        owner = np.int64(cells[p] & 3)
        if owner == 0:
            owner = np.int64(chains[p]["libs"])
        points += 2 * (np.int64(owner == 1) - np.int64(owner == 2))
    return points


@kernel
def observe(state: Boards, i: int, player: Player, out: NDArray[np.bool_]) -> None:
    """[size, size, 17] eight positions, newest first: own stones, the opponent's; then whether ``player`` is black."""
    facts, cells = state.facts[i], state.cells[i]
    size = np.int64(facts["size"])
    black = player == 0
    for row in range(size):
        for column in range(size):
            word = np.int64(cells[(row + 1) * (size + 1) + column])
            if not black:
                word = (word & 0x5555) << 1 | (word >> 1 & 0x5555)
            offset = (row * size + column) * 17
            store_word(out, offset, BYTES[word & 255])
            store_word(out, offset + 8, BYTES[word >> 8])
            out[row, column, 16] = black


@kernel
def key(state: Boards, i: int) -> Word:
    """Hash of the stones, current player, passes, komi, moves so far, and the set of positions that may not repeat."""
    facts = state.facts[i]
    small = np.int64(facts["moves"]) << 32 | (np.int64(facts["komi"]) & 0xFFFF) << 8
    small |= np.int64(facts["passes"]) << 1 | np.int64(facts["mover"])
    return mix64(facts["hash"] ^ mix64(facts["trail"] ^ mix64(np.uint64(small))))
