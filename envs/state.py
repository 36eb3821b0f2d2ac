"""Copies rows of game states: take, put, to_bytes, from_bytes. Openings, search, siblings and checkpoints use them.

A state is N games in one of two layouts: a structured array [N], or a NamedTuple of arrays with leading axis N
(NamedTuples may nest). In games of words it is a list of N games of plain data. ``Snapshot`` has the second layout: a
game's rows plus the bookkeeping that every face keeps with them.

Rows hold the configuration, and kernels do not check bounds. If rows with the same layout can have configurations that
need other array sizes elsewhere (observations), their NamedTuple has a method ``configured() -> arrays`` [N, ...]: rows
that differ in these arrays are refused like rows with another layout.

The file is longer than most: whatever comes from outside, as rows or as bytes, is checked against the layouts above.
"""

from __future__ import annotations

import copy
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aliases import TERMINATED, TRUNCATED, State
from ..errors import StateError
from .core import Game
from .reading import parsed
from .sound import UNKNOWN, need_sound, need_within

__all__ = [
    "NONE",
    "Snapshot",
    "bare",
    "copied_like",
    "from_bytes",
    "layout_hash",
    "need_whole",
    "packed",
    "put",
    "received",
    "rows_of",
    "size",
    "snapshot",
    "take",
    "to_bytes",
    "unpacked",
]

NONE = -(2**31)
"""No action yet."""

_MAGIC = b"COTERIE-STATE-1\n"


class Snapshot(NamedTuple):
    """n games in full: the game's rows and the bookkeeping of the faces.

    Attributes:
        state: the game's own rows.
        seed: [n] uint64 the row's seed; it and ``episode`` determine the game.
        episode: [n] uint32 games started in this row since it was seeded, minus one.
        cycles: [n] int32 turns or ticks played in this game.
        status: [n] uint8 RUNNING, TERMINATED or TRUNCATED.
        rewards: [n, P] float32 of the last transition.
        pending: [n, P] float64 rewards since a player last acted (PettingZoo's cumulative rewards).
        illegal: [n, P] int32 illegal actions so far in this game.
        gone: [n, P] bool players that have taken their final ``step(None)``.
        waiting: [n, P] int32 actions of an incomplete tick (AEC face of simultaneous games); NONE elsewhere. In games
            of words a list of n lists, with messages instead of numbers.
    """

    state: State
    seed: NDArray[np.uint64]
    episode: NDArray[np.uint32]
    cycles: NDArray[np.int32]
    status: NDArray[np.uint8]
    rewards: NDArray[np.float32]
    pending: NDArray[np.float64]
    illegal: NDArray[np.int32]
    gone: NDArray[np.bool_]
    waiting: NDArray[np.int32] | list[list[Any]]


def _leaves(state: State) -> list[Any]:
    if isinstance(state, np.ndarray | list):
        return [state]
    if isinstance(state, tuple):
        return [leaf for part in state for leaf in _leaves(part)]
    raise StateError(
        f"A state is a structured array or a NamedTuple of arrays, not {type(state).__name__}. "
        "Take one from get_state()."
    )


def size(state: State) -> int:
    """Number of rows."""
    return len(_leaves(state)[0])


def rows_of(rows: Sequence[int] | NDArray[Any] | int | None, n: int) -> NDArray[np.intp]:
    """Row numbers [k] from a list, a bool mask [n], one number, or None for all; negative ones count from the end.

    Raises:
        StateError: not rows of 0..n-1, or a mask of another length.
    """
    if rows is None:
        return np.arange(n)
    index = np.atleast_1d(np.asarray(rows))
    if index.dtype == np.bool_:
        if index.shape != (n,):
            raise StateError(
                f"A row mask has the shape {list(index.shape)}, but there are {n} rows. Pass one bool per row."
            )
        return np.flatnonzero(index)
    if index.size == 0:
        return np.zeros(0, np.intp)
    if index.dtype.kind not in "iu" or index.ndim != 1:
        raise StateError(f"Rows are whole numbers, not {index.dtype} of shape {index.shape}.")
    if index.min() < -n or index.max() >= n:
        raise StateError(f"Rows {index.min()}..{index.max()} were requested, but there are {n} rows.")
    return np.where(index < 0, index + n, index).astype(np.intp)


def _make(kind: type, parts: list[Any]) -> Any:
    return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)


