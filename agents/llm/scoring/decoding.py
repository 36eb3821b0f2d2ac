"""Three exact policies over answers, and their log-probabilities.

With p the model's next-token distribution, t a temperature and L the set of legal answers, an answer a = a_1 ... a_n
gets

* ``choice``:       P(a) = softmax over L of (1/t) * sum_j log p(a_j | prompt, a_<j). No illegal answers; one log-prob
  per decision.
* ``constrained``:  P(a) = prod_j softmax over the children of a_<j in the trie of L of (logits / t). The distribution
  of masked sampling.
* ``free``:         P(a) = prod_j softmax over the whole vocabulary of (logits / t). Allows reasoning before the answer;
  the answer may be illegal.

They differ as soon as an answer is longer than one token: ``choice`` compares whole answers, ``constrained`` decides
token by token and cannot see that a branch leads to unlikely ends. The loss uses ``score``, and so does the sampler
(free: ``generation.generate``; a test checks that they agree): the ratio of a new decision is 1.

Letters: Q questions, C answers of a question, K answers in all, T tokens of the longest answer, E edges, U parents,
V vocabulary, H hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ....errors import UnknownName
from .forest import Pack
from .logprobs import Head, edge_logprobs, entropy
from .passes import Router, parent_states

__all__ = ["KINDS", "Scores", "check_kind", "score"]

KINDS = ("choice", "constrained", "free")
NEVER = float("-inf")


@dataclass
class Scores:
    """The scores of every answer of a pack.

    Attributes:
        logprobs: [K, T] one column per token (``choice``: [K, 1], the whole answer), natural log, 0 where there is no
            token.
        mask: [K, T] float, 1 where a log-prob counts.
        by_question: [Q, C] log-probability of the whole answer, -inf where there is no answer.
        entropy: [K] nats. ``choice`` and ``constrained``: of the distribution over its question's answers, the same
            for all of them. ``free``: mean entropy of the next-token distributions along the answer.
        hidden: [Q, H] the model's last hidden state after each question's prompt, in the model's dtype.
    """

    logprobs: torch.Tensor
    mask: torch.Tensor
    by_question: torch.Tensor
    entropy: torch.Tensor
    hidden: torch.Tensor


def check_kind(kind: str) -> str:
    """Return ``kind`` or raise UnknownName."""
    if kind not in KINDS:
        raise UnknownName("decoding", kind, KINDS)
    return kind


def score(
    model: nn.Module,
    pack: Pack,
    kind: str,
    *,
    bank: Router | None = None,
    temperature: float = 1.0,
    base: bool = False,
) -> Scores:
    """Score every answer of a pack; differentiable where gradients are on.

    Args:
        model: a causal language model of transformers.
        pack: packed questions.
        kind: one of ``KINDS``.
        bank: adapters; None scores the base model.
        temperature: > 0.
        base: score all rows with the base model even if there is a bank (the reference policy).

    Raises:
        ModelError: neither packed trees nor plain rows are right for the model (``passes.serving``).
    """
    check_kind(kind)
    hidden, head = parent_states(model, pack, bank=bank, base=base), Head(model)
    parent, token = pack.edge_parent.to(hidden.device), pack.edge_token.to(hidden.device)
    behind = hidden[parent[pack.answer_edges[pack.question_answers[:, 0], 0].to(hidden.device)]]
    if kind == "constrained":  # normalised over the children alone: no other token's logit is needed
        return _constrained(head.at(hidden[parent], token) / temperature, pack, behind)
    if kind == "choice":
        return _choice(edge_logprobs(head, hidden, parent, token)[0], pack, temperature, behind)
    edge, each = edge_logprobs(head, hidden, parent, token, temperature, spread=True)
    return _free(edge, each[parent], pack, behind)


def _paths(edge: torch.Tensor, pack: Pack) -> tuple[torch.Tensor, torch.Tensor]:
    """Edge values [E] gathered along every answer: values [K, T] (0 where there is no token) and mask [K, T]."""
    index = pack.answer_edges.to(edge.device)
    mask = (index >= 0).to(edge.dtype)
    return edge[index.clamp(min=0)] * mask, mask


def _spread(values: torch.Tensor, pack: Pack) -> torch.Tensor:
    """[K] values of answers as [Q, C], -inf where there is no answer."""
    index = pack.question_answers.to(values.device)
    return values[index.clamp(min=0)].masked_fill(index < 0, NEVER)


def _gather_answers(table: torch.Tensor, pack: Pack) -> torch.Tensor:
    """[Q, C] back to [K]; answers are numbered in the order of (question, answer)."""
    return table[pack.question_answers.to(table.device) >= 0]


def _entropy_of_answers(table: torch.Tensor, pack: Pack) -> torch.Tensor:
    """[K] the entropy of each answer's question, from the log-probs [Q, C] of whole answers."""
    return _gather_answers(entropy(table)[:, None].expand_as(table), pack)


def _choice(edge: torch.Tensor, pack: Pack, temperature: float, behind: torch.Tensor) -> Scores:
    values, _ = _paths(edge, pack)
    table = torch.log_softmax(_spread(values.sum(1), pack) / temperature, -1)
    logprobs = _gather_answers(table, pack)[:, None]
    return Scores(logprobs, torch.ones_like(logprobs), table, _entropy_of_answers(table, pack), behind)


def _constrained(edge_logits: torch.Tensor, pack: Pack, behind: torch.Tensor) -> Scores:
    # A trie node is a pair of question and parent: two questions may share a parent token but allow different children.
    index = pack.answer_edges.to(edge_logits.device)
    owner = torch.empty(index.shape[0], dtype=torch.int64, device=index.device)
    present = pack.question_answers.to(index.device) >= 0
    owner[pack.question_answers.to(index.device)[present]] = present.nonzero()[:, 0]
    taken = index >= 0
    edges = edge_logits.shape[0]
    pairs = (owner[:, None] * edges + index)[taken]  # one id per (question, edge)
    distinct, back = torch.unique(pairs, return_inverse=True)
    edge_of, question_of = distinct % edges, distinct // edges
    nodes = question_of * (int(pack.edge_parent.max()) + 1) + pack.edge_parent.to(index.device)[edge_of]
    _, group = torch.unique(nodes, return_inverse=True)
    normal = _segment_log_softmax(edge_logits[edge_of], group)
    values = torch.zeros(index.shape, dtype=edge_logits.dtype, device=index.device)
    values[taken] = normal[back]
    table = _spread(values.sum(1), pack)
    return Scores(values, taken.to(values.dtype), table, _entropy_of_answers(table, pack), behind)


def _segment_log_softmax(values: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
    """log-softmax of [M] values within groups [M] (0..G-1)."""
    count = int(group.max()) + 1
    top = torch.full((count,), NEVER, dtype=values.dtype, device=values.device)
    top = top.scatter_reduce(0, group, values.detach(), "amax")
    shifted = values - top[group]
    total = torch.zeros(count, dtype=values.dtype, device=values.device).index_add(0, group, shifted.exp())
    return shifted - total.log()[group]


def _free(edge: torch.Tensor, each: torch.Tensor, pack: Pack, behind: torch.Tensor) -> Scores:
    values, mask = _paths(edge, pack)
    table = _spread(values.sum(1), pack)
    along, _ = _paths(each, pack)
    return Scores(values, mask, table, along.sum(1) / mask.sum(1).clamp(min=1.0), behind)
