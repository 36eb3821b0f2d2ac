"""OpenSpiel: our games give TimeSteps, so that the agents of ``open_spiel.python`` learn in them.

``tabular_qlearner``, ``random_agent`` and all others with ``step(time_step, is_evaluation=False)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...aliases import RUNNING, Action
from ...envs.making import make_vec
from ...errors import IllegalAction, UsageError

__all__ = ["TimeSteps"]


class TimeSteps:
    """One game with the verbs of OpenSpiel's ``rl_environment.Environment``.

    Args:
        game: a registered game of numbered actions.
        **config: the game's arguments.

    Raises:
        ImportError: OpenSpiel is not installed.
        UsageError: a game of words, an unknown argument.
    """

    def __init__(self, game: str, **config: Any) -> None:
        from open_spiel.python import rl_environment

        self._kinds = rl_environment
        self._vec: Any = make_vec(game, 1, autoreset_mode="Disabled", **config)
        self.game = self._vec.game
        if not hasattr(self._vec, "observation"):
            raise UsageError(f"{self.game.info.id} is a game of words; OpenSpiel's agents need numbered actions.")
        self.name, self.num_players = self.game.info.id, self.game.info.players
        self.is_turn_based = not self.game.info.simultaneous
        self._seed: int | None = None
        self._over = True

    def seed(self, seed: int | None = None) -> None:
        """Seed the next game; the games after it continue its random numbers."""
        self._seed = seed

    def action_spec(self) -> dict[str, Any]:
        """The number of actions."""
        count = self.game.info.num_actions
        return {"num_actions": count, "min": 0, "max": count - 1, "dtype": int}

    def observation_spec(self) -> dict[str, Any]:
        """The shapes of what a TimeStep holds; the observation is flattened."""
        size, count = int(np.prod(self.game.info.observation_shape)), self.game.info.num_actions
        return {"info_state": (size,), "legal_actions": (count,), "current_player": (), "serialized_state": ()}

    def reset(self) -> Any:
        """Start a game; a TimeStep without rewards."""
        self._vec.reset(seed=self._seed)
        self._seed, self._over = None, False
        return self._time_step("FIRST", None)

    def step(self, actions: Sequence[Action]) -> Any:
        """Play the current player's action, or one for each player.

        Raises:
            IllegalAction: the game is over.
            InvalidAction: not the right number of actions, or not actions of this game.
        """
        if self._over:
            raise IllegalAction(f"The game of {self.name} is over. Call reset().")
        given = np.asarray(list(actions), np.int64)
        rewards = self._vec.step(given[None] if self.game.info.simultaneous else given)[1][0].tolist()
        self._over = self._vec.status[0] != RUNNING
        return self._time_step("LAST" if self._over else "MID", rewards)

    def _time_step(self, kind: str, rewards: list[float] | None) -> Any:
        players, vec = range(self.num_players), self._vec
        if self.game.info.simultaneous:
            seen = vec.observation[0]
        else:
            seen = vec.observe(np.zeros(len(players), np.int64), np.arange(len(players)))
        turn = int(vec.player[0]) if self.is_turn_based else self._kinds.SIMULTANEOUS_PLAYER_ID
        observations = {
            "info_state": [seen[p].ravel().astype(float).tolist() for p in players],
            "legal_actions": [[] if self._over else self.game.legal_actions(vec.state, 0, p) for p in players],
            "current_player": self._kinds.pyspiel.PlayerId.TERMINAL if self._over else turn,
            "serialized_state": [],
        }
        discounts = None if rewards is None else [float(not self._over)] * self.num_players
        return self._kinds.TimeStep(observations, rewards, discounts, self._kinds.StepType[kind])