def take(state: State, rows: Sequence[int] | NDArray[Any] | int | None = None) -> State:
    """A copy of some rows (all of them by default), in the same layout."""
    if isinstance(state, np.ndarray):
        return state.copy() if rows is None else state[rows_of(rows, len(state))]
    if isinstance(state, list):
        return [copy.deepcopy(state[i]) for i in rows_of(rows, len(state)).tolist()]
    _leaves(state)
    return _make(type(state), [take(part, rows) for part in state])


def put(state: State, source: State, rows: Sequence[int] | NDArray[Any] | int | None = None) -> None:
    """Write the rows of ``source`` over ``rows`` of ``state``, in place; a single source row goes to all of them.

    Raises:
        StateError: the layouts or the numbers of rows differ.
    """
    _need_layout(state, source)
    index = rows_of(rows, size(state))
    if size(source) not in (1, len(index)):
        raise StateError(f"{size(source)} rows came for {len(index)} rows. Give the same number, or one for all.")
    for old, new in zip(_leaves(state), _leaves(source), strict=True):
        if isinstance(old, list):
            for k, i in enumerate(index.tolist()):
                old[i] = copy.deepcopy(new[k % len(new)])
        else:
            old[index] = new


def _need_layout(state: State, source: State) -> None:
    if _layout(state) != _layout(source) or any(isinstance(p, np.ndarray) and not p.ndim for p in _leaves(source)):
        raise StateError(
            "These rows have another layout: another game, configuration or version. Take them from this game."
        )
    if hasattr(state, "configured") and len(_leaves(state)[0]):
        for own, came in zip(state.configured(), source.configured(), strict=True):
            if (own[:1] != came).any():
                raise StateError("These rows are of another configuration. Take them from a game with this one.")
    counts = {len(leaf) for leaf in _leaves(source)}
    if len(counts) > 1:
        raise StateError(
            f"These rows are inconsistent: their arrays have {min(counts)} to {max(counts)} rows. Use take()."
        )


def _layout(state: State) -> list[Any]:
    if isinstance(state, np.ndarray):
        return [state.dtype.descr, list(state.shape[1:])]
    if isinstance(state, list):
        return ["plain"]
    _leaves(state)
    return [list(getattr(type(state), "_fields", ())), *(_layout(part) for part in state)]


def layout_hash(state: State) -> str:
    """16 hex digits over field names, types and shapes (without the number of rows)."""
    return hashlib.sha256(json.dumps(_layout(state)).encode()).hexdigest()[:16]


def snapshot(game: Game, state: State) -> Snapshot:
    """Bare game rows as newly started games: cycles, rewards and counts are 0.

    Rows without a legal action have ended.

    Raises:
        StateError: rows that are no positions of the game.
    """
    whole = _whole(game, state)
    need_sound(game, state, whole.status, whole.gone)
    return whole


def _whole(game: Game, state: State) -> Snapshot:
    """Bare game rows as newly started games of unknown status."""
    n, players = size(state), game.info.players
    plain = isinstance(state, list)
    return Snapshot(
        state,
        np.zeros(n, np.uint64),
        np.zeros(n, np.uint32),
        np.zeros(n, np.int32),
        np.full(n, UNKNOWN, np.uint8),
        np.zeros((n, players), np.float32),
        np.zeros((n, players), np.float64),
        np.zeros((n, players), np.int32),
        np.zeros((n, players), np.bool_),
        [[NONE] * players for _ in range(n)] if plain else np.full((n, players), NONE, np.int32),
    )


_KEPT = {
    "cycles": (0, 2**31 - 1),
    "status": (0, max(TERMINATED, TRUNCATED)),
    "rewards": (-np.inf, np.inf),
    "pending": (-np.inf, np.inf),
    "illegal": (0, 2**31 - 1),
}
"""Ranges of the bookkeeping; infinite ones exclude NaN alone."""


def need_whole(game: Game, given: Snapshot) -> None:
    """Refuse snapshots that are no positions of the game, or whose bookkeeping no face could have written.

    Raises:
        StateError: names the first bad row, and the field or the condition.
    """
    need_within(game, _KEPT | {"gone": (0, 1)}, given._replace(gone=given.gone.view(np.uint8)))
    if isinstance(given.waiting, list) and any(
        not isinstance(row, list) or len(row) != game.info.players or not all(isinstance(m, str | int) for m in row)
        for row in given.waiting
    ):
        raise StateError(f"These rows are altered: waiting must hold {game.info.players} messages or numbers each.")
    need_sound(game, given.state, given.status, given.gone)


