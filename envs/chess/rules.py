"""The game of chess: a game's row, how it is stepped, and how games end.

``actions`` has the action numbers, ``observation`` what is seen.

The row holds how the game ended as an index into ``ENDINGS``. Mate and stalemate, material that cannot mate, 75 moves
and the fifth repetition always end a game. 50 moves and the third repetition end it if ``claim`` says so: ``"reached"``
when the position on the board fulfils the rule, ``"chess_v6"`` also when a legal move would (the mover may claim before
making it), ``"never"`` not at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, Mask, Player, Rewards, State, Status
from ..stepping.jit import entry, kernel, part
from ..stepping.machine import store_bits
from ..stepping.rng import Word, below, mix64
from .actions import NUM_ACTIONS, PACKED, action_of, move_of, number, pack
from .bits import as_array, clear, first, scratch_words
from .moves import (
    CHECKERS,
    ENEMY,
    KING_FROM,
    KING_TO,
    PIECES,
    any_move,
    count_sets,
    has_move,
    pick_from,
    scan,
)
from .position import CASTLING_KEYS, KEY, META, PIECE_KEYS, SIDE_KEY, WORDS, Position, copy, make, piece_at

__all__ = ["CLAIMS", "DTYPE", "ENDINGS", "NUM_ACTIONS", "action_of", "begin_at", "move_of"]

CLAIMS = ("never", "reached", "chess_v6")
NEVER, REACHED, AHEAD = range(3)
ENDINGS = (
    "running",
    "checkmate",
    "stalemate",
    "insufficient material",
    "seventy-five moves",
    "fivefold repetition",
    "fifty moves",
    "threefold repetition",
)
LONGEST = (127 * 150, 127 * 100, 127 * 100)
"""Upper bound on a game's plies, by claim: at most 96 pawn moves and 30 captures, with at most 150 or 100 plies between
two of these and at the end.
"""
MATE, STALEMATE, MATERIAL, SEVENTY_FIVE, FIVEFOLD, FIFTY, THREEFOLD = range(1, 8)

DTYPE = np.dtype(
    [
        ("position", np.uint64, WORDS),
        ("boards", np.uint64, (8, 4)),
        ("keys", np.uint64, 152),
        ("twice", np.uint64, 3),
        ("plies", np.uint32),
        ("known", np.uint16),
        ("repeated", np.uint8),
        ("claim", np.uint8),
        ("over", np.uint8),
    ],
    align=True,
)
"""position: see ``position``. boards: elements 0-3 of the last eight positions, the one after ply k in slot k % 8; a
pawn that had just made a double step has kind 7. keys: hashes since the last capture or pawn move, the current one
last; known: how many; twice: bit k is 1 if key k was the second occurrence. plies: played since the start. repeated:
one bit per slot of ``boards``. claim: index into CLAIMS. over: index into ENDINGS.
"""

_U = np.uint64
_0, _1, _6, _7, _8, _12, _56, _63 = (_U(k) for k in (0, 1, 6, 7, 8, 12, 56, 63))
_DARK = _U(0xAA55_AA55_AA55_AA55)
_STEPPED, _CLOCK, _CLOCKS = _U(1 << 6), _U(16), _U(0xFFFF)


def _start() -> Position:
    """[WORDS] the start position."""
    codes = [*(4, 2, 3, 5, 6, 3, 2, 4), *[1] * 8, *[0] * 32, *[9] * 8, *(12, 10, 11, 13, 14, 11, 10, 12)]
    out = np.zeros(WORDS, np.uint64)
    for square, code in enumerate(codes):
        for k in range(4):
            out[k] |= _U((code >> k & 1) << square)
    out[META] = 0b11110 | 1 << 32
    out[KEY] = np.bitwise_xor.reduce(PIECE_KEYS[codes, range(64)]) ^ CASTLING_KEYS[15]
    return out


START = _start()


# -- the row -----------------------------------------------------------------------------------------------------------


@part
def _note(state: State, i: int) -> Any:
    """Add the current position to the history of row i; returns how often it has occurred, including now."""
    row = state[i]
    position = as_array(row["position"])
    meta, key = position[META], position[KEY]
    known: Any = np.int64(row["known"])
    keys = row["keys"]
    twice = row["twice"]
    if meta >> _CLOCK & _CLOCKS == _0 or known == 0:
        known = 0
        twice[0], twice[1], twice[2] = _0, _0, _0
    seen = 0
    for k in range(known):
        seen += keys[k] == key
    keys[known] = key
    if seen == 1:
        twice[known >> 6] |= _1 << _U(known & 63)
    row["known"] = known + 1
    slot = np.int64(row["plies"]) & 7
    flag = np.uint8(1 << slot)
    row["repeated"] = row["repeated"] & ~flag | (flag if seen else np.uint8(0))
    stepped = _1 << (meta >> _7 & _63 ^ _8) if meta & _STEPPED != _0 else _0
    board = row["boards"][slot]
    board[0], board[1], board[2], board[3] = position[0], position[1] | stepped, position[2] | stepped, position[3]
    return seen + 1


@kernel
def begin_at(state: State, i: int, position: Position) -> None:
    """Start row i from a position, without history."""
    row = state[i]
    copy(position, as_array(row["position"]))
    boards = row["boards"]
    for k in range(8):
        boards[k, 0], boards[k, 1], boards[k, 2], boards[k, 3] = _0, _0, _0, _0
    row["plies"] = 0
    row["known"] = 0
    row["repeated"] = 0
    row["over"] = 0
    _note(state, i)


@entry
def judge(state: State, i: int, occurred: int) -> Any:
    """Index into ENDINGS of row i, whose position has occurred ``occurred`` times."""
    sets = scratch_words()
    return _ending(state, i, occurred, sets, scan(as_array(state[i]["position"]), sets))


@part
def _ending(state: State, i: int, occurred: int, sets: NDArray[np.uint64], end: int) -> Any:
    """``judge`` with the position's moves: ``sets`` that ``scan`` wrote, up to ``end``."""
    row = state[i]
    position = as_array(row["position"])
    stuck = not any_move(sets, end)
    if stuck and sets[CHECKERS] != _0:
        return MATE
    if _cannot_mate(position):
        return MATERIAL
    if stuck:
        return STALEMATE
    clock = np.int64(position[META] >> _CLOCK & _CLOCKS)
    if clock >= 150:
        return SEVENTY_FIVE
    if occurred >= 5:
        return FIVEFOLD
    if row["claim"] == NEVER:
        return 0
    if clock >= 100:
        return FIFTY
    if occurred >= 3:
        return THREEFOLD
    if row["claim"] == AHEAD:
        if clock == 99 and _fifty_ahead(position, sets, end):
            return FIFTY
        twice = row["twice"]
        if twice[0] | twice[1] | twice[2] != _0 and _third_ahead(state, i, sets, end):
            return THREEFOLD
    return 0


