"""The Gymnasium face: ``gymnasium.vector.VectorEnv`` views for single-agent trainers.

Turn-based games: a learner plays one seat of every game, an opponent callable plays the others. Simultaneous games:
every seat of every game is a separate row, and one policy plays them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ...aliases import RUNNING
from ...errors import IllegalAction, InvalidAction, UnknownName, UsageError
from ..making import make_vec
from ..stepping.buffers import RESAMPLE
from .spaces import action_space, observation_space
from .vec import VecEnv

__all__ = ["Opponent", "SeatsVector", "SoloVector", "make_gym_vec", "random_opponent"]

PATIENCE = 100
"""Illegal answers of an opponent in a row, in all its games, after which it is refused."""

Opponent = Callable[[NDArray[Any], NDArray[np.int8], np.random.Generator], NDArray[Any]]
"""(observations [K, ...], masks [K, A], generator) -> actions [K]."""


def random_opponent(observation: NDArray[Any], mask: NDArray[np.int8], rng: np.random.Generator) -> NDArray[Any]:
    """[K] legal actions, sampled uniformly."""
    actions: NDArray[Any] = np.where(mask != 0, rng.random(mask.shape), -1.0).argmax(-1)
    return actions


def make_gym_vec(
    id: str, num_envs: int = 1, opponent: str | Opponent = "random", seat: int | str = "alternate", **kwargs: Any
) -> SoloVector | SeatsVector:
    """A Gymnasium view of a registered game.

    Args:
        id: a registered game.
        num_envs: the number of games; a simultaneous game has P rows.
        opponent: ``"random"`` or a callable; turn-based games only.
        seat: the learner's seat: a number, or ``"alternate"`` (row i sits at i mod P); turn-based games only.
        **kwargs: as for ``make_vec``, without ``autoreset_mode`` (always SameStep).
    """
    if "autoreset_mode" in kwargs:
        raise UsageError("The Gymnasium views restart games in the same step; autoreset_mode cannot be chosen.")
    vec = make_vec(id, num_envs, autoreset_mode="Disabled", **kwargs)
    if vec.game.info.simultaneous:
        if opponent != "random" or seat != "alternate":
            name, value = ("opponent", opponent) if opponent != "random" else ("seat", seat)
            raise UsageError(
                f"{vec.game.info.id} is simultaneous: every seat is a row of its own, and one policy plays them all. "
                f"Remove {name}={value!r}."
            )
        return SeatsVector(make_vec(id, num_envs, **kwargs))
    return SoloVector(vec, opponent, seat)


def _spaces(view: VectorEnv, vec: VecEnv) -> None:
    view.single_observation_space, view.single_action_space = observation_space(vec.game), action_space(vec.game)
    view.observation_space = batch_space(view.single_observation_space, view.num_envs)
    view.action_space = batch_space(view.single_action_space, view.num_envs)
    view.metadata = {"name": vec.metadata["name"], "autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}


class SoloVector(VectorEnv):
    """One learner in each of N turn-based games, against an opponent.

    A step plays the learner's action and then the opponent's until the learner is to move again; the reward is the sum
    of the learner's rewards over these turns. When a game ends, ``info["final_obs"]`` (rows where
    ``info["_final_obs"]`` is True) is the learner's last observation, and the next game begins in the
    same step. ``info["illegal"]`` says where the learner's action was illegal, ``info["seat"]`` which seat it has. New
    arrays at every call.

    Args:
        vec: the games, with autoreset disabled.
        opponent: ``"random"`` or a callable.
        seat: a number, or ``"alternate"``.
    """

    def __init__(self, vec: VecEnv, opponent: str | Opponent = "random", seat: int | str = "alternate") -> None:
        players = vec.game.info.players
        if vec.game.info.simultaneous or vec.autoreset_mode != "Disabled":
            raise UsageError("SoloVector takes a turn-based make_vec(..., autoreset_mode='Disabled').")
        if action_space(vec.game).shape:
            raise UsageError(f"{vec.game.info.id} has actions that are pairs; SoloVector needs action numbers.")
        if isinstance(opponent, str) and opponent != "random":
            raise UnknownName("opponent", opponent, ["random"])
        if seat != "alternate" and (isinstance(seat, bool) or seat not in range(players)):
            raise UsageError(f"seat={seat!r} came; 'alternate' or a number 0..{players - 1} is needed.")
        self.vec = vec
        self.num_envs = n = vec.num_envs
        self.opponent: Opponent = random_opponent if isinstance(opponent, str) else opponent
        self.seat: NDArray[np.int32] = (np.arange(n) % players if seat == "alternate" else np.full(n, seat)).astype(
            np.int32
        )
        self._rng = np.random.default_rng(0)
        self._all = np.arange(n)
        self._wrong = 0  # illegal answers of the opponent in a row
        _spaces(self, vec)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Start all games; ``seed`` also seeds the opponent's generator. Options as in ``VecEnv.reset``."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._wrong = 0
        self.vec.reset(seed=seed, options=options)
        self._first_turns()
        return self._seen(), {"seat": self.seat.copy()}

    def _others(self, rewards: NDArray[np.float32], ended: NDArray[np.bool_]) -> None:
        """Play the opponents' turns until the learner is to move or the game is over; adds to both arrays in place."""
        vec = self.vec
        while True:
            rows = np.flatnonzero((vec.status == RUNNING) & (vec.player != self.seat))
            if len(rows) == 0:
                return
            self._reply(rows)
            rewards[rows] += vec.rewards[rows, self.seat[rows]]
            ended |= vec.status != RUNNING

    def _first_turns(self) -> None:
        """Bring every game to the learner's first turn.

        A game that ends before it (by an opponent's illegal move) is restarted.
        """
        ended = self.vec.status != RUNNING
        while True:
            self._others(np.zeros(self.num_envs, np.float32), ended)
            if not ended.any():
                return
            self.vec.reset(mask=ended)
            ended = self.vec.status != RUNNING

    def _reply(self, rows: NDArray[np.intp]) -> None:
        vec = self.vec
        answers = np.asarray(self.opponent(vec.observation[rows], vec.action_mask[rows], self._rng))
        if answers.shape != (len(rows),) or answers.dtype.kind not in "iu":
            raise InvalidAction(
                f"The opponent returned {answers.dtype} of shape {answers.shape}; {len(rows)} whole numbers are needed."
            )
        actions = np.zeros(self.num_envs, np.int32)
        actions[rows] = answers
        vec.step(actions, rows=rows)
        wrong = vec.limits.illegal != RESAMPLE and bool(vec.illegal[rows].all())
        self._wrong = self._wrong + 1 if wrong else 0
        if self._wrong == PATIENCE:
            raise IllegalAction(
                f"The opponent answered illegally {PATIENCE} times in a row, so the learner's turn never comes. Choose "
                "among the actions whose mask is 1, or make the games with illegal='resample'."
            )

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play the learner's actions [N], then the opponents' replies.

        Returns:
            observations, rewards [N] float64, terminations [N], truncations [N] and info.

        Raises:
            IllegalAction: the opponent answers illegally again and again, so that the learner's turn never comes.
        """
        vec, self._wrong = self.vec, 0
        vec.step(actions)
        illegal = vec.illegal.copy()
        rewards = vec.rewards[self._all, self.seat].copy()
        ended = vec.status != RUNNING
        self._others(rewards, ended)
        terminated, truncated = vec.terminations & ended, vec.truncations & ended
        info: dict[str, Any] = {"illegal": illegal, "seat": self.seat.copy(), "_final_obs": ended}
        if ended.any():
            final = self._seen()
            final["observation"][ended] = vec.observe(ended, self.seat[ended])
            info["final_obs"] = final
            vec.reset(mask=ended)
            self._first_turns()
        return self._seen(), rewards.astype(np.float64), terminated, truncated, info

    def _seen(self) -> dict[str, NDArray[Any]]:
        return {"observation": self.vec.observation.copy(), "action_mask": self.vec.action_mask.copy()}

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads."""
        self.vec.close()


