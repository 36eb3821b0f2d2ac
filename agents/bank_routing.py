"""Which row of a batch goes through whose adapter, and the arithmetic of it.

A ``Route`` is planned once, from the slots of B rows, and then used by every adapted linear layer of the forward
pass. It has four plans, fastest first::

    base      all rows -1            nothing is added
    one       all rows one player    two plain matmuls
    equal     sorted, equal shares   two batched matmuls      0 0 1 1 2 2
    segments  anything else          two matmuls a segment    0 0 0 1 -1 -1   (unsorted rows are gathered first)

Letters: B rows, T tokens, G segments, S players in the batch, r rank, in / out features.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from ..errors import UsageError

__all__ = ["AdaptedLayer", "Route", "RoutedCheckpoint", "RoutingState"]


class AdaptedLayer:
    """One adapted linear layer.

    Attributes:
        name: of the module in the base model.
        module: the base layer; never changed.
        A: [C, r, in] float32, a slot a row. B: [C, out, r] float32.
        scale: what the adapter's output is multiplied with.
    """

    __slots__ = ("A", "B", "module", "name", "scale")

    def __init__(self, name: str, module: nn.Module, A: nn.Parameter, B: nn.Parameter, scale: float) -> None:
        self.name, self.module, self.A, self.B, self.scale = name, module, A, B, scale


class Route:
    """The plan for one batch.

    Args:
        slots: [B] the slot of each row, -1 for the base model alone.
        device: where the adapters live.
    """

    def __init__(self, slots: Sequence[int], device: torch.device) -> None:
        self.rows = len(slots)
        self.order: torch.Tensor | None = None
        self.inverse: torch.Tensor | None = None
        if any(a > b for a, b in itertools.pairwise(slots)):
            order = sorted(range(len(slots)), key=lambda b: slots[b])
            slots = [slots[b] for b in order]
            self.order = torch.tensor(order, device=device)
            self.inverse = torch.argsort(self.order)
        self.segments = _segments(slots)
        self.players = [slot for slot, _, _ in self.segments if slot >= 0]
        lengths = {end - start for _, start, end in self.segments}
        if not self.players:
            self.plan = "base"
        elif len(self.segments) == 1:
            self.plan = "one"
        elif len(self.players) == len(self.segments) and len(lengths) == 1:
            self.plan = "equal"
        else:
            self.plan = "segments"
        first, last = (self.players[0], self.players[-1] + 1) if self.players else (0, 0)
        self._span = slice(first, last) if last - first == len(self.players) else None
        self._pick = torch.tensor(self.players, device=device) if self._span is None else None
        # Copies in the base's dtype, kept while no gradients are wanted (a generation loop enters the route once).
        self._kept: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def apply(self, layer: AdaptedLayer, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Add the adapters' output.

        Args:
            layer: where we are.
            x: [B, ..., in] the layer's input.
            out: [B, ..., out] its output; overwritten where gradients are off.

        Raises:
            UsageError: the batch doesn't have the route's number of rows.
        """
        if x.shape[0] != self.rows:
            raise UsageError(
                f"The batch that reached {layer.name!r} has {x.shape[0]} rows {tuple(x.shape)}, but the route names "
                f"players for {self.rows}: enter bank.route with one index a row of the batch."
            )
        if self.plan == "base" or x.numel() == 0:
            return out
        A, B = self._weights(layer, x.dtype)
        out = out.contiguous()  # nearly always is; what follows adds to views of it
        if self.plan == "one":
            flat_x, flat_out = x.reshape(-1, x.shape[-1]), out.reshape(-1, out.shape[-1])
            return _add(flat_out, flat_x, A[0], B[0], layer.scale).view(out.shape)
        if self.order is not None:
            x = x.index_select(0, self.order)
        if self.plan == "equal":
            return self._equal(x, out, A, B, layer.scale)
        return self._pieces(x, out, A, B, layer.scale)

    def _equal(
        self, x: torch.Tensor, out: torch.Tensor, A: torch.Tensor, B: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """[B, ..., out] with the adapters' output added; x is in sorted order."""
        count = len(self.players)
        hidden = torch.bmm(x.reshape(count, -1, x.shape[-1]), A.mT)
        if self.inverse is not None:
            delta = torch.bmm(hidden, B.mT).reshape(out.shape).index_select(0, self.inverse)
            return torch.add(out, delta, alpha=scale)
        stacked = out.reshape(count, -1, out.shape[-1])
        if not torch.is_grad_enabled():
            return stacked.baddbmm_(hidden, B.mT, alpha=scale).view(out.shape)
        return torch.baddbmm(stacked, hidden, B.mT, alpha=scale).view(out.shape)

    def _pieces(
        self, x: torch.Tensor, out: torch.Tensor, A: torch.Tensor, B: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """Like ``_equal``, a segment after another."""
        source = out if self.order is None else out.index_select(0, self.order)
        pieces = []
        row = 0
        for slot, start, end in self.segments:
            piece = source[start:end]
            if slot >= 0:
                inputs = x[start:end].reshape(-1, x.shape[-1])
                piece = _add(piece.reshape(-1, out.shape[-1]), inputs, A[row], B[row], scale).view(piece.shape)
                row += 1
            pieces.append(piece)
        if not torch.is_grad_enabled() and self.order is None:
            return out  # the pieces are views that were added to in place
        whole = torch.cat(pieces)
        return whole if self.inverse is None else whole.index_select(0, self.inverse)

    def _weights(self, layer: AdaptedLayer, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """[S, r, in] and [S, out, r] of the players in this batch, in ``dtype``."""
        if torch.is_grad_enabled():
            return self._select(layer.A).to(dtype), self._select(layer.B).to(dtype)
        kept = self._kept.get(layer.name)
        if kept is None or kept[0].dtype != dtype:
            kept = self._select(layer.A).to(dtype), self._select(layer.B).to(dtype)
            if dtype != layer.A.dtype or self._span is None:
                self._kept[layer.name] = kept
        return kept

    def _select(self, weight: torch.Tensor) -> torch.Tensor:
        if self._span is None:
            assert self._pick is not None  # one of the two is always there
            return weight.index_select(0, self._pick)
        if self._span.stop - self._span.start == weight.shape[0]:
            return weight
        return weight[self._span]


def _segments(slots: Sequence[int]) -> list[tuple[int, int, int]]:
    """Runs of equal slots as (slot, start, end)."""
    found: list[tuple[int, int, int]] = []
    for b, slot in enumerate(slots):
        if found and found[-1][0] == slot:
            found[-1] = (slot, found[-1][1], b + 1)
        else:
            found.append((slot, b, b + 1))
    return found


def _add(out: torch.Tensor, x: torch.Tensor, A: torch.Tensor, B: torch.Tensor, scale: float) -> torch.Tensor:
    """[M, out] + scale * x A^T B^T; in place where gradients are off."""
    hidden = x @ A.T
    if not torch.is_grad_enabled():
        return out.addmm_(hidden, B.T, alpha=scale)
    return torch.addmm(out, hidden, B.T, alpha=scale)


class RoutingState(threading.local):
    """The route in force on this thread, or None."""

    route: Route | None = None

    @contextmanager
    def enter(self, route: Route | None) -> Iterator[None]:
        """Put a route in force; the one before comes back afterwards."""
        before, self.route = self.route, route
        try:
            yield
        finally:
            self.route = before


class RoutedCheckpoint:
    """A checkpoint function whose recomputation runs under the route of its own forward pass.

    Gradient checkpointing runs a layer again during backward, when the context of the forward pass is long gone (and
    another may be in force). The route is therefore put into the function that is to be recomputed.

    Args:
        state: the bank's routing state.
        inner: the checkpoint function that the model was given.
    """

    def __init__(self, state: RoutingState, inner: Callable[..., Any]) -> None:
        self.state, self.inner = state, inner

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Checkpoint ``function(*args)``."""
        return self.inner(functools.partial(_under, self.state, self.state.route, function), *args, **kwargs)

    def serves(self, state: RoutingState) -> bool:
        """Whether this wrapper, or one inside it, is of that bank."""
        inside = isinstance(self.inner, RoutedCheckpoint) and self.inner.serves(state)
        return self.state is state or inside


def _under(state: RoutingState, route: Route | None, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with state.enter(route):
        return function(*args, **kwargs)
