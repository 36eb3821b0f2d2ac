"""Roles: who speaks in an episode, and with which weights."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ...errors import UsageError

__all__ = ["Role"]


@dataclass(frozen=True, slots=True)
class Role:
    """A speaker in episodes.

    Attributes:
        id: its name in episodes and rewards.
        system_prompt: put before its prompts; empty: none.
        temperature: > 0; divides the logits.
        max_tokens: the longest answer, in tokens.
        player: the adapter that answers; roles with the same one share their weights. Empty: a trainable role has an
            adapter of its own, with the role's id as name, and a frozen one is the base model alone.
        trainable: whether the role learns from what it says; False: it is frozen.
        model: which of the arena's models answers, see ``Arena.add_model``; empty: the arena's own.

    Raises:
        UsageError: an empty id, a temperature or max_tokens that isn't above 0.
    """

    id: str
    system_prompt: str = ""
    temperature: float = 1.0
    max_tokens: int = 64
    player: str = ""
    trainable: bool = True
    model: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            raise UsageError("A role needs an id.")
        if not 0 < self.temperature < inf:
            raise UsageError(f"The temperature of role {self.id!r} is {self.temperature}; it must be above 0.")
        if self.max_tokens < 1:
            raise UsageError(f"max_tokens of role {self.id!r} is {self.max_tokens}; it must be at least 1.")

    @property
    def adapter(self) -> str | None:
        """The player that answers; None: the base model alone."""
        return self.player or (self.id if self.trainable else None)
