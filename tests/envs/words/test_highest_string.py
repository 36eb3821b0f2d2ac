"""Highest string: order, rewards, heights, arguments."""

from __future__ import annotations

import itertools

import pytest

import coterie
from coterie.envs.registry import make_game
from coterie.envs.words.core import LONGEST
from coterie.envs.words.highest_string import PRINTABLE, height
from coterie.envs.words.vec import TextVec
from coterie.errors import StateError, UsageError


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
    "bad",
    [
        *({"players": 1}, {"players": 9}, {"length": 0}, {"length": 251}, {"alphabet": "a"}, {"alphabet": "a\n\0"}),
        {"alphabet": "".join(map(chr, range(0x4E00, 0x4E00 + 257)))},
    ],
)
def test_arguments_are_checked(bad):
    with pytest.raises(UsageError, match=next(iter(bad))):
        coterie.make("highest_string-v0", **bad)


def test_the_longest_strings_are_measured_and_shown_whole():
    game = make_game("highest_string", length=250, players=8)
    state = game.new_state(1)
    state[0] = {"round": 1, "said": ["~" * 250, "\\'\"" * 83, *["\\" * 250] * 6]}
    assert game.kernels.sound(state, 0) == 0
    assert game.tell(state, 0)[0] == {"height": 1.0}
    assert len(game.describe(state, 0, 7)) <= LONGEST


@pytest.mark.parametrize(
    "forged",
    [
        {"round": -1, "said": ["", ""]},
        {"round": 3, "said": ["a", "a"]},
        {"round": 0, "said": ["a", "a"]},
        {"round": 1, "said": ["a", ""]},
        {"round": 1, "said": ["a", "\n"]},
        {"round": 1, "said": ["a", "a", "a"]},
        {"round": 1, "said": ["a", "a" * 9]},
    ],
    ids=str,
)
def test_forged_states_are_refused(forged):
    game = make_game("highest_string", rounds=2)
    vec = TextVec(game, 1)
    vec.reset(seed=0)
    with pytest.raises(StateError):
        vec.set_state([forged])
