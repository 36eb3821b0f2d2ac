"""The batched face: N games side by side, arrays in, arrays out.

All arrays that ``reset`` and ``step`` return are the environment's own buffers, overwritten by the next call: copy
what you keep.

The file is longer than most because nearly all of it is one class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aliases import TERMINATED, TRUNCATED, Mask, Rewards
from ...errors import UsageError
from ..answers import known_name, whole_number
from ..core import Game
from ..state import Snapshot, rows_of
from ..stepping.buffers import BLOCK, RAISE, need_room
from ..stepping.drivers import drivers
from ..stepping.rng import mix64
from .actions import refuse_illegal, whole_numbers
from .render import fps, picture, sheet
from .rows import Rows

__all__ = ["RolloutSums", "VecEnv"]

_SAMPLER = 0x5DEECE66D  # keeps the sampler's random bits apart from the games'


class RolloutSums(NamedTuple):
    """Totals of a ``random_rollout``.

    Attributes:
        steps: turns (ticks) played, over all rows.
        episodes: games that ended.
        returns: [P] float64 sum of rewards.
    """

    steps: int
    episodes: int
    returns: NDArray[np.float64]


class VecEnv(Rows):
    """N games of one kind.

    Turn-based: actions [N], observations and masks belong to the current player, ``player`` [N]. Simultaneous: a player
    axis follows N in actions, observations, masks, terminations, truncations and ``info["illegal"]``. Rewards are
    [N, P] in both: those of the last transition, for all players.

    Row i of ``reset(seed=s)`` plays the game that an AEC environment plays after ``reset(seed=s + i)``; later games
    of a row are those that ``reset()`` without a seed plays there. The number of threads changes nothing.

    Args:
        game: the rules.
        num_envs: N.
        num_threads: the most chunks into which rows are split, each of whole blocks of 256 rows. Pays for large N and
            many steps per call (``random_rollout``).
        seed: used if the first ``reset()`` has no seed; None: a random one from the operating system.
        autoreset_mode: ``"SameStep"`` (the last observation is in ``info["final_obs"]``), ``"NextStep"`` (the step
            after a game's end ignores the action and starts the next) or ``"Disabled"`` (finished rows stay until
            ``reset(mask=...)``); or gymnasium's AutoresetMode.
        illegal: ``"lose"`` ends the game with ``illegal_reward`` for the mover and 0 for the others; ``"raise"`` raises
            IllegalAction and changes nothing; ``"resample"`` plays a random legal action instead; ``"noop"`` only
            counts the turn (in simultaneous games: the tick, for all players; in those with an action that does
            nothing, only the player at fault loses its action, and the others' count). None: ``noop`` in games with
            such an action, else ``lose``. The action -1 is "no answer": illegal everywhere.
        illegal_reward: added to the reward of a player that acts illegally; None: -1 under ``lose``, else 0.
        max_cycles: truncate after that many turns (ticks).
        render_mode: None or ``"rgb_array"``, for ``render``.
        draw: ``"package.module:function"`` that draws a row of a state.

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
        render_mode: str | None = None,
        draw: str | None = None,
    ) -> None:
        if render_mode is not None:
            known_name("render_mode", render_mode, ["rgb_array"])
            if draw is None:
                raise UsageError(f"{game.info.id} has no pictures; leave render_mode out.")
        self.render_mode, self.draw = render_mode, draw
        need_room(game, whole_number("num_envs", num_envs, 1))
        limits: Any = {"illegal": illegal, "illegal_reward": illegal_reward, "max_cycles": max_cycles}
        super().__init__(game, num_envs, seed=seed, autoreset_mode=autoreset_mode, **limits)
        self.num_threads = whole_number("num_threads", num_threads, 1)
        self.metadata = {
            "name": game.info.id.replace("-", "_"),
            "autoreset_mode": self.autoreset_mode,
            "render_modes": ["rgb_array"] if draw else [],
            "render_fps": fps(game),
        }
        self._sampler, self._draws = np.uint64(0), 0
        self._join()

    def _join(self) -> None:
        self._drivers = drivers(self.game)
        self._pool: ThreadPoolExecutor | None = None
        seats = (self.num_players,) if self.game.info.simultaneous else ()
        self._actions = np.zeros((self.num_envs, *seats), np.int32)
        self._bind_views()

    def _bind_views(self) -> None:
        b = self.arrays
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
        """Observations and info, after a write to the buffers."""
        return self._obs, self._info

    @property
    def action_mask(self) -> Mask:
        """[N, A] (simultaneous: [N, P, A]) 1 = legal; zeros in finished rows. Live: read it only."""
        return self.arrays.mask

    @property
    def observation(self) -> NDArray[Any]:
        """[N, ...] (simultaneous: [N, P, ...]) the live array."""
        return self.arrays.observation

    @property
    def terminations(self) -> NDArray[np.bool_]:
        """[N] (simultaneous: [N, P]) of the last step."""
        return self.arrays.terminated

    @property
    def truncations(self) -> NDArray[np.bool_]:
        """[N] (simultaneous: [N, P]) of the last step."""
        return self.arrays.truncated

    @property
    def illegal(self) -> NDArray[np.bool_]:
        """[N] (simultaneous: [N, P]) where the last step's action was illegal."""
        return self.arrays.illegal

    @property
    def alive(self) -> NDArray[np.bool_]:
        """[N, P] whether each player is alive; always True in games without deaths."""
        return self.arrays.alive

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
            seed: row i gets ``seed + i``, or its entry of a list [N] (or of one entry per restarting row). None: each
                row's next game. An int also seeds ``sample_actions``.
            mask: [N] bool, or row numbers: only these restart. The first reset starts all rows.
            options: ``{"state": rows}`` starts from given rows (a state, a Snapshot or bytes; one row serves all);
                other keys are the game's own options (``{"fen": ...}``): one value for all rows, or a list with one
                per row.

        Returns:
            ``{"observation", "action_mask"}`` and an info dict; see the class.
        """
        self.begin(seed, mask, options)
        return self._shown()

    def begin_rows(self, rows: NDArray[np.intp]) -> None:
        """Start the games of the rows' seeds and episodes."""
        self._drivers.begin_rows(self.state, self.arrays, rows)

    def _seed_rows(self, seed: int | Sequence[int] | NDArray[Any], rows: NDArray[np.intp]) -> None:
        super()._seed_rows(seed, rows)
        if isinstance(seed, int | np.integer):
            self._sampler, self._draws = np.uint64(mix64(np.uint64((int(seed) ^ _SAMPLER) & (2**64 - 1)))), 0

    def step(
        self, actions: NDArray[Any] | Sequence[Any], rows: Sequence[int] | NDArray[Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], Rewards, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play one turn (tick) in every row.

        Args:
            actions: [N] whole numbers (simultaneous: [N, P]); -1 is "no answer" and counts as illegal.
            rows: only these rows play (numbers, or a bool mask [N]); the returned values of the others do not change.

        Returns:
            observations, rewards [N, P], terminations, truncations [N] (simultaneous: [N, P]) and info: ``"illegal"``
            (bool, as terminations), ``"player"`` [N], ``"alive"`` [N, P] (a player's termination comes once, in the
            step in which it dies or the game ends), ``"final_obs"`` (as observations; rows where ``"_final_obs"``
            [N] is True).

        Raises:
            InvalidAction: a wrong type or shape, or a number outside -1..A-1; no row is played.
            IllegalAction: an illegal action under the policy ``raise``; no row is played.
        """
        b = self.arrays
        some = None if rows is None else rows_of(rows, self.num_envs)
        checked = self._check(actions, some)
        if some is None:
            self._split(self._drivers.step_rows, self.state, b, checked, tail=(self.limits,))
        else:
            self._drivers.step_some(self.state, b, checked, some, self.limits)
        observation, info = self._shown()
        return observation, b.rewards, b.terminated, b.truncated, info

    def sample_actions(self) -> NDArray[np.int32]:
        """Random legal action numbers, [N] (simultaneous: [N, P]); 0 where none is legal. A reused buffer."""
        self._need_start()
        self._split(self._drivers.sample_rows, self.arrays, self._sampler, self._draws, self._actions)
        self._draws += 1
        return self._actions

    def random_rollout(self, steps: int, observe: bool = True) -> RolloutSums:
        """``step(sample_actions())`` ``steps`` times in one kernel: same games, same arrays afterwards.

        Args:
            steps: turns (ticks) per row.
            observe: write observations and masks in every step, as a learner would need them. False: only once, at the
                end, and ``final_obs`` not at all. A game that can sample a legal action without a mask
                (``Kernels.draw``: chess) then does so, and plays different games from the same seed.
        """
        self._need_start()
        steps = whole_number("steps", steps, 1)
        blocks = -(-self.num_envs // BLOCK)
        episodes = np.zeros(blocks, np.int64)
        returns = np.zeros((blocks, self.num_players), np.float64)
        tail = (self.limits, episodes, returns)
        loop, out = (self._drivers.rollout, (self._actions,)) if observe else (self._drivers.rollout_unseen, ())
        self._split(loop, self.state, self.arrays, *out, self._sampler, self._draws, steps, tail=tail)
        self._draws += steps
        self._shown()
        return RolloutSums(steps * self.num_envs, int(episodes.sum()), returns.sum(0))

    # -- states and copies ---------------------------------------------------------------------------------------------

    def _view(self, rows: NDArray[np.intp], whole: Snapshot) -> None:
        b, status = self.arrays, whole.status
        self._drivers.view_rows(self.state, b, rows)
        if self.game.info.simultaneous:
            lives = b.alive[rows]
            b.terminated[rows] = np.where(lives, status[:, None] == TERMINATED, ~whole.gone)
            b.truncated[rows] = lives & (status[:, None] == TRUNCATED)
        else:
            b.terminated[rows], b.truncated[rows] = status == TERMINATED, status == TRUNCATED
        self._shown()

    def _refresh(self) -> None:
        self._drivers.view_rows(self.state, self.arrays, np.arange(self.num_envs))
        self._shown()

    def _stored(self) -> dict[str, Any]:
        left_out = ("_drivers", "_pool", "_obs", "_info", "_actions")
        return {name: value for name, value in super()._stored().items() if name not in left_out}

    def render(self) -> NDArray[np.uint8]:
        """[H, W, 3] uint8: a sheet of the games, the first 64 of them.

        Raises:
            UsageError: the environment was made without ``render_mode="rgb_array"``, or is not reset.
            MissingExtra: the package that draws pictures is not installed.
        """
        return sheet(self._drawer(), self.game, self.state, self.num_envs)

    def pictures(self, seats: Sequence[int] | None = None) -> tuple[NDArray[np.uint8], ...]:
        """N pictures [H, W, 3] uint8, row i from the side of seat ``seats[i]``; without seats N * P, one of each seat.

        Raises:
            UsageError, MissingExtra: as ``render``.
        """
        draw, every = self._drawer(), range(self.num_players)
        seen = [(i, p) for i in range(self.num_envs) for p in (every if seats is None else (int(seats[i]),))]
        return tuple(picture(draw, self.game, self.state, i, player=p) for i, p in seen)

    def _drawer(self) -> str:
        if self.render_mode is None or self.draw is None:
            raise UsageError('render() needs a render_mode; make the environment with render_mode="rgb_array".')
        self._need_start()
        return self.draw

    def close(self) -> None:
        """Stop the threads, if any."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    # -- inner ---------------------------------------------------------------------------------------------------------

    def observe(self, rows: Sequence[int] | NDArray[Any], players: NDArray[Any]) -> NDArray[Any]:
        """[K, ...] what ``players`` [K] see in ``rows`` [K], to move or not; a new array.

        Raises:
            UsageError: not one seat per row, or a seat that the game does not have.
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
        if self.limits.illegal == RAISE:
            refuse_illegal(self.game, self.state, self.arrays.mask, self.player, checked, rows)
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
        loop(*head, *own, *tail)  # in this thread: submitting it to another costs more than a short call takes
        for future in waiting:
            future.result()