_OWN = {"illegal", "final_obs", "_final_obs", "player"}
"""Keys of the batched info that these views convert themselves or leave out."""


class SeatsVector(VectorEnv):
    """Every seat of N simultaneous games as a row: row i * P + p is player p of game i. New arrays at every call.

    Where players die, a row's termination comes in the step in which its player died. Until its game ends the row
    has False for both flags, reward 0 and a mask of zeros, and its actions are ignored: ``info["alive"]`` [N * P]
    says which rows count. When the game restarts, all its rows are alive again; players that died in earlier steps get
    no second termination.

    Args:
        vec: the games, with autoreset SameStep.
    """

    def __init__(self, vec: VecEnv) -> None:
        if not vec.game.info.simultaneous or vec.autoreset_mode != "SameStep":
            raise UsageError("SeatsVector takes a simultaneous make_vec(..., autoreset_mode='SameStep').")
        self.vec = vec
        self.num_envs = vec.num_envs * vec.num_players
        _spaces(self, vec)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Start all games. Options as in ``VecEnv.reset``."""
        observation, info = self.vec.reset(seed=seed, options=options)
        return self._rows(observation), self._told(info)

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play one tick; actions [N * P, ...].

        Returns:
            observations, rewards [N * P] float64, terminations, truncations [N * P] and info.
        """
        given = np.asarray(actions)
        if given.shape not in [(self.num_envs,), self.action_space.shape]:
            raise InvalidAction(f"Actions of shape {given.shape} came; one for each of {self.num_envs} rows is needed.")
        vec = self.vec
        games = given.reshape(vec.num_envs, vec.num_players, *given.shape[1:])
        observation, rewards, terminated, truncated, info = vec.step(games)
        told = {
            "illegal": info["illegal"].reshape(-1).copy(),
            "final_obs": self._rows(info["final_obs"]),
            "_final_obs": np.repeat(info["_final_obs"], vec.num_players),
            **self._told(info),
        }
        flat = rewards.reshape(-1).astype(np.float64)
        return self._rows(observation), flat, terminated.reshape(-1).copy(), truncated.reshape(-1).copy(), told

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        return self._rows({name: info[name] for name in info.keys() - _OWN})

    def _rows(self, parts: dict[str, Any]) -> dict[str, Any]:
        return {
            name: tuple(map(self._flat, part)) if isinstance(part, tuple) else self._flat(part)
            for name, part in parts.items()
        }

    def _flat(self, part: NDArray[Any]) -> NDArray[Any]:
        return part.reshape(self.num_envs, *part.shape[2:]).copy()

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads."""
        self.vec.close()
