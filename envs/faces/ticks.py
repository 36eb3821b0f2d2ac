"""A simultaneous game at a table: one row of the batched face's arrays, and one compiled call a tick.

What is seen is kept from tick to tick: observations and masks of all players, in arrays that are new each time, so that
faces may hand out views of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, TRUNCATED, Action, Mask, Player, State, Status
from ..core import Game
from ..stepping.buffers import Arrays, Limits, new_arrays
from ..stepping.drivers import drivers
from ..stepping.jit import compiled

__all__ = ["Ticks", "ends"]

_ILLEGAL, _DIED = 4, 8
_ROW = np.zeros(1, np.intp)


class Ticks:
    """One simultaneous game.

    Args:
        game: the rules.
        state: its one row, live.
        limits: how to step.

    Attributes:
        observation: [P, ...] what each player sees; a new array after every tick.
        mask: [P, A] int8; zeros for who has no choice, or is dead. A new array after every tick.
        alive: P bools.
        terminated, truncated: P bools, as of the last tick.
        rewards: P numbers, of the last tick.
        faults: P counts of illegal actions in this game.
        status: of the game.
        any_ended: somebody's game ended in the last tick.
    """

    def __init__(self, game: Game, state: State, limits: Limits) -> None:
        self.game, self.limits = game, limits
        arrays = new_arrays(game, 1)
        self._arrays: Arrays = arrays._replace(final_observation=arrays.observation, final_mask=arrays.mask)
        self._tick: Callable[..., int] | None = None  # made for ``state`` and ``_arrays``
        self._keep(state)

    def _keep(self, state: State) -> None:
        """Take what is seen out of the arrays, after a beginning."""
        b = self._arrays
        self.state = state
        self.observation: NDArray[Any] = b.observation[0].copy()
        self.mask: Mask = b.mask[0].copy()
        self.rewards: list[float] = b.rewards[0].tolist()
        self.faults: list[int] = b.faults[0].tolist()
        self.status: Status = int(b.status[0])
        self._flags()
        self.any_ended = self._stale = self.status != RUNNING or True in self.terminated

    def _flags(self) -> None:
        b = self._arrays
        self.alive: list[bool] = b.alive[0].tolist()
        self.terminated: list[bool] = b.terminated[0].tolist()
        self.truncated: list[bool] = b.truncated[0].tolist()

    @property
    def played(self) -> NDArray[np.int32]:
        """[P] what the rules were given in the last tick, illegal actions as the policy has it. Live."""
        played: NDArray[np.int32] = self._arrays.acts[0]
        return played

    def begin(self, seed: int, episode: int) -> None:
        """A new game, as the batched face begins it."""
        b = self._arrays
        b.seed[0], b.episode[0] = seed, episode
        drivers(self.game).begin_rows(self.state, b, _ROW)
        self._keep(self.state)

    def placed(
        self, seed: int, episode: int, cycles: int, status: Status, rewards: Any, faults: Any, gone: Any
    ) -> None:
        """The row was written from outside; so stands the game. gone [P] bool: players that ended before it."""
        b = self._arrays
        b.seed[0], b.episode[0], b.cycles[0], b.status[0] = seed, episode, cycles, status
        b.rewards[0], b.faults[0], b.illegal[0] = rewards, faults, False
        drivers(self.game).view_rows(self.state, b, _ROW)
        b.terminated[0], b.truncated[0] = ends(status, b.alive[0], gone)
        self._keep(self.state)

    def wrong(self, actions: Sequence[Action] | NDArray[Any]) -> list[Player]:
        """Who of those that are asked chose an illegal action."""
        count = self.game.info.num_actions
        asked: list[bool] = self.mask.max(1).tolist()
        return [p for p, a in enumerate(actions) if asked[p] and not (0 <= a < count and self._arrays.mask[0, p, a])]

    def tick(self, actions: Sequence[Action] | NDArray[Any]) -> None:
        """Everybody's action [P]. Under the policy ``raise`` they are legal."""
        b, old, mask = self._arrays, self.observation, self.mask
        self.observation, self.mask = np.empty(old.shape, old.dtype), np.empty(mask.shape, np.int8)
        given = (self.state, b, np.ascontiguousarray(actions, np.int64), self.observation, self.mask, self.limits)
        if self._tick is None:
            self._tick = compiled(drivers(self.game).tick, *given)
        code = self._tick(*given)
        self.rewards = b.rewards[0].tolist()
        self.status = code & 3
        if code & _ILLEGAL:
            self.faults = b.faults[0].tolist()
        self.any_ended = code & _DIED != 0 or self.status != RUNNING
        if self.any_ended or self._stale:
            self._flags()
            self._stale = self.any_ended

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("game", "_tick", "state")}

    def join(self, game: Game, state: State) -> None:
        """After unpickling: the rules and the row again."""
        self.game, self.state, self._tick = game, state, None

    def twin(self, state: State) -> Ticks:
        """An independent copy on a copied row."""
        other = copy.copy(self)
        other.__dict__.update(self.__dict__)
        other.state = state
        other._tick = None
        other._arrays = Arrays(*[cast("Any", part.copy()) for part in self._arrays])
        for name in ("observation", "mask", "alive", "terminated", "truncated", "rewards", "faults"):
            setattr(other, name, copy.copy(getattr(self, name)))
        return other


def ends(status: Any, alive: Any, gone: Any) -> tuple[Any, Any]:
    """Terminations and truncations [...] of players, from a status, who is alive and whose end was told before."""
    return np.where(alive, status == TERMINATED, ~gone), alive & (status == TRUNCATED)
