"""Routing: sends each row of a batch through its player's adapter.

A ``Route`` is planned once, from the slots of B rows, and then used by every adapted linear layer of the forward
pass. There are four plans, fastest first::

    base      all rows -1            nothing is added
    one       all rows one player    two plain matmuls
    equal     sorted, equal shares   two batched matmuls      0 0 1 1 2 2
    segments  anything else          two per segment          0 0 0 1 -1 -1   (unsorted rows are sorted first)

Without gradients, short segments of small layers are instead two batched matmuls over rows.

Letters: B rows, T tokens, G segments, S players in the batch, r rank, in / out features.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch import nn

from ...errors import UsageError
from .gradients import Gradients

__all__ = ["AdaptedLayer", "Route", "RoutedCheckpoint", "RoutingState", "hooked", "take_off"]

Blocks: TypeAlias = "Sequence[tuple[int, int, int]] | None"
"""(player, first row, last row + 1) of each adapted block, with players numbered 0..S-1; None: S blocks of equal
size.
"""


SHORT = 4
"""Segments of fewer rows than this on average are short."""

LIGHT = 1 << 14
"""Numbers in a player's A and B of a layer up to which copying them for every row costs little."""


class AdaptedLayer:
    """One adapted linear layer.

    Attributes:
        name: of the module in the base model.
        module: the base layer; never changed.
        A: [C, r, in] float32, one row per slot. B: [C, out, r] float32.
        scale: the factor of the adapter's output.
        number: its index among the layers of the bank.
        gradients: receives its gradients.
    """

    __slots__ = ("A", "B", "gradients", "module", "name", "number", "scale")

    A: torch.Tensor
    B: torch.Tensor

    def __init__(self, name: str, module: nn.Module, scale: float, number: int, gradients: Gradients) -> None:
        self.name, self.module, self.scale, self.number, self.gradients = name, module, scale, number, gradients


