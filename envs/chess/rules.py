"""The game of chess: a game's row, how games end, and what players observe.

Action numbers and observation are those of PettingZoo's chess_v6, from the mover's side of the board: for black
the ranks are flipped. An action is ``(8 * file + rank) * 73 + plane`` of the piece that moves (for black
rank 0 is the eighth), and the plane is the kind of move::

    0-55   like a queen: 8 * (distance - 1) + direction, directions ordered by file step, then rank step:
           0 (-1,-1)  1 (-1,0)  2 (-1,+1)  3 (0,-1)  4 (0,+1)  5 (+1,-1)  6 (+1,0)  7 (+1,+1)
           castling is the king's move; a pawn that reaches the last rank becomes a queen
    56-63  like a knight: (-2,-1) (-2,+1) (-1,-2) (-1,+2) (+1,-2) (+1,+2) (+2,-1) (+2,+1)
    64-72  underpromotion: 64 + 3 * (file step + 1) + (0 knight, 1 bishop, 2 rook)

The row holds how the game ended as an index into ``ENDINGS``. Mate and stalemate, material that cannot mate, 75 moves
and the fifth repetition always end a game. 50 moves and the third repetition end it if ``claim`` says so: ``"reached"``
when the position on the board fulfils the rule, ``"chess_v6"`` also when a legal move would (the mover may claim before
making it), ``"never"`` not at all.

The file is longer than most: all its kernels read one row, and tables share a file with the kernels that read them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, Mask, Player, Rewards, State, Status
from ..stepping.jit import entry, kernel, part
from ..stepping.machine import store_bits, store_word
from ..stepping.rng import Word, below, mix64
from .bits import as_array, clear, first, flip, put_byte, scratch_words
from .moves import (
    CHECKERS,
    DOUBLE,
    EAST,
    ENEMY,
    EP_FROM,
    EP_TO,
    KING_FROM,
    KING_TO,
    PIECES,
    SINGLE,
    WEST,
    any_move,
    count_sets,
    has_move,
    pick_from,
    scan,
)
from .position import CASTLING_KEYS, KEY, META, PIECE_KEYS, SIDE_KEY, WORDS, Bits, Position, copy, make, piece_at

__all__ = ["CLAIMS", "DTYPE", "ENDINGS", "NUM_ACTIONS", "action_of", "begin_at", "move_of"]

NUM_ACTIONS = 64 * 73
PACKED = 73
"""The uint64 elements of a packed mask."""
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
_0, _1, _2, _3, _4, _5, _6, _7, _8, _9 = (_U(k) for k in range(10))
_12, _16, _24, _32, _48, _56, _63 = (_U(k) for k in (12, 16, 24, 32, 48, 56, 63))
_DARK = _U(0xAA55_AA55_AA55_AA55)
_STEPPED, _CLOCK, _CLOCKS = _U(1 << 6), _U(16), _U(0xFFFF)
CELL = 111
"""Bytes per square of an observation: 7, then 13 for each of eight boards."""


_SIDES = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y]
_JUMPS = [(x, y) for x in (-2, -1, 1, 2) for y in (-2, -1, 1, 2) if abs(x) != abs(y)]
_PLANES = (
    [(n * x, n * y) for n in range(1, 8) for x, y in _SIDES] + _JUMPS + [(x, 1) for x in (-1, 0, 1) for _ in "nbr"]
)

STEPS: NDArray[np.int64] = np.array([x + 8 * y for x, y in _PLANES])
"""[73] what a plane adds to the number of the start square."""

PROMOTED: NDArray[np.int64] = np.array([0] * 64 + [2, 3, 4] * 3)
"""[73] the kind that a plane promotes to; 0 for none or a queen."""


def _actions() -> NDArray[np.int16]:
    """[64, 64] the action from one square to another (without underpromotions); 0 if there is none."""
    out = np.zeros((64, 64), np.int16)
    for start in range(64):
        for plane, (dx, dy) in enumerate(_PLANES[:64]):
            x, y = start % 8 + dx, start // 8 + dy
            if 0 <= x < 8 and 0 <= y < 8:
                out[start, 8 * y + x] = (8 * (start % 8) + start // 8) * 73 + plane
    return out


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


ACTIONS = _actions()
START = _start()


# -- actions -----------------------------------------------------------------------------------------------------------


@kernel
def _number(start: Bits, target: Bits, promotion: Bits) -> Any:
    """The action of a move seen from the mover's side."""
    if promotion == _0 or promotion == _5:  # noqa: SIM109 (a tuple is slow)
        return np.int64(ACTIONS[start, target])
    plane = _U(64) + _3 * (target - start - _7) + promotion - _2
    return np.int64((_8 * (start & _7) + (start >> _3)) * _U(73) + plane)


@kernel
def action_of(position: Position, move: Any) -> Any:
    """The action number of a legal move."""
    code = _U(move)
    turned = _56 * (position[META] & _1)
    return _number(code & _63 ^ turned, code >> _6 & _63 ^ turned, code >> _12)


@kernel
def move_of(position: Position, action: Any) -> Any:
    """The move of an action number in a position; -1 if its target is off the board or its start square is empty.

    Also -1 for a promotion by another piece or before the last rank. The move is legal only if the action is.
    """
    corner = action // 73
    plane = action - 73 * corner
    start = (corner & 7) * 8 + (corner >> 3)
    target = start + STEPS[plane]
    if not 0 <= target < 64 or ACTIONS[start, target] == 0 or (plane < 64 and ACTIONS[start, target] != action):
        return -1
    turned = np.int64(56 * (position[META] & _1))
    kind = piece_at(position, _U(start ^ turned)) & _7
    promotion = PROMOTED[plane]
    if kind == _0 or (promotion != 0 and (kind != _1 or target < 56)):
        return -1
    if kind == _1 and target >= 56 and promotion == 0:
        promotion = 5
    return (start ^ turned) | (target ^ turned) << 6 | promotion << 12


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
    _pack(sets, scan(position, sets), packed)
    for w in range(PACKED):
        store_bits(mask, 64 * w, packed[w])


