"""Packs many token sequences into few trees, so that a shared prefix is computed once.

A *question* is a prompt with the answers to score (choice and constrained decoding: every legal answer; free decoding:
the completions that were sampled). All answers of a question form a trie below the prompt; questions also share the
common prefix of their prompts, however short. One packed row holds one forest, numbered depth-first, so that the
descendants of token j are the tokens ``j <= i < ends[j]``: these two ints per token define the attention mask (``*`` =
attends), and positions equal depth::

    question "ab" with answers "c", "de"; question "af" with answer "g"      (last tokens of answers are never fed)

                a b d f
        ends    4 3 3 4
              a *
              b * *
              d * * *
              f *     *            edges: b->c, b->d, d->e, f->g

The probability of every answer is the product over its edges; the decoding (``decoding.py``) decides over which tokens
an edge's probability is normalised. Rollouts and losses use the same packing, without and with gradients.

Letters: R packed rows, L tokens per row, U distinct parents (tokens whose logits are needed), E edges, K answers,
Q questions, T longest answer, S sequences, D longest sequence.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["Ids", "Pack", "Question", "alike", "distinct", "pack_questions"]

Ids = tuple[int, ...]
Ints = NDArray[np.int64]

ROW_TOKENS = 4096
"""The most tokens in a row, unless one answer's path alone is longer: masks grow with the square of a row."""

MASK_BYTES = 1 << 26
"""The most bytes of the dense masks of one batch, at one per pair of tokens, unless one row alone takes more."""

ATTENTION = 512
"""Cost model: attending to this many tokens costs as much as one token in all other products. Measured: 500 to 700 at a
hidden size of 128, and more in larger models (by count of operations it is six times the hidden size)."""

WORTH = 1024
"""A batch of fewer tokens is not closed because of its padding: another forward pass would cost more."""

PADDING = 0.15
"""The most padding in a batch, as a share of its tokens; beyond it, short and long questions go into separate batches.
"""


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


def distinct(same: Sequence[Hashable], question: Callable[[int], Question]) -> tuple[list[Question], Ints]:
    """The distinct questions of some rows, and for each row the number of its question.

    Args:
        same: a key per row; rows with equal keys have equal questions. Keys of ids are fast: equal questions are mostly
            the same objects, and tuples hash slowly.
        question: makes the question of a row.
    """
    numbers: dict[Question, int] = {}
    known: dict[Hashable, int] = {}
    index = np.empty(len(same), np.int64)
    for row, key in enumerate(same):
        if key not in known:
            known[key] = numbers.setdefault(question(row), len(numbers))
        index[row] = known[key]
    return list(numbers), index


