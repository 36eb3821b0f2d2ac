"""The configuration of a run that trains on a task of episodes; ``config.py`` reads and writes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .fields import Configuration, Flag, Natural, Number, Positive, Rate, Share, Weight, merge
from .sections import LossConfig, OptimizerConfig, PolicyConfig

__all__ = [
    "EpisodeCreditConfig",
    "EpisodesConfig",
    "LimitsConfig",
    "TaskBudgetConfig",
    "TaskConfig",
    "TaskPolicyConfig",
]


@dataclass(frozen=True)
class TaskPolicyConfig:
    """The model. Temperature and length of answers belong to the task's roles.

    Attributes:
        model: tiny, smollm2, a folder, a .gguf file or a hub id.
        template: chat, the model's own chat template; compact, bare lines; auto: compact for byte-level models.
        lora_r: rank of the adapters.
        lora_alpha: their updates are scaled by lora_alpha / lora_r.
        target_modules: the layers to adapt: all-linear, or names separated by commas.
        dtype: of the model; auto: the saved one on a GPU, float32 on a CPU unless the model is large.
        device: cpu, cuda, cuda:1 or mps.
        gradient_checkpointing: learn with less memory and more time.
        batch_tokens: most tokens in one forward pass; fewer need less memory.
    """

    model: str = "tiny"
    template: Literal["auto", "compact", "chat"] = "auto"
    lora_r: Positive = 16
    lora_alpha: Positive = 32
    target_modules: str = "all-linear"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    device: str = "cpu"
    gradient_checkpointing: Flag = False
    batch_tokens: Positive = 16384

    @property
    def policy(self) -> PolicyConfig:
        """The same model for ``build_policy``."""
        return PolicyConfig(**dataclasses.asdict(self))


@dataclass(frozen=True)
class EpisodesConfig:
    """How episodes run.

    Attributes:
        concurrency: most episodes that run at once.
        timeout: seconds after which an episode counts as failed.
        transcripts: most trees of episodes per update whose words are kept for `coterie view`.
    """

    concurrency: Positive = 64
    timeout: Rate = 600.0
    transcripts: Natural = 16


@dataclass(frozen=True)
class EpisodeCreditConfig:
    """How rewards become advantages.

    Attributes:
        credit: what a role's reward is compared with. grpo: the same role among the siblings of its episode; rae: a
            running mean per role; global: one running mean for all; turn: each step's return, normalised per role;
            episodic: the baseline below; constant: every step gets the advantage 1.
        scale_rewards: divide by the deviation of the group, of the batch, or by nothing (grpo).
        rae_decay: share of the running mean that each episode keeps (rae, global).
        reward_baseline: what is subtracted from rewards (episodic).
        positive_only: learn only from what was better than the baseline (episodic).
    """

    credit: Literal["grpo", "rae", "global", "turn", "episodic", "constant"] = "grpo"
    scale_rewards: Literal["group", "batch", "none"] = "none"
    rae_decay: Share = 0.95
    reward_baseline: Number = 0.0
    positive_only: Flag = False


@dataclass(frozen=True)
class LimitsConfig:
    """When a learner counts as broken. A sole learner then ends the run; one of several is set back.

    Attributes:
        max_illegal: the share of illegal answers stays above this.
        min_entropy: the entropy (nats) stays below this.
        patience: updates in a row after which such a share or entropy counts.
        max_kl: one update moves the policy further than this many nats per decision.
        sound_every: updates between the versions that learners are set back to.
    """

    max_illegal: Number = 0.95
    min_entropy: Number = 0.001
    patience: Positive = 10
    max_kl: Number = 1.0
    sound_every: Positive = 25


@dataclass(frozen=True)
class TaskBudgetConfig:
    """When to save, to stop and to evaluate. Nothing here changes what is learned in an update.

    Attributes:
        updates: stop after this many learner updates.
        minutes: stop after this many minutes of wall-clock time, counted anew after a resume; 0: no limit.
        checkpoint_every: updates between two checkpoints.
        eval_every: updates between two evaluations on held-out requests, besides that after the last one; 0: never.
        eval_batches: an evaluation plays the requests of this many updates, always the same ones.
    """

    updates: Positive = 100
    minutes: Weight = 0.0
    checkpoint_every: Positive = 10
    eval_every: Natural = 25
    eval_batches: Positive = 1


@dataclass(frozen=True)
class TaskConfig(Configuration):
    """A run on a task.

    Attributes:
        task: its name; several joined by + are mixed.
        seed: of adapters, episodes and sampling.
        threads: torch threads; 0 takes all cores. Bit-equal results need the same number.
        set: the task's own options, e.g. batch=16; `coterie train TASK --help` lists them as flags.
    """

    task: str = "proposer_solver"
    seed: Natural = 0
    threads: Natural = 0
    set: tuple[str, ...] = ()
    policy: TaskPolicyConfig = field(default_factory=TaskPolicyConfig)
    episodes: EpisodesConfig = field(default_factory=EpisodesConfig)
    credit: EpisodeCreditConfig = field(default_factory=EpisodeCreditConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    budget: TaskBudgetConfig = field(default_factory=TaskBudgetConfig)

    @classmethod
    def preset(cls, task: str, defaults: Mapping[str, Any]) -> TaskConfig:
        """The configuration that ``coterie train TASK`` starts from, given the task's own defaults."""
        return merge(cls(task=task), defaults)

    @property
    def game(self) -> str:
        """What the run is of."""
        return self.task

    @property
    def free(self) -> tuple[str, ...]:
        """Fields that may change between stop and resume: no weight depends on them."""
        return ("budget", "threads", "episodes")
