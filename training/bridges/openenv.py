"""OpenEnv: a server of a game, for its clients and for all that speak to those (``verifiers``, TRL).

``uvicorn.run(openenv_app("tictactoe", opponent="minimax"))`` serves one game a connection; a client's action is
``{"action": "4"}``.
"""

from __future__ import annotations

from typing import Any

from .environment import GameEnvironment

__all__ = ["openenv_app"]


def openenv_app(game: str, sessions: int = 64, **options: Any) -> Any:
    """The FastAPI application of OpenEnv's environment server.

    Args:
        game: a registered game's id.
        sessions: the most clients at a time.
        options: as in ``training.bridges.environment.GameEnvironment``.

    Raises:
        CoterieError: no such game or opponent, or an argument that it does not take.
        ImportError: OpenEnv is not installed.
    """
    from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app

    GameEnvironment(game, **options)  # a wrong argument is refused here, not at the first connection

    class Play(Action):
        action: str

    class Seen(Observation):
        text: str

    class Played(Environment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._game, self._state, self._before = GameEnvironment(game, **options), State(), 0.0

        def reset(self, seed: int | None = None, episode_id: str | None = None, **row: Any) -> Seen:
            self._state, self._before = State(episode_id=episode_id, step_count=0), 0.0
            return Seen(text=self._game.reset(seed), reward=None, done=False)

        def step(self, action: Play, timeout_s: float | None = None, **more: Any) -> Seen:
            text = self._game.play(action.action)
            self._state.step_count += 1
            won, before = self._game.reward, self._before
            self._before = won
            return Seen(text=text, reward=won - before, done=self._game.over)

        @property
        def state(self) -> State:
            return self._state

    return create_fastapi_app(Played, Play, Seen, max_concurrent_envs=sessions, env_name="coterie")
