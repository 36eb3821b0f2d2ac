"""A task: roles, episodes, and what an update plays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....errors import UsageError
from ..arena import Arena, Metrics, Playable, Source
from ..records import EpisodeRequest, GenerateResult
from ..role import Role
from ..store import ArtifactStore

__all__ = ["Task", "averages", "check_counts", "compared", "drawn", "seeded"]


@dataclass(frozen=True)
class Task:
    """Something to train on. ``a + b`` is a task whose updates play those of both; equal roles are shared.

    Attributes:
        name: of the task.
        roles: who takes part.
        episodes: by the name of their type.
        source: (arena, generator) -> the requests of an update.
        stores: by name.
        metrics: (the trees of an update) -> its figures by name, such as a pass rate.
        held_out: (arena, generator) -> the requests of an evaluation; None: those of ``source``, with other seeds.
    """

    name: str
    roles: tuple[Role, ...]
    episodes: Mapping[str, Playable]
    source: Source
    stores: Mapping[str, ArtifactStore] = field(default_factory=dict)
    metrics: Metrics | None = None
    held_out: Source | None = None

    def join(self, arena: Arena) -> None:
        """Register roles, episodes and stores; the arena's updates then play the task.

        Raises:
            UsageError: the arena has one of that name already.
        """
        for role in self.roles:
            arena.add_role(role)
        for name, episode in self.episodes.items():
            arena.add_episode(name, episode)
        for name, store in self.stores.items():
            arena.add_store(name, store)
        arena.source, arena.metrics, arena.held_out = self.source, self.metrics, self.held_out

    def __add__(self, other: Task) -> Task:
        """Both tasks in one.

        Raises:
            UsageError: they have different roles, episodes or stores of the same name.
        """
        roles = {role.id: role for role in self.roles}
        for kind, mine, theirs in (
            ("role", roles, {role.id: role for role in other.roles}),
            ("episode", self.episodes, other.episodes),
            ("store", self.stores, other.stores),
        ):
            for name in theirs:
                if name in mine and mine[name] != theirs[name]:
                    raise UsageError(
                        f"{self.name} and {other.name} have different {kind}s {name!r}; such tasks can't be mixed."
                    )
        return Task(
            f"{self.name}+{other.name}",
            tuple((roles | {role.id: role for role in other.roles}).values()),
            {**self.episodes, **other.episodes},
            lambda arena, rng: [*self.source(arena, rng), *other.source(arena, rng)],
            {**self.stores, **other.stores},
            lambda results: {n: v for task in (self, other) if task.metrics for n, v in task.metrics(results).items()},
            lambda arena, rng: [r for task in (self, other) for r in (task.held_out or task.source)(arena, rng)],
        )


def drawn(name: str, draw: Callable[[np.random.Generator], Any], batch: int, rollouts: int | None = None) -> Source:
    """A source of ``batch`` drawn artifacts: once each, or each ``rollouts`` times, to be compared with each other."""

    def source(arena: Arena, rng: np.random.Generator) -> list[EpisodeRequest]:
        found = [draw(rng) for _ in range(batch)]
        return [EpisodeRequest(name, one) for one in found] if rollouts is None else compared(name, found, rollouts)

    return source


def compared(name: str, artifacts: Sequence[Any], rollouts: int) -> list[EpisodeRequest]:
    """Requests of each artifact ``rollouts`` times, to be compared with each other."""
    return [EpisodeRequest(name, artifact, group=k) for k, artifact in enumerate(artifacts) for _ in range(rollouts)]


def seeded(name: str, batch: int, rollouts: int) -> Source:
    """A source of ``batch`` seeds, each ``rollouts`` times, to be compared with each other.

    Raises:
        UsageError: either is below 1.
    """
    check_counts(batch=batch, rollouts=rollouts)

    def source(arena: Arena, rng: np.random.Generator) -> list[EpisodeRequest]:
        seeds = rng.integers(2**63, size=batch).tolist()
        return [EpisodeRequest(name, seed, group=seed) for seed in seeds for _ in range(rollouts)]

    return source


def check_counts(**counts: int) -> None:
    """Refuse two numbers of which one is below 1.

    Raises:
        UsageError: names both.
    """
    (one, m), (other, n) = counts.items()
    if m < 1 or n < 1:
        raise UsageError(f"{one} is {m} and {other} {n}: both must be at least 1.")


def averages(*names: str) -> Metrics:
    """Metrics of a task: the means over an update's trees of what their episodes told (``get_extras``).

    Args:
        names: of numbers; trees that don't have one, or have None, are left out.
    """

    def metrics(results: Sequence[GenerateResult]) -> dict[str, float]:
        found: dict[str, list[float]] = {}
        for result in results:
            for name in names:
                value = result.rollout.extras.get(name)
                if value is not None and not result.error:
                    found.setdefault(name, []).append(float(value))
        return {name: sum(values) / len(values) for name, values in found.items()}

    return metrics
