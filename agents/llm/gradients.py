"""What a model on this machine does for a learner: decisions scored again with gradients, and AdamW per player.

``prepare`` packs decisions once, ``forward_backward`` leaves an objective's gradients in the bank, ``optim_step``
follows them: two calls, as services for LoRA training have them (engine.md names them so). All players of the batch
are trained by one backward pass; each one's loss is over its own decisions, so a mixed batch gives each player the
gradient that a batch of its own would. Equal questions are scored once, whoever asked how often.

Letters: D decisions, B decisions of one player in one pack, T tokens of an answer, Q questions of a pack, C answers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ...errors import CollapseError
from ..core import Tokens
from ..deadline import breathe
from .scoring.decoding import Scores, score
from .scoring.forest import Pack, Question, pack_questions
from .scoring.passes import checkpointed

if TYPE_CHECKING:
    from ..bank.optimizer import BankAdamW
    from .policy import LoraPolicy

__all__ = [
    "AdamParams",
    "Objective",
    "Passed",
    "Prepared",
    "Terms",
    "Whole",
    "forward_backward",
    "optim_step",
    "prepare",
    "rescored",
]


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
        whole: sizes of the player's whole batch.
        weights: [B, T] factors on the policy term, without gradient; None: 1. See ``rescored``.
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
    whole: Whole
    reference: Callable[[], torch.Tensor]
    weights: torch.Tensor | None = None


Objective: TypeAlias = Callable[[Terms], tuple[torch.Tensor, dict[str, float]]]
"""Terms -> ([] loss to descend, statistics). Both are shares of a sum: added up over a player's packs, they are the
loss and the statistics of its whole batch, so divide by ``terms.whole``, not by B. ``CollapseError``: not finite."""


class AdamParams(NamedTuple):
    """One player's step.

    Attributes:
        learning_rate: of this step.
        max_grad_norm: the gradient is shortened to it; infinity: not at all.
    """

    learning_rate: float
    max_grad_norm: float = math.inf


class Passed(NamedTuple):
    """What a pass over a batch showed.

    Attributes:
        metrics: player -> the objective's statistics.
        broken: player -> why its loss is of no use.
    """

    metrics: dict[str, dict[str, float]]
    broken: dict[str, CollapseError]


@dataclass
class _Part:
    """One player's decisions within one pack, as in ``Terms``. answer, rows: [B] of the pack's, of the records."""

    player: str
    question: torch.Tensor
    chosen: torch.Tensor
    answer: torch.Tensor
    old: torch.Tensor
    advantages: torch.Tensor
    keep: torch.Tensor
    whole: Whole
    rows: NDArray[np.int64]
    weights: torch.Tensor | None = None
    ref: torch.Tensor | None = None


@dataclass(frozen=True)
class Prepared:
    """Decisions, packed for as many passes as are wanted.

    Attributes:
        players: who made them, sorted.
        packs: the distinct questions, and which decisions each pack holds.
    """

    players: tuple[str, ...]
    packs: list[tuple[Pack, list[_Part]]]


def prepare(
    policy: LoraPolicy,
    records: Sequence[Tokens],
    advantages: NDArray[np.float64],
    keep: NDArray[np.bool_],
    weights: Sequence[Sequence[float]] | None = None,
) -> Prepared:
    """Pack decisions.

    Args:
        policy: who made them.
        records: D decisions of players of its bank.
        advantages: [D].
        keep: [D], see ``Terms``.
        weights: D times a factor for each log-prob; None: 1.
    """
    questions, question, answer = _questions(policy, records)
    lengths = np.array([len(r.logprobs) for r in records], np.int64)
    packed = pack_questions(questions, batch_tokens=policy.batch_tokens)
    longest = 1 if policy.decode == "choice" else max((p.answer_edges.shape[1] for p in packed), default=0)
    old = np.zeros((len(records), longest), np.float32)  # answers that nobody gave may be the longest
    filled = np.arange(longest) < lengths[:, None]
    old[filled] = [x for r in records for x in r.logprobs]
    factors = None
    if weights is not None:
        factors = np.ones((len(records), longest), np.float32)
        factors[filled] = [x for row in weights for x in row]
    names, owner = np.unique(np.array([r.lora for r in records], np.str_), return_inverse=True)
    wholes = [
        Whole(int((owner == p).sum()), int(keep[owner == p].sum()), int(lengths[(owner == p) & keep].sum()))
        for p in range(len(names))
    ]
    device = next(policy.model.parameters()).device
    packs = []
    place = np.full(len(questions), -1)
    for pack in packed:
        place[:] = -1
        place[pack.questions] = np.arange(len(pack.questions))
        here = np.flatnonzero(place[question] >= 0)
        width = pack.answer_edges.shape[1]
        parts = []
        for p in np.unique(owner[here]).tolist():
            mine = here[owner[here] == p]
            at, chosen = torch.from_numpy(place[question[mine]]), torch.from_numpy(answer[mine])
            parts.append(
                _Part(
                    player=str(names[p]),
                    question=at.to(device),
                    chosen=chosen.to(device),
                    answer=pack.question_answers[at, chosen].to(device),
                    old=torch.from_numpy(old[mine, :width]).to(device),
                    advantages=torch.from_numpy(advantages[mine]).float().to(device),
                    keep=torch.from_numpy(keep[mine]).to(device),
                    whole=wholes[p],
                    rows=mine,
                    weights=None if factors is None else torch.from_numpy(factors[mine, :width]).to(device),
                )
            )
        packs.append((pack, parts))
    return Prepared(tuple(names.tolist()), packs)


def _questions(
    policy: LoraPolicy, records: Sequence[Tokens]
) -> tuple[list[Question], NDArray[np.int64], NDArray[np.int64]]:
    """The different questions, and of each decision the number of its question and of its answer there."""
    numbers: dict[Question, int] = {}
    seen: dict[tuple[int, int, str], int] = {}  # equal questions are mostly the same objects, and tuples hash slowly
    said: list[dict[tuple[int, ...], int]] = []  # free decoding: a question's answers are whatever was sampled
    question, answer = np.zeros(len(records), np.int64), np.zeros(len(records), np.int64)
    for d, r in enumerate(records):
        q = seen.get((id(r.prompt), id(r.candidates), r.lora))
        if q is None:
            q = numbers.setdefault(Question(policy.slot(r.lora), r.prompt, r.candidates), len(numbers))
            seen[(id(r.prompt), id(r.candidates), r.lora)] = q
            if q == len(said):
                said.append({})
        question[d] = q
        answer[d] = r.chosen if r.candidates else said[q].setdefault(r.completion, len(said[q]))
    questions = [Question(q.slot, q.prompt, q.answers or tuple(said[n])) for q, n in numbers.items()]
    return questions, question, answer


def rescored(policy: LoraPolicy, records: Sequence[Tokens]) -> list[tuple[float, ...]]:
    """D times the log-probs of a decision as the learner computes them, with the weights that are now in the bank.

    Where the model computes in half precision, a sampler that feeds token by token and a learner that feeds whole
    sequences round differently: their ratio is not 1 before the first step.
    """
    nothing = np.zeros(len(records))
    found: list[tuple[float, ...]] = [()] * len(records)
    with torch.no_grad():
        for pack, parts in prepare(policy, records, nothing, nothing > 0).packs:
            breathe()
            logprobs = _score(policy, pack).logprobs
            for part in parts:
                for d, row in zip(part.rows.tolist(), logprobs[part.answer].tolist(), strict=True):
                    found[d] = tuple(row[: len(records[d].logprobs)])
    return found


def forward_backward(policy: LoraPolicy, data: Prepared, objective: Objective, *, backward: bool = True) -> Passed:
    """Score all decisions and leave the gradients of their objective in the bank; what was there before is forgotten.

    Args:
        policy: the model and its bank.
        data: the decisions.
        objective: is called for each player in each pack; a player for whom it raises ``CollapseError`` is left out of
            the backward pass from there on, and the others don't notice.
        backward: False computes the statistics alone, and leaves the bank's gradients as they are.
    """
    bank = policy.bank
    if backward and bank is not None:
        bank.zero_grad()
    sums: dict[str, defaultdict[str, float]] = {player: defaultdict(float) for player in data.players}
    broken: dict[str, CollapseError] = {}
    with ExitStack() as stack:
        if not backward:
            stack.enter_context(torch.no_grad())
        elif bank is not None and policy.local.gradient_checkpointing:
            stack.enter_context(checkpointed(policy.model, bank.checkpoint_context))
        for pack, parts in data.packs:
            breathe()
            scores = _score(policy, pack)
            losses = []
            for part in parts:
                if part.player in broken:
                    continue
                try:
                    loss, shown = objective(_terms(policy, pack, part, scores))
                except CollapseError as error:
                    broken[part.player] = error
                    continue
                losses.append(loss)
                for name, value in shown.items():
                    sums[part.player][name] += value
            if backward and losses:
                torch.stack(losses).sum().backward()
    return Passed({player: dict(shown) for player, shown in sums.items() if player not in broken}, broken)


def _terms(policy: LoraPolicy, pack: Pack, part: _Part, scores: Scores) -> Terms:
    def reference() -> torch.Tensor:
        if part.ref is None:
            with torch.no_grad():
                part.ref = _score(policy, pack, base=True).logprobs[part.answer]
        return part.ref

    logprobs = scores.logprobs[part.answer]
    return Terms(
        logprobs=logprobs,
        mask=scores.mask[part.answer],
        entropies=scores.entropy[part.answer],
        old=part.old[:, : logprobs.shape[1]],
        advantages=part.advantages,
        keep=part.keep,
        question=part.question,
        chosen=part.chosen,
        distributions=scores.by_question,
        whole=part.whole,
        reference=reference,
        weights=None if part.weights is None else part.weights[:, : logprobs.shape[1]],
    )


def _score(policy: LoraPolicy, pack: Pack, *, base: bool = False) -> Scores:
    return score(policy.model, pack, policy.decode, bank=policy.bank, temperature=policy.temperature, base=base)


def optim_step(optimizer: BankAdamW, steps: Mapping[str, AdamParams]) -> dict[str, float]:
    """Each player named follows its gradient in the bank; then all gradients are forgotten.

    Args:
        optimizer: AdamW over the bank.
        steps: player -> its step.

    Returns:
        Player -> norm of its gradient before it was shortened. Where that isn't finite, the player did not move.
    """
    norms: dict[str, float] = {}
    for player, params in steps.items():
        norms |= optimizer.clip_grad_norm([player], params.max_grad_norm)
    sound = [player for player in steps if math.isfinite(norms[player])]
    optimizer.step(sound, lr={player: steps[player].learning_rate for player in sound})
    optimizer.zero_grad()
    return norms
