"""Questions to a model and its answers: contexts, asks, answers.

A question to a model is an ``Ask``: a ``Context`` of token ids that only grows, a form (choose one of these, follow
this trie, say anything), a player and a seed. An ``Engine`` (``protocol.py``) answers asks::

    Context --- Ask(form, player, seed, temperature) ---> Engine.sample ---> Answer
       ^                                                                       |
       +----------------- extend(answer.ids, by=player) <----------------------+

**An answer depends on its ask alone**: not on the other asks of the call, their order or their number (log-probs:
up to rounding). Names follow Tinker's API for LoRA training as a service. ``learning.py`` has what an engine learns
from.

Letters: C candidates, T tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError
from ..seeds import Seed

__all__ = ["Answer", "Ask", "Choice", "Context", "Datum", "Form", "Free", "Segment", "Trie"]

Ids: TypeAlias = tuple[int, ...]


class Segment(NamedTuple):
    """A run of tokens by one author.

    Attributes:
        ids: token ids, at least one.
        by: the author: a player's name, ``"game"``, ``"template"``.
        logprobs: of ids that a player chose: one per token, or a single one for a choice; otherwise empty.
    """

    ids: Ids
    by: str
    logprobs: tuple[float, ...] = ()


class Context:
    """Token ids that only grow; all extensions of a context share it as their past.

    Args:
        ids: the first token ids.
        by: their author.

    Raises:
        UsageError: no ids.
    """

    __slots__ = ("_ids", "last", "length", "past")

    def __init__(self, ids: Sequence[int], by: str = "game") -> None:
        self._begin(None, Segment(tuple(ids), by))

    def _begin(self, past: Context | None, last: Segment) -> None:
        if not last.ids:
            raise UsageError(f"{last.by} wrote no tokens; a context grows by at least one.")
        self.past, self.last = past, last
        self.length: int = len(last.ids) + (past.length if past else 0)
        self._ids: Ids | None = None if past else last.ids

    def extend(self, ids: Sequence[int], by: str = "game", logprobs: Sequence[float] = ()) -> Context:
        """A longer context; this one does not change.

        Args:
            ids: the next token ids.
            by: their author.
            logprobs: of the ids, if a player chose them.

        Raises:
            UsageError: no ids.
        """
        longer = Context.__new__(Context)
        longer._begin(self, Segment(tuple(ids), by, tuple(logprobs)))
        return longer

    @property
    def ids(self) -> Ids:
        """All token ids."""
        if self._ids is None:
            self._ids = tuple(token for segment in self.segments() for token in segment.ids)
        return self._ids

    @property
    def id(self) -> str:
        """A hash of the ids: the same in every process, whatever their authors."""
        return hashlib.blake2b(np.array(self.ids, "<i8").tobytes(), digest_size=16).hexdigest()

    def segments(self) -> Iterator[Segment]:
        """All segments, in order."""
        line: list[Segment] = []
        at: Context | None = self
        while at is not None:
            line.append(at.last)
            at = at.past
        return reversed(line)

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"Context({', '.join(f'{s.by}: {len(s.ids)}' for s in self.segments())})"


class Choice(NamedTuple):
    """One of C candidates: P(a) = softmax over them of (1/t) * sum of its tokens' log-probs. A single log-prob.

    Attributes:
        candidates: C different sequences of at least one token id; none is a prefix of another.
    """

    candidates: tuple[Ids, ...]


class Trie(NamedTuple):
    """One of C candidates, sampled token by token within the trie of candidates. One log-prob per token.

    Attributes:
        candidates: as in ``Choice``.
    """

    candidates: tuple[Ids, ...]


class Free(NamedTuple):
    """Any tokens. One log-prob per token.

    Attributes:
        max_tokens: the longest answer.
        stop: tokens that end the answer.
    """

    max_tokens: int
    stop: Ids = ()


Form: TypeAlias = Choice | Trie | Free
KINDS: dict[type, str] = {Choice: "choice", Trie: "constrained", Free: "free"}
"""Form -> the name of its decoding in options and records."""


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """One question to a model.

    Attributes:
        context: the tokens before the answer.
        form: the allowed answers.
        player: the player whose adapter answers; None: the base model alone.
        seed: the source of all random numbers of the answer.
        temperature: > 0; divides the logits (choice: the candidates' log-probs).
        greedy: take the likeliest answer (free: the likeliest token each time) instead of sampling.
    """

    context: Context
    form: Form
    player: str | None
    seed: Seed
    temperature: float = 1.0
    greedy: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A model's answer to an ask.

    Attributes:
        ids: token ids.
        logprobs: natural logs under the distribution that was sampled, at the ask's temperature.
        chosen: index among the candidates; -1 in free form.
        stop: why a free answer ended: ``"stop"`` or ``"length"``; else ``""``.
        version: how often the player's weights had been updated.
        model: id of the base model.
        text: the answer as text, from engines that return text; else ``""``.
        distribution: [C] log-probs of all candidates; None if the engine doesn't know them.
    """

    ids: Ids
    logprobs: tuple[float, ...]
    chosen: int = -1
    stop: str = ""
    version: int = 0
    model: str = ""
    text: str = ""
    distribution: NDArray[np.float64] | None = None


@dataclass(slots=True)
class Datum:
    """An ask and its exact answer, as saved with games and used by learners.

    Attributes:
        prompt: token ids the model was shown.
        completion: token ids that were chosen.
        logprobs: natural-log probabilities of the sampling policy, at its temperature. One number per token for
            ``free`` and ``constrained``; a single number for ``choice``, normalised over the candidates.
        kind: ``"choice"``, ``"constrained"`` or ``"free"``.
        candidates: token ids of every answer that was allowed (choice and constrained); else ``()``.
        chosen: index into ``candidates``, or -1 (free).
        temperature: divides the logits (choice: the candidates' log-probabilities).
        lora: the bank's player that answered; ``""`` for the base model alone.
        version: how often that player's weights had been updated.
        model: id of the base model.
        stop: why a free answer ended: ``"stop"`` or ``"length"``; ``""`` otherwise.
        explored: whether the answer was sampled uniformly from the candidates, to explore; ``logprobs`` are still the
            policy's.
        taught: index among the candidates of the teacher's answer; -1: no teacher was asked.
    """

    prompt: Ids
    completion: Ids
    logprobs: tuple[float, ...]
    kind: str
    candidates: tuple[Ids, ...] = ()
    chosen: int = -1
    temperature: float = 1.0
    lora: str = ""
    version: int = 0
    model: str = ""
    stop: str = ""
    explored: bool = False
    taught: int = -1

    @classmethod
    def of(cls, ask: Ask, answer: Answer, explored: bool = False) -> Datum:
        """The datum of an ask and its answer."""
        return cls(
            prompt=ask.context.ids,
            completion=answer.ids,
            logprobs=answer.logprobs,
            kind=KINDS[type(ask.form)],
            candidates=() if isinstance(ask.form, Free) else ask.form.candidates,
            chosen=answer.chosen,
            temperature=ask.temperature,
            lora=ask.player or "",
            version=answer.version,
            model=answer.model,
            stop=answer.stop,
            explored=explored,
        )
