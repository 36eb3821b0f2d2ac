"""Chess: rules as bitboard kernels, the game, and functions on FEN strings for users who need only the rules.

``position`` defines positions, ``moves`` generates legal moves, ``fen`` reads and writes both, ``rules`` makes them a
game; ``san``, ``pgn`` and ``text`` are for people and models.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...aliases import State
from ..answers import known_name, whole_number
from ..core import Game, GameInfo, Kernels
from . import fen as _fen
from . import moves as _moves
from . import outside, rules, text
from .curricula import CURRICULA
from .observation import observe
from .pgn import record_to_pgn, written
from .position import META, WORDS, make
from .san import parse_san, san

__all__ = ["Outcome", "chess", "legal_moves", "outcome", "parse_san", "perft", "push", "san"]


class Outcome(NamedTuple):
    """How a game of chess ended.

    Attributes:
        result: ``"1-0"``, ``"0-1"`` or ``"1/2-1/2"``.
        reason: one of ``rules.ENDINGS``, e.g. ``"checkmate"``.
    """

    result: str
    reason: str


# -- functions on FEN --------------------------------------------------------------------------------------------------


def legal_moves(fen: str) -> list[str]:
    """The legal moves of a position as UCI, sorted.

    Raises:
        NotationError: the FEN cannot be read.
    """
    return sorted(_fen.uci(move) for move in _fen.legal(_fen.parse(fen)))


def push(fen: str, uci: str) -> str:
    """The FEN after a move.

    Raises:
        NotationError: the FEN cannot be read.
        InvalidAction, IllegalAction: the move cannot be read, or is not legal.
        UsageError: the move is not a text.
    """
    position = _fen.parse(fen)
    make(position, _fen.parse_uci(position, uci))
    return _fen.write(position)


def perft(fen: str, depth: int) -> int:
    """Leaves of the tree of legal moves, ``depth`` plies deep.

    Raises:
        NotationError: the FEN cannot be read.
        UsageError: the depth is not a whole number from 0 to 60.
    """
    depth = whole_number("depth", depth, 0, 60)
    scratch = np.zeros((depth + 1, WORDS), np.uint64), np.zeros((depth + 1, 256), np.int32)
    return int(_moves.perft(_fen.parse(fen), depth, *scratch))


def outcome(fen: str, claim: str = "never") -> Outcome | None:
    """How the game ended in a position, or None if it is still running.

    A FEN holds no repetitions. ``claim`` decides about fifty moves, as in ``chess``.

    Raises:
        NotationError: the FEN cannot be read.
        UnknownName: no such claim.
    """
    state = chess(claim).new_state(1)
    _from_fen(state, 0, fen)
    ending = rules.ENDINGS[int(state["over"][0])]
    if ending == "running":
        return None
    won = "0-1" if not int(state["position"][0, META]) & 1 else "1-0"
    return Outcome(won if ending == "checkmate" else "1/2-1/2", ending)


# -- the game ----------------------------------------------------------------------------------------------------------


def _from_fen(state: State, i: int, value: Any) -> None:
    """The reset option ``fen``: row i starts from a position, in which the game may be over."""
    rules.begin_at(state, i, _fen.parse(value))
    state["over"][i] = rules.judge(state, i, 1)


def chess(claim: str = "chess_v6") -> Game:
    """Chess, with the observation and action numbers of PettingZoo's chess_v6.

    Args:
        claim: when fifty moves or a threefold repetition end the game: ``"chess_v6"`` as soon as the side to move could
            claim the draw, also for a legal move that it has not made yet; ``"reached"`` when the position on the board
            fulfils the rule; ``"never"``: only 75 moves and the fifth repetition end the game.

    Raises:
        UnknownName: no such claim.
    """
    known_name("claim", claim, rules.CLAIMS)
    number = rules.CLAIMS.index(claim)

    def new_state(n: int) -> State:
        state = np.zeros(n, rules.DTYPE)
        state["claim"] = number
        return state

    return Game(
        info=GameInfo(
            name="chess",
            players=2,
            num_actions=rules.NUM_ACTIONS,
            observation_shape=(8, 8, 111),
            observation_dtype="bool",
            max_cycles=rules.LONGEST[number],
        ),
        kernels=Kernels(
            rules.reset,
            rules.mover,
            rules.legal,
            rules.step,
            observe,
            rules.key,
            draw=rules.draw,
            step_legal=rules.step_legal,
            sound=outside.sound,
        ),
        new_state=new_state,
        ranges={"claim": (number, number), "over": (0, len(rules.ENDINGS) - 1)},
        conditions=outside.CONDITIONS,
        rules=text.RULES[claim],
        goal="Checkmate the other king.",
        describe=text.describe,
        compact=text.compact,
        action_to_text=text.action_to_text,
        parse_action=text.parse_action,
        config={"claim": claim},
        options={"fen": _from_fen},
        formats={".pgn": record_to_pgn},
        reads=written,
        curricula=CURRICULA,
    )
