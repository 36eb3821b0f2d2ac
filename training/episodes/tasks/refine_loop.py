"""Generator, critic, revision, and again: an answer that is improved in rounds.

::

    Generator: an answer ──> Critic: what is wrong ──> Generator: a better one ──> ... ──> its quality pays both

The loop ends early if the critic finds nothing to change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arena import Arena
from ..data.problems import Problem, right
from ..data.sources import draw_from
from ..episode import Episode
from ..records import EpisodeState, Rollout
from ..role import Role
from .single_turn import ANSWER, allowed, quoted
from .task import Task, drawn

__all__ = ["RefineEpisode", "quality", "refine_loop"]

KEEP, CHANGE = "Keep it.", "Change it."
CRITIC = f"Say in one or two sentences what is wrong with the last answer. If nothing is, write: {KEEP}"
GRADES = [str(k) for k in range(11)]


async def quality(problem: Problem, text: str, arena: Arena) -> float:
    """An oracle's grade of an answer, from 0 to 1: the mean of 0 to 10 under its probabilities, if it tells them."""
    asked = f"Question: {problem['question']}\n\nAnswer: {text}\n\n"
    response = await arena.call_model(f"{asked}How good is it, from 0 (useless) to 10 (perfect)?", choices=GRADES)
    if not response.probabilities:
        return response.chosen / 10
    return float(np.dot(response.probabilities, np.arange(11)) / 10)


class RefineEpisode(Episode):
    """Answers in rounds.

    Args:
        rounds: the most criticisms.
        free: answers and criticism may be any text; otherwise the critic chooses to keep or to change the answer.
        judge: an oracle grades the last answer; otherwise it is checked.
    """

    def __init__(self, rounds: int = 2, *, free: bool = False, judge: bool = False) -> None:
        super().__init__(self.reward)
        self.rounds, self.free, self.judge = rounds, free, judge

    async def reward(self, rollout: Rollout, arena: Arena) -> dict[str, float]:
        """The quality of the last answer, for both roles."""
        last = rollout.extras["answers"][-1]
        graded = await quality(rollout.artifact, last, arena) if self.judge else float(right(rollout.artifact, last))
        return {"Generator": graded, "Critic": graded}

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Answer, and change the answer until the critic is content."""
        options = None if self.free else allowed(artifact)
        said = [artifact["question"]]
        answers = state.data["answers"] = []
        for turn in range(self.rounds + 1):
            answers.append((await self.call_model("Generator", "\n".join(said), arena, choices=options)).text)
            said.append(quoted(answers[-1]))
            if turn == self.rounds:
                break
            verdicts = None if self.free else [KEEP, CHANGE]
            criticism = (await self.call_model("Critic", "\n".join(said), arena, choices=verdicts)).text
            if KEEP in criticism:
                break
            said += [quoted(criticism), artifact["question"]]
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """All ``answers``, in order."""
        return {"answers": state.data["answers"]}


def refine_loop(
    *,
    problems: str = "sums:9",
    rounds: int = 2,
    batch: int = 8,
    rollouts: int = 8,
    free: bool = False,
    judge: bool = False,
    max_tokens: int = 256,
) -> Task:
    """The roles Generator and Critic improve answers; the last one pays both.

    Args:
        problems: sums:9, word:3, knights:2, ordering:1 (the number is the level), or a table (docs/tasks/problems.md).
        rounds: the most criticisms of an answer.
        batch: problems of an update.
        rollouts: loops for each problem, compared with each other.
        free: answers and criticism may be any text.
        judge: an oracle grades the last answer; otherwise it is checked.
        max_tokens: the longest free text.
    """
    source = drawn("refine", draw_from(problems), batch, rollouts)
    roles = (
        Role("Generator", ANSWER if free else "", max_tokens=max_tokens),
        Role("Critic", CRITIC if free else "", max_tokens=max_tokens),
    )

    return Task("refine_loop", roles, {"refine": RefineEpisode(rounds, free=free, judge=judge)}, source)
