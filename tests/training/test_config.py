"""Configurations: what is refused before anything is loaded, and in which words."""

from __future__ import annotations

import dataclasses

import pytest

from coterie.errors import UsageError
from coterie.training.config import TrainConfig, from_dict, load_config, preset


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
    assert preset("highest_number") == dataclasses.replace(TrainConfig(), game="highest_number")
