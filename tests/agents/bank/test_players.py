"""Players of a LoRA bank come, go and learn, and the others don't change by a bit."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.agents.bank.optimizer import BankAdamW  # noqa: E402
from coterie.errors import UnknownName, UsageError  # noqa: E402

from ..llama import llama  # noqa: E402

torch.set_num_threads(1)

PLAYERS = ["ann", "bob", "cat"]
IDS = torch.randint(0, 30, (6, 5), generator=torch.Generator().manual_seed(1))


def make(players: list[str] = PLAYERS, seed: int = 0, **fields: Any) -> LoraBank:
    model = llama(30, tie_word_embeddings=True)
    return LoraBank(model, peft.LoraConfig(**({"r": 4, "target_modules": "all-linear"} | fields)), players, seed)


def rows(bank: LoraBank) -> dict[str, Any]:
    return {name: bank.weights(name).clone() for name in bank.players}


def logits(bank: LoraBank, name: str) -> Any:
    with torch.no_grad(), bank.route([name] * 6):
        return bank.model(input_ids=IDS, use_cache=False).logits


def backward(bank: LoraBank, index: list[int]) -> None:
    bank.zero_grad()
    with bank.route(index):
        out = bank.model(input_ids=IDS, use_cache=False).logits
    torch.log_softmax(out, -1)[..., 3].sum().backward()


def train(bank: LoraBank, optimizer: BankAdamW, active: list[str], steps: int = 1) -> None:
    for _ in range(steps):
        backward(bank, [bank.slot(active[k % len(active)]) for k in range(6)])
        optimizer.step(active)


# -- players ----------------------------------------------------------------------------------------------------------


def test_fresh_adapters_change_nothing_and_differ(close: Any) -> None:
    bank = make()
    with torch.no_grad():
        base = bank.model(input_ids=IDS, use_cache=False).logits
    for name in PLAYERS:
        close(logits(bank, name), base)
    assert not torch.equal(bank.weights("ann"), bank.weights("bob"))
    A = bank.layers[0].A
    assert A.detach().abs().max() <= A.shape[2] ** -0.5  # kaiming_uniform(a=sqrt 5), as peft
    assert A.detach().abs().max() > 0.9 * A.shape[2] ** -0.5


def test_initial_weights_depend_on_seed_and_name_alone() -> None:
    a, b, c = make(), make(["bob", "zoe"]), make(seed=1)
    assert torch.equal(a.weights("bob"), b.weights("bob"))
    assert not torch.equal(a.weights("bob"), c.weights("bob"))


def test_gaussian_and_random_b_initialisation() -> None:
    gaussian, random_b = make(init_lora_weights="gaussian"), make(init_lora_weights=False)
    assert gaussian.layers[0].A.std().item() == pytest.approx(1 / 4, rel=0.2)
    assert not gaussian.layers[0].B.any()
    assert random_b.layers[0].B.any()


def test_adding_doubles_the_capacity_and_keeps_the_others() -> None:
    bank = make()
    before, outputs = rows(bank), {name: logits(bank, name) for name in PLAYERS}
    assert bank.add("dan") == 3
    assert bank.capacity == 6
    assert all(p.shape[0] == 6 for p in bank.parameters())
    for name in PLAYERS:
        assert torch.equal(bank.weights(name), before[name])
        assert torch.equal(logits(bank, name), outputs[name])
    bank.add("eve")
    bank.add("fay")
    assert bank.capacity == 6
    backward(bank, [0, 1, 2, 3, 4, 5])
    assert all(bank.grads(name).any() for name in bank.players)


def test_memory_is_given_back_when_most_slots_are_free() -> None:
    bank = make([f"past-{k}" for k in range(15)] + ["ann"])
    kept, said = bank.weights("ann").clone(), logits(bank, "ann")
    for k in range(11):
        bank.remove(f"past-{k}")
    bank.shrink()
    assert bank.capacity == 16  # 5 of 16 are in use
    bank.remove("past-11")
    bank.remove("past-12")
    bank.shrink()
    assert bank.capacity == 8
    assert sum(p.numel() for p in bank.parameters()) == 8 * kept.numel()
    assert sorted(bank.players) == ["ann", "past-13", "past-14"]
    assert torch.equal(bank.weights("ann"), kept)
    assert torch.equal(logits(bank, "ann"), said)
    bank.add("dan")
    assert len(set(bank.players.values())) == 4


def test_growing_keeps_gradients() -> None:
    bank = make()
    backward(bank, [0, 1, 2, 0, 1, 2])
    grads = {name: bank.grads(name).clone() for name in PLAYERS}
    bank.add("dan")
    assert all(torch.equal(bank.grads(name), grads[name]) for name in PLAYERS)
    assert not bank.grads("dan").any()


def test_only_those_who_learn_have_gradients() -> None:
    bank = make([*PLAYERS, *(f"past-{k}" for k in range(13))])
    assert bank.grad_nbytes == 0
    row = 4 * bank.weights("ann").numel()
    with torch.no_grad(), bank.route(["past-3", "past-4", "ann", "ann", "past-12", "bob"]):
        bank.model(input_ids=IDS, use_cache=False)
    assert bank.grad_nbytes == 0
    backward(bank, [0, 2, 0, 2, 2, 2])
    assert bank.grad_nbytes == 2 * row
    backward(bank, [1, 1, 1, 1, 1, 1])
    assert bank.grad_nbytes == row
    bank.remove("bob")
    assert bank.grad_nbytes == 0


@pytest.mark.parametrize("fields", [{"r": "4"}, {"r": 2.5}, {"lora_alpha": "8"}, {"lora_alpha": None}])
def test_sizes_that_are_no_numbers_are_refused(fields) -> None:
    """peft checks neither; adapter_config.json may hold anything."""
    with pytest.raises(UsageError, match=next(iter(fields))):
        make(**fields)


def test_removed_slots_are_used_again_from_fresh() -> None:
    bank = make()
    before = rows(bank)
    bank.remove("bob")
    assert list(bank.players) == ["ann", "cat"]
    with pytest.raises(UsageError, match="No player has slot 1"), bank.route([1]):
        pass
    assert bank.add("dan") == 1
    assert bank.capacity == 3
    assert torch.equal(bank.weights("ann"), before["ann"])
    assert torch.equal(bank.weights("cat"), before["cat"])
    assert bank.versions["dan"] == 0


def test_copies_are_equal_and_then_independent() -> None:
    bank = make()
    optimizer = BankAdamW(bank, lr=0.1)
    train(bank, optimizer, ["ann"])
    bank.add("ann-1", init_from="ann")
    bank.copy("ann", "bob")
    assert torch.equal(logits(bank, "ann"), logits(bank, "ann-1"))
    assert torch.equal(logits(bank, "ann"), logits(bank, "bob"))
    snapshot = bank.weights("ann-1").clone()
    train(bank, optimizer, ["ann"])
    assert torch.equal(bank.weights("ann-1"), snapshot)
    assert not torch.equal(bank.weights("ann"), snapshot)


def test_reset_gives_the_first_weights_or_those_of_a_seed() -> None:
    bank = make()
    before = rows(bank)
    train(bank, BankAdamW(bank, lr=0.1), ["bob"], 2)
    bank.reset("bob")
    assert torch.equal(bank.weights("bob"), before["bob"])
    bank.reset("bob", seed=5)
    assert not torch.equal(bank.weights("bob"), before["bob"])
    assert torch.equal(bank.weights("ann"), before["ann"])


def test_versions_count_changes() -> None:
    bank = make()
    assert bank.versions == dict.fromkeys(PLAYERS, 0)
    train(bank, BankAdamW(bank), ["ann", "bob"], 3)
    bank.copy("ann", "cat")
    assert bank.versions == {"ann": 3, "bob": 3, "cat": 1}


def test_wrong_players_say_what_is_wrong() -> None:
    bank = make()
    for act in (bank.remove, bank.reset, bank.weights, bank.slot):
        with pytest.raises(UnknownName, match="Did you mean 'ann'"):
            act("annn")
    with pytest.raises(UnknownName):
        bank.copy("ann", "nobody")
    with pytest.raises(UnknownName):
        bank.add("dan", init_from="nobody")
    with pytest.raises(UsageError, match="already"):
        bank.add("ann")
    with pytest.raises(UsageError, match="needs a name"):
        bank.add("")
    assert list(bank.players) == PLAYERS


# -- learning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_steps_equal_torch_adamw_a_player_at_a_time(decay: float) -> None:
    bank = make()
    optimizer = BankAdamW(bank, lr=0.03, betas=(0.8, 0.95), weight_decay=decay)
    copies = {name: torch.nn.Parameter(bank.weights(name).clone()) for name in PLAYERS}
    theirs = {
        name: torch.optim.AdamW([p], lr=0.03, betas=(0.8, 0.95), weight_decay=decay) for name, p in copies.items()
    }
    schedule = [["ann"], ["ann", "bob"], ["cat", "ann"], ["bob"], PLAYERS]
    for active in schedule:
        backward(bank, [bank.slot(active[k % len(active)]) for k in range(6)])
        for name in active:
            copies[name].grad = bank.grads(name).clone()
            theirs[name].step()
        optimizer.step(active)
        for name in PLAYERS:
            torch.testing.assert_close(bank.weights(name), copies[name].data, atol=1e-7, rtol=1e-6)
    assert [optimizer.steps(name) for name in PLAYERS] == [4, 3, 2]


def test_idle_players_stay_bit_equal_under_decay_and_momentum() -> None:
    bank = make()
    optimizer = BankAdamW(bank, lr=0.1, weight_decay=0.5)
    train(bank, optimizer, PLAYERS, 2)  # everyone has momentum now
    before = rows(bank)
    backward(bank, [0, 1, 2, 0, 1, 2])  # and a gradient
    optimizer.step(["bob"])
    assert torch.equal(bank.weights("ann"), before["ann"])
    assert torch.equal(bank.weights("cat"), before["cat"])
    assert not torch.equal(bank.weights("bob"), before["bob"])
    train(bank, optimizer, ["bob"], 3)
    assert torch.equal(bank.weights("ann"), before["ann"])


def test_learning_lowers_the_loss_of_each_player_for_itself() -> None:
    bank = make()
    optimizer = BankAdamW(bank, lr=0.01)
    goals = torch.tensor([3, 7, 11]).repeat_interleave(2)
    first = None
    for _ in range(40):
        optimizer.zero_grad()
        with bank.route([0, 0, 1, 1, 2, 2]):
            out = bank.model(input_ids=IDS, use_cache=False).logits[:, -1]
        losses = torch.nn.functional.cross_entropy(out, goals, reduction="none")
        losses.sum().backward()
        optimizer.step(PLAYERS)
        first = losses.detach() if first is None else first
    assert (losses < 0.5 * first).all()


def test_clipping_is_per_player(close: Any) -> None:
    bank = make()
    backward(bank, [0, 1, 1, 1, 2, 2])
    optimizer = BankAdamW(bank)
    before = {name: bank.grads(name).clone() for name in PLAYERS}
    limit = float(min(g.norm() for g in before.values())) * 1.01
    norms = optimizer.clip_grad_norm(["ann", "bob", "cat"], limit)
    for name in PLAYERS:
        assert norms[name] == pytest.approx(float(before[name].norm()))
        expected = before[name] * min(1.0, limit / norms[name])
        close(bank.grads(name), expected)
    assert any(torch.equal(bank.grads(name), before[name]) for name in PLAYERS)  # the one below the limit


def test_clipping_reports_what_is_not_finite() -> None:
    bank = make()
    backward(bank, [0] * 6)
    bank.grads("ann")[0] = float("nan")
    assert BankAdamW(bank).clip_grad_norm(["ann"], 1.0)["ann"] != pytest.approx(1.0)


def test_new_weights_get_fresh_moments() -> None:
    bank = make()
    optimizer = BankAdamW(bank, lr=0.1)
    train(bank, optimizer, ["ann", "bob"], 2)
    bank.reset("ann")
    bank.remove("bob")
    bank.add("bob")
    assert optimizer.steps("ann") == optimizer.steps("bob") == 0
    train(bank, optimizer, ["ann", "bob"])
    assert optimizer.steps("ann") == optimizer.steps("bob") == 1


def test_moments_and_gradients_of_who_left_are_freed() -> None:
    bank = make()
    optimizer = BankAdamW(bank, lr=0.1)
    train(bank, optimizer, PLAYERS)
    one = optimizer.nbytes // 3
    assert one == 2 * 4 * bank.weights("ann").numel()
    for k in range(4):  # a pool whose oldest player goes: as many moments as players, ever
        bank.remove("bob" if k == 0 else f"dan-{k - 1}")
        assert bank.add(f"dan-{k}") == 1
        assert not bank.grads(f"dan-{k}").any()  # the slot's last owner left a gradient there
        optimizer.zero_grad()
        assert optimizer.nbytes == 2 * one
        train(bank, optimizer, [f"dan-{k}"])
        assert optimizer.nbytes == 3 * one
    bank.remove("ann")
    assert set(optimizer.state_dict()) == {"cat", "dan-3"}
    assert optimizer.nbytes == 2 * one


def test_learning_rates_of_a_player_each() -> None:
    bank, twin = make(), make()
    rates = {"ann": 0.1, "bob": 0.0, "cat": 0.02}
    optimizer, single = BankAdamW(bank), {name: BankAdamW(twin, lr=rate) for name, rate in rates.items()}
    before = rows(bank)
    for _ in range(3):
        backward(bank, [0, 1, 2, 0, 1, 2])
        optimizer.step(PLAYERS, lr=rates)
        backward(twin, [0, 1, 2, 0, 1, 2])
        for name, alone in single.items():
            alone.step([name])
    for name in PLAYERS:
        assert torch.equal(bank.weights(name), twin.weights(name))
    assert torch.equal(bank.weights("bob"), before["bob"])
    moved = rows(bank)
    with pytest.raises(UsageError, match="'cat' has no learning rate"):
        optimizer.step(PLAYERS, lr={"ann": 0.1, "bob": 0.1})
    assert all(torch.equal(bank.weights(name), moved[name]) for name in PLAYERS)


def test_learning_rate_of_a_step() -> None:
    bank = make()
    before = rows(bank)
    optimizer = BankAdamW(bank, lr=0.1, weight_decay=0.1)
    backward(bank, [0] * 6)
    optimizer.step(["ann"], lr=0.0)
    assert torch.equal(bank.weights("ann"), before["ann"])


def test_wrong_steps() -> None:
    bank = make()
    optimizer = BankAdamW(bank)
    with pytest.raises(UsageError, match="twice"):
        optimizer.step(["ann", "ann"])
    with pytest.raises(UnknownName):
        optimizer.step(["nobody"])
    with pytest.raises(UsageError, match="lr=-1"):
        BankAdamW(bank, lr=-1)


# -- continuing -------------------------------------------------------------------------------------------------------


def test_state_dicts_continue_bit_equal(tmp_path: Any) -> None:
    def twin() -> tuple[LoraBank, BankAdamW]:
        bank = make()
        return bank, BankAdamW(bank, lr=0.05, weight_decay=0.1)

    bank, optimizer = twin()
    train(bank, optimizer, ["ann", "bob"], 2)
    bank.add("dan", init_from="ann")
    bank.remove("bob")
    train(bank, optimizer, ["dan"], 1)
    torch.save({"bank": bank.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "state.pt")
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    frozen = copy.deepcopy(state)
    train(bank, optimizer, ["ann", "cat", "dan"], 2)

    again, optimizer_again = twin()
    again.load_state_dict(state["bank"])
    optimizer_again.load_state_dict(state["optimizer"])
    train(again, optimizer_again, ["ann", "cat", "dan"], 2)
    assert again.players == bank.players
    assert again.versions == bank.versions
    assert again.births == bank.births
    for name in bank.players:
        assert torch.equal(again.weights(name), bank.weights(name))
        assert optimizer_again.steps(name) == optimizer.steps(name)
    # Training doesn't write into the state that was loaded.
    assert all(
        torch.equal(frozen["bank"]["weights"][n], state["bank"]["weights"][n]) for n in frozen["bank"]["players"]
    )
    assert all(torch.equal(frozen["optimizer"][n]["first"], m["first"]) for n, m in state["optimizer"].items())


def test_states_of_another_bank_are_refused() -> None:
    state = make().state_dict()
    with pytest.raises(UsageError, match="other rank"):
        make(r=2).load_state_dict(state)
    with pytest.raises(UsageError, match="other layers"):
        make(target_modules=["q_proj"]).load_state_dict(state)
