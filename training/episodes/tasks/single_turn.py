"""One problem, one answer: the standard task of reinforcement learning with verifiable rewards."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.problems import Problem, right
from ..data.sources import draw_from
from ..episode import SingleTurnEpisode
from ..records import Rollout
from ..role import Role
from ..rubric import RewardFn, Rubric
from .task import Task, drawn

__all__ = ["ANSWER", "allowed", "is_right", "quoted", "single_turn", "solving"]

ANSWER = "Think step by step. End with one line: Answer: and your answer."
"""What a role is told that answers in free words."""


def allowed(problem: Problem) -> list[str] | None:
    """The choices of a problem; None: any text."""
    return problem["choices"] or None


def is_right(rollout: Rollout, arena: object) -> dict[str, float]:
    """1 for the role that answers if its last answer is right, else 0."""
    step = rollout.steps[-1]
    return {step.role_id: float(right(rollout.artifact, step.text))}


def solving(
    role: str = "Solver", *, free: bool = False, rubric: Rubric | RewardFn | Sequence[RewardFn] = is_right
) -> SingleTurnEpisode:
    """An episode whose artifact is a problem that a role answers; ``free``: in any words, not by choice."""
    return SingleTurnEpisode(role, lambda p: str(p["question"]), None if free else allowed, rubric)


def quoted(text: str) -> str:
    """What a role said, for the prompt of another.

    Lines after the first are indented, so that none can pass for somebody else's; control characters become spaces.
    """
    return "".join(c if c.isprintable() else "\n  " if c == "\n" else " " for c in text.strip())


def single_turn(
    *, problems: str = "sums:9", batch: int = 8, rollouts: int = 8, free: bool = False, max_tokens: int = 256
) -> Task:
    """The role Solver answers problems; a right answer pays 1.

    Args:
        problems: sums:9, word:3, knights:2, ordering:1 (the number is the level), or a table (docs/tasks/problems.md).
        batch: problems of an update.
        rollouts: answers to each problem, compared with each other.
        free: the answer may be any text; otherwise problems with choices are answered by choice.
        max_tokens: the longest free answer.
    """
    source = drawn("single_turn", draw_from(problems), batch, rollouts)

    role = Role("Solver", ANSWER if free else "", max_tokens=max_tokens)
    return Task("single_turn", (role,), {"single_turn": solving(free=free)}, source)