@kernel
def _cannot_mate(position: Position) -> Any:
    """No sequence of legal moves mates: bare kings, one knight, or bishops all on squares of one colour."""
    b0, b1, b2 = position[0], position[1], position[2]
    if (b2 & ~b1) | (b0 & ~b1) != _0:  # a rook or queen; a pawn or queen
        return False
    knights = b1 & ~(b0 | b2)
    bishops = b0 & b1
    if knights != _0:
        return bishops == _0 and knights & (knights - _1) == _0
    return bishops & _DARK == _0 or bishops & ~_DARK == _0


@kernel
def _fifty_ahead(position: Position, sets: NDArray[np.uint64], end: int) -> Any:
    """Whether, at a clock of 99, a legal move without capture or pawn completes fifty moves and the game goes on."""
    turned = _56 * (position[META] & _1)
    scratch = scratch_words()
    for at in range(PIECES - 2, end, 2):
        start = sets[KING_FROM] if at < PIECES else sets[at]
        targets = (sets[KING_TO] if at < PIECES else sets[at + 1]) & ~sets[ENEMY]
        while targets != _0:
            copy(position, scratch)
            make(scratch, np.int64((start ^ turned) | (first(targets) ^ turned) << _6))
            if has_move(scratch):
                return True
            targets &= targets - _1
    return False


