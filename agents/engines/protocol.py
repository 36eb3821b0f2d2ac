"""Who runs a model: the protocol that local models, servers and stand-ins for tests follow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from .base import Answer, Ask, Datum
from .learning import AdamParams, Batch, Objective, Passed, Scored

__all__ = ["Description", "Engine"]


@dataclass(frozen=True)
class Description:
    """Who answers.

    Attributes:
        model: id of the base model.
        hash: of its weights; ``""`` where the engine can't know.
        dtype, device: of the weights; ``""`` where the engine can't know.
        players: versions of the players it has, by name: how often each was updated.
    """

    model: str
    hash: str = ""
    dtype: str = ""
    device: str = ""
    players: tuple[tuple[str, int], ...] = ()


class Engine(Protocol):
    """Whoever answers asks, and may learn: a model on this machine, a server, a stand-in for tests.

    Engines that can't learn raise UsageError in everything but ``describe`` and ``sample``.
    """

    def describe(self) -> Description:
        """Who answers."""
        ...

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer every ask.

        Raises:
            UsageError: an ask that no engine, or not this one, can answer.
            EngineError: the engine broke down.
        """
        ...

    def score(self, data: Sequence[Datum]) -> list[Scored]:
        """What the model makes of decisions with the weights it now has, whoever's model made them. No gradients."""
        ...

    def forward_backward(self, data: Batch, objective: Objective, *, backward: bool = True) -> Passed:
        """Leave the gradients of an objective with the players; what was there before is forgotten.

        Args:
            data: what is learned from.
            objective: is called for each player in each pack; a player for whom it raises ``CollapseError`` is left out
                of the backward pass from there on, and the others don't notice.
            backward: False computes the statistics alone, and leaves the gradients as they are.
        """
        ...

    def optim_step(self, steps: Mapping[str, AdamParams]) -> dict[str, float]:
        """Each player named follows its gradient and has a new version; then all gradients are forgotten.

        Returns:
            Player -> norm of its gradient before it was shortened. Where that isn't finite, the player did not move.
        """
        ...

    def add(self, name: str, init_from: str | None = None) -> object:
        """Add a player with a fresh adapter, or with another's weights."""
        ...

    def remove(self, name: str) -> None:
        """Remove a player."""
        ...

    def copy(self, src: str, dst: str) -> None:
        """Overwrite the weights of player ``dst`` with those of ``src``."""
        ...

    def save(self, name: str, folder: str | os.PathLike[str]) -> None:
        """Write a player as a peft adapter."""
        ...

    def load(self, name: str, folder: str | os.PathLike[str]) -> None:
        """Overwrite a player (added where it isn't there) with a peft adapter."""
        ...
