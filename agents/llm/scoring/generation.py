"""Sampling token by token from many players at once, with their exact log-probabilities.

One call takes B prompts and the player of each. What is the same is computed once, whatever its length: prompts go
through packed trees (``forest.py``), and every answer begins with a copy of the keys and values along its own path::

    rows          ann: "ab c"  "ab c"  "ab d"     bob: "xy"
    trees         ann: "ab " -> "c", "d"          bob: "xy"      every shared token once
    sampling           row  row  row                   row       one row an answer, padded on the left

Models that trees can't serve get their prompts padded on the left, each distinct one once; those that caches
can't serve either (a check at the first call says so) are fed every sequence whole for every token.

Rows are sorted by player, so that the LoRA bank sees segments. Every row draws from numbers of its own, hence an
answer doesn't depend on the order of the rows (beyond rounding). Only the logits behind a row's last token are ever
computed, by the same float32 head as the loss's (``logprobs.Head``).

What remains between sampler and loss in bfloat16 is the rounding of hidden states, which depends on the shapes of the
products: 0.008 nats a token on a small random model. The learner takes its own log-probabilities as the old ones and
weighs tokens by the truncated ratio (``LocalEngine.score``).

The file is longer than most: a batch of answers and its caches are one piece of bookkeeping.

Letters: B answers, P tokens of the longest prompt, T tokens, H hidden size, V vocabulary.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from ....errors import UsageError
from ...deadline import breathe
from ...seeds import Seed, uniforms
from .forest import Pack, Question, pack_questions
from .logprobs import Head
from .passes import TOLERANCE, Router, parent_states, serving, tree_states

__all__ = ["Generated", "generate"]

Ids = Sequence[int]


@dataclass
class Generated:
    """B answers.

    Attributes:
        tokens: the sampled ids of each answer, a stop token included.
        logprobs: natural log-probability of each of them under the policy that was sampled, at its temperature.
        stop: ``"stop"`` where a stop token ended the answer, else ``"length"``.
        fed: how many tokens went through the model, padding left out: what prompt sharing saves shows here.
    """

    tokens: list[list[int]]
    logprobs: list[list[float]]
    stop: list[str]
    fed: int


@torch.no_grad()
def generate(
    model: Any,
    bank: Router | None,
    prompts: Sequence[Ids],
    index: Sequence[int] | torch.Tensor,
    max_new_tokens: int,
    stop_ids: Collection[int] = (),
    temperature: float = 1.0,
    seeds: Sequence[Seed] = (),
    *,
    greedy: bool = False,
    share: bool = True,
) -> Generated:
    """Sample one answer to every prompt.

    Args:
        model: a causal language model of transformers, in evaluation mode.
        bank: adapters; None asks the base model.
        prompts: B sequences of at least one token id.
        index: [B] the bank's slot of each row; -1 is the base model.
        max_new_tokens: an answer ends there at the latest.
        stop_ids: tokens that end an answer.
        temperature: > 0; divides the logits, and the log-probabilities are of that distribution.
        seeds: B, one a row, that its draws follow from; without any, rows are numbered.
        greedy: take the most likely token instead of drawing one; log-probabilities stay those of the distribution.
        share: compute equal prompts and shared prefixes once. Off, every prompt is padded and computed in full, and no
            check is made (for measurements).

    Raises:
        UsageError: an empty prompt, a temperature that isn't above 0, numbers of rows that differ.
    """
    slots = [int(s) for s in index]
    if len(slots) != len(prompts):
        raise UsageError(f"{len(prompts)} prompts came with the players of {len(slots)}: give one index a prompt.")
    if not temperature > 0:
        raise UsageError(f"A temperature of {temperature} can't divide logits: use one above 0, or greedy=True.")
    if not all(len(p) for p in prompts):
        raise UsageError("An empty prompt can't be continued: begin it with the tokenizer's first token.")
    if not prompts or max_new_tokens < 1:
        return Generated([[] for _ in prompts], [[] for _ in prompts], ["length"] * len(prompts), 0)
    seeds = seeds or [Seed(0, b) for b in range(len(prompts))]
    if len(seeds) != len(prompts):
        raise UsageError(f"{len(prompts)} prompts came with {len(seeds)} seeds: give one a prompt.")
    order = sorted(range(len(prompts)), key=lambda b: (slots[b], tuple(prompts[b]) if share else ()))
    out = Generated([[] for _ in prompts], [[] for _ in prompts], ["length"] * len(prompts), 0)
    kind = _Batch if not share or _caches(model) else _Whole
    head = Head(model)
    with kind(model, bank, [list(prompts[b]) for b in order], [slots[b] for b in order]) as batch:
        logits = head.logits(batch.prefill(share))
        draws = None if greedy else _draws([seeds[b] for b in order], max_new_tokens, logits.device)
        _sample(batch, head, logits, out, order, frozenset(stop_ids), temperature, max_new_tokens, draws)
        out.fed = batch.fed
    return out


def _draws(seeds: Sequence[Seed], count: int, device: torch.device) -> torch.Tensor:
    """[B, count] in [0, 1). Where a device has no float64 (mps), they stay on the host, and tokens are drawn there."""
    return torch.from_numpy(uniforms(seeds, count)).to("cpu" if device.type == "mps" else device)


def _sample(
    batch: _Batch | _Whole,
    head: Head,
    logits: torch.Tensor,
    out: Generated,
    rows: list[int],
    ends: frozenset[int],
    temperature: float,
    steps: int,
    draws: torch.Tensor | None,
) -> None:
    """Write answers into ``out``; ``rows`` says which answer each row of the batch is, -1 once it has ended."""
    rows = list(rows)
    for t in range(steps):
        chosen, chance = _choose(logits / temperature, None if draws is None else draws[:, t])
        for k, (token, logprob) in enumerate(zip(chosen.tolist(), chance.tolist(), strict=True)):
            b = rows[k]
            if b < 0:
                continue
            out.tokens[b].append(token)
            out.logprobs[b].append(logprob)
            if token in ends:
                out.stop[b], rows[k] = "stop", -1
        alive = [k for k, b in enumerate(rows) if b >= 0]
        if not alive or t + 1 == steps:
            return
        if len(alive) <= 0.75 * len(rows):  # ended rows are carried along until dropping them pays
            keep = torch.tensor(alive, device=logits.device)
            batch.select(keep)
            chosen, draws, rows = chosen[keep], None if draws is None else draws[alive], [rows[k] for k in alive]
        breathe()
        logits = head.logits(batch.feed(chosen))


class _RoomyLayer(DynamicLayer):
    """A key-value cache that grows into spare room, where transformers' own copies everything for each new token."""

    ROOM = 64

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Append [B, heads, T, size] keys and values; returns all of them as views."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys = _appended(self.keys, key_states, self.ROOM)
        self.values = _appended(self.values, value_states, self.ROOM)
        return self.keys, self.values

    def take(self, rows: torch.Tensor, count: int, path: torch.Tensor, theirs: Any) -> None:
        """Fill some of ``count`` rows with the keys and values that lie along a path [P] of a tree's cache."""
        if not self.is_initialized:
            self.lazy_initialization(theirs.keys, theirs.values)
            shape = (count, theirs.keys.shape[1], len(path) + self.ROOM)
            self.keys = theirs.keys.new_zeros(*shape, theirs.keys.shape[3])[:, :, : len(path)]
            self.values = theirs.values.new_zeros(*shape, theirs.values.shape[3])[:, :, : len(path)]
        keys: Any = self.keys
        values: Any = self.values
        keys[rows] = theirs.keys.transpose(1, 2).flatten(0, 1)[path].transpose(0, 1)
        values[rows] = theirs.values.transpose(1, 2).flatten(0, 1)[path].transpose(0, 1)


