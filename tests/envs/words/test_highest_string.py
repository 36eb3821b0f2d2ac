"""Highest string: order, rewards, heights, arguments."""

from __future__ import annotations

import itertools

import pytest

import coterie
from coterie.envs.words.highest_string import PRINTABLE, height
from coterie.errors import UsageError


def play(*said, **config):
    env = coterie.make("highest_string-v0", api="parallel", players=len(said), **config)
    env.reset(seed=0)
    return list(env.step(dict(zip(env.agents, said, strict=True)))[1].values())


@pytest.mark.parametrize(
    ("one", "other", "reward"),
    [("b", "a", 1), ("a", "b", -1), ("a", "a", 0), ("aa", "a", 1), ("b", "azzzzzzz", 1), ("~", "}~~~~~~~", 1)],
)
def test_rewards_of_two(one, other, reward):
    assert play(one, other) == [reward, -reward]


def test_rewards_of_many_sum_to_nothing():
    assert play("b", "a", "c", "c") == pytest.approx([-1 / 3, -1, 2 / 3, 2 / 3])


@pytest.mark.parametrize("alphabet", ["ab", "cab", "ä😀b"])
def test_height_is_the_rank_among_all_strings(alphabet):
    everything = sorted("".join(s) for n in (1, 2, 3) for s in itertools.product(alphabet, repeat=n))
    for rank, text in enumerate(everything):
        assert height(text, 3, alphabet) == pytest.approx(rank / (len(everything) - 1))


def test_the_optimum_is_tildes():
    assert "".join(map(chr, range(32, 127))) == PRINTABLE
    assert height("~" * 8) == 1.0
    assert play("~" * 8, "~" * 7) == [1.0, -1.0]


@pytest.mark.parametrize(
    "bad", [{"players": 1}, {"players": 9}, {"length": 0}, {"alphabet": "a"}, {"alphabet": "a\n\0"}]
)
def test_arguments_are_checked(bad):
    with pytest.raises(UsageError, match=next(iter(bad))):
        coterie.make("highest_string-v0", **bad)
