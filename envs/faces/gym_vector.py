"""The Gymnasium face: ``gymnasium.vector.VectorEnv`` views for single-agent trainers.

``SoloVector``: a learner has one seat of every game, opponents the others. ``SeatsVector``: every seat of every game of
a simultaneous game is a row, and one policy plays them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ...aliases import RUNNING, TRUNCATED
from ...errors import IllegalAction, InvalidAction, UsageError
from ..making import make_vec
from ..registry import make_game
from ..stepping.buffers import AUTORESET, RESAMPLE, autoreset_index
from ..words import TextGame
from .gym_env import PATIENCE, SoloEnv, check_seat
from .layouts import Layout
from .opponents import Opponent, opponent_of, random_opponent
from .spaces import action_space, observation_space
from .vec import VecEnv

__all__ = ["Opponent", "SeatsVector", "SoloVector", "make_gym_vec", "random_opponent", "vector_entry"]


def make_gym_vec(
    id: str, num_envs: int = 1, opponent: Any = "random", seat: int | str = "alternate", **kwargs: Any
) -> SoloVector | SeatsVector:
    """A Gymnasium view of a registered game: ``SoloVector``, or ``SeatsVector`` if the game is simultaneous.

    Args:
        id: a registered game.
        num_envs: the number of games; a simultaneous game has P rows.
        opponent: as in ``SoloVector``; turn-based games only.
        seat: as in ``SoloVector``; turn-based games only.
        **kwargs: as for ``make_vec``, without ``autoreset_mode`` (always SameStep).
    """
    if "autoreset_mode" in kwargs:
        raise UsageError(
            "make_gym_vec restarts games in the same step; gymnasium.make_vec('coterie/...') takes autoreset_mode."
        )
    vec = make_vec(id, num_envs, autoreset_mode="Disabled", **kwargs)
    if vec.game.info.simultaneous:
        if opponent != "random" or seat != "alternate":
            name, value = ("opponent", opponent) if opponent != "random" else ("seat", seat)
            raise UsageError(
                f"{vec.game.info.id} is simultaneous: every seat is a row of its own, and one policy plays them all. "
                f"Remove {name}={value!r}."
            )
        return SeatsVector(make_vec(id, num_envs, **kwargs))
    return SoloVector(vec, opponent, seat, layout="dict", autoreset_mode="SameStep")


def vector_entry(
    game: str,
    num_envs: int = 1,
    opponent: Any = "random",
    seat: int | str = "alternate",
    layout: str | None = None,
    autoreset_mode: Any = "NextStep",
    render_mode: str | None = None,
    **kwargs: Any,
) -> VectorEnv:
    """What ``gymnasium.make_vec("coterie/...")`` returns: the batched engine; N ``SoloEnv`` if it is a game of words.

    Args:
        game: a registered game's id.
        num_envs: N.
        opponent: as in ``SoloVector``.
        seat: as in ``SoloVector``.
        layout: as in ``SoloVector``; None: ``flat``.
        autoreset_mode: as in ``SoloVector``.
        render_mode: None or ``"rgb_array"``; games of words take those of ``SoloEnv``.
        **kwargs: as for ``make_vec``.

    Raises:
        UsageError: an argument that the game or the environment does not take.
    """
    limits: dict[str, Any] = {k: kwargs.pop(k) for k in ("illegal", "illegal_reward", "max_cycles") if k in kwargs}
    if isinstance(make_game(game, **{k: v for k, v in kwargs.items() if k not in ("num_threads", "seed")}), TextGame):
        mode = AutoresetMode(AUTORESET[autoreset_index(autoreset_mode)])
        solo: dict[str, Any] = {
            "opponent": opponent,
            "seat": seat,
            "layout": layout,
            "render_mode": render_mode,
            **limits,
            **kwargs,
        }
        return SyncVectorEnv([lambda: SoloEnv(game, **solo)] * num_envs, autoreset_mode=mode)
    vec = make_vec(game, num_envs, autoreset_mode="Disabled", render_mode=render_mode, **limits, **kwargs)
    return SoloVector(vec, opponent, seat, layout=layout or "flat", autoreset_mode=autoreset_mode)


def _spaces(view: VectorEnv, vec: VecEnv, space: Space[Any], mode: AutoresetMode) -> None:
    view.single_observation_space, view.single_action_space = space, action_space(vec.game)
    view.observation_space = batch_space(view.single_observation_space, view.num_envs)
    view.action_space = batch_space(view.single_action_space, view.num_envs)
    view.metadata = {**vec.metadata, "autoreset_mode": mode}
    view.render_mode = vec.render_mode


class SoloVector(VectorEnv):
    """One learner in each of N games, against opponents.

    A step plays the learner's action and the others' until the learner is to act again; the reward is the sum of the
    learner's rewards over these turns. Its episode ends with the game or with its death.

    ``info["action_mask"]`` [N, A] says what is legal, ``info["illegal"]`` [N] where the learner's action was illegal,
    ``info["seat"]`` [N] which seat it has. In SAME_STEP mode ``info["final_obs"]`` and ``info["final_info"]`` are those
    of the rows that ended, as in Gymnasium's vector environments. New arrays at every call.

    Args:
        vec: the games, with autoreset disabled.
        opponent: ``"random"``; another player's name (``"minimax"``, ``"mcts:400"``, a run folder); an agent; or a
            function ``(observations [K, ...], masks [K, A], generator) -> actions [K]``. It has all other seats.
        seat: the learner's: a number; ``"alternate"``, row i sits at i mod P; ``"random"``, a new one for every game.
        layout: of the observations, see ``Layout``.
        autoreset_mode: ``"NextStep"``, ``"SameStep"`` or ``"Disabled"``; or Gymnasium's AutoresetMode.

    Raises:
        UnknownName, UsageError: one of these cannot be.
    """

    def __init__(
        self,
        vec: VecEnv,
        opponent: Any = "random",
        seat: int | str = "alternate",
        *,
        layout: str = "dict",
        autoreset_mode: Any = "SameStep",
    ) -> None:
        if vec.autoreset_mode != "Disabled":
            raise UsageError("SoloVector takes a make_vec(..., autoreset_mode='Disabled').")
        game = vec.game
        if action_space(game).shape:
            raise UsageError(f"{game.info.id} has actions that are pairs; SoloVector needs action numbers.")
        check_seat(seat, game.info.players)
        self.vec, self._place = vec, seat
        self.num_envs = n = vec.num_envs
        self._reply_of, self.layout = opponent_of(opponent, game), Layout(game, layout)
        self.mode = AutoresetMode(AUTORESET[autoreset_index(autoreset_mode)])
        self.seat: NDArray[np.int32] = np.zeros(n, np.int32)
        self._rng = np.random.default_rng(0)
        self._all = np.arange(n)
        self._over = np.zeros(n, np.bool_)  # ended, and not restarted yet
        self._wrong = 0  # illegal answers of the opponent in a row
        self._sit(self._all)
        _spaces(self, vec, self.layout.space, self.mode)

    def _sit(self, rows: NDArray[np.intp]) -> None:
        """Give the learner its seats in games that begin."""
        players = self.vec.num_players
        if self._place == "random":
            self.seat[rows] = self._rng.integers(players, size=len(rows))
        else:
            self.seat[rows] = rows % players if self._place == "alternate" else int(self._place)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start all games, or those of ``options["reset_mask"]`` [N] bool; other options as in ``VecEnv.reset``.

        ``seed`` also seeds the opponents' and the seats' generator.
        """
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        rows = self._all if mask is None else np.flatnonzero(mask)
        self._wrong = 0
        self.vec.reset(seed=seed, mask=mask, options=options or None)
        self._over[rows] = False
        self._sit(rows)
        self._first_turns()
        return self._seen(), self._info()

    def _lives(self) -> NDArray[np.bool_]:
        """[N] rows whose game runs with the learner alive."""
        lives: NDArray[np.bool_] = (self.vec.status == RUNNING) & self.vec.alive[self._all, self.seat]
        return lives

    def _asked(self) -> NDArray[np.bool_]:
        """[N] rows in which the learner is to act."""
        if self.vec.game.info.simultaneous:
            asked: Any = self.vec.action_mask[self._all, self.seat].any(-1)
        else:
            asked = self.vec.player == self.seat
        return np.asarray(asked)

    def _others(self, rewards: NDArray[np.float64]) -> None:
        """Play the others' turns until the learner is to act or its episode is over; adds to ``rewards``."""
        while len(rows := np.flatnonzero(self._lives() & ~self._asked())):
            self._play(rows, None, rewards)

    def _play(self, rows: NDArray[np.intp], actions: Any, rewards: NDArray[np.float64]) -> None:
        """One turn (tick) of these rows, with the learner's ``actions`` [N] where it is asked; adds to ``rewards``."""
        vec, together = self.vec, self.vec.game.info.simultaneous
        given = np.full(vec.action_mask.shape[:-1], -1, np.int64)
        if together:
            able: Any = vec.action_mask[rows].any(-1)
            able[np.arange(len(rows)), self.seat[rows]] = False
            games, seats = (found.astype(np.intp) for found in np.nonzero(able))
            games = rows[games]
            where: Any = (games, seats)
            if actions is not None:
                given[rows, self.seat[rows]] = actions[rows]
        else:
            games = rows if actions is None else rows[:0]
            seats, where = vec.player[games].astype(np.intp), games
            if actions is not None:
                given[rows] = actions[rows]
        if len(games):
            given[where] = self._reply_of(
                vec.state, games.tolist(), seats.tolist(), vec.observation[where], vec.action_mask[where], self._rng
            )
        vec.step(given, rows=rows)
        rewards[rows] += vec.rewards[rows, self.seat[rows]]
        if actions is None:
            wrong = vec.limits.illegal != RESAMPLE and bool(vec.illegal[rows].all())
            self._wrong = self._wrong + 1 if wrong else 0
            if self._wrong == PATIENCE:
                raise IllegalAction(
                    f"The opponent answered illegally {PATIENCE} times in a row, so the learner's turn never comes. "
                    "Choose among the actions whose mask is 1, or make the games with illegal='resample'."
                )

    def _first_turns(self) -> None:
        """Bring every game to the learner's first turn; a game that ends before it is restarted."""
        while True:
            self._others(np.zeros(self.num_envs))
            ended = ~self._lives() & ~self._over
            if not ended.any():
                return
            self.vec.reset(mask=ended)

    def _restart(self, ended: NDArray[np.bool_]) -> None:
        self._over[ended] = False
        self.vec.reset(mask=ended)
        self._sit(np.flatnonzero(ended))
        self._first_turns()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play the learner's actions [N], then the others' until it is asked again.

        Returns:
            observations, rewards [N] float64, terminations [N], truncations [N] and info.

        Raises:
            InvalidAction: not N whole numbers of this game.
            IllegalAction: the opponent answers illegally again and again, so that the learner's turn never comes.
            UsageError: mode DISABLED, and a game is over.
        """
        vec, self._wrong = self.vec, 0
        chosen, waiting = np.asarray(actions), self._over.copy()
        if chosen.shape != (self.num_envs,):
            raise InvalidAction(
                f"Actions of shape {chosen.shape} came; one for each of {self.num_envs} rows is needed."
            )
        if waiting.any() and self.mode is AutoresetMode.DISABLED:
            raise UsageError(
                f"Rows {np.flatnonzero(waiting)[:10].tolist()} are over; call reset(options={{'reset_mask': mask}})."
            )
        rewards, illegal = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        playing = np.flatnonzero(~waiting)
        if len(playing):
            self._play(playing, chosen, rewards)
            wrong = vec.illegal[self._all, self.seat] if vec.game.info.simultaneous else vec.illegal
            illegal[playing] = wrong[playing]
            self._others(rewards)
        ended = ~self._lives() & ~waiting
        truncated = ended & (vec.status == TRUNCATED)
        terminated = ended & ~truncated
        self._over |= ended
        final: dict[str, Any] = {}
        if self.mode is AutoresetMode.SAME_STEP and ended.any():
            seen, told = self._seen(), self._info(illegal)
            for i in np.flatnonzero(ended).tolist():
                last = {"final_obs": _row(seen, i), "final_info": {name: value[i] for name, value in told.items()}}
                final = self._add_info(final, last, i)
            self._restart(ended)
        elif self.mode is AutoresetMode.NEXT_STEP and waiting.any():
            self._restart(waiting)
        return self._seen(), rewards, terminated, truncated, self._info(illegal) | final

    def _seen(self) -> Any:
        """The learner's observation in every row."""
        vec, mask = self.vec, self._mask()
        if vec.game.info.simultaneous:
            return self.layout.of(vec.observation[self._all, self.seat], mask, 1)
        seen, others = vec.observation, np.flatnonzero(vec.player != self.seat)
        if len(others):
            seen = seen.copy()
            seen[others] = vec.observe(others, self.seat[others])
        return self.layout.of(seen, mask, 1)

    def _mask(self) -> NDArray[np.int8]:
        """[N, A] the learner's legal actions; zeros where it is not asked. A new array."""
        if self.vec.game.info.simultaneous:
            return self.vec.action_mask[self._all, self.seat]
        return np.where((self.vec.player == self.seat)[:, None], self.vec.action_mask, 0).astype(np.int8)

    def _info(self, illegal: NDArray[np.bool_] | None = None) -> dict[str, Any]:
        fault = np.zeros(self.num_envs, np.bool_) if illegal is None else illegal
        return {"action_mask": self._mask(), "illegal": fault, "seat": self.seat.copy()}

    def render(self) -> tuple[NDArray[np.uint8], ...]:
        """N pictures [H, W, 3] uint8 from the learners' seats, as Gymnasium's vector environments give them.

        ``self.vec.render()`` is one picture of all.
        """
        return self.vec.pictures(self.seat.tolist())

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads."""
        self.vec.close()


def _row(seen: Any, i: int) -> Any:
    """Row i of observations."""
    if isinstance(seen, dict):
        return {name: _row(part, i) for name, part in seen.items()}
    return tuple(part[i] for part in seen) if isinstance(seen, tuple) else seen[i]


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
        _spaces(self, vec, observation_space(vec.game), AutoresetMode.SAME_STEP)

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
        told = {"illegal": info["illegal"].reshape(-1).copy(), **self._told(info)}
        if info["_final_obs"].any():
            final = self._rows(info["final_obs"])
            for i in np.flatnonzero(np.repeat(info["_final_obs"], vec.num_players)).tolist():
                told = self._add_info(told, {"final_obs": _row(final, i)}, i)
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

    def render(self) -> tuple[NDArray[np.uint8], ...]:
        """N * P pictures [H, W, 3] uint8 of what each row's player sees; ``self.vec.render()`` is one of all games."""
        return self.vec.pictures()

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads."""
        self.vec.close()
