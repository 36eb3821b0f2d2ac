"""The configurations that ``coterie train GAME`` starts from, by game and by ``GAME:CURRICULUM``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ...envs.registry import spec
from .sections import (
    BudgetConfig,
    CreditConfig,
    LossConfig,
    OptimizerConfig,
    PolicyConfig,
    RolloutConfig,
    SchemeConfig,
    TrainConfig,
)

__all__ = ["PRESETS", "is_large", "preset"]

# Opponents that every game has.
_OPEN = SchemeConfig(opponents="random=1,self=1")

_SELF_PLAY = dataclasses.replace(_OPEN, scheme="self_play")

# Long games: positions hardly ever repeat, so games with the same opening are compared with each other.
_LONG = TrainConfig(
    rollout=RolloutConfig(games=32, num_generations=8, opening_plies=6),
    credit=CreditConfig(credit="group"),
    loss=LossConfig(num_iterations=1, num_mini_batches=4, entropy_coef=0.01),
    scheme=SchemeConfig(opponents="random=1,self=0.5,past=0.5"),
    budget=BudgetConfig(eval_every=20, eval_games=50),
)

# Hidden cards and simultaneous moves: self-play, with an entropy bonus that keeps the policy mixed.
_MIXED = TrainConfig(
    rollout=RolloutConfig(games=512, num_generations=1, opening_plies=0),
    credit=CreditConfig(credit="rae"),
    loss=LossConfig(num_iterations=1, entropy_coef=0.05, entropy_final=0.01, entropy_decay_updates=200),
    optimizer=OptimizerConfig(decay_updates=300),
    scheme=_SELF_PLAY,
    budget=BudgetConfig(updates=300, eval_every=20),
)

# The answer is the action: one token per character and one to end it. A larger entropy bonus leads to illegal messages.
# Digits are what the built-in model says; of all printable characters it would never try the highest.
_WORDS = TrainConfig(
    set=("alphabet='0123456789'", "length=3"),
    policy=PolicyConfig(decode="free", max_completion_length=9),
    rollout=RolloutConfig(games=128, num_generations=1, opening_plies=0),
    credit=CreditConfig(credit="rae"),
    loss=LossConfig(num_iterations=1, target_kl=0.3, entropy_coef=0.1, entropy_final=0.1),
    optimizer=OptimizerConfig(learning_rate=1e-3),
    scheme=_OPEN,
    budget=BudgetConfig(updates=60, eval_every=20, eval_games=100),
)

# Words are listed, and chosen among. The built-in model has not met these texts and is too sure of its first choices: a
# high temperature makes it try the others.
_LISTED = TrainConfig(
    policy=PolicyConfig(temperature=5.0),
    rollout=RolloutConfig(games=256, num_generations=1, opening_plies=0),
    credit=CreditConfig(credit="state"),
    loss=LossConfig(num_iterations=1, entropy_coef=0.03, entropy_final=0.005, entropy_decay_updates=80),
    optimizer=OptimizerConfig(learning_rate=2e-3),
    scheme=SchemeConfig(scheme="fixed", opponents="random=1"),
    budget=BudgetConfig(updates=70, eval_every=10, eval_games=400),
)

# As above; few questions pay before the model names things that fit the answers, so it explores, and each position
# remembers what it led to.
_ASKING = dataclasses.replace(
    _LISTED,
    set=("things=8",),
    policy=PolicyConfig(temperature=4.0),
    rollout=RolloutConfig(games=128, num_generations=1, opening_plies=0, explore=0.4),
    credit=CreditConfig(credit="state", lam=0.2, memory=0.9),
    loss=LossConfig(num_iterations=1, num_mini_batches=2, target_kl=0.3, entropy_coef=0.02),
    budget=BudgetConfig(updates=20, eval_every=10, eval_games=200, max_kl=10.0),
)

# One answer per game, right or wrong: many answers to each of many positions, which cost no more than one. Half are
# sampled uniformly, so that the right one comes up however unlikely it is under the policy.
_PUZZLE = TrainConfig(
    policy=PolicyConfig(lora_r=64, lora_alpha=128, batch_tokens=4096),
    rollout=RolloutConfig(games=2048, num_generations=32, opening_plies=0, explore=0.5),
    credit=CreditConfig(credit="group", scale_rewards="group"),
    loss=LossConfig(num_iterations=1, entropy_coef=0.15, entropy_final=0.01, entropy_decay_updates=800),
    optimizer=OptimizerConfig(learning_rate=1e-3, decay_updates=2600, warmup_updates=10),
    scheme=SchemeConfig(scheme="fixed", opponents="random"),
    budget=BudgetConfig(updates=2600, minutes=90.0, eval_vs="random", eval_every=20, eval_games=500),
)

_ENDGAME = TrainConfig(
    rollout=RolloutConfig(games=256, num_generations=16, opening_plies=0),
    credit=CreditConfig(credit="group", scale_rewards="group"),
    loss=LossConfig(num_iterations=1, entropy_coef=0.15, entropy_final=0.03, entropy_decay_updates=400),
    optimizer=OptimizerConfig(learning_rate=2e-3, decay_updates=600, warmup_updates=10),
    scheme=SchemeConfig(scheme="fixed", opponents="alphabeta:2=1"),
    budget=BudgetConfig(updates=500, eval_vs="alphabeta:2", eval_every=25, eval_games=100),
)

# Small enough for a baseline for every deal and betting sequence, and for exact evaluation. No momentum: it makes two
# learners that chase each other run in circles.
_CARDS = dataclasses.replace(
    _MIXED,
    rollout=RolloutConfig(games=1024, num_generations=1, opening_plies=0),
    credit=CreditConfig(credit="state"),
    loss=LossConfig(num_iterations=1, entropy_coef=0.2, entropy_final=0.05, entropy_decay_updates=400),
    optimizer=OptimizerConfig(learning_rate=3e-4, decay_updates=300, beta1=0.0),
    budget=BudgetConfig(updates=400, eval_every=20, exact=True),
)

# Rarer situations, larger stakes: more games, and an entropy bonus that is large in chips.
_LEDUC = dataclasses.replace(
    _CARDS,
    rollout=RolloutConfig(games=4096, num_generations=1, opening_plies=0),
    credit=CreditConfig(credit="state", lam=0.0),
    loss=LossConfig(num_iterations=1, entropy_coef=1.0, entropy_final=0.25, entropy_decay_updates=240),
    optimizer=OptimizerConfig(learning_rate=1e-3, decay_updates=400, beta1=0.0),
)

# Many agents in one world with rewards along the way: copies of one map are compared, seat by seat and tick by tick. A
# prompt costs more than a tick, so there are few games and many steps.
_WORLDS = TrainConfig(
    set=("preset=a3_9x9", "observation.line=steps"),
    policy=PolicyConfig(batch_tokens=4096),  # stays in the cache: learning takes an eighth less time
    rollout=RolloutConfig(games=16, num_generations=8, opening_plies=0, illegal_penalty=0.0, shaping=0.3, reach=True),
    credit=CreditConfig(credit="turn", scale_rewards="batch", gamma=0.9),
    loss=LossConfig(num_iterations=1, num_mini_batches=8, target_kl=0.1, entropy_coef=0.01, entropy_final=0.01),
    optimizer=OptimizerConfig(learning_rate=1.5e-3, warmup_updates=10, decay_updates=100, max_grad_norm=0.2),
    scheme=_SELF_PLAY,
    budget=BudgetConfig(updates=1000, minutes=20.0, eval_vs="random,forager", eval_every=5, eval_games=32),
)

# Nothing is paid before somebody accepts, which an untrained model hardly ever does: hence so much exploring. The small
# trade has 25 offers; every different question costs about as much as its offers have tokens.
_DEALS = TrainConfig(
    set=("preset=trade", "items={Wood: 2, Gold: 2}", "values=[[5, 15], [15, 5]]", "score=joint", "turns=2"),
    rollout=RolloutConfig(games=256, num_generations=1, opening_plies=0, explore=0.3),
    credit=CreditConfig(credit="rae"),
    loss=LossConfig(num_iterations=1, target_kl=0.1, entropy_coef=0.05, entropy_final=0.003, entropy_decay_updates=60),
    optimizer=OptimizerConfig(learning_rate=4e-4),
    scheme=_SELF_PLAY,
    budget=BudgetConfig(updates=300, eval_every=100, eval_games=100),
)

_ANY = TrainConfig(scheme=_OPEN)

PRESETS: dict[str, TrainConfig] = {
    "tictactoe": TrainConfig(
        credit=CreditConfig(lam=0.2, memory=0.9),
        scheme=SchemeConfig(opponents="random=1,minimax=1"),
        optimizer=OptimizerConfig(learning_rate=2e-3, decay_updates=400),
        loss=LossConfig(
            num_iterations=2,
            num_mini_batches=4,
            entropy_coef=0.03,
            entropy_final=0.01,
            cover_coef=0.02,
            cover_final=0.004,
            entropy_decay_updates=200,
        ),
        budget=BudgetConfig(
            updates=2000,
            minutes=10.0,
            eval_vs="random,minimax",
            eval_games=2000,
            goal="random.win>=0.92,random.loss<=0.005,minimax.draw>=0.99",
        ),
    ),
    "chess": dataclasses.replace(_LONG, rollout=dataclasses.replace(_LONG.rollout, max_plies=160)),
    "chess:mate-in-1": _PUZZLE,
    "chess:mate-in-2": _ENDGAME,
    "chess:kqk": _ENDGAME,
    "chess:krk": _ENDGAME,
    "connect_four": _LONG,
    "go": _LONG,
    "gridworld": _WORLDS,
    "hex": _LONG,
    "highest_number": dataclasses.replace(_MIXED, budget=BudgetConfig(updates=40, eval_every=20)),
    "highest_string": _WORDS,
    "kuhn_poker": _CARDS,
    "leduc_poker": _LEDUC,
    "matrix": _MIXED,
    "negotiation": _DEALS,
    "twenty_questions": _ASKING,
    "word_chain": dataclasses.replace(_LISTED, set=("words=tiny",)),
}
"""Presets; a game without one learns against random players and itself. docs/training.md lists the measured ones."""


LARGE_GAMES, LARGE_RATE, LARGE_EVAL, LARGE_UPDATES, LARGE_MINUTES = 256, 3e-4, 100, 300, 90.0
"""Limits for models of more than 50 M weights: games, learning rate, evaluation games, updates over which the rate
falls (the entropy bonus: half of them); and the least minutes. Measured with smollm2 on tictactoe."""


def is_large(model: str) -> bool:
    """Whether a model has more than about 50 M weights, judged by its name and the size of its files; loads nothing."""
    path = Path(model).expanduser()
    if path.is_dir():
        return sum(file.stat().st_size for file in path.glob("*.safetensors")) > 100_000_000
    if path.is_file():
        return path.stat().st_size > 30_000_000
    return not model.startswith("tiny")


def for_large(config: TrainConfig) -> TrainConfig:
    """A preset adjusted for a large model: an update takes tens of seconds, and larger steps do harm."""
    group, optimizer, loss, budget = config.rollout.num_generations, config.optimizer, config.loss, config.budget
    games = min(config.rollout.games, max(1, LARGE_GAMES // group) * group)
    minutes = budget.minutes and max(budget.minutes, LARGE_MINUTES)  # 0 is no limit
    return dataclasses.replace(
        config,
        rollout=dataclasses.replace(config.rollout, games=games),
        optimizer=dataclasses.replace(
            optimizer,
            learning_rate=min(optimizer.learning_rate, LARGE_RATE),
            decay_updates=min(optimizer.decay_updates, LARGE_UPDATES),
        ),
        loss=dataclasses.replace(loss, entropy_decay_updates=min(loss.entropy_decay_updates, LARGE_UPDATES // 2)),
        budget=dataclasses.replace(budget, eval_games=min(budget.eval_games, LARGE_EVAL), minutes=minutes),
    )


def preset(game: str, curriculum: str = "", model: str = "") -> TrainConfig:
    """The preset of ``coterie train GAME --curriculum NAME``; the game's if the curriculum has none.

    If ``model`` is large, updates are smaller.

    Raises:
        UnknownName: no such game.
        UsageError: the game's name is not a string.
    """
    if not isinstance(game, str) or ":" not in game:  # code that is not registered has a preset too
        spec(game)
    return starting(game, curriculum, model)


def starting(game: str, curriculum: str = "", model: str = "") -> TrainConfig:
    """``preset`` for a game that need not be registered here, since a file names it."""
    name = game.rsplit("-v", 1)[0]
    found = PRESETS.get(name, _LISTED if name.startswith("play:") else _ANY)
    if curriculum:
        own = PRESETS.get(f"{name}:{curriculum}")
        # Random plies would lead away from the curriculum's positions.
        rollout = dataclasses.replace((own or found).rollout, curriculum=curriculum, opening_plies=0)
        found = dataclasses.replace(own or found, rollout=rollout)
    if model and is_large(model):
        found = for_large(found)
    return dataclasses.replace(found, game=game)
