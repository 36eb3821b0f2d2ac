from __future__ import annotations

import json

import numpy as np
import pytest

from coterie.agents.engines.mock import MockEngine
from coterie.errors import UsageError
from coterie.training.episodes import Arena, ArtifactStore


def rng(seed=0):
    return np.random.default_rng(seed)


def test_draws_follow_the_weights():
    store = ArtifactStore()
    for name, weight in (("a", 1.0), ("b", 3.0), ("never", 0.0)):
        store.add({"name": name}, weight)
    drawn = [artifact["name"] for artifact in store.sample(4000, rng())]
    assert drawn.count("b") / 4000 == pytest.approx(0.75, abs=0.03)
    assert "never" not in drawn
    assert store.count() == len(store) == 3


def test_an_empty_store_has_nothing_to_draw():
    assert ArtifactStore().sample(3, rng()) == []


def test_the_oldest_go_first():
    store = ArtifactStore("questions", limit=2)
    for k in range(4):
        store.add(k)
    assert [artifact for artifact, _ in store.items()] == [2, 3]


def test_what_is_drawn_is_a_copy():
    store, artifact = ArtifactStore(), {"n": [1]}
    store.add(artifact)
    artifact["n"].append(2)
    store.sample(1, rng())[0]["n"].append(3)
    assert store.items() == [({"n": [1]}, 1.0)]


def test_it_is_restored_exactly():
    store = ArtifactStore()
    for k in range(5):
        store.add({"k": k, "text": "é"}, 0.1 * k)
    other = ArtifactStore()
    other.load_state_dict(json.loads(json.dumps(store.state_dict())))
    assert other.items() == store.items()
    assert other.sample(20, rng(3)) == store.sample(20, rng(3))


@pytest.mark.parametrize(("artifact", "weight"), [({1, 2}, 1.0), (float("nan"), 1.0), ("a", -1.0), ("a", float("inf"))])
def test_what_cannot_be_saved_or_drawn_is_refused(artifact, weight):
    with pytest.raises(UsageError, match="Store 'artifacts'"):
        ArtifactStore().add(artifact, weight)


def test_a_store_holds_at_least_one():
    with pytest.raises(UsageError, match="limit"):
        ArtifactStore(limit=0)


def test_an_arena_takes_the_store_that_it_is_given_even_if_it_is_empty():
    arena, store = Arena(MockEngine()), ArtifactStore("few", limit=1)
    assert arena.add_store("few", store) is store
    assert arena.stores["few"] is store


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_weights_of_a_forged_checkpoint_are_refused(weight):
    store = ArtifactStore()
    store.add("a")
    with pytest.raises(UsageError, match="must be a number from 0 on"):
        store.load_state_dict({"kept": [["b", 1.0], ["c", weight]]})
    assert store.items() == [("a", 1.0)]
