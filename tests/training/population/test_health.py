"""Collapse: what counts as one, for whom, and that nobody is well merely because nothing is known."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

from coterie.training.population.health import Guards
from coterie.training.runs.config import BudgetConfig

FINE = {"illegal": 0.0, "entropy": 1.0, "approx_kl": 0.01}


@pytest.fixture
def guards():
    return Guards(BudgetConfig(min_entropy=0.5, max_illegal=0.2, max_kl=0.3, patience=3))


def looks(guards, *rows, name="main"):
    return [guards.look(name, update, row) for update, row in enumerate(rows)]


@pytest.mark.parametrize("moved", [0.4, math.nan, math.inf])
def test_a_jump_is_a_collapse_at_once(guards, moved):
    assert looks(guards, FINE) == [None]
    assert "moved the policy by" in str(guards.look("main", 1, FINE | {"approx_kl": moved}))


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({"illegal": 0.5}, "Illegal answers stayed at 50% for 3 updates"),
        ({"entropy": 0.1}, "Entropy stayed at 0.1000"),
        ({"entropy": math.nan}, "Entropy stayed at nan"),
    ],
)
def test_what_stays_bad_for_so_many_updates_running_is_a_collapse(guards, field, text):
    bad = FINE | field
    assert looks(guards, bad, bad, FINE, bad, bad) == [None] * 5
    assert text in str(guards.look("main", 5, bad))


def test_an_update_that_tells_nothing_is_neither_healthy_nor_ill(guards):
    """It used to set the counter back, so that a policy without any variance left was never noticed."""
    dull = FINE | {"entropy": 0.1}
    assert looks(guards, dull, dull, {}, {}, {}) == [None] * 5
    assert not guards.well("main")
    assert "Entropy stayed at" in str(guards.look("main", 5, dull))


def test_players_are_counted_apart(guards):
    dull = FINE | {"entropy": 0.1}
    for _ in range(2):
        assert looks(guards, dull, name="a") == looks(guards, FINE, name="b") == [None]
    assert (guards.well("a"), guards.well("b"), guards.well("c")) == (False, True, True)
    assert guards.look("b", 3, dull) is None
    assert guards.look("a", 3, dull) is not None
    guards.forget("a")
    assert guards.well("a")
    assert guards.look("a", 4, dull) is None
