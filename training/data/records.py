"""What a rollout leaves behind: episodes, and the decisions of those who learn, token-exactly.

Letters: N episodes, P players, D decisions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...agents.core import Tokens

__all__ = ["Episode", "Rollout", "Visit"]


@dataclass(slots=True)
class Visit:
    """One decision of a player who learns.

    Attributes:
        episode: index into ``Rollout.episodes``.
        seat: who decided.
        ply: how many turns had been played before (opening included).
        key: hash of the position.
        action: what was played; None if the answer was illegal.
        before: what the seat had been paid before this decision, dense signals included.
        tokens: the record that the loss needs.
    """

    episode: int
    seat: int
    ply: int
    key: int
    action: int | None
    before: float
    tokens: Tokens


@dataclass(slots=True)
class Episode:
    """One game.

    Attributes:
        group: games with the same number share opening, seats and opponents.
        players: who sat where, P names.
        learners: which seats learn from it.
        opening_plies: random plies before the players took over.
        plies: turns played by the players.
        returns: P totals, as the game paid them.
        dense: P totals of what training paid besides (``shaping.Dense``); empty: nothing.
        illegal: answers that were no legal action, a seat.
        actions: what was played, in order, where the rollout was told to keep it; -1: an answer that named no legal
            action. Simultaneous games: a list a tick. Games of words: messages, None for what was none.
    """

    group: int
    players: tuple[str, ...]
    learners: tuple[bool, ...]
    opening_plies: int = 0
    plies: int = 0
    returns: list[float] = field(default_factory=list)
    dense: list[float] = field(default_factory=list)
    illegal: list[int] = field(default_factory=list)
    actions: list[object] = field(default_factory=list)

    @property
    def paid(self) -> list[float]:
        """P totals that learning goes by."""
        return [a + b for a, b in zip(self.returns, self.dense, strict=True)] if self.dense else self.returns


@dataclass
class Rollout:
    """A batch of games.

    Attributes:
        episodes: N games.
        visits: D decisions of learners, in order of time within an episode.
        decisions: how many decisions were made in all, opponents' included.
        scouts: games that groups branched from, by the group's number; empty where groups begin at openings.
    """

    episodes: list[Episode]
    visits: list[Visit]
    decisions: int
    scouts: list[Episode] = field(default_factory=list)

    def returns(self) -> NDArray[np.float64]:
        """[D] what the deciding seat got from each decision on."""
        paid = [episode.paid for episode in self.episodes]
        return np.array([paid[v.episode][v.seat] - v.before for v in self.visits], np.float64)

    def trajectories(self) -> NDArray[np.int64]:
        """[D] which seat of which episode decided, as one number."""
        return np.array([v.episode * len(self.episodes[v.episode].players) + v.seat for v in self.visits], np.int64)

    def rewards(self) -> NDArray[np.float64]:
        """[D] what the deciding seat was paid after each decision, up to its next one."""
        paid, later = self.returns(), dict[int, float]()
        for d, who in reversed(list(enumerate(self.trajectories().tolist()))):
            paid[d], later[who] = paid[d] - later.get(who, 0.0), float(paid[d])
        return paid

    def decisions_left(self) -> NDArray[np.int64]:
        """[D] how many decisions of the same seat in the same episode followed."""
        left, seen = np.zeros(len(self.visits), np.int64), dict[int, int]()
        for d, who in reversed(list(enumerate(self.trajectories().tolist()))):
            left[d] = seen[who] = seen.get(who, -1) + 1
        return left

    def whose(self) -> list[str]:
        """[D] who decided."""
        return [self.episodes[v.episode].players[v.seat] for v in self.visits]

    def learner_results(self, name: str | None = None) -> NDArray[np.float64]:
        """Totals of all learning seats, or of those in which one player learns."""
        return np.array(
            [
                paid
                for e in self.episodes
                for who, paid, learns in zip(e.players, e.returns, e.learners, strict=True)
                if learns and name in (None, who)
            ],
            np.float64,
        )

    def illegal_share(self) -> float:
        """Share of the learners' answers that were illegal."""
        return sum(v.action is None for v in self.visits) / max(1, len(self.visits))
