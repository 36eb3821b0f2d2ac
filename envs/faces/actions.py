"""Checks of the actions and options that users pass to the batched face, for all rows at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import Mask, State
from ...errors import IllegalAction, InvalidAction, UsageError
from ..core import Game
from ..stepping.templates import first_outside

__all__ = ["few", "ignored", "read_options", "refuse_illegal", "whole_numbers"]


def whole_numbers(game: Game, actions: Any, shape: tuple[int, ...]) -> NDArray[np.int32]:
    """``actions`` as a contiguous int32 array of the given shape, all within -1..A-1.

    Raises:
        InvalidAction: a wrong type or shape, or a number out of bounds.
    """
    count = game.info.num_actions
    try:
        given = np.asarray(actions)
    except ValueError:  # rows of different lengths
        given = np.empty(0, object)
    if given.dtype.kind not in "iu" or given.shape != shape:
        raise InvalidAction(
            f"Actions of type {given.dtype} and shape {given.shape} came; {game.info.id} with {shape[0]} games takes "
            f"whole numbers of shape {shape}."
        )
    if given.dtype != np.int32:
        wide = np.minimum(given, np.uint64(count)) if given.dtype == np.uint64 else given
        given = np.clip(wide.astype(np.int64), -2, count).astype(np.int32)
    checked = np.ascontiguousarray(given)
    outside = first_outside(checked, -1, count)
    if outside >= 0:
        where = np.unravel_index(outside, checked.shape)
        raise InvalidAction(
            f"Action {np.asarray(actions)[where]} in row {int(where[0])} is outside 0..{count - 1} of {game.info.id} "
            "(-1 means no answer)."
        )
    return checked


def refuse_illegal(
    game: Game,
    state: State,
    mask: Mask,
    player: NDArray[np.int32],
    actions: NDArray[np.int32],
    rows: NDArray[np.intp] | None,
) -> None:
    """The policy ``raise``: check the actions of all rows (or of ``rows``) before any is played.

    Raises:
        IllegalAction: an action is not legal; names the first one. Seats without a legal action are skipped.
    """
    chosen = np.take_along_axis(mask, np.maximum(actions, 0)[..., None], -1)[..., 0]
    wrong = ((chosen == 0) | (actions < 0)) & mask.any(-1)
    if rows is not None:
        playing = np.zeros(len(mask), np.bool_)
        playing[rows] = True
        wrong = (wrong.T & playing).T
    if wrong.any():
        where = tuple(int(k) for k in np.argwhere(wrong)[0])
        i, p = where[0], where[1] if len(where) > 1 else int(player[where[0]])
        raise IllegalAction(
            f"Action {int(actions[where])} of player {p} in row {i} is not legal in:\n{game.describe(state, i, p)}\n"
            f"Legal: {few(mask[where])}."
        )


def few(mask: Mask) -> str:
    """The legal actions of a mask [A] for a message: the first twenty."""
    legal = np.flatnonzero(mask)
    return (" ".join(str(int(a)) for a in legal[:20]) + (" ..." if len(legal) > 20 else "")) or "none"


def read_options(options: Any) -> dict[str, Any]:
    """The options of a reset; None means none.

    Raises:
        UsageError: not a dictionary with strings as keys.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise UsageError(f"options={options!r} came; reset takes a dictionary from names to values, or None.")
    return dict(options)


def ignored(game: Game, name: str) -> str:
    """The warning about a reset option that a game does not know (PettingZoo's own tests pass one)."""
    return (
        f"{game.info.id} ignores the reset option {name!r}; it knows {', '.join(map(repr, ['state', *game.options]))}."
    )
