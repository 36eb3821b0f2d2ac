"""Sampling token by token from many players at once, with their exact log-probabilities.

One call takes B prompts and the player of each. Common prefixes are computed once, whatever their length
(``batches.py``). For models that packed trees don't suit, prompts are padded on the left, and each distinct one is fed
once; models that a cache doesn't suit either (the first call checks this) are fed every whole sequence for every token.

Rows are sorted by player, so that the LoRA bank sees segments. Every row has its own random numbers, so an answer
doesn't depend on the order of the rows (beyond rounding). Logits are computed only after a row's last token, by the
same float32 head as the loss's (``logprobs.Head``).

In bfloat16, sampler and loss still differ by the rounding of hidden states, which depends on the shapes of the
products: 0.008 nats per token on a small random model. The learner takes its own log-probabilities as the old ones and
weights tokens by the truncated ratio (``LocalEngine.score``).

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
        stop: ``"stop"`` if a stop token ended the answer, else ``"length"``.
        fed: how many tokens went through the model, without padding; prompt sharing lowers it.
        pasts: answer -> keys and values of its row, for the answers in ``keep``.
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
        max_new_tokens: the longest answer.
        stop_ids: tokens that end an answer.
        temperature: > 0; divides the logits, and the log-probabilities are of that distribution.
        seeds: B, one per row, for its random numbers; if empty, row b gets ``Seed(0, b)``.
        greedy: take the most likely token instead of sampling; log-probabilities stay those of the distribution.
        share: compute equal prompts and shared prefixes once. If False, every prompt is padded and computed in full,
            and no check is made (for measurements).
        pasts: B, or none: keys and values of a proper prefix of each prompt, fed before through the same adapter.
        keep: answers whose past to return. Use pasts and keep only if ``batches.caches`` is True for the model.

    Raises:
        UsageError: an empty prompt, a temperature that isn't above 0, or prompts, index and seeds of different lengths.
    """
    slots = [int(s) for s in index]
    if len(slots) != len(prompts):
        raise UsageError(f"There are {len(prompts)} prompts but {len(slots)} slots: give one slot per prompt.")
    if not temperature > 0:
        raise UsageError(f"A temperature of {temperature} can't divide logits: use one above 0, or greedy=True.")
    if not all(len(p) for p in prompts):
        raise UsageError("An empty prompt can't be continued: start it with the tokenizer's first token.")
    if not prompts or max_new_tokens < 1:
        return Generated([[] for _ in prompts], [[] for _ in prompts], ["length"] * len(prompts), 0)
    seeds = seeds or [Seed(0, b) for b in range(len(prompts))]
    if len(seeds) != len(prompts):
        raise UsageError(f"There are {len(prompts)} prompts but {len(seeds)} seeds: give one seed per prompt.")
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
    """[B, count] in [0, 1). For a device without float64 (mps), they stay on the host, and tokens are sampled there."""
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
    """Write answers into ``out``; ``rows`` is the answer's number of each row of the batch, -1 once it has ended."""
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
        if len(alive) <= 0.75 * len(rows):  # ended rows stay in the batch until dropping them pays
            going = torch.tensor(alive, device=logits.device)
            batch.select(going)
            chosen, draws, rows = chosen[going], None if draws is None else draws[alive], [rows[k] for k in alive]
        breathe()
        logits = head.logits(batch.feed(chosen))


def _choose(logits: torch.Tensor, draws: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Sample one token per row, or take the most likely one.

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
    """[B] the index where each draw falls in the cumulative distribution of [B, V] chances.

    It works in two levels, blocks and then within the block: a running sum over a whole vocabulary would round, and be
    slow in float64.
    """
    block = 256
    blocks = F.pad(chances, (0, -chances.shape[1] % block)).view(chances.shape[0], -1, block)
    sums = blocks.sum(2, dtype=torch.float64).cumsum(1)
    targets = (draws * sums[:, -1])[:, None]
    which = torch.searchsorted(sums, targets, right=True).clamp(max=sums.shape[1] - 1)
    before = torch.where(which > 0, sums.gather(1, (which - 1).clamp(min=0)), 0.0)
    inside = blocks[torch.arange(len(blocks), device=blocks.device), which[:, 0]].double().cumsum(1)
    # By rounding, a target may be at or beyond the block's sum: take the last token with any chance in the block.
    inside_target = torch.minimum(targets - before, inside[:, -1:] * (1 - 1e-12))
    at = torch.searchsorted(inside, inside_target, right=True).clamp(max=block - 1)
    return (which * block + at)[:, 0].clamp(max=chances.shape[1] - 1)
