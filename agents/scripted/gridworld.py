"""Scripted players of the gridworld: forager, raider, altruist.

All three know the rules of the episode and where they stand, see their window and remember what they saw; none reads
what an agent could not know. They are references to measure learners by, and company to learn among.
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
    """Gathers, converts and pays at altars by the shortest ways it knows.

    ``forager`` does nothing else. ``raider`` attacks strangers within reach who carry what it can hold, and loots them.
    ``altruist`` gives what is needed to kin beside it who have less of it.

    Raises:
        UsageError: a game that is no gridworld.
    """

    def __init__(self, name: str, game: Game) -> None:
        if game.info.name != "gridworld":
            raise UsageError(f"{name} plays the gridworld; it does not know {game.info.id}.")
        self.name, self.game = name, game
        self._style = STYLES[name]
        self._memory: Memory | None = None

    def _remember(self, state: object) -> Memory:
        """Memory of the right size; all is forgotten when another number of worlds comes."""
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
        """One action a turn; chance only breaks jams."""
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
