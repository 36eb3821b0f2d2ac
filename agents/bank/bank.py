"""The LoRA bank: a population of adapters for one frozen base model, one row per player.

Every adapted layer has a tensor A [C, r, in] and a tensor B [C, out, r] with C slots, one per player. A route assigns
the rows of a batch to players; one forward pass serves them all, one backward pass trains them all::

    bank = LoraBank(model, LoraConfig(r=16, target_modules="all-linear"), players=["main", "rival"])
    with bank.route(["main", "rival", "main"]):       # or slots: torch.tensor([0, 1, 0]); -1 is the base model
        logits = model(input_ids).logits              # [3, T, V]

All A and B are views of one flat tensor with one row per slot, so copying, clipping, updating or saving a player is one
operation whatever the number of layers::

    weights [C, D]   slot 0 | A of layer 0 | B of layer 0 | A of layer 1 | ...
                     slot 1 | ...

Gradients are separate rows, and only players in a backward pass since the last ``zero_grad`` have one: past selves and
other idle players cost only storage.

Left out: merging into the base (its weights never change, which ``base_hash`` proves), dropout, ranks that differ
between players or layers. The file is longer than most: it is one class, around its tensors.
"""

from __future__ import annotations

import hashlib
import math
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from ...errors import UnknownName, UsageError
from .breeding import mixture, mutated
from .files import check_config, read_adapter, scaling, target_layers, write_adapter
from .gradients import Gradients, split
from .routing import AdaptedLayer, Route, RoutingState, hooked, take_off

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel

__all__ = ["LoraBank"]


