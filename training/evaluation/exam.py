"""Evaluates the learners of a run, one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...agents.core import Agent
from ...agents.llm.policy import LLMAgent, LoraPolicy
from ...errors import UsageError
from ..data.games import Games
from ..runs.config import TrainConfig
from ..runs.players import make_player
from .goal import Goal
from .held_out import HeldOut
from .match import evaluate, mixture_row, policy_row
from .worlds import compare_worlds

__all__ = ["Exam"]


class Exam:
    """The evaluations of a run.

    ``goal`` holds the conditions that end the run; ``judges`` are the evaluation opponents by name; ``looks_first``
    says whether to evaluate once before the first update.

    Raises:
        CoterieError: no such player, or a goal that no evaluation can reach.
    """

    def __init__(self, config: TrainConfig, games: Games) -> None:
        self.config, self.game = config, games.game
        names = [n for n in (part.strip() for part in config.budget.eval_vs.split(",")) if n]
        self.goal = Goal.parse(config.budget.goal)
        self.goal.check(names, games.positions.source.name if games.positions else "", exact=config.budget.exact)
        if self.goal.terms and not config.budget.eval_every:
            raise UsageError(
                "goal needs evaluations, and eval_every is 0 (never): set it to 1 or more, or leave goal empty."
            )
        self.judges: dict[str, Agent] = {n: make_player(n, self.game, device=config.policy.device) for n in names}
        self.curriculum = games.positions is not None
        self.held_out = HeldOut(self.game, games.held_out, games.max_plies) if games.held_out else None
        self.looks_first = self.held_out is not None or self.game.info.is_world

    def rows(
        self, policy: LoraPolicy, learners: Sequence[str], mixture: Mapping[str, float] | None = None
    ) -> list[dict[str, Any]]:
        """Rows of greedy play: on the curriculum's held-out positions, or in games against the evaluation opponents.

        In simultaneous worlds the rows compare the sampling policy with those opponents; each player fills all seats
        of its worlds. ``budget.exact`` adds a row for the policy itself, as training samples it; if the scheme's result
        is a ``mixture`` of players, for that instead. With several learners every row has its ``player``.
        """
        number, seed = self.config.budget.eval_games, self.config.seed + 1
        if self.game.info.is_world and not self.curriculum:
            sampled = {name: LLMAgent(policy, name, name=name) for name in learners}
            return compare_worlds(self.game, {**sampled, **self.judges}, number, seed)
        found = {name: self._of_one(policy, name, number, seed) for name in learners}
        if self.config.budget.exact and not self.curriculum:
            if mixture is None:
                for name in learners:
                    found[name].append(policy_row(self.game, LLMAgent(policy, name)))
            else:
                drawn = [name for name, share in mixture.items() if share > 0]
                agents, shares = [LLMAgent(policy, name) for name in drawn], [mixture[name] for name in drawn]
                found["mixture"] = [mixture_row(self.game, agents, shares)]
        if len(learners) == 1:
            return [row for rows in found.values() for row in rows]
        return [{"player": name, **row} for name, rows in found.items() for row in rows]

    def _of_one(self, policy: LoraPolicy, name: str, number: int, seed: int) -> list[dict[str, Any]]:
        agent = LLMAgent(policy, name, greedy=True)
        if self.curriculum:
            return self.held_out.measure(agent, self.judges, seed) if self.held_out else []
        return evaluate(self.game, agent, self.judges, number, seed, exact=False)
