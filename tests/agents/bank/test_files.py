"""The LoRA bank and peft understand each other's configuration and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.errors import ModelError, UsageError  # noqa: E402

from ..llama import llama  # noqa: E402

torch.set_num_threads(1)

IDS = torch.randint(0, 30, (2, 5), generator=torch.Generator().manual_seed(1))
TARGETS = {
    "all-linear": {"target_modules": "all-linear"},
    "all-linear, excluded": {"target_modules": "all-linear", "exclude_modules": ["q_proj", "layers.1.mlp.up_proj"]},
    "list": {"target_modules": ["q_proj", "down_proj"]},
    "regex": {"target_modules": r".*layers\.1\.self_attn\.(q|k)_proj"},
    "default": {},
    "layers": {"target_modules": ["v_proj"], "layers_to_transform": [0], "layers_pattern": "layers"},
    "rslora": {"target_modules": ["o_proj", "up_proj"], "use_rslora": True, "lora_alpha": 3},
}


def tiny(kind: str = "llama") -> Any:
    torch.manual_seed(0)
    if kind == "gpt2":
        config = transformers.GPT2Config(vocab_size=30, n_embd=16, n_layer=2, n_head=2, n_positions=32)
        return transformers.GPT2LMHeadModel(config).eval()
    return llama(30)


def bank_of(model: Any, players: tuple[str, ...] = ("ann", "bob"), **fields: Any) -> LoraBank:
    bank = LoraBank(model, peft.LoraConfig(**({"r": 3} | fields)), players)
    generator = torch.Generator().manual_seed(2)
    for name in bank.players:
        bank.weights(name).add_(torch.randn(bank.weights(name).shape, generator=generator) * 0.1)
    return bank


def routed(bank: LoraBank, name: str) -> Any:
    with torch.no_grad(), bank.route([name] * 2):
        return bank.model(input_ids=IDS, use_cache=False).logits


def plain(model: Any) -> Any:
    with torch.no_grad():
        return model(input_ids=IDS, use_cache=False).logits


@pytest.mark.parametrize("fields", TARGETS.values(), ids=TARGETS)
def test_peft_loads_what_was_saved(fields: dict[str, Any], tmp_path: Path, close: Any) -> None:
    bank = bank_of(tiny(), **fields)
    bank.save_peft("bob", tmp_path)
    theirs = peft.PeftModel.from_pretrained(tiny(), tmp_path)
    close(plain(theirs), routed(bank, "bob"))
    names = {n for n, m in theirs.named_modules() if hasattr(m, "lora_A") and m.lora_A}
    assert names == {f"base_model.model.{layer.name}" for layer in bank.layers}


@pytest.mark.parametrize("fields", TARGETS.values(), ids=TARGETS)
def test_what_peft_made_is_loaded(fields: dict[str, Any], tmp_path: Path, close: Any) -> None:
    config = peft.LoraConfig(**({"r": 3, "init_lora_weights": False, "task_type": "CAUSAL_LM"} | fields))
    theirs = peft.get_peft_model(tiny(), config).eval()
    theirs.save_pretrained(tmp_path)
    bank = bank_of(tiny(), **fields)
    untouched = bank.weights("ann").clone()
    bank.load_peft("bob", tmp_path)
    bank.load_peft("new", tmp_path)
    expected = plain(theirs)
    for name in ("bob", "new"):
        close(routed(bank, name), expected)
    assert torch.equal(bank.weights("ann"), untouched)
    assert (expected - plain(tiny())).abs().max() > 1e-3


def test_round_trip_is_exact(tmp_path: Path) -> None:
    bank = bank_of(tiny(), target_modules="all-linear")
    bank.save_peft("ann", tmp_path)
    bank.load_peft("bob", tmp_path)
    assert torch.equal(bank.weights("ann"), bank.weights("bob"))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "SHA256SUMS",
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    saved = json.loads((tmp_path / "adapter_config.json").read_text())
    assert sorted(saved["target_modules"]) == sorted(
        ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    )
    assert saved["r"] == 3


def test_gpt2_and_its_transposed_layers(tmp_path: Path, close: Any) -> None:
    config = peft.LoraConfig(r=3, target_modules=["c_attn", "c_proj"], init_lora_weights=False, fan_in_fan_out=True)
    theirs = peft.get_peft_model(tiny("gpt2"), config).eval()
    theirs.save_pretrained(tmp_path)
    bank = bank_of(tiny("gpt2"), target_modules=["c_attn", "c_proj"])
    bank.load_peft("ann", tmp_path)
    close(routed(bank, "ann"), plain(theirs))
    bank.save_peft("ann", tmp_path / "again")
    again = peft.PeftModel.from_pretrained(tiny("gpt2"), tmp_path / "again")
    close(plain(again), plain(theirs))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("use_dora", True),
        ("modules_to_save", ["lm_head"]),
        ("bias", "all"),
        ("lora_bias", True),
        ("lora_dropout", 0.1),
        ("rank_pattern", {"q_proj": 4}),
        ("alpha_pattern", {"q_proj": 4}),
        ("trainable_token_indices", [1]),
        ("layer_replication", [[0, 2]]),
        ("target_parameters", ["experts.weight"]),
        ("init_lora_weights", "pissa"),
        ("init_lora_weights", "orthogonal"),
        ("task_type", "SEQ_CLS"),
        ("r", -1),
    ],
)
def test_fields_that_are_not_honoured_raise_by_name(field: str, value: Any) -> None:
    config = peft.LoraConfig(r=3, target_modules=["q_proj"])
    setattr(config, field, value)
    with pytest.raises(UsageError, match=rf"LoraConfig\.{field}="):
        LoraBank(tiny(), config)


def test_only_lora_is_lora() -> None:
    with pytest.raises(UsageError, match="not IA3Config"):
        LoraBank(tiny(), peft.IA3Config(target_modules=["k_proj"], feedforward_modules=[]))


def test_targets_that_cannot_be_adapted() -> None:
    for targets, what in ((["lm_head"], "output head"), (["embed_tokens"], "Embedding"), (["nope"], "no layer")):
        with pytest.raises(UsageError, match=what):
            bank_of(tiny(), target_modules=targets)
    with pytest.raises(UsageError, match="called: down_proj, gate_proj"):
        bank_of(tiny(), target_modules=["nope"])
    strange = tiny()
    strange.config.model_type = "strange"
    with pytest.raises(UsageError, match=r"'strange': give LoraConfig\.target_modules"):
        bank_of(strange)


def test_adapters_that_do_not_fit(tmp_path: Path) -> None:
    bank = bank_of(tiny(), target_modules=["q_proj"], lora_alpha=6)
    others = {
        "rank 2": {"r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]},
        "scales by": {"lora_alpha": 3, "target_modules": ["q_proj"]},
        "target_modules": {"lora_alpha": 6, "target_modules": ["k_proj"]},
    }
    for message, fields in others.items():
        bank_of(tiny(), **fields).save_peft("ann", tmp_path / message)
        before = bank.weights("ann").clone()
        with pytest.raises(UsageError, match=message):
            bank.load_peft("ann", tmp_path / message)
        assert torch.equal(bank.weights("ann"), before)
    assert list(bank.players) == ["ann", "bob"]


def test_folders_without_a_readable_adapter(tmp_path: Path) -> None:
    bank = bank_of(tiny())
    with pytest.raises(ModelError, match="no adapter_config"):
        bank.load_peft("ann", tmp_path / "nowhere")
    bank.save_peft("ann", tmp_path)
    file = tmp_path / "adapter_model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match="can't be read"):
        bank.load_peft("ann", tmp_path)
    file.unlink()
    with pytest.raises(ModelError, match="no adapter_model"):
        bank.load_peft("ann", tmp_path)
    file.write_bytes(whole)
    (tmp_path / "adapter_config.json").write_text("{")
    with pytest.raises(ModelError, match="can't be read"):
        bank.load_peft("ann", tmp_path)
