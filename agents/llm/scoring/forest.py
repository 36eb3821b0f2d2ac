"""Many token sequences as few packed trees, so that a shared prefix is computed once.

A *question* is a prompt with the answers that are to be scored (choice and constrained decoding: every legal answer;
free decoding: the completions that were sampled). All answers of a question form a trie below the prompt; questions
whose prompts begin alike share those tokens too. One packed row holds one tree: parents before children, rotary
positions equal to depth, and an attention mask that lets each token see its ancestors only (ASCII: ``*`` = attends)::

    question "ab" with answers "c", "de"; question "af" with answer "g"      (last tokens of answers are never fed)

          a b d f
        a *
        b * *
        d * * *
        f *     *            edges: b->c, b->d, d->e, f->g

The probability of every answer is the product over its edges; what an edge's probability is normalised over is the
decoder's business (``decoding.py``). Rollouts and losses use the same packing, with and without gradients.

Letters: R packed rows, L tokens a row, U distinct parents (tokens whose logits are needed), E edges, K answers,
Q questions, T longest answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["Pack", "Question", "pack_questions"]

Ids = tuple[int, ...]

WORTH = 1024
"""A batch of fewer tokens is not closed because of its padding: another forward pass would cost more."""

PADDING = 0.2
"""Padding that a batch may hold, over the tokens in it: short and long questions are fed apart."""


class Question(NamedTuple):
    """A prompt and the answers to score.

    Attributes:
        slot: the bank's slot that answers (-1: the base model alone).
        prompt: token ids, at least one.
        answers: token ids of each answer, at least one answer of at least one token, all different.
    """

    slot: int
    prompt: Ids
    answers: tuple[Ids, ...]


@dataclass(frozen=True)
class Pack:
    """Packed trees of one forward pass, and where their edges and answers lie.

    Attributes:
        ids, positions: [R, L] int64.
        mask: [R, 1, L, L] bool, True = attends.
        slots: [R] int64, the bank's slot of each row.
        parents: [U] int64 into the flattened [R * L], the tokens whose logits are needed.
        edge_parent: [E] int64 into ``parents``. edge_token: [E] int64 token ids.
        answer_edges: [K, T] int64 into edges, -1 padded; the path of each answer.
        question_answers: [Q, C] int64 into answers, -1 padded; in the question's order.
        questions: [Q] int64, indices into the sequence that was packed.
        tokens: how many tokens are fed, padding left out.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    mask: torch.Tensor
    slots: torch.Tensor
    parents: torch.Tensor
    edge_parent: torch.Tensor
    edge_token: torch.Tensor
    answer_edges: torch.Tensor
    question_answers: torch.Tensor
    questions: NDArray[np.int64]
    tokens: int


class _Row:
    """One tree under construction; nodes are numbered in the order they are added."""

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.ids: list[int] = []
        self.parent: list[int] = []
        self.depth: list[int] = []
        self.children: dict[tuple[int, int], int] = {}
        self.questions: list[int] = []

    def walk(self, tokens: Sequence[int], at: int) -> tuple[int, int]:
        """Follow existing nodes from ``at``; returns (last node, how many tokens were found)."""
        for done, token in enumerate(tokens):
            following = self.children.get((at, token), -1)
            if following < 0:
                return at, done
            at = following
        return at, len(tokens)

    def add(self, tokens: Sequence[int], at: int = -1) -> int:
        """Add a path below node ``at`` (-1: the root), reusing what is there; returns its last node."""
        at, done = self.walk(tokens, at)
        for token in tokens[done:]:
            node = len(self.ids)
            self.ids.append(token)
            self.parent.append(at)
            self.depth.append(0 if at < 0 else self.depth[at] + 1)
            self.children[(at, token)] = node
            at = node
        return at

    def cost(self, question: Question) -> int:
        """An upper bound on the nodes that adding a question would take."""
        _, shared = self.walk(question.prompt, -1)
        return len(question.prompt) - shared + sum(len(a) - 1 for a in question.answers)


