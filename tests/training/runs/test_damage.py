"""Damaged weights are never used, and two processes never train in one folder."""

from __future__ import annotations

import dataclasses
import json
import pickle
import random
import shutil
import subprocess
import sys
import zipfile

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402

from coterie.agents.sums import write_sums  # noqa: E402
from coterie.envs.registry import make_game  # noqa: E402
from coterie.errors import CoterieError, ModelError, RunError  # noqa: E402
from coterie.training.loop import Trainer, train  # noqa: E402
from coterie.training.runs.config import NetConfig  # noqa: E402
from coterie.training.runs.display import Display  # noqa: E402
from coterie.training.runs.folder import Run  # noqa: E402
from coterie.training.runs.net_run import train_net  # noqa: E402
from coterie.training.runs.players import load_player  # noqa: E402
from coterie.training.runs.state import restore  # noqa: E402


def flip(path, seed):
    """Turn one bit of a file over."""
    content = bytearray(path.read_bytes())
    at = random.Random(seed).randrange(8 * len(content))
    content[at // 8] ^= 1 << at % 8
    path.write_bytes(bytes(content))


@pytest.fixture(scope="module")
def finished(mini, tmp_path_factory):
    """Folders of runs that are made once, by the model's folder."""
    return tmp_path_factory.mktemp("finished") / "run"


@pytest.fixture
def whole(small, finished):
    """A run with checkpoints of updates 4 and 6; who damages it mends it."""
    if not finished.exists():
        train(small, finished, watcher=None)
    return finished


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["bank.pt", "optimizer.pt", "memory.pt", "state.json", "SHA256SUMS"])
def test_a_flipped_bit_in_a_checkpoint_is_noticed_and_the_one_before_is_used(small, whole, name, seed):
    run = Run.reopen(whole)
    path = whole / "checkpoints" / "000006" / name
    before = path.read_bytes()
    try:
        flip(path, seed)
        found = run.load()
    finally:
        path.write_bytes(before)
    assert found is not None
    assert found[1]["update"] == 4
    assert "000006" in found[2][0]


def test_a_checkpoint_that_is_not_finite_is_passed_over(small, tmp_path):
    trainer = Trainer(small, None)
    trainer.run = Run.create(tmp_path / "run", trainer.config)
    tensors = {"bank": {"main": torch.ones(2)}}
    trainer.run.save(1, tensors, {})
    trainer.run.save(2, {"bank": {"main": torch.tensor([1.0, float("nan")])}}, {})
    found = trainer.run.load()
    assert found is not None
    assert found[1]["update"] == 1
    assert "not finite" in found[2][0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["adapter_model.safetensors", "adapter_config.json"])
def test_a_flipped_bit_in_an_adapter_is_refused(whole, name, seed):
    path = whole / "players" / "main" / "v000006" / name
    before = path.read_bytes()
    try:
        flip(path, seed)
        with pytest.raises(ModelError, match=name.replace(".", r"\.")):
            load_player(str(whole), make_game("tictactoe"))
    finally:
        path.write_bytes(before)


def test_an_adapter_with_a_nan_does_not_play(whole):
    path = whole / "players" / "main" / "v000006" / "adapter_model.safetensors"
    before, sums = path.read_bytes(), path.with_name("SHA256SUMS").read_bytes()
    try:
        weights = load_file(path)
        next(iter(weights.values()))[0, 0] = float("nan")
        save_file(weights, path)
        write_sums(path.parent, ("adapter_config.json", "adapter_model.safetensors"))
        with pytest.raises(ModelError, match="not finite"):
            load_player(str(whole), make_game("tictactoe"))
    finally:
        path.write_bytes(before)
        path.with_name("SHA256SUMS").write_bytes(sums)


@pytest.mark.parametrize("name", ["net.safetensors", "net.json"])
def test_a_flipped_bit_in_a_net_is_refused(tmp_path, name):
    from coterie.agents.net import load_net, save_net
    from coterie.training.runs.nets import new_net

    net = new_net(make_game("gridworld", preset="a3_9x9"), 8, 0)
    save_net(net, tmp_path)
    load_net(tmp_path)
    flip(tmp_path / name, 3)
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        load_net(tmp_path)


