"""Whole small runs: schemes, credits, decodings; stopping, killing and resuming."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from coterie.errors import RunError, UnknownName, UsageError  # noqa: E402
from coterie.training.loop import Trainer, train  # noqa: E402
from coterie.training.runs.config import from_dict, load_config, preset, save_config, to_dict  # noqa: E402


def change(config, **sections):
    """A configuration with fields of its sections replaced."""
    return dataclasses.replace(
        config, **{name: dataclasses.replace(getattr(config, name), **fields) for name, fields in sections.items()}
    )


def weights(run, update):
    return torch.load(run / "checkpoints" / f"{update:06d}" / "bank.pt", weights_only=True)


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


def test_a_run_leaves_what_its_folder_promises(small, tmp_path):
    from coterie.training.runs.display import Display

    outcome = train(small, tmp_path / "run", watcher=Display(live=False))
    assert (outcome.reason, outcome.updates) == ("budget", 6)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == list(range(6))
    assert [("eval" in row) for row in rows] == [False, False, True] * 2
    for name in (  # as TRL's trainer calls them
        *("reward", "reward_std", "frac_reward_zero_std", "completions/mean_length", "step_time"),
        *("loss", "grad_norm", "learning_rate", "entropy"),
        *("clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean"),
    ):
        assert all(name in row for row in rows), name
    for name in (
        "config.yaml",
        "curves.png",
        "checkpoints/000006/state.json",
        "players/main/v000006/adapter_config.json",
    ):
        assert (tmp_path / "run" / name).is_file(), name
    assert list((tmp_path / "run" / "tensorboard").iterdir())
    assert sorted(p.name for p in (tmp_path / "run" / "checkpoints").iterdir()) == ["000004", "000006"]


@pytest.mark.parametrize("credit", ["state", "group", "sibling", "rae", "constant"])
def test_every_credit_trains(small, credit):
    trainer = Trainer(change(small, credit={"credit": credit}, rollout={"games": 64}))
    before = trainer.policy.bank.weights("main").clone()
    row = trainer.step()
    assert row["trained"] > 0
    assert not torch.equal(trainer.policy.bank.weights("main"), before)


@pytest.mark.parametrize("decode", ["choice", "constrained", "free"])
@pytest.mark.parametrize("scheme", ["self_play", "fixed", "mixed"])
def test_every_decoding_and_scheme_trains(small, decode, scheme):
    config = change(
        small,
        policy={"decode": decode, "max_completion_length": 3},
        scheme={"scheme": scheme, "opponents": "random"},
        loss={"beta": 0.1},
    )
    row = Trainer(config).step()
    assert row["decisions"] > 0
    assert (row["illegal"] > 0.5) == (decode == "free")  # an untrained model that may say anything says nonsense


@pytest.mark.parametrize("decode", ["choice", "free"])
def test_mini_batches_take_every_decision_once(small, decode):
    policy = {"decode": decode, "max_completion_length": 3}
    config = change(
        small, policy=policy, loss={"num_mini_batches": 3, "num_iterations": 2}, credit={"credit": "constant"}
    )
    trainer = Trainer(config)
    row = trainer.step()
    assert trainer.policy.bank.versions["main"] == 6
    assert row["trained"] > 0
    records = [r for k in range(40) if (r := _record(k % 11))]
    parts = trainer.learner._split(records, update=5)
    assert sorted(np.concatenate(parts).tolist()) == list(range(40))
    for part in parts:
        others = {records[k].prompt for other in parts if other is not part for k in other}
        assert not others & {records[k].prompt for k in part}


def _record(prompt):
    from coterie.agents.core import Tokens

    return Tokens((1, prompt), (2,), (0.0,), "choice", ((2,), (3,)), 0, lora="main")


@pytest.mark.parametrize("credit", ["state", "sibling"])
def test_a_teacher_is_followed(small, credit):
    taught = change(small, rollout={"teacher": "minimax"}, loss={"imitation_coef": 1.0}, credit={"credit": credit})
    trainer = Trainer(taught)
    rows = [trainer.step() for _ in range(2)]
    assert all(0 < row["imitation"] < 9 for row in rows)
    with pytest.raises(UnknownName, match="minimax"):
        Trainer(change(taught, rollout={"teacher": "minimx"}))


def test_simultaneous_games_train(small):
    row = Trainer(dataclasses.replace(small, game="highest_number")).step()
    assert row["decisions"] >= 16


def test_the_base_model_never_changes(small):
    trainer = Trainer(small)
    before = trainer.policy.bank.base_hash()
    trainer.step()
    assert trainer.policy.bank.base_hash() == before


def test_resume_is_bit_equal(small, tmp_path):
    train(small, tmp_path / "whole")
    train(change(small, budget={"updates": 4}), tmp_path / "parts")
    train(small, tmp_path / "parts", resume=True)
    assert equal(weights(tmp_path / "whole", 6), weights(tmp_path / "parts", 6))


def test_eval_every_0_is_never(small, tmp_path):
    outcome = train(change(small, budget={"updates": 3, "eval_every": 0}), tmp_path / "run")
    assert (outcome.updates, outcome.evaluation) == (3, [])
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert len(rows) == 3
    assert not any("eval" in row or "before" in row for row in rows)
    with pytest.raises(UsageError, match="goal needs evaluations, and eval_every is 0"):
        train(change(small, budget={"eval_every": 0, "goal": "random.win>=0.9"}), tmp_path / "other")


def test_killed_in_the_middle_of_a_step_then_resumed_is_bit_equal(small, tmp_path):
    config = change(small, budget={"updates": 400, "eval_every": 1000})
    save_config(config, tmp_path / "config.yaml")
    code = (
        "import sys; from pathlib import Path; from coterie.training.config import load_config;"
        "from coterie.training.loop import train; train(load_config(Path(sys.argv[1])), sys.argv[2])"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "config.yaml"), str(tmp_path / "killed")])
    deadline = time.monotonic() + 300
    saved = tmp_path / "killed" / "checkpoints"
    while not any(p.name.isdigit() and int(p.name) >= 4 for p in saved.glob("*")):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    short = change(small, budget={"updates": 12, "eval_every": 1000})
    outcome = train(short, tmp_path / "killed", resume=True)
    assert outcome.updates >= 12
    train(change(small, budget={"updates": outcome.updates, "eval_every": 1000}), tmp_path / "whole")
    assert equal(weights(tmp_path / "whole", outcome.updates), weights(tmp_path / "killed", outcome.updates))
    rows = [json.loads(line)["update"] for line in (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()]
    assert rows == list(range(outcome.updates))


def test_ctrl_c_saves_and_says_how_to_resume(small, tmp_path):
    class Impatient:
        def start(self, trainer):
            pass

        def update(self, row):
            if row["update"] == 2:
                signal.raise_signal(signal.SIGINT)

        def stop(self):
            pass

    outcome = train(small, tmp_path / "run", watcher=Impatient())
    assert outcome.reason == "interrupted"
    assert f"--run {tmp_path / 'run'} --resume" in outcome.message
    assert (tmp_path / "run" / "checkpoints" / f"{outcome.updates:06d}").is_dir()
    assert train(small, tmp_path / "run", resume=True).updates == 6


def test_a_truncated_checkpoint_is_noticed_and_the_one_before_is_used(small, tmp_path):
    train(small, tmp_path / "run")
    broken = tmp_path / "run" / "checkpoints" / "000006" / "bank.pt"
    broken.write_bytes(broken.read_bytes()[:-100])
    longer = change(small, budget={"updates": 7})
    train(longer, tmp_path / "run", resume=True)
    notes = [row["notes"] for row in map(json.loads, (tmp_path / "run" / "metrics.jsonl").open()) if "notes" in row]
    assert "bank.pt is truncated" in notes[0][0]
    train(longer, tmp_path / "whole")
    assert equal(weights(tmp_path / "whole", 7), weights(tmp_path / "run", 7))
    for folder in (tmp_path / "run" / "checkpoints").iterdir():
        (folder / "optimizer.pt").write_bytes(b"")
    with pytest.raises(RunError, match=r"All checkpoints of .* are damaged"):
        train(longer, tmp_path / "run", resume=True)


def test_a_full_disk_keeps_the_earlier_checkpoint(small, tmp_path, monkeypatch):
    train(small, tmp_path / "run")

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(RunError, match=r"No space left on device.*checkpoint of update 6 is kept"):
        train(change(small, budget={"updates": 8}), tmp_path / "run", resume=True)
    assert sorted(p.name for p in (tmp_path / "run" / "checkpoints").iterdir()) == ["000004", "000006"]


def test_an_edited_config_is_refused_but_a_new_budget_is_not(small, tmp_path):
    train(change(small, budget={"updates": 2}), tmp_path / "run")
    with pytest.raises(RunError, match=r"learning_rate was 0.001, now 0.5"):
        train(change(small, optimizer={"learning_rate": 0.5}), tmp_path / "run", resume=True)
    edited = tmp_path / "run" / "config.yaml"
    edited.write_text(edited.read_text().replace("epsilon: 0.2", "epsilon: 0.3"))
    with pytest.raises(RunError, match=r"checkpoint .* \(epsilon was 0.2, now 0.3\)"):
        train(load_config(edited), tmp_path / "run", resume=True)


def test_run_folders_that_cannot_be_used(small, tmp_path):
    train(change(small, budget={"updates": 1}), tmp_path / "run")
    with pytest.raises(RunError, match="Add --resume"):
        train(small, tmp_path / "run")
    with pytest.raises(RunError, match="is a run of tictactoe-v0, not of highest_number"):
        train(dataclasses.replace(small, game="highest_number"), tmp_path / "run", resume=True)
    with pytest.raises(RunError, match="There is no run in"):
        train(small, tmp_path / "nothing", resume=True)
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="isn't empty"):
        train(small, tmp_path / "file")


def test_a_loss_that_is_not_finite_stops_the_run(small, tmp_path, monkeypatch):
    """NaN advantages go through the real loss; the weights of the last whole update stay."""
    from coterie.training import loop

    real = loop.assign

    def poisoned(batch, *rest):
        credit = real(batch, *rest)
        broken = np.where(credit.keep, np.nan, 0.0) if poisoned.calls else credit.advantages
        poisoned.calls += 1
        return dataclasses.replace(credit, advantages=broken)

    poisoned.calls = 0
    monkeypatch.setattr(loop, "assign", poisoned)
    outcome = train(change(small, budget={"checkpoint_every": 1}), tmp_path / "run")
    assert (outcome.reason, outcome.updates) == ("collapse", 1)
    assert "The loss is nan" in outcome.message
    assert "The checkpoint of update 1 is kept." in outcome.message
    assert all(torch.isfinite(w).all() for w in weights(tmp_path / "run", 1)["weights"].values())


def test_a_disk_too_full_for_pictures_does_not_stop_a_run(small, tmp_path, monkeypatch, capsys):
    from coterie.training.runs import display

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(display, "plot_curves", full)
    watcher = display.Display(live=False)
    start = watcher.start

    def start_then_fill(trainer):
        start(trainer)
        monkeypatch.setattr(watcher._tracker, "log", full)
        monkeypatch.setattr(watcher._tracker, "finish", full)

    monkeypatch.setattr(watcher, "start", start_then_fill)
    assert train(small, tmp_path / "run", watcher=watcher).updates == 6
    told = " ".join(capsys.readouterr().out.split())
    assert "The files of tensorboard can't be written: No space left on device" in told
    assert "curves.png can't be written: No space left on device" in told


def test_a_learner_that_breaks_is_set_back_while_the_other_goes_on(small, monkeypatch):
    import torch

    from coterie.training import loop

    trainer = Trainer(change(small, scheme={"scheme": "self_play", "learners": 2, "snapshot_every": 1}))
    trainer.step()
    before = {name: trainer.policy.bank.weights(name).clone() for name in ("main", "main-2")}
    given = loop.assign

    def poisoned(batch, *rest):
        credit = given(batch, *rest)
        ill = np.array([v.tokens.lora == "main-2" for v in batch.visits])
        return dataclasses.replace(credit, advantages=np.where(ill & credit.keep, np.nan, credit.advantages))

    monkeypatch.setattr(loop, "assign", poisoned)
    row = trainer.step()
    assert row["players"]["main-2"]["broken"] == 1.0
    assert "broken" not in row["players"]["main"]
    (note,) = row["notes"]
    assert note.startswith("main-2 is set back to update 1: The loss is nan")
    assert torch.equal(trainer.policy.bank.weights("main-2"), before["main-2"])
    assert not torch.equal(trainer.policy.bank.weights("main"), before["main"])
    monkeypatch.setattr(loop, "assign", given)
    assert "notes" not in trainer.step()


def test_the_goal_ends_the_run(small, tmp_path):
    outcome = train(change(small, budget={"goal": "random.loss<=1"}), tmp_path / "run")
    assert (outcome.reason, outcome.updates) == ("goal", 3)


@pytest.mark.parametrize("goal", ["win", "random.win>0.5", "random.wins>=0.5", "random.win>=x"])
def test_goals_that_make_no_sense(small, goal):
    with pytest.raises(UsageError, match=r"isn't of the form OPPONENT\.COLUMN>=NUMBER"):
        Trainer(change(small, budget={"goal": goal}))


def test_unknown_names_get_suggestions(small):
    with pytest.raises(UnknownName, match="Did you mean 'self_play'"):
        Trainer(change(small, scheme={"scheme": "selfplay"}))
    with pytest.raises(UnknownName, match="Did you mean 'random'"):
        Trainer(change(small, scheme={"opponents": "randm=1"}))
    with pytest.raises(UnknownName, match="Did you mean 'tictactoe"):
        Trainer(dataclasses.replace(small, game="tictacto"))
    with pytest.raises(UnknownName, match="Did you mean 'epsilon'"):
        from_dict({"loss": {"epsilom": 0.1}})


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("rollout", "games", 13),
        ("rollout", "num_generations", 0),
        ("policy", "temperature", 0.0),
        ("loss", "epsilon", 2.0),
        ("optimizer", "learning_rate", -1.0),
        ("credit", "gamma", 1.5),
        ("budget", "updates", 0),
    ],
)
def test_values_out_of_range_are_named(small, section, field, value):
    with pytest.raises(UsageError, match=f"{field} is {value}; it must be"):
        dataclasses.replace(
            small, **{section: dataclasses.replace(getattr(small, section), **{field: value})}
        ).__class__(
            **{
                f.name: (
                    dataclasses.replace(getattr(small, section), **{field: value})
                    if f.name == section
                    else getattr(small, f.name)
                )
                for f in dataclasses.fields(small)
            }
        )


def test_config_files(tmp_path):
    path = tmp_path / "c.yaml"
    save_config(preset("tictactoe"), path)
    assert load_config(path) == preset("tictactoe")
    assert to_dict(from_dict({"game": "tictactoe", "loss": {"beta": 1}}))["loss"]["beta"] == 1.0
    for text, complaint in (
        ("loss: [1]", "it must be a section"),
        ("seed: many", "seed is 'many'; it must be a whole number of at least 0"),
        ("loss: {loss_type: grppo}", "Did you mean 'grpo'"),
        ("- 1", "not a mapping"),
        ("a: [", "cannot be read as YAML"),
    ):
        path.write_text(text)
        with pytest.raises(UsageError, match=complaint):
            load_config(path)
    with pytest.raises(UsageError, match="There is no file"):
        load_config(tmp_path / "none.yaml")


def test_an_update_that_the_budget_cuts_leaves_nothing(small, tmp_path, monkeypatch):
    """Time is over in the middle of the learner's second pass of the third update: steps of the first were taken."""
    from coterie.agents.deadline import OutOfTime

    config = change(
        small,
        loss={"num_iterations": 2, "num_mini_batches": 2},
        credit={"credit": "rae"},
        budget={"updates": 4, "minutes": 60.0, "eval_every": 100, "checkpoint_every": 100},
    )
    train(config, tmp_path / "whole", watcher=None)
    made, real = [0], Trainer.step

    def counted(trainer):
        made[0] += 1
        calls, engine = [0], trainer.policy.local

        def passed(*args, **how):
            calls[0] += 1
            if made[0] == 3 and calls[0] == 4:
                raise OutOfTime
            return type(engine).forward_backward(engine, *args, **how)

        monkeypatch.setattr(engine, "forward_backward", passed)
        return real(trainer)

    monkeypatch.setattr(Trainer, "step", counted)
    outcome = train(config, tmp_path / "cut", watcher=None)
    assert (outcome.reason, outcome.updates) == ("budget", 2)
    assert outcome.message == "The budget is used up after 2 updates. No evaluation was due meanwhile."
    assert made[0] == 3, "the third update was begun"
    assert train(config, tmp_path / "cut", resume=True, watcher=None).updates == 4
    assert equal(weights(tmp_path / "cut", 4), weights(tmp_path / "whole", 4))


