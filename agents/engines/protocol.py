"""The engine protocol, which local models, servers and mocks for tests follow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .base import Answer, Ask, Datum
from .learning import AdamParams, Batch, Objective, Passed, Scored

__all__ = ["Description", "Engine", "Players"]


@dataclass(frozen=True)
class Description:
    """The model behind an engine.

    Attributes:
        model: id of the base model.
        hash: of its weights; ``""`` if the engine doesn't know.
        dtype, device: of the weights; ``""`` if the engine doesn't know.
        players: (name, version) of each player; the version counts its updates.
    """

    model: str
    hash: str = ""
    dtype: str = ""
    device: str = ""
    players: tuple[tuple[str, int], ...] = ()


class Players(Protocol):
    """Players by name, with all that they need to learn on: what a run keeps, whatever kind of model they have."""

    def describe(self) -> Description:
        """The model behind the players, and their versions."""
        ...

    def add(self, name: str, init_from: str | None = None) -> object:
        """Add a player with fresh weights, or with another's."""
        ...

    def remove(self, name: str) -> None:
        """Remove a player."""
        ...

    def copy(self, src: str, dst: str, *, moments: bool = False) -> None:
        """Overwrite the weights of player ``dst`` with those of ``src``; ``moments``: its optimizer's state too."""
        ...

    def reset(self, name: str) -> None:
        """Give a player its initial weights again, and no optimizer's state."""
        ...

    def breed(
        self,
        child: str,
        parents: Mapping[str, float],
        *,
        mutation: float = 0.0,
        layers: Sequence[str] = (),
        seed: int = 0,
    ) -> None:
        """Overwrite a player with a mixture of others, see ``LoraBank.breed``; it has no optimizer's state then."""
        ...

    def save(self, name: str, folder: str | os.PathLike[str]) -> None:
        """Write a player's weights; an adapter in peft's format."""
        ...

    def load(self, name: str, folder: str | os.PathLike[str]) -> None:
        """Overwrite a player with saved weights; a new name adds a player."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Copies of everything that learning continues from, as nested data for ``torch.save`` by file stem."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace everything by what ``state_dict`` returned; other keys are ignored."""
        ...


class Engine(Players, Protocol):
    """Answers asks, and may learn: a model on this machine, a server, a mock for tests.

    Engines that can't learn raise UsageError in everything but ``describe`` and ``sample``.
    """

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer every ask.

        Raises:
            UsageError: an invalid ask, or one that this engine can't answer.
            EngineError: the engine failed.
        """
        ...

    def score(self, data: Sequence[Datum]) -> list[Scored]:
        """Score decisions with the current weights, whichever model made them. No gradients."""
        ...

    def forward_backward(self, data: Batch, objective: Objective, *, backward: bool = True) -> Passed:
        """Compute the players' gradients of an objective; they replace all earlier gradients.

        Args:
            data: the decisions to learn from.
            objective: called for each player in each pack; if it raises ``CollapseError`` for a player, that player is
                left out of the backward pass from then on, and the others are not affected.
            backward: False computes only the statistics, and leaves the gradients unchanged.
        """
        ...

    def optim_step(self, steps: Mapping[str, AdamParams]) -> dict[str, float]:
        """Update each named player by its gradient and raise its version; then clear all gradients.

        Returns:
            Player -> norm of its gradient before clipping. If that isn't finite, the player was not updated.
        """
        ...
