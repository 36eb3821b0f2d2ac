"""Saved games: JSON lines of any game, written by ``write_json``; ``read_games`` reads these, PGN and SGF.

A line holds ``game`` (id), ``config``, the start (``seed``, or ``start`` where no seed leads there: the bytes of
``to_bytes``, zlib, base64), ``actions`` (one number per turn; a list of P in simultaneous games), ``players``,
``returns``, ``status``, and, if there are any, ``illegal``, ``comments``, ``clock`` (``Times``) and ``words`` (what was
typed for each seat).
An unfinished game is a line like any other: its actions lead to the state in which it was left.

In worlds, which have thousands of ticks and many players, ``actions`` and a hash of every tick's state are packed
(``packing``); ``release`` is the version of coterie that wrote the line. Reading a line replays it and reports the
first tick whose state differs.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...aliases import RUNNING, TERMINATED, TRUNCATED, State, Status
from ...errors import ActionError, CoterieError, IllegalAction, NotationError, StateError, UsageError
from ...version import __version__
from ..core import Game, GameRecord, Times
from ..plain import limit
from ..reading import parsed, read_text
from ..registry import list_envs, make_game
from ..state import bare, from_bytes, received, size, take, to_bytes
from ..words import TextGame
from .notation import kind_of, read_notation
from .packing import LOW, checksum, is_packed, pack, unpack, unpacked

__all__ = ["SavedGame", "as_played", "read_games", "replay", "write_json"]

_STATUS = {RUNNING: "running", TERMINATED: "terminated", TRUNCATED: "truncated"}


TURNS = 2_000_000
"""Most turns (ticks) of all games in a file together; a game counts 100 more. ``COTERIE_LIMITS`` raises it."""


@dataclass(frozen=True)
class SavedGame:
    """One game of a file.

    Attributes:
        game: the game with its saved configuration.
        record: the start and what was played.
        seed: the game's seed, or None if no seed leads to its start.
        words: what was typed for each seat (``alphabeta:3``), or ``()``.
    """

    game: Game
    record: GameRecord
    seed: int | None = None
    words: tuple[str, ...] = ()


def write_json(game: Game, record: GameRecord, seed: int | None = None, words: Sequence[str] = ()) -> str:
    """One line of JSON with its newline.

    Args:
        game: the game.
        record: what was played.
        seed: the game's seed; it is written instead of the start position if it leads there.
        words: what was typed for each seat.
    """
    info = game.info
    fields: dict[str, Any] = {"game": info.id, "config": game.config}
    if seed is not None and _same(game, _begun(game, seed), record.start):
        fields["seed"] = seed
    else:
        fields["start"] = base64.b64encode(zlib.compress(to_bytes(game, record.start), 9)).decode()
    if is_packed(game):
        fields |= {"release": __version__, **pack(game, record)}
    else:
        fields["actions"] = _numbers(game, record)
    fields |= {"players": record.players, "returns": record.returns, "status": _STATUS[record.status]}
    if record.illegal is not None:
        fields["illegal"] = record.illegal
    if record.comments:
        fields["comments"] = dict(record.comments)
    if record.clock is not None:
        fields["clock"] = asdict(record.clock)
    if words:
        fields["words"] = list(words)
    if is_packed(game):
        fields["checksum"] = checksum(fields)
    return json.dumps(fields, ensure_ascii=False) + "\n"


def _numbers(game: Game, record: GameRecord) -> list[Any]:
    """The actions: the current player's number each turn, or all players' each tick."""
    if game.info.simultaneous:
        return record.actions
    states = replay(game, record)
    return [actions[game.mover(state, 0)] for (state, _, _), actions in zip(states, record.actions, strict=False)]


def _same(game: Game, one: State, other: State) -> bool:
    """Whether two states are equal; in worlds, whose rows keep traces of earlier games, whether their keys are."""
    if is_packed(game):
        return game.key(one, 0) == game.key(other, 0)
    return to_bytes(game, one) == to_bytes(game, other)


def _begun(game: Game, seed: int) -> State:
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(seed % 2**64))
    return state


def replay(game: Game, record: GameRecord) -> Iterator[tuple[State, Any, Status]]:
    """Replay a record: (state, rewards [P] of the last turn, status), the start first, ``len(actions) + 1`` in all.

    Every state is a separate copy.

    Raises:
        StateError: the start is no position of the game.
        NotationError: an action that cannot be played there, or a turn whose state does not match its recorded key;
            ``at`` is the turn's number, ``read`` the record up to it.
    """
    info, kernels = game.info, game.kernels
    start = received(game, game.new_state(1), record.start)[0].state
    state, rewards, status = start, np.zeros(info.players, np.float32), RUNNING
    _need_same(game, record, 0, state)
    yield take(state), rewards.copy(), status
    for turn, actions in enumerate(record.actions):
        if is_packed(game):
            _need_known(game, record, turn, status)
        elif isinstance(game, TextGame):
            _need_sayable(game, record, turn, state, status)
        else:
            for p in range(info.players) if info.simultaneous else [game.mover(state, 0)]:
                legal = game.legal_mask(state, 0, p)
                if legal.any() or status != RUNNING or not info.simultaneous:
                    _need_legal(game, record, turn, p, legal)
        rewards[:] = 0
        status = int(kernels.step(state, 0, as_played(game, actions), rewards))
        _need_same(game, record, turn + 1, state)
        yield take(state), rewards.copy(), status


def as_played(game: Game, actions: Sequence[Any]) -> Any:
    """[P] actions of a record as ``Kernels.step`` takes them."""
    return actions if isinstance(game, TextGame) else np.array(actions, np.int32)


def _need_sayable(game: TextGame, record: GameRecord, turn: int, state: Any, status: Status) -> None:
    """Check that every message of the turn is valid and that the game is not over."""
    try:
        if status != RUNNING:
            raise IllegalAction("the game is already over")
        for p in game.asked(state[0]):
            game.read(state, 0, p, record.actions[turn][p])
    except ActionError as error:
        words = f"Turn {turn} of this game of {game.info.id} cannot be played: {error}"
        raise NotationError(words, turn, _until(game, record, turn)) from None


def _need_legal(game: Game, record: GameRecord, turn: int, player: int, legal: Any) -> None:
    action = record.actions[turn][player]
    if 0 <= action < len(legal) and legal[action]:
        return
    why = "the game is already over" if not legal.any() else "it is not legal there"
    words = f"Turn {turn} of this game of {game.info.id} has action {action} of player_{player}, but {why}."
    raise NotationError(words, turn, _until(game, record, turn))


def _need_known(game: Game, record: GameRecord, turn: int, status: Status) -> None:
    """Check that a world is not over and that all numbers are actions; worlds let any action be tried."""
    if status != RUNNING:
        words = f"Tick {turn + 1} of this game of {game.info.id} comes after its end."
        raise NotationError(words, turn, _until(game, record, turn))
    for p, action in enumerate(record.actions[turn]):
        if not 0 <= action < game.info.num_actions:
            words = (
                f"Tick {turn + 1} of this game of {game.info.id} has action {action} of player_{p}, but actions are "
                f"0..{game.info.num_actions - 1}."
            )
            raise NotationError(words, turn, _until(game, record, turn))


def _need_same(game: Game, record: GameRecord, ticks: int, state: State) -> None:
    """Check that the key of the state after ``ticks`` ticks is the recorded one."""
    if ticks >= len(record.keys):
        return
    noted, key = record.keys[ticks], game.key(state, 0)
    if noted == key or (ticks < len(record.keys) - 1 and noted & LOW == key & LOW):
        return
    what = f"Tick {ticks}" if ticks else "The start"
    words = (
        f"{what} of this game of {game.info.id} differs from what was played: its state has another hash. Its actions "
        "or start were altered, or it was played under other rules."
    )
    raise NotationError(words, ticks, _until(game, record, max(0, ticks - 1)))


def _until(game: Game, record: GameRecord, turn: int) -> GameRecord:
    """The record of the turns before ``turn``."""
    keys = record.keys[: turn + 1]
    return GameRecord(
        record.start, record.actions[:turn], record.players, (0.0,) * game.info.players, RUNNING, keys=keys
    )


def read_games(source: str | Path) -> list[SavedGame]:
    """Read the games in JSON lines, PGN (chess) or SGF (go, hex), given a text or a file; replays each to check it.

    Raises:
        UsageError: a file that cannot be read, or that holds none of these.
        NotationError: a line that is not a game, is of a game that is not registered or has another version, or a game
            with actions that are not legal; it names the line, and ``read`` holds the games before it.
    """
    name = f"{source}" if isinstance(source, Path) else "This"
    if isinstance(source, Path):
        try:
            source = read_text(source)
        except OSError as error:
            raise UsageError(f"{source} cannot be read: {error.strerror or error}.") from None
        except UnicodeDecodeError as error:
            packed = error.object.startswith(b"\x1f\x8b")
            if packed or kind_of(text := error.object.decode("latin-1")) not in ("pgn", "sgf"):
                why = f"it is packed; type gunzip {source} first" if packed else "it is not text in UTF-8"
                raise UsageError(f"{source} cannot be read: {why}.") from None
            source = text
    kind, left = kind_of(source), limit(TURNS)
    games: list[SavedGame] = []
    if kind in ("pgn", "sgf"):
        try:
            for game, record in read_notation(source, kind):
                _need_turns(len(record.actions) + 100, left)
                left -= len(record.actions) + 100
                games.append(SavedGame(game, replace(record, players=tuple(map(_printable, record.players)))))
        except CoterieError as error:
            raise NotationError(f"{kind.upper()}: {error}", getattr(error, "at", None), games) from error
        return games
    for number, line in enumerate(source.split("\n"), 1):  # names and comments may hold other separators
        if not line.strip():
            continue
        try:
            games.append(_read(line, left))
            left -= len(games[-1].record.actions) + 100
        except CoterieError as error:
            if number == 1 and not kind:
                told = f"{name} is not a file of games. It would hold JSON lines, PGN (chess) or SGF (go, hex)."
                raise UsageError(told) from None
            raise NotationError(f"line {number}: {error}", number, games) from error
    return games


def _need_turns(turns: int, left: int) -> None:
    """Check that so many turns may still be read."""
    if turns > left:
        raise UsageError(
            f"with it, the file has more than {limit(TURNS):,} turns, too many to keep in memory; if you trust it, "
            f"set COTERIE_LIMITS=10 to allow ten times as many."
        )


def _read(line: str, left: int) -> SavedGame:
    try:
        fields = parsed(line)
    except ValueError as error:
        cut = "; the file was cut short" if line.lstrip().startswith("{") and not line.rstrip().endswith("}") else ""
        raise UsageError(f"this is not JSON ({error}){cut}.") from None
    missing = {"game", "config", "actions", "players", "returns", "status"} - set(
        fields if isinstance(fields, dict) else ()
    )
    if missing:
        raise UsageError(f"this is not a saved game: {', '.join(sorted(missing))} missing.")
    try:
        _need_turns(100 + (int(fields["ticks"]) if "ticks" in fields else len(fields["actions"])), left)
        _need_version(fields["game"])
        _need_plain(fields["config"])
        game = make_game(fields["game"], **fields["config"])
        return _record(game, fields)
    except (TypeError, KeyError, IndexError, AttributeError, ValueError, ArithmeticError, RecursionError) as error:
        if isinstance(error, CoterieError):
            raise
        raise UsageError(f"a field has the wrong type ({error}).") from None


def _need_plain(config: Mapping[str, Any]) -> None:
    """Check that a configuration contains no path, since reading a saved game must not open other files."""
    if isinstance(config.get("config"), str):
        raise UsageError(f"its configuration is in another file ({config['config']!r}); a saved game holds its own.")


def _need_version(id: str) -> None:
    """Check that a registered game has the registered version."""
    name, dash, _ = id.rpartition("-v")
    known = [other for other in list_envs() if other.rpartition("-v")[0] == name]
    if dash and known and id not in known:
        raise StateError(f"this is a game of {id}, but the version here is {', '.join(known)}; versions do not mix.")


def _record(game: Game, fields: dict[str, Any]) -> SavedGame:
    info = game.info
    if info.id != fields["game"]:
        raise StateError(f"this is a game of {fields['game']}, but the version here is {info.id}; versions do not mix.")
    seed = fields.get("seed")
    if seed is not None and type(seed) is not int:
        raise UsageError(f"seed is {seed!r}; it must be a whole number.")
    start = _begun(game, int(seed)) if seed is not None else bare(from_bytes(game, _unpacked(fields.get("start"))))
    if size(start) != 1:
        raise UsageError(f"its start holds {size(start)} games, not one.")
    names = {word: status for status, word in _STATUS.items()}
    if fields["status"] not in names:
        raise UsageError(f"status is {fields['status']!r}; it must be one of {', '.join(names)}.")
    comments = {int(turn): _printable(text) for turn, text in fields.get("comments", {}).items()}
    players, returns = tuple(map(_printable, fields["players"])), tuple(map(float, fields["returns"]))
    if not len(players) == len(returns) == info.players:
        raise UsageError(f"{info.id} has {info.players} players, this line {len(players)} and {len(returns)} returns.")
    if isinstance(fields["actions"], str):
        return _packed(game, fields, GameRecord(start, [], players, returns, names[fields["status"]], None, comments))
    known: Any = (lambda a: a) if isinstance(game, TextGame) else int
    whole = [[known(a)] * info.players if not info.simultaneous else [known(b) for b in a] for a in fields["actions"]]
    if any(len(actions) != info.players for actions in whole):
        raise UsageError(f"the number of actions in a turn is not the number of players of {info.id} ({info.players}).")
    illegal = fields.get("illegal")
    if illegal is not None and (type(illegal) is not int or not 0 <= illegal < info.players):
        raise UsageError(f"illegal is {illegal!r}; it must be a seat, 0 to {info.players - 1}.")
    clock = None if info.simultaneous else _times(fields.get("clock"), info.players)
    record = GameRecord(start, whole, players, returns, names[fields["status"]], illegal, comments, clock=clock)
    for _ in replay(game, record):
        pass
    return SavedGame(game, record, seed, tuple(map(_printable, fields.get("words", ()))))


def _times(fields: Any, players: int) -> Times | None:
    """The clock of a line, if it has one."""
    if fields is None:
        return None
    base, increment, flagged = (fields.get(name) for name in ("base", "increment", "flagged"))
    left = tuple(map(float, fields.get("left", ())))
    whole = all(type(number) is int and 0 <= number < 10**6 for number in (base, increment))
    if not whole or not base or not all(0 <= seconds < 10**9 for seconds in left):
        raise UsageError("its clock must hold whole seconds, base (at least 1) and increment, and the times left.")
    if flagged is not None and (type(flagged) is not int or not 0 <= flagged < players):
        raise UsageError(f"its clock says that seat {flagged!r} lost on time; seats are 0 to {players - 1}.")
    return Times(base, increment, left, flagged)


def _printable(text: Any) -> str:
    """A text for the terminal: lines and tabs stay, what would steer the terminal or fits no encoding becomes ``?``."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in str(text))


