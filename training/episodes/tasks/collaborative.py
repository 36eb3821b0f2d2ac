"""Several roles work on one problem, as a schedule such as ``"A -> B -> (A/B)*5"`` says; the last answer counts.

The task for models of different kinds that share a goal: give the roles models of their own with ``Arena.add_model``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arena import Arena
from ..data.problems import right
from ..data.sources import draw_from
from ..episode import Episode
from ..records import EpisodeState, Rollout
from ..role import Role
from ..schedule import Schedule, drive, parse_schedule
from .single_turn import ANSWER, allowed, quoted
from .task import Task, drawn

__all__ = ["ScheduledEpisode", "collaborative"]

TOGETHER = f"You solve a problem together with others. Read what they have said, correct mistakes. {ANSWER}"


class ScheduledEpisode(Episode):
    """Roles speak as a schedule says; each hears all that was said before.

    Args:
        schedule: drawn anew in every episode.
        free: answers may be any text; otherwise problems with choices are answered by choice.
    """

    def __init__(self, schedule: Schedule, *, free: bool = False) -> None:
        super().__init__(self.reward)
        self.schedule, self.free = schedule, free

    def reward(self, rollout: Rollout, arena: object) -> dict[str, float]:
        """1 for every role of the schedule if the last answer is right, else 0."""
        return dict.fromkeys(self.schedule.roles, float(right(rollout.artifact, rollout.extras["said"][-1][1])))

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Play the schedule."""
        options = None if self.free else allowed(artifact)

        async def speak(role: str, heard: Sequence[tuple[str, str]]) -> tuple[str, str]:
            lines = [*(f"{who}: {quoted(text)}" for who, text in heard), str(artifact["question"])]
            return role, (await self.call_model(role, "\n".join(lines), arena, choices=options)).text

        state.data["said"] = await drive(self.schedule.draw(state.rng), speak)
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """What was ``said``: (role, text) in the order of the schedule."""
        return {"said": state.data["said"]}


def collaborative(
    *,
    schedule: str = "A -> B -> (A/B)*2",
    problems: str = "sums:9",
    batch: int = 8,
    rollouts: int = 8,
    free: bool = False,
    max_tokens: int = 256,
) -> Task:
    """The roles of a schedule solve problems together; each is paid if the last answer is right.

    Args:
        schedule: who speaks when, such as A -> B -> (A/B)*5, see docs/tasks/problems.md; whoever it names is a role.
        problems: sums:9, word:3, knights:2, ordering:1 (the number is the level), or a table (docs/tasks/problems.md).
        batch: problems of an update.
        rollouts: attempts at each problem, compared with each other.
        free: answers may be any text.
        max_tokens: the longest free answer.

    Raises:
        UsageError: a schedule that can't be read.
    """
    source, plan = drawn("collaborative", draw_from(problems), batch, rollouts), parse_schedule(schedule)

    roles = tuple(Role(name, TOGETHER if free else "", max_tokens=max_tokens) for name in plan.roles)
    return Task("collaborative", roles, {"collaborative": ScheduledEpisode(plan, free=free)}, source)
