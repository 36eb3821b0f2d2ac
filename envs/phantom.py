"""Board games whose players do not see each other's marks: what phantom tic-tac-toe and dark hex share.

A player tries a cell that it has not tried before. If the cell is empty, it takes the player's mark, and the other
player is to move. If the other player's mark is there, the player now knows so, and tries another cell (classical
rules) or has lost its turn (abrupt rules).

Cells are numbered row by row. Players remember: besides the marks that it has made or found, a player sees the order in
which it tried the cells; with ``reveal-numturns`` also which turns were the other player's, though not what was tried.

Source: the rules and the numbering are those of OpenSpiel's ``phantom_ttt`` and ``dark_hex``; Lanctot et al.,
"OpenSpiel: A framework for reinforcement learning in games", 2019.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, Action, Mask, Player, Rewards, Status
from ..errors import ActionError, NotationError
from .answers import legal_words
from .core import Game, GameInfo, Kernels
from .stepping.jit import kernel
from .stepping.rng import Word, word
from .stepping.scratch import scratch

__all__ = ["OBSTYPES", "Boards", "names", "phantom", "tries", "view", "winner"]

SIDE = 11
"""The most rows, and columns."""
CELLS = SIDE * SIDE
TIMES = 2 * CELLS + 1

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
"""Three in a row on 3x3."""

OBSTYPES = ("reveal-nothing", "reveal-numturns")

ROWS, COLUMNS, THREE, ABRUPT, COUNTED, MOVER, OVER, FIRST, SECOND = range(9)
"""Columns of ``Boards.facts``: the board's size; 1 where three in a row win (else two joined edges); 1 with abrupt
rules; 1 with ``reveal-numturns``; the seat to move; 1 at the end; how many cells each player has tried.
"""


class Boards(NamedTuple):
    """N games on boards of C cells.

    Attributes:
        facts: [N, 9] int16, see ``ROWS``.
        marks: [N, C] int8: 0 empty, 1 X (player 0), 2 O (player 1).
        tried: [N, 2, C] int16: when each player tried a cell, 0 never; its own tries are counted from 1, with
            ``reveal-numturns`` those of both players.
    """

    facts: NDArray[np.int16]
    marks: NDArray[np.int8]
    tried: NDArray[np.int16]


@kernel
def reset(state: Boards, i: int, seed: int) -> None:
    """Empty board, X to move; nothing is random."""
    state.facts[i, MOVER:] = 0
    state.marks[i, :] = 0
    state.tried[i, :, :] = 0


@kernel
def mover(state: Boards, i: int) -> Any:
    """The seat to move."""
    return np.int64(state.facts[i, MOVER])


@kernel
def legal(state: Boards, i: int, player: Player, mask: Mask) -> None:
    """The cells that the mover of a running game has not tried."""
    mine = state.facts[i, OVER] == 0 and state.facts[i, MOVER] == player
    for cell in range(state.marks.shape[1]):
        mask[cell] = mine and state.tried[i, player, cell] == 0


@kernel
def joined(state: Boards, i: int, player: Any) -> Any:
    """Whether a player's stones connect its edges of a hex board: X's top and bottom, O's left and right."""
    rows, columns = np.int64(state.facts[i, ROWS]), np.int64(state.facts[i, COLUMNS])
    seen, queue = scratch(CELLS), scratch(CELLS)
    found, at = 0, 0
    for cell in range(rows * columns):
        seen[cell] = (cell < columns if player == 0 else cell % columns == 0) and state.marks[i, cell] == player + 1
        if seen[cell]:
            queue[found] = cell
            found += 1
    while at < found:
        r, c = np.int64(queue[at]) // columns, np.int64(queue[at]) % columns
        if (player == 0 and r == rows - 1) or (player == 1 and c == columns - 1):
            return True
        for down in range(-1, 2):
            for right in range(-1, 2):
                near = (r + down) * columns + c + right
                on_board = down != right and 0 <= r + down < rows and 0 <= c + right < columns
                if on_board and state.marks[i, near] == player + 1 and not seen[near]:
                    seen[near] = 1
                    queue[found] = near
                    found += 1
        at += 1
    return False


@kernel
def won(state: Boards, i: int, player: Any) -> Any:
    """Whether a player has three in a row, or has joined its edges."""
    if state.facts[i, THREE] == 0:
        return joined(state, i, player)
    marks, mine = state.marks, player + 1
    found = False
    for a, b, c in LINES:
        found |= marks[i, a] == mine and marks[i, b] == mine and marks[i, c] == mine
    return found


@kernel
def full(state: Boards, i: int) -> Any:
    """Whether no cell is empty."""
    empty: Any = 0
    for cell in range(state.marks.shape[1]):
        empty += state.marks[i, cell] == 0
    return empty == 0


