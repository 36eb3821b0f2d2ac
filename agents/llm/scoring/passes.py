"""A pack's hidden states, through packed trees or along plain paths, whichever is right for the model.

Packed trees need a four-dimensional mask, and positions that differ from indices. Not every model supports this:
convolutions see neighbours whatever the mask says, and sliding windows are not applied to a mask that the caller
passes. ``serving`` therefore tests each model once, with two branches after one prompt, for whether its trees give the
same as separate forward passes. If they don't, every path of a tree becomes a separate row, padded on the right, which
is right for any causal model. A model for which that fails too is refused.

Letters: R rows, L tokens per row, U parents, S paths, D longest path, H hidden size.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from ....errors import ModelError
from .forest import Pack, Question, pack_questions
from .logprobs import Head

__all__ = [
    "Router",
    "Serving",
    "checkpointed",
    "checkpointed_layers",
    "hidden_states",
    "parent_states",
    "serving",
    "tree_states",
]

PLAIN_TOKENS = 16384
"""The most rows times tokens of one plain forward pass, unless a single path is longer."""

PROBE = 12
"""Tokens of the longest path in the test of a model."""

WINDOWS = ("attention_chunk_size", "window_size", "attention_window", "local_attention_window")
"""Config fields of attention spans other than ``sliding_window``, which each model counts differently."""

TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-6, torch.float16: 2e-2, torch.bfloat16: 6e-2}
"""The largest relative distance (over the norm) between hidden states computed in two ways, to allow for rounding
through dozens of layers. A leak between branches is ten times as large."""


class Router(Protocol):
    """Sends each row of a batch through its player's adapter (``LoraBank``)."""

    def route(self, index: Any) -> AbstractContextManager[object]:
        """Context in which row b of the model's input uses slot ``index[b]`` ([B] integers; -1 is the base model)."""
        ...


@dataclass(frozen=True)
class Serving:
    """How a model can be run correctly.

    Attributes:
        reach: the longest path, in tokens, in packed trees; 0 if the model needs plain rows.
        reason: why ``reach`` is bounded, in words; empty if it is not.
    """

    reach: int
    reason: str = ""


_known: weakref.WeakKeyDictionary[Any, dict[object, Serving]] = weakref.WeakKeyDictionary()


def serving(model: Any, name: str = "") -> Serving:
    """Test a model, once, for how it can be run; later calls return the same result.

    Args:
        model: a causal language model of transformers.
        name: the model's name in errors.

    Raises:
        ModelError: plain rows give other states than each sequence alone, or ``logprobs.Head`` other logits than the
            model.
    """
    config = model.config.get_text_config()
    known = _known.setdefault(model, {})
    if config._attn_implementation not in known:
        training = model.training
        model.eval()
        try:
            with torch.no_grad():
                known[config._attn_implementation] = _examine(model, name or config.name_or_path or config.model_type)
        finally:
            model.train(training)
    return known[config._attn_implementation]


def parent_states(model: Any, pack: Pack, *, bank: Router | None = None, base: bool = False) -> torch.Tensor:
    """[U, H] hidden states after every parent token, in the model's dtype; differentiable.

    Args:
        model: a causal language model of transformers.
        pack: packed questions.
        bank: adapters; None uses the base model.
        base: use the base model for all rows even if there is a bank.

    Raises:
        ModelError: neither packed trees nor plain rows are right for the model (``serving``).
    """
    if int(pack.positions.max()) < serving(model).reach:
        return tree_states(model, pack, bank=bank, base=base)
    return _path_states(model, pack, bank=bank, base=base)


