"""Code shared by the searches: checks of games and turns, loops compiled for a game, policies as tables.

A search plays moves on copies. A kernel can't call ``envs.state.put``, so a function is generated that copies one row
array by array, for a state of either layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import State
from ...envs.core import Game, Kernels
from ...envs.state import layout_hash
from ...envs.stepping.jit import bind, disabled, source_hash
from ...envs.words import TextGame
from ...errors import IllegalAction, UsageError
from ..core import HasPolicy, Turn
from ..deadline import breathe

__all__ = ["Twins", "asked", "compiled", "need_action", "need_open_game", "need_same_game", "unbound"]


def need_open_game(game: Game, name: str) -> None:
    """Refuse simultaneous games, and games in which a search would see hidden information or future chance.

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
        IllegalAction: the game is over or another seat is to move.
    """
    if not turn.mask.any():
        raise IllegalAction(
            f"Seat {turn.player} has no legal action in row {turn.row} of {turn.game.info.id}: the game is over "
            "there or another seat is to move. Ask only players who can act."
        )


def unbound(*_: Any) -> Any:
    """Placeholder in a template for a function that ``envs.stepping.jit.bind`` replaces by the game's own."""
    raise NotImplementedError("a template was called that is not bound to a game")


def compiled(game: Game, template: Callable[..., Any], *parts: tuple[str, Callable[..., Any]]) -> Callable[..., Any]:
    """A template compiled for a game.

    Its free names are bound to the game's kernels, to ACTIONS and PLAYERS, to ``copy_row(state, i, source, j)`` for the
    game's layout, and to the ``parts``: (name, template) pairs, each of which may call those before it.
    """
    state = game.new_state(1)
    info, leaves = game.info, tuple(_leaves(state, ""))
    hashes = f"{source_hash(game.kernels)}_{layout_hash(state)}"
    tag = f"{info.name}_v{info.version}_{info.num_actions}_{info.players}_{hashes}"
    return _compiled(
        game.kernels, tag, info.num_actions, info.players, template, (("copy_row", _copier(leaves)), *parts)
    )


@cache
def _compiled(
    kernels: Kernels,
    tag: str,
    actions: int,
    players: int,
    template: Callable[..., Any],
    parts: tuple[tuple[str, Callable[..., Any]], ...],
) -> Callable[..., Any]:
    links: dict[str, Any] = kernels._asdict() | {"ACTIONS": actions, "PLAYERS": players}
    for name, part in parts:
        links[name] = bind(part, links, tag, inline=True)
    return bind(template, links, tag)


def _leaves(state: State, path: str) -> Sequence[tuple[str, int]]:
    """(subscript, ndim) of each array in a state."""
    if isinstance(state, np.ndarray):
        return [(path, state.ndim)]
    return [leaf for k, part in enumerate(state) for leaf in _leaves(part, f"{path}[{k}]")]


@cache
def _copier(leaves: tuple[tuple[str, int], ...]) -> Callable[..., None]:
    """Generate ``copy_row``, with loops instead of slices: numba allocates for slices, and kernels must not."""
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


def need_same_game(name: str, game: Game, turn: Turn, *, configured: bool = True) -> None:
    """Refuse a turn of a game other than the player's; with ``configured``, also one of another configuration.

    Raises:
        UsageError: the message names the game that the player was made for.
    """
    other = turn.game
    same = (other.info, other.config) == (game.info, game.config) if configured else other.info.name == game.info.name
    if other is not game and not same:
        raise UsageError(
            f"This {name} was made for {game.info.id} {game.config or ''}, but is asked about {other.info.id} "
            f"{other.config or ''}. Make one for each game."
        )


class Twins:
    """A game played twice, from two seeds: if the two copies differ, the game has chance that it does not list.

    Args:
        game: the rules.
        verdict: the error message for a game with such chance.

    Raises:
        UsageError: a game of words.
    """

    def __init__(self, game: Game, verdict: str) -> None:
        if isinstance(game, TextGame):
            raise UsageError(f"{game.info.id} is a game of words, whose positions cannot all be visited. Play matches.")
        self.game, self.verdict = game, verdict

    def start(self, deal: Any = None) -> State:
        """Two rows: the start of the game, after a deal if one is given."""
        pair = self.game.new_state(2)
        for copy, seed in enumerate((0, 0x9E3779B97F4A7C15)):
            self.game.kernels.reset(pair, copy, np.uint64(seed))
            if deal is not None:
                self.game.options["deal"](pair, copy, deal)
        return pair

    def key(self, pair: State) -> int:
        """The key of a position.

        Raises:
            UsageError: the two copies have different keys.
        """
        first, second = (self.game.key(pair, copy) for copy in (0, 1))
        if first != second:
            raise UsageError(self.verdict)
        return first

    def step(self, pair: State, actions: NDArray[np.int32]) -> tuple[int, NDArray[np.float32]]:
        """Play the actions in both copies; returns the status and [P] rewards.

        Raises:
            UsageError: the two copies differ in status or rewards.
        """
        rewards = np.zeros((2, len(actions)), np.float32)
        status = [int(self.game.kernels.step(pair, copy, actions, rewards[copy])) for copy in (0, 1)]
        if status[0] != status[1] or (rewards[0] != rewards[1]).any():
            raise UsageError(self.verdict)
        return status[0], rewards[0]


def asked(
    agent: HasPolicy, turns: Sequence[Turn], legal: NDArray[np.bool_], place: Callable[[int], str], batch: int
) -> NDArray[np.float64]:
    """[B, A] an agent's action probabilities in B turns, ``batch`` turns per call.

    ``legal`` [B, A] are the legal actions; ``place`` describes a turn, by its number, in error messages.

    Raises:
        UsageError: probabilities below 0, or that don't sum to 1 over the legal actions.
    """
    rows: list[NDArray[np.float64]] = []
    for at in range(0, len(turns), batch):
        breathe()
        rows += agent.policy(turns[at : at + batch])
    table = np.where(legal, np.array(rows, np.float64).reshape(legal.shape), 0.0)
    wrong = np.flatnonzero(~(np.abs(table.sum(1) - 1.0) < 1e-4) | (table < 0).any(1))
    if wrong.size:
        raise UsageError(
            f"The policy's probabilities sum to {table[wrong[0]].sum():.6f} over the legal actions at "
            f"{place(int(wrong[0]))} "
            f"({wrong.size} such positions); they must sum to 1, and none may be below 0."
        )
    table /= table.sum(1, keepdims=True)
    return table
