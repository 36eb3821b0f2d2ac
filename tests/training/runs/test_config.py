"""Configurations: what is refused before anything is loaded, and in which words."""

from __future__ import annotations

import dataclasses

import pytest

from coterie.envs.registry import list_envs, make_game
from coterie.errors import UnknownName, UsageError
from coterie.training.runs.config import OptimizerConfig, from_dict, load_config, new_folder, preset


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
    with pytest.raises(UsageError, match=r"^[\w.]+ is -?[\d.]+; it must be"):
        load_config(tmp_path / "c.yaml")


def test_numbers_as_people_write_them(tmp_path):
    (tmp_path / "c.yaml").write_text("optimizer: {learning_rate: 1e-3}")  # YAML 1.1 reads a text here
    assert load_config(tmp_path / "c.yaml").optimizer.learning_rate == 1e-3
    with pytest.raises(UsageError, match=r"^optimizer\.learning_rate is 'fast'; it must be a number above 0"):
        from_dict({"optimizer": {"learning_rate": "fast"}})


def test_presets_are_by_game_with_or_without_version():
    assert preset("tictactoe-v0").budget == preset("tictactoe").budget
    assert preset("tictactoe-v0").game == "tictactoe-v0"
    unknown = from_dict({"game": "a_new_game"})  # a file's game need not be registered here
    assert unknown.scheme.opponents == "random=1,self=1"


def test_every_game_that_is_shipped_can_be_trained_as_its_preset_says():
    """Who sits opposite and who judges must know the game."""
    from coterie.training.runs.players import make_player
    from coterie.training.schemes import make_scheme

    for name in list_envs():
        config = preset(name)
        game = make_game(name, **config.game_arguments)
        assert config.rollout.games % config.rollout.num_generations == 0
        mixed = dataclasses.replace(config.scheme, scheme="mixed")  # as `coterie train GAME --scheme mixed` has it
        opponents = {o for scheme in (config.scheme, mixed) for o in make_scheme(scheme, game.info.players).opponents}
        for opponent in (*opponents, *config.budget.eval_vs.split(",")):
            assert make_player(opponent, game).name
        for curriculum in game.curricula:
            own = preset(name, curriculum)
            for opponent in (*make_scheme(own.scheme, 2).opponents, *own.budget.eval_vs.split(",")):
                assert make_player(opponent, game).name


@pytest.mark.parametrize("name", ["constant", "constant_with_warmup", "linear", "cosine"])
@pytest.mark.parametrize("warmup", [0, 4])
def test_schedules_are_those_of_transformers(name, warmup):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    theirs = transformers.get_scheduler(name, optimizer, num_warmup_steps=warmup, num_training_steps=20)
    ours = OptimizerConfig(learning_rate=0.5, lr_scheduler_type=name, warmup_updates=warmup, decay_updates=20)
    for update in range(24):
        if update <= 20:  # beyond the end their cosine rises again
            assert ours.rate(update) == pytest.approx(theirs.get_last_lr()[0], abs=1e-12), update
        optimizer.step()
        theirs.step()
    assert ours.rate(1000) == (0.0 if name in ("linear", "cosine") else 0.5)


def test_only_choices_are_explored():
    assert from_dict({"rollout": {"explore": 0.5}}).rollout.explore == 0.5
    with pytest.raises(UsageError, match=r"explore is 0\.5.*constrained"):
        from_dict({"rollout": {"explore": 0.5}, "policy": {"decode": "constrained"}})
    with pytest.raises(UsageError, match="explore"):
        from_dict({"rollout": {"explore": 1.5}})


def test_a_teacher_and_the_weight_of_what_it_says_come_together():
    section = {"rollout": {"teacher": "minimax"}, "loss": {"imitation_coef": 0.5}}
    assert from_dict(section).rollout.teacher == "minimax"
    assert from_dict({**section, "loss": {"imitation_final": 0.5}}).loss.imitation_coef == 0.0
    for given in ({"rollout": section["rollout"]}, {"loss": section["loss"]}):
        with pytest.raises(UsageError, match=r"teacher is .*imitation_coef .*needs both"):
            from_dict(given)
    with pytest.raises(UsageError, match=r"teacher is minimax, but free decoding"):
        from_dict({**section, "policy": {"decode": "free"}})


def test_a_rate_that_falls_needs_to_know_over_what():
    with pytest.raises(UsageError, match=r"lr_scheduler_type is cosine.*decay_updates"):
        from_dict({"optimizer": {"lr_scheduler_type": "cosine", "decay_updates": 0}})
    with pytest.raises(UsageError, match="Did you mean 'cosine'"):
        from_dict({"optimizer": {"lr_scheduler_type": "cosin"}})


def test_large_models_take_smaller_updates_where_nothing_else_is_said(tmp_path):
    small, large = preset("tictactoe", model="tiny"), preset("tictactoe", model="smollm2")
    assert small == preset("tictactoe")
    assert (large.rollout.games, large.optimizer.learning_rate, large.budget.eval_games) == (256, 3e-4, 100)
    assert (large.budget.minutes, large.optimizer.decay_updates, large.loss.entropy_decay_updates) == (90, 300, 150)
    assert preset("chess", "mate-in-1", "smollm2").rollout.games == 256
    assert preset("chess", "", "smollm2").budget.minutes == 0  # which is no limit
    (tmp_path / "c.yaml").write_text("policy: {model: smollm2}\noptimizer: {learning_rate: 0.01}\n")
    read = load_config(tmp_path / "c.yaml")
    assert (read.rollout.games, read.optimizer.learning_rate) == (256, 0.01)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"few")
    assert preset("tictactoe", model=str(tmp_path / "model")) == small


def test_learners_may_have_learning_rates_of_their_own():
    data = {"scheme": {"learners": 3}, "optimizer": {"learning_rates": "main-2=3e-4, main=0.5", "warmup_updates": 2}}
    own = from_dict(data).optimizer.own
    assert {name: o.rate(0) for name, o in own.items()} == pytest.approx({"main-2": 1.5e-4, "main": 0.25})
    with pytest.raises(UnknownName, match="Did you mean 'main-3'"):
        from_dict(data | {"optimizer": {"learning_rates": "main-33=1"}})
    for bad in ("main", "main=fast", "main=-1", "main=nan", "main=inf"):
        with pytest.raises(UsageError, match="write NAME=NUMBER, above 0"):
            from_dict(data | {"optimizer": {"learning_rates": bad}})


def test_runs_that_begin_in_the_same_second_get_a_folder_each(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "20300101-000000")
    names = []
    for _ in range(3):
        folder = new_folder(preset("tictactoe"))
        folder.mkdir(parents=True)
        names.append(folder.as_posix())
    first = "runs/tictactoe-20300101-000000"
    assert names == [first, f"{first}-2", f"{first}-3"]
