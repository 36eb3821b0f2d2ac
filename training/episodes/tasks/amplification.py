"""Iterated amplification with a person in the loop.

::

    question ──> parts, each answered by the Assistant ──> the Assistant's answer, with these notes
                                                                     │
      person (an episode of its own): how good is it, 1 to 5? <──────┘
                                                                     │
      Assistant x 4, without notes <── paid for the same answer, as far as the person approved of it

So the assistant with time and a person (amplified) teaches the assistant without (distilled); next time, the parts are
answered better.

Source: Christiano, Shlegeris and Amodei 2018, Supervising strong learners by amplifying weak experts.
"""

from __future__ import annotations

import dataclasses
import re
from functools import partial
from typing import Any

import numpy as np

from ....errors import UsageError
from ..arena import Arena
from ..data.arithmetic import additions
from ..data.problems import Problem, read_answer
from ..episode import Episode
from ..records import EpisodeRequest, EpisodeState, Rollout
from ..role import Role
from .person import HumanEpisode, Person, at_the_terminal
from .single_turn import ANSWER, allowed, quoted, solving
from .task import Task, averages, drawn

__all__ = ["AmplifyEpisode", "amplification", "amplified_by"]

DEFAULTS = {"budget": {"eval_every": 0}}  # an evaluation would ask the person once more

SPLIT = "Write up to three smaller questions whose answers help with this one, one a line:\n"


class AmplifyEpisode(Episode):
    """The amplified assistant; parts, person and distilled answers are its children.

    Args:
        samples: answers without notes.
        free: the assistant splits questions and answers in its own words.
    """

    def __init__(self, samples: int, *, free: bool = False) -> None:
        super().__init__(self.reward)
        self.samples, self.free = samples, free

    def reward(self, rollout: Rollout, arena: object) -> dict[str, float]:
        """The person's rating of the amplified answer."""
        return {"Assistant": rollout.extras["rating"]}

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Amplify, have it rated, distil."""
        notes = []
        for part in await self.parts(artifact, arena):
            child = await arena.run_episode("answer", part, is_trainable=False)
            if not child.error:
                notes.append(f"{part['question']} {quoted(read_answer(child.rollout.steps[-1].text))}")
        options = None if self.free else allowed(artifact)
        work = "\n".join([*notes, artifact["question"]])
        answer = read_answer((await self.call_model("Assistant", work, arena, choices=options)).text)
        rated = await arena.run_episode("human", f"{work} {quoted(answer)}", is_trainable=False)
        if rated.error:
            raise UsageError(f"There is no rating: {rated.error}")
        rating = state.rollout.extras["rating"] = rated.rollout.extras["rating"]
        for child in await arena.generate_rollouts([EpisodeRequest("answer", artifact)] * self.samples):
            if not child.error:
                same = read_answer(child.rollout.steps[-1].text) == answer
                child.rollout.rewards = {"Assistant": rating * same}
        return state

    async def parts(self, problem: Problem, arena: Arena) -> list[Problem]:
        """Smaller questions: the assistant's own, or the sum of the first two numbers."""
        if self.free:
            response = await self.call_model("Assistant", SPLIT + problem["question"], arena)
            asked = [line for line in response.text.splitlines() if line.strip()][:3]
            return [{"question": line, "answer": "", "choices": [], "level": 0} for line in asked]
        a, b, _ = re.findall(r"\d+", problem["question"])
        return [{**problem, "question": f"{a} + {b} =", "answer": str(int(a) + int(b))}]


def amplification(
    *,
    level: int = 4,
    samples: int = 4,
    batch: int = 4,
    free: bool = False,
    max_tokens: int = 256,
) -> Task:
    """The role Assistant learns from itself with notes and the person at the terminal.

    Args:
        level: sums of three numbers from 0 to this.
        samples: answers without notes to each question.
        batch: questions of an update; each needs one rating.
        free: the assistant splits the question and answers in its own words; otherwise by choice.
        max_tokens: the longest free answer.

    Raises:
        UsageError: no such level.
    """
    additions(level, np.random.default_rng(0))  # an error now, not in an episode
    source = drawn("amplify", partial(additions, level), batch)

    episodes = {
        "amplify": AmplifyEpisode(samples, free=free),
        "answer": solving("Assistant", free=free, rubric=()),
        "human": HumanEpisode(at_the_terminal),
    }
    role = Role("Assistant", ANSWER if free else "", max_tokens=max_tokens)
    return Task("amplification", (role,), episodes, source, metrics=averages("rating"))


def amplified_by(person: Person, **options: Any) -> Task:
    """``amplification`` with another person than the one at the terminal, such as a function in a test."""
    task = amplification(**options)
    return dataclasses.replace(task, episodes={**task.episodes, "human": HumanEpisode(person)})