def tree_states(
    model: Any, pack: Pack, *, bank: Router | None = None, base: bool = False, cache: Any = None
) -> torch.Tensor:
    """``parent_states`` through packed trees, without the check of ``serving``.

    Args:
        model: as in ``parent_states``.
        pack: as in ``parent_states``.
        bank: as in ``parent_states``.
        base: as in ``parent_states``.
        cache: an empty cache of transformers, to fill with [R, heads, L, size] keys and values.
    """
    slots = torch.full_like(pack.slots, -1) if base else pack.slots
    device = next(model.parameters()).device
    mask = pack.mask.to(device)
    if model.config.get_text_config()._attn_implementation == "eager":  # it adds its mask to the scores
        dtype = next(model.parameters()).dtype
        mask = torch.zeros(mask.shape, dtype=dtype, device=device).masked_fill_(~mask, torch.finfo(dtype).min)
    with bank.route(slots.to(device)) if bank is not None else nullcontext():
        hidden = hidden_states(
            model,
            input_ids=pack.ids.to(device),
            attention_mask=mask,
            position_ids=pack.positions.to(device),
            past_key_values=cache,
            use_cache=cache is not None,
        )
    states: torch.Tensor = hidden.flatten(0, 1).index_select(0, pack.parents.to(device))
    return states


def hidden_states(model: Any, *, input_ids: torch.Tensor, **more: Any) -> torch.Tensor:
    """[R, L, H] of the last layer, for [R, L] token ids.

    Raises:
        ModelError: the model knows fewer tokens or positions than that.
    """
    try:
        states: torch.Tensor = model.base_model(input_ids=input_ids, **more).last_hidden_state
    except IndexError:
        config = model.config.get_text_config()
        positions = getattr(config, "max_position_embeddings", "few")
        raise ModelError(
            f"The model {config.name_or_path or config.model_type!r} cannot read a prompt of {input_ids.shape[1]} "
            f"tokens with numbers up to {int(input_ids.max())}: it has {positions} "
            f"positions and {config.vocab_size} tokens. Use a shorter prompt, or a model that fits its tokenizer."
        ) from None
    return states


def checkpointed_layers(model: Any) -> list[Any]:
    """The layers of a model that support gradient checkpointing."""
    return [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]


@contextmanager
def checkpointed(model: Any, context: Callable[[], tuple[Any, Any]]) -> Iterator[None]:
    """Context in which passes keep only the inputs of each layer, and recompute the rest in the backward pass.

    Transformers' own switch also needs the model in training mode, which enables dropout.

    Args:
        model: see ``checkpointed_layers``.
        context: ``LoraBank.checkpoint_context``.
    """
    layers = checkpointed_layers(model)
    for layer in layers:
        again = functools.partial(checkpoint, layer.forward, use_reentrant=False, preserve_rng_state=False)
        layer.forward = functools.partial(again, context_fn=context)
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


def _path_states(model: Any, pack: Pack, *, bank: Router | None = None, base: bool = False) -> torch.Tensor:
    """``parent_states`` with one row for every path from a root to a leaf."""
    ids, slots, lengths, path = _paths(pack)
    device = next(model.parameters()).device
    if base:
        slots = torch.full_like(slots, -1)
    depth = pack.positions.flatten()[pack.parents]
    out: list[torch.Tensor] = []
    place = torch.empty_like(path)
    first = done = 0
    while first < len(ids):
        # Each pass takes as many successive paths as fit; at the end, parents are put back into their own order.
        widths = torch.cummax(lengths[first:], 0).values
        fit = int((widths * torch.arange(1, len(widths) + 1) <= PLAIN_TOKENS).sum())
        last = first + max(1, fit)
        widest = int(widths[last - first - 1])
        with bank.route(slots[first:last].to(device)) if bank is not None else nullcontext():
            there = (torch.arange(widest) < lengths[first:last, None]).long()
            hidden = hidden_states(
                model, input_ids=ids[first:last, :widest].to(device), attention_mask=there.to(device), use_cache=False
            ).flatten(0, 1)
        mine = ((path >= first) & (path < last)).nonzero()[:, 0]
        out.append(hidden.index_select(0, ((path[mine] - first) * widest + depth[mine]).to(device)))
        place[mine] = torch.arange(done, done + len(mine))
        first, done = last, done + len(mine)
    return torch.cat(out).index_select(0, place.to(device))


