"""Makes an adapter out of others: their weighted mixture, and mutations.

A layer's adapter adds B A to a base weight, and many pairs (A, B) have the same product. So the products are mixed, and
the child is the pair of rank r that comes closest to the result (Eckart and Young 1936); averages of A and of B would
depend on which pairs the parents happen to hold.

Letters: r rank, in and out features of a layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch

__all__ = ["Pair", "mixture", "mutated"]

Pair: TypeAlias = tuple[torch.Tensor, torch.Tensor]
"""A [r, in] and B [out, r] of one layer."""


def mixture(parents: Sequence[Pair], shares: Sequence[float]) -> Pair:
    """The pair of the parents' rank whose product is closest to the weighted sum of the parents' products.

    The rows of A are as long as the parents' and orthogonal, so that a child without effect can still learn.
    """
    rank = parents[0][0].shape[0]
    left = torch.cat([share * b.double() for (_, b), share in zip(parents, shares, strict=True)], 1)
    right = torch.cat([a.double() for a, _ in parents])
    q_left, r_left = torch.linalg.qr(left)
    q_right, r_right = torch.linalg.qr(right.T)
    u, s, v = torch.linalg.svd(r_left @ r_right.T, full_matrices=False)
    length = right.norm(dim=1).mean().clamp(min=1e-12)
    a, b = torch.zeros_like(parents[0][0]), torch.zeros_like(parents[0][1])
    found = min(rank, len(s))
    a[:found] = ((v @ q_right.T)[:found] * length).float()
    b[:, :found] = ((q_left @ u * s)[:, :found] / length).float()
    return a, b


def mutated(pair: Pair, strength: float, generator: torch.Generator) -> Pair:
    """Both tensors with normal noise, ``strength`` times as large as the root mean square of their entries."""
    a, b = (
        x + strength * x.square().mean().sqrt() * torch.randn(x.shape, generator=generator).to(x.device) for x in pair
    )
    return a, b
