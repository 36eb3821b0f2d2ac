"""From a batch of games to advantages: who is compared with whom, by hand."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from coterie.agents.core import Tokens
from coterie.training.data.credit import RoleBaseline
from coterie.training.data.records import Episode, Rollout, Visit
from coterie.training.loop import assign
from coterie.training.runs.config import CreditConfig

RECORD = Tokens((1,), (2,), (0.0,), "choice", ((2,),), 0, lora="main")


def batch(*games, simultaneous=False):
    """Games as (group, returns, [(seat, paid before), ...]) in the order in which the seats were asked."""
    episodes, visits = [], []
    for number, (group, returns, asked) in enumerate(games):
        episodes.append(Episode(group, ("main", "main"), (True, True), returns=list(returns)))
        for ply, (seat, before) in enumerate(asked):
            visits.append(Visit(number, seat, 0 if simultaneous else ply, 7 + ply, 0, before, RECORD))
    return Rollout(episodes, visits, len(visits))


def advantages(played, **fields):
    return assign(played, CreditConfig(**fields), RoleBaseline(), "toy-v0").advantages.tolist()


def test_a_long_game_weighs_no_more_than_a_short_one_in_its_group():
    short, long = (0, (1.0, -1.0), [(0, 0.0)]), (0, (0.0, 0.0), [(0, 0.0)] * 3)
    assert advantages(batch(short, long), credit="group") == [0.5, -0.5, -0.5, -0.5]


def test_groups_keep_seats_apart():
    games = [(0, (1.0, -1.0), [(0, 0.0), (1, 0.0)]), (0, (0.0, 0.0), [(0, 0.0), (1, 0.0)])]
    assert advantages(batch(*games), credit="group") == [0.5, -0.5, -0.5, 0.5]


def test_a_group_judges_whole_games_where_games_pay_on_the_way():
    games = [(0, (3.0, 0.0), [(0, 0.0), (0, 2.0)]), (0, (1.0, 0.0), [(0, 0.0), (0, 1.0)])]
    assert advantages(batch(*games), credit="group") == [1.0, 1.0, -1.0, -1.0]
    assert advantages(batch(*games), credit="group", gamma=0.5) == [0.5, 1.0, -0.5, -1.0]


def test_turns_are_compared_one_by_one_by_what_was_still_to_come():
    games = [(0, (3.0, 0.0), [(0, 0.0), (0, 2.0)]), (0, (1.0, 0.0), [(0, 0.0), (0, 1.0)])]
    # Still to come: 3, 1 and 1, 0; a half of what comes later: 2.5, 1 and 1, 0.
    assert advantages(batch(*games), credit="turn") == [1.0, 0.5, -1.0, -0.5]
    assert advantages(batch(*games), credit="turn", gamma=0.5) == [0.75, 0.5, -0.75, -0.5]
    apart = [(0, (3.0, 0.0), [(0, 0.0)]), (1, (1.0, 0.0), [(0, 0.0)])]
    assert advantages(batch(*apart), credit="turn") == [0.0, 0.0]


def test_siblings_of_a_simultaneous_game_are_the_same_seat_s():
    games = [(0, (1.0, -1.0), [(0, 0.0), (1, 0.0)]), (0, (1.0, -1.0), [(0, 0.0), (1, 0.0)])]
    played = assign(batch(*games, simultaneous=True), CreditConfig(credit="sibling"), RoleBaseline(), "toy-v0")
    assert not played.keep.any()  # each seat got the same in both games: nothing to tell apart


def test_siblings_are_first_decisions_alone():
    games = [(0, (1.0, -1.0), [(0, 0.0), (1, 0.0), (0, 0.0)]), (0, (-1.0, 1.0), [(0, 0.0), (1, 0.0), (0, 0.0)])]
    assert advantages(batch(*games), credit="sibling") == [1.0, 0.0, 0.0, -1.0, 0.0, 0.0]


def test_rewards_on_the_way_are_discounted_one_by_one():
    played = batch((0, (3.0, 0.0), [(0, 0.0), (1, 0.0), (0, 1.0)]))
    assert played.rewards().tolist() == [1.0, 0.0, 2.0]
    assert played.returns().tolist() == [3.0, 0.0, 2.0]
    assert advantages(played, credit="constant", gamma=0.5) == [2.0, 0.0, 2.0]


def test_positions_are_compared_within_a_seat():
    games = [(g, (float(g), 0.0), [(0, 0.0)]) for g in range(3)]
    assert advantages(batch(*games), credit="state") == [-1.0, 0.0, 1.0]


def test_the_running_mean_moves_once_a_game():
    baseline = RoleBaseline(0.5)
    games = [(0, (1.0, -1.0), [(0, 0.0), (0, 0.0)]), (1, (1.0, -1.0), [(0, 0.0)])]
    credit = assign(batch(*games), CreditConfig(credit="rae"), baseline, "toy-v0")
    np.testing.assert_allclose(credit.advantages, [1.0, 1.0, 0.5])
    assert baseline.means == {"toy-v0/0": 0.75}