def test_checkpoints_of_earlier_versions_kept_their_digests_in_state_json(small, whole):
    folder = whole / "checkpoints" / "000006"
    state, sums = (folder / "state.json").read_text(), (folder / "SHA256SUMS").read_text()
    digests = {name: digest for digest, _, name in (line.partition("  ") for line in sums.splitlines())}
    del digests["state.json"]
    try:
        (folder / "SHA256SUMS").unlink()
        (folder / "state.json").write_text(json.dumps(json.loads(state) | {"digests": digests}))
        trainer = Trainer(small, Run.reopen(whole))
        assert restore(trainer) == []
        assert trainer.updates == 6
    finally:
        (folder / "state.json").write_text(state)
        (folder / "SHA256SUMS").write_text(sums)


HOLD = """
import sys
from pathlib import Path
from coterie.training.runs.folder import Run
with Run.reopen(Path(sys.argv[1])).alone():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_train_in_one_folder_and_a_killed_one_leaves_no_lock(small, tmp_path):
    run = tmp_path / "run"
    train(small, run, watcher=None)
    longer = dataclasses.replace(small, budget=dataclasses.replace(small.budget, updates=7))
    before = (run / "metrics.jsonl").read_bytes()
    with subprocess.Popen([sys.executable, "-c", HOLD, str(run)], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RunError, match="Another process is training in"):
            train(longer, run, resume=True, watcher=None)
        assert (run / "metrics.jsonl").read_bytes() == before
        other.kill()
    assert train(longer, run, resume=True, watcher=None).updates == 7


def test_nets_lock_their_folder_too(tmp_path):
    config = NetConfig(set=("preset=a3_9x9",), threads=1, worlds=2, updates=1, minutes=0.0, hidden=8, eval_every=0)
    train_net(config, tmp_path / "run", watcher=None)
    with Run.reopen(tmp_path / "run").alone(), pytest.raises(CoterieError, match="Another process"):
        train_net(dataclasses.replace(config, updates=2), tmp_path / "run", resume=True, watcher=None)


NET = NetConfig(set=("preset=a3_9x9",), threads=1, worlds=2, updates=4, minutes=0.0, hidden=8, eval_every=0)


def run_of(kind, small, folder):
    """Make a run of a kind with checkpoints of two updates, and return what goes on with it."""
    if kind == "net":
        config = dataclasses.replace(NET, checkpoint_every=2, eval_worlds=2, eval_ticks=5)
        train_net(config, folder, watcher=None)
        return lambda at: train_net(dataclasses.replace(config, updates=5), at, resume=True, watcher=None)
    scheme = {"one": {}, "many": {"scheme": "fictitious", "learners": 2}}[kind]
    config = dataclasses.replace(
        small,
        scheme=dataclasses.replace(small.scheme, **scheme),
        rollout=dataclasses.replace(small.rollout, games=8, num_generations=2),
        budget=dataclasses.replace(small.budget, updates=4, eval_every=100, eval_games=2),
    )
    train(config, folder, watcher=None)
    longer = dataclasses.replace(config, budget=dataclasses.replace(config.budget, updates=5))
    return lambda at: train(longer, at, resume=True, watcher=None)


def plain(data):
    """Nested data with bytes for tensors, so that == compares it whole."""
    if isinstance(data, torch.Tensor):
        return data.numpy().tobytes()
    if isinstance(data, dict):
        return {name: plain(part) for name, part in data.items()}
    return [plain(part) for part in data] if isinstance(data, list | tuple) else data


def learned(folder):
    """What the run has learned: the tensors of its last checkpoint."""
    files = (folder / "checkpoints" / "000005").glob("*.pt")
    return {path.name: plain(torch.load(path, weights_only=True)) for path in files}


def notes(folder):
    """The warnings in a run's metrics."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return " ".join(note for line in lines for note in line.get("notes", ()))


@pytest.fixture(scope="module", params=["net", "one", "many"])
def kept(request, tmp_path_factory):
    return request.param, tmp_path_factory.mktemp(request.param)


