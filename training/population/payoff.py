"""Who beats whom: results between named players, in which recent games count most."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.records import Episode

__all__ = ["Payoff"]


class Payoff:
    """Wins, draws, games and returns of pairs of players.

    Args:
        decay: with every new game of a pair, its earlier games count this much less; 1 counts all games alike.

    Source: Vinyals et al. 2019, Grandmaster level in StarCraft II (the payoff of the published pseudocode).
    """

    def __init__(self, decay: float = 0.99) -> None:
        self.decay = decay
        self._pairs: dict[str, dict[str, dict[str, float]]] = {}

    def add(self, episodes: Iterable[Episode]) -> None:
        """Count games, learned from or not: one result for each two seats that hold different players."""
        for episode in episodes:
            for p, one in enumerate(episode.players):
                for q, other in enumerate(episode.players[:p]):
                    if one != other:
                        self.record(one, other, episode.returns[p], episode.returns[q])

    def record(self, one: str, other: str, own: float, theirs: float) -> None:
        """Count one game, in which ``one`` was paid ``own`` and ``other`` ``theirs``."""
        for a, b, gain in ((one, other, own - theirs), (other, one, theirs - own)):
            known = self._pairs.setdefault(a, {}).get(b, {"games": 0.0, "points": 0.0, "margin": 0.0})
            new = {"games": 1.0, "points": (np.sign(gain) + 1) / 2, "margin": gain / 2}
            self._pairs[a][b] = {name: self.decay * known[name] + float(value) for name, value in new.items()}

    def games(self, one: str, other: str) -> float:
        """How many games the pair has, earlier ones counting less."""
        return self._of(one, other, "games")

    def win_rate(self, one: str, other: str) -> float:
        """(Wins + draws / 2) / games of ``one`` against ``other``; 0.5 without games."""
        games = self.games(one, other)
        return self._of(one, other, "points") / games if games else 0.5

    def margin(self, one: str, other: str) -> float:
        """Half of what ``one`` was paid more than ``other`` per game, its value in a zero-sum game; 0 without games."""
        games = self.games(one, other)
        return self._of(one, other, "margin") / games if games else 0.0

    def matrix(self, rows: Sequence[str], columns: Sequence[str]) -> NDArray[np.float64]:
        """[R, C] win rates of the players in the rows."""
        return np.array([[self.win_rate(a, b) for b in columns] for a in rows]).reshape(len(rows), len(columns))

    def margins(self, rows: Sequence[str], columns: Sequence[str]) -> NDArray[np.float64]:
        """[R, C] margins of the players in the rows."""
        return np.array([[self.margin(a, b) for b in columns] for a in rows]).reshape(len(rows), len(columns))

    def _of(self, one: str, other: str, name: str) -> float:
        return self._pairs.get(one, {}).get(other, {}).get(name, 0.0)

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return copy.deepcopy(self._pairs)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self._pairs = copy.deepcopy(dict(state))
