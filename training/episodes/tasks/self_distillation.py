"""Generator, verifier, filter: a model makes the data that it learns from.

::

    problem ──> Generator x 8 ──> Verifier: right or wrong ──> what passes is kept in the store "kept"

The generator is paid 1 for an answer that passes; with ``EpisodicRewardCredit`` (advantage = reward) it imitates its
own survivors alone. Where answers are known, a verifier that learns is paid for verdicts that are true.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import UsageError
from ..arena import Arena
from ..data.problems import right
from ..data.sources import draw_from
from ..episode import Episode, SingleTurnEpisode
from ..records import EpisodeRequest, EpisodeState, Rollout
from ..role import Role
from ..store import ArtifactStore
from .single_turn import ANSWER, quoted, solving
from .task import Task, averages, drawn

__all__ = ["DistillEpisode", "self_distillation"]

RIGHT, WRONG = "right", "wrong"


def true_verdict(rollout: Rollout, arena: object) -> dict[str, float]:
    """1 for a verdict that is true, else 0."""
    truth = right(rollout.artifact["problem"], rollout.artifact["text"])
    return {"Verifier": float((rollout.steps[-1].text == RIGHT) == truth)}


class DistillEpisode(Episode):
    """Makes answers, has them verified, keeps what passes; it pays the generators' episodes, its children.

    Args:
        samples: answers to each problem.
        verifier: ``exact`` checks them; ``model`` asks the role Verifier.
    """

    def __init__(self, samples: int, verifier: str) -> None:
        super().__init__()
        self.samples, self.verifier = samples, verifier

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Generate, verify, filter."""
        made = await arena.generate_rollouts([EpisodeRequest("generate", artifact)] * self.samples)
        made = [child for child in made if not child.error]
        texts = [child.rollout.steps[-1].text for child in made]
        if self.verifier == "exact":
            passed = [right(artifact, text) for text in texts]
        else:
            asked = [EpisodeRequest("verify", {"problem": artifact, "text": text}) for text in texts]
            verdicts = await arena.generate_rollouts(asked)
            passed = [not v.error and v.rollout.steps[-1].text == RIGHT for v in verdicts]
        for child, passes in zip(made, passed, strict=True):
            child.rollout.rewards = {"Generator": float(passes)}
        for text in dict.fromkeys(text for text, passes in zip(texts, passed, strict=True) if passes):
            arena.stores["kept"].add({"question": artifact["question"], "answer": text})
        state.data["passed"], state.data["right"] = passed, [right(artifact, text) for text in texts]
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """Shares: of answers that ``passed``, of answers that are ``right``, and of right ones among the passed."""
        passed, is_right = (np.array(state.data[name], bool) for name in ("passed", "right"))
        if not len(passed):
            raise UsageError("No generator finished.")
        purity = float(is_right[passed].mean()) if passed.any() else None
        return {"passed": float(passed.mean()), "right": float(is_right.mean()), "purity": purity}


def self_distillation(
    *,
    problems: str = "sums:9",
    samples: int = 8,
    verifier: str = "model",
    keep: int = 10_000,
    batch: int = 8,
    free: bool = False,
    max_tokens: int = 256,
) -> Task:
    """The role Generator learns from what passes the verifier; the store ``kept`` has the newest survivors.

    Args:
        problems: sums:9, word:3, knights:2, ordering:1 (the number is the level), or a table (docs/tasks/problems.md).
        samples: answers to each problem.
        verifier: ``exact`` (the known answers) or ``model`` (the role Verifier, which learns to judge).
        keep: the most survivors in the store.
        batch: problems of an update.
        free: answers may be any text; otherwise problems with choices are answered by choice.
        max_tokens: the longest free answer.

    Raises:
        UsageError: a verifier that is neither.
    """
    if verifier not in ("exact", "model"):
        raise UsageError(f"The verifier {verifier!r} is neither exact nor model.")
    source = drawn("distill", draw_from(problems), batch)
    verify = SingleTurnEpisode(
        "Verifier",
        lambda a: f"{a['problem']['question']}\n{quoted(a['text'])}\nIs this right or wrong?",
        lambda a: [RIGHT, WRONG],
        true_verdict,
    )
    roles = [Role("Generator", ANSWER if free else "", max_tokens=max_tokens)]
    episodes: dict[str, Episode] = {
        "distill": DistillEpisode(samples, verifier),
        "generate": solving("Generator", free=free, rubric=()),
    }
    if verifier == "model":
        roles, episodes = [*roles, Role("Verifier")], {**episodes, "verify": verify}

    figures = averages("passed", "right", "purity")
    return Task("self_distillation", tuple(roles), episodes, source, {"kept": ArtifactStore("kept", keep)}, figures)
