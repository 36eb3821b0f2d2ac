"""Configurations: what is refused before anything is loaded, and in which words."""

from __future__ import annotations

import pytest

from coterie.envs.registry import list_envs, make_game
from coterie.errors import UsageError
from coterie.training.runs.config import from_dict, load_config, preset


@pytest.mark.parametrize(
    "text",
    [
        "seed: -1",
        "threads: -1",
        "policy: {lora_alpha: 0}",
        "policy: {batch_tokens: 0}",
        "credit: {min_visits: 0}",
        "credit: {rae_decay: 1.0}",
        "loss: {epsilon_high: -0.1}",
        "loss: {max_lag: -1}",
        "loss: {entropy_coef: -0.1}",
        "optimizer: {warmup_updates: -1}",
        "optimizer: {decay_updates: -1}",
        "optimizer: {weight_decay: -0.1}",
        "optimizer: {beta1: 1.0}",
        "optimizer: {beta2: -0.1}",
        "optimizer: {max_grad_norm: -1.0}",
        "scheme: {snapshot_every: 0}",
        "scheme: {max_past: 0}",
        "budget: {eval_games: 0}",
        "budget: {minutes: -1.0}",
    ],
)
def test_values_that_would_fail_later_are_refused_at_once(text, tmp_path):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"^\w+ is -?[\d.]+; it must be"):
        load_config(tmp_path / "c.yaml")


def test_numbers_as_people_write_them(tmp_path):
    (tmp_path / "c.yaml").write_text("optimizer: {learning_rate: 1e-3}")  # YAML 1.1 reads a text here
    assert load_config(tmp_path / "c.yaml").optimizer.learning_rate == 1e-3
    with pytest.raises(UsageError, match="learning_rate is 'fast'; it must be a float"):
        from_dict({"optimizer": {"learning_rate": "fast"}})


def test_presets_are_by_game_with_or_without_version():
    assert preset("tictactoe-v0").budget == preset("tictactoe").budget
    assert preset("tictactoe-v0").game == "tictactoe-v0"
    assert preset("a_new_game").scheme.opponents == "random=1,self=1"  # whatever it is, it can be trained


def test_every_game_that_is_shipped_can_be_trained_as_its_preset_says():
    """Who sits opposite and who judges must know the game."""
    from coterie.training.runs.players import make_player
    from coterie.training.schemes import make_scheme

    for name in list_envs():
        config = preset(name)
        game = make_game(name, **config.game_arguments)
        assert config.rollout.games % config.rollout.num_generations == 0
        for opponent in (*make_scheme(config.scheme, game.info.players).opponents, *config.budget.eval_vs.split(",")):
            assert make_player(opponent, game).name
        for curriculum in game.curricula:
            own = preset(name, curriculum)
            for opponent in (*make_scheme(own.scheme, 2).opponents, *own.budget.eval_vs.split(",")):
                assert make_player(opponent, game).name
