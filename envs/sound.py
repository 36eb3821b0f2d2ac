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
from .stepping.templates import LEFT, NO_SEAT, OUTSIDE, STUCK, UNKNOWN

__all__ = ["UNKNOWN", "need_sound", "need_within", "unsound"]

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
    reasons = unsound(game, state, status, gone)
    if not reasons.any():
        return
    row = int(np.flatnonzero(reasons)[0])
    reason = int(reasons[row])
    if reason == OUTSIDE:
        need_within(game, game.ranges, state)
        need_within(game, dict.fromkeys(dict(_flags(state)), (0, 1)), dict(_flags(state)))
    raise _refused(game, row, _REASONS[reason] if reason in _REASONS else game.conditions[reason - 1])


def unsound(game: Game, state: State, status: NDArray[np.uint8], gone: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """[N] why each row must be refused, 0 if it may pass; arguments as ``need_sound``.

    Raises:
        StateError: kernels that check bounds met an index out of bounds.
    """
    reasons = np.zeros(len(status), np.uint8)
    if isinstance(state, list):
        _examine_words(game, state, status, gone, reasons)
        return reasons
    bounds = [(reduce(_part, name.split("."), state), *bound) for name, bound in game.ranges.items()]
    for values, low, high in [*bounds, *((flags, 0, 1) for _, flags in _flags(state))]:
        fine = (values >= low) & (values <= high)  # both false for NaN
        if not fine.all():
            reasons[~fine.reshape(len(fine), -1).all(1)] = OUTSIDE
    try:
        drivers(game).examine(state, np.zeros(game.info.num_actions, np.int8), status, gone, reasons)
    except IndexError:  # of kernels that check bounds
        raise StateError(
            f"These rows are no positions of {game.info.id}: its kernels index beyond their arrays with them. Take "
            "rows from get_state() or to_bytes()."
        ) from None
    return reasons


def _examine_words(
    game: Game, state: list[Any], status: NDArray[np.uint8], gone: NDArray[np.bool_], reasons: NDArray[np.uint8]
) -> None:
    """The driver ``examine`` for games of words, whose kernels are Python."""
    for i in range(len(state)):
        reasons[i] = game.kernels.sound(state, i) if game.kernels.sound is not None else 0
        if reasons[i]:
            continue
        asked = any(game.legal_mask(state, i, p).any() for p in range(game.info.players))
        if status[i] == UNKNOWN:
            status[i] = RUNNING if asked else TERMINATED
        elif status[i] == RUNNING and gone[i].any():
            reasons[i] = LEFT
        elif status[i] == RUNNING and not asked:
            reasons[i] = STUCK


def need_within(game: Game, ranges: Mapping[str, tuple[Any, Any]], state: Any) -> None:
    """Refuse rows with a value outside the range of its field.

    Args:
        game: the game, for the message.
        ranges: as ``Game.ranges``.
        state: a structured array, a NamedTuple of arrays, or a mapping from the names to arrays.

    Raises:
        StateError: names the first such row and field.
    """
    for name, (low, high) in ranges.items():
        values = state[name] if isinstance(state, Mapping) else reduce(_part, name.split("."), state)
        fine = (values >= low) & (values <= high)
        if not fine.all():
            row, *at = map(int, np.argwhere(~fine)[0])
            least, most = (np.broadcast_to(bound, values.shape[1:])[tuple(at)].item() for bound in (low, high))
            may = f"must be {least}" if least == most else f"may be {least} to {most}"
            where = f"{name}{at}" if at else name
            raise _refused(game, row, f"{where} is {values[(row, *at)].item()}; it {may}")


def _part(state: Any, name: str) -> Any:
    """A field of a structured array or of a NamedTuple."""
    return getattr(state, name) if hasattr(state, "_fields") else state[name]


def _flags(state: Any, name: str = "") -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """The bytes of a state's bool arrays: from outside, they may be neither 0 nor 1."""
    names = getattr(state, "_fields", None) or getattr(getattr(state, "dtype", None), "names", None)
    if names:
        for part in names:
            yield from _flags(_part(state, part), f"{name}.{part}".lstrip("."))
    elif state.dtype == np.bool_:
        yield name, state.view(np.uint8)


def _refused(game: Game, row: int, why: str) -> StateError:
    return StateError(f"Row {row} is no position of {game.info.id}: {why}. Take rows from get_state() or to_bytes().")
