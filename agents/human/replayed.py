"""Replays of saved games: a world with a timeline, a board game turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ...aliases import RUNNING, TERMINATED, Player, Status
from ...envs.core import Game, GameRecord
from ...envs.state import take
from ...envs.words import SAY
from ..core import Decision, Turn
from .table import Match

__all__ = ["Again", "Replayed"]

KEPT: Final = 250
"""A replay keeps a state every this many ticks, so that it can go back."""


class Replayed:
    """A replay of a recorded world, which can seek to any tick from 0 to ``ticks``.

    It does not check the record: ``read_games`` has already replayed it.
    """

    def __init__(self, game: Game, record: GameRecord) -> None:
        self.game, self.names, self._record = game, record.players, record
        self.tick, self.ticks = 0, len(record.actions)
        self.state = take(record.start)
        self.returns = np.zeros(game.info.players)
        self._kept = {0: (take(self.state), self.returns.copy())}

    @property
    def status(self) -> Status:
        """RUNNING until the last tick, then the record's status (TERMINATED if the record was unfinished)."""
        if self.tick < self.ticks:
            return RUNNING
        return self._record.status if self._record.status != RUNNING else TERMINATED

    def step(self) -> None:
        """Advance by one tick, if there is one."""
        if self.tick >= self.ticks:
            return
        rewards = np.zeros(self.game.info.players, np.float32)
        actions = np.array(self._record.actions[self.tick], np.int32)
        self.game.kernels.step(self.state, 0, actions, rewards)
        self.returns = self.returns + rewards
        self.tick += 1
        if self.tick % KEPT == 0 and self.tick not in self._kept:
            self._kept[self.tick] = (take(self.state), self.returns.copy())

    def again(self, number: int = 0) -> Replayed:
        """Seek to the start and return this replay; ``number`` is ignored."""
        self.seek(0)
        return self

    def seek(self, tick: int) -> None:
        """Go to a tick, clipped to 0..``ticks``."""
        tick = max(0, min(self.ticks, tick))
        near = max(kept for kept in self._kept if kept <= tick)
        if not near <= self.tick <= tick:
            state, returns = self._kept[near]
            self.state, self.returns, self.tick = take(state), returns.copy(), near
        while self.tick < tick:
            self.step()


class Again(Match):
    """A recorded board game, replayed up to its last recorded turn; it is also the agent of every seat."""

    name = "record"

    def __init__(self, game: Game, record: GameRecord, seed: int) -> None:
        nothing = (0.0,) * game.info.players
        super().__init__(
            game, record.players, seed, record=GameRecord(record.start, [], record.players, nothing, RUNNING)
        )
        self._actions = record.actions

    def seats(self) -> list[Player]:
        """The seats to act now; empty once the record is over."""
        return super().seats() if len(self.plies) < len(self._actions) else []

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """The recorded actions."""
        done = [self._actions[len(self.plies)][turn.player] for turn in turns]
        return [Decision(SAY, one) if self.table.words else Decision(one) for one in done]

    def again(self, number: int = 0) -> Again:
        """Go back to the start and return this match; ``number`` is ignored."""
        if self.plies:
            self._back(0)
        return self
