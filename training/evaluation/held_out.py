"""The share of a curriculum's held-out positions, which are not trained on, that a player solves.

The player takes the side to move, and solves a position if it gets more than every other seat within the curriculum's
plies. If one ply decides and the player has a policy, the share is computed exactly, not sampled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agents.core import Agent, Turn
from ...envs.core import Game
from ...envs.state import take
from ...errors import UsageError
from ..data.curriculum import Positions, find_curriculum, read_positions
from ..data.rollout import Seating, rollout
from .match import wilson

__all__ = ["HeldOut", "solve_held_out"]


class HeldOut:
    """M positions of a game; each is played for ``max_plies``, 0: to the end."""

    def __init__(self, game: Game, positions: Positions, max_plies: int) -> None:
        self.game, self.positions, self.max_plies = game, positions, max_plies
        self._turns: list[Turn] = []
        self._solving: list[NDArray[np.bool_]] = []

    def measure(self, agent: Agent, opponents: Mapping[str, Agent], seed: int) -> list[dict[str, Any]]:
        """One row per opponent, by name; if one ply decides, a single row without opponent. The agent moves first.

        Returns:
            ``curriculum``, ``opponent``, ``games``, ``solved`` (share), ``solved_interval`` (95 %), ``illegal``. If one
            ply decides and the player has a policy, also ``sampled`` (the share that it solves when it samples) and
            ``entropy`` (of its policy, divided by that of a uniform choice: 1 is uniform, 0 is certain).

        Raises:
            UsageError: no opponents, where they are needed.
        """
        if self.max_plies == 1 and not self.game.info.simultaneous:
            try:
                return [self._one_ply(agent)]
            except UsageError:  # free decoding has no distribution over actions
                return [self._play(agent, agent, None, seed)]
        if not opponents:
            raise UsageError(f"{self.positions.source.name} needs opponents; name some, such as random.")
        return [self._play(agent, other, name, seed) for name, other in opponents.items()]

    def _row(self, opponent: str | None, solved: float, illegal: float) -> dict[str, Any]:
        count = len(self.positions)
        return {
            "curriculum": self.positions.source.name,
            "opponent": opponent,
            "games": count,
            "solved": solved,
            "solved_interval": list(wilson(round(solved * count), count)),
            "illegal": illegal,
        }

    def _play(self, agent: Agent, other: Agent, name: str | None, seed: int) -> dict[str, Any]:
        players = self.game.info.players
        seat = Seating(("measured", *["opponent"] * (players - 1)), (True, *[False] * (players - 1)))
        played = rollout(
            self.game,
            {"measured": agent, "opponent": other},
            [seat] * len(self.positions),
            seed=seed,
            starts=self.positions.states,
            max_plies=self.max_plies,
        )
        solved = illegal = 0
        for episode in played.episodes:
            own = episode.learners.index(True)
            solved += _ahead(episode.returns, own)
            illegal += episode.illegal[own] > 0
        return self._row(name, solved / len(self.positions), illegal / len(self.positions))

    def _one_ply(self, agent: Agent) -> dict[str, Any]:
        """Exact. One pass of a language model gives the figures of greedy and of sampled play."""
        asked: Any = agent
        if getattr(agent, "greedy", False):
            asked = _sampling(agent)
        if not hasattr(asked, "policy"):
            return self._play(agent, agent, None, 0)
        self._look()
        chances: Sequence[NDArray[np.float64]] = asked.policy(self._turns)
        sampled = likeliest = entropy = 0.0
        several = 0
        for turn, right, given in zip(self._turns, self._solving, chances, strict=True):
            p = given[turn.mask.astype(bool)]
            sampled += float(p[right].sum())
            likeliest += float(right[int(p.argmax())])
            if len(p) > 1:
                several += 1
                entropy -= float((p * np.log(np.maximum(p, 1e-300))).sum()) / math.log(len(p))
        count = len(self._turns)
        greedy = asked is not agent
        row = self._row(None, (likeliest if greedy else sampled) / count, 0.0)
        return row | {"sampled": sampled / count, "entropy": entropy / max(1, several)}

    def _look(self) -> None:
        """Find out which actions solve which position, the first time only."""
        if self._turns:
            return
        game, states = self.game, self.positions.states
        for i, mover in enumerate(self.positions.movers.tolist()):
            mask = game.legal_mask(states, i, mover)
            legal = np.flatnonzero(mask)
            children = take(states, np.full(len(legal), i))
            right = np.zeros(len(legal), np.bool_)
            for k, action in enumerate(legal.tolist()):
                actions = np.full(game.info.players, action, np.int32)
                rewards = np.zeros(game.info.players, np.float32)
                game.kernels.step(children, k, actions, rewards)
                right[k] = _ahead(rewards.tolist(), mover)
            self._turns.append(Turn(game, states, i, mover, mask, game.key(states, i)))
            self._solving.append(right)


def solve_held_out(
    game: Game, agent: Agent, opponents: Mapping[str, Agent], curriculum: str, count: int, seed: int
) -> list[dict[str, Any]]:
    """Rows of ``HeldOut.measure`` for a curriculum, written as for ``find_curriculum``.

    Plays at most ``count`` positions, evenly spaced over the held-out file, or over the training file if there is none.
    """
    source = find_curriculum(game, curriculum)
    positions = read_positions(game, source, source.test or source.train, count)
    return HeldOut(game, positions, source.max_plies).measure(agent, opponents, seed)


def _ahead(returns: Sequence[float], seat: int) -> bool:
    return returns[seat] > max((r for s, r in enumerate(returns) if s != seat), default=0.0)


def _sampling(agent: Any) -> Any:
    """The same language model, sampling instead of taking its likeliest answer."""
    from ...agents.llm.policy import LLMAgent

    return LLMAgent(agent.backend, agent.player, name=agent.name) if isinstance(agent, LLMAgent) else agent
