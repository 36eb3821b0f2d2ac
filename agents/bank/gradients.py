"""Gradients of those who learn: one flat row a slot, made when its first gradient comes; nobody else has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch

__all__ = ["Gradients", "Shapes", "split"]

Shapes: TypeAlias = Sequence[tuple[str, tuple[int, int], tuple[int, int]]]
"""(name, shape of A, shape of B) of every adapted layer, in the model's order."""


def split(flat: torch.Tensor, shapes: Shapes) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The A and B of every layer as views of a flat [..., D]."""
    views, at = [], 0
    for _, a, b in shapes:
        middle, end = at + a[0] * a[1], at + a[0] * a[1] + b[0] * b[1]
        views.append((flat[..., at:middle].unflatten(-1, a), flat[..., middle:end].unflatten(-1, b)))
        at = end
    return views


class Gradients:
    """Rows [D] float32 by slot.

    Args:
        shapes: of the layers.
        width: D.
        device: where the adapters live.

    Attributes:
        rows: slot -> its row; a slot that got no gradient has none.
        anchor: what adapters hang on in autograd's graph. It gets no gradient: theirs go straight into the rows.
    """

    def __init__(self, shapes: Shapes, width: int, device: torch.device) -> None:
        self._shapes, self._width, self._device = shapes, width, device
        self._views: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        self.rows: dict[int, torch.Tensor] = {}
        self.anchor = torch.zeros((), requires_grad=True)

    def row(self, slot: int) -> torch.Tensor:
        """[D] of a slot; zeros where nothing came."""
        if slot not in self.rows:
            self.rows[slot] = torch.zeros(self._width, device=self._device)
            self._views[slot] = split(self.rows[slot], self._shapes)
        return self.rows[slot]

    def views(self, slot: int, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """[r, in] and [out, r] of one layer, to be added to."""
        self.row(slot)
        return self._views[slot][layer]

    def forget(self, slot: int | None = None) -> None:
        """Let go of a slot's row; None: of all."""
        for table in (self.rows, self._views):
            if slot is None:
                table.clear()
            else:
                table.pop(slot, None)
