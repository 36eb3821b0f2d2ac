"""What an engine learns from, and what it tells a learner.

A learner hands over a ``Batch`` and an ``Objective``, then says who takes which step: two calls, as services for LoRA
training have them. All players of a batch may be trained by one backward pass; each one's loss is over its own
decisions, so a mixed batch gives each player the gradient that a batch of its own would.

Letters: D decisions, B decisions of one player in one pack, T tokens of an answer, Q questions of a pack, C answers,
H hidden size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import CollapseError
from .base import Datum

if TYPE_CHECKING:
    import torch

__all__ = ["AdamParams", "Batch", "Objective", "Passed", "Scored", "Terms", "Whole"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Decisions to learn from. An engine may keep what it works out of them for as many passes as are wanted.

    Attributes:
        records: D decisions of the engine's players.
        advantages: [D].
        keep: [D], see ``Terms``.
        weights: D times a factor for each log-prob, see ``Terms``; None: 1.
    """

    records: Sequence[Datum]
    advantages: NDArray[np.float64]
    keep: NDArray[np.bool_]
    weights: Sequence[Sequence[float]] | None = None

    @cached_property
    def players(self) -> tuple[str, ...]:
        """Who made the decisions, sorted."""
        return tuple(sorted({r.lora for r in self.records}))


class Scored(NamedTuple):
    """What the model makes of a decision.

    Attributes:
        logprobs: natural logs, as many as the decision has.
        entropy: nats, see ``llm.scoring.decoding.Scores``.
    """

    logprobs: tuple[float, ...]
    entropy: float


class Whole(NamedTuple):
    """How much a player has in the whole batch, over all packs: what an objective divides by.

    Attributes:
        rows: decisions. kept: of them, those that count in the policy gradient. tokens: of the kept ones.
    """

    rows: int
    kept: int
    tokens: int


@dataclass(frozen=True)
class Terms:
    """What an objective sees: those decisions of one player that lie in one pack.

    Attributes:
        logprobs: [B, T] of the policy that learns, with gradient, nats. T = 1 in choice decoding.
        mask: [B, T] 1 where a log-prob counts.
        entropies: [B] of the policy at each decision, with gradient, nats; see ``Scores.entropy``.
        old: [B, T] log-probs when the decisions were made.
        advantages: [B]; 0 where ``keep`` is False.
        keep: [B] bool, whose group has variance; the others have no part in the policy gradient.
        question: [B] row of ``distributions``. chosen: [B] column of it.
        distributions: [Q, C] with gradient: log-probs of all answers of each question of the pack, -inf where there is
            none. A distribution in choice and constrained decoding; in free decoding just what was said.
        hidden: [Q, H] with gradient: the last hidden state behind each question's prompt, for a value head to read.
        whole: sizes of the player's whole batch.
        weights: [B, T] factors on the policy term, without gradient; None: 1.
        taught: [B] column of ``distributions`` that a teacher would have chosen, -1 where nobody said; None: nowhere.
        reference: gives [B, T] log-probs of the base model, without gradient; computed when first asked for.
    """

    logprobs: torch.Tensor
    mask: torch.Tensor
    entropies: torch.Tensor
    old: torch.Tensor
    advantages: torch.Tensor
    keep: torch.Tensor
    question: torch.Tensor
    chosen: torch.Tensor
    distributions: torch.Tensor
    hidden: torch.Tensor
    whole: Whole
    reference: Callable[[], torch.Tensor]
    weights: torch.Tensor | None = None
    taught: torch.Tensor | None = None


Objective: TypeAlias = "Callable[[Terms], tuple[torch.Tensor, dict[str, float]]]"
"""Terms -> ([] loss to descend, statistics). Both are shares of a sum: added up over a player's packs, they are the
loss and the statistics of its whole batch, so divide by ``terms.whole``, not by B. ``CollapseError``: not finite."""


class AdamParams(NamedTuple):
    """One player's step of AdamW.

    Attributes:
        learning_rate: of this step.
        max_grad_norm: the gradient is shortened to it; infinity: not at all.
        betas, weight_decay: as in torch; the decay is decoupled.
    """

    learning_rate: float
    max_grad_norm: float = math.inf
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0


class Passed(NamedTuple):
    """What a pass over a batch showed.

    Attributes:
        metrics: player -> the objective's statistics.
        broken: player -> why its loss is of no use.
    """

    metrics: dict[str, dict[str, float]]
    broken: dict[str, CollapseError]