def pack_questions(
    questions: Sequence[Question], *, row_tokens: int | None = None, batch_tokens: int = 16384
) -> list[Pack]:
    """Pack questions into trees, and trees into batches.

    Args:
        questions: distinct questions (equal ones waste work, but are scored right).
        row_tokens: a row is closed before it would hold more tokens; None picks a length from the prompts. A question
            is never split, so a longer one gets a row of its own.
        batch_tokens: R * L of one batch stays below this where a single row allows it.

    Returns:
        Batches that together hold every question once.
    """
    if not questions:
        return []
    if row_tokens is None:
        longest = max(len(q.prompt) for q in questions)
        row_tokens = min(max(4 * longest, 64), 512)
    order = sorted(range(len(questions)), key=lambda q: (questions[q].slot, questions[q].prompt))
    rows: list[_Row] = []
    for q in order:
        question = questions[q]
        row = rows[-1] if rows else None
        if row is None or row.slot != question.slot or len(row.ids) + row.cost(question) > row_tokens:
            row = _Row(question.slot)
            rows.append(row)
        row.questions.append(q)
        end = row.add(question.prompt)
        for answer in question.answers:
            row.add(answer[:-1], end)
    rows.sort(key=lambda r: (r.slot, len(r.ids)))
    packs: list[Pack] = []
    batch: list[_Row] = []
    fed = widest = 0
    for row in rows:
        wider, more = max(widest, len(row.ids)), fed + len(row.ids)  # the last of another player may be shorter
        padded = wider * (len(batch) + 1)
        if batch and (padded > batch_tokens or (fed >= WORTH and padded - more > PADDING * more)):
            packs.append(_finish(batch, questions))
            batch, more, wider = [], len(row.ids), len(row.ids)
        batch.append(row)
        fed, widest = more, wider
    packs.append(_finish(batch, questions))
    return packs


def _finish(rows: Sequence[_Row], questions: Sequence[Question]) -> Pack:
    """Turn rows into tensors."""
    width = max(len(row.ids) for row in rows)
    ids = np.zeros((len(rows), width), np.int64)
    positions = np.zeros((len(rows), width), np.int64)
    mask = np.zeros((len(rows), width, width), np.bool_)
    mask[:, np.arange(width), np.arange(width)] = True  # padding sees itself: a softmax over nothing is NaN
    parents: dict[int, int] = {}
    edges: dict[tuple[int, int], int] = {}
    paths: list[list[int]] = []
    answers_of: list[list[int]] = []
    asked: list[int] = []
    for r, row in enumerate(rows):
        ids[r, : len(row.ids)] = row.ids
        positions[r, : len(row.ids)] = row.depth
        for node, parent in enumerate(row.parent):
            if parent >= 0:
                mask[r, node] |= mask[r, parent]
        for q in row.questions:
            end, _ = row.walk(questions[q].prompt, -1)
            asked.append(q)
            mine: list[int] = []
            for answer in questions[q].answers:
                at, path = end, []
                for token in answer:
                    parent = parents.setdefault(r * width + at, len(parents))
                    path.append(edges.setdefault((parent, token), len(edges)))
                    at = row.children.get((at, token), -1)
                mine.append(len(paths))
                paths.append(path)
            answers_of.append(mine)
    edge_array = np.array(list(edges), np.int64)
    return Pack(
        ids=torch.from_numpy(ids),
        positions=torch.from_numpy(positions),
        mask=torch.from_numpy(mask[:, None]),
        slots=torch.tensor([row.slot for row in rows]),
        parents=torch.tensor(list(parents)),
        edge_parent=torch.from_numpy(edge_array[:, 0].copy()),
        edge_token=torch.from_numpy(edge_array[:, 1].copy()),
        answer_edges=_padded(paths),
        question_answers=_padded(answers_of),
        questions=np.array(asked, np.int64),
        tokens=sum(len(row.ids) for row in rows),
    )


def _padded(lists: Sequence[Sequence[int]]) -> torch.Tensor:
    """[len, longest] int64, -1 padded."""
    out = np.full((len(lists), max(len(x) for x in lists)), -1, np.int64)
    for k, values in enumerate(lists):
        out[k, : len(values)] = values
    return torch.from_numpy(out)
