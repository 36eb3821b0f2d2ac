"""The result of a rollout: episodes, and the learners' decisions with their exact tokens.

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
    """One decision of a player who learns; a decision of several asks (a message, then an action) has a visit for each.

    Attributes:
        episode: index into ``Rollout.episodes``.
        seat: the seat that decided.
        ply: turns played before it (opening included).
        key: hash of the position.
        action: the action played; None if the answer was illegal.
        before: what the seat had been paid before this decision, dense signals included.
        tokens: prompt, answer and log-probs, for the loss.
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
        players: P names, one per seat.
        learners: P flags: whether the seat learns from it.
        opening_plies: random plies before the players took over.
        plies: turns played by the players.
        returns: P totals of the game's rewards.
        dense: P totals of training's dense rewards (``shaping.Dense``); empty: none.
        illegal: P counts of answers that were not legal actions.
        actions: the actions in order, if the rollout ran with ``keep_actions``; -1: an answer that named no legal
            action. Simultaneous games: one list per tick. Games of words: messages, None for illegal ones.
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
        """P totals to learn from: returns plus dense rewards."""
        return [a + b for a, b in zip(self.returns, self.dense, strict=True)] if self.dense else self.returns


@dataclass
class Rollout:
    """A batch of games.

    Attributes:
        episodes: N games.
        visits: D decisions of learners, in order of time within an episode.
        decisions: number of all decisions, opponents' included.
        scouts: games that groups branched from, by the group's number; empty if groups begin at openings.
    """

    episodes: list[Episode]
    visits: list[Visit]
    decisions: int
    scouts: list[Episode] = field(default_factory=list)

    def returns(self) -> NDArray[np.float64]:
        """[D] what the deciding seat was paid from each decision on."""
        paid = [episode.paid for episode in self.episodes]
        return np.array([paid[v.episode][v.seat] - v.before for v in self.visits], np.float64)

    def trajectories(self) -> NDArray[np.int64]:
        """[D] the deciding seat and its episode, as one number."""
        return np.array([v.episode * len(self.episodes[v.episode].players) + v.seat for v in self.visits], np.int64)

    def rewards(self) -> NDArray[np.float64]:
        """[D] what the deciding seat was paid after each decision, up to its next one."""
        paid, later = self.returns(), dict[int, float]()
        for d, who in reversed(list(enumerate(self.trajectories().tolist()))):
            paid[d], later[who] = paid[d] - later.get(who, 0.0), float(paid[d])
        return paid

    def decisions_left(self) -> NDArray[np.int64]:
        """[D] number of later turns of the same seat in the same episode; a message and its action are one turn."""
        left, seen = np.zeros(len(self.visits), np.int64), dict[int, tuple[int, int]]()
        for d, who in reversed(list(enumerate(self.trajectories().tolist()))):
            ply, turns = seen.get(who, (-1, -1))
            seen[who] = self.visits[d].ply, turns + (self.visits[d].ply != ply)
            left[d] = seen[who][1]
        return left

    def whose(self) -> list[str]:
        """[D] the name of the player who decided."""
        return [self.episodes[v.episode].players[v.seat] for v in self.visits]

    def learner_results(self, name: str | None = None) -> NDArray[np.float64]:
        """Returns of all learning seats, or of those in which the player ``name`` learns."""
        return np.array(
            [
                paid
                for e in self.episodes
                for who, paid, learns in zip(e.players, e.returns, e.learners, strict=True)
                if learns and name in (None, who)
            ],
            np.float64,
        )
