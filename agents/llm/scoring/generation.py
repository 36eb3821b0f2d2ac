"""Sampling token by token from many players at once, with their exact log-probabilities.

One call takes B prompts and the player of each. What is the same is computed once, whatever its length
(``batches.py``). Models that packed trees can't serve get their prompts padded on the left, each distinct one once;
those that caches can't serve either (a check at the first call says so) are fed every sequence whole for every token.

Rows are sorted by player, so that the LoRA bank sees segments. Every row draws from numbers of its own, hence an
answer doesn't depend on the order of the rows (beyond rounding). Only the logits behind a row's last token are ever
computed, by the same float32 head as the loss's (``logprobs.Head``).

What remains between sampler and loss in bfloat16 is the rounding of hidden states, which depends on the shapes of the
products: 0.008 nats a token on a small random model. The learner takes its own log-probabilities as the old ones and
weighs tokens by the truncated ratio (``LocalEngine.score``).

Letters: B answers, P tokens of the longest prompt, T tokens, H hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F

from ....errors import UsageError
from ...deadline import breathe
from ...seeds import Seed, uniforms
from .batches import Cached, Past, Whole, caches
from .logprobs import Head
from .passes import Router

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
        pasts: by answer, what its row left behind, where it was to be kept.
    """

    tokens: list[list[int]]
    logprobs: list[list[float]]
    stop: list[str]
    fed: int
    pasts: dict[int, Past] = field(default_factory=dict)


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
    pasts: Sequence[Past] = (),
    keep: Collection[int] = (),
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
        pasts: B, or none: what was fed of each prompt before, less than all of it, to the same player.
        keep: answers of which the past is wanted. Both only for models with ``batches.caches``.

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
    kind = Cached if not share or caches(model) else Whole
    head = Head(model)
    with kind(model, bank, [list(prompts[b]) for b in order], [slots[b] for b in order]) as batch:
        logits = head.logits(batch.prefill(share, [pasts[b] for b in order] if pasts else ()))
        draws = None if greedy else _draws([seeds[b] for b in order], max_new_tokens, logits.device)
        kept = {b: prompts[b] for b in keep}
        _sample(batch, head, logits, out, order, frozenset(stop_ids), temperature, max_new_tokens, draws, kept)
        out.fed = batch.fed
    return out


def _draws(seeds: Sequence[Seed], count: int, device: torch.device) -> torch.Tensor:
    """[B, count] in [0, 1). Where a device has no float64 (mps), they stay on the host, and tokens are drawn there."""
    return torch.from_numpy(uniforms(seeds, count)).to("cpu" if device.type == "mps" else device)


def _sample(
    batch: Cached | Whole,
    head: Head,
    logits: torch.Tensor,
    out: Generated,
    rows: list[int],
    ends: frozenset[int],
    temperature: float,
    steps: int,
    draws: torch.Tensor | None,
    keep: Mapping[int, Ids],
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
            if b in keep and (token in ends or t + 1 == steps):
                out.pasts[b] = batch.past(k, (*keep[b], *out.tokens[b][:-1]))
        alive = [k for k, b in enumerate(rows) if b >= 0]
        if not alive or t + 1 == steps:
            return
        if len(alive) <= 0.75 * len(rows):  # ended rows are carried along until dropping them pays
            going = torch.tensor(alive, device=logits.device)
            batch.select(going)
            chosen, draws, rows = chosen[going], None if draws is None else draws[alive], [rows[k] for k in alive]
        breathe()
        logits = head.logits(batch.feed(chosen))


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
