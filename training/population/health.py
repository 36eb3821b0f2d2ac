"""Detects players that break while they learn, and sets one of several back.

A player is broken when its loss or a gradient is not finite, when one update moves its policy too far, or when the
share of illegal answers stays too high or the entropy too low for ``patience`` updates. A missing figure changes
neither count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from ...agents.engines.protocol import Players
from ...errors import CollapseError
from ..runs.sections import BudgetConfig
from ..runs.task_config import LimitsConfig

__all__ = ["Guards", "Health", "Limits", "Sound"]


Limits: TypeAlias = BudgetConfig | LimitsConfig
"""What a healthy player keeps to."""


class Population(Protocol):
    """Players, and the names of those that learn."""

    @property
    def players(self) -> Players:
        """Their weights."""
        ...

    @property
    def live(self) -> list[str]:
        """Those that learn."""
        ...


class Guards:
    """Counts signs of a collapse, for each player.

    ``low`` holds, by player, the updates in a row with too many illegal answers and with too little entropy.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.low: dict[str, dict[str, int]] = {}

    def look(self, name: str, update: int, row: Mapping[str, Any]) -> CollapseError | None:
        """The error of a player that is broken after an update; None if it is well.

        ``row`` holds its figures ``illegal``, ``entropy`` and ``approx_kl``; any may be missing.
        """
        limits, low = self.limits, self.low.setdefault(name, {"illegal": 0, "entropy": 0})
        moved, illegal, entropy = row.get("approx_kl", 0.0), row.get("illegal"), row.get("entropy")
        if not moved <= limits.max_kl:  # nan is broken too
            return CollapseError(
                f"Update {update} moved the policy by {moved:.2f} nats per decision (max_kl {limits.max_kl}). "
                "Lower learning_rate or num_iterations."
            )
        if illegal is not None:
            low["illegal"] = low["illegal"] + 1 if illegal > limits.max_illegal else 0
        if entropy is not None:
            low["entropy"] = 0 if entropy >= limits.min_entropy else low["entropy"] + 1
        if low["illegal"] >= limits.patience:
            return CollapseError(
                f"Illegal answers stayed at {illegal:.0%} for {limits.patience} updates (max_illegal "
                f"{limits.max_illegal}). Lower learning_rate, raise beta, or use choice decoding."
            )
        if low["entropy"] >= limits.patience:
            return CollapseError(
                f"Entropy stayed at {entropy:.4f} nats for {limits.patience} updates (min_entropy "
                f"{limits.min_entropy}). Raise entropy_coef or temperature, or lower learning_rate."
            )
        return None

    def well(self, name: str) -> bool:
        """Whether the last update of a player showed no sign of a collapse."""
        return not any(self.low.get(name, {}).values())

    def forget(self, name: str) -> None:
        """Reset a player's counts."""
        self.low.pop(name, None)


class Sound:
    """Keeps the last healthy version of each player: ``main`` as ``main@sound``, with its optimizer's state.

    ``updates`` holds, by player, how many it had then.
    """

    def __init__(self, players: Players) -> None:
        self.players = players
        self.updates: dict[str, int] = {}

    def keep(self, names: Sequence[str], update: int) -> None:
        """Keep the players as they are after ``update`` updates."""
        for name in names:
            if name not in self.updates:
                self.players.add(f"{name}@sound", init_from=name)
            self.players.copy(name, f"{name}@sound", moments=True)
            self.updates[name] = update

    def forget(self, names: Sequence[str]) -> None:
        """Delete the kept versions of players that no longer learn."""
        for name in names:
            self.players.remove(f"{name}@sound")
            del self.updates[name]

    def set_back(self, name: str) -> int:
        """Set a player back to its kept version; returns the number of updates it had then."""
        self.players.copy(f"{name}@sound", name, moments=True)
        return self.updates[name]


class Health:
    """Watches all learners: if a sole learner breaks, the run ends; one of several is set back.

    Every ``every`` updates it keeps the learners that are well. ``others`` learn beside the pool, with another model.
    """

    def __init__(self, limits: Limits, pool: Population, every: int, others: int = 0) -> None:
        self.guards, self.pool, self.every = Guards(limits), pool, every
        self.sound, self.others = Sound(pool.players), others
        self.welcome(0)

    def welcome(self, done: int, renewed: Sequence[str] = ()) -> None:
        """If several learn, keep those that joined after ``done`` updates, as they may break in their first update.

        ``renewed`` are those whose weights were replaced: what they were before is forgotten.
        """
        self.sound.forget([name for name in dict.fromkeys(renewed) if name in self.sound.updates])
        for name in renewed:
            self.guards.forget(name)
        if len(self.pool.live) + self.others > 1:
            self.sound.keep([name for name in self.pool.live if name not in self.sound.updates], done)

    def look_after(
        self, update: int, players: Mapping[str, Mapping[str, Any]], broken: Mapping[str, CollapseError]
    ) -> dict[str, Any]:
        """Check all learners after an update, by their figures and the errors of those already known to be broken.

        Returns:
            With several learners, additions to the update's line of metrics: ``players``, and ``notes`` on those set
            back.

        Raises:
            CollapseError: the only learner is broken.
        """
        found = {name: broken.get(name) or self.guards.look(name, update, row) for name, row in players.items()}
        wrong = {name: error for name, error in found.items() if error is not None}
        if not self.sound.updates:
            for error in wrong.values():
                raise error
            return {}
        notes = [f"{name} is set back to update {self.sound.set_back(name)}: {error}" for name, error in wrong.items()]
        if (update + 1) % self.every == 0:
            live = self.pool.live
            self.sound.keep([name for name in live if name not in wrong and self.guards.well(name)], update + 1)
            self.sound.forget([name for name in self.sound.updates if name not in live])
        for name in wrong:
            self.guards.forget(name)
        return {"players": players} | ({"notes": notes} if notes else {})