class LoraBank:
    """LoRA adapters of many players for one base model.

    The base model is frozen (``requires_grad`` off) and gets forward hooks; outside ``route`` its outputs do not
    change. One model may have several banks, e.g. of different ranks.

    Args:
        model: a causal language model of transformers. The bank lives on its device and computes in its dtype; master
            weights are float32.
        lora_config: rank, scale, targets and initialisation. Fields that the bank doesn't support are refused.
        players: names; the first gets slot 0, and so on.
        seed: of the initial A matrices; each player's depend only on the seed and its name.

    Attributes:
        model, config: as given.
        layers: the adapted layers, in the model's order.
        players: name -> slot. Read-only.
        versions: name -> how often its weights have been changed since it was added. Read-only.
        births: name -> a number that changes whenever its weights are set rather than trained (added, reset, copied,
            loaded): optimizer state belongs to one birth. Read-only.
        loads: how often ``load_state_dict`` has replaced everything, including the counts above. Read-only.

    Raises:
        UsageError: an unsupported LoraConfig field, no matching layer, or an invalid name.
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
        # Hooks refer to the adapters, so a garbage-collected bank must remove its hooks from a model that lives on.
        self._unhook = weakref.finalize(self, take_off, model, hooked(model, self.layers, self._state), self._state)
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
        """Context in which row b of every batch is computed by player ``index[b]``.

        Routes nest, and the innermost applies. Backward passes may run outside; recomputation under gradient
        checkpointing uses the route of its forward pass. Don't change the weights inside.

        Args:
            index: [B] slots or names; -1 is the base model alone.

        Raises:
            UnknownName: no such player.
            UsageError: no such slot, or an index that isn't one integer or name per row. Inside: a batch with another
                number of rows.
        """
        plan = Route(self.slots(index), self.device)
        with self._state.enter(plan):
            yield

    def slots(self, index: torch.Tensor | Sequence[int] | Sequence[str]) -> list[int]:
        """Check an index [B] of slots or names, and return it as slots."""
        if isinstance(index, torch.Tensor):
            if index.dim() != 1 or index.is_floating_point() or index.dtype == torch.bool:
                raise UsageError(
                    f"bank.route needs [B] integers, one per row, not {tuple(index.shape)} of {index.dtype}."
                )
            index = index.tolist()
        if isinstance(index, str):
            raise UsageError(f"bank.route needs one player per row, not a single name: write [{index!r}] * rows.")
        slots = [self.slot(x) if isinstance(x, str) else int(x) for x in index]
        taken = set(self.players.values())
        for slot in set(slots):
            if slot != -1 and slot not in taken:
                raise UsageError(f"No player has slot {slot}. The slots are {self.players}; -1 is the base model.")
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

        Models of transformers don't need it: the bank binds their checkpointed layers to the route.
        """
        route = self._state.route
        return self._state.enter(route), self._state.enter(route)

    def detach(self) -> None:
        """Remove the hooks from the base model; the bank then can't route any more. Garbage collection does it too."""
        self._unhook()

    # -- players ------------------------------------------------------------------------------------------------------

    def add(self, name: str, init_from: str | None = None) -> int:
        """Add a player; if no slot is free, the capacity doubles. The weights of the others stay bit-equal.

        Args:
            name: a new name.
            init_from: a player whose weights to copy; None starts with a fresh adapter (see ``reset``).

        Returns:
            Its slot.

        Raises:
            UsageError: the name is empty or taken.
            UnknownName: there is no player ``init_from``.
        """
        if not isinstance(name, str) or not name:
            raise UsageError(f"A player needs a name, not {name!r}.")
        if name in self.players:
            raise UsageError(f"There is already a player {name!r}: reset it, or use another name.")
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

    def shrink(self) -> None:
        """Give memory back where three quarters of the slots or more are free; players may change slots.

        Gradients are lost: call it between updates.
        """
        capacity = self.capacity
        while capacity >= 4 * max(1, len(self.players)):
            capacity //= 2
        if capacity == self.capacity:
            return
        smaller = torch.zeros(capacity, self._width, device=self.device)
        for slot, old in enumerate(self.players.values()):
            smaller[slot] = self._weights[old]
        self.players = {name: slot for slot, name in enumerate(self.players)}
        self._weights = smaller
        self._grads.forget()
        self._attach()

    def reset(self, name: str, seed: int | None = None) -> None:
        """Give a player a fresh adapter, initialised as ``init_lora_weights`` says.

        Args:
            name: the player.
            seed: None takes the bank's, which gives a fresh player its initial weights again.
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

    def breed(
        self,
        child: str,
        parents: Mapping[str, float],
        *,
        mutation: float = 0.0,
        layers: Sequence[str] = (),
        seed: int = 0,
    ) -> None:
        """Overwrite a player with a mixture of adapters.

        Args:
            child: the player; may be a parent too.
            parents: name -> weight, above 0; the weights are divided by their sum.
            mutation: normal noise on every tensor, in root mean squares of its entries; 0: none.
            layers: parts of layers' names, such as ``layers.0.`` or ``q_proj``: only these are mixed and mutated, the
                others are the first parent's. Empty: all.
            seed: of the noise.

        Raises:
            UnknownName: no such player.
            UsageError: no parents, a weight or mutation out of bounds, or layers that match none or are one string.
        """
        if isinstance(layers, str):
            raise UsageError(f"layers is a sequence of parts of names, not a string: write [{layers!r}].")
        total = sum(parents.values())
        if not parents or not all(0 < weight < math.inf for weight in parents.values()) or not 0 <= mutation < math.inf:
            raise UsageError(
                f"A child needs parents with weights above 0 and a mutation of at least 0, not {parents!r}, {mutation}."
            )
        for part in layers:
            if not any(part in layer.name for layer in self.layers):
                raise UsageError(
                    f"No layer's name contains {part!r}; the first layers are {[x.name for x in self.layers[:3]]}."
                )
        self.slot(child)
        slots = [self.slot(name) for name in parents]
        row = self._weights[slots[0]].clone()
        generator = torch.Generator().manual_seed(_derived_seed(seed, child))
        for layer, (A, B) in zip(self.layers, split(row[None], self._shapes), strict=True):
            if layers and not any(part in layer.name for part in layers):
                continue
            pair = mixture([(layer.A[s], layer.B[s]) for s in slots], [w / total for w in parents.values()])
            A[0], B[0] = mutated(pair, mutation, generator) if mutation else pair
        self._set(child, row)

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
        """[D] float32, the gradient of ``weights(name)``, valid until ``zero_grad``. Zeros if there is none."""
        return self._grads.row(self.slot(name))

    def zero_grad(self) -> None:
        """Drop all gradients and free their memory."""
        self._grads.forget()

    @property
    def grad_nbytes(self) -> int:
        """Bytes that gradients take."""
        return sum(row.numel() * row.element_size() for row in self._grads.rows.values())

    def _attach(self) -> None:
        """Point every layer at its part of a new flat tensor."""
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
        """Everything needed to continue exactly, without gradients. Tensors are copies."""
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
        """Replace everything by a ``state_dict``: players, slots, versions, weights.

        Raises:
            UsageError: the state is from a bank with other layers or another rank.
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
        """Overwrite a player with a peft adapter of the same rank, scale and layers; a new name adds a player.

        Raises:
            ModelError: there is no readable adapter. UsageError: it doesn't fit the bank.
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


def _derived_seed(seed: int, name: str) -> int:
    """A 63-bit hash of seed and name, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest(), "little") >> 1
