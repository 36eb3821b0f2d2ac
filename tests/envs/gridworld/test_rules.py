"""The rules page, action by action, on maps drawn by hand."""

from __future__ import annotations

import pytest

from coterie.aliases import RUNNING, TERMINATED, TRUNCATED
from coterie.envs.gridworld.state import DOWN, GONE, LEFT, PAD, RIGHT, UP

from .scenes import BACK, FORWARD, NAMES, NOOP, SHIELD, SWAP, USE, Scene, attack, gift, rotate


def test_a_map_begins_as_it_is_drawn():
    scene = Scene(
        """
        #####
        #@.n#
        #c@a#
        #####
        """
    )
    assert scene.draw() == "#####\n#@.n#\n#c@a#\n#####"
    assert [scene.place(0), scene.place(1)] == [(1, 1), (2, 2)]
    assert scene.world.agents[0]["id"].tolist() == [0, 1]
    assert (scene.agent()["energy"], scene.agent()["facing"], scene.agent()["last_action"]) == (250, UP, -1)
    assert (scene.thing(1, 3)["stock"], scene.thing(1, 3)["hp"], scene.thing(0, 0)["hp"]) == (30, 30, 10)


@pytest.mark.parametrize("facing", NAMES)
def test_forward_and_back(facing):
    scene = Scene("...\n.@.\n...", actions={"costs": {"move": 3}})
    scene.agent()["facing"] = facing
    ahead = {UP: (0, 1), DOWN: (2, 1), LEFT: (1, 0), RIGHT: (1, 2)}[facing]
    scene.tick(FORWARD)
    assert scene.place() == ahead
    assert scene.agent()["facing"] == facing
    scene.tick(BACK)
    scene.tick(BACK)
    assert scene.place() == (2 - ahead[0], 2 - ahead[1])
    assert scene.agent()["energy"] == 250 - 9
    assert scene.draw().count("@") == 1


def test_nobody_walks_into_walls_agents_or_off_the_map():
    scene = Scene("@.\n#@")
    assert FORWARD not in scene.legal(0)
    scene.tick(FORWARD, NOOP)
    assert scene.place(0) == (0, 0)
    assert not scene.agent(0)["succeeded"]
    scene.tick(BACK, FORWARD)  # a wall is behind the first
    assert [scene.place(0), scene.place(1)] == [(0, 0), (0, 1)]
    scene.tick(rotate(RIGHT), NOOP)
    assert not {FORWARD, BACK} & set(scene.legal(0))
    assert (scene.agent(0)["succeeded"], scene.agent(0)["last_action"]) == (True, rotate(RIGHT))


def test_what_costs_more_than_there_is_fails_and_costs_nothing():
    scene = Scene("...\n.@.\n...", actions={"costs": {"move": 6, "rotate": 3}})
    scene.agent()["energy"] = 5
    assert FORWARD not in scene.legal()
    assert rotate(DOWN) in scene.legal()
    scene.tick(FORWARD)
    assert (scene.place(), scene.agent()["energy"]) == ((1, 1), 5)
    scene.tick(rotate(DOWN))
    assert (scene.agent()["facing"], scene.agent()["energy"]) == (DOWN, 2)
    assert rotate(UP) not in scene.legal()


def test_generator():
    scene = Scene("n\n@")
    for tick in range(1, 14):
        ready = tick in (1, 7, 13)
        assert (USE in scene.legal()) == ready
        scene.tick(USE)
        assert scene.agent()["succeeded"] == ready
    assert scene.items() == [3, 0, 0]
    assert scene.thing(0, 0)["stock"] == 27
    assert scene.thing(0, 0)["busy_until"] == 13 + 5


def test_an_empty_generator_and_full_hands():
    scene = Scene("n\n@")
    scene.thing(0, 0)["stock"] = 1
    scene.give(0, 5)
    assert USE not in scene.legal()
    scene.give(0, 4)
    scene.tick(USE)
    assert (scene.items(), scene.thing(0, 0)["stock"]) == ([5, 0, 0], 0)
    scene.thing(0, 0)["busy_until"] = 0
    scene.give(0, 0)
    assert USE not in scene.legal()
    scene.tick(USE)
    assert scene.items() == [0, 0, 0]


def test_converter():
    scene = Scene("c\n@")
    assert USE not in scene.legal()
    scene.give(0, 1)
    scene.agent()["energy"] = 200
    scene.tick(USE)
    assert (scene.items(), scene.agent()["energy"]) == ([0, 1, 0], 250)


def test_what_does_not_fit_is_lost_and_what_gains_nothing_fails():
    scene = Scene("c\n@")
    scene.give(0, 1, 5)
    scene.agent()["energy"] = 250
    assert USE not in scene.legal()
    scene.tick(USE)
    assert scene.items() == [1, 5, 0]
    scene.agent()["energy"] = 249
    scene.tick(USE)
    assert (scene.items(), scene.agent()["energy"]) == ([0, 5, 0], 250)


