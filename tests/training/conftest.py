"""A configuration whose updates take a fraction of a second."""

from __future__ import annotations

import pytest


@pytest.fixture
def small(mini):
    """A configuration whose updates take a fraction of a second."""
    from coterie.training.runs.config import BudgetConfig, PolicyConfig, RolloutConfig, SchemeConfig, TrainConfig

    return TrainConfig(
        game="tictactoe",
        threads=1,
        policy=PolicyConfig(model=str(mini), lora_r=4),
        rollout=RolloutConfig(games=16, num_generations=4, opening_plies=2),
        scheme=SchemeConfig(opponents="random=1,self=1,past=1", snapshot_every=2, max_past=2),
        budget=BudgetConfig(updates=6, eval_every=3, eval_games=10, checkpoint_every=2),
    )
