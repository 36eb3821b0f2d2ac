"""Who plays the other seats of the Gymnasium views: a function, an agent, or a player by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import Player
from ...errors import InvalidAction, UsageError
from ..core import Game
from ..words import TextGame

__all__ = ["Opponent", "Reply", "opponent_of", "random_opponent"]

_PACKAGE = __name__.rsplit(".", 3)[0]

Opponent = Callable[[Any, NDArray[np.int8], np.random.Generator], Any]
"""(observations [K, ...], masks [K, A], generator) -> actions [K]; in games of words K texts -> K messages."""

Reply = Callable[[Any, Sequence[int], Sequence[Player], Any, Any, np.random.Generator], Any]
"""(state, rows [K], seats [K], observations [K, ...], masks [K, A], generator) -> actions [K], -1 for no answer."""


def random_opponent(observation: NDArray[Any], mask: NDArray[np.int8], rng: np.random.Generator) -> NDArray[Any]:
    """[K] legal actions, sampled uniformly."""
    actions: NDArray[Any] = np.where(mask != 0, rng.random(mask.shape), -1.0).argmax(-1)
    return actions


def opponent_of(opponent: Any, game: Game) -> Reply:
    """The function that answers for the other seats.

    Args:
        opponent: ``"random"``; another name that ``coterie play --players`` takes, such as ``"minimax"`` or a run
            folder; an ``Agent``; or an ``Opponent``.
        game: the game to play.

    Raises:
        UnknownName: no player has this name.
        UsageError: it is none of these, or cannot play this game.
    """
    if opponent == "random" and not isinstance(game, TextGame):
        opponent = random_opponent
    if isinstance(opponent, str):
        opponent = importlib.import_module(f"{_PACKAGE}.training.runs.players").make_player(opponent, game)
    if callable(getattr(opponent, "act", None)):
        return _agent(opponent, game)
    if not callable(opponent):
        raise UsageError(
            f"opponent={opponent!r} came; 'random', another player's name, an agent with act(turns), or a function "
            "(observations, masks, generator) -> actions is needed."
        )
    return _function(opponent, isinstance(game, TextGame))


def _function(function: Opponent, words: bool) -> Reply:
    def reply(
        state: Any, rows: Sequence[int], seats: Sequence[Player], seen: Any, masks: Any, rng: np.random.Generator
    ) -> Any:
        given = function(seen, masks, rng)
        if words:
            if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != len(rows):
                raise InvalidAction(f"The opponent returned {given!r}; a list of {len(rows)} messages is needed.")
            return given
        answers = np.asarray(given)
        if answers.shape != (len(rows),) or answers.dtype.kind not in "iu":
            raise InvalidAction(
                f"The opponent returned {answers.dtype} of shape {answers.shape}; {len(rows)} whole numbers are needed."
            )
        return answers

    return reply


def _agent(agent: Any, game: Game) -> Reply:
    core = importlib.import_module(f"{_PACKAGE}.agents.core")
    words = isinstance(game, TextGame)

    def reply(
        state: Any, rows: Sequence[int], seats: Sequence[Player], seen: Any, masks: Any, rng: np.random.Generator
    ) -> Any:
        stream = int(rng.integers(2**63))
        turns = [
            core.Turn(game, state, int(row), int(seat), mask, game.key(state, int(row)), core.Seed(stream, k))
            for k, (row, seat, mask) in enumerate(zip(rows, seats, masks, strict=True))
        ]
        decisions = core.ask(turns, [agent] * len(turns))
        if words:
            return [decision.text for decision in decisions]
        return np.array([-1 if decision.action is None else decision.action for decision in decisions], np.int64)

    return reply
