"""Ensemble verification: several solvers answer, the majority's answer counts as the truth, outliers lose.

No answer needs to be known. What the majority is worth shows in ``majority_right``, where the answers are known.

Source: Zuo et al. 2025, TTRL (majority voting as reward).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ....errors import UsageError
from ..arena import Arena
from ..data.problems import read_answer, right
from ..data.sources import draw_from
from ..episode import Episode
from ..records import EpisodeRequest, EpisodeState
from ..role import Role
from .single_turn import ANSWER, solving
from .task import Task, averages, drawn

__all__ = ["EnsembleEpisode", "ensemble"]


class EnsembleEpisode(Episode):
    """The vote; the solvers' episodes are its children, and it pays them: 1 with the majority, -1 against it.

    Args:
        solvers: how many answers.
        quorum: the least share of the votes that makes a majority; below it, and in a tie, all are paid 0.
    """

    def __init__(self, solvers: int, quorum: float) -> None:
        super().__init__()
        self.solvers, self.quorum = solvers, quorum

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Let all answer, count, pay."""
        state.child_results = await arena.generate_rollouts([EpisodeRequest("vote", artifact)] * self.solvers)
        cast = [child for child in state.child_results if not child.error]
        answers = [" ".join(read_answer(child.rollout.steps[-1].text).casefold().split()) for child in cast]
        ranked = Counter(answers).most_common(2)
        clear = bool(ranked) and (len(ranked) == 1 or ranked[0][1] > ranked[1][1])
        clear = clear and ranked[0][1] >= self.quorum * len(cast)
        for child, answer in zip(cast, answers, strict=True):
            child.rollout.rewards = {"Solver": (1.0 if answer == ranked[0][0] else -1.0) if clear else 0.0}
        state.data["majority"] = ranked[0][0] if clear else None
        state.data["share"] = ranked[0][1] / len(cast) if ranked else 0.0
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """``majority`` (None: there is none), its ``share`` of the votes, and ``majority_right``."""
        majority = state.data["majority"]
        is_right = majority is not None and right(state.rollout.artifact, majority)
        return {"majority": majority, "share": state.data["share"], "majority_right": is_right}


def ensemble(
    *,
    problems: str = "sums:9",
    solvers: int = 8,
    quorum: float = 0.0,
    batch: int = 8,
    free: bool = False,
    max_tokens: int = 256,
) -> Task:
    """The role Solver answers problems several times; the majority is right by definition.

    Args:
        problems: sums:9, word:3, knights:2, ordering:1 (the number is the level), or a table (docs/tasks/problems.md).
        solvers: answers to each problem.
        quorum: the least share of the votes that makes a majority.
        batch: problems of an update.
        free: answers may be any text; otherwise problems with choices are answered by choice.
        max_tokens: the longest free answer.

    Raises:
        UsageError: fewer than 2 solvers.
    """
    if solvers < 2:
        raise UsageError(f"An ensemble of {solvers} has no majority: set solvers to 2 or more.")
    source = drawn("ensemble", draw_from(problems), batch)

    role = Role("Solver", ANSWER if free else "", max_tokens=max_tokens)
    votes = solving(free=free, rubric=())
    return Task(
        "ensemble",
        (role,),
        {"ensemble": EnsembleEpisode(solvers, quorum), "vote": votes},
        source,
        metrics=averages("majority_right", "share"),
    )
