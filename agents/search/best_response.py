"""The exact best response to players whose probabilities are known, in small turn-based games, by backward induction.

The responder sees the whole row: where values or cards are hidden, what it gets is an upper bound for one that does
not, and exact where nothing but configuration is hidden (negotiations with configured values).

Letters: A actions, P players.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, Action, Player, State
from ...envs.core import Game
from ...envs.state import packed, take
from ...envs.words import TextGame
from ...errors import UsageError
from ..core import Decision, HasPolicy, Turn
from .rows import need_action

__all__ = ["BestResponse", "best_response"]


@dataclass
class BestResponse:
    """A best response, also a player.

    Attributes:
        game: the game.
        player: the responder's seat.
        value: its expected return.
        choices: the row's bytes (or the position's key) -> its action, for all positions that can occur.
        remembers: whether positions are told apart by everything in the row.
    """

    game: Game
    player: Player
    value: float
    choices: dict[bytes | int, Action]
    remembers: bool
    name: str = "best-response"
    greedy: bool = True

    def act(self, turns: list[Turn]) -> list[Decision]:
        """Its action in each position.

        Raises:
            UsageError: a position that cannot occur against these players from that start.
        """
        made = []
        for turn in turns:
            at = _name(self.game, take(turn.state, turn.row), self.remembers)
            if at not in self.choices:
                raise UsageError(
                    "This position cannot occur between the best response and the players it was made for."
                )
            made.append(Decision(self.choices[at]))
        return made


# Longer than most: a third of it is its arguments, and its recursion shares their names.
def best_response(
    game: Game,
    others: HasPolicy,
    player: Player,
    state: State | None = None,
    *,
    remembers: bool = True,
    limit: int = 200_000,
) -> BestResponse:
    """What a player gets at most against players who all act by ``others``, and how.

    Args:
        game: turn-based, with kernels; its ``step`` draws nothing.
        others: gives the probabilities of the other seats' actions.
        player: the responder's seat.
        state: one row to begin with; None: the game of seed 0.
        remembers: tell positions apart by everything in the row. False: by ``game.key`` alone, which is far fewer where
            rows keep a history, and exact if the others do not read it.
        limit: the most positions.

    Raises:
        UsageError: a simultaneous game, a game of words, no such seat, or more positions.
    """
    info = game.info
    if isinstance(game, TextGame) or info.simultaneous or not 0 <= player < info.players:
        raise UsageError(f"A best response of seat {player} needs a turn-based game with kernels, not {info.id}.")
    row = game.new_state(1)
    if state is None:
        game.kernels.reset(row, 0, np.uint64(0))
    else:
        row = take(state, 0)
    values: dict[bytes | int, float] = {}
    choices: dict[bytes | int, Action] = {}

    def value(row: State, status: int) -> float:
        """The responder's expected rewards from a position on."""
        if status != RUNNING:
            return 0.0
        at = _name(game, row, remembers)
        if at in values:
            return values[at]
        if len(values) >= limit:
            raise UsageError(
                f"{info.id} has more than {limit:,} positions here; choose a smaller game, or raise limit."
            )
        values[at] = 0.0  # counts it; games end, so that it is never read before it is known
        mover = game.mover(row, 0)
        mask = game.legal_mask(row, 0, mover)
        turn = Turn(game, row, 0, mover, mask, game.key(row, 0))
        need_action(turn)
        worth: NDArray[np.float64] = np.full(info.num_actions, -np.inf)
        chances = (mask > 0).astype(np.float64) if mover == player else others.policy([turn])[0]
        for action in np.flatnonzero(chances > 0).tolist():
            after, rewards = take(row), np.zeros(info.players, np.float32)
            actions = np.zeros(info.players, np.int32)
            actions[mover] = action
            then = int(game.kernels.step(after, 0, actions, rewards))
            worth[action] = float(rewards[player]) + value(after, then)
        if mover == player:
            choices[at] = int(worth.argmax())
            values[at] = float(worth.max())
        else:
            known = chances > 0
            values[at] = float((chances[known] * worth[known]).sum())
        return values[at]

    total = value(row, RUNNING)
    return BestResponse(game, player, total, choices, remembers)


def _name(game: Game, row: State, remembers: bool) -> bytes | int:
    return packed(row) if remembers else game.key(row, 0)
