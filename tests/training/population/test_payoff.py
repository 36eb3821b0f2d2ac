"""Who beats whom: shares, decay, both directions of a pair, and what a checkpoint keeps of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("torch")

from coterie.training.data.records import Episode
from coterie.training.population.payoff import Payoff


def game(players, returns):
    return Episode(0, tuple(players), (False,) * len(players), returns=list(returns))


def test_a_pair_without_games_is_even():
    payoff = Payoff()
    assert (payoff.win_rate("a", "b"), payoff.margin("a", "b"), payoff.games("a", "b")) == (0.5, 0.0, 0.0)
    assert payoff.matrix(["a"], []).shape == (1, 0)


def test_wins_count_one_and_draws_a_half():
    payoff = Payoff(decay=1.0)
    payoff.add([game("ab", (1, -1)), game("ba", (-1, 1)), game("ab", (0, 0)), game("ab", (-3, 3))])
    assert payoff.games("a", "b") == payoff.games("b", "a") == 4
    assert payoff.win_rate("a", "b") == 2.5 / 4
    assert payoff.win_rate("b", "a") == 1.5 / 4
    assert payoff.margin("a", "b") == -payoff.margin("b", "a") == (1 + 1 + 0 - 3) / 4


def test_earlier_games_of_a_pair_fade_with_its_own_games_alone():
    payoff = Payoff()
    payoff.add([game("ab", (1, -1)), game("ac", (1, -1)), game("ab", (-1, 1)), game("ab", (-1, 1))])
    assert payoff.games("a", "b") == pytest.approx(0.99**2 + 0.99 + 1)
    assert payoff.win_rate("a", "b") == pytest.approx(0.99**2 / (0.99**2 + 0.99 + 1))
    assert payoff.win_rate("a", "c") == 1.0


def test_a_player_against_itself_says_nothing_and_many_seats_are_compared_two_by_two():
    payoff = Payoff(decay=1.0)
    payoff.add([game("aa", (1, -1)), game("abb", (0, 1, -1)), game("abc", (2, 1, 1))])
    assert payoff.games("a", "a") == 0
    assert payoff.win_rate("a", "b") == pytest.approx((0 + 1 + 1) / 3)
    assert payoff.win_rate("b", "c") == 0.5


def test_what_a_checkpoint_keeps_is_exact():
    payoff, other = Payoff(), Payoff()
    rng = np.random.default_rng(0)
    payoff.add([game(rng.permutation(list("abc"))[:2], rng.normal(size=2).tolist()) for _ in range(50)])
    other.load_state_dict(json.loads(json.dumps(payoff.state_dict())))
    names = list("abc")
    assert np.array_equal(payoff.matrix(names, names), other.matrix(names, names))
    assert np.array_equal(payoff.margins(names, names), other.margins(names, names))
    before = other.margin("a", "b")
    payoff.add([game("ab", (1, -1))])
    assert other.margin("a", "b") == before
