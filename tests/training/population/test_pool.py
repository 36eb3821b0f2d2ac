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
