"""Who plays whom: shares, seats, and what a scheme refuses."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("torch")

from coterie.errors import UnknownName, UsageError
from coterie.training.runs.config import SchemeConfig
from coterie.training.schemes import SCHEMES, make_scheme
from coterie.training.schemes.mixed import parse_weights


def seats(opponents, groups=40, past=(), players=2, scheme="mixed", update=0, seed=0):
    made = make_scheme(SchemeConfig(scheme=scheme, opponents=opponents), players)
    return made.seats(update, groups, list(past), np.random.default_rng(seed))


def test_weights_are_read():
    assert parse_weights("random=1, minimax=0.5,runs/a") == {"random": 1.0, "minimax": 0.5, "runs/a": 1.0}
    assert parse_weights("runs/a=b=2") == {"runs/a=b": 2.0}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "opponents is empty"),
        (" , ", "opponents is empty"),
        ("random=0", "'random=0' isn't NAME"),
        ("random=-1", "'random=-1' isn't NAME"),
        ("random=nan", "isn't NAME"),
        ("random=inf", "isn't NAME"),
        ("random=much", "'random=much' isn't NAME or NAME=WEIGHT"),
        ("=1", "isn't NAME"),
        ("random=1,random=2", "'random' stands there twice"),
    ],
)
def test_weights_that_make_no_sense(text, complaint):
    with pytest.raises(UsageError, match=complaint):
        parse_weights(text)


@pytest.mark.parametrize("seed", range(5))
def test_opponents_get_their_share_give_or_take_one_group(seed):
    drawn = seats("random=2,minimax=1,self=1", seed=seed)
    against = Counter("self" if s.players == ("main", "main") else (set(s.players) - {"main"}).pop() for s in drawn)
    for name, share in (("random", 20), ("minimax", 10), ("self", 10)):
        assert abs(against[name] - share) <= 1


@pytest.mark.parametrize("players", [2, 3])
def test_the_learner_takes_every_seat_equally_often_against_each_opponent(players):
    drawn = seats("random=1,minimax=1", groups=30, players=players)
    for name in ("random", "minimax"):
        taken = Counter(s.players.index("main") for s in drawn if name in s.players)
        assert set(taken) == set(range(players))
        assert max(taken.values()) - min(taken.values()) <= 1
    for s in drawn:
        assert s.learners == tuple(p == "main" for p in s.players)


def test_past_selves_sit_there_without_learning_and_self_learns_in_every_seat():
    drawn = seats("past=1,self=1", past=["past-1", "past-2"])
    kinds = {s.players: s.learners for s in drawn}
    assert kinds.pop(("main", "main")) == (True, True)
    assert {name for players in kinds for name in players} == {"main", "past-1", "past-2"}
    assert all(learners == tuple(p == "main" for p in players) for players, learners in kinds.items())


def test_before_there_is_a_past_self_the_learner_stands_in():
    assert {s.players for s in seats("past=1")} == {("main", "main")}


def test_the_same_numbers_give_the_same_seats():
    assert seats("random=1,self=2", seed=3) == seats("random=1,self=2", seed=3)


@pytest.mark.parametrize("name", ["self", "past"])
def test_fixed_opponents_do_not_change(name):
    with pytest.raises(UsageError, match=f"fixed scheme can't hold '{name}'.*--scheme mixed"):
        seats(f"random=1,{name}=1", scheme="fixed")
    assert {n for s in seats("random=1,minimax=1", scheme="fixed") for n in s.players} == {"main", "random", "minimax"}


def test_self_play_fills_every_seat():
    assert {(s.players, s.learners) for s in seats("random=1", scheme="self_play")} == {(("main",) * 2, (True,) * 2)}


def test_every_scheme_is_built_by_name_and_a_misspelt_one_gets_a_suggestion():
    for name in SCHEMES:
        made = make_scheme(SchemeConfig(scheme=name), 2)
        assert made.learner == "main"
        assert len(made.seats(0, 3, [], np.random.default_rng(0))) == 3
    assert make_scheme(SchemeConfig(scheme="self-play"), 2).opponents == ()
    with pytest.raises(UnknownName, match=r"Unknown scheme 'mixd'\. Did you mean 'mixed'"):
        make_scheme(SchemeConfig(scheme="mixd"), 2)
