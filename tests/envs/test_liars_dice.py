"""Liar's dice: bids, calls, deals, exact values, and OpenSpiel where it is installed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.agents.baselines import make_baseline
from coterie.agents.search.equilibrium import solve_hidden
from coterie.envs import make_game
from coterie.envs.liars_dice import bids, hands, matching, outcome
from coterie.envs.testing import check_game
from coterie.errors import ActionError, UsageError
from coterie.training.evaluation.exact import nash_conv


@pytest.mark.slow
@pytest.mark.bounds
@pytest.mark.parametrize("config", [{"dice": 2, "players": 3, "faces": 4}, {"dice": 5, "players": 6}])
def test_every_configuration_passes(config):
    check_game(make_game("liars_dice", **config))


def played(deal, *actions, **config):
    """(game, state, rewards of the last action) after a deal and these actions."""
    game = make_game("liars_dice", **config)
    state = game.new_state(1)
    game.kernels.reset(state, 0, 0)
    game.options["deal"](state, 0, deal)
    rewards = np.zeros(game.info.players, np.float32)
    for text in actions:
        rewards[:] = 0
        chosen = np.full(game.info.players, game.parse_action(state, 0, text), np.int32)
        game.kernels.step(state, 0, chosen, rewards)
    return game, state, rewards.tolist()


@pytest.mark.parametrize(
    ("deal", "actions", "rewards"),
    [
        ("3 5", ["1x3", "liar"], [1, -1]),
        ("3 5", ["1x4", "liar"], [-1, 1]),
        ("3 6", ["2x3", "liar"], [1, -1]),  # 6 is wild
        ("3 6", ["2x6", "liar"], [-1, 1]),
        ("3 5", ["1x3", "2x5", "liar"], [1, -1]),
        ("6 6", ["1x1", "2x1", "liar"], [-1, 1]),
    ],
)
def test_the_last_bid_decides(deal, actions, rewards):
    assert played(deal, *actions)[2] == rewards


def test_only_the_caller_and_the_bidder_are_paid():
    _, state, rewards = played("12 34 56", "1x1", "2x4", "3x5", "liar", dice=2, players=3)
    assert rewards == [1, 0, -1]
    assert outcome(state, 0) == (0, 2)
    assert bids(state, 0) == [(0, 1, 1), (1, 2, 4), (2, 3, 5)]


def test_bids_are_numbered_as_in_openspiel():
    game = make_game("liars_dice")
    assert game.actions[:7] == ("1x1", "1x2", "1x3", "1x4", "1x5", "1x6", "2x1")
    assert game.actions[12] == "liar"
    assert game.info.num_actions == 13


def test_bids_rise():
    game, state, _ = played("3 5", "1x4")
    assert game.legal_actions(state, 0, 1) == [4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert game.legal_actions(state, 0, 0) == []
    with pytest.raises(ActionError):
        game.parse_action(state, 0, "3x1")
    game, state, _ = played("3 5", "2x6")
    assert game.legal_actions(state, 0, 1) == [12]
    game, state, _ = played("3 5")
    assert game.legal_actions(state, 0, 0) == list(range(12))


def test_dice_are_hidden_until_the_call():
    game, state, _ = played("25 16", "1x2", dice=2)
    assert hands(state, 0, 0) == ["25", "??"]
    assert "16" not in game.describe(state, 0, 0).replace("player_1", "")
    _, state, _ = played("25 16", "1x2", "liar", dice=2)
    assert hands(state, 0, 0) == ["25", "16"]
    assert game.compact(state, 0, 0) == "P0 25 1x2 liar 25 16>"


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 6), st.integers(1, 5), st.integers(2, 6), st.integers(0, 2**63 - 1))
def test_random_games_are_those_of_plain_rules(players, dice, faces, seed):
    game = make_game("liars_dice", players=players, dice=dice, faces=faces)
    state = game.new_state(1)
    game.kernels.reset(state, 0, seed)
    rng = random.Random(seed)
    rolled = [[int(face) for face in hand] for hand in hands(state, 0, None)]
    assert all(hand == sorted(hand) and set(hand) <= set(range(1, faces + 1)) for hand in rolled)
    said, rewards = [], np.zeros(players, np.float32)
    while True:
        mover = len(said) % players
        top = 1 + (said[-1] if said else -1)
        expected = [*range(top, players * dice * faces), *([players * dice * faces] if said else [])]
        assert game.legal_actions(state, 0, mover) == expected
        action = rng.choice(expected[:5] + expected[-1:])
        game.kernels.step(state, 0, np.full(players, action, np.int32), rewards)
        if action == players * dice * faces:
            break
        said.append(action)
    quantity, face = said[-1] // faces + 1, said[-1] % faces + 1
    shown = sum(one in (face, faces) for hand in rolled for one in hand)
    assert shown == matching(state, 0, face)
    bidder = (len(said) - 1) % players
    wanted = [0] * players
    wanted[bidder], wanted[mover] = (1, -1) if shown >= quantity else (-1, 1)
    assert rewards.tolist() == wanted


@pytest.mark.parametrize("config", [{"faces": 3}, {"dice": 2, "faces": 2}])
def test_deals_are_all_deals_with_their_chances(config):
    game = make_game("liars_dice", **config)
    deals = dict(game.deals())
    assert sum(deals.values()) == pytest.approx(1)
    state = game.new_state(4000)
    for i in range(4000):
        game.kernels.reset(state, i, i)
    met = [" ".join(hands(state, i, None)) for i in range(4000)]
    for deal, chance in deals.items():
        assert met.count(deal) / 4000 == pytest.approx(chance, abs=0.03)
    assert set(met) == set(deals)


@pytest.mark.parametrize("faces", [2, 3])
def test_small_games_are_solved(faces):
    game = make_game("liars_dice", faces=faces)
    found = solve_hidden(game)
    assert found.exploitability < 1e-3
    assert sum(found.game_values) == pytest.approx(0)
    assert nash_conv(game, make_baseline("random", game)).value > 0.2
    assert nash_conv(game, make_baseline("equilibrium", game)).value < 1e-3


def test_large_games_list_no_deals():
    assert make_game("liars_dice", dice=5, players=6).deals is None
    with pytest.raises(UsageError):
        solve_hidden(make_game("liars_dice", dice=5))


@pytest.mark.parametrize("bad", [{"dice": 0}, {"dice": 6}, {"players": 1}, {"players": 7}, {"faces": 1}, {"faces": 7}])
def test_arguments_are_checked(bad):
    with pytest.raises(UsageError, match=next(iter(bad))):
        make_game("liars_dice", **bad)


@pytest.mark.parametrize("deal", ["3", "33 5", "7 1", "0 1", "3 5 1", 35, "x y"])
def test_deals_are_checked(deal):
    env = coterie.make("liars_dice")
    with pytest.raises(UsageError, match="deal"):
        env.reset(seed=0, options={"deal": deal})


def test_open_spiel_plays_the_same_games():
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("liars_dice")
    for seed in range(200):
        game = make_game("liars_dice")
        state = game.new_state(1)
        game.kernels.reset(state, 0, seed)
        other = theirs.new_initial_state()
        for hand in hands(state, 0, None):
            other.apply_action(int(hand) - 1)
        rewards, rng = np.zeros(2, np.float32), random.Random(seed)
        while not other.is_terminal():
            mover = game.mover(state, 0)
            assert other.current_player() == mover
            assert other.legal_actions() == game.legal_actions(state, 0, mover)
            action = rng.choice(other.legal_actions())
            other.apply_action(action)
            game.kernels.step(state, 0, np.full(2, action, np.int32), rewards)
        assert other.returns() == rewards.tolist()