class Route:
    """The plan for one batch.

    Args:
        slots: [B] the slot of each row, -1 for the base model alone.
        device: the device of the adapters.
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
        segments = _segments(slots)
        self.players = [slot for slot, _, _ in segments if slot >= 0]
        equal = len(self.players) == len(segments) and len({end - start for _, start, end in segments}) == 1
        adapted = [(start, end) for slot, start, end in segments if slot >= 0]
        self.blocks: Blocks = None if equal else [(k, *span) for k, span in enumerate(adapted)]
        # Many short segments: one batched product over rows costs less than a call for each segment.
        self.each: torch.Tensor | None = None
        if not equal and len(slots) < SHORT * len(segments):
            number = [k for k, (start, end) in enumerate(adapted) for _ in range(start, end)]
            self.each = torch.tensor(number, device=device)
        first, last = (self.players[0], self.players[-1] + 1) if self.players else (0, 0)
        self._span = slice(first, last) if last - first == len(self.players) else None
        self._pick = torch.tensor(self.players, device=device) if self._span is None else None
        # Copies in the base's dtype (a generation loop enters the route once).
        self._kept: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def apply(self, layer: AdaptedLayer, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Add the adapters' output.

        Args:
            layer: the adapted layer.
            x: [B, ..., in] the layer's input.
            out: [B, ..., out] its output; may be overwritten.

        Raises:
            UsageError: the batch doesn't have the route's number of rows.
        """
        if x.shape[0] != self.rows:
            raise UsageError(
                f"The batch that reached {layer.name!r} has {x.shape[0]} rows {tuple(x.shape)}, but the route names "
                f"players for {self.rows}: enter bank.route with one index per row of the batch."
            )
        if not self.players or x.numel() == 0:
            return out
        A, B = self._weights(layer, x.dtype)
        if self.order is None:
            return self._add(layer, x, out, A, B)
        assert self.inverse is not None  # set together with the order
        x, out = x.index_select(0, self.order), out.index_select(0, self.order)
        return self._add(layer, x, out, A, B).index_select(0, self.inverse)

    def _add(
        self, layer: AdaptedLayer, x: torch.Tensor, out: torch.Tensor, A: torch.Tensor, B: torch.Tensor
    ) -> torch.Tensor:
        """``out`` + scale * x A^T B^T, in place if possible.

        Args:
            layer: the adapted layer.
            x: [B, ..., in] inputs, rows sorted by player.
            out: [B, ..., out] output of the base layer.
            A: [S, r, in].
            B: [S, out, r].
        """
        out = out.contiguous()
        if not torch.is_grad_enabled():
            small = A[0].numel() + B[0].numel() <= LIGHT
            _add_into(x, out, A, B, layer.scale, self.blocks, self.each if small else None)
            return out
        # Writing into a view (biased layers return one) would make autograd copy more than this clone does.
        if out._is_view():
            out = out.clone()
        added: torch.Tensor = _AddAdapters.apply(  # type: ignore[no-untyped-call]
            x, out, A, B, layer.gradients.anchor, layer, self.players, self.blocks
        )
        return added

    def _weights(self, layer: AdaptedLayer, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """[S, r, in] and [S, out, r] of the players in this batch, in ``dtype``."""
        kept = self._kept.get(layer.name)
        if kept is None or kept[0].dtype != dtype:
            kept = self._select(layer.A).to(dtype), self._select(layer.B).to(dtype)
            if dtype != layer.A.dtype or self._span is None:
                self._kept[layer.name] = kept
        return kept

    def _select(self, weight: torch.Tensor) -> torch.Tensor:
        if self._span is None:
            assert self._pick is not None  # one of the two is always set
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


def _add_into(
    x: torch.Tensor,
    out: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    scale: float,
    blocks: Blocks,
    each: torch.Tensor | None = None,
) -> torch.Tensor:
    """Add scale * x A^T B^T to ``out`` in place; returns the scaled hidden values [M, r], M being rows times tokens.

    ``each``: the player of each of the last rows, 0..S-1, if they are to be multiplied row by row in one call.
    """
    flat_x, flat_out = x.reshape(-1, x.shape[-1]), out.view(-1, out.shape[-1])
    if blocks is None and len(A) == 1:
        hidden = (flat_x @ A[0].T).mul_(scale)
        flat_out.addmm_(hidden, B[0].T)
        return hidden
    if blocks is None:
        stacked = torch.bmm(flat_x.view(len(A), -1, x.shape[-1]), A.mT).mul_(scale)
        flat_out.view(len(A), -1, out.shape[-1]).baddbmm_(stacked, B.mT)
        return stacked.view(-1, A.shape[1])
    if each is not None:
        some = slice(len(x) - len(each), None)
        stacked = torch.bmm(x[some].reshape(len(each), -1, x.shape[-1]), A[each].mT).mul_(scale)
        out[some].view(len(each), -1, out.shape[-1]).baddbmm_(stacked, B[each].mT)
        return stacked.view(-1, A.shape[1])
    hidden = flat_x.new_zeros(len(flat_x), A.shape[1])
    for k, rows in _token_rows(blocks, x):
        torch.mm(flat_x[rows], A[k].T, out=hidden[rows]).mul_(scale)
        flat_out[rows].addmm_(hidden[rows], B[k].T)
    return hidden


class _AddAdapters(torch.autograd.Function):
    """``_add_into`` with gradients: those of the adapters are added directly to their players' gradient rows."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        out: torch.Tensor,
        A: torch.Tensor,
        B: torch.Tensor,
        anchor: torch.Tensor,
        layer: AdaptedLayer,
        players: Sequence[int],
        blocks: Blocks,
    ) -> torch.Tensor:
        hidden = _add_into(x, out, A, B, layer.scale, blocks)
        ctx.mark_dirty(out)
        ctx.save_for_backward(x, hidden, A, B)
        ctx.layer, ctx.players, ctx.blocks = layer, players, blocks
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        x, hidden, A, B = ctx.saved_tensors
        layer, blocks = ctx.layer, ctx.blocks
        flat_x, flat = x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
        sinks = [layer.gradients.views(slot, layer.number) for slot in ctx.players]
        grad_x = None
        if blocks is None:
            stacked, block = flat.view(len(A), -1, flat.shape[1]), flat_x.view(len(A), -1, flat_x.shape[1])
            grad_hidden = torch.bmm(stacked, B).mul_(layer.scale)
            for k, (to_A, to_B) in enumerate(sinks):
                _add_product(to_B, stacked[k].T, hidden.view(len(A), -1, A.shape[1])[k])
                _add_product(to_A, grad_hidden[k].T, block[k])
            if ctx.needs_input_grad[0]:
                grad_x = torch.bmm(grad_hidden, A).view(x.shape)
            return grad_x, grad, *[None] * 6
        if ctx.needs_input_grad[0]:
            grad_x = torch.zeros_like(flat_x)
        for k, rows in _token_rows(blocks, x):
            grad_hidden = (flat[rows] @ B[k]).mul_(layer.scale)
            _add_product(sinks[k][1], flat[rows].T, hidden[rows])
            _add_product(sinks[k][0], grad_hidden.T, flat_x[rows])
            if grad_x is not None:
                torch.mm(grad_hidden, A[k], out=grad_x[rows])
        return None if grad_x is None else grad_x.view(x.shape), grad, *[None] * 6


def _add_product(to: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
    """``to`` += left @ right; ``to`` is float32, whatever the dtype of the factors."""
    if left.dtype == to.dtype:
        to.addmm_(left, right)
    else:
        to.add_(left @ right)


def _token_rows(blocks: Sequence[tuple[int, int, int]], x: torch.Tensor) -> Iterator[tuple[int, slice]]:
    """Blocks of rows of [B, ..., in] as (player, slice of the flattened [M, in])."""
    tokens = x.numel() // (x.shape[0] * x.shape[-1])
    for k, start, end in blocks:
        yield k, slice(start * tokens, end * tokens)


class RoutingState(threading.local):
    """The route in force on this thread, or None."""

    route: Route | None = None

    @contextmanager
    def enter(self, route: Route | None) -> Iterator[None]:
        """Context in which a route is in force; the previous one is restored afterwards."""
        before, self.route = self.route, route
        try:
            yield
        finally:
            self.route = before


class RoutedCheckpoint:
    """A checkpoint function whose recomputation runs under the route of its forward pass.

    Gradient checkpointing runs a layer again during backward, when the context of the forward pass has ended (and
    another may be in force). The route is therefore bound to the function to recompute.

    Args:
        state: the bank's routing state.
        inner: the model's own checkpoint function.
    """

    def __init__(self, state: RoutingState, inner: Callable[..., Any]) -> None:
        self.state, self.inner = state, inner

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Checkpoint ``function(*args)``."""
        return self.inner(functools.partial(_under, self.state, self.state.route, function), *args, **kwargs)

    def serves(self, state: RoutingState) -> bool:
        """Whether this wrapper, or one inside it, belongs to that bank's state."""
        inside = isinstance(self.inner, RoutedCheckpoint) and self.inner.serves(state)
        return self.state is state or inside


def _under(state: RoutingState, route: Route | None, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with state.enter(route):
        return function(*args, **kwargs)


def hooked(model: nn.Module, layers: Sequence[AdaptedLayer], state: RoutingState) -> list[Any]:
    """Hook adapters into a model: its layers' outputs follow the route of ``state``, and so do recomputed passes.

    Returns:
        The handles of the hooks, for ``take_off``.
    """
    add = [layer.module.register_forward_hook(functools.partial(_add_adapter, state, layer)) for layer in layers]
    checkpointed = [module for module in model.modules() if hasattr(module, "gradient_checkpointing")]
    bind = [m.register_forward_pre_hook(functools.partial(_bind_checkpoint, state)) for m in checkpointed]
    return [*add, *bind]


def _add_adapter(
    state: RoutingState, layer: AdaptedLayer, module: nn.Module, args: tuple[torch.Tensor, ...], output: torch.Tensor
) -> torch.Tensor:
    """Forward hook of an adapted layer."""
    route = state.route
    return output if route is None else route.apply(layer, args[0], output)


def take_off(model: nn.Module, handles: list[Any], state: RoutingState) -> None:
    """Remove the hooks again."""
    for handle in handles:
        handle.remove()
    for module in model.modules():
        inner = getattr(module, "_gradient_checkpointing_func", None)
        if isinstance(inner, RoutedCheckpoint) and inner.state is state:
            setattr(module, "_gradient_checkpointing_func", inner.inner)  # noqa: B010 - Module types hide attributes


def _bind_checkpoint(state: RoutingState, module: Any, args: Any) -> None:
    """Forward pre-hook of a layer that may be checkpointed: bind its recomputation to the route."""
    inner = getattr(module, "_gradient_checkpointing_func", None)
    if module.gradient_checkpointing and inner is not None and state.route is not None:
        if isinstance(inner, RoutedCheckpoint) and inner.serves(state):
            return
        module._gradient_checkpointing_func = RoutedCheckpoint(state, inner)
