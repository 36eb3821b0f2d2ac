"""Sampling token by token from many players at once, with their exact log-probabilities.

One call takes B prompts and the player of each. What is the same is computed once::

    rows          ann: "ab c"  "ab c"  "ab d"     bob: "xy"
    prefixes      ann: "ab "                      bob: "x"       each player's longest common prefix: one row a player
    endings            "c"  "d"                        "y"       one row a distinct (player, prompt)
    sampling           row  row  row                   row       one row an answer, over copies of the cached prefix

Rows are sorted by player, so that the LoRA bank sees segments. Every row draws from numbers of its own, hence an
answer doesn't depend on the order of the rows (beyond rounding). Only the logits behind a row's last token are ever
computed.

Letters: B answers, U distinct (player, prompt) pairs, P distinct players, T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from transformers.cache_utils import DynamicCache, DynamicLayer

from ....errors import UsageError

__all__ = ["Generated", "generate"]

Ids = Sequence[int]

WORTH = 0.9
"""Prefixes are computed apart where this leaves less than that share of the prompt tokens."""


class Router(Protocol):
    """Sends each row of a batch through its player's adapter (``LoraBank``)."""

    def route(self, index: Sequence[int]) -> AbstractContextManager[object]:
        """Context in which row b of the model's input uses slot ``index[b]``."""
        ...


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
    rng: np.random.Generator | None = None,
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
        rng: where all randomness comes from; one is made where it is missing.
        greedy: take the most likely token instead of drawing one; log-probabilities stay those of the distribution.
        share: compute equal prompts and shared prefixes once. Off, every prompt is computed in full (for measurements).

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
    uniform = (rng or np.random.default_rng()).random((len(prompts), max_new_tokens))
    order = sorted(range(len(prompts)), key=lambda b: (slots[b], tuple(prompts[b]) if share else ()))
    out = Generated([[] for _ in prompts], [[] for _ in prompts], ["length"] * len(prompts), 0)
    with _Batch(model, bank, [list(prompts[b]) for b in order], [slots[b] for b in order]) as batch:
        logits = batch.prefill(share)
        draws = None if greedy else torch.from_numpy(uniform[order]).to(logits.device)
        _sample(batch, logits, out, order, frozenset(stop_ids), temperature, max_new_tokens, draws)
        out.fed = batch.fed
    return out


def _sample(
    batch: _Batch,
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
        chosen, chance = _choose(logits.float() / temperature, None if draws is None else draws[:, t])
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
            chosen, draws, rows = chosen[keep], None if draws is None else draws[keep], [rows[k] for k in alive]
        logits = batch.feed(chosen)


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
        roomy: Any = _RoomyLayer
        # Sliding windows count padding as distance, and padding lies between prefixes and endings of unequal length.
        self.can_split = all(type(x) is DynamicLayer for x in self.cache.layers)
        # Given a mask of its own shape, transformers packs query heads that share keys into one product: for one new
        # token in bfloat16 on a CPU that is four times as fast as what it does without a mask.
        config = model.config.get_text_config()
        shares = getattr(config, "num_key_value_heads", None) not in (None, config.num_attention_heads)
        self.packs = self.can_split and shares and config._attn_implementation == "sdpa"
        self.cache.layers = [roomy() if type(x) is DynamicLayer else x for x in self.cache.layers]
        self.mask = torch.zeros(0, 0, dtype=torch.long, device=self.device)
        self.fed = 0
        self._routed: list[int] | None = None
        self._context = ExitStack()

    def __enter__(self) -> _Batch:
        """Make the output head fast until the end."""
        # The last position is a strided slice. With frozen weights that would go through a batched product over
        # copies of the whole output matrix, which takes longer than the rest of the model.
        self._hook = self.model.get_output_embeddings().register_forward_pre_hook(_contiguous)
        return self

    def __exit__(self, *error: object) -> None:
        self._hook.remove()
        self._context.close()

    def prefill(self, share: bool) -> torch.Tensor:
        """Feed all prompts; returns [B, V] logits behind them."""
        prompts, slots = self.prompts, self.slots
        if not share:
            return self._run(prompts, slots)
        # Rows are sorted, so that equal ones are neighbours.
        first = [b for b in range(len(slots)) if not b or (slots[b], prompts[b]) != (slots[b - 1], prompts[b - 1])]
        distinct, owners = [prompts[b] for b in first], [slots[b] for b in first]
        players = sorted(set(owners))
        prefixes = [_common_prefix([p for p, s in zip(distinct, owners, strict=True) if s == x]) for x in players]
        of = [players.index(s) for s in owners]
        endings = [p[len(prefixes[k]) :] for p, k in zip(distinct, of, strict=True)]
        apart = len(players) * max(map(len, prefixes)) + len(distinct) * max(map(len, endings))
        if self.can_split and min(map(len, prefixes)) and apart < WORTH * len(distinct) * max(map(len, distinct)):
            self._run(prefixes, players)
            self.select(torch.tensor(of, device=self.device))
            logits = self._run(endings, owners)
        else:
            logits = self._run(distinct, owners)
        copies = torch.tensor(np.searchsorted(first, np.arange(len(slots)), side="right") - 1, device=self.device)
        if len(first) < len(slots):
            self.select(copies)
            logits = logits[copies]
        self.slots = slots
        return logits

    def feed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Feed one token [B] a row; returns [B, V] logits behind them."""
        self.fed += len(tokens)
        return self._forward(tokens[:, None], torch.ones_like(tokens)[:, None])

    def select(self, keep: torch.Tensor) -> None:
        """Keep, drop or repeat rows."""
        rows: Any = keep
        self.cache.reorder_cache(rows)
        self.mask = self.mask[keep]
        self.slots = [self.slots[k] for k in keep.tolist()]

    def _run(self, sequences: list[list[int]], slots: list[int]) -> torch.Tensor:
        """Feed sequences behind what is cached, padded on the left."""
        self.slots = slots
        self.fed += sum(map(len, sequences))
        longest = max(map(len, sequences))
        ids = torch.tensor([[0] * (longest - len(s)) + s for s in sequences], device=self.device)
        own = torch.tensor([[0] * (longest - len(s)) + [1] * len(s) for s in sequences], device=self.device)
        if not self.mask.numel():
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
        logits: torch.Tensor = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        return logits


def _contiguous(module: object, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Forward pre-hook."""
    return (args[0].contiguous(), *args[1:])


def _common_prefix(prompts: list[list[int]]) -> list[int]:
    """The longest common prefix that leaves each prompt at least one token."""
    low, high = min(prompts), max(prompts)  # what these two share, all that lie between them share too
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False)))
    return low[: min(shared, min(map(len, prompts)) - 1)]


def _choose(logits: torch.Tensor, draws: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw a token a row, or take the most likely one.

    Args:
        logits: [B, V] float32, divided by the temperature.
        draws: [B] float64 in [0, 1), or None for the most likely token.

    Returns:
        Tokens [B] and their log-probabilities [B].
    """
    normal = logits.logsumexp(1, keepdim=True)
    chosen = logits.argmax(1) if draws is None else _inverse((logits - normal).exp_(), draws)
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
