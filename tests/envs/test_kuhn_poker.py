"""Kuhn poker against a second, naive set of rules, and against OpenSpiel where it is installed."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.envs import kuhn_poker_v0, make_game
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction, UsageError

GAMES = {players: make_game("kuhn_poker-v0", players=players) for players in (2, 3)}
GAME = GAMES[2]


def dealt(deal, actions=(), seed=0):
    """Rows, status and rewards after some legal actions."""
    game = GAMES[len(deal)]
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(seed))
    game.options["deal"](state, 0, deal)
    status, rewards = 0, np.zeros(len(deal), np.float32)
    for action in actions:
        status = game.kernels.step(state, 0, np.full(len(deal), action, np.int32), rewards)
    return state, status, rewards


def naive(deal, actions):
    """(over, seat to move, chips won by seat) by the book."""
    players, pot, folded = len(deal), [1] * len(deal), set()
    to_act, facing = list(range(players)), False
    for action in actions:
        assert to_act
        seat = to_act.pop(0)
        if action == 1:
            pot[seat] += 1
            if not facing:
                facing = True
                to_act = [(seat + k) % players for k in range(1, players)]
        elif facing:
            folded.add(seat)
    if to_act:
        return False, to_act[0], None
    winner = max(set(range(players)) - folded, key=lambda p: "JQKA".index(deal[p]))
    return True, None, [sum(pot) * (p == winner) - pot[p] for p in range(players)]


@settings(deadline=None, max_examples=300)  # the first call may compile
@given(st.integers(2, 3).flatmap(lambda p: st.tuples(st.permutations("JQKA"[: p + 1]), st.lists(st.integers(0, 1)))))
def test_rules_against_naive_ones(drawn):
    deck, wanted = drawn
    deal = "".join(deck[:-1])
    game, played = GAMES[len(deal)], []
    for action in [*wanted, 0, 0, 0, 0, 0]:
        over, seat, won = naive(deal, played)
        state, status, rewards = dealt(deal, played)
        assert (status == 1) == over
        assert rewards.sum() == 0  # chips come from nowhere and go nowhere
        if over:
            assert rewards.tolist() == won
            assert not any(game.legal_actions(state, 0, p) for p in range(len(deal)))
            break
        assert game.mover(state, 0) == seat
        assert not rewards.any()
        assert [game.legal_actions(state, 0, p) for p in range(len(deal))] == [
            [0, 1] if p == seat else [] for p in range(len(deal))
        ]
        played.append(action)
    assert over


@pytest.mark.parametrize("players", [2, 3])
def test_every_deal_is_as_likely_as_it_says(players):
    """A chi-square test with a seed for each of many games: 5 and 23 degrees of freedom."""
    game, n = GAMES[players], 24_000
    state = game.new_state(n)
    for i in range(n):
        game.kernels.reset(state, i, np.uint64(i * 7 + 1))
    counts = Counter("".join("JQKA"[c] for c in row) for row in state["cards"][:, :players].tolist())
    listed = dict(game.deals())
    assert set(counts) == set(listed) == {"".join(d) for d in permutations("JQKA"[: players + 1], players)}
    assert sum(listed.values()) == pytest.approx(1)
    statistic = sum((counts[d] - n * p) ** 2 / (n * p) for d, p in listed.items())
    assert statistic < {2: 25.7, 3: 58.6}[players]  # the 0.9999 quantiles


def test_keys_tell_positions_apart():
    keys = {}
    for deal, _ in GAME.deals():
        for actions in ((), (0,), (1,), (0, 1), (0, 0), (1, 0), (1, 1), (0, 1, 0), (0, 1, 1)):
            keys.setdefault(GAME.key(dealt(deal, actions)[0], 0), []).append((deal, actions))
    assert len(keys) == 6 * 9


def test_texts():
    state = dealt("KQ", [0])[0]
    assert GAME.compact(state, 0, 0) == "P0 K p>"
    assert GAME.compact(state, 0, 1) == "P1 Q p>"
    assert GAME.describe(state, 0, 1) == (
        "You are player_1 and hold Q. The pot holds 2 chips, 1 of them yours.\n"
        "Betting: player_0 checked.\nLegal actions: check bet."
    )
    assert GAME.describe(state, 0, 0).endswith("You have no move now.")
    folded = dealt("KQ", [0, 1, 0])[0]
    assert GAME.describe(folded, 0, 0) == (
        "You are player_0 and hold K. The pot holds 3 chips, 1 of them yours.\n"
        "Betting: you checked, player_1 bet, you folded.\nThe game is over: player_1 won 1 chip."
    )
    shown = dealt("KQ", [1, 1])[0]
    assert GAME.describe(shown, 0, 1).endswith("Shown: player_0 K.\nThe game is over: player_0 won 2 chips.")
    three = dealt("KAJ", [0, 1, 0, 1])[0]  # player_2 folded: its card stays face down
    assert "Shown: player_1 A.\nThe game is over: player_1 won 3 chips." in GAMES[3].describe(three, 0, 0)


@pytest.mark.parametrize(
    ("actions", "text", "action"),
    [
        ([], "check", 0),
        ([], "Bet!", 1),
        ([], "I pass.", 0),
        ([1], "fold", 0),
        ([1], "pass", 0),
        ([1], "I CALL, call", 1),
    ],
)
def test_answers_that_are_understood(actions, text, action):
    assert GAME.parse_action(dealt("KQ", actions)[0], 0, text) == action


@pytest.mark.parametrize(
    ("actions", "text", "error", "way_out"),
    [
        ([], "", InvalidAction, "check bet"),
        ([], "1", InvalidAction, "check bet"),
        ([], "checkbet", InvalidAction, "check bet"),
        ([], "check or bet", AmbiguousAction, "check bet"),
        ([], "fold", IllegalAction, "cannot be played before a bet.* check bet"),
        ([], "call", IllegalAction, "check bet"),
        ([1], "check", IllegalAction, "cannot be played after a bet.* fold call"),
        ([1], "bet", IllegalAction, "fold call"),
        ([1, 1], "call", IllegalAction, "The game is over"),
    ],
)
def test_answers_that_are_not(actions, text, error, way_out):
    with pytest.raises(error, match=way_out):
        GAME.parse_action(dealt("KQ", actions)[0], 0, text)


@pytest.mark.parametrize("deal", ["K", "KK", "KQJ", "KA", "K?", 7, None, ["K", "Q"]])
def test_deals_that_are_none(deal):
    with pytest.raises(UsageError, match=r"deal=.* 2 different cards of JQK are needed"):
        GAME.options["deal"](GAME.new_state(1), 0, deal)


def test_deal_through_the_faces():
    env = coterie.make("kuhn_poker-v0", text=True)
    env.reset(seed=1, options={"deal": "jk"})
    assert env.last()[0].startswith("You are player_0 and hold J.")
    vec = coterie.make_vec("kuhn_poker-v0", num_envs=2)
    vec.reset(seed=1, options={"deal": ["QJ", "KJ"]})
    assert vec.observation[:, 2:5].tolist() == [[0, 1, 0], [0, 0, 1]]
    with pytest.raises(UsageError, match="deal='QQ'"):
        vec.reset(options={"deal": "QQ"})


@pytest.mark.parametrize("players", [1, 4, 2.5, True, "2"])
def test_numbers_of_players_that_are_refused(players):
    with pytest.raises(UsageError, match=r"players=.* a whole number from 2 to 3 is needed"):
        make_game("kuhn_poker", players=players)


def test_versioned_module():
    assert kuhn_poker_v0.parallel_env(players=3).possible_agents == ["player_0", "player_1", "player_2"]


@pytest.mark.parametrize("players", [2, 3])
def test_equal_to_openspiel_everywhere(players):
    """Every deal and every course: mover, legal actions, information-state tensor, returns."""
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game(f"kuhn_poker(players={players})")
    game = GAMES[players]
    assert game.info.observation_shape == (theirs.information_state_tensor_size(),)
    compared = 0

    def compare(deal, actions, other):
        nonlocal compared
        state, status, rewards = dealt(deal, actions)
        assert (status == 1) == other.is_terminal()
        for player in range(players):
            seen = np.zeros(game.info.observation_shape, np.int8)
            game.kernels.observe(state, 0, player, seen)
            assert seen.tolist() == other.information_state_tensor(player)
        compared += 1
        if other.is_terminal():
            assert rewards.tolist() == other.returns()
            return
        assert game.mover(state, 0) == other.current_player()
        assert game.legal_actions(state, 0, other.current_player()) == other.legal_actions()
        for action in other.legal_actions():
            compare(deal, (*actions, action), other.child(action))

    for deal, _ in game.deals():
        other = theirs.new_initial_state()
        for card in deal:
            other.apply_action("JQKA".index(card))
        compare(deal, (), other)
    assert compared == {2: 6 * 9, 3: 24 * 25}[players]
