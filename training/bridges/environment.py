"""Any game as an environment of TRL's: ``GRPOTrainer(environment_factory=...)``.

The model plays by calling a tool, ``play``; the environment plays the other seats and says what comes of it. Other
trainers that take a class with ``reset``, tools and a reward can use it too: TRL is not imported here.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from ...envs.faces.gym_env import SoloEnv
from ...errors import ActionError

__all__ = ["GameEnvironment", "game_environment"]


def game_environment(game: str, **options: Any) -> Callable[[], GameEnvironment]:
    """What ``environment_factory`` takes: a function that makes environments of a game.

    Args:
        game: a registered game's id.
        options: as in ``GameEnvironment``.

    Raises:
        CoterieError: no such game or opponent, or an argument that it does not take.
    """
    GameEnvironment(game, **options)  # so that a wrong argument is refused here and not in the middle of training
    return lambda: GameEnvironment(game, **options)


class GameEnvironment:
    """One game, in which a model plays one seat.

    Args:
        game: a registered game's id.
        unfinished: added to the reward of a game that is not over, because the model stopped calling ``play``.
        **options: ``opponent``, ``seat`` (``"random"`` if not given) and the game's own arguments, as in ``SoloEnv``.
    """

    def __init__(self, game: str, *, unfinished: float = -1.0, **options: Any) -> None:
        asked: dict[str, Any] = {"text": True, "seat": "random"} | options
        self._env, self._unfinished = SoloEnv(game, **asked), unfinished
        self._reward, self._over = 0.0, True

    @property
    def reward(self) -> float:
        """The sum of the rewards so far."""
        return self._reward

    @property
    def over(self) -> bool:
        """Whether the game is over, or has not begun."""
        return self._over

    def reset(self, seed: int | None = None, **row: Any) -> str:
        """Start a game; returns its rules and what the player sees.

        Args:
            seed: of the game, a column of the dataset: rows that TRL compares with each other then play the same game.
            row: other columns of the dataset, which mean nothing here.
        """
        # Without a seed environments that exist side by side would otherwise all play the same games.
        seen, _ = self._env.reset(seed=secrets.randbits(31) if seed is None else int(seed))
        self._reward, self._over = 0.0, False
        return f"{self._env.game.rules}\n\n{seen}"

    def play(self, action: str) -> str:
        """Play one action and see what the others do.

        Args:
            action: The action to play, written as in the list of legal actions.

        Returns:
            What you see when it is your turn again, or how the game ended.
        """
        if self._over:
            return "The game is over."
        try:
            seen, reward, terminated, truncated, _ = self._env.step(str(action))
        except ActionError as error:  # under illegal="raise": the model may try again
            return str(error)
        self._reward += reward
        self._over = terminated or truncated
        return f"The game is over. Your reward is {self._reward:g}." if self._over else str(seen)

    def get_reward(self) -> float:
        """The sum of the rewards so far, less for a game that is not over."""
        return self._reward + (0.0 if self._over else self._unfinished)
