"""The LoRA bank against peft: same outputs, same gradients; players that aren't asked for don't change."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.errors import UnknownName, UsageError  # noqa: E402

from ..llama import llama  # noqa: E402

torch.set_num_threads(1)

PLAYERS = ["ann", "bob", "cat"]
IDS = torch.randint(0, 60, (6, 7), generator=torch.Generator().manual_seed(1))
MIXES = {
    "one": [1, 1, 1, 1, 1, 1],
    "equal": [0, 0, 1, 1, 2, 2],
    "segments": [0, 0, 0, 1, 2, 2],
    "with base": [-1, -1, 0, 1, 1, 1],
    "unsorted": [2, 0, 1, 0, 2, 1],
    "unsorted, unequal": [2, -1, 0, 2, 2, 0],
    "gap": [0, 0, 0, 2, 2, 2],
    "base": [-1] * 6,
}
CONFIGS = {
    "all-linear": {"r": 4, "target_modules": "all-linear"},
    "rslora": {"r": 4, "lora_alpha": 16, "use_rslora": True, "target_modules": ["q_proj", "v_proj"]},
    "regex": {"r": 3, "lora_alpha": 5, "target_modules": r".*layers\.1\..*(up|down)_proj"},
    "default targets": {"r": 2},
    "one layer, excluded": {
        "r": 8,
        "target_modules": ["q_proj", "o_proj", "gate_proj"],
        "exclude_modules": ["o_proj"],
        "layers_to_transform": [1],
    },
    "gaussian": {"r": 4, "init_lora_weights": "gaussian", "target_modules": "all-linear"},
}


def tiny_llama(seed: int = 0) -> Any:
    return llama(60, 32, seed, max_position_embeddings=64, tie_word_embeddings=True)


def lora(**fields: Any) -> Any:
    return peft.LoraConfig(**({"r": 4, "target_modules": "all-linear"} | fields))


def shake(bank: LoraBank, size: float = 0.1) -> None:
    """Give every player a B of its own, so that adapters matter."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name in bank.players:
            weights = bank.weights(name)
            weights.add_(torch.randn(weights.shape, generator=generator) * size)


def make(seed: int = 0, players: list[str] = PLAYERS, **fields: Any) -> tuple[Any, LoraBank]:
    model = tiny_llama(seed)
    bank = LoraBank(model, lora(**fields), players)
    shake(bank)
    return model, bank


def logits(model: Any, ids: Any = IDS) -> Any:
    return model(input_ids=ids, use_cache=False).logits


def loss_of(model: Any, ids: Any = IDS) -> Any:
    """[B] one loss a row."""
    logps = torch.log_softmax(logits(model, ids).float(), -1)[:, :-1]
    return -logps.gather(-1, ids[:, 1:, None])[..., 0].sum(1)


def peft_of(bank: LoraBank, folder: Path) -> Any:
    """The same population as a PeftModel with one adapter a player."""
    for name in bank.players:
        bank.save_peft(name, folder / name)
    first, *others = bank.players
    model = peft.PeftModel.from_pretrained(tiny_llama(), folder / first, adapter_name=first, is_trainable=True)
    for name in others:
        model.load_adapter(folder / name, adapter_name=name, is_trainable=True)
    return model.eval()


@pytest.mark.parametrize("fields", CONFIGS.values(), ids=CONFIGS)
def test_outputs_equal_peft_for_every_config(fields: dict[str, Any], tmp_path: Path, close: Any) -> None:
    model = tiny_llama()
    bank = LoraBank(model, peft.LoraConfig(**fields), PLAYERS)
    shake(bank)
    theirs = peft_of(bank, tmp_path)
    with torch.no_grad():
        base = logits(model)
        for name in PLAYERS:
            theirs.set_adapter(name)
            expected = logits(theirs)
            with bank.route([name] * 6):
                got = logits(model)
            close(got, expected)
            assert (got - base).abs().max() > 1e-2  # the adapter matters


@pytest.mark.parametrize("grad", [False, True], ids=["no grad", "grad"])
@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_mixed_batches_equal_peft_row_by_row(mix: list[int], grad: bool, tmp_path: Path, close: Any) -> None:
    model, bank = make()
    theirs = peft_of(bank, tmp_path)
    with torch.no_grad():
        rows = []
        for b, slot in enumerate(mix):
            if slot < 0:
                with theirs.disable_adapter():
                    rows.append(logits(theirs, IDS[b : b + 1]))
            else:
                theirs.set_adapter(PLAYERS[slot])
                rows.append(logits(theirs, IDS[b : b + 1]))
    with torch.set_grad_enabled(grad), bank.route(torch.tensor(mix)):
        got = logits(model)
    close(got.detach(), torch.cat(rows))


