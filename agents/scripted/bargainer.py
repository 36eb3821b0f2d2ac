"""A scripted player of negotiations: it demands its best at first, and less with every turn.

What it wants falls in a straight line from the most that it can gain to ``least`` of it in its last turns. It accepts
an offer worth that much, and otherwise makes the offer nearest to what the player before it last proposed, among those
worth that much. It reads its own values and the offers alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...envs.core import Game
from ...envs.negotiation.game import words_of
from ...envs.negotiation.rules import PROPOSER, TURN, TURNS, base, utility
from ...errors import UsageError
from ..core import Decision, Turn
from ..search.rows import need_action

__all__ = ["BargainerAgent"]


class BargainerAgent:
    """Concedes in a straight line.

    Args:
        game: a negotiation.
        least: the share of its largest possible gain with which it ends up content.

    Raises:
        UsageError: another game.
    """

    name = "bargainer"

    def __init__(self, game: Game, least: float = 0.3) -> None:
        if game.info.name != "negotiation":
            raise UsageError(f"bargainer plays negotiations alone, not {game.info.id}.")
        self.least, self._words = least, words_of(game)
        self._deals = np.array([self._words.options(a) for a in range(self._words.offers)])

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Accept, or make an offer; among equally near offers one at random."""
        return [Decision(self._choose(turn)) for turn in turns]

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn."""
        found = []
        for turn in turns:
            among = self._among(turn)
            probabilities = np.zeros(turn.game.info.num_actions)
            probabilities[among] = 1 / len(among)
            found.append(probabilities)
        return found

    def _choose(self, turn: Turn) -> int:
        among = self._among(turn)
        return int(among[int(turn.seed.uniform() * len(among))])

    def _among(self, turn: Turn) -> NDArray[np.intp]:
        """The actions that it chooses among."""
        need_action(turn)
        state, i, player, offers = turn.state, turn.row, turn.player, self._words.offers
        deals, legal = self._deals, turn.mask[:offers].astype(np.bool_)
        values = state.values[i, player].astype(np.int64)
        worth = values[np.arange(deals.shape[1]), np.minimum(deals, values.shape[1] - 1)].sum(1)
        exists = (deals < state.options[i]).all(1)
        now = utility(state, i, player)
        most = int(worth[exists].max()) - base(state, i, player)
        total, played = int(state.rules[i, TURNS]), int(state.now[i, TURN])
        left = max(0.0, 1 - played / max(1, total - state.values.shape[1]))
        wanted = base(state, i, player) + most * (self.least + (1 - self.least) * left)
        proposer = int(state.now[i, PROPOSER])
        standing = int(state.last[i, proposer]) if proposer >= 0 else -1
        if standing >= 0 and worth[standing] >= wanted:
            return np.array([offers])
        good = legal & (worth >= max(wanted, now))
        if not good.any():
            # Nothing is left to offer: a deal that loses nothing is better than none.
            content = standing >= 0 and worth[standing] >= now
            return np.array([offers if content else offers + 1]) if standing >= 0 else np.flatnonzero(turn.mask)
        before = state.last[i, (player - 1) % state.values.shape[1]]
        far = np.abs(deals - deals[before]).sum(1) if before >= 0 else -worth
        far = np.where(good, far, np.iinfo(np.int64).max)
        return np.flatnonzero(far == far.min())
