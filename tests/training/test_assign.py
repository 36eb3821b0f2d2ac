"""From a batch of games to advantages: who is compared with whom, by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")

from coterie.agents.core import Tokens
from coterie.training.data.assign import assign
from coterie.training.data.credit import RoleBaseline
from coterie.training.data.records import Episode, Rollout, Visit
from coterie.training.runs.config import CreditConfig

RECORD = Tokens((1,), (2,), (0.0,), "choice", ((2,),), 0, lora="main")


def batch(*games, simultaneous=False, players=("main", "main")):
    """Games as (group, returns, [(seat, paid before), ...]) in the order in which the seats were asked.

    ``players``: who sits where, the same in all games or a list with one entry a game.
    """
    episodes, visits = [], []
    for number, (group, returns, asked) in enumerate(games):
        sitting = players[number] if isinstance(players, list) else players
        episodes.append(Episode(group, sitting, (True, True), returns=list(returns)))
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


def test_a_message_and_its_action_are_one_turn():
    # Seat 0 says something and acts, seat 1 does, seat 0 does; it earns 1 with its first action and 2 with its second.
    turns = [(0, 0, 0.0), (0, 0, 0.0), (1, 1, 0.0), (1, 1, 0.0), (0, 2, 1.0), (0, 2, 1.0)]
    visits = [Visit(0, seat, ply, 7 + ply, 0, before, RECORD) for seat, ply, before in turns]
    played = Rollout([Episode(0, ("main", "main"), (True, True), returns=[3.0, 0.0])], visits, 3)
    assert played.decisions_left().tolist() == [1, 1, 0, 0, 0, 0]
    assert played.rewards().tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 2.0]
    assert advantages(played, credit="constant", gamma=0.5) == [2.0, 2.0, 0.0, 0.0, 2.0, 2.0]


def test_positions_are_compared_within_a_seat():
    games = [(g, (float(g), 0.0), [(0, 0.0)]) for g in range(3)]
    assert advantages(batch(*games), credit="state") == [-1.0, 0.0, 1.0]


def test_the_running_mean_moves_once_a_game():
    baseline = RoleBaseline(0.5)
    games = [(0, (1.0, -1.0), [(0, 0.0), (0, 0.0)]), (1, (1.0, -1.0), [(0, 0.0)])]
    credit = assign(batch(*games), CreditConfig(credit="rae"), baseline, "toy-v0")
    np.testing.assert_allclose(credit.advantages, [1.0, 1.0, 0.5])
    assert baseline.means == {"main/toy-v0/0": 0.75}


@pytest.mark.parametrize("scale", ["none", "batch", "group"])
@pytest.mark.parametrize("credit", ["state", "group", "turn", "sibling", "rae", "constant"])
def test_what_another_learner_did_changes_nobody_s_advantages(credit, scale):
    """Two learners in the same seats of the same positions and groups: each is judged as if it had played alone."""
    rng = np.random.default_rng(5)
    asked = [(0, 0.0), (1, 0.0), (0, 0.5), (1, 0.0)]
    ours = [(g % 3, tuple(rng.integers(-2, 3, 2).astype(float)), asked) for g in range(12)]
    theirs = [(g % 3, (100.0 * g, -50.0 * g), asked) for g in range(12)]
    fields = {"credit": credit, "scale_rewards": scale, "gamma": 0.9}
    alone = advantages(batch(*ours, players=("a", "a")), **fields)
    between = [game for pair in zip(ours, theirs, strict=True) for game in pair]
    mixed = advantages(batch(*between, players=[("a", "a"), ("b", "b")] * 12), **fields)
    own = [v for k, v in enumerate(mixed) if k // len(asked) % 2 == 0]
    assert own == alone
    assert any(own)


def test_two_learners_at_one_table_have_a_baseline_each():
    games = [(0, (1.0, -1.0), [(0, 0.0), (1, 0.0)]), (0, (0.0, 0.0), [(0, 0.0), (1, 0.0)])]
    played = batch(*games, players=[("a", "b"), ("b", "a")])
    baseline = RoleBaseline(0.5)
    credit = assign(played, CreditConfig(credit="rae"), baseline, "toy-v0")
    assert baseline.means == {"a/toy-v0/0": 0.5, "b/toy-v0/0": 0.0, "a/toy-v0/1": 0.0, "b/toy-v0/1": -0.5}
    assert credit.advantages.tolist() == [1.0, -1.0, 0.0, 0.0]
    assert advantages(played, credit="group") == [0.0] * 4  # other people sat there: nothing to compare with


def test_what_was_tried_by_chance_teaches_only_where_it_was_better():
    played = batch(*[(0, (pay, -pay), [(0, 0.0)]) for pay in (1.0, 1.0, -1.0, -1.0)])
    for d in (0, 2):
        played.visits[d].tokens = dataclasses.replace(RECORD, explored=True)
    found = assign(played, CreditConfig(credit="group"), RoleBaseline(), "toy-v0")
    assert found.advantages.tolist() == [1.0, 1.0, -1.0, -1.0]
    assert found.keep.tolist() == [True, True, False, True]
