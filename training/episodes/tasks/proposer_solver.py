"""A proposer sets problems that its solver answers half of the time: a curriculum that makes itself.

::

    Proposer: "level 7" or a question ──> 8 x Solver: an answer ──> pass rate p ──> max(-0.5, 1 - 2 |p - 0.5|)

The proposals of an update are compared with each other, the answers with those to the same problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import UnknownName, UsageError
from ..arena import Arena
from ..data.arithmetic import read_expression
from ..data.sources import KINDS
from ..episode import Episode
from ..records import EpisodeRequest, EpisodeState, Rollout
from ..role import Role
from .single_turn import ANSWER, solving
from .task import Task, averages, check_counts

__all__ = ["ProposerEpisode", "goldilocks", "proposer_solver"]

DEFAULTS = {"loss": {"cover_coef": 0.03, "entropy_coef": 0.02}, "optimizer": {"learning_rate": 2e-3}}
"""A proposer that is sure of one level can't follow its solver: all levels stay in play."""

INVALID = -1.0
"""What an invalid proposal pays."""

FREE = (
    "Set a problem of arithmetic that your student solves about half of the time. Write one expression of whole "
    "numbers with + - * / and parentheses, such as 12 * (3 + 4), and nothing else."
)


def goldilocks(rate: float, *, extremes: bool = False) -> float:
    """The proposer's reward for a pass rate: 1 at one half, 0 at 0 and 1.

    Args:
        rate: from 0 to 1.
        extremes: a problem that everybody or nobody solves pays -0.5.
    """
    if extremes and rate in (0.0, 1.0):
        return -0.5
    return max(-0.5, 1 - 2 * abs(rate - 0.5))


class ProposerEpisode(Episode):
    """The proposer's episode; the solvers' are its children.

    Args:
        kind: of problems, of ``data.sources.KINDS``; the proposer chooses the level. Empty: it writes an expression.
        levels: it chooses from 1 to this.
        rollouts: answers to each proposal.
        fresh: every solver gets a problem of its own of the level; otherwise all get the same.
        extremes: see ``goldilocks``.
        solve: the type of the solvers' episodes.
    """

    def __init__(self, kind: str, levels: int, rollouts: int, fresh: bool, extremes: bool, solve: str) -> None:
        super().__init__(self.reward)
        self.kind, self.levels, self.rollouts, self.solve = kind, levels, rollouts, solve
        self.fresh, self.extremes = fresh, extremes

    def reward(self, rollout: Rollout, arena: object) -> dict[str, float]:
        """The Goldilocks reward, or -1 for an invalid proposal."""
        rate = rollout.extras["pass_rate"]
        return {"Proposer": INVALID if rate is None else goldilocks(rate, extremes=self.extremes)}

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Propose, and let the solvers answer."""
        if self.kind:
            names = [f"level {k}" for k in range(1, self.levels + 1)]
            response = await self.call_model("Proposer", "Choose a level.", arena, choices=names)
            made = [KINDS[self.kind](response.chosen + 1, state.rng) for _ in range(self.rollouts if self.fresh else 1)]
        else:
            response = await self.call_model("Proposer", "Your problem:", arena)
            read = read_expression(response.text)
            made = [read] if read else []
        state.data["problem"] = made[0] if made else None
        given = [made[k % len(made)] for k in range(self.rollouts if made else 0)]
        state.child_results = await arena.generate_rollouts([EpisodeRequest(self.solve, problem) for problem in given])
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """``pass_rate`` (None: an invalid proposal), ``level`` (0: free) and the (first) ``problem``."""
        problem = state.data["problem"]
        wins = [child.rewards["Solver"] > 0 for child in state.child_results if not child.error]
        if problem is not None and not wins:
            raise UsageError("No solver finished.")
        return {
            "problem": problem,
            "level": problem["level"] if problem else 0,
            "pass_rate": float(np.mean(wins)) if problem else None,
        }


def proposer_solver(
    *,
    kind: str = "sums",
    levels: int = 12,
    batch: int = 16,
    n_solver_rollouts: int = 8,
    fresh: bool = True,
    extremes: bool = False,
    shared: bool = False,
    max_tokens: int = 256,
) -> Task:
    """A proposer and its solver.

    Args:
        kind: of problems (sums, word, knights, ordering), whose level the proposer chooses; both answer by choice.
            ``free``: the proposer writes an expression, and the solver answers in words.
        levels: the highest level to choose.
        batch: proposals of an update.
        n_solver_rollouts: answers to each proposal.
        fresh: by default every answer is to a problem of its own, so that the pass rate is that of the level; with
            --no-fresh all are to the same problem, which a confident solver always or never solves.
        extremes: problems that everybody or nobody solves pay the proposer -0.5, not 0.
        shared: both roles have one adapter, not two.
        max_tokens: the longest free answer.

    Raises:
        UsageError: no such kind or level; no rollouts.
    """
    free = kind == "free"
    if not free and kind not in KINDS:
        raise UnknownName("kind of problems", kind, [*KINDS, "free"])
    check_counts(batch=batch, n_solver_rollouts=n_solver_rollouts)
    if not free:
        KINDS[kind](levels, np.random.default_rng(0))  # an error now, not in an episode
    player = "main" if shared else ""
    roles = (
        Role("Proposer", FREE if free else "", max_tokens=64, player=player),
        Role("Solver", ANSWER if free else "", max_tokens=max_tokens, player=player),
    )
    episodes = {
        "propose": ProposerEpisode("" if free else kind, levels, n_solver_rollouts, fresh, extremes, "solve"),
        "solve": solving(free=free),
    }
    figures = averages("pass_rate", "level")
    return Task("proposer_solver", roles, episodes, lambda arena, rng: [EpisodeRequest("propose")] * batch, {}, figures)
