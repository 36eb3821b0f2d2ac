"""``coterie train TASK``: flags, runs, errors."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("torch")

from coterie.agents.human.table import Match
from coterie.cli import main, train_task
from coterie.cli.train_task import of_task
from coterie.envs.registry import make_game
from coterie.training.episodes.asking import form_of, messages_of
from coterie.training.episodes.playing import as_game, read_any
from coterie.training.episodes.run import TaskTrainer
from coterie.training.episodes.tasks import TASKS, make_task, task_defaults
from coterie.training.runs.config import TaskConfig, read_config
from coterie.training.runs.players import make_player

QUICK = ["--threads", "1", "--report-to", "none", "--lora-r", "2"]


def train(mini, run, *words):
    return main(["train", *words, "--run", str(run), "--model-path", str(mini), *QUICK])


def test_a_task_is_trained_and_resumed(mini, tmp_path, capsys):
    run = tmp_path / "run"
    words = ["proposer_solver", "--num-steps", "2", "--batch-size=3", "--n-solver-rollouts", "2", "--set", "levels=4"]
    assert train(mini, run, *words) == 0
    told = capsys.readouterr().out
    assert "players Proposer, Solver" in told
    assert "update 2" in told
    assert "reward/Proposer" in told
    assert read_config(run / "config.yaml").game_arguments == {"levels": 4, "batch": 3, "n_solver_rollouts": 2}
    assert main(["train", "--run", str(run), "--resume", "--updates", "3"]) == 0
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["episodes"] for line in lines] == [9, 9, 9]
    assert (run / "curves.png").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["proposer_solvr"], "Did you mean 'proposer_solver'"),
        (["proposer_solver", "--leveles", "3"], "no flag '--leveles'"),
        (["proposer_solver", "--set", "leveles=3"], "Unknown field of the task proposer_solver 'leveles'"),
        (["proposer_solver", "--kind", "sum"], "Unknown kind of problems 'sum'"),
        (["task:tictactoe"], "Unknown task 'tictactoe'"),
        (["single_turn+single_tern"], "Unknown task 'single_tern'. Did you mean 'single_turn'"),
        (["single_turn", "sums:3"], "'sums:3' came beside the task single_turn"),
        (["single_turn", "--rollouts", "0"], "rollouts of the task single_turn is 0; it must be at least 1"),
        (
            ["proposer_solver", "--batch", "1000000000"],
            "batch 1000000000 and n_solver_rollouts 8 make more than 1,000,000",
        ),
        (["self_distillation", "--samples", "-1"], "samples of the task self_distillation is -1"),
        (["elo_arena", "--batch-size", "2"], "no flag '--batch-size'"),
        (["dataset_rl", "--data", "wrd:2"], "no problems 'wrd:2'. Did you mean 'word'"),
        (["collaborative", "--schedule", "*"], "names nobody"),
        (["collaborative", "--schedule", ""], "names nobody"),
        (["refine_loop", "--eval-every", "-1"], "eval_every is -1"),
        (["proposer_solver", "--resume", "--run", "nowhere"], "There is no run in nowhere"),
    ],
)
def test_bad_words_are_one_sentence(words, told, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *words]) == 2
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_players_of_a_task_play_no_games(mini, tmp_path, capsys):
    assert train(mini, tmp_path / "run", "single_turn", "--num-steps", "1", "--batch", "1", "--rollouts", "2") == 0
    for words in (["eval", str(tmp_path / "run"), "--vs", "random"], ["eval", f"{tmp_path / 'run'}:Solver"]):
        assert main(words) == 2
        assert "is a run on the task single_turn, whose players do not play games" in capsys.readouterr().err
    assert main(["play", "tictactoe", "--players", "random", str(tmp_path / "run")]) == 2
    assert "the task single_turn, whose players do not play games" in capsys.readouterr().err


def test_players_of_a_task_that_is_a_game_play_matches(mini, tmp_path, capsys):
    """As the task asks them: the same prompt and the same answers."""
    run = str(tmp_path / "run")
    assert train(mini, tmp_path / "run", "task:redblue", "--num-steps", "1", "--batch", "2", "--rollouts", "2") == 0
    capsys.readouterr()
    assert main(["eval", run, "--vs", "random", "--games", "4", "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["player"] for row in told} == {f"{run}:Attacker", f"{run}:Defender"}
    assert all(row["games"] == 4 for row in told if row.get("opponent") == "random")
    assert main(["eval", f"{run}:Attacker@1", "--vs", "scripted:careful", "--games", "4"]) == 0
    assert (
        main(["play", "redblue", "--set", "closed=True", "--players", f"{run}:Attacker", f"{run}:Defender?sample"]) == 0
    )
    assert main(["play", "tictactoe", "--players", "random", f"{run}:Attacker"]) == 2
    assert "was trained on redblue-v0; it can't play tictactoe-v0" in capsys.readouterr().err
    config = as_game(read_config(tmp_path / "run" / "config.yaml"))
    trainer = TaskTrainer(read_config(tmp_path / "run" / "config.yaml"))
    game = make_game("redblue", closed=True)
    match = make_player(f"{run}:Attacker", game, read=read_any)
    turn = Match(game, ("a", "b"), 0).turn(0)
    asked, chat = match.backend.question(turn, 0), trainer.arena.models[""].chat
    assert asked.prompt == chat.context(messages_of(turn.compact(), "")).ids
    assert asked.answers == form_of(chat, turn.answers(), 1).candidates
    assert match.backend.temperature == config.policy.temperature == trainer.arena.roles["Attacker"].temperature == 10


def test_players_of_a_task_with_talk_or_own_prompts_play_no_matches(mini, tmp_path, capsys):
    for task, words, told in (
        ("negotiation", ["--preset", "ultimatum", "--talk", "9"], "with messages beside its actions"),
        ("redblue", ["--free"], "with prompts of its own"),
    ):
        run = tmp_path / task
        assert train(mini, run, f"task:{task}", "--num-steps", "1", "--batch", "1", "--rollouts", "2", *words) == 0
        assert main(["eval", str(run), "--vs", "random"]) == 2
        assert told in capsys.readouterr().err


def test_games_stay_games():
    assert not of_task(["tictactoe"])
    assert not of_task(["tictactoe-v0", "--games", "8"])
    assert of_task(["proposer_solver"])
    assert of_task(["proposer-solver"])
    assert of_task(["single_turn+proposer_solver"])


def test_a_file_names_its_task(mini, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("task: single_turn\nset: {batch: 2, rollouts: 2}\nbudget: {updates: 1}\n")
    assert train(mini, tmp_path / "run", "--config", str(file)) == 0
    config = read_config(tmp_path / "run" / "config.yaml")
    assert isinstance(config, TaskConfig)
    assert config.game_arguments == {"batch": 2, "rollouts": 2}
    assert main(["train", "proposer_solver", "--config", str(file)]) == 2


def test_help_lists_the_tasks(capsys, monkeypatch):
    for _ in range(2):  # the second time with a task that was registered in between
        assert main(["train", "--help"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert all(name in shown for name in TASKS)
        monkeypatch.setitem(TASKS, "of_my_own", "my_module:of_my_own")


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_flags_and_can_be_configured(name, capsys):
    assert main(["train", f"task:{name}", "--help"]) == 0
    assert "--batch" in capsys.readouterr().out
    TaskConfig.preset(name, task_defaults(name))


def test_the_experiments_of_the_docs_are_commands(monkeypatch):
    page = (Path(__file__).parents[1] / "docs" / "tasks.md").read_text()
    section = page.partition("## Experiments by command")[2].partition("\n## ")[0]
    commands = [shlex.split(text)[2:] for text in re.findall(r"`(coterie train [^`]+)`", section)]
    configs = []
    monkeypatch.setattr(train_task, "_train", lambda config, *rest: configs.append(config) or 0)
    tasks = [words for words in commands if of_task(words)]
    assert [main(["train", *words]) for words in tasks] == [0] * len(tasks)
    assert len(configs) == len(tasks) == len(commands) - 1  # chess is a game
    for config in configs:
        make_task(config.task, **config.game_arguments)
