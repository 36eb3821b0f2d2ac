"""The run folder: what is written when, and what is refused."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil

import pytest

torch = pytest.importorskip("torch")

from coterie.errors import ModelError, RunError, UsageError  # noqa: E402
from coterie.training.loop import Trainer, train  # noqa: E402
from coterie.training.runs.config import load_config  # noqa: E402
from coterie.training.runs.state import save  # noqa: E402


def change(config, **sections):
    """A configuration with fields of its sections replaced."""
    return dataclasses.replace(
        config, **{name: dataclasses.replace(getattr(config, name), **fields) for name, fields in sections.items()}
    )


def updates_logged(run):
    return [json.loads(line)["update"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def weights(run, update):
    saved = torch.load(run / "checkpoints" / f"{update:06d}" / "bank.pt", weights_only=True)
    return saved["weights"]["main"]


def test_a_run_killed_before_its_first_checkpoint_begins_again(small, tmp_path):
    config = change(small, budget={"updates": 2, "checkpoint_every": 2})
    train(config, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write('{"update": 2, "rew')  # killed while writing it
    train(change(config, budget={"updates": 3}), tmp_path / "run", resume=True)
    assert updates_logged(tmp_path / "run") == [0, 1, 2]


@pytest.mark.parametrize("credit", ["rae", "group"])
@pytest.mark.parametrize("decode", ["choice", "free"])
def test_resume_is_bit_equal_with_a_moving_baseline_past_selves_and_a_reference(small, tmp_path, credit, decode):
    config = change(
        small,
        policy={"decode": decode, "max_completion_length": 2},
        credit={"credit": credit},
        loss={"beta": 0.05, "entropy_coef": 0.01, "num_iterations": 2, "num_mini_batches": 2},
        scheme={"opponents": "self=1,past=1", "snapshot_every": 1, "max_past": 2},
        budget={"updates": 6, "eval_every": 100, "checkpoint_every": 100},
    )
    train(config, tmp_path / "whole")
    train(change(config, budget={"updates": 4}), tmp_path / "parts")
    train(config, tmp_path / "parts", resume=True)
    assert torch.equal(weights(tmp_path / "whole", 6), weights(tmp_path / "parts", 6))
    states = [json.loads((tmp_path / r / "checkpoints/000006/state.json").read_text()) for r in ("whole", "parts")]
    assert states[0]["pool"] == states[1]["pool"]
    assert states[0]["pool"]["snapshots"] == {"main": ["main@5", "main@6"]}
    assert states[0]["baseline"] == states[1]["baseline"]
    assert bool(states[0]["baseline"]["means"]) == (credit == "rae")


def test_a_checkpoint_from_before_there_were_several_learners_goes_on_alike(small, tmp_path):
    config = change(
        small,
        credit={"credit": "rae"},
        scheme={"opponents": "self=1,past=1", "snapshot_every": 1},
        budget={"updates": 3},
    )
    train(change(config, budget={"updates": 2}), tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "old")
    path = tmp_path / "old" / "checkpoints" / "000002" / "state.json"
    state = json.loads(path.read_text())
    state["past"] = state.pop("pool")["snapshots"]["main"]
    state["low"] = state["low"]["main"]
    state["baseline"]["means"] = {k.removeprefix("main/"): mean for k, mean in state["baseline"]["means"].items()}
    sums = path.with_name("SHA256SUMS").read_text().splitlines()
    state["digests"] = {name: digest for digest, name in map(str.split, sums) if name != path.name}
    path.with_name("SHA256SUMS").unlink()
    path.write_text(json.dumps(state))
    for name in ("run", "old"):
        train(config, tmp_path / name, resume=True)
    assert torch.equal(weights(tmp_path / "run", 3), weights(tmp_path / "old", 3))


@pytest.mark.parametrize(
    ("number", "way"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EROFS, "Make its file system writable"),
        (errno.EACCES, "Allow writing there"),
        (errno.EIO, "Mend that"),
    ],
)
def test_what_cannot_be_written_is_told_with_a_way_out(small, tmp_path, monkeypatch, number, way):
    trainer = Trainer(small)
    from coterie.training.runs.folder import Run

    trainer.run = Run.create(tmp_path / "run", small)
    save(trainer)

    def refused(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(trainer.policy.bank, "save_peft", refused)
    with pytest.raises(RunError, match=rf"{os.strerror(number)}.*checkpoint of update 0 is kept. {way}, then --resume"):
        save(trainer)
    monkeypatch.setattr("coterie.training.runs.folder.save_config", refused)
    with pytest.raises(RunError, match=rf"{os.strerror(number)}. {way}, or name another folder"):
        Run.create(tmp_path / "other", small)


def test_a_base_model_under_another_name_goes_on_and_another_one_is_refused(small, mini, tmp_path):
    from coterie.agents.llm.tiny import Recipe, build, save

    train(change(small, budget={"updates": 2}), tmp_path / "run")
    shutil.copytree(mini, tmp_path / "copy")
    moved = change(small, policy={"model": str(tmp_path / "copy")}, budget={"updates": 3})
    assert train(moved, tmp_path / "run", resume=True).updates == 3
    assert load_config(tmp_path / "run" / "config.yaml") == dataclasses.replace(moved, game="tictactoe-v0")
    recipe = Recipe(width=32, layers=2, heads=2, inner=48, seed=1)
    save(build(recipe), recipe, tmp_path / "other")
    other = change(small, policy={"model": str(tmp_path / "other")}, budget={"updates": 4})
    with pytest.raises(RunError, match=r"was trained on .* --model"):
        train(other, tmp_path / "run", resume=True)
    assert load_config(tmp_path / "run" / "config.yaml") == dataclasses.replace(moved, game="tictactoe-v0")


def test_a_player_of_a_run_refuses_another_base_model(small, tmp_path):
    from coterie.agents.llm.tiny import Recipe, build, save
    from coterie.envs.registry import make_game
    from coterie.training.runs.players import load_player

    recipe = Recipe(width=32, layers=2, heads=2, inner=48)
    save(build(recipe), recipe, tmp_path / "base")
    train(change(small, policy={"model": str(tmp_path / "base")}, budget={"updates": 1}), tmp_path / "run")
    game = make_game("tictactoe")
    assert load_player(str(tmp_path / "run"), game).name == "run:main"
    recipe = dataclasses.replace(recipe, seed=1)
    save(build(recipe), recipe, tmp_path / "base")
    with pytest.raises(RunError, match="other weights"):
        load_player(str(tmp_path / "run"), game)
    shutil.rmtree(tmp_path / "base")
    with pytest.raises(ModelError, match=r"run was trained on a model that can't be loaded: There is no folder"):
        load_player(str(tmp_path / "run"), game)


def test_a_goal_that_no_evaluation_can_reach_is_refused(small):
    with pytest.raises(UsageError, match=r"goal asks for 'minimax'.*eval_vs"):
        Trainer(change(small, budget={"goal": "random.win>=0.5,minimax.draw>=0.9", "eval_vs": "random"}))
