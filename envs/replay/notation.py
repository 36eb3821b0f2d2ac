"""Games from the files of other programs: PGN (chess) and SGF (go, hex); every move is played, which checks it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...aliases import RUNNING, TERMINATED
from ...errors import ActionError, NotationError, UsageError
from ..core import Game, GameRecord, Written
from ..registry import make_game
from ..state import take

__all__ = ["kind_of", "read_notation"]

SGF = {"1": "go", "11": "hex"}
"""SGF's numbers of games (GM) that can be read."""


def kind_of(text: str) -> str:
    """What a file holds, judged by its first characters: ``json``, ``pgn``, ``sgf`` or ``""``."""
    head = text[:2000].lstrip("\ufeff \t\r\n")
    if re.match(r"\(\s*;", head):
        return "sgf"
    told = re.sub(r"^(\{[^}]*\}\s*)+", "", head)  # comments before a PGN's first move
    if re.match(r'\[\s*\w+\s+"|1\s*\.\s*\w|%', told):
        return "pgn"
    return "json" if head.startswith("{") else ""


def read_notation(text: str, kind: str) -> Iterator[tuple[Game, GameRecord]]:
    """The games of a text of the kind ``pgn`` or ``sgf``; a game that was given up has the result that the text states.

    Raises:
        NotationError: something that cannot be read or played.
        UsageError: a game, or a board, that is not here.
    """
    number = re.search(r"\bGM\s*\[\s*(\d+)\s*\]", text[:2000])
    name = "chess" if kind == "pgn" else SGF.get(number[1] if number else "1")
    plain = make_game(name) if name else None
    if plain is None or plain.reads is None:
        raise UsageError(f"this SGF is of a game with the number {number and number[1]}; go is 1, hex is 11.")
    for written in plain.reads(text):
        game = make_game(plain.info.name, **written.arguments) if written.arguments else plain
        yield game, _played(game, written)


def _played(game: Game, written: Written) -> GameRecord:
    """The record of moves (seat, if the text names it, and action in words) from a start."""
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    for option, value in written.start.items():
        game.options[option](state, 0, value)
    begun, status = take(state), int(RUNNING)
    actions: list[list[int]] = []
    rewards, returns = np.zeros(game.info.players, np.float32), np.zeros(game.info.players)
    for number, (seat, move) in enumerate(written.moves, 1):
        mover = game.mover(state, 0) if status == RUNNING else None
        try:
            if mover is None or seat not in (None, mover):
                raise ActionError("the game is over." if mover is None else "the other side is to move.")
            action = game.parse_action(state, 0, move)
        except ActionError as error:
            record = GameRecord(begun, actions, written.players, (0.0,) * game.info.players, RUNNING)
            raise NotationError(f"move {number}, {move}: {error}", None, record) from None
        actions.append([action] * game.info.players)
        rewards[:] = 0
        status = int(game.kernels.step(state, 0, np.full(game.info.players, action, np.int32), rewards))
        returns += rewards
    given = tuple(returns.tolist())
    if status == RUNNING and written.returns is not None:
        status, given = TERMINATED, written.returns
    return GameRecord(begun, actions, written.players, given, status, comments=written.comments)
