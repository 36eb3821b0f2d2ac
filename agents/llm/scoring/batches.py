"""Batches of rows for sampling token by token: with a key-value cache, or feeding whole sequences every time.

Rows are sorted by player. Common prefixes are computed once, whatever their length: prompts go through packed trees,
and every row starts with a copy of the keys and values along its path::

    rows          ann: "ab c"  "ab c"  "ab d"     bob: "xy"
    trees         ann: "ab " -> "c", "d"          bob: "xy"      every shared token once
    sampling           row  row  row                   row       one row per answer, padded on the left

A row may also start with the keys and values of an earlier row (``Past``); only the rest of its prompt is then fed::

    past          . . a b        padded on the left, as long as the longest
    fed           . c d          padded on the left too: positions count tokens, not padding

Letters: B rows, P tokens of a path, T tokens, H hidden size, L tokens of a packed row.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from ...deadline import breathe
from .forest import Pack, Question, pack_questions
from .passes import TOLERANCE, Router, hidden_states, parent_states, serving, tree_states

__all__ = ["Cached", "Past", "Whole", "caches"]


class Past(NamedTuple):
    """The keys and values of a row, to continue from later.

    Attributes:
        ids: T token ids that were fed.
        layers: for each layer [heads, T, size] keys and values.
    """

    ids: tuple[int, ...]
    layers: list[tuple[torch.Tensor, torch.Tensor]]

    @property
    def nbytes(self) -> int:
        """Bytes of keys and values."""
        return sum(t.numel() * t.element_size() for layer in self.layers for t in layer)


class _RoomyLayer(DynamicLayer):
    """A key-value cache with spare room to grow; transformers' own copies everything for each new token."""

    ROOM = 64

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Append [B, heads, T, size] keys and values; returns all of them as views."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys = _appended(self.keys, key_states, self.ROOM)
        self.values = _appended(self.values, value_states, self.ROOM)
        return self.keys, self.values

    def take(self, rows: torch.Tensor, count: int, path: torch.Tensor, theirs: Any) -> None:
        """Fill some of ``count`` rows with the keys and values along a path [P] in a tree's cache."""
        if not self.is_initialized:
            self.lazy_initialization(theirs.keys, theirs.values)
            shape = (count, theirs.keys.shape[1], len(path) + self.ROOM)
            self.keys = theirs.keys.new_zeros(*shape, theirs.keys.shape[3])[:, :, : len(path)]
            self.values = theirs.values.new_zeros(*shape, theirs.values.shape[3])[:, :, : len(path)]
        keys: Any = self.keys
        values: Any = self.values
        keys[rows] = theirs.keys.transpose(1, 2).flatten(0, 1)[path].transpose(0, 1)
        values[rows] = theirs.values.transpose(1, 2).flatten(0, 1)[path].transpose(0, 1)

    def begin(self, pasts: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
        """Start from [heads, T, size] keys and values of B rows, padded on the left."""
        self.lazy_initialization(pasts[0][0][None], pasts[0][1][None])
        longest = max(keys.shape[1] for keys, _ in pasts)
        self.keys, self.values = (
            torch.stack([F.pad(past[k], (0, 0, longest - past[k].shape[1], 0)) for past in pasts]) for k in (0, 1)
        )


def _appended(old: Any, new: torch.Tensor, room: int) -> torch.Tensor:
    """Append new to old (or nothing) along T, both [B, heads, T, size]; in place if old is a view with spare room."""
    rows, heads, more, size = new.shape
    length = old.shape[-2] if old.numel() else 0
    # A view of a roomy tensor has that tensor's strides, so the stride between heads shows the room.
    there = old.stride(1) // size if length and old.stride(-2) == size else 0
    if length and there >= length + more and old.stride(0) == heads * there * size:
        whole: torch.Tensor = old.as_strided((rows, heads, length + more, size), old.stride(), old.storage_offset())
    else:
        whole = new.new_empty(rows, heads, length + more + room, size)[:, :, : length + more]
        if length:
            whole[:, :, :length] = old
    whole[:, :, length:] = new
    return whole


class Cached:
    """A batch of rows with a key-value cache, its mask and positions."""

    def __init__(self, model: Any, bank: Router | None, prompts: list[list[int]], slots: list[int]) -> None:
        self.model, self.bank = model, bank
        self.prompts, self.slots = prompts, slots
        self.device = next(model.parameters()).device
        self.cache = DynamicCache(config=model.config)
        # With a four-dimensional mask, transformers packs query heads that share keys into one product: for one new
        # token in bfloat16 on a CPU that is four times as fast as without one.
        config = model.config.get_text_config()
        shares = getattr(config, "num_key_value_heads", None) not in (None, config.num_attention_heads)
        full = all(type(layer) is DynamicLayer for layer in self.cache.layers)
        self.packs = full and shares and config._attn_implementation == "sdpa"
        # A sliding-window layer would drop entries by index, but with left padding indices are not positions.
        roomy: Any = _RoomyLayer
        kinds = (DynamicLayer, DynamicSlidingWindowLayer)
        self.cache.layers = [roomy() if type(layer) in kinds else layer for layer in self.cache.layers]
        self.mask = torch.zeros(len(prompts), 0, dtype=torch.long, device=self.device)
        self.fed = 0
        self._routed: list[int] | None = None
        self._context = ExitStack()

    def __enter__(self) -> Cached:
        """Do nothing yet: the first pass enters the route."""
        return self

    def __exit__(self, *error: object) -> None:
        self._context.close()

    def prefill(self, share: bool, pasts: Sequence[Past] = ()) -> torch.Tensor:
        """Feed all prompts, after their pasts if there are any; returns the states [B, H] after the last tokens.

        ``pasts`` has B entries or none; each is a proper prefix of its prompt.
        """
        if not share:
            return self._padded(self.prompts, self.slots)
        if not pasts and max(map(len, self.prompts)) <= serving(self.model).reach:
            return self._through_trees()
        # Rows are sorted, so equal ones are neighbours.
        rows = list(zip(self.slots, self.prompts, strict=True))
        first = [b for b in range(len(rows)) if not b or rows[b] != rows[b - 1]]
        copies = torch.tensor(np.searchsorted(first, np.arange(len(rows)), side="right") - 1, device=self.device)
        begun = [pasts[b] for b in first] if pasts else []
        states = self._padded([self.prompts[b] for b in first], [self.slots[b] for b in first], begun)
        self.select(copies)
        return states[copies]

    def feed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Feed one token per row [B]; returns the states [B, H] after them."""
        self.fed += len(tokens)
        return self._forward(tokens[:, None], torch.ones_like(tokens)[:, None])

    def select(self, keep: torch.Tensor) -> None:
        """Keep, drop or repeat rows."""
        rows: Any = keep
        self.cache.reorder_cache(rows)
        self.mask = self.mask[keep]
        self.slots = [self.slots[k] for k in keep.tolist()]

    def _through_trees(self) -> torch.Tensor:
        """Feed every shared token once; the keys and values along each row's path become its cache."""
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

    def past(self, row: int, ids: tuple[int, ...]) -> Past:
        """The keys and values of a row that was fed these ids."""
        layers: Any = self.cache.layers
        return Past(ids, [tuple(x[row, :, self.mask[row] > 0] for x in (each.keys, each.values)) for each in layers])

    def _padded(self, sequences: list[list[int]], slots: list[int], pasts: Sequence[Past] = ()) -> torch.Tensor:
        """Feed whole sequences, padded on the left; for those with a past only the rest."""
        self.slots = slots
        begun = torch.tensor([len(past.ids) for past in pasts] or [0] * len(slots), device=self.device)[:, None]
        if pasts:
            sequences = [sequence[len(past.ids) :] for sequence, past in zip(sequences, pasts, strict=True)]
            layers: Any = self.cache.layers
            for number, layer in enumerate(layers):
                layer.begin([past.layers[number] for past in pasts])
        self.fed += sum(map(len, sequences))
        longest = max(map(len, sequences))
        ids = torch.tensor([[0] * (longest - len(s)) + s for s in sequences], device=self.device)
        own = torch.tensor([[0] * (longest - len(s)) + [1] * len(s) for s in sequences], device=self.device)
        width = int(begun.max())
        self.mask = (torch.arange(width, device=self.device) >= width - begun).long()
        return self._forward(ids, own)

    def _forward(self, ids: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        self.mask = torch.cat([self.mask, own], 1)
        positions = (self.mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        if self.bank is not None and self.slots != self._routed:
            # One route serves all steps with the same rows: the bank caches what it prepares for a route.
            self._context.close()
            self._context.enter_context(self.bank.route(self.slots))
            self._routed = self.slots
        mask = self.mask
        if self.packs and ids.shape[1] == 1:
            mask = mask.bool()[:, None, None, :]
        hidden = hidden_states(
            self.model,
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=self.cache,
            use_cache=True,
        )
        # The slice of the last position is strided, and products with strided tensors are far slower.
        states: torch.Tensor = hidden[:, -1].contiguous()
        return states


class Whole:
    """A batch of rows without a cache: every whole sequence is fed again for each token, as the loss would feed it."""

    def __init__(self, model: Any, bank: Router | None, prompts: list[list[int]], slots: list[int]) -> None:
        self.model, self.bank = model, bank
        self.sequences, self.slots = [list(prompt) for prompt in prompts], slots
        self.fed = 0

    def __enter__(self) -> Whole:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def prefill(self, share: bool, pasts: Sequence[Past] = ()) -> torch.Tensor:
        """Feed all sequences; returns the states [B, H] after them. ``share`` and ``pasts`` are ignored."""
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
        """Append one token per row [B] and feed all sequences; returns the states [B, H] after them."""
        for sequence, token in zip(self.sequences, tokens.tolist(), strict=True):
            sequence.append(token)
        return self.prefill(share=True)

    def past(self, row: int, ids: tuple[int, ...]) -> Past:
        """An empty past: there are no keys and values."""
        return Past((), [])

    def select(self, keep: torch.Tensor) -> None:
        """Keep, drop or repeat rows."""
        self.sequences = [list(self.sequences[k]) for k in keep.tolist()]
        self.slots = [self.slots[k] for k in keep.tolist()]


def _prompt_paths(pack: Pack, width: int) -> list[tuple[int, torch.Tensor]]:
    """For each question of a pack, all with one answer of one token: its edge, and the path of its prompt.

    Paths are [width] indices into the flattened [R * L], padded on the left with 0.
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


@torch.no_grad()
def caches(model: Any) -> bool:
    """Whether left padding with a cache gives the same states as whole sequences; each model is tested once."""
    config = model.config.get_text_config()
    known = _cached.setdefault(model, {})
    if config._attn_implementation not in known:
        window = getattr(config, "sliding_window", None) or 0
        length = 8 + (window if window <= 64 else 0)  # beyond the window, where that is cheap
        random = torch.randint(config.vocab_size, (2, length + 2), generator=torch.Generator().manual_seed(0))
        ids = random.tolist()
        apart = 0.0
        try:
            every = [kind(model, None, [ids[0][:length], ids[1][: length - 5]], [-1, -1]) for kind in (Cached, Whole)]
            steps = [[batch.prefill(share=True) for batch in every]]
            for batch in every:
                batch.select(torch.tensor([1, 0], device=model.device))
            random = random.to(model.device)
            steps += [[batch.feed(random[:, length + t]) for batch in every] for t in range(2)]
        except Exception:  # models fail in many ways on a cache that they don't expect
            apart = float("inf")
        else:
            for mine, want in steps:
                apart = max(apart, float(((mine - want).float().norm(dim=-1) / want.float().norm(dim=-1)).max()))
        known[config._attn_implementation] = apart < TOLERANCE.get(next(model.parameters()).dtype, 1e-3)
    return known[config._attn_implementation]
