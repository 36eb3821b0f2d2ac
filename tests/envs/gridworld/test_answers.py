"""What actions are called, and which one an answer means."""

from __future__ import annotations

import re

import numpy as np
import pytest

from coterie.agents.core import Turn
from coterie.envs import make_game
from coterie.envs.testing import check_text
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction

from .conftest import CROWD, drawn


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"actions": {"space": "verbs", "loot": "use"}},
        {"observation": {"kind": "tokens", "rotate": True}},
        {"items": ["stone", "red_stone"], "objects": {"wall": {"glyph": "#"}}, "map": {"objects": {"wall": 9}}},
        {"kinship": {"mode": "relatedness", "size": 4}, "death": {"hp": True, "energy": True}, "agent": {"upkeep": 3}},
    ],
)
def test_texts_pass_the_check_of_all_games(fields):
    if "items" in fields:
        world = {"terrain": "random", "height": 12, "width": 12, "agents": 4, **fields["map"]}
        check_text(make_game("gridworld", config={**fields, "map": world, "max_steps": 60}))
    else:
        check_text(make_game("gridworld", **{"map": CROWD, "max_steps": 60, **fields}))


@pytest.mark.parametrize(
    ("said", "action"),
    [
        ("noop", 0),
        ("Forward", 1),
        ("  move   forward. ", 1),
        ("I go back", 2),
        ("face up", 3),
        ("face_down", 4),
        ("turn left", 5),
        ("RIGHT", 6),
        (">", 6),
        ("`use`", 7),
        ("I use the generator ahead.", 7),
        ("attack 1", 8),
        ("Attack #9!", 16),
        ("shield on", 17),
        ("swap places", 18),
        ("gift r1", 19),
        ("give one r3", 21),
    ],
)
def test_answers_as_people_write_them(said, action):
    game, state = drawn("@n")
    assert game.parse_action(state, 0, said) == action


@pytest.mark.parametrize(
    ("said", "error", "told"),
    [
        ("jump", InvalidAction, "names no action. Answer with one of noop, forward, back, face up/down/left/right"),
        ("forwrad", InvalidAction, "Did you mean 'forward'?"),
        ("7", InvalidAction, "names no action"),
        ("attack 10", InvalidAction, "there are attack 1 to attack 9"),
        ("attack -1", InvalidAction, "there are attack 1 to attack 9"),
        ("attack " + "9" * 5000, InvalidAction, "there are attack 1 to attack 9"),
        ("attack", AmbiguousAction, "which of the nine cells"),
        ("attack 1 or attack 2", AmbiguousAction, "attack 1, attack 2"),
        ("forward, then use", AmbiguousAction, "forward, use"),
        ("gift", AmbiguousAction, "gift r1, gift r2, gift r3"),
        ("gift r9", InvalidAction, "names no item to give"),
        ("I give up", InvalidAction, "names no item to give"),
    ],
)
def test_answers_that_are_none(said, error, told):
    game, state = drawn("@n")
    with pytest.raises(error, match=re.escape(told)):
        game.parse_action(state, 0, said)


def test_what_nobody_can_do_is_refused_with_the_reason():
    game, state = drawn("@n", actions={"attack": False, "gift": False}, max_steps=1)
    with pytest.raises(IllegalAction, match="this world has no attack"):
        game.parse_action(state, 0, "attack 3")
    assert "attack" not in game.rules
    assert "gift" not in game.describe(state, 0, 0)
    assert game.parse_action(state, 0, "use") == 7
    game.kernels.step(state, 0, np.array([0], np.int32), np.zeros(1, np.float32))
    with pytest.raises(IllegalAction, match="too late: the episode ended after 1 ticks"):
        game.parse_action(state, 0, "use")
    assert game.describe(state, 0, 0).endswith("The episode is over.")


def test_players_hear_when_an_action_cannot_succeed():
    game, state = drawn("@.n")
    turn = Turn(game, state, 0, 0, game.legal_mask(state, 0, 0), 0)
    with pytest.raises(IllegalAction, match="'use' cannot succeed now"):
        turn.parse_action("use")
    assert turn.parse_action("turn right") == 6


def test_one_item_needs_no_name_and_items_that_differ_in_case_alone_are_told_apart():
    game, state = drawn("@#", items=["stone"], objects={"wall": {"glyph": "#"}})
    assert game.parse_action(state, 0, "gift") == 19
    game, state = drawn("@#", items=["R", "r"], objects={"wall": {"glyph": "#"}})
    assert [game.parse_action(state, 0, said) for said in ("gift R", "gift r")] == [19, 20]