def test_base_rows_and_unrouted_calls_are_the_base_model_exactly(close: Any) -> None:
    model, bank = make()
    with torch.no_grad():
        expected = logits(tiny_llama())
        assert torch.equal(logits(model), expected)
        with bank.route([-1] * 6):
            assert torch.equal(logits(model), expected)
        with bank.route([-1, 0, -1, 1, -1, 0]):
            close(logits(model)[::2], expected[::2])


def gradients(model: Any, bank: LoraBank, mix: list[int]) -> dict[str, Any]:
    bank.zero_grad()
    with bank.route(mix):
        loss_of(model).sum().backward()
    return {name: bank.grads(name).clone() for name in bank.players}


@pytest.mark.parametrize("mix", [m for m in MIXES.values() if max(m) >= 0], ids=[k for k in MIXES if k != "base"])
def test_gradients_of_a_mixed_batch_equal_separate_passes(mix: list[int], close: Any) -> None:
    model, bank = make()
    together = gradients(model, bank, mix)
    for name, slot in bank.players.items():
        bank.zero_grad()
        rows = [b for b, s in enumerate(mix) if s == slot]
        if not rows:
            assert not together[name].any()
            continue
        with bank.route([slot] * len(rows)):
            loss_of(model, IDS[rows]).sum().backward()
        close(together[name], bank.grads(name), depth=32)
        assert together[name].abs().max() > 1e-3


def test_gradients_equal_peft(tmp_path: Path, close: Any) -> None:
    model, bank = make()
    theirs = peft_of(bank, tmp_path)
    gradients(model, bank, [0, 0, 1, 1, 2, 2])
    for name, slot in bank.players.items():
        theirs.set_adapter(name)
        theirs.zero_grad()
        loss_of(theirs, IDS[2 * slot : 2 * slot + 2]).sum().backward()
        named = dict(theirs.named_parameters())
        expected = [
            named[f"base_model.model.{layer.name}.lora_{part}.{name}.weight"].grad.flatten()
            for layer in bank.layers
            for part in "AB"
        ]
        close(bank.grads(name), torch.cat(expected), depth=32)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("mix", [[0, 0, 1, 1, 2, 2], [2, 0, 1, 0, -1, 1]])
def test_gradient_checkpointing_recomputes_under_its_own_route(mix: list[int], reentrant: bool, close: Any) -> None:
    model, bank = make()
    expected = gradients(model, bank, mix)
    model.activation_checkpointing_enable({"use_reentrant": reentrant})
    model.train()
    bank.zero_grad()
    with bank.route(mix):
        loss = loss_of(model).sum()
    # Recomputation happens while another route is in force, and after the batch's own was left.
    with bank.route([1, 1, 1, 1, 1, 1]):
        loss.backward()
    for name in PLAYERS:
        close(bank.grads(name), expected[name], depth=32)


def test_own_checkpoint_calls_take_the_banks_context(close: Any) -> None:
    from torch.utils.checkpoint import checkpoint

    model, bank = make()
    mix = [0, 0, 1, 1, 2, 2]
    expected = gradients(model, bank, mix)
    bank.zero_grad()
    with bank.route(mix):
        loss = checkpoint(loss_of, model, use_reentrant=False, context_fn=bank.checkpoint_context).sum()
    loss.backward()
    for name in PLAYERS:
        close(bank.grads(name), expected[name], depth=32)


def test_train_mode_gives_the_same() -> None:
    model, bank = make()
    mix = [0, 1, 2, 0, 1, 2]
    expected = gradients(model, bank, mix)
    model.train()
    got = gradients(model, bank, mix)
    assert all(torch.equal(got[name], expected[name]) for name in PLAYERS)


def test_only_the_bank_wants_gradients() -> None:
    model, bank = make()
    gradients(model, bank, [0] * 6)
    assert all(p.grad is None and not p.requires_grad for p in model.parameters())
    assert {id(p) for p in bank.parameters()}.isdisjoint({id(p) for p in model.parameters()})


def test_base_hash_is_unchanged_by_training() -> None:
    from coterie.agents.bank.optimizer import BankAdamW

    model, bank = make()
    before = bank.base_hash()
    optimizer = BankAdamW(bank, lr=0.1, weight_decay=0.1)
    gradients(model, bank, [0, 1, 2, 0, 1, 2])
    optimizer.step(PLAYERS)
    assert bank.base_hash() == before
    with torch.no_grad():
        next(model.parameters()).view(-1)[0] += 1e-3
    assert bank.base_hash() != before


