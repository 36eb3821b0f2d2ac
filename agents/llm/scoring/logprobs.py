"""From hidden states to log-probabilities: a model's output head in float32, a few rows of logits at a time.

Bfloat16 logits are 0.1 nats apart, too coarse for a ratio of policies; so sampler and loss both use this head, which
computes its product in float32 whatever the base's dtype. Logits [M, V] are computed for a few rows at a time and, if
gradients are on, recomputed in the backward pass.

Letters: M rows, H hidden size, V vocabulary, U parents, E edges.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

__all__ = ["LOGIT_BYTES", "Head", "edge_logprobs", "entropy"]

LOGIT_BYTES = 1 << 26
"""The most bytes of float32 logits in memory at once (not counting a few temporary copies)."""


class Head:
    """The output head of a model: the product with its output embedding, scaled and capped by its configuration.

    If the weights have another dtype, the object keeps a float32 copy of them.

    Args:
        model: a causal language model of transformers.
    """

    def __init__(self, model: Any) -> None:
        output, config = model.get_output_embeddings(), model.config.get_text_config()
        self.weight = output.weight.float()
        bias = getattr(output, "bias", None)
        self.bias = None if bias is None else bias.float()
        self.cap: float | None = getattr(config, "final_logit_softcapping", None)  # Gemma 2
        scale = getattr(config, "logit_scale", None) or 1.0  # Cohere
        self.scale = float(scale / (getattr(config, "logits_scaling", None) or 1.0))  # Granite

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """[M, V] float32 logits of hidden states [M, H] (contiguous: a strided slice is far slower)."""
        logits = F.linear(hidden.float(), self.weight, self.bias)
        if self.scale != 1.0:
            logits = logits * self.scale
        return logits if self.cap is None else torch.tanh(logits / self.cap) * self.cap

    def at(self, hidden: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """[M] float32: for each row [M, H] only the logit of its token [M]."""
        logits = (hidden.float() * self.weight[tokens]).sum(-1)
        if self.bias is not None:
            logits = logits + self.bias[tokens]
        logits = logits * self.scale
        return logits if self.cap is None else torch.tanh(logits / self.cap) * self.cap

    def rows(self) -> int:
        """How many rows of logits fit into ``LOGIT_BYTES``."""
        return max(1, LOGIT_BYTES // (4 * len(self.weight)))


def edge_logprobs(
    head: Head,
    hidden: torch.Tensor,
    edge_parent: torch.Tensor,
    edge_token: torch.Tensor,
    temperature: float = 1.0,
    *,
    spread: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability of every edge under the softmax over the whole vocabulary; differentiable.

    Args:
        head: the model's.
        hidden: [U, H] hidden states of the parents.
        edge_parent: [E] rows of ``hidden``, ascending.
        edge_token: [E] token ids.
        temperature: divides the logits.
        spread: also compute entropies.

    Returns:
        [E] float32 natural log-probabilities and [U] entropies in nats (empty without ``spread``).
    """
    rows = head.rows()
    starts = range(0, len(hidden), rows)
    cuts = torch.searchsorted(edge_parent, torch.tensor([*starts, len(hidden)], device=edge_parent.device)).tolist()
    again = len(starts) > 1 and torch.is_grad_enabled()
    edges, entropies = [], []
    for k, start in enumerate(starts):
        here = slice(cuts[k], cuts[k + 1])
        work = (head, hidden[start : start + rows], edge_parent[here] - start, edge_token[here], temperature, spread)
        if again:
            edge, each = checkpoint(_chunk, *work, use_reentrant=False, preserve_rng_state=False)
        else:
            edge, each = _chunk(*work)
        edges.append(edge)
        entropies.append(each)
    return torch.cat(edges), torch.cat(entropies)


def _chunk(
    head: Head, hidden: torch.Tensor, parent: torch.Tensor, token: torch.Tensor, temperature: float, spread: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    logits = head.logits(hidden)
    logps = torch.log_softmax(logits if temperature == 1.0 else logits / temperature, -1)
    return logps[parent, token], entropy(logps) if spread else logps.new_empty(0)


def entropy(logps: torch.Tensor) -> torch.Tensor:
    """Entropy [...] of [..., C] log-probabilities, in nats; entries of -inf are ignored."""
    safe = logps.masked_fill(torch.isinf(logps), 0.0)
    return -(logps.exp() * safe).sum(-1)
