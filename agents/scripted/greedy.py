"""A player that looks one move ahead in chess, and at a move and its reply in all other games.

Chess has an evaluation (``chess_evaluation``): greedy plays the move after which the position is worth most to it, a
mate above all, and considers no reply. Every other game is judged by rewards alone: a move's score is its own reward
plus what the mover gets from the next player's best reply. So a move that wins at once comes first, then the moves that
do not let the next player win at once.

Letters: A actions, P players.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, Mask, State
from ...envs.core import Game
from ..core import Decision, Turn
from ..search.rows import compiled, need_action, need_open_game, need_same_game, unbound
from ..seeds import pick

__all__ = ["GreedyAgent"]

CLOSE = 1e-6
"""Scores that differ by less are equal."""

# -- template: free names are bound for each game (see ``rows.compiled``) ----------------------------------------------

ACTIONS = PLAYERS = 0
mover: Callable[..., int] = unbound
legal: Callable[..., None] = unbound
step: Callable[..., int] = unbound
copy_row: Callable[..., None] = unbound
play: Callable[..., int] = unbound


def play_action(work: State, row: int, acts: NDArray[np.int32], rewards: NDArray[np.float32], action: Any) -> Any:
    """Play an action for the mover of a row, and write what it pays into ``rewards``. Returns the status."""
    acts[mover(work, row)] = action
    for p in range(PLAYERS):
        rewards[p] = 0
    return step(work, row, acts, rewards)


def score_actions(
    state: State,
    row: int,
    work: State,
    mask: Mask,
    replies: Mask,
    acts: NDArray[np.int32],
    rewards: NDArray[np.float32],
    scores: NDArray[np.float64],
) -> None:
    """Write the score of each legal action into scores [A]: what it and the next player's best reply pay the mover.

    work (two rows), mask and replies (both [A]) are scratch space.
    """
    seat = mover(state, row)
    legal(state, row, seat, mask)
    for a in range(ACTIONS):
        if mask[a] == 0:
            continue
        copy_row(work, 0, state, row)
        status = play(work, 0, acts, rewards, a)
        scores[a] = rewards[seat]
        if status != RUNNING:
            continue
        other = mover(work, 0)
        legal(work, 0, other, replies)
        best, ours = -np.inf, 0.0
        for b in range(ACTIONS):
            if replies[b] != 0:
                copy_row(work, 1, work, 0)
                play(work, 1, acts, rewards, b)
                if rewards[other] > best:
                    best, ours = float(rewards[other]), float(rewards[seat])
        scores[a] += ours


# -- the agent ---------------------------------------------------------------------------------------------------------


class GreedyAgent:
    """Uniform over the moves with the highest score; see the module.

    Raises:
        UsageError: the game is simultaneous, hides information or has chance.
    """

    def __init__(self, game: Game, name: str = "greedy") -> None:
        need_open_game(game, "greedy")
        self.name, self.game = name, game
        self._scores = _chess_scores if game.info.name == "chess" else _Rewards(game)

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Sample one of the best moves per turn, uniformly."""
        if not turns:
            return []
        return [Decision(a) for a in pick(np.array(self.policy(turns)) > 0, [turn.seed for turn in turns]).tolist()]

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn."""
        rows = []
        for turn in turns:
            need_same_game(self.name, self.game, turn)
            need_action(turn)
            scores = np.where(turn.mask != 0, self._scores(turn), -np.inf)
            best = scores >= scores.max() - CLOSE
            rows.append(best / best.sum())
        return rows


class _Rewards:
    """Scores by rewards: a game's compiled loop and its scratch space."""

    def __init__(self, game: Game) -> None:
        info = game.info
        self._run = compiled(game, score_actions, ("play", play_action))
        self._scratch = (
            game.new_state(2),
            np.zeros(info.num_actions, np.int8),
            np.zeros(info.num_actions, np.int8),
            np.zeros(info.players, np.int32),
            np.zeros(info.players, np.float32),
        )

    def __call__(self, turn: Turn) -> NDArray[np.float64]:
        """[A] a score for each legal action; the other entries mean nothing."""
        scores = np.zeros(turn.game.info.num_actions)
        self._run(turn.state, turn.row, *self._scratch, scores)
        return scores


def _chess_scores(turn: Turn) -> NDArray[np.float64]:
    """[A] centipawns for the mover after each legal move."""
    from ..search.alphabeta import scores_after

    return scores_after(turn)
