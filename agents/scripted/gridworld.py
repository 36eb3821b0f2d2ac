"""Scripted players of the gridworld: forager, raider, altruist.

All three know the rules of the episode and their own place, see their window and remember what they saw; none reads
anything that an agent could not know. They are references for measuring learners, and co-players in training.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...envs.core import Game
from ...errors import UsageError
from ..core import Decision, Turn
from ..search.rows import need_same_game
from .gridworld_search import ALTRUIST, FORAGER, RAIDER, UNKNOWN, Memory, decide

__all__ = ["GridworldAgent"]

STYLES = {"forager": FORAGER, "raider": RAIDER, "altruist": ALTRUIST}


class GridworldAgent:
    """Gathers, converts and pays at altars by the shortest paths it knows.

    ``forager`` does nothing else. ``raider`` attacks strangers within reach that carry an item it has room for, and
    loots agents ahead of it where USE loots. ``altruist`` gives needed items to adjacent kin that have fewer of them.

    Raises:
        UsageError: the game is not the gridworld.
    """

    def __init__(self, name: str, game: Game) -> None:
        if game.info.name != "gridworld":
            raise UsageError(f"{name} plays only the gridworld, not {game.info.id}.")
        self.name, self.game = name, game
        self._style = STYLES[name]
        self._memory: Memory | None = None

    def _remember(self, state: object) -> Memory:
        """Memory of the right size; it is cleared when the number of worlds changes."""
        shape = (*state.items.shape[:2], *state.kind.shape[1:])  # type: ignore[attr-defined]
        if self._memory is None or self._memory.known.shape != shape:
            nodes = 4 * shape[2] * shape[3]
            self._memory = Memory(
                known=np.full(shape, UNKNOWN, np.uint8),
                busy=np.zeros(shape, np.int32),
                clock=np.full(shape[:2], -1, np.int32),
                needed=np.zeros(state.items.shape[2], np.bool_),  # type: ignore[attr-defined]
                queue=np.zeros(nodes, np.int32),
                depth=np.zeros(nodes, np.int32),
                first=np.zeros(nodes, np.int8),
            )
        return self._memory

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """One action per turn; random numbers serve only to break jams."""
        if not turns:
            return []
        need_same_game(self.name, self.game, turns[0], configured=False)
        state = turns[0].state
        memory = self._remember(state)
        rows = np.array([turn.row for turn in turns], np.int64)
        seats = np.array([turn.player for turn in turns], np.int64)
        out = np.zeros(len(turns), np.int64)
        random = np.array([turn.seed.integer() for turn in turns], np.uint64)
        decide(state, memory, rows, seats, np.stack([turn.mask for turn in turns]), self._style, random, out)
        return [Decision(action) for action in out.tolist()]
