"""A mini model in Hugging Face format, so that training tests take seconds."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def mini(tmp_path_factory):
    """A folder with an untrained Llama on bytes, made by the recipe of the built-in models."""
    pytest.importorskip("torch")
    from coterie.agents.tiny import Recipe, build, save

    folder = tmp_path_factory.mktemp("mini")
    recipe = Recipe(width=32, layers=2, heads=2, inner=48)
    save(build(recipe), recipe, folder)
    return folder


@pytest.fixture
def small(mini):
    """A configuration whose updates take a fraction of a second."""
    from coterie.training.config import BudgetConfig, PolicyConfig, RolloutConfig, SchemeConfig, TrainConfig

    return TrainConfig(
        game="tictactoe",
        threads=1,
        policy=PolicyConfig(model=str(mini), lora_r=4),
        rollout=RolloutConfig(games=16, num_generations=4, opening_plies=2),
        scheme=SchemeConfig(opponents="random=1,self=1,past=1", snapshot_every=2, max_past=2),
        budget=BudgetConfig(updates=6, eval_every=3, eval_games=10, checkpoint_every=2),
    )
