"""The batched face: N games side by side, arrays in, arrays out.

All arrays that ``reset`` and ``step`` return are the environment's own buffers, written anew at the next call: copy
what you keep.

The file is longer than most: nearly all of it is one class.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ...aliases import TERMINATED, TRUNCATED, Mask, Rewards, State
from ...errors import StateError, UsageError
from ..core import Game
from ..state import NONE, Snapshot, put, received, rows_of, size, take
from ..stepping.buffers import (
    AUTORESET,
    BLOCK,
    RAISE,
    Arrays,
    autoreset_index,
    illegal_limits,
    need_room,
    new_arrays,
    positive,
)
from ..stepping.drivers import drivers
from ..stepping.rng import mix64
from .actions import ignored, read_options, refuse_illegal, whole_numbers
from .ticks import ends

__all__ = ["RolloutSums", "VecEnv"]

_SAMPLER = 0x5DEECE66D  # keeps the sampler's words away from the games'


class RolloutSums(NamedTuple):
    """What ``random_rollout`` did.

    Attributes:
        steps: turns (ticks) played, over all rows.
        episodes: games that ended.
        returns: [P] float64 sum of rewards.
    """

    steps: int
    episodes: int
    returns: NDArray[np.float64]


class VecEnv:
    """N games of one kind.

    Turn-based: actions [N], observations and masks are the mover's, ``player`` [N] names it. Simultaneous: a player
    axis comes after N in actions, observations, masks, terminations, truncations and ``info["illegal"]``. Rewards are
    [N, P] in both: this transition's, for all players.

    Row i of ``reset(seed=s)`` plays the game that an AEC environment plays after ``reset(seed=s + i)``; games after
    the first follow as they do there after ``reset()``. The number of threads changes nothing.

    Args:
        game: the rules.
        num_envs: N.
        num_threads: rows are split into so many chunks. Pays for large N and many steps a call (``random_rollout``).
        seed: used by the first ``reset()`` that names none; None draws one from the system.
        autoreset_mode: ``"SameStep"`` (the last observation is in ``info["final_obs"]``), ``"NextStep"`` (the step
            after a game's end ignores the action and starts the next) or ``"Disabled"`` (finished rows stay until
            ``reset(mask=...)``); or gymnasium's AutoresetMode.
        illegal: ``"lose"`` ends the game with ``illegal_reward`` for the mover and 0 for the others; ``"raise"`` raises
            IllegalAction and changes nothing; ``"resample"`` plays a random legal action instead; ``"noop"`` only
            counts the turn (in simultaneous games: the tick, for everybody; in those with an action that does
            nothing only who erred loses its action, and the others' count). None: ``noop`` in games with such an
            action, else ``lose``. The action -1 is "no answer": illegal everywhere.
        illegal_reward: added to the reward of whoever acted illegally; None: -1 under ``lose``, else 0.
        max_cycles: truncate after that many turns (ticks).

    Attributes:
        game: the rules.
        num_envs: N.
        num_players: P.
        state: the games' rows, live.
        metadata: Gymnasium's, with ``autoreset_mode``.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int = 1,
        *,
        num_threads: int = 1,
        seed: int | None = None,
        autoreset_mode: Any = "SameStep",
        illegal: str | None = None,
        illegal_reward: float | None = None,
        max_cycles: int | None = None,
    ) -> None:
        self.game = game
        self.num_envs = n = positive("num_envs", num_envs)
        self.num_players = game.info.players
        self.num_threads = positive("num_threads", num_threads)
        self.autoreset_mode = AUTORESET[autoreset_index(autoreset_mode)]
        self.metadata = {"name": game.info.id.replace("-", "_"), "autoreset_mode": self.autoreset_mode}
        self._limits = illegal_limits(game, illegal, illegal_reward, max_cycles, autoreset_index(autoreset_mode))
        need_room(game, n)
        self._drivers = drivers(game)
        self._pool: ThreadPoolExecutor | None = None
        self.state: State = game.new_state(n)
        self._arrays = new_arrays(game, n)
        self._actions = np.zeros((n, self.num_players) if game.info.simultaneous else n, np.int32)
        self._seed = seed
        self._sampler = np.uint64(0)
        self._draws = 0
        self._started = False
        self._bind_views()

    def _bind_views(self) -> None:
        b = self._arrays
        self._obs: dict[str, Any] = {"observation": b.observation, "action_mask": b.mask}
        self._info: dict[str, Any] = {
            "illegal": b.illegal,
            "final_obs": {"observation": b.final_observation, "action_mask": b.final_mask},
            "_final_obs": b.ended,
            "player": b.player,
            "alive": b.alive,
        }

    # -- what is seen --------------------------------------------------------------------------------------------------

    def _shown(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Observations and info, of what has just been written."""
        return self._obs, self._info

    @property
    def player(self) -> NDArray[np.int32]:
        """[N] the seat to move; -1 in simultaneous games."""
        return self._arrays.player

    @property
    def action_mask(self) -> Mask:
        """[N, A] (simultaneous: [N, P, A]) 1 = legal; zeros in finished rows. Live: read it only."""
        return self._arrays.mask

    @property
    def observation(self) -> NDArray[Any]:
        """[N, ...] (simultaneous: [N, P, ...]) the live array."""
        return self._arrays.observation

    @property
    def rewards(self) -> Rewards:
        """[N, P] of the last transition."""
        return self._arrays.rewards

    @property
    def terminations(self) -> NDArray[np.bool_]:
        """[N] (simultaneous: [N, P]) of the last step."""
        return self._arrays.terminated

    @property
    def truncations(self) -> NDArray[np.bool_]:
        """[N] (simultaneous: [N, P]) of the last step."""
        return self._arrays.truncated

    @property
    def illegal(self) -> NDArray[np.bool_]:
        """[N] (simultaneous: [N, P]) where the last step's action was illegal."""
        return self._arrays.illegal

    @property
    def alive(self) -> NDArray[np.bool_]:
        """[N, P] who is alive now; all of them in games without deaths."""
        return self._arrays.alive

    @property
    def status(self) -> NDArray[np.uint8]:
        """[N] RUNNING, TERMINATED or TRUNCATED (the last two only where rows wait for their restart)."""
        return self._arrays.status

    @property
    def cycles(self) -> NDArray[np.int32]:
        """[N] turns (ticks) played in the present game."""
        return self._arrays.cycles

    # -- verbs ---------------------------------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int] | NDArray[Any] | None = None,
        mask: NDArray[Any] | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Start new games.

        Args:
            seed: row i gets ``seed + i``, or its own of a list [N]. None: each row's next game. An int also seeds
                ``sample_actions``.
            mask: [N] bool, or row numbers: only these restart. The first reset starts all rows.
            options: ``{"state": rows}`` starts from given rows (a state, a Snapshot or bytes; one row serves all);
                else the game's own options (``{"fen": ...}``), one value for all rows or a list of one each.

        Returns:
            ``{"observation", "action_mask"}`` and an info dict; see the class.
        """
        options = read_options(options)
        b = self._arrays
        rows = rows_of(mask if self._started else None, self.num_envs)
        if seed is None and not self._started:
            seed = (
                self._seed
                if self._seed is not None
                else int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
            )
        if seed is not None:
            self._seed_rows(seed, rows)
        else:
            b.episode[rows] += 1
        self._started = True
        self._drivers.begin_rows(self.state, b, rows)
        for name, value in options.items():
            if name == "state":
                if value is not None:
                    self._place(value, rows, with_seed=False)
            elif name in self.game.options:
                if value is not None:
                    self._place(self._from_option(name, value, rows), rows, with_seed=False)
            else:
                warnings.warn(ignored(self.game, name), stacklevel=2)
        return self._shown()

    def _from_option(self, name: str, value: Any, rows: NDArray[np.intp]) -> State:
        """The rows as one of the game's own reset options wants them; a list holds one value a row."""
        each = list(value) if isinstance(value, list | tuple | np.ndarray) else [value] * len(rows)
        if len(each) != len(rows):
            raise StateError(
                f"{len(each)} values of {name!r} came for {len(rows)} rows. Give one for all, or one each."
            )
        state = take(self.state, rows)
        for i, one in enumerate(each):
            self.game.options[name](state, i, one)
        return state

    def _seed_rows(self, seed: int | Sequence[int] | NDArray[Any], rows: NDArray[np.intp]) -> None:
        b = self._arrays
        if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
            first = int(seed)
            b.seed[rows] = (np.uint64(first & (2**64 - 1)) + rows.astype(np.uint64)).astype(np.uint64)
            self._sampler = np.uint64(mix64(np.uint64((first ^ _SAMPLER) & (2**64 - 1))))
            self._draws = 0
        else:
            seeds = np.asarray(seed)
            if seeds.dtype.kind not in "iu" or seeds.shape not in ((self.num_envs,), (len(rows),)):
                raise UsageError(f"seed must be a whole number or {self.num_envs} of them, not {seed!r}.")
            b.seed[rows] = (seeds[rows] if len(seeds) == self.num_envs else seeds).astype(np.uint64)
        b.episode[rows] = 0

    def step(
        self, actions: NDArray[Any] | Sequence[Any], rows: Sequence[int] | NDArray[Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], Rewards, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play one turn (tick) in every row.

        Args:
            actions: [N] whole numbers (simultaneous: [N, P]); -1 is "no answer" and counts as illegal.
            rows: only these rows play (numbers, or a bool mask [N]); all that is returned of the others stays as it
                was.

        Returns:
            observations, rewards [N, P], terminations, truncations [N] (simultaneous: [N, P]) and info: ``"illegal"``
            (bool, as terminations), ``"player"`` [N], ``"alive"`` [N, P] (a player's termination comes once, in the
            step in which it dies or the game ends), ``"final_obs"`` (as observations; rows where ``"_final_obs"``
            [N] is True).

        Raises:
            InvalidAction: wrong type, wrong shape or a number outside -1..A-1; nothing was played.
            IllegalAction: under the policy ``raise``; nothing was played.
        """
        b = self._arrays
        some = None if rows is None else rows_of(rows, self.num_envs)
        checked = self._check(actions, some)
        if some is None:
            self._split(self._drivers.step_rows, self.state, b, checked, tail=(self._limits,))
        else:
            self._drivers.step_some(self.state, b, checked, some, self._limits)
        observation, info = self._shown()
        return observation, b.rewards, b.terminated, b.truncated, info

    def sample_actions(self) -> NDArray[np.int32]:
        """Random legal action numbers, [N] (simultaneous: [N, P]); 0 where none is legal. A reused buffer."""
        self._need_start()
        self._split(self._drivers.sample_rows, self._arrays, self._sampler, self._draws, self._actions)
        self._draws += 1
        return self._actions

    def random_rollout(self, steps: int, observe: bool = True) -> RolloutSums:
        """``steps`` times ``step(sample_actions())`` in one kernel: the same games, the same arrays afterwards.

        Args:
            steps: turns (ticks) of every row.
            observe: observations and masks are written in every step, as a learner would need them. False: only once,
                at the end, and ``final_obs`` not at all. A game that can draw a legal action without a mask
                (``Kernels.draw``: chess) then does, and plays other games from the same seed than with ``observe``.
        """
        self._need_start()
        steps = positive("steps", steps)
        blocks = -(-self.num_envs // BLOCK)
        episodes = np.zeros(blocks, np.int64)
        returns = np.zeros((blocks, self.num_players), np.float64)
        tail = (self._limits, episodes, returns)
        loop, out = (self._drivers.rollout, (self._actions,)) if observe else (self._drivers.rollout_unseen, ())
        self._split(loop, self.state, self._arrays, *out, self._sampler, self._draws, steps, tail=tail)
        self._draws += steps
        self._shown()
        return RolloutSums(steps * self.num_envs, int(episodes.sum()), returns.sum(0))

    # -- states --------------------------------------------------------------------------------------------------------

    def get_state(self, rows: Sequence[int] | NDArray[Any] | int | None = None) -> Snapshot:
        """A copy of some rows (all by default), bookkeeping included. ``.state`` of it are the game's own rows."""
        b = self._arrays
        index = rows_of(rows, self.num_envs)
        gone = ~b.alive & ~b.terminated if self.game.kernels.alive is not None else np.zeros_like(b.alive)
        waiting = np.full_like(b.faults, NONE)
        live = (b.seed, b.episode, b.cycles, b.status, b.rewards, b.rewards, b.faults, gone, waiting)
        return Snapshot(take(self.state, index), *(take(part, index) for part in live))

    def set_state(
        self, state: Snapshot | State | bytes, rows: Sequence[int] | NDArray[Any] | int | None = None
    ) -> None:
        """Put states into rows: a Snapshot, bare game rows or bytes; as many as rows, or one for all of them.

        Bare rows count as games just begun; they keep the rows' seeds. Observations and masks are refreshed.

        Raises:
            StateError: of another game or layout, truncated, or another number of rows.
        """
        if not self._started:
            self.reset()
        self._place(state, rows_of(rows, self.num_envs), with_seed=True)
        self._shown()

    def _place(self, state: Any, rows: NDArray[np.intp], with_seed: bool) -> None:
        b = self._arrays
        whole, seeded = received(self.game, self.state, state)
        if size(whole) not in (1, len(rows)):
            raise StateError(
                f"{size(whole)} states came for {len(rows)} rows. Give as many states as rows, or one for all."
            )
        put(self.state, whole.state, rows)
        if with_seed and seeded:
            b.seed[rows], b.episode[rows] = whole.seed, whole.episode
        b.cycles[rows], b.status[rows], b.rewards[rows] = whole.cycles, whole.status, whole.rewards
        b.faults[rows] = whole.illegal
        b.illegal[rows] = False
        b.ended[rows] = False
        self._drivers.view_rows(self.state, b, rows)
        if self.game.info.simultaneous:
            b.terminated[rows], b.truncated[rows] = ends(whole.status[:, None], b.alive[rows], whole.gone)
        else:
            b.terminated[rows], b.truncated[rows] = whole.status == TERMINATED, whole.status == TRUNCATED

    # -- copies --------------------------------------------------------------------------------------------------------

    def clone(self) -> VecEnv:
        """An equal, independent environment, generators included."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._pool = None
        other.state = take(self.state)
        other._arrays = Arrays(*[cast("Any", part.copy()) for part in self._arrays])
        other._actions = self._actions.copy()
        other._bind_views()
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> VecEnv:
        return self.clone()

    def __getstate__(self) -> dict[str, Any]:
        from ..registry import make_game

        info = self.game.info
        make_game(info.id, **self.game.config)  # a game that isn't registered fails here, not when it is read back
        left_out = ("game", "_drivers", "_pool", "_obs", "_info")
        kept = {name: value for name, value in self.__dict__.items() if name not in left_out}
        return kept | {"made_from": (info.id, self.game.config)}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        from ..registry import make_game

        id, config = kept.pop("made_from")
        self.__dict__.update(kept)
        self.game = make_game(id, **config)
        self._drivers = drivers(self.game)
        self._pool = None
        self._bind_views()

    def close(self) -> None:
        """Stop the threads, if there are any."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    # -- inner ---------------------------------------------------------------------------------------------------------

    def _need_start(self) -> None:
        if not self._started:
            raise UsageError("This environment has not been reset. Call reset() first.")

    def observe(self, rows: Sequence[int] | NDArray[Any], players: NDArray[Any]) -> NDArray[Any]:
        """[K, ...] what ``players`` [K] see in ``rows`` [K], a new array; for seats that are not to move.

        Raises:
            UsageError: not one seat for each row, or a seat that the game doesn't have.
        """
        index, seats = rows_of(rows, self.num_envs), np.asarray(players)
        if seats.shape != index.shape or not np.isin(seats, np.arange(self.num_players)).all():
            raise UsageError(
                f"One seat 0..{self.num_players - 1} is needed for each of {len(index)} rows, not {players!r}."
            )
        out = np.zeros((len(index), *self.game.info.observation_shape), self.game.info.observation_dtype)
        self._drivers.observe_rows(self.state, index, np.ascontiguousarray(seats, np.int32), out)
        return out

    def _check(self, actions: Any, rows: NDArray[np.intp] | None) -> NDArray[np.int32]:
        self._need_start()
        checked = whole_numbers(self.game, actions, self._actions.shape)
        if self._limits.illegal == RAISE:
            refuse_illegal(self.game, self.state, self._arrays.mask, self.player, checked, rows)
        return checked

    def _split(self, loop: Callable[..., None], *head: Any, tail: tuple[Any, ...] = ()) -> None:
        n, chunks = self.num_envs, min(self.num_threads, -(-self.num_envs // BLOCK))
        if chunks == 1:
            loop(*head, 0, n, *tail)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.num_threads - 1, thread_name_prefix="coterie")
        blocks = -(-n // BLOCK)
        cuts = [min(n, BLOCK * (blocks * c // chunks)) for c in range(chunks + 1)]
        own, *others = pairwise(cuts)
        waiting = [self._pool.submit(loop, *head, a, z, *tail) for a, z in others]
        loop(*head, *own, *tail)  # here, not in one more thread: to hand work over costs more than short calls take
        for future in waiting:
            future.result()
