"""Hex. X connects the top edge with the bottom, O the left edge with the right.

Cells are numbered row by row; each row is half a cell to the right of the one above, so a cell touches two
cells in each neighbouring row. Size 4, with the usual names::

    a1 b1 c1 d1              0  1  2  3
      a2 b2 c2 d2              4  5  6  7
        a3 b3 c3 d3              8  9 10 11
          a4 b4 c4 d4             12 13 14 15

The optional swap rule: as its first move, O may take over X's stone instead. The stone becomes O's and moves to its
mirror image (c1 to a3), where it is worth to O what it was worth to X; the seats keep their edges.

A union-find forest with path halving holds the connected stones; the four edges are nodes too. Tests check that a full
board has exactly one winner, and that the game ends with the stone that connects.

The file is longer than most: like every game of one file, it holds rules, observations, texts and notation.

Left out: resigning, draws by agreement (there are none), boards with sides of different lengths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, Action, Mask, Player, Rewards, Status
from ..errors import AmbiguousAction, IllegalAction, InvalidAction, NotationError
from .answers import true_or_false, whole_number
from .core import Game, GameInfo, GameRecord, Kernels, Written
from .replay.sgf import commented, sgf_text, timed
from .stepping.jit import kernel
from .stepping.machine import store_word
from .stepping.rng import Word, word
from .stepping.scratch import scratch

__all__ = ["board", "hex", "neighbours"]

SMALLEST, LARGEST = 3, 19

SIZE, SWAP, MOVER, TURN, OVER, LAST = range(6)
"""Columns of ``Boards.facts``: cells per side, 1 with the swap rule, the seat to move, turns played, 1 at the end, the
cell of the last stone (for rendering only).
"""

NODES = LARGEST**2 + 4
DEEPEST = 10
"""Passes of pointer jumping: no tree is deeper than two to the power of this."""

_1, _TWICE = np.uint64(1), np.uint64(1 << 32 | 1)

LETTERS = "abcdefghijklmnopqrs"


class Boards(NamedTuple):
    """N games of size S.

    Attributes:
        facts: [N, 6] int16, see ``SIZE``.
        stones: [N, S * S] int8: 0 empty, 1 X (player 0), 2 O (player 1).
        links: [N, S * S + 4] int16: each node's parent in the forest: the cells, then top, bottom, left, right.
    """

    facts: NDArray[np.int16]
    stones: NDArray[np.int8]
    links: NDArray[np.int16]


@kernel
def root(links: NDArray[np.int16], i: int, node: Any) -> Any:
    """The root of a node's tree; halves the path on the way."""
    while links[i, node] != node:
        links[i, node] = links[i, links[i, node]]
        node = links[i, node]
    return node


@kernel
def connect(state: Boards, i: int, cell: Any, player: Any) -> None:
    """Place a stone and hang on it the trees of the neighbours of its colour and of the player's edges it touches."""
    links, size, color = state.links, np.int64(state.facts[i, SIZE]), player + 1
    state.stones[i, cell] = color
    r, c = cell // size, cell % size
    for down in range(-1, 2):
        for right in range(-1, 2):
            near = cell + down * size + right
            on_board = down != right and 0 <= r + down < size and 0 <= c + right < size
            if on_board and state.stones[i, near] == color:
                links[i, root(links, i, near)] = cell
    along, edge = r if player == 0 else c, size * size + 2 * player
    if along == 0:
        links[i, root(links, i, edge)] = cell
    if along == size - 1:
        links[i, root(links, i, edge + 1)] = cell


@kernel
def reset(state: Boards, i: int, seed: int) -> None:
    """Empty board, X to move; nothing is random."""
    state.stones[i, :] = 0
    for node in range(state.links.shape[1]):
        state.links[i, node] = node
    state.facts[i, MOVER] = 0
    state.facts[i, TURN] = 0
    state.facts[i, OVER] = 0
    state.facts[i, LAST] = 0