def copied_like(own: State, came: Any) -> Any:
    """A copy of ``came``, as plain arrays in C order in the same tuples as ``own``.

    Raises:
        StateError: it has another layout or another number of rows than ``own``.
    """
    lengths = [
        [leaf.shape[:1] if isinstance(leaf, np.ndarray) else len(leaf) for leaf in _leaves(one)] for one in (own, came)
    ]
    if _layout(own) != _layout(came) or lengths[0] != lengths[1]:
        raise StateError("These rows were altered: their arrays have other types or sizes than this environment's.")
    return _copied(own, came)


def received(game: Game, own: State, given: Any) -> tuple[Snapshot, bool]:
    """A state from the user as a Snapshot, and whether it was one already (bare rows have no seeds).

    Kernels do not check bounds, so they see a copy, and only if ``sound`` lets it pass.

    Args:
        game: the game.
        own: rows of this game, of any number.
        given: a Snapshot, bare rows or bytes.

    Raises:
        StateError: a state of another game or layout, truncated, or no position of this game.
    """
    if isinstance(given, bytes | bytearray | memoryview):
        given = _read(game, bytes(given))
    _need_layout(own, bare(given))
    if not isinstance(given, Snapshot):
        return snapshot(game, _copied(own, given)), False
    like = _whole(game, own)
    _need_layout(like, given)
    whole: Snapshot = _copied(like, given)
    need_whole(game, whole)
    return whole, True


def _copied(own: State, given: State) -> State:
    """A copy of ``given``, which has the layout of ``own``, as plain arrays in C order in the same tuples."""
    if isinstance(own, tuple):
        return _make(type(own), [_copied(*pair) for pair in zip(own, given, strict=True)])
    return copy.deepcopy(given) if isinstance(own, list) else np.array(given, own.dtype, order="C")


def bare(state: State) -> State:
    """The game's own rows of a Snapshot, or the state itself."""
    return state.state if isinstance(state, Snapshot) else state


def to_bytes(game: Game, state: State) -> bytes:
    """Rows as bytes: a header (game id, configuration, layout hash, rows, checksum), then the arrays.

    ``from_bytes`` with the same game and configuration returns equal rows, in any process.
    """
    parts = [_as_bytes(leaf) for leaf in _leaves(state)]
    payload = b"".join(parts)
    header = {
        "id": game.info.id,
        "kind": "snapshot" if isinstance(state, Snapshot) else "state",
        "config": _plain(game.config),
        "layout": layout_hash(state),
        "rows": size(state),
        "crc": zlib.crc32(payload),
    }
    plain = [len(part) for part, leaf in zip(parts, _leaves(state), strict=True) if isinstance(leaf, list)]
    header |= {"plain": plain} if plain else {}
    return _MAGIC + json.dumps(header).encode() + b"\n" + payload


def _as_bytes(leaf: Any) -> bytes:
    """The bytes of an array; plain data as JSON."""
    return json.dumps(leaf).encode() if isinstance(leaf, list) else np.ascontiguousarray(_without_gaps(leaf)).tobytes()


def _without_gaps(leaf: NDArray[Any]) -> NDArray[Any]:
    """The array with zeros in the padding of an aligned layout, where NumPy's copies leave arbitrary bytes."""
    fields = leaf.dtype.fields
    if fields is None or sum(field[0].itemsize for field in fields.values()) == leaf.dtype.itemsize:
        return leaf
    clean = np.zeros(leaf.shape, leaf.dtype)
    for name in fields:
        clean[name] = leaf[name]
    return clean


def from_bytes(game: Game, blob: bytes) -> State:
    """The rows that ``to_bytes`` wrote: a Snapshot or bare rows.

    Raises:
        StateError: not a state, truncated or altered, of another game, version or configuration, or no position of
            this game.
    """
    state = _read(game, blob)
    if isinstance(state, Snapshot):
        need_whole(game, state)
    else:
        snapshot(game, state)
    return state


def packed(state: State) -> bytes:
    """The bytes of rows of arrays, without a header; ``unpacked`` reads them."""
    return b"".join(_as_bytes(leaf) for leaf in _leaves(state))


