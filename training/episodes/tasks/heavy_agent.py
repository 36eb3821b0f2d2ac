"""Parallel thinking, then a merge: many answers to one problem, and one role that reads them all.

::

    problem ──> Thinker x 4 (episodes of their own) ──> Merger: the answer

Thinkers are paid for their own answers, the merger for the last one. With ``thinkers=2`` the answers come from
different models; the merger may be one of them, or frozen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import UsageError
from ..arena import Arena
from ..data.sources import draw_from
from ..episode import Episode
from ..records import EpisodeRequest, EpisodeState
from ..role import Role
from .single_turn import ANSWER, allowed, is_right, quoted, solving
from .task import Task, averages, check_counts, drawn

__all__ = ["HeavyEpisode", "heavy_agent"]

MERGE = f"Several attempts at a problem follow. Compare them, find the mistakes, and give the right answer. {ANSWER}"


class HeavyEpisode(Episode):
    """The merger's episode; the thinkers' are its children.

    Args:
        thinkers: the types of their episodes.
        samples: answers of each.
        free: answers may be any text; otherwise problems with choices are answered by choice.
    """

    def __init__(self, thinkers: list[str], samples: int, *, free: bool = False) -> None:
        super().__init__(is_right)
        self.thinkers, self.samples, self.free = thinkers, samples, free

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Think, then merge; attempts that failed are left out."""
        asked = [EpisodeRequest(kind, artifact) for kind in self.thinkers for _ in range(self.samples)]
        state.child_results = await arena.generate_rollouts(asked)
        attempts = [quoted(child.rollout.steps[-1].text) for child in state.child_results if not child.error]
        lines = [*attempts, str(artifact["question"])]
        options = None if self.free else allowed(artifact)
        await self.call_model("Merger", "\n".join(lines), arena, choices=options)
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """``alone``: the share of right answers before the merge."""
        paid = [sum(child.rewards.values()) for child in state.child_results if not child.error]
        return {"alone": float(np.mean(paid)) if paid else 0.0}


def heavy_agent(
    *,
    problems: str = "sums:9",
    thinkers: int = 1,
    samples: int = 4,
    merger: str = "own",
    batch: int = 4,
    rollouts: int = 4,
    free: bool = False,
    max_tokens: int = 256,
) -> Task:
    """The roles Thinker (Thinker-1, Thinker-2, ... if there are several) and Merger solve problems.

    Args:
        problems: sums:9, word:3, knights:2, ordering:1 (the number is the level), or a table (docs/tasks/problems.md).
        thinkers: how many different ones; each has an adapter of its own.
        samples: answers of each to a problem.
        merger: whose adapter merges: ``own``; ``frozen``, the base model, which does not learn; or a thinker's name,
            such as ``Thinker``: then thinking and merging train the same adapter.
        batch: problems of an update.
        rollouts: attempts at each problem as a whole, compared with each other.
        free: answers may be any text.
        max_tokens: the longest free answer.

    Raises:
        UsageError: no thinkers or samples, or a merger that is none of these.
    """
    check_counts(thinkers=thinkers, samples=samples)
    names = ["Thinker"] if thinkers == 1 else [f"Thinker-{k}" for k in range(1, thinkers + 1)]
    if merger not in ("own", "frozen", *names):
        raise UsageError(f"The merger {merger!r} is none of own, frozen, {', '.join(names)}.")
    source = drawn("heavy", draw_from(problems), batch, rollouts)
    prompt = ANSWER if free else ""
    shared = merger if merger in names else ""
    last = Role("Merger", MERGE if free else "", max_tokens=max_tokens, player=shared, trainable=merger != "frozen")
    types = {f"think: {name}": solving(name, free=free) for name in names}

    roles = (*(Role(name, prompt, max_tokens=max_tokens) for name in names), last)
    return Task(
        "heavy_agent",
        roles,
        {"heavy": HeavyEpisode(list(types), samples, free=free), **types},
        source,
        metrics=averages("alone"),
    )