@kernel
def mover(state: Boards, i: int) -> Any:
    """The seat to move."""
    return np.int64(state.facts[i, MOVER])


@kernel
def can_swap(state: Boards, i: int) -> Any:
    """Whether the mover may take over the first stone."""
    return state.facts[i, SWAP] == 1 and state.facts[i, TURN] == 1


@kernel
def legal(state: Boards, i: int, player: Player, mask: Mask) -> None:
    """Empty cells, then the swap, for the mover of a running game."""
    mine = state.facts[i, OVER] == 0 and state.facts[i, MOVER] == player
    cells = state.stones.shape[1]
    for cell in range(cells):
        mask[cell] = mine and state.stones[i, cell] == 0
    if mask.shape[0] > cells:
        mask[cells] = mine and can_swap(state, i)


@kernel
def step(state: Boards, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """The mover places a stone or swaps."""
    player: Any = np.int64(state.facts[i, MOVER])
    size: Any = np.int64(state.facts[i, SIZE])
    cell: Any = np.int64(actions[player])
    if cell == size * size:
        first = 0
        while state.stones[i, first] == 0:
            first += 1
        reset(state, i, 0)
        state.facts[i, TURN] = 1
        cell = first % size * size + first // size
    connect(state, i, cell, player)
    state.facts[i, MOVER] = 1 - player
    state.facts[i, TURN] += 1
    state.facts[i, LAST] = cell
    edge = size * size + 2 * player
    if root(state.links, i, edge) != root(state.links, i, edge + 1):
        return RUNNING
    rewards[player] = 1.0
    rewards[1 - player] = -1.0
    state.facts[i, OVER] = 1
    return TERMINATED


@kernel
def observe(state: Boards, i: int, player: Player, out: NDArray[np.int8]) -> None:
    """[S, S, 4] own stones, the opponent's, 1 everywhere for O, 1 everywhere where the mover may swap.

    A cell has four bytes; two cells are written at once.
    """
    cells = state.stones.shape[1]
    everywhere = np.uint64((player << 16) + (np.int64(can_swap(state, i)) << 24))
    x, o = np.uint64(8 * player), np.uint64(8 - 8 * player)
    for cell in range(0, cells - 1, 2):
        first, second = np.uint64(state.stones[i, cell]), np.uint64(state.stones[i, cell + 1])
        both = first | second << np.uint64(32)
        store_word(out, 4 * cell, everywhere * _TWICE | (both & _TWICE) << x | (both >> _1 & _TWICE) << o)
    if cells % 2 == 1:
        last = np.uint64(state.stones[i, cells - 1])
        last = everywhere | (last & _1) << x | (last >> _1) << o
        for plane in range(4):
            out[-1, -1, plane] = last >> np.uint64(8 * plane) & _1


@kernel
def key(state: Boards, i: int) -> Word:
    """The stones and the mover; a swap is possible exactly when there is one stone and O is to move."""
    mixed = word(0, state.facts[i, MOVER])
    for cell in range(state.stones.shape[1]):
        if state.stones[i, cell] != 0:
            mixed ^= word(state.stones[i, cell], cell)
    return mixed


@kernel
def apart(stones: NDArray[np.int8], roots: NDArray[np.uint16], first: Any, count: Any, step: Any, far: Any) -> Any:
    """Whether a stone of cells first, first + step, ... has one of its colour ``far`` cells on in another tree."""
    found = False
    for k in range(count):
        cell = np.uint64(first + k * step)
        near = np.uint64(cell + np.uint64(far))
        found |= (stones[cell] != 0) & (stones[cell] == stones[near]) & (roots[cell] != roots[near])
    return found


@kernel
def sound(state: Boards, i: int) -> int:
    """Numbers of stones and turns agree; links have no circle, join all neighbours, and tell whether the game is over.

    An empty cell must be a tree of its own, because ``connect`` hangs others on it. A full board then has a winner.
    The roots of all nodes are found together: each pass halves the depth of every tree.
    """
    links, stones, size = state.links[i], state.stones[i], np.int64(state.facts[i, SIZE])
    cells, count = size * size, 0
    nodes = cells + 4
    for cell in range(cells):
        count += stones[cell] != 0
    turn = np.int64(state.facts[i, TURN])
    swapped = state.facts[i, SWAP] == 1 and turn > 1 and count == turn - 1
    if (count != turn and not swapped) or state.facts[i, MOVER] != turn % 2:
        return 1
    roots = scratch(NODES)
    for node in range(nodes):
        roots[node] = links[np.uint16(links[node])]
    moved, passes = True, 0
    while moved and passes < DEEPEST:
        moved = False
        passes += 1
        for node in range(nodes):
            up = roots[roots[node]]
            moved |= up != roots[node]
            roots[node] = up
    wrong = False
    for node in range(nodes):
        top = roots[node]
        wrong |= np.uint16(links[top]) != top
        wrong |= top < cells and stones[top] == 0 and np.int64(top) != node
        wrong |= node < cells and stones[node] == 0 and np.int64(links[node]) != node
    for r in range(size):
        wrong |= apart(stones, roots, r * size, size - 1, 1, 1)
        for color, along in ((1, r), (2, r * size)):
            far = (size - 1) * (size if color == 1 else 1)
            edge = cells + 2 * (color - 1)
            wrong |= (stones[along] == color) & (roots[along] != roots[edge])
            wrong |= (stones[along + far] == color) & (roots[along + far] != roots[edge + 1])
    wrong |= apart(stones, roots, 0, cells - size, 1, size)
    for r in range(size - 1):
        wrong |= apart(stones, roots, r * size + 1, size - 1, 1, size - 1)
    if wrong:
        return 2
    over = roots[cells] == roots[cells + 1] or roots[cells + 2] == roots[cells + 3]
    return 0 if over == (state.facts[i, OVER] == 1) else 3


def board(state: Boards, i: int) -> str:
    """S * S characters in action order: X, O or a dot."""
    return "".join(".XO"[stone] for stone in state.stones[i].tolist())


def neighbours(cell: int, rows: int, columns: int | None = None) -> list[int]:
    """The two to six cells that touch a cell; a board has as many columns as rows, unless told."""
    columns = columns or rows
    r, c = divmod(cell, columns)
    around = [(r - 1, c), (r - 1, c + 1), (r, c - 1), (r, c + 1), (r + 1, c - 1), (r + 1, c)]
    return [y * columns + x for y, x in around if 0 <= y < rows and 0 <= x < columns]


def describe(state: Boards, i: int, player: Player) -> str:
    """The board, the player's goal and the legal actions."""
    size, cells = int(state.facts[i, SIZE]), board(state, i)
    lines = ["   " + " ".join(LETTERS[:size])]
    lines += [" " * r + f"{r + 1:>2} " + " ".join(cells[r * size : (r + 1) * size]) for r in range(size)]
    goal = "You are X: connect top and bottom." if player == 0 else "You are O: connect left and right."
    if state.facts[i, OVER] or state.facts[i, MOVER] != player:
        ask = "You have no move now."
    else:
        ask = f"Legal actions: every cell with a dot, by column and row, e.g. {_example(state, i)}"
        ask += ", or swap." if can_swap(state, i) else "."
    return "\n".join([*lines, goal, ask])


def compact(state: Boards, i: int, player: Player) -> str:
    """S * S + 3 characters: own mark, a space, the cells row by row, ``>``."""
    return f"{'XO'[player]} {board(state, i)}>"


def action_to_text(state: Boards, i: int, action: Action) -> str:
    """Column letter and row number, or ``swap``."""
    size = int(state.facts[i, SIZE])
    return "swap" if action == size * size else f"{LETTERS[action % size]}{action // size + 1}"


def parse_action(state: Boards, i: int, text: str) -> Action:
    """The one cell in a text, or ``swap``, if it may be played now."""
    size = int(state.facts[i, SIZE])
    over = bool(state.facts[i, OVER])
    way_out = "The game is over." if over else f"Answer with an empty cell, e.g. {_example(state, i)}."
    words = {word.lower() for word in re.findall(r"[A-Za-z0-9]+", text)}
    named = sorted(word for word in words if word == "swap" or re.fullmatch(r"[a-z][1-9][0-9]?", word))
    if len(named) > 1:
        raise AmbiguousAction(f"{text!r} names several actions: {', '.join(named)}. {way_out}")
    if not named:
        raise InvalidAction(f"{text!r} names no cell. {way_out}")
    if named[0] == "swap":
        if over or not can_swap(state, i):
            why = "only O's first move may be a swap" if state.facts[i, SWAP] else "the swap rule is off in this game"
            raise IllegalAction(f"{text!r} cannot be played: {why}. {way_out}")
        return size * size
    column, row = LETTERS.find(named[0][0]), int(named[0][1:]) - 1
    if not (0 <= column < size and row < size):
        raise InvalidAction(f"{named[0]} is not a cell of a board from a1 to {LETTERS[size - 1]}{size}. {way_out}")
    if over or state.stones[i, row * size + column]:
        raise IllegalAction(f"{named[0]} cannot be played on {board(state, i)}. {way_out}")
    return row * size + column


def _example(state: Boards, i: int) -> str:
    """The empty cell nearest to the middle."""
    size = int(state.facts[i, SIZE])
    free = np.flatnonzero(state.stones[i] == 0)
    middle = (size - 1) / 2
    return action_to_text(state, i, int(free[np.argmin(np.hypot(free // size - middle, free % size - middle))]))


def play_moves(state: Boards, i: int, moves: Any) -> None:
    """Reset option ``moves``: play cells on row i, which holds the start position: ``"c3 swap b2"``.

    Raises:
        NotationError: not a text, an illegal move, or a move that ends the game.
    """
    if not isinstance(moves, str):
        raise NotationError(f"moves={moves!r} came; hex wants a text of cells, e.g. 'c3 b2'.")
    rewards, played = np.zeros(2, np.float32), list[str]()
    for found in re.finditer(r"[^\s,]+", moves):
        where = f"Move {len(played) + 1} of {moves!r}, at character {found.start()}"
        try:
            action = parse_action(state, i, found.group())
        except (InvalidAction, IllegalAction, AmbiguousAction) as error:
            raise NotationError(f"{where}: {error}", found.start(), played) from None
        if step(state, i, np.full(2, action, np.int32), rewards) != RUNNING:
            raise NotationError(
                f"{where}, ends the game. Start from a position with a move to play.", found.start(), played
            )
        played.append(found.group())


def to_sgf(record: GameRecord) -> str:
    """One game as SGF (GM[11]), for Hex programs: B is X, W is O."""
    state, size = record.start, int(record.start.facts[0, SIZE])
    result = "B+" if record.returns[0] > 0 else "W+" if record.returns[1] > 0 else "?"
    if record.illegal is not None:
        result = "WB"[record.illegal] + "+F"
    elif record.clock is not None and record.clock.flagged is not None:
        result = "WB"[record.clock.flagged] + "+T"
    player = int(state.facts[0, MOVER])
    stones = [
        [action_to_text(state, 0, int(cell)) for cell in np.flatnonzero(state.stones[0] == color)] for color in (1, 2)
    ]
    comment, comments = commented(record, len(record.actions))
    root = {
        "SZ": str(size),
        **dict(zip(("PB", "PW", "RE"), (*record.players, result), strict=True)),
        **timed(record),
        "C": comment,
        **dict(zip(("AB", "AW"), stones, strict=True)),
        "PL": "BW"[player] if player == 1 or any(stones) else "",
    }
    moves = []
    for actions, said in zip(record.actions, comments, strict=True):
        text = action_to_text(state, 0, actions[player])
        moves.append((player, "swap-pieces" if text == "swap" else text, said))
        player = 1 - player
    return sgf_text(11, root, moves)


def written(text: str) -> Iterator[Written]:
    """The game of an SGF text (GM[11]) that ``to_sgf`` could have written: the reader ``Game.reads``.

    Raises:
        NotationError: a start with stones, no size, or a node that is no move.
    """
    root, *nodes = re.sub(r"(?<!\\)\bC\[(?:[^\]\\]|\\.)*\]", "", text, flags=re.DOTALL).split(";")[1:]
    tags = dict(re.findall(r"([A-Z]+)\[((?:[^\]\\]|\\.)*)\]", root))
    if not re.fullmatch("[0-9]{1,3}", tags.get("SZ", "11")) or {"AB", "AW"} & tags.keys():
        raise NotationError("this record of hex begins with stones on the board, or the size of its board is unknown.")
    found = [re.match(r"\s*([BW])\[([\w-]+)\]", node) for node in nodes]
    if not all(found):
        raise NotationError(f"node {found.index(None) + 1} of this record of hex is no move, such as ;B[a1].")
    moves = [("BW".index(move[1]), "swap" if "swap" in move[2] else move[2]) for move in found if move]
    arguments = {"size": int(tags.get("SZ", "11")), "swap": any(move == "swap" for _, move in moves)}
    yield Written(arguments, {}, moves, (tags.get("PB", ""), tags.get("PW", "")))


def hex(size: int = 11, swap: bool = False) -> Game:
    """Hex.

    Args:
        size: cells per side, 3 to 19.
        swap: O may answer X's first move by taking over the stone.

    Raises:
        UsageError: another size, or a swap that is not a bool.
    """
    size = whole_number("hex: size", size, SMALLEST, LARGEST)
    swap = true_or_false("hex: swap", swap)
    cells = size * size

    def new_state(n: int) -> Boards:
        facts = np.zeros((n, 6), np.int16)
        facts[:, SIZE], facts[:, SWAP] = size, swap
        links = np.tile(np.arange(cells + 4, dtype=np.int16), (n, 1))
        return Boards(facts, np.zeros((n, cells), np.int8), links)

    rules = (
        f"Hex on a rhombus of {size}x{size} six-sided cells. Two players, X and O, put a stone on an empty cell in "
        "turn; X begins. X wins by connecting the top edge with the bottom edge, O by connecting left with right. "
        "A cell touches the ones left and right of it, above and above to the right, below and below to the left. "
        "Somebody always wins."
    )
    if swap:
        rules += " Instead of its first move O may swap: X's stone becomes O's, at its mirror image."
    return Game(
        info=GameInfo(
            name="hex",
            players=2,
            num_actions=cells + swap,
            observation_shape=(size, size, 4),
            max_cycles=cells + swap,
        ),
        kernels=Kernels(reset, mover, legal, step, observe, key, sound=sound),
        new_state=new_state,
        ranges={
            "facts": ([size, swap, 0, 0, 0, 0], [size, swap, 1, cells + swap, 1, cells - 1]),
            "stones": (0, 2),
            "links": (0, cells + 3),
        },
        conditions=(
            "the stones, the turns played and the seat to move do not agree",
            "links run in a circle, or do not join the stones and edges that touch",
            "its edges are joined if and only if the game is over; facts[4] says otherwise",
        ),
        rules=rules,
        goal="Connect your two edges with a chain of stones: X top and bottom, O left and right.",
        describe=describe,
        compact=compact,
        action_to_text=action_to_text,
        parse_action=parse_action,
        config={"size": size, "swap": swap},
        options={"moves": play_moves},
        formats={".sgf": to_sgf},
        reads=written,
    )