@kernel
def _third_ahead(state: State, i: int, sets: NDArray[np.uint64], end: int) -> Any:
    """Whether a legal move makes a position of the history occur for the third time.

    Such a move captures nothing, moves no pawn and loses no castling right, so its key differs from the current one
    only by the side and the moved piece.
    """
    row = state[i]
    position, keys, twice = as_array(row["position"]), row["keys"], row["twice"]
    last = np.int64(row["known"]) - 1
    turned = _56 * (position[META] & _1)
    now = position[KEY] ^ SIDE_KEY
    for word in range(3):
        marked = twice[word]
        while marked != _0:
            k = 64 * word + np.int64(first(marked))
            marked &= marked - _1
            if (last - k) & 1 == 0:  # the same side was to move then
                continue
            change = now ^ keys[k]
            for at in range(PIECES - 2, end, 2):
                start = sets[KING_FROM] if at < PIECES else sets[at]
                targets = (sets[KING_TO] if at < PIECES else sets[at + 1]) & ~sets[ENEMY]
                code = piece_at(position, start ^ turned)
                left = PIECE_KEYS[code, start ^ turned] ^ change
                while targets != _0:
                    if PIECE_KEYS[code, first(targets) ^ turned] == left:
                        return True
                    targets &= targets - _1
    return False


# -- kernels -----------------------------------------------------------------------------------------------------------


@kernel
def reset(state: State, i: int, seed: int) -> None:
    """The start position; nothing is random."""
    begin_at(state, i, START)


@kernel
def mover(state: State, i: int) -> Any:
    """The seat to move: 0 is white."""
    return np.int64(state[i]["position"][META] & _1)


@kernel
def legal(state: State, i: int, player: Player, mask: Mask) -> None:
    """[4672] the legal actions of the mover of a running game."""
    row = state[i]
    position = as_array(row["position"])
    if row["over"] != 0 or np.int64(position[META] & _1) != player:
        clear(mask, NUM_ACTIONS)
        return
    sets, packed = scratch_words(), scratch_words()
    pack(sets, scan(position, sets), packed)
    for w in range(PACKED):
        store_bits(mask, 64 * w, packed[w])


@kernel
def draw(state: State, i: int, random_word: Word) -> Any:
    """Sample one of the mover's legal actions uniformly."""
    sets = scratch_words()
    end = scan(as_array(state[i]["position"]), sets)
    code = _U(pick_from(sets, end, below(random_word, count_sets(sets, end)), _0))
    return number(code & _63, code >> _6 & _63, code >> _12)


@kernel
def step(state: State, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """The mover moves."""
    return _pay(state, i, judge(state, i, _move(state, i, actions)), rewards)


@kernel
def step_legal(
    state: State, i: int, actions: NDArray[np.int32], rewards: Rewards, packed: NDArray[np.uint64]
) -> Status:
    """The mover moves; if the game goes on, the other side's legal actions go into packed [>= PACKED]."""
    occurred = _move(state, i, actions)
    sets = scratch_words()
    end = scan(as_array(state[i]["position"]), sets)
    status = _pay(state, i, _ending(state, i, occurred, sets, end), rewards)
    if status == RUNNING:
        pack(sets, end, packed)
    return status


@part
def _move(state: State, i: int, actions: NDArray[np.int32]) -> Any:
    """The mover moves; returns how often the new position has occurred."""
    row = state[i]
    position = as_array(row["position"])
    make(position, move_of(position, np.int64(actions[np.int64(position[META] & _1)])))
    row["plies"] += 1
    return _note(state, i)


@part
def _pay(state: State, i: int, ending: int, rewards: Rewards) -> Status:
    """Write the ending and the rewards of row i; returns its status."""
    if ending == 0:
        return RUNNING
    row = state[i]
    row["over"] = ending
    if ending == MATE:
        mated = np.int64(row["position"][META] & _1)
        rewards[1 - mated] = 1.0
        rewards[mated] = -1.0
    return TERMINATED


@kernel
def key(state: State, i: int) -> Word:
    """Position, clock, and the positions that can still be repeated: all that the rest of the game depends on."""
    row = state[i]
    position = as_array(row["position"])
    word: Word = position[KEY] ^ mix64(position[META] >> _CLOCK & _CLOCKS)
    keys = row["keys"]
    known: Any = np.int64(row["known"])
    for k in range(known - 1):
        word ^= mix64(keys[k] ^ _U(k))
    return word
