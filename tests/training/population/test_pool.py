"""Who there is: adding, freezing, keeping past selves, removing; weights and moments go with their players."""

from __future__ import annotations

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from coterie.agents.baselines import RandomAgent  # noqa: E402
from coterie.errors import UnknownName, UsageError  # noqa: E402
from coterie.training.loop import Trainer  # noqa: E402


@pytest.fixture
def trainer(small):
    scheme = dataclasses.replace(small.scheme, scheme="self_play", learners=2, max_past=2)
    return Trainer(dataclasses.replace(small, scheme=scheme))


def test_past_selves_are_bounded_and_keep_their_weights(trainer):
    pool, bank = trainer.pool, trainer.policy.bank
    trainer.step()
    first = bank.weights("main").clone()
    assert pool.snapshot("main", 1) == "main@1"
    trainer.step()
    assert torch.equal(bank.weights("main@1"), first)
    assert not torch.equal(bank.weights("main"), first)
    pool.snapshot("main", 2)
    pool.snapshot("main", 3)
    assert pool.past("main") == ["main@2", "main@3"]
    assert pool.past("main-2") == []
    assert "main@1" not in bank.players
    assert "main@1" not in pool.agents


def test_who_is_frozen_keeps_its_weights_and_has_no_more_past_selves(trainer):
    trainer.step()
    trainer.pool.freeze("main-2")
    assert (trainer.pool.live, trainer.pool.frozen) == (["main"], ["main-2"])
    with pytest.raises(UnknownName, match="player who learns 'main-2'"):
        trainer.pool.snapshot("main-2", 1)
    assert "main-2" in trainer.policy.bank.players
    assert "main-2" in trainer.pool.agents


def test_who_is_removed_leaves_with_past_selves_weights_and_moments(trainer):
    trainer.step()
    trainer.pool.snapshot("main-2", 1)
    trainer.pool.remove("main-2")
    assert trainer.pool.live == ["main"]
    assert set(trainer.pool.agents) == {"main"}
    assert not {"main-2", "main-2@1"} & set(trainer.policy.bank.players)
    assert set(trainer.policy.local.optimizer.state_dict()) == {"main"}
    with pytest.raises(UnknownName, match="player 'main-2'"):
        trainer.pool.remove("main-2")


def test_guests_have_no_weights_here_and_names_are_taken_once(trainer):
    before = set(trainer.policy.bank.players)
    trainer.pool.add("guest", RandomAgent())
    with pytest.raises(UsageError, match="There is already a player 'guest'"):
        trainer.pool.add("guest", RandomAgent())
    trainer.pool.remove("guest")
    assert set(trainer.policy.bank.players) == before


def test_a_pool_is_what_it_was_after_loading(trainer):
    trainer.pool.snapshot("main", 4)
    trainer.pool.freeze("main-2")
    other = Trainer(trainer.config)
    other.policy.bank.load_state_dict(trainer.policy.bank.state_dict())
    other.pool.load_state_dict(trainer.pool.state_dict())
    assert other.pool.state_dict() == trainer.pool.state_dict()
    assert set(other.pool.agents) == set(trainer.pool.agents)


def fresh(trainer):
    return Trainer(trainer.config).policy.bank


def test_who_is_reset_begins_anew_with_weights_moments_and_what_it_is_set_back_to(trainer):
    trainer.scheme.update = lambda done, results, pool: pool.reset("main", done) if done == 2 else None
    trainer.step()
    trainer.health.guards.low["main"] = {"illegal": 3, "entropy": 0}
    trainer.step()
    bank, first = trainer.policy.bank, fresh(trainer)
    assert torch.equal(bank.weights("main"), first.weights("main"))
    assert trainer.policy.local.optimizer.steps("main") == 0
    assert trainer.policy.local.optimizer.steps("main-2") > 0
    assert torch.equal(bank.weights("main@sound"), first.weights("main"))
    assert trainer.health.guards.well("main")
    assert trainer.pool.renewed == []
    assert trainer.pool.lineage == [{"player": "main", "how": "reset", "update": 2, "parents": {}}]
    trainer.step()
    assert not torch.equal(bank.weights("main"), first.weights("main"))


@pytest.mark.parametrize("credit", ["state", "rae"])
def test_what_a_learner_met_before_its_reset_is_no_baseline_any_more(trainer, credit):
    config = dataclasses.replace(
        trainer.config,
        credit=dataclasses.replace(trainer.config.credit, credit=credit, memory=0.9),
        loss=dataclasses.replace(trainer.config.loss, magnet_coef=0.1, magnet_every=9),
    )
    other = Trainer(config)
    other.scheme.update = lambda done, results, pool: pool.reset("main", done) if done == 2 else None

    def known():
        held = other.memory.state_dict() if credit == "state" else other.baseline.means
        magnets = {name.partition("@")[0] for name in other.policy.bank.players if name.endswith("@magnet")}
        return {role.partition("/")[0] for role in held}, magnets

    other.step()
    assert known() == ({"main", "main-2"}, {"main", "main-2"})
    other.step()
    assert known() == ({"main-2"}, {"main-2"})


def test_an_heir_has_weights_and_moments_of_its_parent(trainer):
    trainer.step()
    trainer.pool.inherit("main-2", "main", 1)
    bank, optimizer = trainer.policy.bank, trainer.policy.local.optimizer
    assert torch.equal(bank.weights("main"), bank.weights("main-2"))
    assert torch.equal(optimizer.state_dict()["main"]["first"], optimizer.state_dict()["main-2"]["first"])
    for name in ("main", "main-2"):
        with pytest.raises(UnknownName, match="'nobody'"):
            trainer.pool.inherit(name, "nobody", 1)


def test_a_child_has_its_parents_in_the_lineage_which_is_saved(trainer):
    trainer.step()
    trainer.pool.snapshot("main-2", 1)
    trainer.pool.breed("main", {"main": 1.0, "main-2@1": 3.0}, 1, mutation=0.1)
    assert trainer.policy.local.optimizer.steps("main") == 0
    assert trainer.pool.lineage == [
        {"player": "main-2@1", "how": "snapshot", "update": 1, "parents": {"main-2": 1.0}},
        {"player": "main", "how": "breed", "update": 1, "parents": {"main": 0.25, "main-2@1": 0.75}},
    ]
    kept = trainer.pool.state_dict()
    trainer.pool.reset("main", 2)
    assert len(kept["lineage"]) == 2
    trainer.pool.load_state_dict(kept)
    assert trainer.pool.state_dict() == kept
    del kept["lineage"]  # as earlier versions saved it
    trainer.pool.load_state_dict(kept)
    assert trainer.pool.lineage == []


def test_past_selves_without_bounds_are_all_kept(trainer):
    for update in range(4):
        trainer.pool.snapshot("main", update, bounded=False)
    assert trainer.pool.past("main") == [f"main@{update}" for update in range(4)]
