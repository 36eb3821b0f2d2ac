"""What a run is configured by: one frozen dataclass per object, nested; the command line is generated from it.

Names are GRPOConfig's where it has them (``learning_rate``, ``beta``, ``epsilon``, ``num_iterations``,
``num_generations``, ``loss_type``, ...); docs/losses.md
lists what differs. What each game starts from stands in ``presets.py``; ``config.py`` reads and writes files.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from math import cos, inf, pi
from typing import Literal

from ...errors import UnknownName, UsageError
from .fields import Configuration, check

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
        decode: choice (over the legal actions), constrained (token by token), free (anything; parsed).
        template: compact (one line), chat (rules and position in words), or auto: chat for free decoding, else compact.
        temperature: divides the logits, in sampling and in training.
        max_completion_length: longest free answer, in tokens.
        think: free decoding: ask for thoughts before the answer.
        lora_r: rank of the adapters.
        lora_alpha: their scale is lora_alpha / lora_r.
        target_modules: layers that get one: all-linear, or names with commas between.
        dtype: of the frozen base: float32, bfloat16, or auto: bfloat16 for models of more than 50 M weights.
        device: where the model computes: cpu, cuda or mps.
        gradient_checkpointing: keep no activations within layers, and compute them again in the backward pass: less
            memory, more time.
        batch_tokens: tokens of one forward pass at most; less needs less memory.
    """

    model: str = "tiny"
    decode: Literal["choice", "constrained", "free"] = "choice"
    template: Literal["auto", "compact", "chat"] = "auto"
    temperature: float = 1.0
    max_completion_length: int = 64
    think: bool = False
    lora_r: int = 16
    lora_alpha: int = 32
    target_modules: str = "all-linear"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    device: str = "cpu"
    gradient_checkpointing: bool = False
    batch_tokens: int = 16384


@dataclass(frozen=True)
class RolloutConfig:
    """The games of one update.

    Attributes:
        games: played side by side; a multiple of num_generations.
        num_generations: games that share opening, seats and opponent (GRPO's group).
        opening_plies: each group starts after 0 to this many uniformly random plies.
        illegal_penalty: reward of an illegal answer (free decoding); the mover gets it, the game ends, the others get
            0.
        curriculum: start from positions: a name that `coterie envs GAME` lists, such as mate-in-1, or a text file with
            one a line: [OPTION=]FILE[,HELD_OUT_FILE], such as fen=mine.txt. The learner moves first.
        max_plies: a game that isn't over after so many plies counts as it stands; 0: as the curriculum says, without
            one never.
        shaping: gridworlds: learners are paid for what they come to hold, so much of its worth in rewards (0 to below
            1); evaluations never count it.
        novelty: gridworlds: learners are paid this for each cell that they enter for the first time; nor this.
        explore: choice decoding: learners draw this share of their answers uniformly from the legal ones. Such an
            answer teaches in full where it was better than expected, however unlikely it was, and nothing where it was
            worse. `reward` counts these games too; evaluations have none.
        teacher: who is asked what it would have done at each decision of a learner: a scripted player, a search or a
            run, such as forager or minimax; empty: nobody. See imitation_coef.
    """

    games: int = 1024
    num_generations: int = 8
    opening_plies: int = 4
    illegal_penalty: float = -1.0
    curriculum: str = ""
    max_plies: int = 0
    shaping: float = 0.0
    novelty: float = 0.0
    explore: float = 0.0
    teacher: str = ""


@dataclass(frozen=True)
class CreditConfig:
    """From returns to advantages.

    Attributes:
        credit: state (against all visits of the same position and seat), group (GRPO: same opening, seat and opponent),
            turn (the same for each turn by itself: what was still to come, against the group at the same turn), sibling
            (games from one decision of a game played before, by it alone), rae (running mean a role), constant.
        scale_rewards: divide by the deviation of the group, of the batch, or by nothing (group and turn credit).
        min_visits: state credit: fewest visits for a mean of its own.
        lam: state credit: 1 judges a decision by its game's outcome, less also by how all games went that came to the
            position after it (lambda-returns over the batch's own values).
        memory: state credit: how much of what was seen of a position still counts one update later, so that positions
            that come rarely have a mean as well; 0: every update begins anew.
        gamma: discount a decision.
        rae_decay: of the running mean.
    """

    credit: Literal["state", "group", "turn", "sibling", "rae", "constant"] = "state"
    scale_rewards: Literal["group", "batch", "none"] = "none"
    min_visits: int = 3
    lam: float = 1.0
    memory: float = 0.0
    gamma: float = 1.0
    rae_decay: float = 0.95


