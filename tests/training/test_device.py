"""Where a run computes, and in how much memory: the same game is learned, and a wrong placement fails."""

from __future__ import annotations

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from coterie.cli import main  # noqa: E402
from coterie.envs.registry import make_game  # noqa: E402
from coterie.errors import UsageError  # noqa: E402
from coterie.training.loop import Trainer, train  # noqa: E402
from coterie.training.runs.config import PolicyConfig  # noqa: E402
from coterie.training.runs.players import make_player  # noqa: E402


def weights(trainer):
    return trainer.policy.bank.weights("main").cpu().clone()


@pytest.mark.parametrize("decode", ["choice", "constrained", "free"])
def test_a_training_step_is_where_the_model_is(small, elsewhere, decode, close):
    """Rollout, every loss term, gradients, steps, the look afterwards: with numbers equal to those of the host."""
    config = dataclasses.replace(
        small,
        policy=dataclasses.replace(small.policy, decode=decode, max_completion_length=4),
        loss=dataclasses.replace(small.loss, beta=0.1, entropy_coef=0.01, cover_coef=0.01, num_iterations=2),
        scheme=dataclasses.replace(small.scheme, learners=2),
    )
    here = Trainer(config)
    rows = [here.step() for _ in range(2)]
    with elsewhere():
        policy = dataclasses.replace(config.policy, device="meta", gradient_checkpointing=True)
        there = Trainer(dataclasses.replace(config, policy=policy))
        found = [there.step() for _ in range(2)]
        assert there.policy.engine.describe().device == "meta"
        close(weights(there), weights(here), terms=4096)
    for row, other in zip(rows, found, strict=True):
        assert other["decisions"] == row["decisions"]
        assert other["entropy"] == pytest.approx(row["entropy"], abs=1e-4)


def test_a_run_goes_on_elsewhere(small, elsewhere, tmp_path, close):
    """What was saved on one device is loaded on another, and back."""

    def until(updates, device, run, *, resume):
        policy = dataclasses.replace(small.policy, device=device)
        budget = dataclasses.replace(small.budget, updates=updates)
        return train(dataclasses.replace(small, policy=policy, budget=budget), run, resume=resume, watcher=None)

    until(4, "cpu", tmp_path / "stays", resume=False)
    with elsewhere():
        until(2, "meta", tmp_path / "moves", resume=False)
    until(4, "cpu", tmp_path / "moves", resume=True)
    with elsewhere():
        player = make_player(f"{tmp_path / 'stays'}", make_game("tictactoe"), device="meta")
        assert player.backend.loaded.model.device.type == "meta"
    stays, moves = (make_player(f"{tmp_path / name}", make_game("tictactoe")) for name in ("stays", "moves"))
    assert moves.backend.loaded.model.device.type == "cpu"
    for mine, other in zip(*(p.backend.bank.parameters() for p in (stays, moves)), strict=True):
        close(mine, other, terms=4096)


def test_who_was_trained_elsewhere_plays_on_the_cpu_and_shares_the_learners_base_on_request(small, elsewhere, tmp_path):
    with elsewhere():
        policy, budget = dataclasses.replace(small.policy, device="meta"), dataclasses.replace(small.budget, updates=1)
        train(dataclasses.replace(small, policy=policy, budget=budget), tmp_path / "run", watcher=None)
        base = make_player(str(small.policy.model), make_game("tictactoe"), device="meta").backend.loaded
        assert make_player(str(tmp_path / "run"), make_game("tictactoe")).backend.loaded is base
        here = make_player(str(tmp_path / "run"), make_game("tictactoe"), device="cpu").backend.loaded
    assert here is not base
    assert here.model.device.type == "cpu"
    assert here.hash == base.hash


def test_a_device_that_is_not_here_is_named_with_those_that_are(small, tmp_path, capsys):
    if torch.cuda.is_available():
        pytest.skip("it is here")
    with pytest.raises(UsageError, match="no device 'cuda' here; torch finds: cpu"):
        Trainer(dataclasses.replace(small, policy=PolicyConfig(model=small.policy.model, device="cuda")))
    assert main(["train", "tictactoe", "--device", "cuda", "--run", str(tmp_path / "run")]) == 2
    assert "no device 'cuda' here" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_gradient_checkpointing_learns_the_same_and_keeps_less(small, close):
    kept, learned = {}, {}
    for again in (False, True):
        policy = dataclasses.replace(small.policy, gradient_checkpointing=again)
        trainer = Trainer(dataclasses.replace(small, policy=policy))
        held = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x, held=held: held.append(x.numel()) or x, lambda x: x):
            trainer.step()
        kept[again], learned[again] = sum(held), weights(trainer)
    close(learned[True], learned[False], terms=4096)
    assert kept[True] < 0.6 * kept[False], kept
