"""What the searches share: which games they may search, copies of positions in compiled code, positions as rows.

A search plays moves out on copies. A kernel can't call ``envs.state.put``, so ``copier`` writes the assignment of one
row as a function, leaf by leaf, for a state of either layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...aliases import State
from ...envs.core import Game
from ...envs.jit import disabled
from ...envs.state import layout_hash
from ...errors import IllegalAction, UsageError
from ..core import Turn

__all__ = ["copier", "need_action", "need_open_game", "need_same_game", "unbound"]


def need_open_game(game: Game, name: str) -> None:
    """Refuse games whose future a search would read off the state, or in which nobody is to move.

    Raises:
        UsageError: simultaneous moves, hidden information, or chance.
    """
    info = game.info
    if info.simultaneous:
        why = "all players move at once there"
    elif info.hidden:
        why = "its players see different things, and a search would read the others' cards out of the state"
    elif game.deals is not None:
        why = "it is a game of chance, and a search would foresee its outcomes"
    else:
        return
    raise UsageError(f"{name} cannot play {info.id}: {why}. Play it with random or a model.")


def need_action(turn: Turn) -> None:
    """Refuse a turn without a legal action.

    Raises:
        IllegalAction: the game is over there or another seat is to move.
    """
    if not turn.mask.any():
        raise IllegalAction(
            f"Seat {turn.player} has no legal action in row {turn.row} of {turn.game.info.id}: the game is over "
            "there or another seat is to move. Ask only players who can act."
        )


def unbound(*_: Any) -> Any:
    """Stands in a template for what ``envs.jit.bind`` links to a game's own."""
    raise NotImplementedError("a template was called that is not bound to a game")


def copier(game: Game) -> tuple[Callable[..., None], str]:
    """``copy_row(state, i, source, j)`` for a game's layout, to be bound as a link, and a tag that names the layout."""
    state = game.new_state(1)
    shape = tuple(_leaves(state, "", 0))
    return _copier(shape), layout_hash(state)


def _leaves(state: State, path: str, depth: int) -> Sequence[tuple[str, int]]:
    """(subscript, ndim) of each array of a state."""
    if isinstance(state, np.ndarray):
        return [(path, state.ndim)]
    return [leaf for k, part in enumerate(state) for leaf in _leaves(part, f"{path}[{k}]", depth + 1)]


@cache
def _copier(leaves: tuple[tuple[str, int], ...]) -> Callable[..., None]:
    """Loops, not slices: numba allocates for the assignment of a slice, and kernels may not."""
    lines = ["def copy_row(state, i, source, j):"]
    for path, ndim in leaves:
        if disabled() or ndim == 1:
            lines.append(f"    state{path}[i] = source{path}[j]")
            continue
        marks = [f"k{d}" for d in range(1, ndim)]
        for d, mark in enumerate(marks, start=1):
            lines.append("    " * d + f"for {mark} in range(state{path}.shape[{d}]):")
        at = ", ".join(marks)
        lines.append("    " * ndim + f"state{path}[i, {at}] = source{path}[j, {at}]")
    made: dict[str, Any] = {}
    exec(compile("\n".join(lines), __file__, "exec"), {}, made)
    copy_row: Callable[..., None] = made["copy_row"]
    copy_row.__module__ = __name__
    return copy_row


def need_same_game(name: str, game: Game, turn: Turn) -> None:
    """Refuse a turn of another game or configuration than a player was made for: its rows have another layout.

    Raises:
        UsageError: says for which game the player was made.
    """
    other = turn.game
    if other is not game and (other.info != game.info or other.config != game.config):
        raise UsageError(
            f"This {name} was made for {game.info.id} {game.config or ''}, and is asked about {other.info.id} "
            f"{other.config or ''}. Make one for each game."
        )
