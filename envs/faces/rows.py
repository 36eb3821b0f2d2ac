"""N games with their seeds, policies, snapshots and copies: the base of all faces.

``VecEnv`` steps the rows in compiled loops, ``TextVec`` one by one in Python; ``Table`` plays one row.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...aliases import Rewards, State
from ...errors import StateError, UsageError
from ..answers import whole_number
from ..core import Game
from ..plain import told
from ..state import NONE, Snapshot, copied_like, need_whole, put, received, rows_of, size, take
from ..stepping.buffers import AUTORESET, Arrays, autoreset_index, illegal_limits, new_arrays
from .actions import ignored, read_options

__all__ = ["Rows", "whole_seed"]

Same = TypeVar("Same", bound="Rows")


class Rows:
    """N games of one kind; arguments and attributes as in ``VecEnv``.

    Attributes:
        limits: how to step, as numbers for the engine.
        arrays: the engine's buffers, live.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int = 1,
        *,
        seed: int | None = None,
        autoreset_mode: Any = "SameStep",
        illegal: str | None = None,
        illegal_reward: float | None = None,
        max_cycles: int | None = None,
    ) -> None:
        mode = autoreset_index(autoreset_mode)
        self.game, self.num_envs, self.num_players = game, whole_number("num_envs", num_envs, 1), game.info.players
        self.autoreset_mode = AUTORESET[mode]
        self.limits = illegal_limits(game, illegal, illegal_reward, max_cycles, mode)
        self.state: State = game.new_state(num_envs)
        self.arrays = self._new_arrays()
        self._first, self._started = seed, False

    def _new_arrays(self) -> Arrays:
        return new_arrays(self.game, self.num_envs)

    # -- what is seen --------------------------------------------------------------------------------------------------

    @property
    def player(self) -> NDArray[np.int32]:
        """[N] the current player's seat; -1 in simultaneous games."""
        return self.arrays.player

    @property
    def rewards(self) -> Rewards:
        """[N, P] of the last transition."""
        return self.arrays.rewards

    @property
    def status(self) -> NDArray[np.uint8]:
        """[N] RUNNING, TERMINATED or TRUNCATED (the last two only in rows that wait for a restart)."""
        return self.arrays.status

    @property
    def cycles(self) -> NDArray[np.int32]:
        """[N] turns (ticks) played in the current game."""
        return self.arrays.cycles

    @property
    def faults(self) -> NDArray[np.int32]:
        """[N, P] illegal actions so far in the current game."""
        return self.arrays.faults

    # -- beginning -----------------------------------------------------------------------------------------------------

    def begin(self, seed: int | Sequence[int] | NDArray[Any] | None, mask: Any, options: dict[str, Any] | None) -> None:
        """Start games; arguments as for ``VecEnv.reset``."""
        options = read_options(options)
        rows = rows_of(mask if self._started else None, self.num_envs)
        if seed is None and not self._started:
            seed = self._first if self._first is not None else whole_seed(None)
        if seed is None:
            self.arrays.episode[rows] += 1
        else:
            self._seed_rows(seed, rows)
        self._started = True
        self.begin_rows(rows)
        for name, value in options.items():
            if name != "state" and name not in self.game.options:
                warnings.warn(ignored(self.game, name), stacklevel=3)
            elif value is not None:
                self.place(value if name == "state" else self._from_option(name, value, rows), rows, with_seed=False)

    def begin_rows(self, rows: NDArray[np.intp]) -> None:
        """Start the games of the rows' seeds and episodes."""
        raise NotImplementedError

    def _from_option(self, name: str, value: Any, rows: NDArray[np.intp]) -> State:
        """Rows started from one of the game's own reset options; a list holds one value per row."""
        listed = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)
        each = list(value) if listed else [value] * len(rows)
        if len(each) != len(rows):
            raise StateError(
                f"{len(each)} values of {name!r} came for {len(rows)} rows. Give one for all, or one each."
            )
        state = take(self.state, rows)
        for i, one in enumerate(each):
            self.game.options[name](state, i, one)
        return state

    def _seed_rows(self, seed: int | Sequence[int] | NDArray[Any], rows: NDArray[np.intp]) -> None:
        b = self.arrays
        if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
            b.seed[rows] = np.uint64(whole_seed(seed)) + rows.astype(np.uint64)
        else:
            try:
                seeds = np.asarray(seed)
            except ValueError:  # lists of different lengths
                seeds = np.zeros(0)
            if seeds.dtype.kind not in "iu" or seeds.shape not in ((self.num_envs,), (len(rows),)):
                raise UsageError(f"seed must be a whole number or {self.num_envs} of them, not {told(seed)}.")
            b.seed[rows] = (seeds[rows] if len(seeds) == self.num_envs else seeds).astype(np.uint64)
        b.episode[rows] = 0

    # -- states --------------------------------------------------------------------------------------------------------

    def get_state(self, rows: Sequence[int] | NDArray[Any] | int | None = None) -> Snapshot:
        """A copy of some rows (default: all) with their bookkeeping; its ``.state`` holds the game's own rows."""
        b, index = self.arrays, rows_of(rows, self.num_envs)
        gone = ~b.alive & ~b.terminated if self.game.kernels.alive is not None else np.zeros_like(b.alive)
        pending = b.rewards.astype(np.float64)
        live = (self.state, b.seed, b.episode, b.cycles, b.status, b.rewards, pending, b.faults, gone)
        waiting = np.full((len(index), self.num_players), NONE, np.int32)
        parts: list[Any] = [take(part, index) for part in live]
        parts.append(waiting.tolist() if isinstance(self.state, list) else waiting)
        return Snapshot(*parts)

    def set_state(
        self, state: Snapshot | State | bytes, rows: Sequence[int] | NDArray[Any] | int | None = None
    ) -> None:
        """Write states into rows: a Snapshot, bare game rows or bytes; one per row, or one for all.

        Bare rows count as new games and leave the seeds as they are. Observations and masks are refreshed.

        Raises:
            StateError: a state of another game or layout, truncated, or of a wrong number of rows.
        """
        if not self._started:
            self.begin(None, None, None)
        self.place(state, rows_of(rows, self.num_envs), with_seed=True)

    def place(self, state: Any, rows: NDArray[np.intp], with_seed: bool) -> tuple[Snapshot, bool]:
        """``set_state`` without a reset; returns the states as a Snapshot, and whether they had seeds."""
        b = self.arrays
        whole, seeded = received(self.game, self.state, state)
        if size(whole) not in (1, len(rows)):
            raise StateError(
                f"{size(whole)} states came for {len(rows)} rows. Give as many states as rows, or one for all."
            )
        put(self.state, whole.state, rows)
        if with_seed and seeded:
            b.seed[rows], b.episode[rows] = whole.seed, whole.episode
        b.cycles[rows], b.status[rows], b.rewards[rows] = whole.cycles, whole.status, whole.rewards
        b.faults[rows], b.illegal[rows], b.ended[rows] = whole.illegal, False, False
        self._started = True
        self._view(rows, whole)
        return whole, seeded

    def _view(self, rows: NDArray[np.intp], whole: Snapshot) -> None:
        """Refresh observations, masks and flags of rows that were written from outside."""
        raise NotImplementedError

    # -- copies --------------------------------------------------------------------------------------------------------

    def clone(self: Same) -> Same:
        """An equal, independent environment, including its random generators."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.state, other.arrays = take(self.state), Arrays(*map(take, self.arrays))
        other._join()
        return other

    def _join(self) -> None:
        """Rebuild what is not copied or stored."""

    def __deepcopy__(self: Same, memo: dict[int, Any]) -> Same:
        return self.clone()

    def _stored(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "game"}

    def __getstate__(self) -> dict[str, Any]:
        from ..registry import make_game

        made_from = self.game.info.id, self.game.config
        make_game(made_from[0], **made_from[1])  # an unregistered game fails here, not when it is read back
        return self._stored() | {"made_from": made_from}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        from ..registry import make_game

        id, config = kept.pop("made_from")
        self.__dict__.update(kept)
        self.game = make_game(id, **config)
        self.num_envs, self.num_players = whole_number("num_envs", self.num_envs, 1), self.game.info.players
        own = self.game.new_state(self.num_envs)
        self.state = copied_like(own, self.state)
        self.arrays = copied_like(self._new_arrays(), self.arrays)
        if self._started:
            need_whole(self.game, self.get_state())
        else:
            self.state = own  # a reset keeps the configuration in the rows
        self._join()
        if self._started:
            self._refresh()

    def _refresh(self) -> None:
        """Write what follows from the rows: current players, observations, masks, lives."""
        raise NotImplementedError

    def _need_start(self) -> None:
        if not self._started:
            raise UsageError("This environment has not been reset. Call reset() first.")


def whole_seed(seed: Any) -> int:
    """A seed as 64 bits; for None, 63 random bits from the operating system.

    Raises:
        UsageError: not a whole number of at least 0.
    """
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise UsageError(f"seed must be a whole number, not {seed!r}.")
    if seed < 0:
        raise UsageError(f"seed must be 0 or more, not {seed}.")
    return int(seed) & (2**64 - 1)