@dataclass(frozen=True)
class LossConfig:
    """The policy-gradient loss.

    Attributes:
        loss_type: grpo, bnpo, dr_grpo, dapo or cispo.
        importance_sampling_level: one ratio a token, or one a sequence (GSPO).
        epsilon: clipping range of the ratio.
        epsilon_high: its upper side; 0 means the same. For cispo it bounds the ratio itself, as in TRL: say something
            above 1, such as 5.
        beta: weight of the KL term against the base model.
        entropy_coef: reward of a nat of entropy at each decision, those of groups without variance included.
        entropy_final: what entropy_coef falls to, linearly over entropy_decay_updates.
        cover_coef: reward of a nat in the mean log-probability of all legal answers at each decision (free decoding has
            none and leaves this out): the KL from the uniform choice to the policy. It keeps answers in play whose
            worth shows late, for its gradient doesn't vanish where the policy is sure, as that of entropy does.
        cover_final: what cover_coef falls to, linearly over entropy_decay_updates.
        imitation_coef: weight of the cross-entropy to the teacher's answers, at each decision of a learner.
        imitation_final: what imitation_coef falls to, linearly over entropy_decay_updates.
        entropy_decay_updates: 0: they all stay what they are.
        num_iterations: passes over each batch.
        num_mini_batches: optimizer steps a pass; each takes its share of the batch's questions.
        target_kl: an update ends early when a step finds the policy further than this from the one that sampled (nats a
            decision, of the step's mini-batch); 0: never.
        max_lag: decisions made by weights older than this many versions (optimizer steps) are dropped.
    """

    loss_type: Literal["grpo", "bnpo", "dr_grpo", "dapo", "cispo"] = "bnpo"
    importance_sampling_level: Literal["token", "sequence"] = "token"
    epsilon: float = 0.2
    epsilon_high: float = 0.0
    beta: float = 0.0
    entropy_coef: float = 0.0
    entropy_final: float = 0.0
    cover_coef: float = 0.0
    cover_final: float = 0.0
    imitation_coef: float = 0.0
    imitation_final: float = 0.0
    entropy_decay_updates: int = 0
    num_iterations: int = 4
    num_mini_batches: int = 1
    target_kl: float = 0.0
    max_lag: int = 3


