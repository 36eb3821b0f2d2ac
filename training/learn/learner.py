"""One learner step: a few passes over a batch of decisions, with one AdamW per player, then statistics of the result.

Any number of players learn in one step, each as if alone: every player has its own mini-batches, learning rate, early
stop and breakdown. The statistics of a policy describe it *after* the update.

Letters: D decisions.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...agents.core import Tokens
from ...agents.engines.learning import AdamParams, Batch, Objective
from ...agents.engines.protocol import Engine
from ...errors import CollapseError, UsageError
from ..runs.config import LossConfig, OptimizerConfig
from .objectives import Clipped

__all__ = ["Learner"]

SHARE, FEWEST, MOST = 8, 32, 256
"""After an update, one in ``SHARE`` of a player's decisions, but from ``FEWEST`` to ``MOST``, are scored again for the
statistics of the new policy. (seed, update) determines the sample."""

MOST_WEIGHT = 2.0
"""The largest weight of a token if sampler and learner differ (truncated importance sampling).

Source: Yao et al. 2025, Your efficient RL framework secretly brings you off-policy RL training; TRL's default."""

AFTER = ("entropy", "approx_kl", "ratio", "clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean")
"""Statistics of the policy after the update; all others are means over the update's steps."""


class Learner:
    """Turns decisions with advantages into weights.

    Args:
        engine: scores and steps; the one that sampled.
        loss: the loss. schedule: learning rate, clipping and the rest of AdamW.
        schedules: by name, for players with a different one.
        free: whether decisions are made in free decoding, which has no distribution over answers.
        objective: returns the objective of an update by its number; None: the clipped family as ``loss`` configures it.
        max_completion_length: dr_grpo's constant (free decoding).
        seed: of the mini-batches.

    Attributes:
        broken: player -> error, for players whose loss or gradient was not finite in the last step, which stopped their
            updates, or whose policy is not finite after it.
    """

    def __init__(
        self,
        engine: Engine,
        loss: LossConfig,
        schedule: OptimizerConfig,
        *,
        free: bool = False,
        schedules: Mapping[str, OptimizerConfig] | None = None,
        objective: Callable[[int], Objective] | None = None,
        max_completion_length: int = 1,
        seed: int = 0,
    ) -> None:
        if not engine.describe().players:
            raise UsageError("An engine without players has nothing to train: add one, or give it a LoraBank.")
        self.engine, self.free = engine, free
        self.loss, self.schedule, self.schedules = loss, schedule, dict(schedules or {})
        self.objective = objective or self._clipped
        self.length = max_completion_length if free else 1
        self.seed = seed
        self.broken: dict[str, CollapseError] = {}
        self._check_magnet()

    def rate(self, update: int, player: str | None = None) -> float:
        """Learning rate of an update; see ``OptimizerConfig.lr_scheduler_type``."""
        return self._schedule(player).rate(update)

    def entropy_coef(self, update: int) -> float:
        """Weight of the entropy bonus in an update."""
        return self._falling(self.loss.entropy_coef, self.loss.entropy_final, update)

    def cover_coef(self, update: int) -> float:
        """Weight of the mean log-prob of all answers in an update; 0 in free decoding, which can't list its answers."""
        return 0.0 if self.free else self._falling(self.loss.cover_coef, self.loss.cover_final, update)

    def imitation_coef(self, update: int) -> float:
        """Weight of the cross-entropy to a teacher's answers in an update."""
        return self._falling(self.loss.imitation_coef, self.loss.imitation_final, update)

    def _falling(self, first: float, last: float, update: int) -> float:
        updates = self.loss.entropy_decay_updates
        return first + (last - first) * min(1.0, update / updates) if updates else first

    def step(
        self, records: Sequence[Tokens], advantages: NDArray[np.float64], keep: NDArray[np.bool_], update: int
    ) -> dict[str, dict[str, float]]:
        """Train all players whose decisions are given.

        A player whose loss or gradient is not finite takes no further step and is put into ``broken``; the others
        continue.

        Args:
            records: D decisions.
            advantages: [D] float.
            keep: [D] bool; decisions that are not kept count in the entropy, cover, imitation and magnet terms only.
            update: number of this update, from 0.

        Returns:
            Player -> learning_rate, stale (share dropped), trained (decisions); means over its steps of loss,
            policy_loss, kl (beta > 0), grad_norm; entropy, approx_kl, ratio and clip_ratio/... of the policy after the
            update; sampling/sampling_logp_difference/mean, nats per token (free decoding in half precision, where old
            log-probs are recomputed); cut_short (1.0, if ``target_kl`` ended its update), broken (1.0).
        """
        self.broken = {}
        owner = np.array([r.lora for r in records], np.str_)
        self._check_magnet()
        if self.loss.magnet_coef:
            self._move_magnets(np.unique(owner).tolist(), update)
        told = self.engine.describe()
        versions = dict(told.players)
        fresh = np.array([versions[r.lora] - r.version <= self.loss.max_lag for r in records], np.bool_)
        kept = keep & fresh
        stats = {
            name: {
                "learning_rate": self.rate(update, name),
                "stale": 1.0 - float(fresh[owner == name].mean()),
                "trained": float(kept[owner == name].sum()),
            }
            for name in np.unique(owner).tolist()
        }
        rows = np.flatnonzero(fresh if self._of_all(update) else kept)
        advantages = np.where(kept, advantages, 0.0)
        weights = None
        if self.free and told.dtype not in ("", "float32"):
            records, weights, gaps = self._corrected(records)
            for name, own in stats.items():
                own["sampling/sampling_logp_difference/mean"] = float(np.mean(gaps[owner == name]))
        steps = self._passes(records, advantages, kept, rows, update, weights)
        for name, shown in steps.items():
            means = {key: None for row in shown for key in row if key not in AFTER}
            stats[name] |= {key: float(np.mean([row[key] for row in shown if key in row])) for key in means}
        for name, after in self._look(records, advantages, np.flatnonzero(fresh), update).items():
            stats[name] |= {key: after[key] for key in AFTER if key in after}
        for name in self.broken:
            stats[name]["broken"] = 1.0
        return stats

    def _check_magnet(self) -> None:
        if self.loss.magnet_coef and self.free:
            raise UsageError(
                f"magnet_coef is {self.loss.magnet_coef:g}, but free answers can't be listed, which the KL to a magnet "
                "needs: set it to 0, or use choice decoding."
            )

    def _move_magnets(self, names: Sequence[str], update: int) -> None:
        """Set the players' magnets to what they are now, every ``magnet_every`` updates."""
        known = dict(self.engine.describe().players)
        for name in names:
            if f"{name}@magnet" not in known:
                self.engine.add(f"{name}@magnet", init_from=name)
            elif update % self.loss.magnet_every == 0:
                self.engine.copy(name, f"{name}@magnet")

    def forget(self, names: Sequence[str]) -> None:
        """Remove the magnets of players whose weights were replaced: they get new ones when they learn again."""
        known = dict(self.engine.describe().players)
        for name in names:
            if f"{name}@magnet" in known:
                self.engine.remove(f"{name}@magnet")

    def _passes(
        self,
        records: Sequence[Tokens],
        advantages: NDArray[np.float64],
        keep: NDArray[np.bool_],
        rows: NDArray[np.int64],
        update: int,
        weights: Sequence[Sequence[float]] | None,
    ) -> dict[str, list[dict[str, float]]]:
        """All optimizer steps of an update; returns the statistics of each player's steps."""
        shown: dict[str, list[dict[str, float]]] = defaultdict(list)
        parts = [rows[part] for part in self._split([records[d] for d in rows.tolist()], update)]
        objective = self.objective(update)
        batches: dict[int, Batch] = {}
        ended: set[str] = set()  # players cut short or broken
        for _ in range(self.loss.num_iterations):
            for m, part in enumerate(parts):
                if m not in batches or not ended.isdisjoint(batches[m].players):
                    mine = part[[records[d].lora not in ended for d in part.tolist()]] if ended else part
                    factors = None if weights is None else [weights[d] for d in mine.tolist()]
                    batches[m] = Batch([records[d] for d in mine], advantages[mine], keep[mine], factors)
                for name, row in self._descend(batches[m], objective, update).items():
                    shown[name].append(row)
                    if "cut_short" in row or name in self.broken:
                        ended.add(name)
        return shown

    def _corrected(self, records: Sequence[Tokens]) -> tuple[list[Tokens], list[list[float]], NDArray[np.float64]]:
        """The decisions with the learner's log-probs, a weight for each, and the mean distance [D] in nats."""
        found = [scored.logprobs for scored in self.engine.score(records)]
        gaps = [np.subtract(new, r.logprobs) for new, r in zip(found, records, strict=True)]
        weights = [np.minimum(np.exp(gap), MOST_WEIGHT).tolist() for gap in gaps]
        told = [dataclasses.replace(r, logprobs=new) for new, r in zip(found, records, strict=True)]
        return told, weights, np.array([np.abs(gap).mean() for gap in gaps])

    def _split(self, records: Sequence[Tokens], update: int) -> list[NDArray[np.int64]]:
        """Rows of each mini-batch. Rows with the same prompt stay together, so that it is still scored once.

        (seed, update) and the player's own prompts determine which mini-batch a prompt is in.
        """
        count = self.loss.num_mini_batches
        if count == 1 or not records:
            return [np.arange(len(records))] if records else []
        numbers: dict[str, dict[tuple[int, ...], int]] = defaultdict(dict)
        question = [numbers[r.lora].setdefault(r.prompt, len(numbers[r.lora])) for r in records]
        parts = {
            name: np.random.default_rng([self.seed, update]).permutation(len(mine)) % count
            for name, mine in numbers.items()
        }
        part = np.array([parts[r.lora][q] for r, q in zip(records, question, strict=True)])
        return [rows for m in range(count) if (rows := np.flatnonzero(part == m)).size]

    def _descend(self, data: Batch, objective: Objective, update: int) -> dict[str, dict[str, float]]:
        """One optimizer step; none for players past ``target_kl`` or with a loss that is not finite."""
        stats, broken = self.engine.forward_backward(data, objective)
        self.broken |= broken
        steps = {}
        for name, shown in stats.items():
            if 0 < self.loss.target_kl < shown.get("approx_kl", 0.0):
                shown["cut_short"] = 1.0
            else:
                own = self._schedule(name)
                limit, betas = own.max_grad_norm or float("inf"), (own.beta1, own.beta2)
                steps[name] = AdamParams(own.rate(update), limit, betas, own.weight_decay)
        for name, norm in self.engine.optim_step(steps).items():
            stats[name]["grad_norm"] = norm
            if not np.isfinite(norm):
                self.broken[name] = CollapseError(
                    f"The gradient of {name} is not finite ({norm}) at update {update}. Lower learning_rate, or resume."
                )
        return stats

    def _look(
        self, records: Sequence[Tokens], advantages: NDArray[np.float64], rows: NDArray[np.int64], update: int
    ) -> dict[str, dict[str, float]]:
        """Statistics of the current policy over a sample of the decisions that were not stale, kept or not.

        Explored answers are left out: the KL estimate is not valid on them.
        """
        rows = np.array([d for d in rows.tolist() if not records[d].explored], np.int64)
        owner = np.array([records[d].lora for d in rows.tolist()], np.str_)
        chosen = []
        for name in np.unique(owner).tolist():
            mine = rows[owner == name]
            size = min(len(mine), max(FEWEST, min(len(mine) // SHARE, MOST)))
            rng = np.random.default_rng([self.seed, update, size])
            chosen.extend(
                np.sort(rng.choice(mine, size, replace=False)).tolist() if size < len(mine) else mine.tolist()
            )
        if not chosen:
            return {}
        data = Batch([records[d] for d in chosen], advantages[chosen], np.ones(len(chosen), np.bool_))
        found, broken = self.engine.forward_backward(data, self._clipped(update, plain=True), backward=False)
        self.broken = broken | self.broken
        return found

    def _clipped(self, update: int, *, plain: bool = False) -> Clipped:
        """The clipped objective as configured; ``plain``: the policy term alone, for statistics."""
        loss, level = self.loss, self.loss.importance_sampling_level
        bare = Clipped(loss.loss_type, loss.epsilon, loss.epsilon_high or None, 0.0, level, self.length)
        if plain:
            return bare
        bonus, cover, imitation = self.entropy_coef(update), self.cover_coef(update), self.imitation_coef(update)
        return dataclasses.replace(
            bare, beta=loss.beta, bonus=bonus, cover=cover, imitation=imitation, magnet=loss.magnet_coef
        )

    def _of_all(self, update: int) -> bool:
        """Whether decisions that are not kept take part in the loss."""
        coefs = (self.entropy_coef(update), self.cover_coef(update), self.imitation_coef(update), self.loss.magnet_coef)
        return any(coefs)

    def _schedule(self, player: str | None) -> OptimizerConfig:
        return self.schedules.get(player or "", self.schedule)
