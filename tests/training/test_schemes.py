"""Who plays whom: shares, seats, and what a scheme refuses."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("torch")

from coterie.agents.baselines import RandomAgent
from coterie.errors import UnknownName, UsageError
from coterie.training.population.pool import Pool
from coterie.training.runs.config import SchemeConfig
from coterie.training.schemes import SCHEMES, make_scheme
from coterie.training.schemes.mixed import parse_weights

from .shelf import Shelf


def people(learners=("main",), past=(), max_past=4):
    """A pool with past selves of every learner, taken after the given updates."""
    pool = Pool(Shelf(), lambda name: RandomAgent(), max_past)
    for name in learners:
        pool.add(name)
        for update in past:
            pool.snapshot(name, update)
    return pool


def seats(opponents, groups=40, past=(), players=2, scheme="mixed", update=0, seed=0, learners=1):
    config = SchemeConfig(scheme=scheme, opponents=opponents, learners=learners)
    pool = people(config.names, past)
    return make_scheme(config, players).seats(update, groups, pool, np.random.default_rng(seed))


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
        ("random=1,random=2", "'random' is named twice"),
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
    drawn = seats("past=1,self=1", past=[1, 2])
    kinds = {s.players: s.learners for s in drawn}
    assert kinds.pop(("main", "main")) == (True, True)
    assert {name for players in kinds for name in players} == {"main", "main@1", "main@2"}
    assert all(learners == tuple(p == "main" for p in players) for players, learners in kinds.items())


def test_before_there_is_a_past_self_the_learner_stands_in():
    assert {s.players for s in seats("past=1")} == {("main", "main")}


def test_the_same_numbers_give_the_same_seats():
    assert seats("random=1,self=2", seed=3) == seats("random=1,self=2", seed=3)


@pytest.mark.parametrize("name", ["self", "past"])
def test_fixed_opponents_do_not_change(name):
    with pytest.raises(UsageError, match=f"fixed scheme can't use '{name}'.*--scheme mixed"):
        seats(f"random=1,{name}=1", scheme="fixed")
    assert {n for s in seats("random=1,minimax=1", scheme="fixed") for n in s.players} == {"main", "random", "minimax"}


def test_self_play_fills_every_seat():
    assert {(s.players, s.learners) for s in seats("random=1", scheme="self_play")} == {(("main",) * 2, (True,) * 2)}


def test_every_scheme_is_built_by_name_and_a_misspelt_one_gets_a_suggestion():
    for name in [name for name, made in SCHEMES.items() if isinstance(made, str)]:  # others were added by other tests
        made = make_scheme(SchemeConfig(scheme=name, learners=2), 2)
        assert made.learners[:2] == ("main", "main-2")
        assert made.learners == SchemeConfig(scheme=name, learners=2).names
        assert len(made.seats(0, 3, people(made.learners), np.random.default_rng(0))) == 3
    assert make_scheme(SchemeConfig(scheme="self-play"), 2).opponents == ()
    with pytest.raises(UnknownName, match=r"Unknown scheme 'mixd'\. Did you mean 'mixed'"):
        make_scheme(SchemeConfig(scheme="mixd"), 2)


def taken(drawn, learner):
    """How often a learner sits in each seat and learns there."""
    return Counter(p for s in drawn for p, name in enumerate(s.players) if name == learner and s.learners[p])


@pytest.mark.parametrize("scheme", ["self_play", "mixed", "fictitious"])
@pytest.mark.parametrize(("learners", "players"), [(2, 2), (3, 2), (16, 2), (3, 3)])
def test_several_learners_get_equal_shares_of_every_seat(scheme, learners, players):
    drawn = seats("random=1", groups=6 * learners, scheme=scheme, learners=learners, players=players)
    assert len(drawn) == 6 * learners
    names = SchemeConfig(learners=learners).names
    for p in range(players):
        counts = [taken(drawn, name)[p] for name in names]
        assert max(counts) - min(counts) <= (0 if scheme == "self_play" else 1)
        assert sum(counts) == 6 * learners // (1 if scheme == "self_play" else players)


@pytest.mark.parametrize("scheme", ["self_play", "mixed", "fictitious"])
def test_few_groups_go_round_all_learners(scheme):
    config = SchemeConfig(scheme=scheme, opponents="random=1", learners=5)
    made, pool, rng = make_scheme(config, 2), people(config.names), np.random.default_rng(0)
    seen = Counter()
    for update in range(100):
        drawn = made.seats(update, 2, pool, rng)
        assert len(drawn) == 2
        seen.update(name for s in drawn for name, learns in zip(s.players, s.learners, strict=True) if learns)
    assert set(seen) == set(config.names)
    # Two groups of two seats, or of one, to five learners; drawn where all seats learn (4 standard deviations).
    assert all(abs(count - (80 if scheme == "self_play" else 40)) <= 32 for count in seen.values())


def test_learners_who_play_each_other_meet_all_and_themselves_equally_often():
    drawn = seats("random=1", groups=3000, scheme="self_play", learners=3)
    pairs = Counter(s.players for s in drawn)
    assert len(pairs) == 9
    assert all(abs(count - 3000 / 9) < 4 * (3000 * 2 / 27) ** 0.5 for count in pairs.values())


def test_one_learner_draws_no_number_that_it_did_not_draw_alone():
    rng = np.random.default_rng(4)
    make_scheme(SchemeConfig(scheme="self_play"), 2).seats(0, 8, people(), rng)
    assert rng.integers(2**62) == np.random.default_rng(4).integers(2**62)


def test_each_of_several_learners_meets_its_own_past_in_the_mixed_scheme():
    for s in seats("past=1,random=1", past=[5, 10], learners=2):
        learner = next(name for name, learns in zip(s.players, s.learners, strict=True) if learns)
        other = next(name for name in s.players if name != learner)
        assert other in ("random", f"{learner}@5", f"{learner}@10")


def test_fictitious_learners_meet_past_selves_of_the_others_uniformly():
    drawn = seats("random=1", groups=3000, scheme="fictitious", past=[5, 10], learners=3)
    met = Counter()
    for s in drawn:
        assert sum(s.learners) == 1
        learner = s.players[s.learners.index(True)]
        (other,) = set(s.players) - {learner}
        met[learner, other] += 1
    names = SchemeConfig(learners=3).names
    assert set(met) == {(a, f"{b}@{u}") for a in names for b in names if a != b for u in (5, 10)}
    assert all(abs(count - 250) < 4 * (1000 * 3 / 16) ** 0.5 for count in met.values())


def test_fictitious_learners_begin_against_each_other_and_only_one_learns():
    for s in seats("random=1", scheme="fictitious", learners=2):
        assert set(s.players) == {"main", "main-2"}
        assert sum(s.learners) == 1
    assert {s.players for s in seats("", scheme="fictitious")} == {("main", "main")}
    assert {name for s in seats("", scheme="fictitious", past=[3]) for name in s.players} == {"main", "main@3"}


@pytest.mark.parametrize(
    ("scheme", "opponents", "kept"),
    [("self_play", "random=1", 0), ("mixed", "random=1", 0), ("mixed", "past=1,self=1", 2), ("fictitious", "x=1", 2)],
)
def test_past_selves_are_kept_where_they_are_played(scheme, opponents, kept):
    config = SchemeConfig(scheme=scheme, opponents=opponents, learners=2, snapshot_every=3, max_past=2)
    made, pool = make_scheme(config, 2), people(config.names, max_past=2)
    for done in range(1, 11):
        made.update(done, [], pool)
    assert pool.past("main") == ["main@6", "main@9"][: kept or 0]
    assert pool.past("main-2") == ["main-2@6", "main-2@9"][: kept or 0]


def test_the_oracle_scheme_plays_itself_and_exploiters_of_the_past_selves_that_are_kept():
    config = SchemeConfig(scheme="oracle", learners=2, snapshot_every=2, max_past=2)
    made, pool, rng = make_scheme(config, 2), people(config.names, max_past=2), np.random.default_rng(0)
    for update, kept in enumerate(((0,), (0,), (0, 2), (0, 2), (2, 4))):
        drawn = made.seats(update, 32, pool, rng)
        mine = [s for s in drawn if "main" in s.players]
        assert Counter(s.players for s in mine if all(s.learners)) == {("main", "main"): 4}
        met = Counter((name, p) for s in mine for p, name in enumerate(s.players) if not s.learners[p])
        assert set(met) == {(f"exploiter:main@{past}", p) for past in kept for p in (0, 1)}
        assert set(met.values()) == {12 // len(met)}
        assert {name for name in pool.agents if "exploiter" in name} == {
            f"exploiter:{learner}@{past}" for learner in ("main", "main-2") for past in kept
        }
        made.update(update + 1, [], pool)
    with pytest.raises(UsageError, match="needs a game of two players, and this one has 3"):
        make_scheme(SchemeConfig(scheme="oracle"), 3)
