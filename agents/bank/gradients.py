"""Gradients of the learning players: one flat row per slot, allocated with its first gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch

__all__ = ["Gradients", "Shapes", "split"]

Shapes: TypeAlias = Sequence[tuple[str, tuple[int, int], tuple[int, int]]]
"""(name, shape of A, shape of B) of every adapted layer, in the model's order."""


def split(flat: torch.Tensor, shapes: Shapes) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Split a flat [..., D] into views: A and B of every layer."""
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
        device: the device of the adapters.

    Attributes:
        rows: slot -> its row; a slot without a gradient has no row.
        anchor: ties the adapters into autograd's graph. It gets no gradient itself: the adapters' gradients are added
            to the rows directly.
    """

    def __init__(self, shapes: Shapes, width: int, device: torch.device) -> None:
        self._shapes, self._width, self._device = shapes, width, device
        self._views: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        self.rows: dict[int, torch.Tensor] = {}
        self.anchor = torch.zeros((), requires_grad=True)

    def row(self, slot: int) -> torch.Tensor:
        """[D] the row of a slot, allocated as zeros if there is none."""
        if slot not in self.rows:
            self.rows[slot] = torch.zeros(self._width, device=self._device)
            self._views[slot] = split(self.rows[slot], self._shapes)
        return self.rows[slot]

    def views(self, slot: int, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """[r, in] and [out, r] views of one layer's gradients, to add to."""
        self.row(slot)
        return self._views[slot][layer]

    def forget(self, slot: int | None = None) -> None:
        """Drop a slot's row; None: all rows."""
        for table in (self.rows, self._views):
            if slot is None:
                table.clear()
            else:
                table.pop(slot, None)
