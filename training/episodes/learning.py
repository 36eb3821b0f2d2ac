"""From the trees of an update to new weights: one learner step for all players of each model, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...agents.engines.protocol import Engine, Players
from ..learn.learner import Learner
from ..population.health import Health
from ..runs.config import LossConfig, OptimizerConfig
from ..runs.rows import means
from ..runs.task_config import LimitsConfig
from .credit import Credited
from .records import GenerateResult, TrainingRecord
from .role import Role

__all__ = ["Learning", "earned", "summary"]


@dataclass(frozen=True)
class _Live:
    """The players of one engine that learn."""

    players: Players
    live: list[str]


class Learning:
    """Trains the players of one model.

    Args:
        engine: its engine. roles: those that it answers.
        loss, optimizer: how players learn. limits: when one is broken.
        seed: of the mini-batches.
        others: players that learn with other models.

    Attributes:
        live: names of the players that learn.
    """

    def __init__(
        self,
        engine: Engine,
        roles: Sequence[Role],
        loss: LossConfig,
        optimizer: OptimizerConfig,
        limits: LimitsConfig,
        seed: int,
        others: int = 0,
    ) -> None:
        self.engine = engine
        trained = [role for role in roles if role.trainable]
        self.live = list(dict.fromkeys(role.adapter or "" for role in trained))
        self.longest = max((role.max_tokens for role in trained), default=1)
        self.learner = Learner(engine, loss, optimizer, schedules=optimizer.own, seed=seed)
        self.health = Health(limits, _Live(engine, self.live), limits.sound_every, others)

    def step(self, records: Sequence[TrainingRecord], update: int) -> dict[str, dict[str, float]]:
        """One update of all players that have records; returns ``Learner.step``'s figures by player."""
        if not records:
            return {}
        self.learner.free = any(record.datum.kind == "free" for record in records)
        self.learner.length = self.longest if self.learner.free else 1
        advantages = np.array([record.advantage for record in records], np.float64)
        keep = np.array([record.keep for record in records], np.bool_)
        return self.learner.step([record.datum for record in records], advantages, keep, update)

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint; the weights are the engine's."""
        return {"low": self.health.guards.low, "sound": self.health.sound.updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self.health.guards.low = {name: dict(low) for name, low in state["low"].items()}
        self.health.sound.updates = dict(state["sound"])


def summary(
    results: Sequence[GenerateResult],
    records: Sequence[TrainingRecord],
    roles: Mapping[str, Role],
    credited: Credited,
    stats: Mapping[str, Mapping[str, float]],
    calls: Sequence[int],
    seconds: tuple[float, float],
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The figures of an update, and those of each player who learned in it; names as in runs of games.

    Args:
        results: the roots.
        records: what was learned from.
        roles: by id.
        credited: groups.
        stats: by player, see ``Learner.step``.
        calls: the number of questions in every call of an engine.
        seconds: of the rollouts and of the rest.
    """
    nodes = [result for root in results for result in root.walk()]
    failed = [result for result in nodes if result.error]
    paid: dict[str, list[float]] = {}
    for result in nodes:
        if result.is_trainable:
            for role, reward in result.rewards.items():
                if role in roles and roles[role].trainable:
                    paid.setdefault(role, []).append(reward)
    players = {}
    for name, shown in stats.items():
        own = [role.id for role in roles.values() if role.trainable and role.adapter == name]
        mine = [record for record in records if record.datum.lora == name]
        players[name] = _figures([r for role in own for r in paid.get(role, ())], mine) | dict(shown)
    row = {
        **_figures([reward for rewards in paid.values() for reward in rewards], records),
        "episodes": len(nodes),
        "failed": len(failed),
        "kept_groups": (credited.groups - credited.flat_groups) / credited.groups if credited.groups else 0.0,
        "calls": len(calls),
        "batch_size": float(np.mean(calls)) if len(calls) else 0.0,
        "decisions_per_second": len(records) / max(sum(seconds), 1e-9),
        "step_time": sum(seconds),
        "rollout_seconds": seconds[0],
        "learn_seconds": seconds[1],
        **means(stats),
        "task": {f"reward/{role}": float(np.mean(rewards)) for role, rewards in sorted(paid.items())},
    }
    if failed:
        row["notes"] = [f"{len(failed)} of {len(nodes)} episodes failed. The first: {failed[0].error}"]
    return row, players


def earned(results: Sequence[GenerateResult], roles: Mapping[str, Role]) -> dict[str, Any]:
    """What trainable roles were paid in trees that nobody learns from; see ``Arena.evaluate``."""
    nodes = [result for root in results for result in root.walk()]
    paid: dict[str, list[float]] = {}
    for result in nodes:
        for role, reward in result.rewards.items():
            if not result.error and role in roles and roles[role].trainable:
                paid.setdefault(role, []).append(reward)
    everything = [reward for rewards in paid.values() for reward in rewards]
    return {
        "episodes": len(nodes),
        "failed": sum(bool(result.error) for result in nodes),
        "reward": float(np.mean(everything)) if everything else 0.0,
        "figures": {f"reward/{role}": float(np.mean(rewards)) for role, rewards in sorted(paid.items())},
    }


def _figures(rewards: Sequence[float], records: Sequence[TrainingRecord]) -> dict[str, Any]:
    count = max(1, len(records))
    return {
        "reward": float(np.mean(rewards)) if rewards else 0.0,
        "reward_std": float(np.std(rewards, ddof=1)) if len(rewards) > 1 else 0.0,
        "illegal": sum(r.datum.kind != "free" and r.datum.chosen < 0 for r in records) / count,
        "decisions": len(records),
        "completions/mean_length": sum(len(r.datum.completion) for r in records) / count,
        "frac_reward_zero_std": sum(not r.keep for r in records) / count,
    }
