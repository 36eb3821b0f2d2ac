"""Children of adapters: what a mixture adds to the model, which layers it changes, and what it refuses."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from coterie.agents.bank.breeding import mixture, mutated  # noqa: E402
from coterie.errors import UnknownName, UsageError  # noqa: E402
from coterie.training.runs.config import PolicyConfig  # noqa: E402
from coterie.training.runs.players import build_policy  # noqa: E402


@pytest.fixture
def bank(mini):
    """Players with adapters that do something, and one that was never trained."""
    bank = build_policy(PolicyConfig(model=str(mini), lora_r=4), ("a", "b", "child", "fresh")).bank
    generator = torch.Generator().manual_seed(0)
    for name in ("a", "b", "child"):
        row = bank.weights(name)
        row.copy_(torch.randn(row.shape, generator=generator))
    return bank


def effects(bank, name):
    """[out, in] by layer: what the adapter adds to the base weight, without its scale."""
    return {layer.name: (layer.B[bank.slot(name)] @ layer.A[bank.slot(name)]).clone() for layer in bank.layers}


def same(one, other):
    return all(torch.allclose(one[name], other[name], atol=1e-4) for name in one)


def test_a_mixture_of_few_directions_is_exact():
    generator = torch.Generator().manual_seed(1)
    parents = [(torch.zeros(4, 10), torch.zeros(7, 4)) for _ in range(2)]
    for a, b in parents:  # two directions each: four in all, as many as the child has
        a[:2], b[:, :2] = torch.randn(2, 10, generator=generator), torch.randn(7, 2, generator=generator)
    a, b = mixture(parents, [0.25, 0.75])
    torch.testing.assert_close(b @ a, 0.25 * parents[0][1] @ parents[0][0] + 0.75 * parents[1][1] @ parents[1][0])


def test_a_mixture_of_many_directions_loses_no_more_than_any_other_of_its_rank():
    generator = torch.Generator().manual_seed(2)
    parents = [(torch.randn(3, 10, generator=generator), torch.randn(8, 3, generator=generator)) for _ in range(2)]
    whole = sum(b @ a for a, b in parents) / 2
    a, b = mixture(parents, [0.5, 0.5])
    assert a.shape == (3, 10)
    assert b.shape == (8, 3)
    lost = torch.linalg.svdvals(whole)[3:].square().sum()
    torch.testing.assert_close((whole - b @ a).square().sum(), lost, rtol=1e-4, atol=1e-6)


def test_the_only_parent_has_a_child_like_itself_and_a_child_like_nobody_can_still_learn(bank):
    bank.breed("child", {"a": 3.0})
    assert same(effects(bank, "child"), effects(bank, "a"))
    bank.breed("child", {"fresh": 1.0})
    assert all(not effect.any() for effect in effects(bank, "child").values())
    slot = bank.slot("child")
    assert all((layer.A[slot].norm(dim=1) > 0.1).all() for layer in bank.layers)


def test_only_the_layers_named_are_mixed(bank):
    before = effects(bank, "a")
    bank.breed("child", {"a": 1.0, "b": 1.0}, mutation=0.1, layers=("layers.1.", "q_proj"))
    changed = {n for n, effect in effects(bank, "child").items() if not torch.allclose(effect, before[n], atol=1e-4)}
    assert changed == {layer.name for layer in bank.layers if "layers.1." in layer.name or "q_proj" in layer.name}
    assert changed
    assert len(changed) < len(bank.layers)
    assert same(effects(bank, "a"), before)


def test_mutations_are_of_the_size_asked_for_and_follow_the_seed(bank):
    pair = (torch.full((50, 40), 2.0), torch.zeros(30, 50))
    a, b = mutated(pair, 0.1, torch.Generator().manual_seed(0))
    assert float((a - pair[0]).std()) == pytest.approx(0.2, rel=0.05)
    assert not b.any()
    found = []
    for seed in (1, 1, 2):
        bank.breed("child", {"a": 1.0, "b": 2.0}, mutation=0.1, seed=seed)
        found.append(bank.weights("child").clone())
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@pytest.mark.parametrize(
    ("parents", "options", "complaint"),
    [
        ({}, {}, "needs parents with weights above 0"),
        ({"a": 0.0}, {}, "needs parents with weights above 0"),
        ({"a": 1.0}, {"mutation": -1.0}, "a mutation of at least 0"),
        ({"a": 1.0}, {"layers": ("no_such",)}, "No layer's name contains 'no_such'"),
        ({"a": 1.0}, {"layers": "q_proj"}, r"write \['q_proj'\]"),
    ],
)
def test_what_cannot_be_bred(bank, parents, options, complaint):
    before = bank.weights("child").clone()
    with pytest.raises(UsageError, match=complaint):
        bank.breed("child", parents, **options)
    with pytest.raises(UnknownName, match="player 'x'"):
        bank.breed("child", {"x": 1.0})
    assert torch.equal(bank.weights("child"), before)
