"""The configuration of a net's run; ``config.py`` reads and writes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .fields import Configuration, Natural, Part, Positive, Rate, Share, Weight, check

__all__ = ["NetConfig", "PPOConfig"]


@dataclass(frozen=True)
class PPOConfig:
    """How PPO learns.

    Attributes:
        ticks: ticks of one rollout (T).
        gamma: discount per tick.
        gae_lambda: lambda of the advantage estimate.
        clip: how far the ratio may move from 1 before its gradient is cut.
        epochs: passes over each rollout.
        mini_batches: parts of the rows, one optimizer step each.
        learning_rate: Adam's; falls linearly to a tenth over ``schedule_steps``.
        entropy_coef: weight of the entropy bonus.
        value_coef: weight of the value loss.
        max_grad_norm: gradients are clipped to it.
    """

    ticks: Positive = 32
    gamma: Part = 0.99
    gae_lambda: Part = 0.95
    clip: Rate = 0.2
    epochs: Positive = 3
    mini_batches: Positive = 4
    learning_rate: Rate = 1e-3
    entropy_coef: Weight = 0.01
    value_coef: Weight = 0.5
    max_grad_norm: Rate = 0.5

    def __post_init__(self) -> None:
        """Reject what cannot work.

        Raises:
            UsageError: names the field, what came and what would do.
        """
        check(self)


@dataclass(frozen=True)
class NetConfig(Configuration):
    """A run of a net.

    Attributes:
        game: id or name of a registered game with plane observations and many agents.
        set: the game's own arguments, e.g. preset=a5_25x25_simple; the run stores them.
        seed: of weights, worlds and actions.
        threads: torch threads; 0 takes all cores. Bit-equal results need the same number.
        worlds: number of games played in parallel.
        episode: training restarts a world after this many ticks, to see beginnings often; 0: the game's own limit.
        long_episode: the same in the later part of training, to see later ticks too.
        long_after: long_episode replaces episode after this share of schedule_steps.
        schedule_steps: actions of living agents over which the learning rate falls to a tenth, where it stays. Two
            cores of a cloud machine take 5.0 to 5.9 million in 20 minutes.
        hidden: units of the GRU.
        shaping: weight of the potential of what agents hold, 0 to below 1; scores never count it.
        novelty: reward for each cell that an agent enters for the first time in an episode; scores never count it.
        init: begin with the weights of a run, of a folder with a net, or of ``net``, the one that ships.
        minutes: stop after this many minutes of training, those before a resume included; 0: never.
        updates: stop after this many rollouts.
        eval_every: updates between evaluations in held-out worlds, besides that at the end; 0: never.
        eval_worlds: number of held-out worlds.
        eval_ticks: ticks of each evaluation; 0: whole episodes.
        checkpoint_every: updates between checkpoints.
        ppo: settings of PPO.
    """

    game: str = "gridworld"
    set: tuple[str, ...] = ("preset=a5_25x25_simple",)
    seed: Natural = 0
    threads: Natural = 0
    worlds: Positive = 48
    episode: Natural = 400
    long_episode: Natural = 2500
    long_after: Weight = 0.4
    schedule_steps: Positive = 5_500_000
    hidden: Positive = 128
    shaping: Share = 0.3
    novelty: Weight = 0.02
    init: str = ""
    minutes: Weight = 20.0
    updates: Positive = 100_000
    eval_every: Natural = 100
    eval_worlds: Positive = 8
    eval_ticks: Natural = 1000
    checkpoint_every: Positive = 25
    ppo: PPOConfig = field(default_factory=PPOConfig)

    @classmethod
    def preset(cls, game: str) -> NetConfig:
        """The configuration that ``coterie train GAME --policy net`` starts from."""
        own = game.rpartition("-v")[0] or game
        return cls(game=game, set=cls.set if own == cls.game else ())  # the default preset is a gridworld's

    @property
    def free(self) -> tuple[str, ...]:
        """Fields that may change between stop and resume: no weight depends on them."""
        return ("minutes", "updates", "threads", "eval_every", "eval_worlds", "eval_ticks", "checkpoint_every")
