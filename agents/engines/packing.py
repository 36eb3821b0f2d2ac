"""Packs the decisions of a batch for the model: equal questions to the same adapter are scored once.

Letters as in ``learning.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ..llm.scoring.forest import Ids, Pack, Question, distinct, pack_questions
from .base import Datum
from .learning import Batch, Given, Whole

__all__ = ["Packed", "Part", "pack"]


@dataclass(kw_only=True)
class Part(Given):
    """One player's decisions within one pack.

    answer [B] are indices of the pack's answers, rows [B] indices of the batch's decisions, ref [B, T] the log-probs of
    the base model and magnet [Q, C] those of the magnets, once computed.
    """

    player: str
    answer: torch.Tensor
    rows: NDArray[np.int64]
    ref: torch.Tensor | None = None
    magnet: torch.Tensor | None = None


class Packed(NamedTuple):
    """Distinct questions of one form, and the decisions about them.

    Attributes:
        pack: the questions.
        kind, temperature: of the decisions.
        parts: the decisions, one part per player.
    """

    pack: Pack
    kind: str
    temperature: float
    parts: list[Part]


def pack(batch: Batch, slot: Callable[[str], int], batch_tokens: int, device: torch.device) -> list[Packed]:
    """Pack decisions; the result serves any number of passes.

    Args:
        batch: the decisions.
        slot: maps a player's name to its slot.
        batch_tokens: the most tokens in one pack.
        device: the device of the model.
    """
    names, owner = np.unique(np.array([r.lora for r in batch.records], np.str_), return_inverse=True)
    old = _matrix([r.logprobs for r in batch.records])
    factors = None if batch.weights is None else _matrix(batch.weights)
    taught = np.array([r.taught for r in batch.records], np.int64)
    explored = np.array([r.explored for r in batch.records], np.bool_)
    lengths = np.array([len(r.logprobs) for r in batch.records], np.int64)
    wholes = [
        Whole(int(mine.sum()), int(kept.sum()), int(lengths[kept].sum()), int(lengths[kept & ~explored].sum()))
        for mine, kept in ((owner == p, (owner == p) & batch.keep) for p in range(len(names)))
    ]
    forms: dict[tuple[str, float], list[int]] = {}
    for d, r in enumerate(batch.records):
        forms.setdefault((r.kind, r.temperature), []).append(d)
    packed = []
    for (kind, temperature), members in forms.items():
        rows = np.array(members)
        questions, question, answer = _questions([batch.records[d] for d in members], slot)
        place = np.full(len(questions), -1)
        for found in pack_questions(questions, batch_tokens=batch_tokens):
            place[:] = -1
            place[found.questions] = np.arange(len(found.questions))
            here = np.flatnonzero(place[question] >= 0)
            width = 1 if kind == "choice" else found.answer_edges.shape[1]
            parts = []
            for p in np.unique(owner[rows[here]]).tolist():
                mine = here[owner[rows[here]] == p]
                d = rows[mine]
                at, chosen = torch.from_numpy(place[question[mine]]), torch.from_numpy(answer[mine])
                parts.append(
                    Part(
                        player=str(names[p]),
                        question=at.to(device),
                        chosen=chosen.to(device),
                        answer=found.question_answers[at, chosen].to(device),
                        old=_columns(old[d], width).to(device),
                        advantages=torch.from_numpy(batch.advantages[d]).float().to(device),
                        keep=torch.from_numpy(batch.keep[d]).to(device),
                        whole=wholes[p],
                        rows=d,
                        weights=None if factors is None else _columns(factors[d], width).to(device),
                        taught=torch.from_numpy(taught[d]).to(device) if (taught[d] >= 0).any() else None,
                        explored=torch.from_numpy(explored[d]).to(device) if explored[d].any() else None,
                    )
                )
            packed.append(Packed(found, kind, temperature, parts))
    return packed


def _matrix(rows: Sequence[Sequence[float]]) -> NDArray[np.float32]:
    """[D, longest] float32, padded with 0."""
    lengths = np.array([len(row) for row in rows], np.int64)
    out = np.zeros((len(rows), int(lengths.max(initial=0))), np.float32)
    out[np.arange(out.shape[1]) < lengths[:, None]] = [x for row in rows for x in row]
    return out


def _columns(matrix: NDArray[np.float32], width: int) -> torch.Tensor:
    """The first ``width`` columns, padded with 0: the longest answer of a pack may be one that was not chosen."""
    return torch.from_numpy(np.pad(matrix[:, :width], ((0, 0), (0, max(0, width - matrix.shape[1])))))


def _questions(
    records: Sequence[Datum], slot: Callable[[str], int]
) -> tuple[list[Question], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct questions, and for each decision the numbers of its question and of its answer in that question."""
    asked, question = distinct(
        [(id(r.prompt), id(r.candidates), r.lora) for r in records],
        lambda d: Question(slot(records[d].lora), records[d].prompt, records[d].candidates),
    )
    said: list[dict[Ids, int]] = [{} for _ in asked]  # free decoding: a question's answers are those that were sampled
    answer = np.zeros(len(records), np.int64)
    for d, (r, q) in enumerate(zip(records, question.tolist(), strict=True)):
        answer[d] = r.chosen if r.candidates else said[q].setdefault(r.completion, len(said[q]))
    return (
        [Question(q.slot, q.prompt, q.answers or tuple(own)) for q, own in zip(asked, said, strict=True)],
        question,
        answer,
    )