def test_bfloat16_base_computes_in_bfloat16_with_float32_masters() -> None:
    model = tiny_llama().to(torch.bfloat16)
    bank = LoraBank(model, lora(), PLAYERS)
    shake(bank, 0.05)
    mix = [0, 0, 1, 1, 2, 2]
    assert all(p.dtype == torch.float32 for p in bank.parameters())
    with torch.no_grad(), bank.route(mix):
        got = logits(model)
        again = logits(model)  # from the kept copies
    assert got.dtype == torch.bfloat16
    assert torch.equal(got, again)
    reference, wide = make()
    with torch.no_grad():
        for name in PLAYERS:
            wide.weights(name).copy_(bank.weights(name))
        with wide.route(mix):
            expected = logits(reference)
    assert (got.float() - expected).abs().mean() < 0.05 * expected.abs().mean()
    grads = gradients(model, bank, mix)
    assert all(g.dtype == torch.float32 and g.abs().max() > 0 for g in grads.values())


def test_routes_nest_and_end() -> None:
    model, bank = make()
    with torch.no_grad():
        base = logits(model)
        with bank.route(["ann"] * 6):
            ann = logits(model)
            with bank.route(["bob"] * 6):
                bob = logits(model)
            assert torch.equal(logits(model), ann)
            with pytest.raises(RuntimeError, match="inside"), bank.route(["cat"] * 6):
                raise RuntimeError("inside")
            assert torch.equal(logits(model), ann)
        assert torch.equal(logits(model), base)
    assert not torch.equal(ann, bob)


def test_wrong_routes_say_what_is_wrong() -> None:
    model, bank = make()
    with pytest.raises(UsageError, match=r"6 rows .* for 2"), bank.route([0, 1]):
        logits(model)
    with pytest.raises(UnknownName, match="Did you mean 'ann'"), bank.route(["anne"] * 6):
        pass
    for bad in ([0, 3], [-2, 0]):
        with pytest.raises(UsageError, match="No player has slot"), bank.route(bad):
            pass
    for shape in (torch.zeros(2, 3, dtype=torch.long), torch.zeros(2), torch.tensor(1)):
        with pytest.raises(UsageError, match="one per row"), bank.route(shape):
            pass
    with pytest.raises(UsageError, match="not a single name"), bank.route("ann"):
        pass
    with torch.no_grad():  # and afterwards nothing is in force
        assert torch.equal(logits(model), logits(tiny_llama()))


def test_several_models_have_banks_of_their_own() -> None:
    model_a, bank_a = make(0)
    model_b, bank_b = make(1)
    with torch.no_grad(), bank_a.route(["ann"] * 6), bank_b.route(["bob"] * 2):
        a, b = logits(model_a), logits(model_b, IDS[:2])
    with torch.no_grad(), bank_a.route(["ann"] * 6):
        assert torch.equal(logits(model_a), a)
        assert not torch.equal(logits(model_b, IDS[:2]), b)


def test_detach_gives_the_plain_model_back() -> None:
    model, bank = make()
    model.activation_checkpointing_enable({"use_reentrant": False})
    model.train()
    gradients(model, bank, [0] * 6)
    bank.detach()
    with torch.no_grad(), bank.route(["ann"] * 6):
        assert torch.equal(logits(model.eval()), logits(tiny_llama()))


def test_banks_of_several_shapes_share_a_model_and_leave_it() -> None:
    model = tiny_llama()
    with torch.no_grad():
        bare = model(input_ids=IDS).logits
    banks = [
        LoraBank(model, lora(r=r, target_modules=targets), PLAYERS)
        for r, targets in ((4, "all-linear"), (2, ["q_proj"]))
    ]
    for bank in banks:
        shake(bank)
    alone = []
    for r, targets in ((4, "all-linear"), (2, ["q_proj"])):
        bank = LoraBank(tiny_llama(), lora(r=r, target_modules=targets), PLAYERS)
        shake(bank)
        with torch.no_grad(), bank.route([0, 1, 2, 0, 1, 2]):
            alone.append(bank.model(input_ids=IDS).logits)
    for bank, expected in zip(banks, alone, strict=True):
        with torch.no_grad(), bank.route([0, 1, 2, 0, 1, 2]):
            assert torch.equal(model(input_ids=IDS).logits, expected)
    adapters = [weakref.ref(bank.layers[0].A) for bank in banks]
    del bank, banks[0]
    gc.collect()
    assert [adapter() is None for adapter in adapters] == [True, False]
    banks[0].detach()
    with torch.no_grad(), banks[0].route([0] * 6):
        assert torch.equal(model(input_ids=IDS).logits, bare)