def _packed(game: Game, fields: dict[str, Any], begun: GameRecord) -> SavedGame:
    """Read a world's line; ``begun`` is its record without actions and keys."""
    if not is_packed(game):
        raise UsageError(f"the actions of {game.info.id} must be lists of numbers, not a text.")
    actions, keys = unpack(game, fields)
    record = replace(begun, actions=actions, keys=keys)
    altered = "checksum" in fields and fields["checksum"] != checksum(fields)
    said = "it was altered after it was written (its checksum does not match)"
    try:
        status = deque(replay(game, record), maxlen=1)[0][2]
    except NotationError as error:
        other = fields.get("release", "")
        if altered:
            raise NotationError(f"{said}: {error}", error.at, error.read) from None
        if other != __version__:
            wrote = f"coterie {other}" if other else "an unknown version"
            raise NotationError(f"{error} ({wrote} wrote it, this is {__version__}.)", error.at, error.read) from None
        raise
    if altered:
        raise UsageError(f"{said}, though the state of every tick matches.")
    # A truncation may come from outside the rules (max_cycles); a termination never does.
    if status != record.status and not (status == RUNNING and record.status == TRUNCATED):
        raise UsageError(f"its status is {fields['status']!r}, but after its last tick it is {_STATUS[status]!r}.")
    seed = fields.get("seed")
    words = tuple(map(_printable, fields.get("words", ())))
    return SavedGame(game, record, None if seed is None else int(seed), words)


def _unpacked(text: Any) -> bytes:
    try:
        return unpacked(text)
    except UsageError as error:
        raise UsageError(f"its start cannot be unpacked: {error}.") from None
    except (binascii.Error, zlib.error, TypeError, ValueError) as error:
        raise UsageError(f"it has neither a seed nor a start that can be unpacked ({error}).") from None
