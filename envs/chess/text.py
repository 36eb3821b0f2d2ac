"""Texts of chess positions for players, and the parser of their answers.

Moves are written in SAN without ``+`` and ``#``: with them a reader could pick the mate from a list without looking at
the board. (PGN keeps them, see ``pgn``.)

``describe`` is for people and large models. ``compact`` is one line of fixed width for small ones::

    w KQkq -- rnbqkbnrpppppppp................................PPPPPPPPRNBQKBNR>
    |  |    | the 64 squares, a8 b8 ... h8 a7 ... h1
    |  |    the square of a pawn that may be captured en passant, or --
    |  castling rights, - for each one lost
    the mover's colour

Capital letters are the mover's pieces and rights; the board is not turned, so square names keep their places. Left out:
the clock, the move number and past positions.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...aliases import Action, Player, State
from ...errors import ActionError, AmbiguousAction, IllegalAction, InvalidAction
from ..stepping.jit import kernel
from . import fen as _fen
from .moves import generate
from .outside import flaw
from .pattern import MOVE, is_move
from .position import KEY, META, WORDS, Position, in_check, piece_at, step_over
from .rules import ENDINGS, action_of, move_of
from .san import ROOM, find, moves_and_sans, spell

__all__ = ["RULES", "action_to_text", "compact", "describe", "last_moves", "parse_action", "sans"]

_RULES = (
    "Chess. White (player_0) moves first. Answer with one move in algebraic notation, e.g. Nf3, exd5, O-O or e8=Q. "
    "Mate wins. Draws are stalemate, material that cannot mate, 75 moves without capture or pawn move, and the fifth "
    "repetition of a position"
)
RULES = {
    "chess_v6": f"{_RULES}; 50 moves and the third repetition too, as soon as they can be claimed.",
    "reached": f"{_RULES}; 50 moves and the third repetition too, as soon as they are reached.",
    "never": f"{_RULES}.",
}
"""The rules for a person, by ``claim``."""

SHOWN = 6
"""How many of the last moves ``describe`` shows."""


# -- the moves of a row ------------------------------------------------------------------------------------------------


@kernel
def _spell_row(position: Position, moves: NDArray[np.int32], text: NDArray[np.uint8]) -> int:
    """Action numbers into ``moves`` [256], their SANs into ``text`` [ROOM]; returns the number of bytes."""
    n = generate(position, moves)
    length = spell(position, moves, n, text)
    for k in range(n):
        moves[k] = action_of(position, moves[k])
    return length


@lru_cache(maxsize=1024)
def _spelt(position: bytes) -> dict[Action, str]:
    """Action -> SAN of all legal moves of a position, ascending."""
    moves, text = np.empty(256, np.int32), np.empty(ROOM, np.uint8)
    names = text[: _spell_row(np.frombuffer(position, np.uint64).copy(), moves, text)].tobytes().decode().split()
    return dict(sorted(zip(moves[: len(names)].tolist(), names, strict=True)))


def sans(state: State, i: int) -> list[str]:
    """The legal moves of row i in SAN without marks, by ascending action number; none once the game is over."""
    return [] if state["over"][i] else list(_spelt(state["position"][i].tobytes()).values())


def action_to_text(state: State, i: int, action: Action) -> str:
    """An action in SAN without ``+`` and ``#``; an illegal one as UCI, or as its number."""
    san = _spelt(state["position"][i].tobytes()).get(action)
    if san is not None:
        return san
    move = int(move_of(state["position"][i], action)) if 0 <= action < 64 * 73 else -1
    return _fen.uci(move) if move >= 0 else f"action {action}"


_WORDS = re.compile(rf"(?<![A-Za-z0-9]){MOVE}(?![A-Za-z0-9])")


def parse_action(state: State, i: int, text: str) -> Action:
    """The one legal move that a text names: a move in any usual notation, or a sentence with one in it.

    Raises:
        InvalidAction: nothing in the text reads like a move.
        IllegalAction: the move cannot be played here; the message says why.
        AmbiguousAction: the text names several moves, or one that fits several legal moves.
    """
    position = state["position"][i]
    if state["over"][i]:
        raise IllegalAction(f"{text!r} comes too late. {_ending(state, i)}")
    return int(action_of(position, _one_move(position, text)))


def _one_move(position: Position, text: str) -> int:
    named = [text]
    if not is_move(text):
        named = list(dict.fromkeys(match.group() for match in _WORDS.finditer(text)))
    if not named:
        legal = " ".join(sorted(moves_and_sans(position)[1]))
        raise InvalidAction(f"{text!r} names no move. Answer with one of {legal}.")
    if len(named) == 1:
        return find(position, named[0])
    meant = set()
    for word in named:
        try:
            meant.add(find(position, word))
        except ActionError:
            meant.add(-1)
    if len(meant) > 1:
        raise AmbiguousAction(f"{text!r} names several moves: {', '.join(named)}. Answer with one of them alone.")
    return find(position, named[0])


# -- the position ------------------------------------------------------------------------------------------------------


