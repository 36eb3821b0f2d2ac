"""The bridge: a GRPOConfig read field by field, and one real step of a plain GRPOTrainer on our games."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
trl = pytest.importorskip("trl")
peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")

from coterie.agents.core import Decision  # noqa: E402
from coterie.agents.engines.mock import MockEngine  # noqa: E402
from coterie.agents.llm.tokenizer import VOCAB_SIZE, byte_tokenizer  # noqa: E402
from coterie.errors import UnknownName, UsageError  # noqa: E402
from coterie.training.bridges.trl import HOUSEKEEPING, MAPPED, GameBridge, from_grpo_config, train_config  # noqa: E402
from coterie.training.learn.objectives import policy_loss  # noqa: E402
from coterie.training.runs.config import BudgetConfig, TrainConfig  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # TRL and transformers warn about themselves


def grpo_config(**fields: Any) -> Any:
    return trl.GRPOConfig(**({"output_dir": "unused", "use_cpu": True, "bf16": False} | fields))


# -- configuration ---


def test_every_value_is_taken_over() -> None:
    config = grpo_config(
        learning_rate=3e-4, weight_decay=0.1, adam_beta1=0.8, adam_beta2=0.95, max_grad_norm=0.5, num_generations=4,
        per_device_train_batch_size=16, gradient_accumulation_steps=2, temperature=0.7, max_completion_length=33,
        beta=0.04, num_iterations=2, epsilon=0.1, epsilon_high=0.28, importance_sampling_level="sequence",
        loss_type="grpo", entropy_coef=0.01, seed=7, scale_rewards="batch", max_steps=101,
        warmup_steps=9, lr_scheduler_type="constant", optim="adamw_torch",
    )  # fmt: skip
    assert from_grpo_config(config) == {
        "seed": 7,
        "policy": {"temperature": 0.7, "max_completion_length": 33, "dtype": "float32"},
        "rollout": {"games": 32, "num_generations": 4},
        "credit": {"credit": "group", "scale_rewards": "batch"},
        "loss": {
            "loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon": 0.1, "epsilon_high": 0.28,
            "beta": 0.04, "entropy_coef": 0.01, "entropy_decay_updates": 0, "num_iterations": 2,
            "num_mini_batches": 1,
        },
        "optimizer": {
            "learning_rate": 3e-4, "weight_decay": 0.1, "beta1": 0.8, "beta2": 0.95, "max_grad_norm": 0.5,
            "warmup_updates": 5, "decay_updates": 0, "lr_scheduler_type": "constant",
        },
        "budget": {"updates": 51},
    }  # fmt: skip


def test_what_is_passed_wins_and_the_rest_stays() -> None:
    base = dataclasses.replace(TrainConfig(), game="highest_number")
    merged = train_config(grpo_config(), base)
    assert merged.game == "highest_number"
    assert merged.optimizer.learning_rate == 1e-6  # TRL's default, said by passing it
    assert merged.loss.loss_type == "dapo"
    assert merged.scheme == base.scheme
    assert merged.budget.updates == base.budget.updates  # max_steps -1 says nothing


@pytest.mark.parametrize("name", ["linear", "cosine"])
def test_a_rate_that_falls_falls_over_the_run(name: str) -> None:
    config = train_config(grpo_config(lr_scheduler_type=name, max_steps=101, num_iterations=2, learning_rate=1.0))
    assert (config.budget.updates, config.optimizer.decay_updates) == (51, 51)
    assert config.optimizer.rate(0) == 1.0
    assert 0 < config.optimizer.rate(50) < 0.05
    base = dataclasses.replace(TrainConfig(), budget=BudgetConfig(updates=40))
    assert train_config(grpo_config(lr_scheduler_type=name), base).optimizer.decay_updates == 40  # max_steps is -1


def test_fractions_of_warm_up_and_batch_sizes() -> None:
    read = from_grpo_config(grpo_config(max_steps=100, warmup_steps=0.1, per_device_train_batch_size=24))
    assert read["optimizer"]["warmup_updates"] == 10
    assert read["rollout"]["games"] == 24


@pytest.mark.parametrize(
    "fields",
    [
        {"top_p": 0.9},
        {"top_k": 20},
        {"repetition_penalty": 1.1},
        {"delta": 2.0},
        {"use_bias_correction_kl": False},
        {"mask_truncated_completions": True},
        {"sync_ref_model": True},
        {"top_entropy_quantile": 0.2},
        {"use_adaptive_entropy": True},
        {"off_policy_mask_threshold": 0.5},
        {"reward_weights": [1.0]},
        {"multi_objective_aggregation": "normalize_then_sum"},
        {"loss_type": "sapo"},
        {"loss_type": "vespo"},
        {"loss_type": "luspo", "importance_sampling_level": "sequence"},
        {"optim": "sgd"},
        {"lr_scheduler_type": "polynomial"},
        {"num_train_epochs": 1.0},
        {"adam_epsilon": 1e-6},
        {"neftune_noise_alpha": 5.0},
        {"push_to_hub": True},
        {"steps_per_generation": 4},
    ],
    ids=lambda fields: "-".join(f"{k}" for k in fields),
)
def test_what_cannot_be_honoured_is_named(fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=rf"cannot be honoured: .*{next(iter(fields))}="):
        from_grpo_config(grpo_config(**fields))


def test_all_offenders_are_named_at_once() -> None:
    with pytest.raises(UsageError, match=r"top_k=5 .*top_p=0\.5|top_p=0\.5 .*top_k=5"):
        from_grpo_config(grpo_config(top_p=0.5, top_k=5))


def test_fields_that_change_what_is_learned_are_not_passed_over() -> None:
    names = {field.name for field in dataclasses.fields(trl.GRPOConfig)}
    assert set(MAPPED) <= names
    passed_over = {name for name in names if HOUSEKEEPING.fullmatch(name)}
    assert not passed_over & set(MAPPED)
    for name in (
        "beta",
        "top_p",
        "loss_type",
        "reward_weights",
        "use_vllm",
        "learning_rate",
        "lr_scheduler_kwargs",
        "fp16",
    ):
        assert name not in passed_over
    from_grpo_config(
        grpo_config(logging_steps=1, save_steps=7, report_to=[], gradient_checkpointing=False, run_name="x")
    )


# -- the game in TRL's trainer ---


def small_model() -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=VOCAB_SIZE, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=1024, bos_token_id=257, eos_token_id=258, pad_token_id=256,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def make_trainer(bridge: GameBridge, folder: Path, **fields: Any) -> Any:
    torch.set_num_threads(1)
    return bridge.trainer(
        small_model(),
        openings=8,
        peft_config=peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"),
        **(
            {
                "output_dir": str(folder), "per_device_train_batch_size": 8, "num_generations": 4, "max_steps": 1,
                "max_completion_length": 256, "logging_steps": 1, "save_strategy": "no", "learning_rate": 1e-2,
                "disable_tqdm": True, "lr_scheduler_type": "constant",
            }
            | fields
        ),
    )  # fmt: skip


def answering(monkeypatch: pytest.MonkeyPatch, bridge: GameBridge, answer: str | None = None) -> None:
    """The model plays the lowest legal number, or nonsense."""

    def say(ask: Any) -> list[int]:
        said = answer or min(set("012345678") - set(_played(ask.context.ids)))
        return [*said.encode(), bridge.stop]

    monkeypatch.setattr("coterie.training.bridges.trl._engine", lambda *trainer: MockEngine(say))


def _played(ids: Any) -> str:
    """Occupied cells of the last compact prompt: a mark, a space, nine cells, ``>``."""
    cells = bytes(t for t in ids[-10:-1]).decode()
    return "".join(str(c) for c, mark in enumerate(cells) if mark != ".")


class Highest:
    """Marks the highest free cell, so that a game can be foretold."""

    name = "highest"

    def act(self, turns: Any) -> list[Decision]:
        return [Decision(turn.legal_actions[-1]) for turn in turns]


def test_a_game_becomes_a_row_token_by_token(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = GameBridge("tictactoe", tokenizer=byte_tokenizer(), opponent=Highest(), opening_plies=0)
    answering(monkeypatch, bridge)
    trainer = type("T", (), {"args": grpo_config(max_completion_length=64)})()
    out = bridge.rollout(["tictactoe-v0 opening 0 seat 0"] * 2, trainer)
    tokenizer, stop, bos = bridge.template.tokenizer, chr(0), "<bos>"
    assert out["game_reward"] == [1.0, 1.0]  # 0 8 1 7 2: the first column is full
    assert tokenizer.decode(out["prompt_ids"][0]) == f"{bos}X .........>"
    text = "".join(stop if t == bridge.stop else tokenizer.decode([t]) for t in out["completion_ids"][0])
    assert text == f"0{stop}{bos}X X.......O>1{stop}{bos}X XX.....OO>2{stop}"
    chosen = [bool(flag) for flag in out["env_mask"][0]]
    assert (
        "".join(c for c, own in zip(_symbols(out["completion_ids"][0], bridge), chosen, strict=True) if own) == "0#1#2#"
    )
    assert [logp for logp, own in zip(out["logprobs"][0], chosen, strict=True) if not own] == [0.0] * 26
    assert out["completion_ids"][0] == out["completion_ids"][1]


def _symbols(ids: list[int], bridge: GameBridge) -> list[str]:
    return ["#" if t == bridge.stop else chr(t) if t < 256 else "?" for t in ids]


def test_an_illegal_answer_ends_the_game_and_pays_the_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = GameBridge("tictactoe", tokenizer=byte_tokenizer(), illegal_penalty=-2.0)
    answering(monkeypatch, bridge, "xyzzy")
    trainer = type("T", (), {"args": grpo_config(max_completion_length=64)})()
    prompts = bridge.dataset(6)["prompt"]
    out = bridge.rollout(list(prompts), trainer)
    assert out["game_reward"] == [-2.0] * 6
    assert all(sum(mask) == len(mask) == 6 for mask in out["env_mask"])
    assert {prompt.rsplit(" ", 1)[1] for prompt in prompts} == {"0", "1"}  # openings of no ply and of one


def test_an_illegal_answer_may_be_replaced_so_that_games_last(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = GameBridge("tictactoe", tokenizer=byte_tokenizer(), opening_plies=0, illegal="resample")
    answering(monkeypatch, bridge, "nonsense")
    trainer = type("T", (), {"args": grpo_config(max_completion_length=512)})()
    out = bridge.rollout(bridge.dataset(1)["prompt"][:] * 8, trainer)
    assert bridge.answers >= 3 * 8
    assert max(out["game_reward"]) <= 1 - 3  # at least three answers, each punished, and the game's own result


def test_one_step_of_a_plain_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = GameBridge("tictactoe", tokenizer=byte_tokenizer(), opponent="minimax")
    trainer = make_trainer(bridge, tmp_path, beta=0.1)
    seen: dict[str, Any] = {}
    theirs = trl.GRPOTrainer._compute_loss

    def compute_loss(self: Any, model: Any, inputs: dict[str, Any]) -> Any:
        loss = theirs(self, model, inputs)
        seen.update(inputs=inputs, loss=loss.detach())
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
        width = inputs["completion_ids"].size(1)
        logps, _, _ = self._get_per_token_logps_and_entropies(model, ids, mask, width, compute_entropy=True)
        seen["logps"] = logps.detach()
        return loss

    played: list[dict[str, Any]] = []

    def rollout(prompts: Any, trainer: Any) -> Any:
        out = bridge.rollout(prompts, trainer)
        # An untrained model never wins; give the rewards variance so that there is something to learn.
        out["game_reward"] = [float(k % 2) for k in range(len(prompts))]
        played.append(out)
        return out

    trainer.rollout_func = rollout
    monkeypatch.setattr(trl.GRPOTrainer, "_compute_loss", compute_loss)
    before = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    trainer.train()
    moved = {name for name, value in trainer.model.named_parameters() if (value != before[name]).any()}
    assert moved
    assert all("lora_" in name for name in moved)
    (out,) = played
    assert len(out["prompt_ids"]) == 8

    inputs = seen["inputs"]
    mask = inputs["completion_mask"] * inputs["tool_mask"]
    real = inputs["completion_mask"].bool()
    rows = {tuple(ids): k for k, ids in enumerate(out["completion_ids"])}  # TRL shuffles what it was given
    for row, ids in enumerate(inputs["completion_ids"]):
        k = rows[tuple(ids[real[row]].tolist())]
        own = torch.tensor(out["env_mask"][k], dtype=torch.bool)
        assert mask[row, : len(own)].bool().equal(own)
        sampled, again = torch.tensor(out["logprobs"][k])[own], seen["logps"][row, : len(own)][own]
        torch.testing.assert_close(again, sampled, atol=1e-4, rtol=1e-4)  # sampler and trainer agree

    ours, _ = policy_loss(
        seen["logps"], None, inputs["advantages"], mask, loss_type="dapo", beta=0.1,
        ref_logprobs=inputs["ref_per_token_logps"], num_items=float(inputs["num_items_in_batch"]),
    )  # fmt: skip
    torch.testing.assert_close(ours, seen["loss"], atol=1e-6, rtol=1e-5)


@pytest.mark.slow
def test_simultaneous_games_cross_the_bridge_too(tmp_path: Path) -> None:
    bridge = GameBridge("highest_number", tokenizer=byte_tokenizer(), max_number=3)
    trainer = make_trainer(bridge, tmp_path)
    trainer.train()
    assert {prompt.rsplit(" ", 1)[1] for prompt in bridge.dataset(4)["prompt"]} == {"0", "1"}
    assert any("reward" in row for row in trainer.state.log_history)


def test_bad_bridges_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = byte_tokenizer()
    with pytest.raises(UnknownName, match="Did you mean 'tictactoe"):
        GameBridge("tictactow", tokenizer=tokenizer)
    with pytest.raises(UnknownName, match="Unknown baseline 'stockfish'"):
        GameBridge("tictactoe", tokenizer=tokenizer, opponent="stockfish")
    bridge = GameBridge("tictactoe", tokenizer=tokenizer)
    trainer = type("T", (), {"args": grpo_config(max_completion_length=5)})()
    with pytest.raises(UsageError, match=r"'hello' does not come from this bridge"):
        bridge.rollout(["hello"], trainer)
    answering(monkeypatch, bridge, "nonsense")
    with pytest.raises(UsageError, match=r"took 8 tokens.*max_completion_length is 5"):
        bridge.rollout(["tictactoe-v0 opening 0 seat 0"], trainer)