@pytest.mark.slow
def test_a_flipped_bit_in_any_file_is_named_or_changes_nothing(kept, small, tmp_path):
    kind, folder = kept
    go_on = run_of(kind, small, folder / "run")
    whole = shutil.copytree(folder / "run", tmp_path / "whole")
    go_on(whole)
    files = [path.relative_to(folder / "run") for path in (folder / "run").rglob("*") if path.is_file()]
    files = sorted(path for path in files if path.name != ".lock")
    assert {path.parts[0] for path in files} >= {"config.yaml", "metrics.jsonl", "checkpoints", "players"}
    newest = [path for path in files if path.parts[:2] == ("checkpoints", "000004")]
    assert len(newest) >= 3
    for number, path in enumerate(files):
        at = shutil.copytree(folder / "run", tmp_path / f"damaged-{number}")
        flip(at / path, number)
        told = ""
        try:
            go_on(at)
        except CoterieError as error:
            told = str(error)
        if told:
            assert path.name in told or path.name == "config.yaml", (path, told)
            continue
        assert learned(at) == learned(whole), path
        if path in newest or path.name == "metrics.jsonl":
            assert path.name in notes(at) or path.parent.name in notes(at), path
        shutil.rmtree(at)


@pytest.mark.parametrize("kind", ["net", "one"])
def test_folders_that_no_run_made_are_passed_over(kind, small, tmp_path):
    go_on = run_of(kind, small, tmp_path / "run")
    for name in ("²", "٣", "9" * 20, "1.partial", "x"):
        (tmp_path / "run" / "checkpoints" / name).mkdir()
        (tmp_path / "run" / "players" / "main" / f"v{name}").mkdir()
    (tmp_path / "run" / "players" / "main" / "v1x").mkdir()
    assert Run.reopen(tmp_path / "run").checkpoints() == [2, 4]
    assert go_on(tmp_path / "run").updates == 5


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"[1]\n[2]\n", b'{"update": "x", "elapsed": 1}\n'])
def test_metrics_that_cannot_be_read_are_named(whole, content, tmp_path):
    at = shutil.copytree(whole, tmp_path / "run")
    (at / "metrics.jsonl").unlink()
    (at / "metrics.jsonl").mkdir() if content is None else (at / "metrics.jsonl").write_bytes(content)
    with pytest.raises(RunError, match=r"metrics\.jsonl (can't be read|is damaged)"):
        Run.reopen(at).metrics()


def test_trackers_and_curves_that_cannot_be_written_cost_nothing_else(tmp_path, capsys):
    config = dataclasses.replace(NET, updates=1, eval_worlds=2, eval_ticks=5)
    train_net(config, tmp_path / "run", watcher=None)
    (tmp_path / "run" / "tensorboard").write_text("a file")
    (tmp_path / "run" / "curves.png").mkdir()
    longer = dataclasses.replace(config, updates=2)
    assert train_net(longer, tmp_path / "run", resume=True, watcher=Display(live=False)).updates == 2
    told = capsys.readouterr().out
    assert "The files of tensorboard can't be written" in told
    assert "curves.png can't be written" in told


def test_a_checkpoint_of_another_making_is_refused_in_a_sentence(tmp_path):
    config = dataclasses.replace(NET, updates=1, eval_worlds=2, eval_ticks=5)
    train_net(config, tmp_path / "run", watcher=None)
    run = Run.reopen(tmp_path / "run")
    run.save(9, {"ppo": {"net": torch.ones(2)}}, {"long": False})
    with pytest.raises(RunError, match=r"checkpoint of update 9 doesn't fit this run"):
        train_net(dataclasses.replace(config, updates=10), tmp_path / "run", resume=True, watcher=None)


def test_packed_and_pickled_tensors_are_passed_over(tmp_path):
    config = dataclasses.replace(NET, updates=1, eval_worlds=2, eval_ticks=5)
    train_net(config, tmp_path / "run", watcher=None)
    run = Run.reopen(tmp_path / "run")
    for update, content in ((7, pickle.dumps({"a": 1})), (8, b""), (9, None)):
        at = run.save(update, {"ppo": {"a": torch.zeros(1000)}}, {"long": False}, keep=9)
        path = at / "ppo.pt"
        if content is None:
            with zipfile.ZipFile(path) as file:
                parts = {name: file.read(name) for name in file.namelist()}
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
                for name, part in parts.items():
                    file.writestr(name, part)
        else:
            path.write_bytes(content)
        write_sums(at, ["ppo.pt", "state.json"])
    found = run.load()
    assert found is not None
    assert found[1]["update"] == 1
    assert len(found[2]) == 3