def test_a_budget_that_is_over_before_it_begins_ends_a_rollout_at_its_first_tick(small, tmp_path):
    outcome = train(change(small, budget={"minutes": 1e-9}), tmp_path / "run", watcher=None)
    assert (outcome.reason, outcome.updates) == ("budget", 0)
    assert "One takes longer than `minutes` allows" in outcome.message


def test_foreseeing_an_update_changes_nothing(small):
    from coterie.training.runs.state import foresee

    one, other = Trainer(small), Trainer(small)
    assert one.step()["loss"] == other.step()["loss"]
    assert foresee(one) > 0
    assert equal(one.policy.bank.state_dict(), other.policy.bank.state_dict())
    for _ in range(2):
        one.step()
        other.step()
    assert equal(one.policy.bank.state_dict(), other.policy.bank.state_dict())
    assert equal(one.policy.local.optimizer.state_dict(), other.policy.local.optimizer.state_dict())


def test_the_time_of_an_update_of_a_large_model_is_said_first(small, tmp_path, capsys, monkeypatch):
    from coterie.training.runs import course

    monkeypatch.setattr(course, "LARGE", 0)
    train(change(small, budget={"updates": 1}), tmp_path / "run")
    said = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"an update takes at most about \d+ s", said[1])
    assert said[3].startswith("update 1 ")


def test_a_line_an_update_by_default_and_none_on_request(small, tmp_path, capsys):
    short = change(small, budget={"updates": 2})
    train(short, tmp_path / "lines")
    said = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in said[2:]] == ["update 1", "update 2"]
    train(short, tmp_path / "silent", watcher=None)
    assert capsys.readouterr().out == ""