def _appended(old: Any, new: torch.Tensor, room: int) -> torch.Tensor:
    """[B, heads, T, size] old (or nothing) and new along T, in place where old is a view with spare room behind it."""
    rows, heads, more, size = new.shape
    length = old.shape[-2] if old.numel() else 0
    # A view of a roomy tensor has that tensor's strides: the room is what lies between this head and the next.
    there = old.stride(1) // size if length and old.stride(-2) == size else 0
    if length and there >= length + more and old.stride(0) == heads * there * size:
        whole: torch.Tensor = old.as_strided((rows, heads, length + more, size), old.stride(), old.storage_offset())
    else:
        whole = new.new_empty(rows, heads, length + more + room, size)[:, :, : length + more]
        if length:
            whole[:, :, :length] = old
    whole[:, :, length:] = new
    return whole


class _Batch:
    """Rows that go through the model together: their cache, mask and positions."""

    def __init__(self, model: Any, bank: Router | None, prompts: list[list[int]], slots: list[int]) -> None:
        self.model, self.bank = model, bank
        self.prompts, self.slots = prompts, slots
        self.device = next(model.parameters()).device
        self.cache = DynamicCache(config=model.config)
        # Given a mask of its own shape, transformers packs query heads that share keys into one product: for one new
        # token in bfloat16 on a CPU that is four times as fast as what it does without a mask.
        config = model.config.get_text_config()
        shares = getattr(config, "num_key_value_heads", None) not in (None, config.num_attention_heads)
        full = all(type(layer) is DynamicLayer for layer in self.cache.layers)
        self.packs = full and shares and config._attn_implementation == "sdpa"
        # A layer that forgets what leaves its window would forget by place, and places differ by padding.
        roomy: Any = _RoomyLayer
        kinds = (DynamicLayer, DynamicSlidingWindowLayer)
        self.cache.layers = [roomy() if type(layer) in kinds else layer for layer in self.cache.layers]
        self.mask = torch.zeros(len(prompts), 0, dtype=torch.long, device=self.device)
        self.fed = 0
        self._routed: list[int] | None = None
        self._context = ExitStack()

    def __enter__(self) -> _Batch:
        """The route is entered by the first pass."""
        return self

    def __exit__(self, *error: object) -> None:
        self._context.close()

    def prefill(self, share: bool) -> torch.Tensor:
        """Feed all prompts; returns the states [B, H] behind them."""
        if not share:
            return self._padded(self.prompts, self.slots)
        if max(map(len, self.prompts)) <= serving(self.model).reach:
            return self._through_trees()
        # Rows are sorted, so that equal ones are neighbours.
        rows = list(zip(self.slots, self.prompts, strict=True))
        first = [b for b in range(len(rows)) if not b or rows[b] != rows[b - 1]]
        copies = torch.tensor(np.searchsorted(first, np.arange(len(rows)), side="right") - 1, device=self.device)
        states = self._padded([self.prompts[b] for b in first], [self.slots[b] for b in first])
        self.select(copies)
        return states[copies]

    def feed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Feed one token [B] a row; returns the states [B, H] behind them."""
        self.fed += len(tokens)
        return self._forward(tokens[:, None], torch.ones_like(tokens)[:, None])

    def select(self, keep: torch.Tensor) -> None:
        """Keep, drop or repeat rows."""
        rows: Any = keep
        self.cache.reorder_cache(rows)
        self.mask = self.mask[keep]
        self.slots = [self.slots[k] for k in keep.tolist()]

    def _through_trees(self) -> torch.Tensor:
        """Feed every shared token once; keys and values along each row's path become its cache."""
        numbers: dict[Question, int] = {}
        asked = zip(self.slots, self.prompts, strict=True)
        of = torch.tensor([numbers.setdefault(Question(s, tuple(p), ((0,),)), len(numbers)) for s, p in asked])
        lengths = torch.tensor([len(prompt) for prompt in self.prompts])
        width = int(lengths.max())
        self.mask = (torch.arange(width) >= width - lengths[:, None]).long().to(self.device)
        states = torch.empty(0)
        layers: Any = self.cache.layers
        for pack in pack_questions(list(numbers)):
            breathe()
            cache = DynamicCache()
            hidden = tree_states(self.model, pack, bank=self.bank, cache=cache)
            self.fed += pack.tokens
            for q, (edge, path) in zip(pack.questions, _prompt_paths(pack, width), strict=True):
                rows, path = (of == int(q)).nonzero()[:, 0].to(self.device), path.to(self.device)
                if not states.numel():
                    states = hidden.new_empty(len(of), hidden.shape[1])
                states[rows] = hidden[pack.edge_parent[edge]]
                for mine, theirs in zip(layers, cache.layers, strict=True):
                    mine.take(rows, len(of), path, theirs)
        return states

    def _padded(self, sequences: list[list[int]], slots: list[int]) -> torch.Tensor:
        """Feed whole sequences, padded on the left."""
        self.slots = slots
        self.fed += sum(map(len, sequences))
        longest = max(map(len, sequences))
        ids = torch.tensor([[0] * (longest - len(s)) + s for s in sequences], device=self.device)
        own = torch.tensor([[0] * (longest - len(s)) + [1] * len(s) for s in sequences], device=self.device)
        self.mask = own[:, :0]
        return self._forward(ids, own)

    def _forward(self, ids: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        self.mask = torch.cat([self.mask, own], 1)
        positions = (self.mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        if self.bank is not None and self.slots != self._routed:
            # One route for as many steps as it lasts: the bank keeps what it prepared for it.
            self._context.close()
            self._context.enter_context(self.bank.route(self.slots))
            self._routed = self.slots
        mask = self.mask
        if self.packs and ids.shape[1] == 1:
            mask = mask.bool()[:, None, None, :]
        hidden = self.model.base_model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=self.cache,
            use_cache=True,
        ).last_hidden_state
        # The last position is a strided slice, and products over those are far slower.
        states: torch.Tensor = hidden[:, -1].contiguous()
        return states


class _Whole:
    """Rows without a cache: every sequence goes through the model again for each token, as the loss would feed it."""

    def __init__(self, model: Any, bank: Router | None, prompts: list[list[int]], slots: list[int]) -> None:
        self.model, self.bank = model, bank
        self.sequences, self.slots = [list(prompt) for prompt in prompts], slots
        self.fed = 0

    def __enter__(self) -> _Whole:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def prefill(self, share: bool) -> torch.Tensor:
        """States [B, H] behind all prompts."""
        asked = zip(self.slots, self.sequences, strict=True)
        questions = [Question(slot, tuple(sequence), ((0,),)) for slot, sequence in asked]
        numbers = {question: k for k, question in enumerate(dict.fromkeys(questions))}
        found: dict[int, torch.Tensor] = {}
        for pack in pack_questions(list(numbers)):
            self.fed += pack.tokens
            states = parent_states(self.model, pack, bank=self.bank)
            for q, answer in zip(pack.questions.tolist(), pack.question_answers[:, 0], strict=True):
                found[q] = states[pack.edge_parent[pack.answer_edges[answer, 0]]]
        return torch.stack([found[numbers[question]] for question in questions])

    def feed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Append one token [B] a row; returns the states [B, H] behind them."""
        for sequence, token in zip(self.sequences, tokens.tolist(), strict=True):
            sequence.append(token)
        return self.prefill(share=True)

    def select(self, keep: torch.Tensor) -> None:
        """Keep, drop or repeat rows."""
        self.sequences = [list(self.sequences[k]) for k in keep.tolist()]
        self.slots = [self.slots[k] for k in keep.tolist()]


def _prompt_paths(pack: Pack, width: int) -> list[tuple[int, torch.Tensor]]:
    """For each question of a pack, whose one answer has one token: its edge, and the path of its prompt.

    Paths are [width] places in the flattened [R * L], padded on the left with 0.
    """
    edges = pack.answer_edges[pack.question_answers[:, 0], 0]
    row = pack.parents[pack.edge_parent[edges]] // pack.ids.shape[1]
    last = pack.parents[pack.edge_parent[edges]] % pack.ids.shape[1]
    at = torch.arange(pack.ids.shape[1])
    above = (at <= last[:, None]) & (pack.ends[row] > last[:, None])
    paths = torch.zeros(len(edges), width, dtype=torch.int64)
    paths[torch.arange(width) >= width - above.sum(1, keepdim=True)] = (row[:, None] * len(at) + at)[above]
    return list(zip(edges.tolist(), paths, strict=True))


_cached: weakref.WeakKeyDictionary[Any, dict[object, bool]] = weakref.WeakKeyDictionary()


def _caches(model: Any) -> bool:
    """Whether left padding and caches give what whole sequences give; each model is asked once."""
    config = model.config.get_text_config()
    known = _cached.setdefault(model, {})
    if config._attn_implementation not in known:
        window = getattr(config, "sliding_window", None) or 0
        length = 8 + (window if window <= 64 else 0)  # beyond the window, where that is cheap
        random = torch.randint(config.vocab_size, (2, length + 2), generator=torch.Generator().manual_seed(0))
        ids = random.tolist()
        apart = 0.0
        try:
            every = [kind(model, None, [ids[0][:length], ids[1][: length - 5]], [-1, -1]) for kind in (_Batch, _Whole)]
            steps = [[batch.prefill(share=True) for batch in every]]
            for batch in every:
                batch.select(torch.tensor([1, 0], device=model.device))
            random = random.to(model.device)
            steps += [[batch.feed(random[:, length + t]) for batch in every] for t in range(2)]
        except Exception:  # whatever a model does with a cache that it doesn't expect
            apart = float("inf")
        else:
            for mine, want in steps:
                apart = max(apart, float(((mine - want).float().norm(dim=-1) / want.float().norm(dim=-1)).max()))
        known[config._attn_implementation] = apart < TOLERANCE.get(next(model.parameters()).dtype, 1e-3)
    return known[config._attn_implementation]


def _choose(logits: torch.Tensor, draws: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw a token a row, or take the most likely one.

    Args:
        logits: [B, V] float32, divided by the temperature.
        draws: [B] float64 in [0, 1), or None for the most likely token.

    Returns:
        Tokens [B] and their log-probabilities [B].
    """
    normal = logits.logsumexp(1, keepdim=True)
    if draws is None:
        chosen = logits.argmax(1)
    else:
        chosen = _inverse((logits - normal).exp_().to(draws.device), draws).to(logits.device)
    return chosen, (logits.gather(1, chosen[:, None]) - normal)[:, 0]


def _inverse(chances: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
    """[B] where each draw falls in the cumulative distribution of [B, V] chances.

    In two levels, blocks and then within the block: a running sum over a whole vocabulary would round, and be slow in
        float64.
    """
    block = 256
    blocks = F.pad(chances, (0, -chances.shape[1] % block)).view(chances.shape[0], -1, block)
    sums = blocks.sum(2, dtype=torch.float64).cumsum(1)
    targets = (draws * sums[:, -1])[:, None]
    which = torch.searchsorted(sums, targets, right=True).clamp(max=sums.shape[1] - 1)
    before = torch.where(which > 0, sums.gather(1, (which - 1).clamp(min=0)), 0.0)
    inside = blocks[torch.arange(len(blocks), device=blocks.device), which[:, 0]].double().cumsum(1)
    # Rounding may leave a target at or beyond the block's own sum: take the last token that has any chance there.
    inside_target = torch.minimum(targets - before, inside[:, -1:] * (1 - 1e-12))
    at = torch.searchsorted(inside, inside_target, right=True).clamp(max=block - 1)
    return (which * block + at)[:, 0].clamp(max=chances.shape[1] - 1)