def describe(state: State, i: int, player: Player) -> str:
    """FEN, board, the last moves, check, the player's colour and the legal moves."""
    position = state["position"][i]
    white = not int(position[META]) & 1
    board = [_fen.PIECES[code] for code in _fen.codes(position)]
    files = "  a b c d e f g h"
    ranks = [f"{rank + 1} {' '.join(board[8 * rank : 8 * rank + 8])} {rank + 1}" for rank in range(7, -1, -1)]
    lines = [f"FEN: {_fen.write(position)}", files, *ranks, files]
    played = last_moves(state, i)
    if played:
        lines.append(f"Last moves: {_numbered(played, position)}")
    mover, you = ("White" if white else "Black"), ("White" if player == 0 else "Black")
    if state["over"][i]:
        return "\n".join([*lines, f"You are {you}. {_ending(state, i)}"])
    check = f"{mover} is in check. " if in_check(position) else ""
    ask = f"Legal moves: {' '.join(sorted(sans(state, i)))}" if you == mover else "You have no move now."
    return "\n".join([*lines, f"{check}{mover} is to move. You are {you}. {ask}"])


def _ending(state: State, i: int) -> str:
    ending = ENDINGS[int(state["over"][i])]
    if ending != "checkmate":
        return f"The game is drawn: {ending}."
    return f"The game is over: {'Black' if not int(state['position'][i][META]) & 1 else 'White'} has mated."


def _numbered(played: list[str], position: Position) -> str:
    """The moves that led to a position, numbered: ``4. Nf3 Nc6``."""
    meta = int(position[META])
    ply = 2 * (meta >> 32) + (meta & 1) - len(played)  # of the first one; even: white's
    words = []
    for k, san in enumerate(played):
        if (ply + k) % 2 == 0:
            words.append(f"{(ply + k) // 2}. {san}")
        else:
            words.append(san if k else f"{ply // 2}... {san}")
    return " ".join(words)


def last_moves(state: State, i: int, most: int = SHOWN) -> list[str]:
    """The last moves of row i in SAN without marks, at most ``most`` and seven, as far as the row holds them."""
    row = state[i]
    plies, meta = int(row["plies"]), int(row["position"][META])
    boards = [row["boards"][(plies - k) & 7] for k in range(min(plies, most, 7), -1, -1)]
    found: list[str] = []
    for k, (before, after) in reversed(list(enumerate(pairwise(boards)))):
        move = _move_between(before, after, (meta ^ (len(boards) - 1 - k)) & 1)
        if move is None:  # only in rows from outside
            break
        found.insert(0, move)
    return found


def _move_between(before: NDArray[np.uint64], after: NDArray[np.uint64], black: int) -> str | None:
    """The SAN of the move that ``black`` (or white) made from one board of a row's history to the next, if one did."""
    old, new = _Board(before), _Board(after)
    mine = old.colour(black)
    left, reached = mine & ~new.colour(black), new.colour(black) & ~mine
    kings = left & old.kind(6)
    if kings and left & left - 1:
        return "O-O" if (reached & 0x4040404040404040) else "O-O-O"
    if not left or not reached:
        return None
    start, target = left.bit_length() - 1, reached.bit_length() - 1
    promotion = new.at(target) if old.at(start) == 1 and target >> 3 in (0, 7) else 0
    position = np.zeros(WORDS, np.uint64)
    position[:META], position[META] = old.words, np.uint64(black)
    if old.stepped is not None and flaw(position) == 0:
        step_over(position, np.uint64(old.stepped))
    position[KEY] = 0
    moves, names = moves_and_sans(position) if flaw(position) == 0 else ([], [])
    move = start | target << 6 | promotion << 12
    return names[moves.index(move)] if move in moves else None


class _Board:
    """One board of a row's history as Python integers; a pawn that had just made a double step has kind 7 there."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        b0, b1, b2, b3 = (int(word) for word in words)
        stepped = b0 & b1 & b2
        self.words = (b0, b1 ^ stepped, b2 ^ stepped, b3)
        self.stepped = (stepped.bit_length() - 1) ^ 8 if stepped else None

    def colour(self, black: int) -> int:
        b0, b1, b2, b3 = self.words
        return b3 if black else (b0 | b1 | b2) & ~b3

    def kind(self, kind: int) -> int:
        found = -1
        for bit in range(3):
            found &= self.words[bit] if kind >> bit & 1 else ~self.words[bit]
        return found

    def at(self, square: int) -> int:
        return sum((self.words[bit] >> square & 1) << bit for bit in range(3))


@kernel
def _squares(position: Position, out: NDArray[np.uint8]) -> None:
    """[64] the codes of the squares in the order a8 b8 ... h1."""
    for k in range(64):
        out[k] = piece_at(position, np.uint64(k ^ 56))


_LETTERS = [bytes(letters.ljust(256, "?"), "ascii") for letters in (_fen.PIECES, _fen.PIECES.swapcase())]
"""The letter of each code, with white and with black to move."""


def compact(state: State, i: int, player: Player) -> str:
    """75 characters, as the module says; both players get the mover's line."""
    position = state["position"][i]
    codes = np.empty(64, np.uint8)
    _squares(position, codes)
    meta = int(position[META])
    black, held = meta & 1, meta >> 1 & 15
    if black:
        held = held >> 2 | (held & 3) << 2
    rights = "".join([letter if held >> k & 1 else "-" for k, letter in enumerate("KQkq")])
    passed = _fen.square_name(meta >> 7 & 63) if meta >> 5 & 1 else "--"
    return f"{'wb'[black]} {rights} {passed} {codes.tobytes().translate(_LETTERS[black]).decode()}>"
