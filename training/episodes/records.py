"""What happens in episodes, as data: steps, rollouts, and the tree of results.

::

    GenerateResult ── rollout: Rollout ── steps: [Step, Step, ...] ── data: [Datum, ...]
          │
          └─ children: [GenerateResult, ...]       one for each episode that this one started, in order
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...agents.engines.base import Datum
from ...agents.llm.chat import Message, Messages

__all__ = [
    "EpisodeRequest",
    "EpisodeState",
    "GenerateResult",
    "Message",
    "Messages",
    "ModelResponse",
    "Rollout",
    "Step",
    "TrainingRecord",
]


@dataclass(slots=True)
class Step:
    """One answer of a role.

    Attributes:
        role_id: the role; empty: an oracle.
        prompt: the messages that it was shown.
        text: its answer.
        data: the answer in tokens, for the learner.
        reward: paid after this step by the episode; what the rubric pays comes on top, see ``Rollout.rewards``.
        advantage: set by the credit assigner.
        keep: whether the learner takes the step: False if nothing can be learned from it.
        choices: the answers that were allowed; empty: any.
        chosen: index among them; -1: none of them, or any answer was allowed.
        probabilities: of the choices; empty if the engine doesn't tell.
    """

    role_id: str
    prompt: Messages
    text: str = ""
    data: list[Datum] = field(default_factory=list)
    reward: float = 0.0
    advantage: float = 0.0
    keep: bool = False
    choices: list[str] = field(default_factory=list)
    chosen: int = -1
    probabilities: list[float] = field(default_factory=list)


@dataclass(slots=True)
class ModelResponse:
    """A model's answer.

    Attributes:
        text: the answer.
        chosen: index among the choices; -1: none of them, or free text.
        probabilities: of the choices; empty if the engine doesn't tell.
        stop: why a free answer ended: ``"stop"`` or ``"length"``.
        ids: its tokens.
        step: the step of a role's answer; None for an oracle's. Set its ``reward`` to pay for this answer alone.
    """

    text: str
    chosen: int = -1
    probabilities: list[float] = field(default_factory=list)
    stop: str = ""
    ids: tuple[int, ...] = ()
    step: Step | None = None

    @property
    def message(self) -> Message:
        """The answer as the assistant's message, for the next prompt; it keeps the exact tokens."""
        return {"role": "assistant", "content": self.text, "ids": self.ids}


@dataclass(slots=True)
class Rollout:
    """What happened in one episode.

    Attributes:
        artifact: what it was about, as requested. Read only: other episodes may have the same object.
        steps: the answers of roles, in the order in which they were asked.
        oracles: what oracles, such as judges, were asked and said; nobody learns from it.
        extras: whatever the episode tells its rubric, see ``Episode.get_extras``.
        rewards: role -> what it was paid in all: by the rubric, and for its steps.
    """

    artifact: Any = None
    steps: list[Step] = field(default_factory=list)
    oracles: list[Step] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)
    rewards: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class EpisodeState:
    """What an episode works on.

    Attributes:
        rollout: its record; model calls add their steps.
        rng: all randomness of the episode besides its models'; its place in the tree determines it.
        child_results: the results of the episodes it started, for ``get_extras``; all of them, if it sets none itself.
        data: for the episode's own use.
    """

    rollout: Rollout
    rng: np.random.Generator
    child_results: list[GenerateResult] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EpisodeRequest:
    """A request for one episode.

    Attributes:
        episode_type: name of a registered episode.
        artifact: what it is about.
        is_trainable: False: nobody learns from it, nor from the episodes it starts.
        group: requests of one parent (or of one update) with different groups are not compared with each other.
    """

    episode_type: str
    artifact: Any = None
    is_trainable: bool = True
    group: Hashable = None


@dataclass(slots=True)
class GenerateResult:
    """The result of one episode.

    Attributes:
        rollout: what happened.
        children: the results of the episodes that it started, in the order of its requests.
        episode_type, is_trainable, group: of its request.
        path: its place in the tree: index among the roots, index among that root's children, ...
        error: why the episode failed; empty: it did not. A failed episode has no rewards and teaches nothing.
    """

    rollout: Rollout
    children: list[GenerateResult] = field(default_factory=list)
    episode_type: str = ""
    is_trainable: bool = True
    group: Hashable = None
    path: tuple[int, ...] = ()
    error: str = ""

    @property
    def rewards(self) -> dict[str, float]:
        """Role -> what it was paid."""
        return self.rollout.rewards

    def walk(self) -> Iterator[GenerateResult]:
        """This result and all below it, parents before children."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(slots=True)
class TrainingRecord:
    """One datum to learn from.

    Attributes:
        role_id: who answered.
        datum: prompt, answer and log-probs in tokens.
        advantage: of the answer.
        keep: False: the datum counts in entropy terms only.
        path: of the episode in its tree.
    """

    role_id: str
    datum: Datum
    advantage: float
    keep: bool
    path: tuple[int, ...] = ()
