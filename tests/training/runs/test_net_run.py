"""Runs of nets: folders, going on, faults, and how they are named as players."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml

from coterie.agents.net import NetAgent
from coterie.cli import main
from coterie.envs.registry import make_game
from coterie.errors import RunError, UnknownName, UsageError
from coterie.training.learn.ppo_net import PPO, PPOConfig
from coterie.training.runs.config import NetConfig, is_net_run, load_config, read_config, save_config
from coterie.training.runs.display import Display
from coterie.training.runs.net_run import train_net
from coterie.training.runs.nets import find_net
from coterie.training.runs.players import is_net, make_player

TINY = NetConfig(
    set=("preset=a3_9x9",),
    threads=1,
    worlds=3,
    episode=20,
    long_episode=30,
    schedule_steps=250,  # four updates
    hidden=16,
    minutes=0.0,
    updates=4,
    eval_every=2,
    eval_worlds=2,
    eval_ticks=10,
    checkpoint_every=2,
    ppo=PPOConfig(ticks=8, epochs=1, mini_batches=2),
)


def test_an_evaluation_after_a_resume_says_what_one_without_says(tmp_path: Path) -> None:
    config = dataclasses.replace(TINY, eval_every=1, eval_ticks=30, updates=2)
    train_net(config, tmp_path / "whole", watcher=None)
    train_net(dataclasses.replace(config, updates=1), tmp_path / "parts", watcher=None)
    train_net(config, tmp_path / "parts", resume=True, watcher=None)
    evaluated = [row["eval"] for row in rows(tmp_path / "whole")]
    assert evaluated == [row["eval"] for row in rows(tmp_path / "parts")]
    assert "forager" in evaluated[1][0]["share"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert train_net(TINY, folder, watcher=Display(live=False)).message.startswith("Done: 0.00 M agent-steps")
    return folder


def weights(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(find_net(str(folder)) / "net.safetensors")


def rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_run_leaves_what_its_page_says(whole: Path) -> None:
    assert is_net_run(whole)
    assert read_config(whole / "config.yaml") == TINY
    assert [row["update"] for row in rows(whole)] == [0, 1, 2, 3]
    assert [one["player"] for one in rows(whole)[1]["eval"]] == ["net", "random", "forager"]
    assert sorted(p.name for p in (whole / "checkpoints").iterdir()) == ["000002", "000004"]
    assert sorted(p.name for p in (whole / "players" / "main").iterdir()) == ["v000002", "v000004"]
    assert (whole / "curves.png").read_bytes()[:4] == b"\x89PNG"


SAME = ("update", "reward", "entropy", "approx_kl", "agent_steps")


def measured(folder: Path) -> list[list[float]]:
    return [[row[name] for name in SAME] for row in rows(folder)]


@pytest.mark.parametrize("where", ["play", "learn"])
def test_stopped_and_resumed_is_as_if_it_had_never_stopped(
    where: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes in the middle of the second update."""
    folder, plain, calls = tmp_path / "parts", getattr(PPO, where), [0]

    def interrupted(ppo: PPO, *args: object) -> object:
        found = plain(ppo, *args)
        calls[0] += 1
        if calls[0] == 2:
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(PPO, where, interrupted)
    assert "Continue with" in train_net(TINY, folder).message
    assert len(rows(folder)) == 2
    train_net(TINY, folder, resume=True)
    for name, part in weights(whole).items():
        assert torch.equal(part, weights(folder)[name]), name
    assert measured(folder) == measured(whole)


def test_killed_anywhere_and_resumed_is_bit_equal_though_the_clock_ends_the_run(tmp_path: Path) -> None:
    """Everything at its default but for sizes: 20 minutes, the schedule, the long episodes."""
    config = dataclasses.replace(TINY, minutes=NetConfig.minutes, updates=100_000, schedule_steps=1000, eval_every=0)
    save_config(config, tmp_path / "config.yaml")
    code = (
        "import sys; from pathlib import Path; from coterie.training.runs.config import read_config;"
        "from coterie.training.runs.net_run import train_net; train_net(read_config(Path(sys.argv[1])), sys.argv[2])"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "config.yaml"), str(tmp_path / "killed")])
    saved = tmp_path / "killed" / "checkpoints"
    while not any(p.name.isdigit() and int(p.name) >= 8 for p in saved.glob("*")):
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    at = max(int(p.name) for p in saved.iterdir() if p.name.isdigit())
    longer = dataclasses.replace(config, updates=at + 3)
    train_net(longer, tmp_path / "killed", resume=True)
    train_net(longer, tmp_path / "whole")
    for name, part in weights(tmp_path / "whole").items():
        assert torch.equal(part, weights(tmp_path / "killed")[name]), name
    assert measured(tmp_path / "killed") == measured(tmp_path / "whole")
    rates = [row["learning_rate"] for row in rows(tmp_path / "whole")]
    assert rates[0] > rates[3] > rates[7], "the rate falls with what was learned from"


