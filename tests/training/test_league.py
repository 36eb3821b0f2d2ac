"""Priorities and the league: chances computed by hand from payoffs made by hand; when past selves are kept."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

pytest.importorskip("torch")

from coterie.agents.baselines import RandomAgent
from coterie.errors import UnknownName
from coterie.training.data.records import Episode
from coterie.training.population.payoff import Payoff
from coterie.training.population.pool import Pool
from coterie.training.runs.config import SchemeConfig
from coterie.training.schemes import make_scheme
from coterie.training.schemes.pfsp import CURVES, priorities

from .shelf import Shelf


def given(payoff, who, **rates):
    """Win rates of a player, in hundredths of a hundred games; ``_at_`` stands for @."""
    payoff.decay = 1.0
    for name, rate in rates.items():
        name = name.replace("_at_", "@")
        for k in range(100):
            payoff.record(who, name, *((1, -1) if k < round(100 * rate) else (-1, 1)))


def begun(**config):
    """A league and its pool before the first game."""
    scheme = make_scheme(SchemeConfig(scheme="league", snapshot_every=10, **config), 2)
    pool = Pool(Shelf(), lambda name: RandomAgent(), 4)
    for name in scheme.learners:
        pool.add(name)
    scheme.seats(0, 0, pool, np.random.default_rng(0))
    return scheme, pool


@pytest.mark.parametrize(
    ("curve", "weights"),
    [
        ("easy", [0.1, 0.5, 0.9]),
        ("variance", [0.09, 0.25, 0.09]),
        ("linear", [0.9, 0.5, 0.1]),
        ("capped", [0.5, 0.5, 0.1]),
        ("squared", [0.81, 0.25, 0.01]),
    ],
)
def test_priorities_follow_their_curve(curve, weights):
    payoff = Payoff()
    given(payoff, "me", a=0.1, b=0.5, c=0.9)
    expected = {name: pytest.approx(w / sum(weights)) for name, w in zip("abc", weights, strict=True)}
    assert priorities(payoff, "me", ["a", "b", "c"], curve) == expected


@pytest.mark.parametrize("curve", sorted(CURVES))
def test_opponents_that_weigh_nothing_are_met_equally_often(curve):
    payoff = Payoff()
    rate = 0.0 if curve == "easy" else 1.0
    given(payoff, "me", a=rate, b=rate)
    assert priorities(payoff, "me", ["a", "b"], curve) == {"a": 0.5, "b": 0.5}
    assert priorities(payoff, "me", [], curve) == {}


def test_pfsp_meets_past_selves_by_priority_from_every_seat():
    scheme = make_scheme(SchemeConfig(scheme="pfsp", snapshot_every=1), 2)
    pool = Pool(Shelf(), lambda name: RandomAgent(), 1)
    pool.add("main")
    assert {s.players for s in scheme.seats(0, 4, pool, np.random.default_rng(0))} == {
        ("main", "main@0"),
        ("main@0", "main"),
    }
    scheme.update(1, [], pool)
    given(scheme.payoff, "main", main_at_0=0.9, main_at_1=0.7)
    assert pool.past("main") == ["main@0", "main@1"]  # however small max_past
    met = Counter(s.players for s in scheme.seats(1, 100, pool, np.random.default_rng(0)))
    assert [met["main", f"main@{k}"] + met[f"main@{k}", "main"] for k in (0, 1)] == [10, 90]
    assert all(sum(s.learners) == 1 for s in scheme.seats(1, 9, pool, np.random.default_rng(0)))
    with pytest.raises(UnknownName, match=r"Unknown curve 'square'\. Did you mean 'squared'"):
        make_scheme(SchemeConfig(scheme="pfsp", curve="square"), 2)


def test_a_league_has_one_main_one_main_exploiter_and_two_league_exploiters():
    scheme, pool = begun()
    names = ("main", "main_exploiter", "league_exploiter", "league_exploiter-2")
    assert scheme.learners == SchemeConfig(scheme="league").names == names
    assert pool.past("main") == ["main@0"]
    drawn = scheme.seats(0, 40, pool, np.random.default_rng(0))
    assert Counter(s.players[s.learners.index(True)] for s in drawn) == dict.fromkeys(names, 10)
    assert all(sum(s.learners) == 1 for s in drawn)
    assert len(begun(learners=2, main_exploiters=3, league_exploiters=1)[0].learners) == 6


def test_a_new_main_agent_plays_the_untrained_player_and_itself():
    scheme, pool = begun()
    # 50 % all past selves; no exploiters yet; past selves of one have no suffix that rises; otherwise itself.
    assert scheme.odds("main", pool) == {"main": 0.5, "main@0": 0.5}


def test_a_main_agent_returns_to_exploiters_that_beat_it():
    scheme, pool = begun()
    pool.snapshot("main_exploiter", 10, bounded=False)
    given(scheme.payoff, "main", main_at_0=0.9, main_exploiter_at_10=0.2)
    # Squared: 0.01 against 0.64 in the half of all past selves; the 15 % go to the exploiter.
    assert scheme.odds("main", pool) == {
        "main": pytest.approx(0.35),
        "main@0": pytest.approx(0.5 * 0.01 / 0.65),
        "main_exploiter@10": pytest.approx(0.15 + 0.5 * 0.64 / 0.65),
    }


def test_a_main_agent_returns_to_past_selves_that_it_no_longer_beats():
    scheme, pool = begun()
    for update in (10, 20, 30):
        pool.snapshot("main", update, bounded=False)
    # 0.6 < 0.8 and then ever less: main@20 and main@30 are the suffix of those that are merely new.
    given(scheme.payoff, "main", main_at_0=0.6, main_at_10=0.8, main_at_20=0.6, main_at_30=0.5)
    whole, own = 0.16 + 0.04 + 0.16 + 0.25, 0.16 + 0.04
    assert scheme.odds("main", pool) == {
        "main": pytest.approx(0.35),
        "main@0": pytest.approx(0.5 * 0.16 / whole + 0.15 * 0.16 / own),
        "main@10": pytest.approx(0.5 * 0.04 / whole + 0.15 * 0.04 / own),
        "main@20": pytest.approx(0.5 * 0.16 / whole),
        "main@30": pytest.approx(0.5 * 0.25 / whole),
    }


@pytest.mark.parametrize("rates", [(0.9, 0.8, 0.7, 0.6), (0.75, 0.8, 0.9, 0.95)])
def test_a_main_agent_that_forgot_nothing_plays_itself_instead(rates):
    scheme, pool = begun()
    for update in (10, 20, 30):
        pool.snapshot("main", update, bounded=False)
    given(scheme.payoff, "main", **{f"main_at_{10 * k}": rate for k, rate in enumerate(rates)})
    assert scheme.odds("main", pool)["main"] == pytest.approx(0.5)


def test_a_main_agent_that_another_beats_climbs_its_past_selves():
    scheme, pool = begun(learners=2)
    pool.snapshot("main-2", 10, bounded=False)
    scheme.payoff.decay = 1.0
    given(scheme.payoff, "main", **{"main-2": 0.2, "main-2_at_0": 0.9, "main-2_at_10": 0.5, "main_at_0": 1.0})
    whole, ladder = 0.01 + 0.25 + 0.0, 0.09 + 0.25
    # Half the rest concerns each of the mains: itself, 25 %; main-2's past, 25 % (one rising step would be verified).
    assert scheme.odds("main", pool) == {
        "main": pytest.approx(0.25),
        "main@0": 0.0,
        "main-2@0": pytest.approx(0.5 * 0.01 / whole + 0.25 * 0.09 / ladder),
        "main-2@10": pytest.approx(0.5 * 0.25 / whole + 0.25 * 0.25 / ladder),
    }


def test_a_main_exploiter_plays_the_mains_and_their_past_while_it_loses():
    scheme, pool = begun(learners=2)
    pool.snapshot("main", 10, bounded=False)
    given(scheme.payoff, "main_exploiter", **{"main": 0.1, "main-2": 0.11, "main_at_0": 0.8, "main_at_10": 0.5})
    assert scheme.odds("main_exploiter", pool) == {
        "main@0": pytest.approx(0.5 * 0.16 / 0.41),
        "main@10": pytest.approx(0.5 * 0.25 / 0.41),
        "main-2": 0.5,
    }


def test_a_league_exploiter_plays_all_past_selves():
    scheme, pool = begun()
    pool.snapshot("main_exploiter", 10, bounded=False)
    pool.snapshot("league_exploiter-2", 10, bounded=False)
    given(scheme.payoff, "league_exploiter", main_at_0=0.9, main_exploiter_at_10=0.2)
    assert scheme.odds("league_exploiter", pool) == {
        "main@0": pytest.approx(0.1 / 1.1),
        "main_exploiter@10": pytest.approx(0.5 / 1.1),
        "league_exploiter-2@10": pytest.approx(0.5 / 1.1),
    }


def ran(scheme, pool, first, last, seed=0):
    for update in range(first, last):
        scheme.seats(update, 4, pool, np.random.default_rng([seed, update]))
        scheme.update(update + 1, [], pool)


def test_past_selves_are_kept_after_twice_the_time_or_earlier_by_who_beats_all():
    scheme, pool = begun()
    given(scheme.payoff, "main_exploiter", main=0.75)
    given(scheme.payoff, "main", main_at_0=0.75)
    ran(scheme, pool, 0, 9)
    assert pool.past("main") == ["main@0"]
    ran(scheme, pool, 9, 10)
    assert pool.past("main") == ["main@0", "main@10"]
    assert pool.past("main_exploiter") == ["main_exploiter@10"]
    assert pool.past("league_exploiter") == []
    ran(scheme, pool, 10, 20)  # the main agent has met its new past selves too little to beat them
    assert pool.past("main") == ["main@0", "main@10"]
    assert pool.past("main_exploiter") == ["main_exploiter@10", "main_exploiter@20"]
    assert pool.past("league_exploiter") == ["league_exploiter@20"]
    ran(scheme, pool, 20, 30)
    assert pool.past("main") == ["main@0", "main@10", "main@30"]


def test_main_exploiters_always_begin_anew_and_league_exploiters_one_time_in_four():
    scheme, pool = begun(league_exploiters=8)
    ran(scheme, pool, 0, 1000)
    resets = Counter(pool.players.resets)
    assert "main" not in resets
    assert resets["main_exploiter"] == len(pool.past("main_exploiter")) == 50
    league = sum(count for name, count in resets.items() if name.startswith("league_exploiter"))
    assert abs(league - 100) < 4 * (400 * 3 / 16) ** 0.5
    kept = [e["how"] for e in pool.lineage if e["player"].partition("@")[0] == "main_exploiter"]
    assert kept == ["snapshot", "reset"] * 50  # in this order: what was learned is what is kept


def test_a_league_goes_on_from_what_it_saved():
    one, pool = begun()
    rng = np.random.default_rng(1)
    for update in range(25):
        drawn = one.seats(update, 8, pool, rng)
        games = [Episode(0, s.players, s.learners, returns=rng.permutation([1.0, -1.0]).tolist()) for s in drawn]
        one.update(update + 1, games, pool)
    other, _ = begun()
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert other.state_dict() == one.state_dict()
    assert other.seats(25, 40, pool, np.random.default_rng(2)) == one.seats(25, 40, pool, np.random.default_rng(2))
    other.load_state_dict({})
    assert other.state_dict() == begun()[0].state_dict()