def unpacked(state: State, data: bytes) -> None:
    """Write what ``packed`` gave over ``state``, which has the layout and the number of rows of those that were packed.

    Raises:
        StateError: another number of bytes. The rows may still be no positions of a game: see ``snapshot``.
    """
    leaves = _leaves(state)
    if len(data) != sum(leaf.nbytes for leaf in leaves):
        raise StateError(f"{len(data)} bytes came; these rows have {sum(leaf.nbytes for leaf in leaves)}.")
    offset = 0
    for leaf in leaves:
        leaf[...] = np.frombuffer(data, leaf.dtype, leaf.size, offset).reshape(leaf.shape)
        offset += leaf.nbytes


def _read(game: Game, blob: bytes) -> State:
    """``from_bytes`` before any look at the rows' values."""
    header, payload = _split(blob)
    name, version = game.info.id.rsplit("-v", 1)
    came = str(header["id"]).rsplit("-v", 1)
    if came[0] != name:
        raise StateError(f"This state is of the game {header['id']}, but {game.info.id} is played here.")
    if came[-1] != version:
        raise StateError(
            f"This state is of version {header['id']}, but {game.info.id} is played here: versions do not mix."
        )
    if header["config"] != _plain(game.config):
        raise StateError(
            f"This state is of {header['id']} with another configuration: {_told(header['config'])}. This game has "
            f"{_told(game.config)}. Make the game with the same arguments."
        )
    n = header["rows"]
    if type(n) is not int or not 0 <= n <= len(payload):
        raise StateError(f"This state is truncated or altered: {len(payload)} bytes came for {n!r} rows.")
    one = _whole(game, game.new_state(1)) if header["kind"] == "snapshot" else game.new_state(1)
    if layout_hash(one) != header["layout"]:
        raise StateError(
            f"This state is of {header['id']} with another layout: another release wrote it. "
            "Replay that game from its record."
        )
    plain = iter(header.get("plain", ()))
    lengths = [next(plain, 0) if isinstance(leaf, list) else n * leaf.nbytes for leaf in _leaves(one)]
    expected = sum(lengths)
    if len(payload) != expected:
        raise StateError(f"This state is truncated: {len(payload)} bytes came, {n} rows have {expected}.")
    if zlib.crc32(payload) != header["crc"]:
        raise StateError("This state was altered: its checksum does not match.")
    state = game.new_state(n)
    state = _whole(game, state) if header["kind"] == "snapshot" else state
    offset = 0
    for leaf, length in zip(_leaves(state), lengths, strict=True):
        if isinstance(leaf, list):
            leaf[:] = _listed(payload[offset : offset + length], n)
        else:
            leaf[...] = np.frombuffer(payload, leaf.dtype, leaf.size, offset).reshape(leaf.shape)
        offset += length
    return state


def _listed(text: bytes, n: int) -> list[Any]:
    """N games of plain data from JSON."""
    try:
        found = parsed(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or len(found) != n:
        raise StateError(f"This state is altered: its text is not a list of {n} games.")
    return found


def _plain(config: Mapping[str, Any]) -> Any:
    """A game's arguments after a round trip through JSON."""
    return json.loads(json.dumps(dict(config)))


def _told(config: Mapping[str, Any]) -> str:
    told = ", ".join(f"{name}={value!r}" for name, value in config.items()) or "without arguments"
    return told if len(told) < 500 else f"{told[:500]}..."


def _split(blob: bytes) -> tuple[dict[str, Any], bytes]:
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise StateError(f"A state blob is bytes, not {type(blob).__name__}.")
    data = bytes(blob)
    if not data.startswith(_MAGIC):
        raise StateError(
            f"These {len(data)} bytes are not a coterie state (or only the start of one). Write states with to_bytes()."
        )
    line, newline, payload = data[len(_MAGIC) :].partition(b"\n")
    try:
        header = parsed(line) if newline else None
    except ValueError:
        header = None
    plain = header.get("plain", []) if isinstance(header, dict) else None
    if (
        not isinstance(header, dict)
        or not isinstance(header.get("config"), dict)
        or not {"id", "kind", "config", "layout", "rows", "crc"} <= header.keys()
        or not (isinstance(plain, list) and all(type(length) is int and length >= 0 for length in plain))
    ):
        raise StateError(f"This state is truncated or altered: its header cannot be read ({len(data)} bytes came).")
    return header, payload