@part
def _pack(sets: NDArray[np.uint64], end: int, packed: NDArray[np.uint64]) -> None:
    """The actions of sets written by ``scan``, as bits of packed [>= PACKED]."""
    clear(packed, 8 * PACKED)
    for way in range(4):
        targets = sets[WEST] if way == 0 else sets[EAST] if way == 1 else sets[SINGLE] if way == 2 else sets[DOUBLE]
        back = _7 if way == 0 else _9 if way == 1 else _8 if way == 2 else _16
        while targets != _0:
            target = first(targets)
            targets &= targets - _1
            _mark(packed, np.int64(ACTIONS[target - back, target]))
            if target >= _56:
                for kind in range(2, 5):
                    _mark(packed, _number(target - back, target, _U(kind)))
    takers = sets[EP_FROM]
    while takers != _0:
        _mark(packed, np.int64(ACTIONS[first(takers), sets[EP_TO]]))
        takers &= takers - _1
    for at in range(PIECES - 2, end, 2):
        start = sets[KING_FROM] if at < PIECES else sets[at]
        targets = sets[KING_TO] if at < PIECES else sets[at + 1]
        while targets != _0:
            _mark(packed, np.int64(ACTIONS[start, first(targets)]))
            targets &= targets - _1


@kernel
def _mark(packed: NDArray[np.uint64], action: Any) -> None:
    packed[action >> 6] |= _1 << _U(action & 63)


@kernel
def draw(state: State, i: int, random_word: Word) -> Any:
    """Sample one of the mover's legal actions uniformly."""
    sets = scratch_words()
    end = scan(as_array(state[i]["position"]), sets)
    code = _U(pick_from(sets, end, below(random_word, count_sets(sets, end)), _0))
    return _number(code & _63, code >> _6 & _63, code >> _12)


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
        _pack(sets, end, packed)
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
def observe(state: State, i: int, player: Player, out: NDArray[np.bool_]) -> None:
    """[8, 8, 111] the board from ``player``'s side, the rank farthest from it first, and the seven boards before.

    Planes 0-3: own queenside and kingside castling, then the other's; 4: player is black; 5: halfmove clock, a 1 in one
    cell; 6: ones. From 7 on 13 planes per board, the latest first: own pawn, knight, bishop, rook, queen, king, the
    other's six, and whether the position had occurred before. A pawn that just made a double step appears on its side's
    first rank instead.
    """
    row = state[i]
    meta = row["position"][META]
    rights = meta >> _1 & _U(15)
    black = player != 0
    if black:
        rights = rights >> _2 | (rights & _3) << _2
    cell = (rights >> _1 & _1) | (rights & _1) << _8 | (rights >> _3) << _16 | (rights >> _2 & _1) << _24
    cell |= _U(black) << _32 | _1 << _48
    clear(out, 64 * CELL)
    for c in range(64):
        store_word(out, CELL * c, cell)
    clock: Any = min(np.int64(meta >> _CLOCK & _CLOCKS) >> 1, 63)
    put_byte(out, CELL * (clock if black else clock ^ 56) + 5)
    plies: Any = np.int64(row["plies"])
    history, repeated = row["boards"], np.int64(row["repeated"])
    known = min(plies + 1, 8)
    latest = history[plies & 7]
    same = ~(latest[0] & latest[1] & latest[2])
    for t in range(1, known):
        board = history[plies - t & 7]
        same &= ~(latest[0] ^ board[0] | latest[1] ^ board[1] | latest[2] ^ board[2] | latest[3] ^ board[3])
    _observe_pieces(latest, same, black, 7, known, out)
    for t in range(known):
        slot = plies - t & 7
        _observe_pieces(history[slot], ~same, black, 7 + 13 * t, 1, out)
        if repeated >> slot & 1:
            for c in range(64):
                put_byte(out, CELL * c + 19 + 13 * t)


@part
def _observe_pieces(
    board: NDArray[np.uint64], where: Bits, black: bool, at: int, times: int, out: NDArray[np.bool_]
) -> None:
    """Mark a board's pieces on the squares ``where``, from byte ``at`` of each cell, on ``times`` boards in a row."""
    b0, b1, b2, b3 = board[0] & where, board[1] & where, board[2] & where, board[3]
    stepped = b0 & b1 & b2
    if stepped != _0:
        home = stepped << _24 if stepped & b3 != _0 else stepped >> _24
        theirs = (stepped & b3 != _0) != black
        b0, b1, b2 = b0 ^ stepped, b1 ^ stepped, b2 ^ stepped
        put_byte(out, CELL * np.int64(first(home if black else flip(home))) + at + (6 if theirs else 0))
    if black:
        b3 = ~b3
    else:
        b0, b1, b2, b3 = flip(b0), flip(b1), flip(b2), flip(b3)
    every = b0 | b1 | b2
    while every != _0:
        c = first(every)
        every &= every - _1
        kind = (b0 >> c & _1) + (b1 >> c & _1) * _2 + (b2 >> c & _1) * _4 + (b3 >> c & _1) * _6
        byte = np.int64(c * _U(CELL) + kind) + at - 1
        for t in range(times):
            put_byte(out, byte + 13 * t)


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
