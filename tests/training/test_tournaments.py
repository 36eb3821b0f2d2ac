"""PSRO, pairs, round-robin and Swiss: who meets whom, what is counted, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest

pytest.importorskip("torch")

from coterie.agents.baselines import RandomAgent
from coterie.cli import main as cli
from coterie.errors import UnknownName, UsageError
from coterie.training.data.records import Episode
from coterie.training.population.pool import Pool
from coterie.training.runs.config import SchemeConfig
from coterie.training.schemes import make_scheme

from .shelf import Shelf


def begun(name, players=2, **config):
    scheme = make_scheme(SchemeConfig(scheme=name, **config), players)
    pool = Pool(Shelf(), lambda name: RandomAgent(), 4)
    for learner in scheme.learners:
        pool.add(learner)
    return scheme, pool


def results(drawn, strength):
    """Each seating as one game that pays what the first player has more than the second."""
    gains = [strength(*s.players) for s in drawn]
    return [Episode(0, s.players, s.learners, returns=[g, -g]) for s, g in zip(drawn, gains, strict=True)]


BEATS = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}
THROWS = {"main@0": "rock", "main@5": "paper", "main@10": "scissors"}


def throw(one, other):
    """Past selves throw by ``THROWS``; the learner beats them all."""
    if "main" in (one, other):
        return 1 if one == "main" else -1
    one, other = THROWS.get(one), THROWS.get(other)
    return ((one, other) in BEATS) - ((other, one) in BEATS)


def rounds(scheme, pool, first, last, groups=16):
    for update in range(first, last):
        drawn = scheme.seats(update, groups, pool, np.random.default_rng(update))
        scheme.update(update + 1, results(drawn, throw), pool)


def test_psro_grows_to_the_equilibrium_of_its_population():
    scheme, pool = begun("psro", snapshot_every=5)
    rounds(scheme, pool, 0, 1)
    assert scheme.odds("main", pool) == {"main@0": 1.0}
    rounds(scheme, pool, 1, 5)
    assert pool.past("main") == ["main@0", "main@5"]
    assert scheme.odds("main", pool) == {"main@0": 1.0}  # nothing is known of the new one
    rounds(scheme, pool, 5, 6)
    assert scheme.odds("main", pool) == {"main@0": 0.0, "main@5": 1.0}  # paper beats rock
    rounds(scheme, pool, 6, 11)
    third = pytest.approx(1 / 3)
    assert scheme.mixture(pool) == {"main@0": third, "main@5": third, "main@10": third}
    assert pool.players.resets == []


def test_psro_measures_frozen_players_with_one_group_in_four_and_learns_from_the_others():
    scheme, pool = begun("psro", snapshot_every=1)
    rounds(scheme, pool, 0, 3)
    met = Counter()
    for update in range(3, 9):
        drawn = scheme.seats(update, 16, pool, np.random.default_rng(0))
        frozen = [s.players for s in drawn if not any(s.learners)]
        assert len(frozen) == 4
        assert all("main" not in players for players in frozen)
        assert all(s.players[s.learners.index(True)] == "main" for s in drawn if any(s.learners))
        met.update(frozen)
        scheme.payoff.add(results([s for s in drawn if not any(s.learners)], throw))
    four = [f"main@{k}" for k in range(4)]
    games = {pair: scheme.payoff.games(*pair) for pair in combinations(four, 2)}
    assert max(games.values()) - min(games.values()) <= 1  # those with the fewest games come first
    assert max(met[p] for p in permutations(four, 2)) - min(met[p] for p in permutations(four, 2)) <= 2


def test_a_learner_s_own_games_say_nothing_about_the_frozen():
    scheme, pool = begun("psro", snapshot_every=1)
    rounds(scheme, pool, 0, 3)
    scheme.update(4, [Episode(0, ("main", "main@0"), (True, False), returns=[1, -1])], pool)
    assert scheme.payoff.games("main", "main@0") == 0


def test_only_who_beats_the_meta_strategy_joins():
    scheme, pool = begun("psro", snapshot_every=2, fresh=True)
    for update in range(6):
        drawn = scheme.seats(update, 16, pool, np.random.default_rng(update))
        even = results(
            drawn, lambda one, other, gain=(-1) ** update: gain
        )  # the learner sits in either seat equally often
        scheme.update(update + 1, even, pool)
    assert pool.past("main") == ["main@0"]
    assert pool.players.resets == []
    rounds(scheme, pool, 6, 8)
    assert pool.past("main") == ["main@0", "main@8"]
    assert pool.players.resets == ["main"]


def test_psro_may_begin_each_round_anew_and_takes_other_solvers():
    scheme, pool = begun("psro", snapshot_every=2, fresh=True, meta_solver="uniform")
    rounds(scheme, pool, 0, 4)
    assert pool.players.resets == ["main", "main"]
    rounds(scheme, pool, 4, 5)
    assert list(scheme.odds("main", pool).values()) == pytest.approx([1 / 3] * 3)
    assert [e["how"] for e in pool.lineage] == ["snapshot", "snapshot", "reset", "snapshot", "reset"]


def test_psro_goes_on_from_what_it_saved():
    one, pool = begun("psro", snapshot_every=5)
    rounds(one, pool, 0, 12)
    other, _ = begun("psro", snapshot_every=5)
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert one.seats(12, 40, pool, np.random.default_rng(0)) == other.seats(12, 40, pool, np.random.default_rng(0))
    other.load_state_dict({})
    assert other.mixture(pool) == {"main@0": 1.0}


@pytest.mark.parametrize("players", [2, 3])
def test_rivals_only_meet_each_other_the_first_in_the_first_seat(players):
    scheme, pool = begun("pairs", players=players, learners=4, snapshot_every=1)
    scheme.update(1, [], pool)
    scheme.update(2, [], pool)
    drawn = scheme.seats(2, 240, pool, np.random.default_rng(0))
    met = Counter()
    for s in drawn:
        first, others = s.players[0], set(s.players[1:])
        assert s.learners in ((True, *[False] * (players - 1)), (False, *[True] * (players - 1)))
        assert len(others) == 1
        met[first, others.pop()] += 1
    for one, other in (("main", "main-2"), ("main-3", "main-4")):
        assert met.pop((one, other)) == 40
        for k in (1, 2):
            assert met.pop((one, f"{other}@{k}")) == met.pop((f"{one}@{k}", other)) == 20
    assert not met


@pytest.mark.parametrize(("learners", "players", "groups"), [(4, 2, 3), (5, 2, 20), (4, 3, 24), (3, 3, 1)])
def test_in_a_round_robin_all_meet_all_equally_often_from_every_seat(learners, players, groups):
    scheme, pool = begun("round_robin", players=players, learners=learners)
    whole = len(list(permutations(range(learners), players)))
    rng = np.random.default_rng(0)
    drawn = [s for update in range(whole) for s in scheme.seats(update, groups, pool, rng)]
    met = Counter(s.players for s in drawn)
    assert met == dict.fromkeys(permutations(scheme.learners, players), groups)
    assert all(all(s.learners) for s in drawn)


def test_swiss_rounds_bring_together_those_with_as_many_points():
    scheme, pool = begun("swiss", learners=8)
    rank = {name: k for k, name in enumerate(scheme.learners)}
    seen = []
    for update in range(3):
        drawn = scheme.seats(update, 8, pool, np.random.default_rng(update))
        pairs = {tuple(sorted(s.players)) for s in drawn}
        assert len(pairs) == 4
        assert Counter(s.players for s in drawn).most_common(1)[0][1] == 1  # from either seat
        points = [{scheme.points.get(name, 0.0) for name in pair} for pair in pairs]
        assert all(len(own) == 1 for own in points)
        seen += pairs
        before = json.loads(json.dumps(scheme.state_dict()))
        scheme.update(update + 1, results(drawn, lambda a, b: np.sign(rank[b] - rank[a])), pool)
    assert len(set(seen)) == 12  # nobody met twice
    assert before["points"]["main"] == 2.0
    assert scheme.state_dict() == {"points": {}, "met": [], "rounds": 0}  # three rounds separate eight
    scheme.load_state_dict(before)
    assert scheme.state_dict() == before


def test_the_last_of_an_odd_number_plays_itself_for_half_a_point():
    scheme, pool = begun("swiss", learners=3)
    drawn = scheme.seats(0, 2, pool, np.random.default_rng(0))
    (alone,) = [s.players[0] for s in drawn if len(set(s.players)) == 1]
    scheme.update(1, results(drawn, lambda a, b: 0 if a == b else 1 if a < b else -1), pool)
    assert scheme.points[alone] == 0.5
    assert sorted(scheme.points.values()) == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("name", "players", "learners", "complaint"),
    [
        ("psro", 3, 1, "psro scheme needs a game of two players, and this one has 3: use --scheme league"),
        ("pairs", 2, 1, "pairs scheme needs an even number of learners, not 1: add --learners 2"),
        ("pairs", 1, 2, "pairs scheme needs a game of two players or more"),
        ("round_robin", 2, 1, "2 are needed, not 1: add --learners 2"),
        ("round_robin", 4, 3, "4 are needed, not 3: add --learners 4"),
        ("swiss", 2, 1, "swiss scheme needs two learners or more, and there is one: add --learners 2"),
        ("swiss", 3, 2, "swiss scheme needs a game of two players, and this one has 3"),
    ],
)
def test_schemes_say_what_they_need(name, players, learners, complaint):
    with pytest.raises(UsageError, match=complaint):
        begun(name, players, learners=learners)


def test_unknown_solvers_and_too_few_groups_are_refused():
    with pytest.raises(UnknownName, match=r"Unknown meta-solver 'nahs'\. Did you mean 'nash'"):
        begun("psro", meta_solver="nahs")
    with pytest.raises(UsageError, match=r"swiss scheme needs at least 4 groups.*has 3: raise --games to at least 4 "):
        make_scheme(SchemeConfig(scheme="swiss", learners=8), 2, 3)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--scheme", "pairs"], "needs an even number of learners, not 1"),
        (["--scheme", "swiss"], "needs two learners or more"),
        (
            ["--scheme", "swiss", "--learners", "8", "--games", "3"],
            "needs at least 4 groups of games an update and has 3",
        ),
        (["--scheme", "psro", "--meta-solver", "nahs"], "Did you mean 'nash'"),
        (["--scheme", "pfsp", "--curve", "square"], "Did you mean 'squared'"),
        (["--scheme", "fixed", "--opponents", ""], "opponents is empty"),
        (["--scheme", "league", "--main-exploiters", "0"], "main_exploiters is 0; it must be"),
        (["--scheme", "league", "--league-exploiters", "-1"], "league_exploiters is -1; it must be"),
    ],
)
def test_the_command_line_refuses_in_a_sentence_and_leaves_no_folder(words, complaint, tmp_path, capsys):
    assert cli(["train", "kuhn_poker", *words, "--run", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("coterie: ")
    assert said.count("\n") == 1
    assert complaint in said
    assert not (tmp_path / "run").exists()