@dataclass(frozen=True)
class Pack:
    """The packed trees of one forward pass, with their edges and answers.

    Attributes:
        ids, positions: [R, L] int64.
        ends: [R, L] int64, token i descends from token j of its row where ``j <= i < ends[j]``; 0 marks padding.
        slots: [R] int64, the bank's slot of each row.
        parents: [U] int64 into the flattened [R * L], the tokens whose logits are needed; ascending.
        edge_parent: [E] int64 into ``parents``, ascending. edge_token: [E] int64 token ids.
        answer_edges: [K, T] int64 into edges, padded with -1; the path of each answer.
        question_answers: [Q, C] int64 into answers, padded with -1; in the question's order.
        questions: [Q] int64, indices into the sequence that was packed.
        tokens: the number of tokens fed, without padding.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    ends: torch.Tensor
    slots: torch.Tensor
    parents: torch.Tensor
    edge_parent: torch.Tensor
    edge_token: torch.Tensor
    answer_edges: torch.Tensor
    question_answers: torch.Tensor
    questions: Ints
    tokens: int

    @property
    def mask(self) -> torch.Tensor:
        """[R, 1, L, L] bool, True = attends. Padding attends to itself, since a softmax over nothing is NaN."""
        at = torch.arange(self.ids.shape[1], device=self.ids.device)
        seen = (at[:, None] >= at) & (at[:, None] < self.ends[:, None, :])
        seen |= at[:, None] == at
        return seen[:, None]


class _Part(NamedTuple):
    """The part of a question in one row: nearly always all of it.

    Attributes:
        question: its number. first, last: its answers first to last - 1.
    """

    question: int
    first: int
    last: int


class _Row(NamedTuple):
    """The questions of one tree.

    Attributes:
        slot: the bank's slot. parts: its questions. tokens: an upper bound, since answers may share tokens too.
    """

    slot: int
    parts: list[_Part]
    tokens: int


def pack_questions(
    questions: Sequence[Question], *, row_tokens: int | None = None, batch_tokens: int = 16384
) -> list[Pack]:
    """Pack questions into trees, and trees into batches.

    Args:
        questions: distinct questions (equal ones waste work, but are scored correctly).
        row_tokens: the most tokens in a row. None lets rows grow beyond the longest question where sharing prefixes
            saves more than attention in longer rows costs, and splits the answers of a question that doesn't fit into
            ``ROW_TOKENS`` over several rows.
        batch_tokens: the most tokens R * L in a batch, unless a single question has more.

    Returns:
        Batches that together contain every question once.
    """
    if not questions:
        return []
    bundles = _bundles(questions, row_tokens, min(ROW_TOKENS, batch_tokens))
    bundles.sort(key=lambda rows: (rows[0].slot, max(row.tokens for row in rows)))
    packs: list[Pack] = []
    batch: list[_Row] = []
    fed = widest = 0
    for rows in bundles:
        wider, more = max(widest, *(row.tokens for row in rows)), fed + sum(row.tokens for row in rows)
        padded = wider * (len(batch) + len(rows))
        full = padded > batch_tokens or padded * wider > MASK_BYTES
        if batch and (full or (fed >= WORTH and padded - more > PADDING * more)):
            packs.append(_finish(batch, questions))
            batch, more = [], sum(row.tokens for row in rows)
            wider = max(row.tokens for row in rows)
        batch += rows
        fed, widest = more, wider
    packs.append(_finish(batch, questions))
    return packs


def _bundles(questions: Sequence[Question], row_tokens: int | None, most: int) -> list[list[_Row]]:
    """Lists of rows; the rows of one list belong to the same question, or are a single row, and go into one batch."""
    whole = [len(prompt) - len(answers) + sum(map(len, answers)) for _, prompt, answers in questions]
    bundles: list[list[_Row]] = []
    fitting: dict[int, list[int]] = defaultdict(list)
    for q in sorted(range(len(questions)), key=lambda q: questions[q][:2]):
        if row_tokens is None and whole[q] > most:
            bundles.append(_split(q, questions[q]))
        else:
            fitting[questions[q].slot].append(q)
    for slot, order in fitting.items():
        shared = [0, *(alike(questions[a].prompt, questions[b].prompt) for a, b in pairwise(order))]
        held = [whole[q] for q in order]
        grown = list(accumulate(n - s for n, s in zip(held, shared, strict=True)))
        bounds = _fill(held, grown, row_tokens) if row_tokens else _even(held, grown, most)
        for first, last in bounds:
            parts = [_Part(q, 0, len(questions[q].answers)) for q in order[first:last]]
            bundles.append([_Row(slot, parts, _tokens(held, grown, first, last))])
    return bundles


def _split(q: int, question: Question) -> list[_Row]:
    """Split a question that is too large for one row: rows with some of its answers each."""
    slot, prompt, answers = question
    rows, first, tokens = [], 0, len(prompt)
    for k, answer in enumerate(answers):
        if k > first and tokens + len(answer) - 1 > ROW_TOKENS:
            rows.append(_Row(slot, [_Part(q, first, k)], tokens))
            first, tokens = k, len(prompt)
        tokens += len(answer) - 1
    return [*rows, _Row(slot, [_Part(q, first, len(answers))], tokens)]


def _even(held: Sequence[int], grown: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Rows of the cheapest length, then the shortest that keep this number of rows, since the longest pads all others.

    Args:
        held: tokens of each question.
        grown: for each question, the tokens of a single row from the first question up to it.
        most: the most tokens in a row.

    Returns:
        (first question, last question + 1) of each row.
    """
    best, least, limit = [(0, len(held))], math.inf, max(held)
    while True:
        rows = _fill(held, grown, limit)
        lengths = [_tokens(held, grown, *row) for row in rows]
        cost = sum(length * (ATTENTION + length) for length in lengths)
        if cost < least:
            best, least, high = rows, cost, max(lengths)
        if len(rows) == 1 or limit >= most or cost > least:
            break
        limit = min(limit + limit // 2 + 1, most)
    low = max(held)
    while low < high:
        middle = (low + high) // 2
        rows = _fill(held, grown, middle)
        if len(rows) > len(best):
            low = middle + 1
        else:
            best, high = rows, middle
    return best


def _fill(held: Sequence[int], grown: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """As many questions per row as fit into ``limit`` tokens, and at least one; see ``_even``."""
    rows, first = [], 0
    while first < len(held):
        last = max(first + 1, bisect_right(grown, limit - held[first] + grown[first]))
        rows.append((first, last))
        first = last
    return rows


def _tokens(held: Sequence[int], grown: Sequence[int], first: int, last: int) -> int:
    """An upper bound of the tokens in a row."""
    return held[first] + grown[last - 1] - grown[first]


def alike(a: Ids, b: Ids) -> int:
    """The length of the longest common prefix of two token sequences."""
    length = min(len(a), len(b))
    if a[:length] == b[:length]:
        return length
    return next(k for k in range(length) if a[k] != b[k])


def _finish(rows: Sequence[_Row], questions: Sequence[Question]) -> Pack:
    """Turn rows into tensors."""
    parts = [(r, part) for r, row in enumerate(rows) for part in row.parts]
    answers = [answer for _, part in parts for answer in questions[part.question].answers[part.first : part.last]]
    counts = np.array([part.last - part.first for _, part in parts])
    lengths = np.fromiter(map(len, answers), np.int64, len(answers))
    prompts = np.array([len(questions[part.question].prompt) for _, part in parts])
    starts = np.repeat(prompts, counts)
    sequences = np.zeros((len(answers), int((starts + lengths).max())), np.int32)
    sequences[:, : prompts.max()] = np.repeat(
        _matrix([questions[part.question].prompt for _, part in parts], 0), counts, 0
    )
    owner = np.repeat(np.arange(len(answers)), lengths)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    tokens = np.fromiter(chain.from_iterable(answers), np.int64, len(owner))
    sequences[owner, starts[owner] + within] = tokens
    last = np.zeros(len(answers), np.int64)
    last[owner] = tokens  # the last token of each answer remains: it is an edge, not a node
    row_of = np.repeat(np.array([r for r, _ in parts]), counts)
    fed = starts + lengths - 1
    sequences[np.arange(len(answers)), fed] = 0
    tree = _Tree(sequences, fed, row_of, len(rows))
    flat = tree.place(owner, starts[owner] + within - 1)
    _unify(flat, parts, answers, np.cumsum(lengths) - lengths)
    edges, edge_of = np.unique(flat * (1 << 32) + tokens, return_inverse=True)
    parents, edge_parent = np.unique(edges >> 32, return_inverse=True)
    paths = np.full((len(answers), int(lengths.max())), -1, np.int64)
    paths[owner, within] = edge_of
    asked = list(dict.fromkeys(part.question for _, part in parts))
    mine: dict[int, list[int]] = {q: [] for q in asked}
    for (_, part), begin in zip(parts, (np.cumsum(counts) - counts).tolist(), strict=True):
        mine[part.question] += range(begin, begin + part.last - part.first)
    return Pack(
        ids=torch.from_numpy(tree.ids),
        positions=torch.from_numpy(tree.depth),
        ends=torch.from_numpy(tree.ends),
        slots=torch.from_numpy(np.array([row.slot for row in rows], np.int64)),
        parents=torch.from_numpy(parents),
        edge_parent=torch.from_numpy(edge_parent),
        edge_token=torch.from_numpy(edges & ((1 << 32) - 1)),
        answer_edges=torch.from_numpy(paths),
        question_answers=torch.from_numpy(_matrix(list(mine.values()), -1)),
        questions=np.array(asked, np.int64),
        tokens=tree.tokens,
    )


def _unify(flat: Ints, parts: Sequence[tuple[int, _Part]], answers: Sequence[Ids], begin: Ints) -> None:
    """Give the answers of a question that was split over rows the same parents, in place."""
    split = {part.question for _, part in parts if part.first}
    known: dict[tuple[int, Ids], int] = {}
    owners = (part.question for _, part in parts for _ in range(part.first, part.last)) if split else ()
    for question, answer, at in zip(owners, answers, begin.tolist(), strict=False):
        for j in range(len(answer)) if question in split else ():
            flat[at + j] = known.setdefault((question, answer[:j]), int(flat[at + j]))


class _Tree:
    """[S, D] sequences as depth-first numbered forests, one per row.

    Sorted sequences visit a trie depth-first: each adds the nodes after its common prefix with the one before it, and a
    node ends at the first later sequence whose common prefix is too short to include it.

    Attributes:
        ids, depth, ends: [R, L] int64 as in ``Pack``; depth are the positions. tokens: the number of nodes.
    """

    def __init__(self, sequences: NDArray[np.int32], lengths: Ints, row_of: Ints, rows: int) -> None:
        count, wide = sequences.shape
        key = np.empty((count, wide + 1), ">i4")  # big-endian bytes sort like numbers; 0 marks padding
        key[:, 0] = row_of + 1
        key[:, 1:] = np.where(np.arange(wide) < lengths[:, None], sequences + 1, 0)
        order = key.view(f"S{4 * (wide + 1)}")[:, 0].argsort(kind="stable")
        self._rank = np.empty(count, np.int64)
        self._rank[order] = np.arange(count)
        key, lengths, row_of = key[order], lengths[order], row_of[order]
        differ = key[1:] != key[:-1]
        shared = np.zeros(count, np.int64)
        shared[1:] = np.where(differ.any(1), np.maximum(differ.argmax(1) - 1, 0), wide)
        fresh = np.maximum(lengths - shared, 0)
        begin = np.cumsum(fresh) - fresh
        self.tokens = int(fresh.sum())
        at = np.arange(wide)
        new = (at >= shared[:, None]) & (at < lengths[:, None])
        number = np.where(new, begin[:, None] + at - shared[:, None], -1)
        closing = np.where(at >= shared[:, None], begin[:, None], self.tokens)
        after = np.full((count, wide), self.tokens)
        after[:-1] = np.minimum.accumulate(closing[::-1], 0)[::-1][1:]
        nodes = np.bincount(row_of, fresh, rows).astype(np.int64)
        offset = np.cumsum(nodes) - nodes
        row, width = np.repeat(np.arange(rows), nodes), int(nodes.max())
        self._node = np.maximum.accumulate(number, 0)
        self._place = row * width + np.arange(self.tokens) - offset[row]
        self.ids, self.depth, self.ends = (np.zeros((rows, width), np.int64) for _ in range(3))
        self.ids.flat[self._place] = key[:, 1:][new] - 1
        self.depth.flat[self._place] = np.broadcast_to(at, new.shape)[new]
        self.ends.flat[self._place] = after[new] - offset[row]

    def place(self, sequence: Ints, depth: Ints) -> Ints:
        """The index in the flattened [R * L] of a sequence's node at a depth."""
        return np.asarray(self._place[self._node[self._rank[sequence], depth]], np.int64)


def _matrix(lists: Sequence[Sequence[int]], missing: int) -> Ints:
    """[len, longest] int64, padded."""
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    out = np.full((len(lists), int(lengths.max())), missing, np.int64)
    out[np.arange(out.shape[1]) < lengths[:, None]] = np.fromiter(
        chain.from_iterable(lists), np.int64, int(lengths.sum())
    )
    return out