def test_altar():
    scene = Scene("a\n@", actions={"costs": {"use": 7}})
    scene.agent()["energy"] = 106
    assert USE not in scene.legal()
    scene.agent()["energy"] = 110
    assert scene.tick(USE).tolist() == [1.0]
    assert (scene.agent()["energy"], scene.agent()["score"], scene.agent()["last_reward"]) == (3, 100, 1.0)
    assert scene.tick(USE).tolist() == [0.0]
    assert scene.agent()["last_reward"] == 0


def test_a_recipe_of_ones_own():
    armory = {"glyph": "x", "inputs": {"r1": 2, "r3": 1}, "outputs": {"r2": 4}, "energy_gain": 5, "reward": -0.5}
    scene = Scene("x\n@", objects={"armory": armory})
    scene.give(0, 3, 2, 1)
    assert scene.tick(USE).tolist() == [-0.5]
    assert scene.items() == [1, 5, 0]
    assert USE not in scene.legal()


def test_walls_and_empty_cells_are_of_no_use():
    scene = Scene("#.\n@@")
    for slot in (0, 1):
        assert USE not in scene.legal(slot)
    scene.tick(USE, USE)
    assert not scene.world.agents[0]["succeeded"].any()


@pytest.mark.parametrize("facing", NAMES)
@pytest.mark.parametrize("k", range(1, 10))
def test_every_attack_hits_its_own_cell(facing, k):
    """789 / 456 / 123 ahead of who looks up, turned with the attacker."""
    row, col = -1 - (k - 1) // 3, (k - 1) % 3 - 1
    for _ in range({UP: 0, RIGHT: 1, DOWN: 2, LEFT: 3}[facing]):
        row, col = col, -row  # a quarter to the right
    text = [["."] * 7 for _ in range(7)]
    text[3][3] = text[3 + row][3 + col] = "@"
    scene = Scene("\n".join("".join(line) for line in text))
    me = 0 if (3 + row, 3 + col) > (3, 3) else 1
    scene.agent(me)["facing"] = facing
    assert [a for a in scene.legal(me) if attack(1) <= a <= attack(9)] == [attack(k)]
    scene.tick(*[attack(k) if slot == me else NOOP for slot in (0, 1)])
    assert scene.agent(1 - me)["frozen_until"] == 1 + 10
    assert scene.agent(me)["energy"] == 245


def test_an_attack_freezes_drains_and_loots():
    scene = Scene("@\n@")
    scene.give(0, 4, 1, 0)
    scene.give(1, 2, 0, 0)
    scene.tick(FORWARD, attack(2))  # attacks come first, so the move fails
    assert not scene.agent(0)["succeeded"]
    assert (scene.agent(0)["energy"], scene.items(0), scene.items(1)) == (0, [1, 0, 0], [5, 1, 0])
    assert scene.legal(0) == [NOOP]
    for _ in range(10):
        scene.tick(rotate(DOWN))
        assert not scene.agent(0)["succeeded"]
    assert scene.agent(0)["facing"] == UP
    scene.tick(rotate(DOWN))
    assert scene.agent(0)["facing"] == DOWN


def test_a_shield_takes_the_damage_first():
    scene = Scene("@\n@", agent={"damage": 40})
    scene.tick(SHIELD)
    assert (scene.agent(0)["shield"], scene.agent(0)["energy"]) == (True, 249)
    scene.tick(NOOP, attack(2))
    assert (scene.agent(0)["shield"], scene.agent(0)["energy"], scene.agent(0)["frozen_until"]) == (True, 208, 0)
    scene.agent(0)["energy"] = 41  # one goes to the shield's upkeep
    scene.tick(NOOP, attack(2))
    assert (scene.agent(0)["shield"], scene.agent(0)["energy"], scene.agent(0)["frozen_until"]) == (False, 0, 13)


def test_a_shield_goes_off_by_itself_and_by_hand():
    scene = Scene("@", agent={"shield_upkeep": 2})
    scene.tick(SHIELD)
    scene.agent()["energy"] = 3
    scene.tick(NOOP)
    assert (scene.agent()["shield"], scene.agent()["energy"]) == (True, 1)
    scene.tick(NOOP)
    assert (scene.agent()["shield"], scene.agent()["energy"]) == (False, 1)
    scene.tick(SHIELD)
    assert (scene.agent()["shield"], scene.agent()["energy"]) == (True, 0)
    assert SHIELD not in scene.legal()


def test_objects_give_way():
    scene = Scene("#\n@")
    for left in range(9, 0, -1):
        scene.tick(attack(2))
        assert scene.thing(0, 0)["hp"] == left
    assert scene.agent()["energy"] == 250 - 45
    scene.tick(attack(2))
    assert scene.draw() == ".\n@"
    assert (scene.world.objects[0]["type"] == GONE).all()
    assert attack(2) not in scene.legal()
    scene.tick(FORWARD)
    assert scene.place() == (0, 0)


def test_what_has_no_hp_cannot_be_attacked():
    scene = Scene("x\n@", objects={"rock": {"glyph": "x", "reward": 1.0, "hp": 0}})
    assert attack(2) not in scene.legal()
    scene.tick(attack(2))
    assert (scene.agent()["energy"], scene.draw()) == (250, "x\n@")


