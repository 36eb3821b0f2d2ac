"""A language model as judge within episodes: an oracle, whose answers are never learned from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ...agents.llm.judge import Case, Jury, Verdict
from ...errors import EngineError
from .arena import Arena
from .records import ModelResponse

__all__ = ["judged"]


async def judged(
    arena: Arena, case: Case, jury: Jury | None = None, *, model: str = "", max_tokens: int = 128
) -> Verdict:
    """The verdict on a debate.

    A vote for which the model's server failed is invalid. One that never comes ends the episode by the arena's timeout:
    the episode failed and is counted; the run goes on.

    Args:
        arena: asks the base model, without any adapter.
        case: the debate.
        jury: how the model is asked.
        model: which of the arena's models.
        max_tokens: the longest free answer.
    """
    jury = jury or Jury()
    votes = jury.questions(case)
    said = await asyncio.gather(
        *(
            arena.call_model(
                vote.messages, choices=None if vote.free else vote.labels, max_tokens=max_tokens, model=model
            )
            for vote in votes
        ),
        return_exceptions=True,
    )
    answers: list[tuple[str, Sequence[float]]] = []
    for answer in said:
        if isinstance(answer, ModelResponse):
            answers.append((answer.text, answer.probabilities))
        elif isinstance(answer, EngineError):
            answers.append(("", ()))
        else:
            raise answer
    return jury.decide(votes, answers)
