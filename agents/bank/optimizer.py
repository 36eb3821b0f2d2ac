"""AdamW for a LoRA bank: every player has its own moments and its own count of steps.

Idle players don't change at all: no decay, no momentum. A player that was reset, copied onto or loaded starts with
fresh moments, and so does a new player with the name and slot of a removed one. Moments of players that are gone are
freed with the next ``step`` or ``zero_grad``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.optim.adamw import adamw

from ...errors import UsageError
from .bank import LoraBank

__all__ = ["BankAdamW"]


@dataclass
class _Moments:
    """One player's [D] first and second moments, steps taken, and the birth of the weights they belong to."""

    first: torch.Tensor
    second: torch.Tensor
    steps: int
    birth: int


class BankAdamW:
    """AdamW as ``torch.optim.AdamW`` computes it, one player at a time.

    Args:
        bank: the bank whose players are trained.
        lr: the default learning rate of ``step``.
        betas, eps, weight_decay: as in torch; decay is decoupled, and 0 by default.

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, algorithm 2.
    """

    def __init__(
        self,
        bank: LoraBank,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        if lr < 0 or eps < 0 or weight_decay < 0 or not all(0 <= b < 1 for b in betas):
            raise UsageError(f"AdamW can't use lr={lr}, betas={betas}, eps={eps}, weight_decay={weight_decay}.")
        self.bank = bank
        self.lr, self.betas, self.eps, self.weight_decay = lr, betas, eps, weight_decay
        self._moments: dict[str, _Moments] = {}

    @torch.no_grad()
    def step(
        self,
        active: Sequence[str],
        lr: float | Mapping[str, float] | None = None,
        *,
        betas: tuple[float, float] | None = None,
        weight_decay: float | None = None,
    ) -> None:
        """Update the active players by their gradients and raise their ``bank.versions``; the others stay bit-equal.

        Args:
            active: names, each once.
            lr: for this step only, one for all or one for each active player; None takes ``self.lr``.
            betas: for this step only; None takes the optimizer's.
            weight_decay: as ``betas``.

        Raises:
            UnknownName: no such player. UsageError: a name twice, or a player without a rate. In both cases no player
                is updated.
        """
        if len(set(active)) != len(active):
            raise UsageError(f"A player is named twice in {list(active)}: each takes one step.")
        rates = lr if isinstance(lr, Mapping) else dict.fromkeys(active, self.lr if lr is None else lr)
        for name in active:
            self.bank.slot(name)
            if name not in rates:
                raise UsageError(f"Player {name!r} has no learning rate; there are rates for {list(rates)}.")
        self._free()
        decay = self.weight_decay if weight_decay is None else weight_decay
        for name in active:
            self._update(name, rates[name], betas or self.betas, decay)
            self.bank.versions[name] += 1

    def clip_grad_norm(self, active: Sequence[str], max_norm: float) -> dict[str, float]:
        """Scale each active player's gradient down to ``max_norm`` (2-norm over all its layers).

        Returns:
            Name -> norm before clipping; not finite if the gradient isn't.
        """
        norms = {}
        for name in active:
            grad = self.bank.grads(name)
            norm = float(grad.norm())
            norms[name] = norm
            if norm > max_norm:
                grad.mul_(max_norm / (norm + 1e-6))  # the same 1e-6 as torch.nn.utils.clip_grad_norm_
        return norms

    def zero_grad(self) -> None:
        """Drop all gradients of the bank, and the moments of weights that no longer exist."""
        self._free()
        self.bank.zero_grad()

    def copy(self, src: str, dst: str) -> None:
        """Give player ``dst`` copies of player ``src``'s moments; copy the weights first, which clears its own."""
        self._free()
        if src in self._moments:
            held = self._moments[src]
            self._moments[dst] = _Moments(held.first.clone(), held.second.clone(), held.steps, self.bank.births[dst])

    def steps(self, name: str) -> int:
        """How many steps the player's current moments have had; 0 if it has none."""
        moments = self._moments.get(name)
        return moments.steps if moments is not None and moments.birth == self.bank.births[name] else 0

    @property
    def nbytes(self) -> int:
        """Bytes that all moments take."""
        return sum(t.numel() * t.element_size() for m in self._moments.values() for t in (m.first, m.second))

    def _free(self) -> None:
        """Drop the moments of players that were removed, reset, copied onto or loaded."""
        births = self.bank.births
        self._moments = {name: m for name, m in self._moments.items() if births.get(name) == m.birth}

    def _update(self, name: str, lr: float, betas: tuple[float, float], weight_decay: float) -> None:
        weights = self.bank.weights(name)
        moments = self._moments.get(name)
        if moments is None:
            moments = _Moments(torch.zeros_like(weights), torch.zeros_like(weights), 0, self.bank.births[name])
            self._moments[name] = moments
        moments.steps += 1
        # The fused kernel makes one pass over the memory; the formula written out makes eight.
        adamw(
            [weights],
            [self.bank.grads(name)],
            [moments.first],
            [moments.second],
            [],
            [torch.tensor(float(moments.steps - 1), device=weights.device)],  # adamw adds 1
            fused=True,
            amsgrad=False,
            beta1=betas[0],
            beta2=betas[1],
            lr=lr,
            weight_decay=weight_decay,
            eps=self.eps,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """Copies of the moments and step counts of every player; ``lr``, ``betas`` etc. are not included."""
        self._free()
        return {
            name: {
                "first": m.first.cpu().clone(),
                "second": m.second.cpu().clone(),
                "steps": m.steps,
                "birth": m.birth,
            }
            for name, m in self._moments.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a ``state_dict``; load the bank's state first."""
        device = self.bank.device
        self._moments = {
            name: _Moments(m["first"].to(device).clone(), m["second"].to(device).clone(), m["steps"], m["birth"])
            for name, m in state.items()
        }