def test_swap():
    scene = Scene("@\n@", actions={"costs": {"swap": 4}})
    assert SWAP not in scene.legal(1)
    scene.tick(NOOP, attack(2))
    assert SWAP in scene.legal(1)
    scene.tick(NOOP, SWAP)
    assert [scene.place(0), scene.place(1)] == [(1, 0), (0, 0)]
    assert (scene.agent(1)["energy"], scene.agent(1)["facing"]) == (250 - 5 - 4, UP)
    assert scene.world.which[0, PAD : PAD + 2, PAD].tolist() == [1, 0]


def test_gift():
    scene = Scene("@\n@", actions={"costs": {"gift": 2}})
    scene.give(1, 0, 2)
    assert [a for a in scene.legal(1) if a >= gift(0)] == [gift(1)]
    scene.tick(NOOP, gift(1))
    assert (scene.items(0), scene.items(1), scene.agent(1)["energy"]) == ([0, 1, 0], [0, 1, 0], 248)
    scene.give(0, 0, 5)
    assert gift(1) not in scene.legal(1)
    scene.tick(gift(1), gift(1))
    assert (scene.items(0), scene.items(1)) == ([0, 5, 0], [0, 1, 0])


def test_looting_by_use():
    scene = Scene("@\n@", actions={"loot": "use"})
    scene.give(0, 3, 5, 0)
    scene.give(1, 4, 0, 0)
    scene.tick(NOOP, attack(2))
    assert scene.items(0) == [3, 5, 0]
    scene.tick(NOOP, USE)
    assert (scene.items(0), scene.items(1)) == ([2, 0, 0], [5, 5, 0])
    assert USE not in scene.legal(1)
    scene.give(1, 0, 0, 0)
    for _ in range(9):
        scene.tick()
    assert USE not in scene.legal(1)  # awake again


@pytest.mark.parametrize(("verb", "action"), [("shield", SHIELD), ("gift", gift(0)), ("attack", attack(2))])
def test_verbs_that_are_switched_off(verb, action):
    scene = Scene("@\n@", actions={verb: False})
    scene.give(1, 1)
    assert action not in scene.legal(1)
    scene.tick(NOOP, action)
    assert not scene.agent(1)["succeeded"]
    assert (scene.items(0), scene.agent(1)["energy"], scene.agent(1)["shield"]) == ([0, 0, 0], 250, False)


@pytest.mark.parametrize("number", [-1, -7, 22, 1000000])
def test_numbers_that_are_no_actions_fail(number):
    scene = Scene(".\n@")
    scene.tick(number)
    assert (scene.agent()["succeeded"], scene.agent()["last_action"], scene.place()) == (False, -1, (1, 0))


def test_upkeep_and_death():
    scene = Scene("@.@", agent={"upkeep": 100}, death={"energy": True})
    scene.give(0, 3)
    scene.tick()
    assert scene.agent()["energy"] == 150
    scene.agent(1)["energy"] = 1000
    scene.tick()
    assert scene.tick(NOOP, NOOP).tolist() == [0, 0]
    assert scene.world.agents[0]["alive"].tolist() == [False, True]
    assert (scene.items(0), scene.draw(), scene.legal(0)) == ([0, 0, 0], "..@", [])
    assert not scene.seen(0).any()
    assert scene.status == RUNNING
    scene.agent(1)["energy"] = 50
    scene.tick()
    assert scene.status == TERMINATED


def test_death_of_age_and_of_hits():
    scene = Scene("@", death={"max_age": 3})
    scene.tick()
    scene.tick()
    assert scene.status == RUNNING
    scene.tick()
    assert (scene.status, scene.agent()["alive"]) == (TERMINATED, False)
    scene = Scene("@\n@", death={"hp": True}, agent={"hp": 2})
    scene.give(0, 2)
    scene.tick(NOOP, attack(2))
    assert (scene.agent(0)["alive"], scene.agent(0)["hp"]) == (True, 1)
    scene.give(0, 1)
    scene.tick(NOOP, attack(2))
    assert (scene.agent(0)["alive"], scene.items(1), scene.draw()) == (False, [3, 0, 0], ".\n@")
    assert FORWARD in scene.legal(1)


def test_truncation():
    scene = Scene("@", max_steps=2)
    scene.tick()
    assert scene.status == RUNNING
    scene.tick()
    assert scene.status == TRUNCATED
    assert scene.legal() == []


def test_the_order_is_drawn_anew_in_every_tick_or_fixed():
    winners = {}
    for order in ("shuffled", "fixed"):
        for seed in range(40):
            scene = Scene("@.@", seed, actions={"order": order})
            scene.world.agents[0]["facing"] = [RIGHT, LEFT]
            scene.tick(FORWARD, FORWARD)
            winners.setdefault(order, []).append(scene.draw())
    assert set(winners["fixed"]) == {".@@"}
    assert 8 < winners["shuffled"].count(".@@") < 32
