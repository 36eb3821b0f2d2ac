"""From keys to intentions, from intentions to actions; and what is told of agents and things."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from coterie.envs.core import Game
from coterie.envs.gridworld.config.world import plane_names
from coterie.envs.gridworld.state import ATTACK, BACK, FORWARD, GIFT, NOOP, ROTATE, SHIELD, SWAP, USE, World
from coterie.envs.registry import make_game
from coterie.renderers.gridworld import config_of
from coterie.renderers.gridworld_facts import agent_facts, at_cell, kin_in_sight, planes_of, recipe, thing_facts
from coterie.renderers.gridworld_keys import INTENTIONS, KEYS, action_of, control_of, intention_of, target

MAP = """
#######
#..@..#
#.@...#
#..n..#
#.....#
#######
"""


def made(**config: Any) -> tuple[Game, World]:
    """A small world; agent 0 stands at (1, 3), agent 1 at (2, 2)."""
    game = make_game(
        "gridworld",
        map={"terrain": "ascii", "text": MAP, "height": 6, "width": 7, "agents": 0, "objects": {}},
        **config,
    )
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    order = np.argsort(state.agents[0]["row"])
    assert [(int(a["row"]), int(a["col"])) for a in state.agents[0][order]] == [(1, 3), (2, 2)]
    return game, state


def tick(game: Game, state: World, *actions: int) -> Any:
    rewards = np.zeros(2, np.float32)
    game.kernels.step(state, 0, np.array(actions, np.int32), rewards)
    return rewards


@pytest.mark.parametrize(
    ("name", "control", "intention"),
    [
        ("w", False, "up"),
        ("left", False, "left"),
        ("space", False, "use"),
        ("5", False, "attack 5"),
        ("[7]", False, "attack 7"),
        ("0", False, ""),
        ("2", True, "gift 2"),
        ("g", False, "gift"),
        ("x", False, "attack"),
        ("x", True, ""),
        (".", False, "wait"),
        ("q", False, ""),
        ("[", False, ""),
    ],
)
def test_keys_mean(name: str, control: bool, intention: str) -> None:
    assert intention_of(name, control) == intention


def test_keys_of_the_window_and_of_the_agent_do_not_hide_each_other() -> None:
    shared = {"space", "left", "right", "."}
    letters = [*"abcdefghijklmnopqrstuvwxyz", "space", "left", "right", "up", "down", ".", "tab", "return", "escape"]
    assert {key for key in letters if control_of(key) and intention_of(key)} == shared
    assert control_of("tab") == "next"
    assert control_of("tab", shift=True) == "before"
    assert len({keys for keys, _ in KEYS + INTENTIONS}) == len(KEYS) + len(INTENTIONS)


def test_turn_then_go() -> None:
    game, state = made()
    mask = game.legal_mask(state, 0, 0)
    for k, name in enumerate(("up", "down", "left", "right")):
        state.agents[0, 0]["facing"] = k
        for j, other in enumerate(("up", "down", "left", "right")):
            assert action_of(state, 0, 0, other, mask) == (FORWARD if j == k else ROTATE + j), (name, other)


def test_plain_intentions() -> None:
    game, state = made()
    mask = game.legal_mask(state, 0, 0)
    for word, action in (
        ("back", BACK),
        ("use", USE),
        ("shield", SHIELD),
        ("swap", SWAP),
        ("wait", NOOP),
        ("attack 7", ATTACK + 6),
        ("gift 2", GIFT + 1),
        ("gift 9", GIFT + 2),
        ("gift", GIFT),
    ):
        assert action_of(state, 0, 0, word, mask) == action


def test_the_nearest_agent_is_attacked() -> None:
    game, state = made()
    upper = int(state.which[0, 1 + 7, 3 + 7])
    state.agents[0, upper]["facing"] = 1  # down: the other is one ahead, one to its right, which is west
    mask = game.legal_mask(state, 0, upper)
    action = action_of(state, 0, upper, "attack", mask)
    assert game.action_to_text(state, 0, action) == "attack 3"
    actions = [0, 0]
    actions[upper] = action
    tick(game, state, *actions)
    assert state.agents[0, 1 - upper]["frozen_until"] > 1
    state.agents[0, upper]["facing"] = 0
    assert action_of(state, 0, upper, "attack", game.legal_mask(state, 0, upper)) == ATTACK + 1, "straight ahead"


def test_the_first_item_that_can_be_given_is_given() -> None:
    game, state = made()
    upper = int(state.which[0, 1 + 7, 3 + 7])
    agent = state.agents[0, upper]
    agent["row"], agent["col"], agent["facing"] = 2, 3, 2
    state.kind[0, 1 + 7, 3 + 7], state.kind[0, 2 + 7, 3 + 7], state.which[0, 2 + 7, 3 + 7] = 0, 1, upper
    state.items[0, upper] = (0, 3, 1)
    assert action_of(state, 0, upper, "gift", game.legal_mask(state, 0, upper)) == GIFT + 1


def test_targets_agree_with_the_rules() -> None:
    for facing in range(4):
        for k in range(1, 10):
            row, col = target(10, 20, facing, k)
            ahead = {0: 10 - row, 1: row - 10, 2: 20 - col, 3: col - 20}[facing]
            left = {0: 20 - col, 1: col - 20, 2: row - 10, 3: 10 - row}[facing]
            assert (ahead, left) == (1 + (k - 1) // 3, 1 - (k - 1) % 3)


# -- facts -----------------------------------------------------------------------------------------------------------


def test_an_agent_is_told() -> None:
    game, state = made(
        kinship={"mode": "families", "size": 2}, death={"hp": True, "max_age": 90}, agent={"hp": 3, "upkeep": 2}
    )
    config = config_of(game)
    assert agent_facts(config, state, 0, 0).last == ""
    tick(game, state, ROTATE, USE)
    state.items[0, 0] = (1, 0, 4)
    state.agents[0, 0]["frozen_until"], state.agents[0, 0]["shield"] = 5, True
    told = agent_facts(config, state, 0, 0)
    assert (told.slot, told.alive, told.frozen, told.shield, told.last) == (0, True, 4, True, "face up")
    assert told.items == (("r1", 1, 5), ("r2", 0, 5), ("r3", 4, 5))
    more = dict(told.more)
    assert (more["family"], more["hit points"], more["age"], more["upkeep"]) == ("0", "3", "1 of 90", "2")
    assert agent_facts(config, state, 0, 1).last == "use (failed)"


@pytest.mark.parametrize(
    ("mode", "word"),
    [("teams", "team"), ("groups", "group"), ("families", "family"), ("relatedness", "family"), ("none", None)],
)
def test_where_an_agent_belongs_is_told(mode: str, word: str | None) -> None:
    more = {"labels": [0, 0], "pct": [0.5]} if mode == "groups" else {"size": 2}
    game, state = made(kinship={"mode": mode, **more})
    told = [what for what, _ in agent_facts(config_of(game), state, 0, 0).more]
    assert [what for what in told if what in ("team", "group", "family") or what.startswith("relat")] == [
        word for word in (word,) if word
    ]


def test_kin_in_sight() -> None:
    game, state = made(kinship={"mode": "matrix", "matrix": [[3, 1], [0, 1]]})
    assert kin_in_sight(state, 0, 0) == ((1, int(state.agents[0, 1]["id"]), 0.25, 2),)
    assert kin_in_sight(state, 0, 1)[0][2] == 0
    narrow, state = made(observation={"height": 1, "width": 3})
    assert kin_in_sight(state, 0, 0) == ()
    turned, state = made(observation={"height": 1, "width": 3, "rotate": True})
    state.agents[0, 0]["facing"] = 2
    assert kin_in_sight(state, 0, 0) == (), "the window stands on its end; the other is one to the side"


def test_a_thing_is_told() -> None:
    game, state = made()
    config = config_of(game)
    kind, place = at_cell(state, 0, 3, 3)
    assert kind == "thing"
    told = thing_facts(config, state, 0, place)
    assert told is not None
    assert (told.name, told.state) == ("generator", "ready")
    assert dict(told.more) == {"use": "r1", "cooldown": "5 ticks", "uses left": "30", "hit points": "30 of 30"}
    state.objects[0, place]["busy_until"] = 3
    assert thing_facts(config, state, 0, place).state == "rests for 3 ticks"
    state.objects[0, place]["stock"] = 0
    assert thing_facts(config, state, 0, place).state == "used up"
    state.objects[0, place]["type"] = 255
    assert thing_facts(config, state, 0, place) is None
    wall = thing_facts(config, state, 0, at_cell(state, 0, 0, 0)[1])
    assert (wall.name, wall.state) == ("wall", "cannot be used")
    assert at_cell(state, 0, 1, 3)[0] == "agent"
    assert at_cell(state, 0, 1, 1) == at_cell(state, 0, -1, 3) == at_cell(state, 0, 6, 3) == ("", -1)


def test_recipes_in_words() -> None:
    config = config_of(made()[0])
    assert [recipe(kind) for kind in config.objects.values()] == [
        "nothing",
        "r1",
        "r1 > r2 + 100 energy",
        "100 energy > reward 1",
    ]


def test_tokens_are_shown_as_planes() -> None:
    (plain, state), (tokens, other) = made(), made(observation={"kind": "tokens"})
    for slot in range(2):
        seen = planes_of(plain, config_of(plain), state, 0, slot)
        assert np.array_equal(seen, planes_of(tokens, config_of(tokens), other, 0, slot))
        assert seen[plane_names(config_of(plain)).index("agent"), 5, 5] == 1