def test_the_rate_does_not_hang_on_the_budget(whole: Path, tmp_path: Path) -> None:
    train_net(dataclasses.replace(TINY, updates=2, minutes=90.0), tmp_path / "run")
    assert measured(tmp_path / "run") == measured(whole)[:2]
    assert [r["learning_rate"] for r in rows(tmp_path / "run")] == [r["learning_rate"] for r in rows(whole)][:2]


def test_a_run_of_an_earlier_version_plays_and_is_not_gone_on_with(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    shutil.copytree(whole, folder)
    shutil.rmtree(folder / "checkpoints")
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "000004.pt").write_bytes(b"as it was")
    data = yaml.safe_load((folder / "config.yaml").read_text())
    del data["schedule_steps"]
    (folder / "config.yaml").write_text(yaml.safe_dump(data))
    assert isinstance(make_player(str(folder), make_game("gridworld", preset="a3_9x9")), NetAgent)
    with pytest.raises(RunError, match=f"made by an earlier version.*--init {folder}"):
        train_net(read_config(folder / "config.yaml"), folder, resume=True)


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(whole: Path, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    class Watcher:
        def start(self, trainer: object) -> None:
            pass

        def update(self, row: object) -> None:
            raise Killed

        def stop(self) -> None:
            pass

    seldom = dataclasses.replace(TINY, checkpoint_every=100, init=str(whole))
    train_net(seldom, tmp_path / "whole")
    with pytest.raises(Killed):
        train_net(seldom, tmp_path / "run", watcher=Watcher())
    assert len(rows(tmp_path / "run")) == 1
    train_net(seldom, tmp_path / "run", resume=True)
    assert measured(tmp_path / "run") == measured(tmp_path / "whole")


def test_going_on_with_other_settings(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    for changed, told in (
        ({"hidden": 24}, "hidden was 16, now 24"),
        ({"set": ("preset=a3_11x11",)}, "set was .*a3_9x9.*, now .*a3_11x11"),
        ({"ppo": PPOConfig(ticks=9, epochs=1, mini_batches=2)}, "ticks was 8, now 9"),
    ):
        with pytest.raises(RunError, match=f"was made with other settings .*{told}"):
            train_net(dataclasses.replace(TINY, **changed), folder, resume=True)
    longer = dataclasses.replace(TINY, updates=5, eval_every=0)
    train_net(longer, folder, resume=True)
    assert [row["update"] for row in rows(folder)] == [0, 1, 2, 3, 4]
    assert read_config(folder / "config.yaml") == longer, "the next --resume goes on with this"


@pytest.mark.parametrize("harm", [lambda whole: whole[:1000], lambda whole: b"", lambda whole: b"no checkpoint" * 9])
def test_a_checkpoint_that_is_not_whole_is_noticed(harm: Callable[[bytes], bytes], whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    shutil.copytree(whole, folder)
    newest = folder / "checkpoints" / "000004" / "ppo.pt"
    newest.write_bytes(harm(newest.read_bytes()))
    train_net(TINY, folder, resume=True)
    (told,) = rows(folder)[2]["notes"]
    assert "ppo.pt is truncated or was changed" in told
    for name, part in weights(whole).items():
        assert torch.equal(part, weights(folder)[name]), name


def test_beginning_with_the_weights_of_another_run(whole: Path, tmp_path: Path) -> None:
    one = dataclasses.replace(TINY, init=str(whole), updates=1, ppo=PPOConfig(ticks=2, learning_rate=1e-12))
    train_net(one, tmp_path / "next")
    for name, part in weights(whole).items():
        assert torch.allclose(part, weights(tmp_path / "next")[name], atol=1e-6), name
    wider = dataclasses.replace(one, hidden=24)
    with pytest.raises(UsageError, match="16 hidden units; this run needs"):
        train_net(wider, tmp_path / "wider")
    assert not (tmp_path / "wider").exists()


def test_what_cannot_be(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="isn't empty"):
        train_net(TINY, whole)
    with pytest.raises(UsageError, match="worlds is 0"):
        NetConfig(worlds=0)
    with pytest.raises(UsageError, match="shaping is 1"):
        NetConfig(shaping=1.0)
    with pytest.raises(UsageError, match="nets need gridworlds"):
        train_net(NetConfig(game="tictactoe", set=()), tmp_path / "none")
    assert not (tmp_path / "none").exists()
    data = yaml.safe_load((whole / "config.yaml").read_text())
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(data | {"wolrds": 3}))
    with pytest.raises(UnknownName, match=r"field of a run 'wolrds'. Did you mean 'worlds'"):
        read_config(tmp_path / "config.yaml")
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(data | {"ppo": {"tikcs": 3}}))
    with pytest.raises(UnknownName, match=r"field of ppo 'tikcs'. Did you mean 'ticks'"):
        read_config(tmp_path / "config.yaml")
    with pytest.raises(UsageError, match="configures a net"):
        load_config(whole / "config.yaml")
    with pytest.raises(RunError, match="neither a run of a net"):
        find_net(str(tmp_path / "nowhere"))
    for version in ("7", "v7", "two"):
        with pytest.raises(RunError, match=f"no version {version} of 'main'; it has: 2, 4"):
            find_net(f"{whole}@{version}")
    for name, value in (("ticks", 0), ("mini_batches", 0), ("epochs", 0), ("gamma", 1.1), ("clip", 0.0)):
        with pytest.raises(UsageError, match=f"^{name} is {value}; it must be"):
            PPOConfig(**{name: value})


def test_names_of_nets_as_players(whole: Path) -> None:
    game = make_game("gridworld", preset="a3_9x9")
    for name in (str(whole), f"{whole}@2", str(find_net(str(whole)))):
        assert is_net(name.partition("@")[0])
        assert isinstance(make_player(name, game), NetAgent)
    assert not is_net("tiny")


def test_the_command_line(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--policy", "net", "--preset", "a3_9x9", "--worlds", "2", "--updates", "1", "--ticks", "4"]
    words += ["--threads", "1", "--eval-every", "0", "--eval-worlds", "2", "--eval-ticks", "5"]
    assert main(["train", "gridworld", *words, "--run", str(tmp_path / "run")]) == 0
    assert "Evaluate it with: coterie eval" in capsys.readouterr().out
    assert read_config(tmp_path / "run" / "config.yaml").set == ("preset=a3_9x9",)
    (row,) = rows(tmp_path / "run")
    assert "eval" not in row, "0 is never"
    assert main(["eval", str(tmp_path / "run"), "--games", "1", "--ticks", "5", "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["player"] for row in told] == [str(tmp_path / "run"), "random", "forager"]
    assert main(["eval", str(tmp_path / "run"), "--games", "1", "--ticks", "5"]) == 0
    told = capsys.readouterr().out
    assert "1 held-out world, 5 ticks:" in told
    assert " to " not in told, "one world has no interval"
    assert main(["train", "gridworld", "--policy", "nte"]) == 2
    assert "--policy: 'nte' is not one of llm, net. Did you mean 'net'?" in capsys.readouterr().err
    assert main(["train", "gridworld", "--policy", "net", "--preset", "a5_25x25_simpel"]) == 2
    assert "a5_25x25_simple" in capsys.readouterr().err
    assert main(["train", "gridworld", "--policy", "net", "--preset", "a3_9x9", "--set", "config=my.yaml"]) == 2
    assert "both say what is played" in capsys.readouterr().err
    assert main(["train", "gridworld", "--policy", "net", "--resume", "--run", str(tmp_path / "nowhere")]) == 2
    assert "There is no run in" in capsys.readouterr().err
    assert main(["train", "--run", str(tmp_path / "run"), "--resume", "--updates", "2", "--report-to", "none"]) == 0
    assert len(rows(tmp_path / "run")) == 2, "a run knows its game and its kind"
    assert main(["train", "--run", str(tmp_path / "run"), "--resume", "--policy", "llm"]) == 2
    assert "is for another kind of policy than llm" in capsys.readouterr().err
    assert main(["train", "tictactoe", "--policy", "net"]) == 2
    said = capsys.readouterr()
    assert "nets need gridworlds" in said.err
    assert said.out == ""
