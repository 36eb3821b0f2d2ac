"""Rows from outside: what every one of them must fulfil before a kernel, which does not check bounds, sees it.

``need_sound`` is the one gate; ``state`` leads all doors through it (bytes, snapshots, bare rows, pickles, replays). A
game states what its rows must fulfil as ``Game.ranges`` and ``Kernels.sound``. A game that states nothing is safe too
if its kernels check bounds, as those of the public decorator ``coterie.envs.kernel`` do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, State
from ..errors import StateError
from .core import Game
from .stepping.drivers import drivers
from .stepping.templates import LEFT, NO_SEAT, STUCK, UNKNOWN

__all__ = ["UNKNOWN", "need_sound", "need_within"]

_REASONS = {
    NO_SEAT: "the seat to move is none of its players",
    STUCK: "it is marked as running, but no player has a legal action",
    LEFT: "it is running, but a player that is alive has left it",
}


def need_sound(game: Game, state: State, status: NDArray[np.uint8], gone: NDArray[np.bool_]) -> None:
    """Refuse rows that the game's kernels or texts could not take, now or later.

    Args:
        game: the game.
        state: bare rows, in this game's layout and in C order.
        status: [N]; where it is UNKNOWN it becomes RUNNING, or TERMINATED if there is no legal action.
        gone: [N, P] as in ``Snapshot``.

    Raises:
        StateError: names the first bad row, and the field or the condition.
    """
    if isinstance(state, list):
        _need_sound_words(game, state, status)
        return
    need_within(game, game.ranges, state)
    for name, flags in _flags(state):
        _need(game, name, flags.view(np.uint8), 0, 1)
    try:
        found = int(drivers(game).examine(state, np.zeros(game.info.num_actions, np.int8), status, gone))
    except IndexError:  # of kernels that check bounds
        raise StateError(
            f"These rows are no positions of {game.info.id}: its kernels index beyond their arrays with them. Take "
            "rows from get_state() or to_bytes()."
        ) from None
    if found >= 0:
        row, reason = divmod(found, 256)
        raise _refused(game, row, _REASONS[reason] if reason in _REASONS else game.conditions[reason - 1])


def _need_sound_words(game: Game, state: list[Any], status: NDArray[np.uint8]) -> None:
    """``need_sound`` for games of words, whose kernels are Python."""
    for i in range(len(state)):
        reason = game.kernels.sound(state, i) if game.kernels.sound is not None else 0
        if reason:
            raise _refused(game, i, game.conditions[reason - 1])
        asked = any(game.legal_mask(state, i, p).any() for p in range(game.info.players))
        if status[i] == UNKNOWN:
            status[i] = RUNNING if asked else TERMINATED
        elif status[i] == RUNNING and not asked:
            raise _refused(game, i, _REASONS[STUCK])


def need_within(game: Game, ranges: Mapping[str, tuple[Any, Any]], state: Any) -> None:
    """Refuse rows with a value outside the range of its field.

    Args:
        game: the game, for the message.
        ranges: as ``Game.ranges``.
        state: a structured array, a NamedTuple of arrays, or a mapping of arrays.

    Raises:
        StateError: names the first such row and field.
    """
    for name, (low, high) in ranges.items():
        _need(game, name, reduce(_part, name.split("."), state), low, high)


def _need(game: Game, name: str, values: NDArray[Any], low: Any, high: Any) -> None:
    """``need_within`` for one field, [N, ...]."""
    fine = (values >= low) & (values <= high)  # both false for NaN
    if fine.all():
        return
    row, *at = map(int, np.argwhere(~fine)[0])
    least, most = (np.broadcast_to(bound, values.shape[1:])[tuple(at)].item() for bound in (low, high))
    may = f"must be {least}" if least == most else f"may be {least} to {most}"
    where = f"{name}{at}" if at else name
    raise _refused(game, row, f"{where} is {values[(row, *at)].item()}; it {may}")


def _part(state: Any, name: str) -> Any:
    """A field of a structured array, a NamedTuple or a mapping."""
    return getattr(state, name) if hasattr(state, "_fields") else state[name]


def _flags(state: Any, name: str = "") -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The bool arrays of a state: from outside, their bytes may be neither 0 nor 1."""
    names = getattr(state, "_fields", None) or getattr(getattr(state, "dtype", None), "names", None)
    if names:
        for part in names:
            yield from _flags(_part(state, part), f"{name}.{part}".lstrip("."))
    elif state.dtype == np.bool_:
        yield name, state


def _refused(game: Game, row: int, why: str) -> StateError:
    return StateError(f"Row {row} is no position of {game.info.id}: {why}. Take rows from get_state() or to_bytes().")