@dataclass(frozen=True)
class OptimizerConfig:
    """AdamW, one state a player.

    Attributes:
        learning_rate: its height after the warm-up.
        learning_rates: of learners who have one of their own, e.g. ``main-2=3e-4,main-3=1e-4``.
        lr_scheduler_type: to_a_tenth (rises, and falls linearly from the first update on, to a tenth at decay_updates,
            where it stays), or one of transformers', counted in updates: constant (without warm-up),
            constant_with_warmup, linear and cosine (both fall to 0 at decay_updates).
        warmup_updates: updates over which it rises linearly.
        decay_updates: updates over which it falls; 0: constant after the warm-up.
        weight_decay: decoupled.
        beta1: of the first moment.
        beta2: of the second moment.
        max_grad_norm: each player's gradient is clipped to it; 0 does not clip.
    """

    learning_rate: float = 1e-3
    learning_rates: str = ""
    lr_scheduler_type: Literal["to_a_tenth", "constant", "constant_with_warmup", "linear", "cosine"] = "to_a_tenth"
    warmup_updates: int = 5
    decay_updates: int = 0
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.99
    max_grad_norm: float = 1.0

    @property
    def own(self) -> dict[str, OptimizerConfig]:
        """Of each learner in ``learning_rates``: all that is said here, at its own height.

        Raises:
            UsageError: what doesn't read name=number, or a rate that isn't more than 0.
        """
        found = {}
        for part in filter(None, (part.strip() for part in self.learning_rates.split(","))):
            name, _, number = part.partition("=")
            try:
                height = float(number)
            except ValueError:
                height = 0.0
            if not 0 < height < inf:
                raise UsageError(f"learning_rates holds {part!r}; say name=number, more than 0, such as main-2=3e-4.")
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
        scheme: self_play, fixed, mixed or fictitious.
        learners: how many players learn; they are called main, main-2, main-3 and so on.
        opponents: fixed and mixed: names with weights, e.g. ``random=1,minimax=1,self=0.5,past=0.5,runs/a=1``.
        snapshot_every: updates between two snapshots of a past self. Of several learners, one that breaks is set back
            to the last of these updates after which it was whole.
        max_past: past selves that are kept of each learner; the oldest leaves.
    """

    scheme: str = "mixed"
    learners: int = 1
    opponents: str = "random=1,minimax=1"
    snapshot_every: int = 25
    max_past: int = 4

    @property
    def names(self) -> tuple[str, ...]:
        """Who learns: ``main``, ``main-2``, ``main-3``, ..."""
        return ("main", *(f"main-{n}" for n in range(2, self.learners + 1)))


@dataclass(frozen=True)
class BudgetConfig:
    """When to look, to save and to stop. Nothing here changes what is learned in an update.

    Of several learners, the limits of a collapse say who is set back after it.

    Attributes:
        updates: learner updates at most.
        minutes: wall-clock at most, counted anew after a resume; 0 has no limit.
        eval_every: updates between two evaluations (greedy, both seats).
        eval_games: games against each evaluation opponent.
        eval_vs: opponents to evaluate against, with commas between.
        exact: evaluations also tell how exploitable the policy is that training samples, exactly (small games).
        checkpoint_every: updates between two checkpoints.
        goal: stop when all hold at an evaluation, e.g. ``random.win>=0.92,minimax.draw>=0.99``; empty: never.
        max_illegal: collapse: stop when the share of illegal answers stays above.
        min_entropy: collapse: stop when the entropy (nats) stays below.
        patience: updates in a row that make a collapse of illegal answers or entropy.
        max_kl: collapse: stop when one update moves the policy further than this many nats a decision.
    """

    updates: int = 1000
    minutes: float = 0.0
    eval_every: int = 10
    eval_games: int = 400
    eval_vs: str = "random"
    exact: bool = False
    checkpoint_every: int = 10
    goal: str = ""
    max_illegal: float = 0.95
    min_entropy: float = 0.001
    patience: int = 10
    max_kl: float = 1.0


@dataclass(frozen=True)
class TrainConfig(Configuration):
    """A whole run.

    Attributes:
        game: id or name of a registered game.
        seed: of adapters, games and sampling.
        threads: torch threads; 0 takes all cores. Bit-equal results need the same number.
        set: the game's own arguments, e.g. size=9 komi=6.5; `coterie envs GAME` lists them. The run remembers them.
    """

    game: str = "tictactoe"
    seed: int = 0
    threads: int = 0
    set: tuple[str, ...] = ()
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    credit: CreditConfig = field(default_factory=CreditConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    scheme: SchemeConfig = field(default_factory=SchemeConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)

    def __post_init__(self) -> None:
        """Reject what can't work, before anything is loaded.

        Raises:
            UsageError: names the field, what came and what would do.
        """
        check(self, _BOUNDS)
        games, group = self.rollout.games, self.rollout.num_generations
        if games % group:
            raise UsageError(f"games is {games}; it must be a multiple of num_generations, which is {group}.")
        optimizer = self.optimizer
        if optimizer.lr_scheduler_type in ("linear", "cosine") and not optimizer.decay_updates:
            raise UsageError(
                f"lr_scheduler_type is {optimizer.lr_scheduler_type}; say over how many updates the rate falls: "
                "decay_updates."
            )
        for name in optimizer.own:
            if name not in self.scheme.names:
                raise UnknownName("learner", name, self.scheme.names)
        if self.rollout.explore and self.policy.decode != "choice":
            raise UsageError(
                f"explore is {self.rollout.explore}; in {self.policy.decode} decoding there is none: say 0."
            )
        taught = self.rollout.teacher != ""
        if taught and self.policy.decode == "free":
            raise UsageError(f"teacher is {self.rollout.teacher}; free decoding cannot learn from one: use choice.")
        if taught != bool(self.loss.imitation_coef or self.loss.imitation_final):
            raise UsageError(
                f"teacher is {self.rollout.teacher or 'empty'} and imitation_coef {self.loss.imitation_coef:g}: "
                "learning from a teacher needs both."
            )
        _ = self.game_arguments

    @property
    def free(self) -> tuple[str, ...]:
        """What may change between stop and resume: no weight depends on it."""
        return ("budget", "threads")


_BOUNDS = {
    "at least 1": "rollout.games rollout.num_generations policy.lora_r policy.lora_alpha policy.max_completion_length "
    "policy.batch_tokens credit.min_visits loss.num_iterations loss.num_mini_batches scheme.learners "
    "scheme.snapshot_every scheme.max_past budget.updates budget.eval_every budget.patience budget.eval_games "
    "budget.checkpoint_every",
    "0 or more": "seed threads rollout.opening_plies rollout.max_plies rollout.novelty loss.epsilon_high loss.beta "
    "loss.entropy_coef loss.entropy_final loss.cover_coef loss.cover_final loss.imitation_coef loss.imitation_final "
    "loss.entropy_decay_updates "
    "loss.target_kl loss.max_lag "
    "optimizer.warmup_updates optimizer.decay_updates optimizer.weight_decay optimizer.max_grad_norm budget.minutes",
    "more than 0": "policy.temperature optimizer.learning_rate",
    "between 0 and 1": "loss.epsilon",
    "from 0 to 1": "credit.lam credit.gamma rollout.explore",
    "at least 0 and below 1": "rollout.shaping credit.memory credit.rae_decay optimizer.beta1 optimizer.beta2",
}
"""What must hold -> fields."""