@kernel
def step(state: Boards, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """The mover tries a cell."""
    facts = state.facts
    player: Any = np.int64(facts[i, MOVER])
    cell: Any = np.int64(actions[player])
    facts[i, FIRST + player] += 1
    others = facts[i, SECOND - player] if facts[i, COUNTED] else 0
    state.tried[i, player, cell] = facts[i, FIRST + player] + others
    if state.marks[i, cell] != 0:
        if facts[i, ABRUPT]:
            facts[i, MOVER] = 1 - player
        return RUNNING
    state.marks[i, cell] = player + 1
    facts[i, MOVER] = 1 - player
    if won(state, i, player):
        rewards[player] = 1.0
        rewards[1 - player] = -1.0
    elif not full(state, i):
        return RUNNING
    facts[i, OVER] = 1
    return TERMINATED


@kernel
def observe(state: Boards, i: int, player: Player, out: NDArray[np.uint8]) -> None:
    """[R, C, 4] own marks, those found, when a cell was tried, 1 everywhere for O.

    With ``reveal-numturns`` [R, C, 5]: the turns played, everywhere.
    """
    facts, columns = state.facts, np.int64(state.facts[i, COLUMNS])
    for cell in range(state.marks.shape[1]):
        r, c = cell // columns, cell % columns
        out[r, c, 0] = state.marks[i, cell] == player + 1
        out[r, c, 1] = state.marks[i, cell] == 2 - player and state.tried[i, player, cell] != 0
        out[r, c, 2] = state.tried[i, player, cell]
        out[r, c, 3] = player
        if out.shape[2] > 4:
            out[r, c, 4] = facts[i, FIRST] + facts[i, SECOND]


@kernel
def key(state: Boards, i: int) -> Word:
    """The marks, what each player tried and when, and the mover."""
    mixed = word(0, state.facts[i, MOVER])
    for cell in range(state.marks.shape[1]):
        first, second = np.int64(state.tried[i, 0, cell]), np.int64(state.tried[i, 1, cell])
        if first or second:
            mixed ^= word(np.int64(state.marks[i, cell]) | first << 2 | second << 12, cell)
    return mixed


@kernel
def sound(state: Boards, i: int) -> int:
    """What was tried is marked, in an order; the counts agree with the mover; the game is over when it should be."""
    facts, cells = state.facts, state.marks.shape[1]
    first, second = np.int64(facts[i, FIRST]), np.int64(facts[i, SECOND])
    times = scratch(TIMES)
    for k in range(2 * cells + 1):
        times[k] = 0
    stones: Any = 0
    for player in range(2):
        tries: Any = 0
        for cell in range(cells):
            at, mark = np.int64(state.tried[i, player, cell]), state.marks[i, cell]
            if (at == 0 and mark == player + 1) or (at != 0 and mark == 0):
                return 1
            stones += (1 - 2 * player) * (mark == player + 1)
            if at != 0:
                tries += 1
                times[at] += 1 if facts[i, COUNTED] else 1 + player
        if tries != facts[i, FIRST + player]:
            return 2
    for k in range(1, 2 * cells + 1):
        once = k <= first + second if facts[i, COUNTED] else (k <= first) + 2 * (k <= second)
        if times[k] != once:
            return 2
    if (first - second if facts[i, ABRUPT] else stones) != facts[i, MOVER]:
        return 3
    ended = won(state, i, 0) or won(state, i, 1) or full(state, i)
    return 0 if ended == (facts[i, OVER] == 1) else 4


# -- text: only what the player may know -------------------------------------------------------------------------------


def names(state: Boards, i: int) -> list[str]:
    """[C] the cells' names in action order: their numbers in tic-tac-toe; else column and row, such as ``a1``."""
    rows, columns, three = state.facts[i, [ROWS, COLUMNS, THREE]].tolist()
    if three:
        return [str(cell) for cell in range(rows * columns)]
    return [f"{chr(97 + c)}{r + 1}" for r in range(rows) for c in range(columns)]


def view(state: Boards, i: int, player: Player | None) -> str:
    """C characters in action order: X, O, or a dot where a player sees no mark. None sees all, as do all at the end."""
    seen = state.marks[i] != 0 if player is None or state.facts[i, OVER] else state.tried[i, player] != 0
    return "".join(".XO"[mark * shown] for mark, shown in zip(state.marks[i].tolist(), seen.tolist(), strict=True))


def tries(state: Boards, i: int, player: Player) -> list[int | None]:
    """The cells that a player has tried, in order; with ``reveal-numturns`` None for each turn of the other player."""
    total = int(state.facts[i, FIRST] + state.facts[i, SECOND]) if state.facts[i, COUNTED] else 0
    at = {int(state.tried[i, player, cell]): int(cell) for cell in np.flatnonzero(state.tried[i, player])}
    return [at.get(k) for k in range(1, max([total, *at]) + 1)]


def winner(state: Boards, i: int) -> Player | None:
    """The seat that has won, or None."""
    return next((player for player in (0, 1) if won(state, i, player)), None)


def describe(state: Boards, i: int, player: Player) -> str:
    """The board as the player knows it, what it has tried, and the legal actions; at the end the whole board."""
    rows, columns, three = state.facts[i, [ROWS, COLUMNS, THREE]].tolist()
    seen, called, me, you = view(state, i, player), names(state, i), "XO"[player], "OX"[player]
    hides = not state.facts[i, OVER]
    own = f"only the {'marks that you have made' if three else 'stones that you have placed'} or found."
    if three:
        cells = [called[c] if mark == "." else mark for c, mark in enumerate(seen)]
        lines = ["\n---+---+---\n".join(" " + " | ".join(cells[3 * r : 3 * r + 3]) for r in range(rows))]
        lines.append(f"You are {me}" + (f" and see {own}" if hides else "."))
    else:
        lines = ["   " + " ".join(chr(97 + c) for c in range(columns))]
        lines += [f"{' ' * r}{r + 1:>2} {' '.join(seen[r * columns : (r + 1) * columns])}" for r in range(rows)]
        goal = "top and bottom" if player == 0 else "left and right"
        lines.append(f"You are {me}: connect {goal}." + (f" You see {own}" if hides else ""))
    past = [
        f"{you} ?" if c is None else called[c] + (" (taken)" if state.marks[i, c] != player + 1 else "")
        for c in tries(state, i, player)
    ]
    what = "Turns so far" if state.facts[i, COUNTED] else "You tried"
    lines.append(f"{what}: {', '.join(past) or 'none'}.")
    if state.facts[i, OVER]:
        won_by = winner(state, i)
        lines.append("The game is over: " + ("a draw." if won_by is None else f"{'XO'[won_by]} won."))
        return "\n".join(lines)
    mask = np.zeros(len(called), np.int8)
    legal(state, i, player, mask)
    return "\n".join([*lines, legal_words([called[c] for c in np.flatnonzero(mask)])])


def compact(state: Boards, i: int, player: Player) -> str:
    """``X? ..O.X.... 4 2>``: own mark, the board as known, what was tried; ? for the other's turns if they are told.

    Behind the mark ? stands for phantom tic-tac-toe and * for dark hex, which no other game's text begins with.
    """
    called = names(state, i)
    past = "".join(f" {'?' if c is None else called[c]}" for c in tries(state, i, player))
    return f"{'XO'[player]}{'*?'[state.facts[i, THREE]]} {view(state, i, player)}{past}>"


# -- the game ----------------------------------------------------------------------------------------------------------


def phantom(
    rows: int, columns: int, *, three: bool, abrupt: bool, counted: bool, rules: str, goal: str, config: dict[str, Any]
) -> Game:
    """A game of this kind.

    Args:
        rows: 2 to 11.
        columns: 2 to 11.
        three: three in a row win (3x3); else joined edges, as in hex.
        abrupt: who tries a taken cell loses the turn.
        counted: each player sees which turns were the other's.
        rules: what is played and who wins, for a person.
        goal: how one wins, in one sentence.
        config: the factory's arguments.
    """
    cells = rows * columns
    facts = [rows, columns, int(three), int(abrupt), int(counted)]

    def new_state(n: int) -> Boards:
        state = Boards(np.zeros((n, 9), np.int16), np.zeros((n, cells), np.int8), np.zeros((n, 2, cells), np.int16))
        state.facts[:, :MOVER] = facts
        return state

    def play_moves(state: Boards, i: int, moves: Any) -> None:
        """Reset option ``moves``: cells to try on row i, which holds the start position.

        Raises:
            NotationError: not a text, an illegal action, or one that ends the game.
        """
        if not isinstance(moves, str):
            raise NotationError(
                f"moves={moves!r} came; a text of cells is needed, e.g. {' '.join(game.actions[:2])!r}."
            )
        for number, said in enumerate(moves.split(), 1):
            try:
                action: Action = game.parse_action(state, i, said)
            except ActionError as error:
                raise NotationError(f"Move {number} of {moves!r}: {error}") from None
            if step(state, i, np.full(2, action, np.int32), np.zeros(2, np.float32)) != RUNNING:
                raise NotationError(
                    f"Move {number} of {moves!r} ends the game. Start from a position with a move to play."
                )

    fails = "your turn is over" if abrupt else "you try another"
    game = Game(
        info=GameInfo(
            players=2,
            num_actions=cells,
            observation_shape=(rows, columns, 4 + counted),
            observation_dtype="uint8",
            observation_high=2 * cells,
            max_cycles=2 * cells - 1,
            hidden=True,
            secret=True,
        ),
        kernels=Kernels(reset, mover, legal, step, observe, key, sound=sound),
        new_state=new_state,
        ranges={
            "facts": ([*facts, 0, 0, 0, 0], [*facts, 1, 1, cells, cells]),
            "marks": (0, 2),
            "tried": (0, 2 * cells if counted else cells),
        },
        conditions=(
            "a mark was not tried by its owner, or an empty cell was tried",
            "the tries are not numbered one after the other",
            "the seat to move does not agree with the marks or the tries",
            "facts[6] says otherwise than the marks whether the game is over",
        ),
        rules=(
            f"{rules} Players do not see each other's moves. If you try a cell that the other player has taken, you "
            f"are told, and {fails}." + " You are told which turns were the other player's." * counted
        ),
        goal=goal,
        describe=describe,
        compact=compact,
        actions=tuple(names(new_state(1), 0)),
        config=config,
        options={"moves": play_moves},
    )
    return game
