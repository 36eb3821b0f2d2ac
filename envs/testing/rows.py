"""Forged rows: what a file or a stranger could pass for states of a game, and what an accepted one must stand.

``forge`` knows the layout of a game's rows: it changes fields, links, counts and bits of rows of real play.
``try_rows`` sends rows through the gate of ``sound``, and plays on with those that pass.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, State
from ...errors import ActionError, StateError
from ..core import Game, GameRecord
from ..faces.aec import AECGame
from ..faces.parallel import ParallelGame
from ..faces.render import picture
from ..registry import list_envs, spec
from ..sound import UNKNOWN, unsound
from ..state import from_bytes, size, take, to_bytes
from ..words import TextGame
from ..words.vec import vec_of

__all__ = ["forge", "try_rows"]

POOL = 512
"""Rows of real play that forged ones are made from."""

_POOLS: dict[tuple[str, str], State] = {}


def _pool(game: Game) -> State:
    """Rows from all parts of random games; some games are over."""
    name = game.info.id, json.dumps(game.config)
    if name not in _POOLS:
        vec: Any = vec_of(game, POOL if not isinstance(game, TextGame) else 32, seed=1, autoreset_mode="Disabled")
        vec.reset()
        for part in range(8):
            for _ in range(max(1, min(game.info.max_cycles, 400) // 12)):
                vec.step(vec.sample_actions())
            vec.reset(mask=np.arange(vec.num_envs) % 9 == part)
        _POOLS[name] = take(vec.state)
    return _POOLS[name]


def forge(game: Game, n: int, seed: int) -> State:
    """Bare rows of a game, forged: one in 16 is real, the others have one to eight changes.

    A change concerns one field; all are equally likely. It sets an element to an edge of its range or type, to a number
    within its range or next to the old one, to another element, to random bits, or flips one bit; or it takes the whole
    field from another row. The same arguments give the same rows.

    Args:
        game: any game.
        n: how many rows.
        seed: of the random numbers.
    """
    rng = np.random.default_rng(seed)
    pool = _pool(game)
    state = take(pool, rng.integers(size(pool), size=n))
    changes = np.where(rng.random(n) < 1 / 16, 0, rng.geometric(0.5, n).clip(1, 8))
    if isinstance(state, list):
        return [_forged(rng, row) if changes[i] else row for i, row in enumerate(state)]
    fields = list(_fields(state))
    for turn in range(8):
        which = np.where(changes > turn, rng.integers(len(fields), size=n), -1)
        for f, (name, values) in enumerate(fields):
            rows = np.flatnonzero(which == f)
            if rng.random() < 0.1:
                values[rows] = values[rng.integers(n, size=len(rows))]
            elif len(rows):
                _change(rng, values, rows, game.ranges.get(name))
    return state


def _fields(state: Any, name: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Views of a state's fields, [N, ...] each, by the names that ``Game.ranges`` uses."""
    names = getattr(state, "_fields", None) or state.dtype.names
    for part in names or ():
        inner = getattr(state, part) if hasattr(state, "_fields") else state[part]
        yield from _fields(inner, f"{name}.{part}".lstrip("."))
    if not names:
        yield name, state


def _change(rng: np.random.Generator, values: NDArray[Any], rows: NDArray[Any], bounds: Any) -> None:
    """Change one element of a field in each of the rows."""
    shape, m, bits = values.shape[1:], len(rows), 8 * values.dtype.itemsize
    kind = np.dtype(f"u{values.dtype.itemsize}")
    raw = values.view(kind)
    at, other = ((rows, *(rng.integers(d, size=m) for d in shape)) for _ in range(2))
    one, old, noise = kind.type(1), raw[at], rng.integers(2**64, size=m, dtype=np.uint64).astype(kind)
    options = [
        old ^ (one << rng.integers(bits, size=m).astype(kind)),
        old + one,
        old - one,
        noise,
        noise >> rng.integers(bits, size=m).astype(kind),
        raw[other],
        raw[(rng.integers(len(values), size=m), *at[1:])],
        *(np.full(m, edge, np.uint64).astype(kind) for edge in (0, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1)),
    ]
    if bounds is not None:
        edges = (np.broadcast_to(np.asarray(b).astype(values.dtype), shape)[at[1:]] for b in bounds)
        low, high = (np.broadcast_to(edge, m).astype(values.dtype).view(kind) for edge in edges)
        inside = low + noise % np.maximum(high - low + one, one)
        options += [low, high, low - one, high + one, inside, inside, inside, inside]
    raw[at] = np.array(options)[rng.integers(len(options), size=m), np.arange(m)]


_ODD: tuple[Any, ...] = (None, True, -1, 0, 1, 2**40, 0.5, "", "x" * 9, "\ud800", [], [0], ["a"], {}, {"a": [1]})
"""Plain data that is rarely what a game of words expects."""