def _paths(pack: Pack) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The trees of a pack as separate rows.

    Returns:
        ids [S, D] padded on the right with 0, slots [S], lengths [S], and for each parent [U] a path that contains it.
    """
    width = pack.ids.shape[1]
    at = torch.arange(width)
    row, leaf = (pack.ends == at + 1).nonzero(as_tuple=True)
    above = (at <= leaf[:, None]) & (pack.ends[row] > leaf[:, None])
    lengths = above.sum(1)
    ids = torch.zeros(len(leaf), int(lengths.max()), dtype=torch.int64)
    ids[at[: ids.shape[1]] < lengths[:, None]] = pack.ids[row][above]
    # Depth-first, the first leaf at or after a node is below it.
    return ids, pack.slots[row], lengths, torch.searchsorted(row * width + leaf, pack.parents)


# -- the self-check ---------------------------------------------------------------------------------------------------


def _examine(model: Any, name: str) -> Serving:
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    sliding = "sliding_attention" in (getattr(config, "layer_types", None) or ["sliding_attention"])
    reach = int(window) if window and sliding else 1 << 62
    length = max(3, min(PROBE, reach))
    random = torch.randint(config.vocab_size, (2, length), generator=torch.Generator().manual_seed(0)).tolist()
    prompt = tuple(random[0][: length // 3])
    answers = (tuple(random[0][length // 3 :]), tuple(random[1][length // 3 : length - length // 4]))
    pack = pack_questions([Question(-1, prompt, answers)], row_tokens=2 * PROBE)[0]
    try:
        alone = [model.base_model(**_alone(model, (*prompt, *answer))).last_hidden_state[0] for answer in answers]
        said = model(**_alone(model, prompt)).logits[0].float()
        plain = _path_states(model, pack)
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"The model {name!r} can't score a sequence of token ids: {reason}") from error
    tolerance = TOLERANCE.get(plain.dtype, 1e-3)
    if not _apart(pack, plain, alone, len(prompt)) < tolerance:
        raise ModelError(
            f"The model {name!r} can't be scored: its output at a token changes with the tokens after it, so it is no "
            "causal language model. Choose one that generates text from left to right."
        )
    wrong = (Head(model).logits(alone[0][: len(prompt)].contiguous()) - said).abs().max() / said.abs().max()
    if not float(wrong) < tolerance:
        raise ModelError(
            f"The model {name!r} can't be scored: its logits are not the product of its last hidden state and its "
            "output embedding, nor a variant that coterie supports. Choose another, such as smollm2."
        )
    if any(getattr(config, other, None) for other in WINDOWS):
        return Serving(0, "its attention spans are not a plain sliding window")
    try:
        apart = _apart(pack, tree_states(model, pack), alone, len(prompt))
    except Exception as error:  # models fail in many ways on a mask that they don't expect
        return Serving(0, f"it doesn't accept a custom mask: {type(error).__name__}")
    if not apart < tolerance:
        return Serving(0, "packed trees give other states than separate sequences")
    return Serving(reach, f"its attention slides over {reach} tokens" if reach < 1 << 62 else "")


def _alone(model: Any, sequence: Sequence[int]) -> dict[str, Any]:
    """The model's arguments for a single sequence."""
    ids = torch.tensor([sequence], device=next(model.parameters()).device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False}


def _apart(pack: Pack, states: torch.Tensor, alone: Sequence[torch.Tensor], begin: int) -> float:
    """The largest distance between hidden states [U, H] and those of each sequence alone [D, H], over their norm."""
    worst = 0.0
    for edges, hidden in zip(pack.answer_edges, alone, strict=True):
        mine = states[pack.edge_parent[edges[edges >= 0]]].float()
        want = hidden[begin - 1 : -1].float()
        worst = max(worst, float(((mine - want).norm(dim=-1) / want.norm(dim=-1)).max()))
    return worst
