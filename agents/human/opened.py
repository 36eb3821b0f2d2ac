"""A game from the text of a file, to go on with: JSON lines, PGN (chess), SGF (go)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...aliases import RUNNING, Action, Player
from ...envs.core import Game, GameRecord
from ...envs.replay.file import read_games
from ...envs.state import take
from ...errors import UsageError

__all__ = ["opened"]


def opened(game: Game, name: str, text: str) -> GameRecord:
    """The last game of a file, whose moves have all been played to check them.

    Args:
        game: the game that it must be of, with the same configuration.
        name: the file's name, whose end says what it holds.
        text: what it holds.

    Raises:
        UsageError: a file of another kind or game, or without a game.
        NotationError: it holds something that cannot be read or played.
    """
    ending = f".{name.lower().rpartition('.')[2]}"
    if ending == ".pgn" and game.info.name == "chess":
        return _from_pgn(game, text)
    if ending == ".sgf" and game.info.name == "go":
        return _from_sgf(game, text)
    if ending not in (".json", ".jsonl"):
        raise UsageError(f"{name[:80]!r} cannot be read as a game of {game.info.name}: {', '.join(_kinds(game))} can.")
    games = read_games(text)
    if not games:
        raise UsageError(f"{name[:80]!r} holds no game.")
    saved = games[-1]
    if saved.game.info.id != game.info.id or saved.game.config != game.config:
        other = " with other settings" if saved.game.info.id == game.info.id else ""
        raise UsageError(f"{name[:80]!r} holds a game of {saved.game.info.id}{other}; this is {game.info.id}.")
    return saved.record


def _kinds(game: Game) -> list[str]:
    return [".json", *(end for end, of in ((".pgn", "chess"), (".sgf", "go")) if game.info.name == of)]


def _from_pgn(game: Game, text: str) -> GameRecord:
    from ...envs.chess.pgn import read_pgn

    games = read_pgn(text.encode())
    if not games:
        raise UsageError("The file holds no game.")
    found = games[-1]
    names = (found.headers.get("White", "?"), found.headers.get("Black", "?"))
    return _played(game, {"fen": found.fen}, [(None, move) for move in found.moves], names)


def _from_sgf(game: Game, text: str) -> GameRecord:
    from ...envs.go.sgf import read_sgf

    found = read_sgf(text.encode())
    moves = [(move.player, move.action) for move in found.moves]
    return _played(game, {"sgf": {"sgf": found, "move": 0}}, moves, found.players)


def _played(
    game: Game, start: dict[str, Any], moves: Sequence[tuple[Player | None, Action | str]], names: tuple[str, ...]
) -> GameRecord:
    """The record of moves (seat if known, action or text) from a start."""
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    for option, value in start.items():
        game.options[option](state, 0, value)
    begun, actions, rewards, status = take(state), [], np.zeros(game.info.players, np.float32), int(RUNNING)
    for number, (seat, move) in enumerate(moves, 1):
        action = game.parse_action(state, 0, move) if isinstance(move, str) else move
        mover = game.mover(state, 0)
        if status != RUNNING or seat not in (None, mover) or not game.legal_mask(state, 0, mover)[action]:
            raise UsageError(f"Move {number} of the record cannot be played by the rules of this game.")
        rewards[:] = 0
        status = int(game.kernels.step(state, 0, np.full(game.info.players, action, np.int32), rewards))
        actions.append([action] * game.info.players)
    return GameRecord(begun, actions, names, tuple(rewards.tolist()), status)
