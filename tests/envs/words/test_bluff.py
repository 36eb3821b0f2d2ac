"""Bluff: liar's dice with talk."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.envs import make_game
from coterie.envs.testing import check_game
from coterie.errors import UsageError


@pytest.mark.parametrize(
    "config", [pytest.param({"dice": 2, "players": 3, "talk": 20}, marks=pytest.mark.slow), {"faces": 3}]
)
def test_every_configuration_passes(config):
    check_game(make_game("bluff", **config))


def begun(deal, **config):
    env = coterie.make("bluff", text=True, **config)
    env.reset(seed=0, options={"deal": deal})
    return env


def test_talk_changes_nothing_but_what_is_heard():
    env = begun("35 16", dice=2)
    env.step("I have two fives. [1x5]")
    assert "player 0: 'I have two fives.'" in env.observe("player_1")
    assert "1x5" in env.observe("player_1")
    env.step("[2x5]")
    env.step("you lie [liar]")
    assert env.rewards == {"player_0": -1, "player_1": 1}
    assert "player_1 16" in env.observe("player_0")


@pytest.mark.parametrize(
    "message",
    ["I say 1x5", "[1x5] and more", "[1x5] [1x6]", "[2x9]", "x" * 10**6, "\x00[1x5]", "\x1b[1x5]", "", "[liar]"],
)
def test_wrong_turns_lose(message):
    env = begun("3 5")
    env.step(message)
    assert env.rewards == {"player_0": -1, "player_1": 0}


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=60))
def test_no_message_passes_for_a_line_or_a_bid(message):
    game = make_game("bluff")
    state, silent = game.new_state(1), game.new_state(1)
    said = game.sayable(message, 0)
    for row, text in ((state, f"{said} [1x2]"), (silent, "[1x2]")):
        game.kernels.reset(row, 0, 1)
        game.kernels.step(row, 0, [text, None], [0.0, 0.0])
    told, usual = (game.describe(row, 0, 1).split("\n") for row in (state, silent))
    assert [line for line in told if line in usual] == usual
    assert len(told) == len(usual) + (2 if said else 0)  # a heading, and the message in quotes


def test_a_turn_is_also_a_pair():
    env = coterie.make("bluff")
    env.reset(seed=0, options={"deal": "3 5"})
    env.step((4, "trust me"))
    assert "trust me" in str(env.observe("player_1"))


def test_the_dice_of_others_stay_hidden():
    game = make_game("bluff")
    state = game.new_state(2)
    for i, deal in enumerate(("3 5", "3 6")):
        game.kernels.reset(state, i, 0)
        game.options["deal"](state, i, deal)
    for face in (game.describe, game.compact):
        assert face(state, 0, 0) == face(state, 1, 0)
        assert face(state, 0, 1) != face(state, 1, 1)


@pytest.mark.parametrize("bad", [{"talk": 0}, {"talk": 501}, {"dice": 6}, {"players": 7}])
def test_arguments_are_checked(bad):
    with pytest.raises(UsageError, match=next(iter(bad))):
        make_game("bluff", **bad)
