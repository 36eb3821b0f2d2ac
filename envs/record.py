"""Played games in a file, for every game: JSON lines, one game a line, which ``read_games`` takes back.

A line holds ``game`` (id), ``config``, how the game began (``seed``, or ``start`` where no seed leads there: the bytes
of ``to_bytes``, zlib, base64), ``actions`` (one number a turn; a list of P in simultaneous games), ``players``,
``returns``, ``status``, and, where there were any, ``illegal``, ``comments`` and ``words`` (what was typed for each
seat). A game that was left in the middle is a line like any other: its actions lead to where it was left.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..aliases import RUNNING, TERMINATED, TRUNCATED, State, Status
from ..errors import CoterieError, NotationError, StateError, UsageError
from .core import Game, GameRecord
from .registry import list_envs, make_game
from .state import from_bytes, take, to_bytes

__all__ = ["SavedGame", "read_games", "replay", "write_json"]

_STATUS = {RUNNING: "running", TERMINATED: "terminated", TRUNCATED: "truncated"}


@dataclass(frozen=True)
class SavedGame:
    """One game of a file.

    Attributes:
        game: the rules, configured as they were.
        record: what was played.
        seed: the game's seed, where it began as that seed has it.
        words: what was typed for each seat (``alphabeta:3``), or ``()``.
    """

    game: Game
    record: GameRecord
    seed: int | None = None
    words: tuple[str, ...] = ()


def write_json(game: Game, record: GameRecord, seed: int | None = None, words: Sequence[str] = ()) -> str:
    """One line of JSON, its end included.

    Args:
        game: the rules.
        record: what was played.
        seed: what the game was begun with; it is written in place of the start position where it leads there.
        words: what was typed for each seat.
    """
    info = game.info
    fields: dict[str, Any] = {"game": info.id, "config": game.config}
    blob = to_bytes(game, record.start)
    if seed is not None and to_bytes(game, _begun(game, seed)) == blob:
        fields["seed"] = seed
    else:
        fields["start"] = base64.b64encode(zlib.compress(blob, 9)).decode()
    fields["actions"] = _numbers(game, record)
    fields |= {"players": record.players, "returns": record.returns, "status": _STATUS[record.status]}
    if record.illegal is not None:
        fields["illegal"] = record.illegal
    if record.comments:
        fields["comments"] = dict(record.comments)
    if words:
        fields["words"] = list(words)
    return json.dumps(fields, ensure_ascii=False) + "\n"


def _numbers(game: Game, record: GameRecord) -> list[Any]:
    """What was played: the mover's number each turn, or everybody's each tick."""
    if game.info.simultaneous:
        return record.actions
    states = replay(game, record)
    return [actions[game.mover(state, 0)] for (state, _, _), actions in zip(states, record.actions, strict=False)]


def _begun(game: Game, seed: int) -> State:
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(seed % 2**64))
    return state


def replay(game: Game, record: GameRecord) -> Iterator[tuple[State, Any, Status]]:
    """Play a record again: (state, rewards [P] of the last turn, status), the start first, ``len(actions) + 1`` in all.

    Every state is an array of its own.

    Raises:
        NotationError: an action that is not legal there; ``at`` is the turn's number, ``read`` the record up to it.
    """
    info, kernels = game.info, game.kernels
    state, rewards, status = take(record.start), np.zeros(info.players, np.float32), RUNNING
    yield take(state), rewards.copy(), status
    for turn, actions in enumerate(record.actions):
        asked = range(info.players) if info.simultaneous else [game.mover(state, 0)]
        for p in asked:
            legal = game.legal_mask(state, 0, p)
            if legal.any() or status != RUNNING or not info.simultaneous:
                _need_legal(game, record, turn, p, legal)
        rewards[:] = 0
        status = int(kernels.step(state, 0, np.array(actions, np.int32), rewards))
        yield take(state), rewards.copy(), status


def _need_legal(game: Game, record: GameRecord, turn: int, player: int, legal: Any) -> None:
    action = record.actions[turn][player]
    if 0 <= action < len(legal) and legal[action]:
        return
    came = GameRecord(record.start, record.actions[:turn], record.players, (0.0,) * game.info.players, RUNNING)
    why = "the game is over by then" if not legal.any() else "it is not legal there"
    raise NotationError(
        f"Turn {turn} of this game of {game.info.id} has action {action} of player_{player}, but {why}.", turn, came
    )


def read_games(source: str | Path) -> list[SavedGame]:
    """The games of a text of JSON lines, or of a file (a Path); each is played again and so known to be legal.

    Raises:
        UsageError: a file that cannot be read.
        NotationError: a line that is no game, of a game that is not registered or of another version, or with actions
            that are not legal; names the line, and ``read`` holds the games before it.
    """
    if isinstance(source, Path):
        try:
            source = source.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{source} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    games: list[SavedGame] = []
    for number, line in enumerate(source.splitlines(), 1):
        if not line.strip():
            continue
        try:
            games.append(_read(line))
        except CoterieError as error:
            raise NotationError(f"line {number}: {error}", number, games) from error
    return games


def _read(line: str) -> SavedGame:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise UsageError(f"this is no JSON ({error}).") from None
    missing = {"game", "config", "actions", "players", "returns", "status"} - set(
        fields if isinstance(fields, dict) else ()
    )
    if missing:
        raise UsageError(f"this is no saved game: {', '.join(sorted(missing))} missing.")
    try:
        _need_version(fields["game"])
        game = make_game(fields["game"], **fields["config"])
        return _record(game, fields)
    except (TypeError, KeyError, IndexError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, CoterieError):
            raise
        raise UsageError(f"a field is of the wrong kind ({error}).") from None


def _need_version(id: str) -> None:
    """See that a game is not of a version that nobody knows."""
    name, dash, _ = id.rpartition("-v")
    known = [other for other in list_envs() if other.rpartition("-v")[0] == name]
    if dash and known and id not in known:
        raise StateError(f"this game is of {id}, but {', '.join(known)} is played here: versions do not mix.")


def _record(game: Game, fields: dict[str, Any]) -> SavedGame:
    info = game.info
    if info.id != fields["game"]:
        raise StateError(f"this game is of {fields['game']}, but {info.id} is played here: versions do not mix.")
    seed = fields.get("seed")
    start = _begun(game, int(seed)) if seed is not None else from_bytes(game, _unpacked(fields.get("start")))
    names = {word: status for status, word in _STATUS.items()}
    if fields["status"] not in names:
        raise UsageError(f"status is {fields['status']!r}, none of {', '.join(names)}.")
    comments = {int(turn): str(text) for turn, text in fields.get("comments", {}).items()}
    players, returns = tuple(map(str, fields["players"])), tuple(map(float, fields["returns"]))
    if not len(players) == len(returns) == info.players:
        raise UsageError(f"{info.id} has {info.players} players, {len(players)} and {len(returns)} returns came.")
    whole = [[int(a)] * info.players if not info.simultaneous else [int(b) for b in a] for a in fields["actions"]]
    if any(len(actions) != info.players for actions in whole):
        raise UsageError(f"a turn has another number of actions than {info.id} has players ({info.players}).")
    illegal = fields.get("illegal")
    record = GameRecord(start, whole, players, returns, names[fields["status"]], illegal, comments)
    for _ in replay(game, record):
        pass
    return SavedGame(game, record, seed, tuple(map(str, fields.get("words", ()))))


def _unpacked(text: Any) -> bytes:
    try:
        return zlib.decompress(base64.b64decode(text, validate=True))
    except (binascii.Error, zlib.error, TypeError, ValueError) as error:
        raise UsageError(f"neither a seed nor a start that can be unpacked ({error}).") from None