def _forged(rng: np.random.Generator, row: Any) -> Any:
    """One game of plain data with a part removed, added or replaced."""
    odd = _ODD[int(rng.integers(len(_ODD)))]
    if isinstance(row, dict) and row and rng.random() < 0.95:
        name = list(row)[int(rng.integers(len(row)))]
        if rng.random() < 0.1:
            return {other: value for other, value in row.items() if other != name}
        return row | {name: _forged(rng, row[name])}
    if isinstance(row, list) and row and rng.random() < 0.7:
        k = int(rng.integers(len(row)))
        return row[:k] + ([_forged(rng, row[k])] if rng.random() < 0.8 else []) + row[k + 1 :]
    return row + int(rng.integers(-3, 4)) if type(row) is int and rng.random() < 0.5 else odd


def try_rows(game: Game, state: State, seed: int = 0, moves: int = 8, looked: int = 16) -> int:
    """Offer rows to a game, and play on with those that it accepts; returns how many those are.

    All accepted rows are masked, observed by all players and stepped by random legal actions; every row that this leads
    to must be one that the game accepts. Some of them are also told, named, parsed, drawn, copied, stored and played on
    the other faces, and some of the refused are offered as bytes.

    Args:
        game: any game.
        state: bare rows in its layout, such as ``forge`` makes. They are not changed.
        seed: of the random actions.
        moves: how many actions to play.
        looked: how many accepted rows, and refused ones, to look at one by one.

    Raises:
        AssertionError: the game accepted a row that it cannot play.
    """
    reasons = _reasons(game, state)
    for i in np.flatnonzero(reasons)[:looked].tolist():
        _need_refused(game, take(state, [i]))
    good = np.flatnonzero(reasons == 0)
    if not len(good):
        return 0
    rows = take(state, good)
    vec: Any = vec_of(game, len(good), seed=seed, autoreset_mode="Disabled")
    vec.reset()
    vec.set_state(rows)
    for move in range(moves + 1):
        bad = _reasons(game, vec.state, vec.status.copy())
        assert not bad.any(), f"move {move} leads from an accepted row to one that is refused: {bad[bad > 0][0]}"
        if not isinstance(game, TextGame):
            assert vec.action_mask.max() <= 1, "a mask holds other numbers than 0 and 1"
            for p in range(min(game.info.players, 8)):
                vec.observe(np.arange(len(good)), np.full(len(good), p))
        if move < moves:
            vec.step(vec.sample_actions())
            assert np.isfinite(vec.rewards).all(), "a reward is not finite"
    if not isinstance(game, TextGame):
        vec.set_state(rows)
        vec.random_rollout(moves, observe=False)
    for i in range(min(looked, len(good))):
        _look_at(game, take(rows, [i]), seed + i, moves)
    return len(good)


def _reasons(game: Game, state: State, status: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
    n = size(state)
    unknown = np.full(n, UNKNOWN, np.uint8) if status is None else status
    return unsound(game, state, unknown, np.zeros((n, game.info.players), np.bool_))


def _need_refused(game: Game, row: State) -> None:
    """Check that bytes with a bad row are refused in one sentence."""
    said = ""
    try:
        from_bytes(game, to_bytes(game, row))
    except StateError as error:
        said = str(error)
    assert "is no position of" in said, f"a row that is refused among others is accepted as bytes, or: {said!r}"


def _look_at(game: Game, row: State, seed: int, moves: int) -> None:
    """Look at one accepted row from all sides, and play it on two faces."""
    rng = np.random.default_rng(seed)
    assert to_bytes(game, from_bytes(game, to_bytes(game, row))) == to_bytes(game, row), "bytes change a row"
    draw = spec(game.info.id).draw if game.info.id in list_envs() else None
    words = isinstance(game, TextGame)
    with contextlib.suppress(ImportError):  # the graphics may be missing
        if draw:
            picture(draw, game, row)
    nobody = GameRecord(row, [], tuple(game.info.agents), (0.0,) * game.info.players, RUNNING)
    for write in game.formats.values():
        write(nobody)
    env, together = AECGame(game), ParallelGame(game)
    for face in (env, together):
        face.set_state(row)
        face = face.clone()
        for _ in range(moves):
            if not face.agents:
                break
            state = face.table.state
            game.key(state, 0)
            for p in range(min(game.info.players, 4)):
                game.describe(state, 0, p), game.compact(state, 0, p)
                for action in game.legal_actions(state, 0, p)[:4] if not words else ():
                    with contextlib.suppress(ActionError):
                        assert game.parse_action(state, 0, game.action_to_text(state, 0, action)) == action
            face.step(_answer(face, rng))


def _answer(face: AECGame | ParallelGame, rng: np.random.Generator) -> Any:
    """A random action, legal or not, of the next agent; of all agents, on the parallel face."""
    if isinstance(face, ParallelGame):
        return {agent: face.action_space(agent).sample() for agent in face.agents}
    agent = face.agent_selection
    if face.terminations[agent] or face.truncations[agent]:
        return None
    mask = face.infos[agent].get("action_mask")
    legal: Any = np.flatnonzero(mask) if isinstance(mask, np.ndarray) else []
    return int(rng.choice(legal)) if len(legal) else face.action_space(agent).sample()
