"""Negotiations in words."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.envs import make_game
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction


def begun(said=(), seed=3, **config):
    game = make_game("negotiation", **config)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(seed))
    for text in said:
        actions = np.full(game.info.players, game.parse_action(state, 0, text), np.int32)
        game.kernels.step(state, 0, actions, np.zeros(game.info.players, np.float32))
    return game, state


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Offer: 3 Wood -> 2 Gold", (7, 12)),
        ("[Offer: 3 Wood -> 2 Gold]", (7, 12)),
        ("I like gold. [offer:  3  wood  ->  2  GOLD ] Please!", (7, 12)),
        ("Offer: nothing -> 2 Gold, 10 Wood", (20, 12)),
        ("Offer: 10 Gold, 1 Wood -> nothing", (9, 0)),
        ("Offer: 0 Wood, 1 Gold -> 1 Wood", (11, 9)),
    ],
)
def test_offers_of_a_trade(text, kept):
    game, state = begun()
    action = game.parse_action(state, 0, text)
    assert divmod(action, 21) == kept
    assert game.parse_action(state, 0, game.action_to_text(state, 0, action)) == action


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("", InvalidAction, "no action"),
        ("I accept", InvalidAction, "no action"),
        ("accept: yes", InvalidAction, "no action"),
        ("Offer", InvalidAction, "no action"),
        ("Offer:", InvalidAction, "->"),
        ("Offer: 3 Wood", InvalidAction, "->"),
        ("Offer: -> ", InvalidAction, "cannot be read"),
        ("Offer: 3 Silver -> 2 Gold", InvalidAction, "names are Wood, Gold"),
        ("Offer: three Wood -> 2 Gold", InvalidAction, "cannot be read"),
        ("Offer: -3 Wood -> 2 Gold", InvalidAction, "cannot be read"),
        ("Offer: 3 Wood 2 Gold -> 2 Gold", InvalidAction, "cannot be read"),
        ("Offer: \u0663 Wood -> 2 Gold", InvalidAction, "cannot be read"),
        ("Offer: 3 Wood -> 2 Gold -> 1 Wood", InvalidAction, "cannot be read"),
        ("[Offer: 3 Wood -> 2 Gold", InvalidAction, "no action"),
        ("Offer: 3 Wood, 1 Wood -> 2 Gold", AmbiguousAction, "twice"),
        ("Offer: 3 Wood -> 2 Wood", AmbiguousAction, "gives and takes"),
        ("Offer: 11 Wood -> 2 Gold", IllegalAction, "too much of Wood"),
        ("Offer: 3 Wood -> 999999 Gold", IllegalAction, "too much of Gold"),
        ("Offer: nothing -> nothing", IllegalAction, "change nothing"),
        ("Accept", IllegalAction, "no offer stands"),
        ("[Deny]", IllegalAction, "no offer stands"),
        ("[Offer: " + "9" * 10**6 + " Wood -> 1 Gold]", InvalidAction, "cannot be read"),
        ("[Offer: 3 Wood -> 2 Gold] [Accept]" * 10**5, IllegalAction, "no offer stands"),
    ],
)
def test_what_cannot_be_read_is_told(text, error, match):
    game, state = begun()
    with pytest.raises(error, match=match) as raised:
        game.parse_action(state, 0, text)
    assert len(str(raised.value)) < 400


def test_the_other_side_of_an_offer():
    game, state = begun(["Offer: 3 Wood -> 2 Gold"])
    assert "Player 0 now offered: you give 2 Gold and get 3 Wood." in game.describe(state, 0, 1)
    assert "You now offered: you give 3 Wood and get 2 Gold." in game.describe(state, 0, 0)
    _, divided = begun(["Offer: 1 ball"], preset="deal_or_no_deal")
    game = make_game("negotiation", preset="deal_or_no_deal")
    counts = (divided.options[0] - 1).tolist()
    rest = counts[2] - 1
    assert f"you get {counts[0]} book, {counts[1]} hat" + (f", {rest} ball" if rest else "") in game.describe(
        divided, 0, 1
    )


def test_every_issue_needs_an_option():
    game, state = begun(preset="issues")
    with pytest.raises(InvalidAction, match="leaves out date, place"):
        game.parse_action(state, 0, "Offer: price 1")
    with pytest.raises(IllegalAction, match="too much of date"):
        game.parse_action(state, 0, "Offer: price 1, date 4, place 0")
    assert game.parse_action(state, 0, "Offer: place 3, price 1, date 2") == 1 * 16 + 2 * 4 + 3


def test_no_offer_in_the_last_turn():
    game, state = begun(["Offer: 6 coin"], preset="ultimatum")
    with pytest.raises(IllegalAction, match="too late"):
        game.parse_action(state, 0, "Offer: 5 coin")
    assert game.legal_actions(state, 0, 1) == [11, 12]


def test_a_private_message_reaches_one_player():
    from coterie.envs.words.vec import TextVec

    game = make_game("negotiation", preset="issues", players=4, talk=40)
    vec = TextVec(game, 1, seed=1, illegal="raise")
    vec.reset()
    vec.step(["@2 take price 1 [Offer: price 1, date 0, place 0]"])
    vec.step(["@0,3 never [Accept]"])
    assert [game.heard(vec.state[0], p) for p in range(4)] == [
        [(0, "@2 take price 1"), (1, "@0,3 never")],
        [(1, "@0,3 never")],
        [(0, "@2 take price 1")],
        [(1, "@0,3 never")],
    ]
    assert "take price" in game.describe(vec.state, 0, 2)
    assert "take price" not in game.describe(vec.state, 0, 1) + game.compact(vec.state, 0, 3)
