"""The LoRA bank: a population of adapters over one frozen base model, a player a row.

Every adapted layer has one tensor A [C, r, in] and one B [C, out, r], C slots, of which each player has one. A batch
says which row belongs to which player, one forward pass serves them all, one backward pass trains them all::

    bank = LoraBank(model, LoraConfig(r=16, target_modules="all-linear"), players=["main", "rival"])
    with bank.route(["main", "rival", "main"]):       # or slots: torch.tensor([0, 1, 0]); -1 is the base model
        logits = model(input_ids).logits              # [3, T, V]

Underneath lies one flat tensor, a slot a row, of which all A and B are views; so copying, clipping, updating or
saving a player is one operation whatever the number of layers::

    weights [C, D]   slot 0 | A of layer 0 | B of layer 0 | A of layer 1 | ...
                     slot 1 | ...

Gradients are rows of their own, which only those have who took part in a backward pass since the last ``zero_grad``:
past selves and other players that stand still cost storage and nothing else.

What was left out: merging into the base (its weights never change, ``base_hash`` proves it), dropout, ranks that differ
between players or layers.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ...errors import UnknownName, UsageError
from .files import check_config, read_adapter, scaling, target_layers, write_adapter
from .gradients import Gradients, split
from .routing import AdaptedLayer, Route, RoutedCheckpoint, RoutingState

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel

__all__ = ["LoraBank"]


class LoraBank:
    """Adapters for many players on one base model.

    The base model is frozen (``requires_grad`` off) and gets forward hooks; outside ``route`` it computes what it
    always did. One model may carry several banks, say of different ranks.

    Args:
        model: a causal language model of transformers; its device and dtype are the bank's. Master weights are float32.
        lora_config: rank, scale, targets and initialisation. Fields that aren't honoured are refused.
        players: names, at least one; the first gets slot 0, and so on.
        seed: of the initial A matrices; each player's depend on the seed and its name alone.

    Attributes:
        model, config: as given.
        layers: the adapted layers, in the model's order.
        players: name -> slot. Don't write.
        versions: name -> how often its weights have been changed since it was added. Don't write.
        births: name -> a number that is new whenever its weights were set rather than trained (added, reset, copied,
            loaded): optimizer state belongs to one birth. Don't write.
        loads: how often ``load_state_dict`` has replaced everything, counts above included. Don't write.

    Raises:
        UsageError: a LoraConfig field that isn't honoured, no matching layer, bad names.
    """

    def __init__(
        self, model: PreTrainedModel, lora_config: LoraConfig, players: Sequence[str] = ("main",), seed: int = 0
    ) -> None:
        check_config(lora_config)
        self.model, self.config, self.seed = model, lora_config, seed
        targets = target_layers(model, lora_config)
        model.requires_grad_(False)
        rank = lora_config.r
        self.device: torch.device = next(model.parameters()).device
        self._shapes = [(name, (rank, wide), (high, rank)) for name, (_, wide, high) in targets.items()]
        self._width = sum(rank * (a[1] + b[0]) for _, a, b in self._shapes)
        self._weights = torch.zeros(max(1, len(players)), self._width, device=self.device)
        self._grads = Gradients(self._shapes, self._width, self.device)
        scale = scaling(lora_config)
        self.layers = [
            AdaptedLayer(name, targets[name][0], scale, number, self._grads)
            for number, (name, _, _) in enumerate(self._shapes)
        ]
        self._attach()
        self.players: dict[str, int] = {}
        self.versions: dict[str, int] = {}
        self.births: dict[str, int] = {}
        self._births = self.loads = 0
        self._state = RoutingState()
        # Hooks hold adapters, so a bank that nobody uses any more must take its own off a model that lives on.
        self._unhook = weakref.finalize(self, _take_off, model, list(self._hook()), self._state)
        self._unhook.atexit = False
        for name in players:
            self.add(name)

    def __repr__(self) -> str:
        return f"LoraBank({list(self.players)}, rank {self.config.r}, {len(self.layers)} layers, {self.capacity} slots)"

    @property
    def capacity(self) -> int:
        """C, the number of slots."""
        return self._weights.shape[0]

    # -- routing ------------------------------------------------------------------------------------------------------

    @contextmanager
    def route(self, index: torch.Tensor | Sequence[int] | Sequence[str]) -> Iterator[None]:
        """Context in which row b of every batch that enters the model is computed by player ``index[b]``.

        Routes nest: the innermost counts. Backward passes may run outside; recomputation under gradient checkpointing
        uses the route of its own forward pass. Don't change the weights inside.

        Args:
            index: [B] slots or names; -1 is the base model alone.

        Raises:
            UnknownName: no such player.
            UsageError: no such slot, or an index that isn't one number a row. Inside: a batch with another number of
                rows.
        """
        plan = Route(self.slots(index), self.device)
        with self._state.enter(plan):
            yield

    def slots(self, index: torch.Tensor | Sequence[int] | Sequence[str]) -> list[int]:
        """The checked slots of an index [B] of slots or names."""
        if isinstance(index, torch.Tensor):
            if index.dim() != 1 or index.is_floating_point() or index.dtype == torch.bool:
                raise UsageError(
                    f"bank.route needs [B] integers, one a row, not {tuple(index.shape)} of {index.dtype}."
                )
            index = index.tolist()
        if isinstance(index, str):
            raise UsageError(f"bank.route needs one player a row, not one name: write [{index!r}] * rows.")
        slots = [self.slot(x) if isinstance(x, str) else int(x) for x in index]
        taken = set(self.players.values())
        for slot in set(slots):
            if slot != -1 and slot not in taken:
                raise UsageError(f"No player has slot {slot}. Slots: {self.players}; -1 is the base model.")
        return slots

    def slot(self, name: str) -> int:
        """The slot of a player.

        Raises:
            UnknownName: no such player.
        """
        if name not in self.players:
            raise UnknownName("player", name, self.players)
        return self.players[name]

    def checkpoint_context(self) -> tuple[Any, Any]:
        """The ``context_fn`` for your own calls of ``torch.utils.checkpoint.checkpoint``.

        Models of transformers need nothing: their checkpointed layers are bound to the route by themselves.
        """
        route = self._state.route
        return self._state.enter(route), self._state.enter(route)

    def detach(self) -> None:
        """Take the hooks off the base model; the bank can't route any more. A bank that is gone has done so."""
        self._unhook()

    def _hook(self) -> Iterator[Any]:
        for layer in self.layers:
            yield layer.module.register_forward_hook(functools.partial(_add_adapter, self._state, layer))
        for module in self.model.modules():
            if hasattr(module, "gradient_checkpointing"):
                yield module.register_forward_pre_hook(functools.partial(_bind_checkpoint, self._state))

    # -- players ------------------------------------------------------------------------------------------------------

    def add(self, name: str, init_from: str | None = None) -> int:
        """Add a player; where no slot is free, the capacity doubles. The others stay bit-equal.

        Args:
            name: new.
            init_from: a player whose weights are copied; None starts from a fresh adapter (which changes nothing yet).

        Returns:
            Its slot.
        """
        if not isinstance(name, str) or not name:
            raise UsageError(f"A player needs a name, not {name!r}.")
        if name in self.players:
            raise UsageError(f"There is a player {name!r} already: reset it, or take another name.")
        source = None if init_from is None else self.slot(init_from)
        taken = set(self.players.values())
        slot = next((s for s in range(self.capacity) if s not in taken), self.capacity)
        if slot == self.capacity:
            self._grow(2 * self.capacity)
        self.players[name] = slot
        self.versions[name] = -1
        if source is None:
            self.reset(name)
        else:
            self._set(name, self._weights[source])
        return slot

    def remove(self, name: str) -> None:
        """Remove a player; its slot is zeroed and becomes free."""
        slot = self.slot(name)
        self._weights[slot].zero_()
        self._grads.forget(slot)
        for table in (self.players, self.versions, self.births):
            del table[name]

    def reset(self, name: str, seed: int | None = None) -> None:
        """Give a player a fresh adapter.

        Args:
            name: the player.
            seed: None takes the bank's, so that the player gets the weights it began with.
        """
        self.slot(name)
        generator = torch.Generator().manual_seed(_derived_seed(self.seed if seed is None else seed, name))
        row = torch.zeros(1, self._width)
        init = self.config.init_lora_weights
        for A, B in split(row, self._shapes):
            if init == "gaussian":
                A.normal_(std=1 / self.config.r, generator=generator)
            else:
                A.uniform_(-1 / math.sqrt(A.shape[2]), 1 / math.sqrt(A.shape[2]), generator=generator)
            if init is False:
                B.uniform_(-1 / math.sqrt(B.shape[2]), 1 / math.sqrt(B.shape[2]), generator=generator)
        self._set(name, row[0])

    def copy(self, src: str, dst: str) -> None:
        """Overwrite the weights of player ``dst`` with those of ``src``."""
        source = self._weights[self.slot(src)]
        self.slot(dst)
        self._set(dst, source)

    def _set(self, name: str, row: torch.Tensor) -> None:
        with torch.no_grad():
            self._weights[self.players[name]].copy_(row)
        self._births += 1
        self.births[name] = self._births
        self.versions[name] += 1

    # -- tensors ------------------------------------------------------------------------------------------------------

    def parameters(self) -> Iterator[torch.Tensor]:
        """Every A [C, r, in] and B [C, out, r], float32; gradients are in ``grads``."""
        for layer in self.layers:
            yield layer.A
            yield layer.B

    def weights(self, name: str) -> torch.Tensor:
        """[D] float32, all weights of a player: a view, in the order of ``layers``, A before B."""
        return self._weights[self.slot(name)]

    def grads(self, name: str) -> torch.Tensor:
        """[D] float32, the gradient of ``weights(name)`` until the next ``zero_grad``. Zeros where nothing came."""
        return self._grads.row(self.slot(name))

    def zero_grad(self) -> None:
        """Forget all gradients, and free them."""
        self._grads.forget()

    @property
    def grad_nbytes(self) -> int:
        """Bytes that gradients take."""
        return sum(row.numel() * row.element_size() for row in self._grads.rows.values())

    def _attach(self) -> None:
        """Point every layer at its part of the flat tensor, after that was made anew."""
        for layer, (A, B) in zip(self.layers, split(self._weights, self._shapes), strict=True):
            layer.A, layer.B = A, B

    def _grow(self, capacity: int) -> None:
        larger = torch.zeros(capacity, self._width, device=self.device)
        larger[: self.capacity] = self._weights
        self._weights = larger
        self._attach()

    # -- saving -------------------------------------------------------------------------------------------------------

    def base_hash(self) -> str:
        """SHA-256 of the base model's weights, names and shapes."""
        from ..llm.models import weights_hash

        return weights_hash(self.model)

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact continuation needs, gradients left out. Tensors are copies."""
        return {
            "layers": [layer.name for layer in self.layers],
            "rank": self.config.r,
            "capacity": self.capacity,
            "players": dict(self.players),
            "versions": dict(self.versions),
            "births": dict(self.births),
            "last_birth": self._births,
            "weights": {name: self.weights(name).detach().cpu().clone() for name in self.players},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Become the bank that ``state_dict`` came from: players, slots, versions, weights.

        Raises:
            UsageError: the state is of a bank with other layers or another rank.
        """
        for key, mine in (("layers", [layer.name for layer in self.layers]), ("rank", self.config.r)):
            if state[key] != mine:
                raise UsageError(f"The saved LoRA bank has other {key}: {state[key]!r}, not {mine!r}.")
        self.loads += 1
        self._weights = torch.zeros(state["capacity"], self._width, device=self.device)
        self.players = dict(state["players"])
        self.versions, self.births = dict(state["versions"]), dict(state["births"])
        self._births = state["last_birth"]
        for name, row in state["weights"].items():
            self._weights[self.players[name]] = row.to(self.device)
        self._grads.forget()
        self._attach()

    def save_peft(self, name: str, folder: str | os.PathLike[str]) -> None:
        """Write a player as a peft adapter, which ``PeftModel.from_pretrained`` loads."""
        slot = self.slot(name)
        tensors = {layer.name: (layer.A[slot], layer.B[slot]) for layer in self.layers}
        write_adapter(folder, self.model, self.config, tensors)

    def load_peft(self, name: str, folder: str | os.PathLike[str]) -> None:
        """Overwrite a player (added where it isn't there) with a peft adapter of the same rank, scale and layers.

        Raises:
            ModelError: there is no readable adapter. UsageError: it doesn't fit.
        """
        tensors = read_adapter(folder, self.config, [layer.name for layer in self.layers])
        row = torch.zeros(1, self._width)
        for (layer, a, b), (A, B) in zip(self._shapes, split(row, self._shapes), strict=True):
            theirs = tensors[layer]
            if theirs[0].shape != a or theirs[1].shape != b:
                raise UsageError(f"The adapter in {os.fspath(folder)!r} has other shapes than the bank at {layer!r}.")
            A[0], B[0] = theirs
        if name not in self.players:
            self.add(name)
        self._set(name, row[0])


def _add_adapter(
    state: RoutingState, layer: AdaptedLayer, module: nn.Module, args: tuple[torch.Tensor, ...], output: torch.Tensor
) -> torch.Tensor:
    """Forward hook of an adapted layer."""
    route = state.route
    return output if route is None else route.apply(layer, args[0], output)


def _take_off(model: nn.Module, handles: list[Any], state: RoutingState) -> None:
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


def _derived_seed(seed: int, name: str) -> int:
    """A 63-bit seed that depends on both, alike on every machine."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest(), "little") >> 1
