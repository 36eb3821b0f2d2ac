"""The configuration of a run: one frozen dataclass per object, nested; the command line is generated from it.

Names are GRPOConfig's where it has them (``learning_rate``, ``beta``, ``epsilon``, ``num_iterations``,
``num_generations``, ``loss_type``, ...); docs/losses.md lists the differences. ``presets.py`` has the values that each
game starts from; ``config.py`` reads and writes files. The file is longer than most: every flag of ``coterie train``
is found here.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from math import cos, inf, pi
from typing import Literal

from ...errors import UnknownName, UsageError
from .fields import (
    Configuration,
    Flag,
    Inner,
    Natural,
    Number,
    Part,
    Positive,
    Rate,
    Share,
    Weight,
)

__all__ = [
    "BudgetConfig",
    "CreditConfig",
    "LossConfig",
    "OptimizerConfig",
    "PolicyConfig",
    "RolloutConfig",
    "SchemeConfig",
    "TrainConfig",
]


@dataclass(frozen=True)
class PolicyConfig:
    """The language model and how it answers.

    Attributes:
        model: tiny (built in), tiny-vN, smollm2, a folder, a hub id or a .gguf file.
        decode: choice (among the legal actions), constrained (token by token), free (any text, then parsed).
        template: compact (one line), chat (rules and position as text), or auto: chat for free decoding, else compact.
        temperature: divides the logits, in sampling and in training.
        max_completion_length: longest free answer, in tokens.
        think: free decoding: ask for thoughts before the answer.
        lora_r: rank of the adapters.
        lora_alpha: the adapters' scale is lora_alpha / lora_r.
        target_modules: layers that get an adapter: all-linear, or names separated by commas.
        dtype: of the frozen base model: float32, bfloat16, or auto: bfloat16 for models of more than 50 M weights.
        device: where the model runs: cpu, cuda or mps.
        gradient_checkpointing: do not store activations within layers but recompute them in the backward pass: less
            memory, more time.
        batch_tokens: most tokens in one forward pass; fewer need less memory.
    """

    model: str = "tiny"
    decode: Literal["choice", "constrained", "free"] = "choice"
    template: Literal["auto", "compact", "chat"] = "auto"
    temperature: Rate = 1.0
    max_completion_length: Positive = 64
    think: Flag = False
    lora_r: Positive = 16
    lora_alpha: Positive = 32
    target_modules: str = "all-linear"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    device: str = "cpu"
    gradient_checkpointing: Flag = False
    batch_tokens: Positive = 16384


@dataclass(frozen=True)
class RolloutConfig:
    """The games of one update.

    Attributes:
        games: games per update; a multiple of num_generations.
        num_generations: games that share opening, seats and opponent (GRPO's group).
        opening_plies: each group starts after 0 to this many uniformly random plies.
        illegal_penalty: reward for an illegal answer (free decoding), which ends the game; the other players get 0.
        curriculum: start from positions: a name that `coterie envs GAME` lists, such as mate-in-1, or a text file with
            one position per line: [OPTION=]FILE[,HELD_OUT_FILE], such as fen=mine.txt. The learner moves first.
        max_plies: stop games after this many plies, with the rewards so far; 0: the curriculum's limit, or none without
            a curriculum.
        shaping: gridworlds: pay learners this share of the worth in rewards of what they come to hold (0 to below 1);
            evaluations never count it.
        novelty: gridworlds: reward for each cell that a learner enters for the first time in an episode; evaluations
            never count it.
        reach: gridworlds: shaping also counts what the best use within a learner's reach would bring, discounted by the
            ticks until then, so that each step on the way pays.
        explore: choice decoding: learners sample this share of their answers uniformly from the legal ones. Such an
            answer counts in full if it was better than expected, however unlikely it was, and not at all if it was
            worse. `reward` includes these games; evaluations do not explore.
        teacher: a player whose action is recorded at each decision of a learner, to imitate: a scripted player, a
            search or a run, such as forager or minimax; empty: none. --imitation-coef sets its weight.
    """

    games: Positive = 1024
    num_generations: Positive = 8
    opening_plies: Natural = 4
    illegal_penalty: Number = -1.0
    curriculum: str = ""
    max_plies: Natural = 0
    shaping: Share = 0.0
    novelty: Weight = 0.0
    reach: Flag = False
    explore: Part = 0.0
    teacher: str = ""


@dataclass(frozen=True)
class CreditConfig:
    """How returns become advantages.

    Attributes:
        credit: what a decision is compared with. state: all visits of the same position by the same seat; group:
            games with the same opening, seat and opponent (GRPO); turn: the return from here on, with the group's at
            the same turn; sibling: games that branch from one decision of an earlier game, for that decision alone;
            rae: a running mean per role; constant: 0.
        scale_rewards: divide by the deviation of the group, of the batch, or by nothing (group, turn and sibling
            credit).
        min_visits: state credit: fewest visits for a position to have its own mean.
        lam: state credit: 1 judges a decision by its game's outcome alone; less, also by the outcomes of all games
            that reached the next position (lambda-returns over the batch's own values). turn credit: what follows
            counts less by this factor per decision, as if shaping's potential were a value function.
        memory: state credit: share of a position's earlier visits that still counts one update later, so that rare
            positions have a mean too; 0: only the update's own visits count.
        gamma: discount per decision.
        rae_decay: share of the running mean that each game keeps.
    """

    credit: Literal["state", "group", "turn", "sibling", "rae", "constant"] = "state"
    scale_rewards: Literal["group", "batch", "none"] = "none"
    min_visits: Positive = 3
    lam: Part = 1.0
    memory: Share = 0.0
    gamma: Part = 1.0
    rae_decay: Share = 0.95


@dataclass(frozen=True)
class LossConfig:
    """The policy-gradient loss.

    Attributes:
        loss_type: grpo, bnpo, dr_grpo, dapo or cispo.
        importance_sampling_level: one ratio per token, or one per sequence (GSPO).
        epsilon: clipping range of the ratio.
        epsilon_high: its upper side; 0: the same as epsilon. For cispo it bounds the ratio itself, as in TRL: set it
            above 1, such as 5.
        beta: weight of the KL term against the base model.
        entropy_coef: bonus per nat of entropy at each decision, also in groups without variance.
        entropy_final: entropy_coef falls to this, linearly over entropy_decay_updates.
        cover_coef: bonus per nat of the mean log-probability of all legal answers at each decision (not in free
            decoding), which lowers the KL from the uniform choice to the policy. It keeps answers in play whose worth
            shows late: unlike that of entropy, its gradient doesn't vanish where the policy is certain.
        cover_final: cover_coef falls to this, linearly over entropy_decay_updates.
        magnet_coef: weight of the KL from the policy to its magnet, a past self, at each decision (not in free
            decoding). With entropy_coef, which is the KL to the uniform choice, this is magnetic mirror descent.
        magnet_every: updates after which the magnet becomes what the policy then is; 1: the magnet is the policy that
            played the update's games.
        imitation_coef: weight of the cross-entropy to the teacher's answers, at each decision of a learner.
        imitation_final: imitation_coef falls to this, linearly over entropy_decay_updates.
        entropy_decay_updates: updates over which entropy_coef, cover_coef and imitation_coef fall; 0: they stay
            constant.
        num_iterations: passes over each batch.
        num_mini_batches: optimizer steps per pass; each takes its share of the batch's prompts.
        target_kl: end an update early when a step finds the policy further than this from the one that sampled (nats
            per decision, over the step's mini-batch); 0: never.
        max_lag: drop decisions made by weights older than this many versions (optimizer steps).
    """

    loss_type: Literal["grpo", "bnpo", "dr_grpo", "dapo", "cispo"] = "bnpo"
    importance_sampling_level: Literal["token", "sequence"] = "token"
    epsilon: Inner = 0.2
    epsilon_high: Weight = 0.0
    beta: Weight = 0.0
    entropy_coef: Weight = 0.0
    entropy_final: Weight = 0.0
    cover_coef: Weight = 0.0
    cover_final: Weight = 0.0
    magnet_coef: Weight = 0.0
    magnet_every: Positive = 1
    imitation_coef: Weight = 0.0
    imitation_final: Weight = 0.0
    entropy_decay_updates: Natural = 0
    num_iterations: Positive = 4
    num_mini_batches: Positive = 1
    target_kl: Weight = 0.0
    max_lag: Natural = 3


@dataclass(frozen=True)
class OptimizerConfig:
    """AdamW, with a separate state for each player.

    Attributes:
        learning_rate: the learning rate after the warm-up.
        learning_rates: different values for some learners, e.g. ``main-2=3e-4,main-3=1e-4``.
        lr_scheduler_type: to_a_tenth (rises during the warm-up, and falls linearly from the first update to a tenth at
            decay_updates, where it stays), or one of transformers', counted in updates: constant (without warm-up),
            constant_with_warmup, linear and cosine (both fall to 0 at decay_updates).
        warmup_updates: updates over which the learning rate rises linearly.
        decay_updates: updates over which it falls; 0: constant after the warm-up.
        weight_decay: decoupled weight decay.
        beta1: decay of the first moment.
        beta2: decay of the second moment.
        max_grad_norm: each player's gradient is clipped to this norm; 0: no clipping.
    """

    learning_rate: Rate = 1e-3
    learning_rates: str = ""
    lr_scheduler_type: Literal["to_a_tenth", "constant", "constant_with_warmup", "linear", "cosine"] = "to_a_tenth"
    warmup_updates: Natural = 5
    decay_updates: Natural = 0
    weight_decay: Weight = 0.0
    beta1: Share = 0.9
    beta2: Share = 0.99
    max_grad_norm: Weight = 1.0

    @property
    def own(self) -> dict[str, OptimizerConfig]:
        """For each learner in ``learning_rates``: this configuration with the learner's rate.

        Raises:
            UsageError: an entry that isn't of the form name=number, or a rate that isn't above 0.
        """
        found = {}
        for part in filter(None, (part.strip() for part in self.learning_rates.split(","))):
            name, _, number = part.partition("=")
            try:
                height = float(number)
            except ValueError:
                height = 0.0
            if not 0 < height < inf:
                raise UsageError(f"learning_rates has {part!r}; write NAME=NUMBER, above 0, such as main-2=3e-4.")
            found[name] = dataclasses.replace(self, learning_rate=height)
        return found

    def rate(self, update: int) -> float:
        """Learning rate of an update, counted from 0."""
        if self.lr_scheduler_type == "to_a_tenth":
            rise = min(1.0, (update + 1) / max(1, self.warmup_updates))
            fall = max(0.1, 1.0 - 0.9 * update / self.decay_updates) if self.decay_updates else 1.0
            return self.learning_rate * rise * fall
        if self.lr_scheduler_type == "constant":
            return self.learning_rate
        if update < self.warmup_updates:
            return self.learning_rate * update / self.warmup_updates
        if self.lr_scheduler_type == "constant_with_warmup":
            return self.learning_rate
        done = min(1.0, (update - self.warmup_updates) / max(1, self.decay_updates - self.warmup_updates))
        return self.learning_rate * (1.0 - done if self.lr_scheduler_type == "linear" else (1.0 + cos(pi * done)) / 2)


@dataclass(frozen=True)
class SchemeConfig:
    """Who plays whom.

    Attributes:
        scheme: self_play, fixed, mixed, fictitious, pfsp, league, psro, oracle, pairs, round_robin or swiss.
        learners: how many players learn; their names are main, main-2, main-3 and so on. In a league: how many main
            agents.
        main_exploiters: league: how many players learn to beat the main agents.
        league_exploiters: league: how many players learn to beat all past selves.
        opponents: fixed and mixed: names with weights, e.g. ``random=1,minimax=1,self=0.5,past=0.5,runs/a=1``.
        snapshot_every: updates between two snapshots of a past self (league: at least so many, at most twice as many;
            psro: updates of a round). With several learners, one that breaks is set back to the last of these updates
            after which it was healthy.
        max_past: mixed, fictitious and oracle: past selves to keep of each learner; the oldest is removed. The other
            schemes keep all of them.
        curve: pfsp: weight of a past self by the win rate x against it: easy x, variance x(1-x), linear 1-x, capped
            min(0.5, 1-x), squared (1-x)^2.
        meta_solver: psro: what weighs the population: nash, rectified, alpha-rank or uniform.
        fresh: psro: each round begins with the learner's first weights instead of those it has.
        loaded: past selves to hold in memory; the others wait in the run's folder until they play. 0: all.
        personas: texts that stand before everything learners are asked, ``NAME=TEXT; NAME=TEXT``, e.g.
            ``main=You bluff a lot.``
    """

    scheme: str = "mixed"
    learners: Positive = 1
    main_exploiters: Positive = 1
    league_exploiters: Positive = 2
    opponents: str = "random=1,minimax=1"
    snapshot_every: Positive = 25
    max_past: Positive = 4
    curve: str = "squared"
    meta_solver: str = "nash"
    fresh: Flag = False
    loaded: Natural = 0
    personas: str = ""

    @property
    def persona(self) -> dict[str, str]:
        """Name -> what that learner is told before anything else.

        Raises:
            UsageError: an entry that isn't of the form NAME=TEXT.
        """
        found = {}
        for part in filter(None, (part.strip() for part in self.personas.split(";"))):
            name, _, text = (word.strip() for word in part.partition("="))
            if not name or not text:
                raise UsageError(f"personas has {part!r}; write NAME=TEXT, such as main=You bluff a lot.")
            found[name] = text
        return found

    @property
    def roles(self) -> dict[str, tuple[str, ...]]:
        """Names of the learners by role: ``main``, ``main-2``, ... A league has exploiters beside them."""
        counts = {"main": self.learners}
        if self.scheme == "league":
            counts |= {"main_exploiter": self.main_exploiters, "league_exploiter": self.league_exploiters}
        return {role: (role, *(f"{role}-{n}" for n in range(2, count + 1))) for role, count in counts.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all learners, those of the role ``main`` first."""
        return tuple(name for names in self.roles.values() for name in names)


@dataclass(frozen=True)
class BudgetConfig:
    """When to evaluate, to save and to stop. Nothing here changes what is learned in an update.

    With several learners, one that passes a collapse limit is set back, and the run continues.

    Attributes:
        updates: stop after this many learner updates.
        minutes: stop after this many minutes of wall-clock time, counted anew after a resume; 0: no limit.
        eval_every: updates between two evaluations (greedy, from every seat), besides that after the last one where
            ``updates`` ends the run; 0: never.
        eval_games: games against each evaluation opponent.
        eval_vs: opponents to evaluate against, separated by commas.
        exact: evaluations also compute the exact exploitability of the policy that training samples (small games).
        checkpoint_every: updates between two checkpoints.
        goal: stop when all conditions hold at an evaluation, e.g. ``'random.win>=0.92,minimax.draw>=0.99'``; empty:
            never.
        max_illegal: collapse: stop when the share of illegal answers stays above this.
        min_entropy: collapse: stop when the entropy (nats) stays below this.
        patience: updates in a row after which such a share or entropy counts as a collapse.
        max_kl: collapse: stop when one update moves the policy further than this many nats per decision.
    """

    updates: Positive = 1000
    minutes: Weight = 0.0
    eval_every: Natural = 10
    eval_games: Positive = 400
    eval_vs: str = "random"
    exact: Flag = False
    checkpoint_every: Positive = 10
    goal: str = ""
    max_illegal: Number = 0.95
    min_entropy: Number = 0.001
    patience: Positive = 10
    max_kl: Number = 1.0


@dataclass(frozen=True)
class TrainConfig(Configuration):
    """A whole run.

    Attributes:
        game: id or name of a registered game.
        seed: of adapters, games and sampling.
        threads: torch threads; 0 takes all cores. Bit-equal results need the same number.
        set: the game's own arguments, e.g. size=9 komi=6.5; `coterie envs GAME` lists them. The run stores them.
    """

    game: str = "tictactoe"
    seed: Natural = 0
    threads: Natural = 0
    set: tuple[str, ...] = ()
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    credit: CreditConfig = field(default_factory=CreditConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    scheme: SchemeConfig = field(default_factory=SchemeConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)

    def __post_init__(self) -> None:
        """Reject what can't work together, too."""
        super().__post_init__()
        games, group = self.rollout.games, self.rollout.num_generations
        if games % group:
            raise UsageError(f"games is {games}; it must be a multiple of num_generations, which is {group}.")
        optimizer = self.optimizer
        if optimizer.lr_scheduler_type in ("linear", "cosine") and not optimizer.decay_updates:
            raise UsageError(
                f"lr_scheduler_type is {optimizer.lr_scheduler_type}; set decay_updates, the number of updates over "
                "which the rate falls."
            )
        for name in optimizer.own:
            if name not in self.scheme.names:
                raise UnknownName("learner", name, self.scheme.names)
        if self.rollout.explore and self.policy.decode != "choice":
            raise UsageError(
                f"explore is {self.rollout.explore}, but {self.policy.decode} decoding does not explore: set it to 0."
            )
        taught = self.rollout.teacher != ""
        if taught and self.policy.decode == "free":
            raise UsageError(
                f"teacher is {self.rollout.teacher}, but free decoding cannot learn from one: use choice decoding."
            )
        if taught != bool(self.loss.imitation_coef or self.loss.imitation_final):
            raise UsageError(
                f"teacher is {self.rollout.teacher or 'empty'} and imitation_coef {self.loss.imitation_coef:g}: "
                "learning from a teacher needs both."
            )

    @property
    def free(self) -> tuple[str, ...]:
        """Fields that may change between stop and resume: no weight depends on them."""
        return ("budget", "threads")
