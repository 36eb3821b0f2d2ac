"""Whole small runs on tasks: stopped, killed, resumed, and what their folders hold."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")

from coterie.agents.deadline import OutOfTime  # noqa: E402
from coterie.agents.engines.local import LocalEngine  # noqa: E402
from coterie.agents.engines.mock import MockEngine  # noqa: E402
from coterie.errors import CollapseError, RunError, UnknownName, UsageError  # noqa: E402
from coterie.training.episodes import Arena, EpisodeRequest, Role, SingleTurnEpisode  # noqa: E402
from coterie.training.episodes.run import TaskTrainer, make_credit, train_task  # noqa: E402
from coterie.training.episodes.tasks import make_task  # noqa: E402
from coterie.training.runs.config import read_config, save_config  # noqa: E402
from coterie.training.runs.folder import Run  # noqa: E402
from coterie.training.runs.task_config import (  # noqa: E402
    EpisodeCreditConfig,
    LimitsConfig,
    TaskBudgetConfig,
    TaskConfig,
    TaskPolicyConfig,
)


@pytest.fixture
def small(mini):
    """Two players, updates of a fraction of a second."""
    return TaskConfig(
        task="proposer_solver",
        threads=1,
        set=("batch=4", "n_solver_rollouts=2", "levels=3"),
        policy=TaskPolicyConfig(model=str(mini), lora_r=4),
        credit=EpisodeCreditConfig("rae"),
        limits=LimitsConfig(sound_every=2),
        budget=TaskBudgetConfig(updates=6, checkpoint_every=2, eval_every=3),
    )


def rows(run):
    clocks = ("elapsed", "step_time", "rollout_seconds", "learn_seconds", "decisions_per_second")
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k not in clocks} for line in lines]


def state(run, update):
    folder = run / "checkpoints" / f"{update:06d}"
    tensors = {path.stem: torch.load(path, weights_only=True) for path in folder.glob("*.pt")}
    told = json.loads((folder / "state.json").read_text())
    return tensors | {name: told[name] for name in ("credit", "stores", "learning", "models")}


def equal(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    return a == b


def within(config, updates):
    return dataclasses.replace(config, budget=dataclasses.replace(config.budget, updates=updates))


def test_a_run_learns_and_resumes_bit_equal(small, tmp_path):
    outcome = train_task(small, tmp_path / "whole", watcher=None)
    assert (outcome.reason, outcome.updates) == ("budget", 6)
    train_task(within(small, 3), tmp_path / "parts", watcher=None)
    train_task(small, tmp_path / "parts", resume=True, watcher=None)
    assert rows(tmp_path / "whole") == rows(tmp_path / "parts")
    assert equal(state(tmp_path / "whole", 6), state(tmp_path / "parts", 6))
    bank = state(tmp_path / "whole", 6)["bank"]
    assert not equal(bank, state(tmp_path / "whole", 4)["bank"])
    assert {p.name for p in (tmp_path / "whole" / "players").iterdir()} == {"Proposer", "Solver"}


def test_killed_anywhere_then_resumed_is_bit_equal(small, tmp_path):
    long = within(small, 400)
    save_config(long, tmp_path / "config.yaml")
    code = (
        "import sys; from pathlib import Path; from coterie.training.runs.config import read_config; "
        "from coterie.training.episodes.run import train_task; train_task(read_config(Path(sys.argv[1])), sys.argv[2])"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "config.yaml"), str(tmp_path / "killed")])
    saved = tmp_path / "killed" / "checkpoints"
    while not (saved.exists() and len([p for p in saved.iterdir() if p.name.isdigit()]) >= 2):
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    reached = max(int(p.name) for p in saved.iterdir() if p.name.isdigit())
    train_task(within(small, reached + 3), tmp_path / "killed", resume=True, watcher=None)
    train_task(within(small, reached + 3), tmp_path / "whole", watcher=None)
    assert rows(tmp_path / "whole") == rows(tmp_path / "killed")
    assert equal(state(tmp_path / "whole", reached + 3), state(tmp_path / "killed", reached + 3))


def test_lines_have_the_names_of_other_runs_and_those_of_episodes(small, tmp_path):
    train_task(within(small, 1), tmp_path / "run", watcher=None)
    (row,) = Run.reopen(tmp_path / "run").metrics()
    for name in ("reward", "reward_std", "entropy", "approx_kl", "kept_groups", "decisions", "rollout_seconds"):
        assert name in row
    assert row["episodes"] == 12
    assert row["failed"] == 0
    assert row["decisions"] == 12
    assert row["calls"] == 2
    assert row["batch_size"] == 6.0
    assert set(row["task"]) >= {"reward/Proposer", "reward/Solver"}
    assert set(row["players"]) == {"Proposer", "Solver"}


def test_held_out_requests_are_the_same_at_every_evaluation_and_leave_no_trace(small, tmp_path):
    often = dataclasses.replace(small, budget=TaskBudgetConfig(4, checkpoint_every=4, eval_every=1, eval_batches=2))
    never = dataclasses.replace(small, budget=TaskBudgetConfig(4, checkpoint_every=4, eval_every=0))
    outcome = train_task(often, tmp_path / "often", watcher=None)
    train_task(never, tmp_path / "never", watcher=None)
    lines = rows(tmp_path / "often")
    looked = [row.pop("eval") for row in lines]
    assert lines == rows(tmp_path / "never"), "training is what it was without evaluations"
    assert equal(state(tmp_path / "often", 4), state(tmp_path / "never", 4))
    assert outcome.evaluation == looked[-1]
    ((row,),) = looked[:1]
    assert (row["task"], row["episodes"], row["failed"]) == ("proposer_solver", 24, 0)
    assert set(row["figures"]) == {"reward/Proposer", "reward/Solver", "pass_rate", "level"}
    assert row["reward"] == pytest.approx(
        (8 * row["figures"]["reward/Proposer"] + 16 * row["figures"]["reward/Solver"]) / 24
    )
    trainer = TaskTrainer(small)
    assert trainer.arena.evaluate(2) == trainer.arena.evaluate(2)
    assert trainer.arena.evaluate(2) != trainer.arena.evaluate(1)


def test_evaluations_are_shown(small, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    from coterie.training.runs.curves import plot_curves
    from coterie.training.runs.trackers import scalars

    train_task(within(small, 3), tmp_path / "run")
    last = capsys.readouterr().out.splitlines()[-1]
    (row,) = Run.reopen(tmp_path / "run").metrics()[-1]["eval"]
    assert f"held out: reward {row['reward']:+.3f}  reward/Proposer" in last
    lines = Run.reopen(tmp_path / "run").metrics()
    assert scalars(lines[-1])["eval_held_out/pass_rate"] == row["figures"]["pass_rate"]
    plot_curves(lines, tmp_path / "with.png")
    plot_curves([{k: v for k, v in line.items() if k != "eval"} for line in lines], tmp_path / "without.png")
    assert (tmp_path / "with.png").read_bytes() != (tmp_path / "without.png").read_bytes()


def test_an_evaluation_adds_nothing_to_stores():
    from coterie.training.episodes import ArtifactStore, Episode

    class Keeps(Episode):
        async def rollout(self, arena, artifact, state):
            await self.call_model("A", "Say", arena, choices="xy")
            arena.stores["kept"].add("inside")
            arena.later(lambda: arena.stores["kept"].add("later"))
            return state

    def source(arena, rng):
        arena.stores["kept"].add("source")
        return [EpisodeRequest("keep")]

    arena = Arena(MockEngine(), source=source)
    arena.add_role(Role("A"))
    arena.add_episode("keep", Keeps())
    arena.add_store("kept", ArtifactStore("kept"))
    assert arena.evaluate()["episodes"] == 1
    assert arena.stores["kept"].count() == 0
    arena.step()
    assert [kept for kept, _ in arena.stores["kept"].items()] == ["source", "inside", "later"]
    with pytest.raises(UsageError, match="nothing to evaluate on"):
        Arena(MockEngine()).evaluate()


def test_the_configuration_is_read_back(small, tmp_path):
    save_config(small, tmp_path / "config.yaml")
    assert read_config(tmp_path / "config.yaml") == small


def test_another_setting_is_another_run(small, tmp_path):
    train_task(within(small, 1), tmp_path / "run", watcher=None)
    other = dataclasses.replace(small, set=("batch=8",))
    with pytest.raises(RunError, match="made with other settings"):
        train_task(other, tmp_path / "run", resume=True)
    with pytest.raises(RunError, match="Add --resume"):
        train_task(small, tmp_path / "run")


def test_bad_names_leave_no_folder_behind(small, tmp_path):
    with pytest.raises(UnknownName, match="Unknown task 'proposer_solvr'"):
        train_task(dataclasses.replace(small, task="proposer_solvr"), tmp_path / "run")
    with pytest.raises(UnknownName, match="Unknown field of the task proposer_solver 'leevls'"):
        train_task(dataclasses.replace(small, set=("leevls=3",)), tmp_path / "run")
    with pytest.raises(UsageError, match="batch is 'many'; it must be a whole number"):
        train_task(dataclasses.replace(small, set=("batch=many",)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_stores_and_baselines_are_resumed(small, tmp_path):
    def task():
        made = make_task("single_turn", batch=1, rollouts=2)
        from coterie.training.episodes import ArtifactStore

        return dataclasses.replace(made, stores={"seen": ArtifactStore("seen")}, source=source)

    def source(arena, rng):
        drawn = arena.stores["seen"].sample(1, rng)
        arena.stores["seen"].add([arena.updates, *(drawn[0] if drawn else [])])
        return make_task("single_turn", batch=1, rollouts=2).source(arena, rng)

    config = dataclasses.replace(small, task="single_turn", set=())
    train_task(config, tmp_path / "whole", watcher=None, task=task())
    train_task(within(config, 3), tmp_path / "parts", watcher=None, task=task())
    train_task(config, tmp_path / "parts", watcher=None, task=task(), resume=True)
    whole = state(tmp_path / "whole", 6)
    assert len(whole["stores"]["seen"]["kept"]) == 6
    assert whole["credit"]["means"]
    assert equal(whole, state(tmp_path / "parts", 6))


def test_failures_are_counted_and_told(small):
    task = make_task("single_turn", batch=2, rollouts=4)

    def broken(rollout, arena):
        raise RuntimeError("no judge today")

    task.episodes["single_turn"].rubric.functions[:] = [broken]
    config = dataclasses.replace(small, task="single_turn", set=())
    row = TaskTrainer(config, task=task).step()
    assert (row["failed"], row["episodes"], row["decisions"]) == (8, 8, 0)
    assert row["notes"] == ["8 of 8 episodes failed. The first: RuntimeError: no judge today"]


def test_a_sole_learner_that_breaks_ends_the_run(small, tmp_path):
    config = dataclasses.replace(
        small,
        task="single_turn",
        set=(),
        limits=LimitsConfig(min_entropy=100.0, patience=2),
        budget=TaskBudgetConfig(9),
    )
    outcome = train_task(config, tmp_path / "run", watcher=None)
    assert (outcome.reason, outcome.updates) == ("collapse", 1)


def test_one_of_two_that_breaks_is_set_back(small):
    trainer = TaskTrainer(dataclasses.replace(small, limits=LimitsConfig(min_entropy=100.0, patience=1)))
    before = trainer.policy.bank.state_dict()["weights"]
    row = trainer.step()
    assert [note.partition(":")[0] for note in row["notes"]] == [
        "Proposer is set back to update 0",
        "Solver is set back to update 0",
    ]
    assert row["trained"] > 0
    after = trainer.policy.bank.state_dict()["weights"]
    assert all(torch.equal(before[name], after[name]) for name in ("Proposer", "Solver"))


@pytest.mark.parametrize("credit", ["grpo", "rae", "global", "turn", "episodic", "constant"])
def test_every_credit_trains(small, credit):
    many = ("batch=16", "n_solver_rollouts=8", "levels=3")  # enough that no group is paid alike
    trainer = TaskTrainer(dataclasses.replace(small, set=many, credit=EpisodeCreditConfig(credit, reward_baseline=0.1)))
    row = trainer.step()
    assert row["trained"] > 0
    assert type(trainer.arena.credit) is type(make_credit(EpisodeCreditConfig(credit)))


def test_an_arena_steps_without_a_folder():
    engine = MockEngine()
    arena = Arena(engine, source=lambda arena, rng: [EpisodeRequest("pick")] * int(rng.integers(4, 9)))
    arena.add_role(Role("A"))
    arena.add_role(Role("B", player="A"))
    arena.add_episode(
        "pick", SingleTurnEpisode("A", choices=lambda a: "xy", rubric=lambda r, _: {"A": r.steps[0].chosen})
    )
    first, second = arena.run(2)
    assert [first["update"], second["update"], arena.updates] == [0, 1, 2]
    assert engine.players["A"] == 8  # four optimizer steps each
    assert {record.lora for batch, _ in engine.passes for record in batch.records} == {"A"}
    with pytest.raises(UsageError, match="nothing to play"):
        Arena(MockEngine()).step()


def test_free_words_train_too(small):
    config = dataclasses.replace(small, task="single_turn", set=("free=true", "max_tokens=6", "batch=2", "rollouts=4"))
    trainer = TaskTrainer(dataclasses.replace(config, credit=EpisodeCreditConfig("constant")))
    row = trainer.step()
    assert row["decisions"] == 8
    assert 0 < row["completions/mean_length"] <= 6


def test_a_learner_whose_policy_jumps_is_told_so(small):
    config = dataclasses.replace(small, task="single_turn", set=(), limits=LimitsConfig(max_kl=-1.0))
    with pytest.raises(CollapseError, match="moved the policy"):
        TaskTrainer(config).step()


def test_minutes_end_a_run_and_an_unfinished_update_leaves_no_trace(small, tmp_path, monkeypatch):
    sample, calls = LocalEngine.sample, []

    def until_late(self, asks):
        calls.append(len(asks))
        if len(calls) == 6:  # the solvers of the third update
            raise OutOfTime
        return sample(self, asks)

    with monkeypatch.context() as patched:
        patched.setattr(LocalEngine, "sample", until_late)
        brief = dataclasses.replace(small, budget=TaskBudgetConfig(updates=6, minutes=1000.0, checkpoint_every=1000))
        outcome = train_task(brief, tmp_path / "run", watcher=None)
    assert (outcome.reason, outcome.updates, len(calls)) == ("budget", 2, 6)
    assert len(rows(tmp_path / "run")) == 2
    train_task(small, tmp_path / "run", resume=True, watcher=None)
    train_task(small, tmp_path / "whole", watcher=None)
    assert rows(tmp_path / "run") == rows(tmp_path / "whole")
