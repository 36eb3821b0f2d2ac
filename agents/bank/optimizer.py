"""AdamW for a LoRA bank: every player has its own moments and its own count of steps.

Idle players don't move: no decay, no momentum, not a bit. A player that was reset, copied onto or loaded starts with
fresh moments; one that another player took over by name and slot does too. Moments of players that are gone are freed
with the next ``step`` or ``zero_grad``.
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
    """Of one player: [D] first and second moments, steps taken, and the birth of the weights they belong to."""

    first: torch.Tensor
    second: torch.Tensor
    steps: int
    birth: int


class BankAdamW:
    """AdamW as ``torch.optim.AdamW`` computes it, a player at a time.

    Args:
        bank: whose players are trained.
        lr: learning rate, the default of ``step``.
        betas, eps, weight_decay: as in torch; decay is decoupled, and 0 unless asked for.

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
        """Update the active players from their gradients, and count it in ``bank.versions``; the others stay bit-equal.

        Args:
            active: names, each once.
            lr: for this step only, one for all or one for each active player; None takes ``self.lr``.
            betas: for this step only; None takes the optimizer's.
            weight_decay: as ``betas``.

        Raises:
            UnknownName: no such player. UsageError: a name twice, or a player without a rate; nobody has moved then.
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
            Name -> norm before clipping; not finite where the gradient isn't.
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
        """Forget all gradients of the bank, and the moments of weights that are no longer there."""
        self._free()
        self.bank.zero_grad()

    def steps(self, name: str) -> int:
        """How many steps the player's present moments have seen."""
        moments = self._moments.get(name)
        return moments.steps if moments is not None and moments.birth == self.bank.births[name] else 0

    @property
    def nbytes(self) -> int:
        """Bytes that all moments take."""
        return sum(t.numel() * t.element_size() for m in self._moments.values() for t in (m.first, m.second))

    def _free(self) -> None:
        """Let go of the moments of players that were removed, reset, copied onto or loaded."""
        births = self.bank.births
        self._moments = {name: m for name, m in self._moments.items() if births.get(name) == m.birth}

    def _update(self, name: str, lr: float, betas: tuple[float, float], weight_decay: float) -> None:
        weights = self.bank.weights(name)
        moments = self._moments.get(name)
        if moments is None:
            moments = _Moments(torch.zeros_like(weights), torch.zeros_like(weights), 0, self.bank.births[name])
            self._moments[name] = moments
        moments.steps += 1
        # One pass over the memory, where the formula written out takes eight.
        adamw(
            [weights],
            [self.bank.grads(name)],
            [moments.first],
            [moments.second],
            [],
            [torch.tensor(float(moments.steps - 1), device=weights.device)],  # it counts itself
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
        """Moments and counts of every player in the bank, as copies; ``lr`` and the like aren't in it."""
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
        """Take over what ``state_dict`` gave; load the bank's state first."""
        device = self.bank.device
        self._moments = {
            name: _Moments(m["first"].to(device).clone(), m["second"].to(device).clone(), m["steps"], m["birth"])
            for name, m in state.items()
        }
