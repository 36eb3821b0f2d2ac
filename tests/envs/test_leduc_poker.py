"""Leduc poker against a second, naive set of rules, and against OpenSpiel where it is installed."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.envs import leduc_poker_v0, make_game
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction, UsageError

GAME = make_game("leduc_poker-v0")
CALL, RAISE, FOLD, CHECK = range(4)
LETTERS = {"c": CALL, "r": RAISE, "f": FOLD, "k": CHECK}


def dealt(deal, actions=""):
    """Rows, status and rewards after some legal actions, written as in the compact line."""
    state = GAME.new_state(1)
    GAME.kernels.reset(state, 0, np.uint64(0))
    GAME.options["deal"](state, 0, deal)
    status, rewards = 0, np.zeros(2, np.float32)
    for letter in actions:
        status = GAME.kernels.step(state, 0, np.full(2, LETTERS[letter], np.int32), rewards)
    return state, status, rewards


def naive(deal, actions):
    """(over, seat to move, legal letters, round, chips by seat, chips won by seat) by the book."""
    chips, seat = [1, 1], 0
    for stage in (0, 1):
        size, raises, said, seat = (2, 4)[stage], 0, 0, 0
        while True:
            facing = chips[seat] < chips[1 - seat]
            if not actions:
                legal = ("cf" if facing else "k") + ("r" if raises < 2 else "")
                return False, seat, set(legal), stage, chips, None
            letter, actions = actions[0], actions[1:]
            said += 1
            if letter == "f":
                won = [0, 0]
                won[seat], won[1 - seat] = -chips[seat], chips[seat]
                return True, None, set(), stage, chips, won
            if letter == "r":
                raises += 1
                chips[seat] = max(chips) + size
            elif letter == "c":
                chips[seat] = max(chips)
            seat = 1 - seat
            if chips[0] == chips[1] and said >= 2:
                break
    rank = ["JQK".index(card) + 10 * (card == deal[2]) for card in deal[:2]]
    sign = (rank[0] > rank[1]) - (rank[0] < rank[1])
    return True, None, set(), 1, chips, [sign * chips[0], -sign * chips[0]]


@settings(deadline=None, max_examples=300)  # the first call may compile
@given(st.permutations("JJQQKK"), st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_rules_against_naive_ones(deck, choices):
    deal, played = "".join(deck[:3]), ""
    if len(set(deal)) == 1:
        return
    for choice in [*choices, 0]:
        over, seat, legal, stage, chips, won = naive(deal, played)
        state, status, rewards = dealt(deal, played)
        assert (status == 1) == over
        assert state["chips"][0].tolist() == chips
        assert state["round"][0] == stage
        assert rewards.sum() == 0  # chips come from nowhere and go nowhere
        if over:
            assert rewards.tolist() == won
            assert not any(GAME.legal_actions(state, 0, p) for p in (0, 1))
            break
        assert GAME.mover(state, 0) == seat
        assert not rewards.any()
        assert GAME.legal_actions(state, 0, seat) == sorted(LETTERS[letter] for letter in legal)
        assert GAME.legal_actions(state, 0, 1 - seat) == []
        played += sorted(legal)[choice % len(legal)]
    assert over


def test_every_deal_is_as_likely_as_it_says():
    """A chi-square test with a seed for each of many games: 23 degrees of freedom."""
    n = 24_000
    state = GAME.new_state(n)
    for i in range(n):
        GAME.kernels.reset(state, i, np.uint64(i * 7 + 1))
    counts = Counter("".join("JQK"[c] for c in row) for row in state["cards"].tolist())
    listed = dict(GAME.deals())
    exact = Counter("".join(cards) for cards in permutations("JJQQKK", 3))
    assert listed == {deal: count / 120 for deal, count in exact.items()}
    assert set(counts) == set(listed)
    assert sum((counts[d] - n * p) ** 2 / (n * p) for d, p in listed.items()) < 58.6  # the 0.9999 quantile


def test_the_observation_number_by_number():
    state = dealt("KQJ", "krrc")[0]
    seen = np.zeros(54, np.int8)
    GAME.kernels.observe(state, 0, 0, seen)
    assert np.flatnonzero(seen).tolist() == [2, 3, 6 + 5, 21 + 5, 36, 38, 41, 43, 44]
    state = dealt("KQJ", "rcr")[0]
    GAME.kernels.observe(state, 0, 1, seen)
    assert np.flatnonzero(seen).tolist() == [1, 3, 6 + 3, 21 + 7, 37, 39, 40, 47]
    state = dealt("KQJ", "r")[0]
    GAME.kernels.observe(state, 0, 1, seen)
    assert np.flatnonzero(seen).tolist() == [1, 6 + 1, 21 + 3, 37, 39]


def test_texts():
    state = dealt("KQJ", "krcr")[0]
    assert GAME.compact(state, 0, 0) == "P0 KJ krc/r>"
    assert GAME.compact(dealt("KQJ", "kr")[0], 0, 1) == "P1 Q- kr>"
    assert GAME.describe(state, 0, 1) == (
        "You are player_1 and hold Q; the public card is J.\nYou have put in 3, player_0 7.\n"
        "Round 1: player_0 checked, you raised, player_0 called.\nRound 2: player_0 raised.\n"
        "Legal actions: call raise fold."
    )
    assert GAME.describe(state, 0, 0).endswith("You have no move now.")
    assert GAME.describe(dealt("KQJ", "rf")[0], 0, 1).endswith(
        "the public card is not dealt yet.\nYou have put in 1, player_0 3.\nRound 1: player_0 raised, you folded.\n"
        "The game is over: player_0 won 1 chip."
    )
    assert GAME.describe(dealt("KQQ", "kkrc")[0], 0, 0).endswith(
        "Shown: player_1 Q.\nThe game is over: player_1 won 5 chips."
    )
    assert GAME.describe(dealt("KKQ", "kkkk")[0], 0, 0).endswith("The game is over: the pot is shared.")


@pytest.mark.parametrize(
    ("actions", "text", "action"), [("", "check", CHECK), ("", "RAISE!", RAISE), ("r", "I fold, fold.", FOLD)]
)
def test_answers_that_are_understood(actions, text, action):
    assert GAME.parse_action(dealt("KQJ", actions)[0], 0, text) == action


@pytest.mark.parametrize(
    ("actions", "text", "error", "way_out"),
    [
        ("", "", InvalidAction, "raise check"),
        ("", "bet", InvalidAction, "raise check"),
        ("", "check or raise", AmbiguousAction, "raise check"),
        ("", "fold", IllegalAction, "no raise was made.* raise check"),
        ("r", "check", IllegalAction, "a raise was made.* call raise fold"),
        ("rr", "raise", IllegalAction, "two raises were made.* call fold"),
        ("rf", "call", IllegalAction, "too late.* The game is over"),
    ],
)
def test_answers_that_are_not(actions, text, error, way_out):
    with pytest.raises(error, match=way_out):
        GAME.parse_action(dealt("KQJ", actions)[0], 0, text)


@pytest.mark.parametrize("deal", ["KQ", "KKK", "KQA", "KQJJ", 7, None, ["K", "Q", "J"]])
def test_deals_that_are_none(deal):
    with pytest.raises(UsageError, match=r"deal=.* three cards of J J Q Q K K"):
        GAME.options["deal"](GAME.new_state(1), 0, deal)


def test_deal_through_the_faces():
    env = coterie.make("leduc_poker-v0", text=True)
    env.reset(seed=1, options={"deal": "jkq"})
    assert env.last()[0].startswith("You are player_0 and hold J; the public card is not dealt yet.")
    vec = coterie.make_vec("leduc_poker-v0", num_envs=2)
    vec.reset(seed=1, options={"deal": ["QJK", "KJJ"]})
    assert vec.observation[:, :6].tolist() == [[0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]
    assert leduc_poker_v0.env().possible_agents == ["player_0", "player_1"]


def test_equal_to_openspiel_everywhere():
    """Every deal and every course: mover, legal actions, betting, cards and chips that a player sees, returns."""
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("leduc_poker(suit_isomorphism=true)")
    ours = {0: (FOLD, FOLD), 1: (CALL, CHECK), 2: (RAISE, RAISE)}  # theirs -> ours after and without a raise
    compared = 0

    def compare(deal, actions, other):
        nonlocal compared
        if other.is_chance_node():
            other.apply_action("JQK".index(deal[2]))
        state, status, rewards = dealt(deal, actions)
        assert (status == 1) == other.is_terminal()
        compared += 1
        folded = actions.endswith("f")
        for player in (0, 1):
            seen = np.zeros(54, np.int8)
            GAME.kernels.observe(state, 0, player, seen)
            info, observed = other.information_state_tensor(player), other.observation_tensor(player)
            assert seen[36:38].tolist() + seen[0:6].tolist() + seen[38:54].tolist() == info
            chips = [int(np.flatnonzero(seen[at : at + 15])[0]) for at in (6, 21)]
            assert folded or [chips[player], chips[1 - player]] == observed[8:10]
        if other.is_terminal():
            assert rewards.tolist() == other.returns()
            return
        player = other.current_player()
        assert GAME.mover(state, 0) == player
        facing = FOLD in GAME.legal_actions(state, 0, player)
        told = {action: ours[action][not facing] for action in other.legal_actions()}
        assert sorted(told.values()) == GAME.legal_actions(state, 0, player)
        for action, own in told.items():
            compare(deal, actions + "crfk"[own], other.child(action))

    for deal, _ in GAME.deals():
        other = theirs.new_initial_state()
        for card in deal[:2]:
            other.apply_action("JQK".index(card))
        compare(deal, "", other)
    assert compared == 24 * 85
