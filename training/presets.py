"""What ``coterie train GAME`` starts from, by game and by ``GAME:CURRICULUM``."""

from __future__ import annotations

import dataclasses

from .config import BudgetConfig, LossConfig, OptimizerConfig, PolicyConfig, TrainConfig

__all__ = ["PRESETS", "find"]

PRESETS: dict[str, TrainConfig] = {
    "tictactoe": TrainConfig(
        policy=PolicyConfig(model="tiny-v0"),  # what its figures were measured with
        optimizer=OptimizerConfig(decay_updates=300),
        loss=LossConfig(
            num_iterations=2, num_mini_batches=4, entropy_coef=0.1, entropy_final=0.02, entropy_decay_updates=150
        ),
        budget=BudgetConfig(
            updates=2000,
            minutes=10.0,
            eval_vs="random,minimax",
            eval_games=2000,
            goal="random.win>=0.92,random.loss<=0.004,minimax.draw>=0.995",
        ),
    ),
}
"""Starting points; a game without one starts from ``TrainConfig()``."""


def find(game: str, curriculum: str = "") -> TrainConfig:
    """The preset of a game and a curriculum; of the game alone where the curriculum has none of its own.

    Args:
        game: id or name.
        curriculum: as ``rollout.curriculum`` has it.
    """
    name = game.rsplit("-v", 1)[0]
    found = PRESETS.get(name, TrainConfig())
    if curriculum:
        own = PRESETS.get(f"{name}:{curriculum}")
        # Random plies would lead away from the positions that the curriculum is about.
        rollout = dataclasses.replace((own or found).rollout, curriculum=curriculum, opening_plies=0)
        found = dataclasses.replace(own or found, rollout=rollout)
    return dataclasses.replace(found, game=game)
