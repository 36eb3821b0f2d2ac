"""The inputs and results of an engine's learning calls.

A learner passes a ``Batch`` and an ``Objective``, then the optimizer step of each player: two calls, as in services for
LoRA training. One backward pass may train all players of a batch; each player's loss is over its own decisions, so it
gets the same gradient from a mixed batch as from a batch with only its decisions.

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

__all__ = ["AdamParams", "Batch", "Given", "Objective", "Passed", "Scored", "Terms", "Whole"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Decisions to learn from. An engine may cache what it computes from a batch for further passes over it.

    Attributes:
        records: D decisions of the engine's players.
        advantages: [D].
        keep: [D], see ``Terms``.
        weights: for each of D decisions a factor per log-prob, see ``Terms``; None: 1.
    """

    records: Sequence[Datum]
    advantages: NDArray[np.float64]
    keep: NDArray[np.bool_]
    weights: Sequence[Sequence[float]] | None = None

    @cached_property
    def players(self) -> tuple[str, ...]:
        """Names of the players that made the decisions, sorted."""
        return tuple(sorted({r.lora for r in self.records}))


class Scored(NamedTuple):
    """A decision's score by the current model.

    Attributes:
        logprobs: natural logs, as many as the decision has.
        entropy: nats, see ``llm.scoring.decoding.Scores``.
    """

    logprobs: tuple[float, ...]
    entropy: float


class Whole(NamedTuple):
    """A player's totals over the whole batch, all packs together: the denominators of an objective.

    Attributes:
        rows: decisions. kept: those of them that count in the policy gradient. tokens: log-probs of the kept ones.
        sampled: log-probs of the kept ones that were not explored.
    """

    rows: int
    kept: int
    tokens: int
    sampled: int


@dataclass(kw_only=True)
class Given:
    """What a batch says about one player's decisions in one pack; no gradients.

    Attributes:
        old: [B, T] log-probs when the decisions were made.
        advantages: [B]; 0 where ``keep`` is False.
        keep: [B] bool, True if the decision's group has variance; the others are left out of the policy gradient.
        question: [B] row of ``Terms.distributions``. chosen: [B] column of it.
        whole: totals of the player's whole batch.
        weights: [B, T] factors on the policy term; None: 1.
        taught: [B] column of ``distributions`` that a teacher would have chosen, -1 without a teacher's answer; None:
            there are none at all.
        explored: [B] bool, the answer was not sampled by the policy, see ``Datum``; None: no answer was explored.
    """

    old: torch.Tensor
    advantages: torch.Tensor
    keep: torch.Tensor
    question: torch.Tensor
    chosen: torch.Tensor
    whole: Whole
    weights: torch.Tensor | None = None
    taught: torch.Tensor | None = None
    explored: torch.Tensor | None = None


@dataclass(kw_only=True)
class Terms(Given):
    """The input of an objective: what is given, and what the model makes of it.

    Attributes:
        logprobs: [B, T] of the learning policy, with gradient, nats. T = 1 in choice decoding.
        mask: [B, T] 1 where a log-prob counts.
        entropies: [B] of the policy at each decision, with gradient, nats; see ``Scores.entropy``.
        distributions: [Q, C] with gradient: log-probs of all answers of each question of the pack, -inf where there is
            none. A distribution in choice and constrained decoding; only the sampled answers in free decoding.
        hidden: [Q, H] with gradient: the last hidden state after each question's prompt, for a value head.
        reference: returns [B, T] log-probs of the base model, without gradient; computed by the first call.
        magnet: returns [Q, C] ``distributions`` of the player PLAYER@magnet, without gradient; computed by the first
            call for a batch. UnknownName: there is no such player.
    """

    logprobs: torch.Tensor
    mask: torch.Tensor
    entropies: torch.Tensor
    distributions: torch.Tensor
    hidden: torch.Tensor
    reference: Callable[[], torch.Tensor]
    magnet: Callable[[], torch.Tensor]


Objective: TypeAlias = "Callable[[Terms], tuple[torch.Tensor, dict[str, float]]]"
"""Terms -> ([] loss to minimise, statistics). Both are parts of a sum: added up over a player's packs, they are the
loss and the statistics of its whole batch, so divide by ``terms.whole``, not by B. Raises ``CollapseError`` if the loss
is not finite."""


class AdamParams(NamedTuple):
    """One player's step of AdamW.

    Attributes:
        learning_rate: of this step.
        max_grad_norm: the norm to which the gradient is clipped; infinity: no clipping.
        betas, weight_decay: as in torch; the decay is decoupled.
    """

    learning_rate: float
    max_grad_norm: float = math.inf
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0


class Passed(NamedTuple):
    """The result of a pass over a batch.

    Attributes:
        metrics: player -> the objective's statistics.
        broken: player -> the error that its loss raised.
    """

    metrics: dict[str, dict[str, float]]
    broken: dict[str, CollapseError]
