"""The rules page, action by action, on maps drawn by hand."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.aliases import RUNNING, TERMINATED, TRUNCATED
from coterie.envs import make_game
from coterie.envs.gridworld.layout import DOWN, GONE, LEFT, PAD, RIGHT, UP

NOOP, FORWARD, BACK, USE, SHIELD, SWAP = 0, 1, 2, 7, 17, 18
NAMES = (UP, DOWN, LEFT, RIGHT)


def rotate(direction):
    return 3 + direction


def attack(k):
    return 7 + k


def gift(item):
    return 19 + item


class Scene:
    """One world drawn by hand; agents are slots in reading order and look up."""

    def __init__(self, text, seed=0, **config):
        text = "\n".join(line.strip() for line in text.strip().splitlines())
        config = {"map": {"terrain": "ascii", "border": 0, "text": text}, **config}
        self.game = make_game("gridworld", **_sized(config))
        self.world = self.game.new_state(1)
        self.game.kernels.reset(self.world, 0, np.uint64(seed))
        self.rewards = np.zeros(self.game.info.players, np.float32)
        self.status = RUNNING

    def tick(self, *actions):
        """One tick; agents that are not named do nothing."""
        given = np.zeros(self.game.info.players, np.int32)
        given[: len(actions)] = actions
        self.rewards[:] = 0
        self.status = self.game.kernels.step(self.world, 0, given, self.rewards)
        return self.rewards

    def agent(self, slot=0):
        return self.world.agents[0, slot]

    def items(self, slot=0):
        return self.world.items[0, slot].tolist()

    def give(self, slot, *items):
        self.world.items[0, slot, : len(items)] = items

    def legal(self, slot=0):
        return self.game.legal_actions(self.world, 0, slot)

    def place(self, slot=0):
        return int(self.agent(slot)["row"]), int(self.agent(slot)["col"])

    def thing(self, row, col):
        """The object in a cell, or None."""
        kind = self.world.kind[0, row + PAD, col + PAD]
        return self.world.objects[0, self.world.which[0, row + PAD, col + PAD]] if 2 <= kind < 255 else None

    def seen(self, slot=0):
        out = np.empty(self.game.info.observation_shape, self.game.info.observation_dtype)
        self.game.kernels.observe(self.world, 0, slot, out)
        return out

    def draw(self):
        glyphs = ".@" + "".join(kind for kind in "#ncaxyz")
        return "\n".join("".join(glyphs[k] for k in row) for row in self.world.kind[0, PAD:-PAD, PAD:-PAD])


def _sized(config):
    lines = config["map"]["text"].splitlines()
    config["map"] |= {"height": len(lines), "width": len(lines[0]), "agents": 0}
    config["map"]["objects"] = dict.fromkeys(("wall", "generator", "converter", "altar"), 0)
    return config


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


# -- sharing -----------------------------------------------------------------------------------------------------------

FOUR = "aa..\n@@@@"


def _paid(kinship, **config):
    scene = Scene(FOUR, kinship=kinship, **config)
    return scene, scene.tick(USE, NOOP, NOOP, NOOP).tolist()


def test_teams():
    scene, paid = _paid({"mode": "teams", "size": 2, "share": 0.5})
    assert paid == [0.75, 0.25, 0, 0]
    assert scene.world.agents[0]["label"].tolist() == [0, 0, 1, 1]
    assert scene.world.agents[0]["last_reward"].tolist() == paid


def test_teams_by_label_and_groups():
    _, paid = _paid({"mode": "teams", "labels": [0, 1, 0, 0], "share": 0.75})
    assert paid == [0.5, 0, 0.25, 0.25]
    _, paid = _paid({"mode": "groups", "labels": [1, 0, 1, -1], "pct": [0.0, 1.0]})
    assert paid == [0.5, 0, 0.5, 0]


def test_families_are_drawn_anew():
    partitions = set()
    for seed in range(30):
        scene = Scene(FOUR, seed, kinship={"mode": "families", "size": 2, "share": 1.0})
        labels = scene.world.agents[0]["label"].tolist()
        assert sorted(labels) == [0, 0, 1, 1]
        partitions.add(tuple(label == labels[0] for label in labels))
        paid = scene.tick(USE).tolist()
        assert paid == [0.5 * (label == labels[0]) for label in labels]
    assert len(partitions) == 3


def test_matrix_rows_are_normalised():
    rows = [[1, 1, 0, 0], [2, 0, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1]]
    _, paid = _paid({"mode": "matrix", "matrix": rows})
    assert paid == [0.5, 1.0, 0.0, 0.25]


def test_relatedness():
    pedigree = [[4, -1, -1], [5, -1, -1], [0, 4, 5], [1, 4, 5], [2, 4, -1], [3, 0, -1]]
    scene, paid = _paid({"mode": "relatedness", "pedigree": pedigree})
    assert paid == [1.0, 0.5, 0.25, 0.5]
    assert scene.world.agents[0]["mother"].tolist() == [4, 4, 4, 0]
    _, paid = _paid({"mode": "relatedness", "size": 4})
    assert paid == [1.0, 0.5, 0.5, 0.5]


def test_prestige():
    scene, paid = _paid({"prestige_every": 3})
    assert paid == [1, 0, 0, 0]
    assert scene.tick().tolist() == [0, 0, 0, 0]
    assert scene.tick().tolist() == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])


def test_the_dead_keep_what_they_earned():
    scene = Scene(
        "aa..\n@@@@",
        kinship={"mode": "teams", "size": 4, "share": 1.0},
        death={"energy": True},
        agent={"upkeep": 1},
    )
    scene.agent(1)["energy"] = 1
    scene.agent(0)["energy"] = 200
    assert scene.tick(USE, USE).tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])


# -- what is seen ------------------------------------------------------------------------------------------------------


def test_planes_of_everything():
    scene = Scene("#nca\n.@@.\n....", observation={"kinship": True, "last_action": True, "last_reward": True})
    scene.give(1, 1, 2, 3)
    scene.agent(1)["facing"] = RIGHT
    scene.tick(USE, SHIELD)
    seen = scene.seen(0)
    assert seen.shape == (27, 11, 11)
    at = {name: (4 if name != "agent" else 5, 5 + k) for k, name in enumerate(("n", "c", "a"))}
    agent = [1, 1, 0, 249, RIGHT, 1, 1, 2, 3]
    assert seen[:9, 5, 6].tolist() == agent
    assert seen[:9, 5, 5].tolist() == [1, 1, 0, 250, UP, 0, 1, 0, 0]
    assert seen[9:24, 4, 4].tolist() == [1, 10] + [0] * 13
    assert seen[9:24, *at["n"]].tolist() == [0, 0, 1, 30, 29, 0] + [0] * 9
    assert seen[9:24, *at["c"]].tolist() == [0] * 6 + [1, 30, 1, 2, 100, 1] + [0] * 3
    assert seen[9:24, *at["a"]].tolist() == [0] * 12 + [1, 30, 1]
    assert seen[24].sum() == 255  # only oneself
    assert (seen[25] == 1 + USE).all()
    assert (seen[26] == 128).all()
    assert (seen[:25].any(0).sum()) == 6
    shown = np.zeros_like(seen[:24])
    whole = scene.game.whole.read(scene.world, 0)["planes"]
    shown[:, 4:7, 4:8] = whole[:24]
    assert np.array_equal(seen[:24], shown)


def test_numbers_are_cut_off_at_255():
    scene = Scene("@a", agent={"energy": 1000, "max_energy": 2000})
    scene.thing(0, 1)["hp"] = 300
    seen = scene.seen()
    assert (seen[3, 5, 5], seen[22, 5, 6]) == (255, 255)


def test_hidden_features():
    scene = Scene("@@a", observation={"hidden": ["agent.energy", "agent.r2", "altar.ready"]})
    scene.give(0, 1, 1)
    scene.give(1, 1, 1)
    seen = scene.seen()
    assert seen[:9, 5, 5].tolist() == [1, 1, 0, 250, UP, 0, 1, 1, 0]
    assert seen[:9, 5, 6].tolist() == [1, 1, 0, 0, UP, 0, 1, 0, 0]
    assert seen[21:24, 5, 7].tolist() == [1, 30, 0]


@pytest.mark.parametrize("shape", [(11, 11), (5, 3), (3, 15), (15, 9), (1, 1)])
@pytest.mark.parametrize("facing", NAMES)
def test_rotated_windows(shape, facing):
    """A window is the one of the turned map."""
    rng = np.random.default_rng(facing)
    cells = rng.choice(list("....#nca"), (20, 20))
    cells[8, 11] = cells[9, 12] = cells[10, 10] = "@"
    text = "\n".join("".join(row) for row in cells)
    scene = Scene(text, observation={"rotate": True, "height": shape[0], "width": shape[1]})
    scene.world.agents[0]["facing"] = [RIGHT, facing, DOWN]
    whole = scene.game.whole.read(scene.world, 0)["planes"]
    quarters = {UP: 0, RIGHT: 1, DOWN: 2, LEFT: 3}
    padded = np.pad(whole, ((0, 0), (7, 7), (7, 7)))
    square = np.rot90(padded[:, 9 : 9 + 15, 12 : 12 + 15], quarters[facing], (1, 2)).copy()
    present = square[0] > 0
    clockwise = [UP, RIGHT, DOWN, LEFT]
    for row, col in np.argwhere(present):
        if (row, col) != (7, 7):
            turned = (quarters[int(square[4, row, col])] - quarters[facing]) % 4
            square[4, row, col] = clockwise[turned]
    high, wide = shape[0] // 2, shape[1] // 2
    assert np.array_equal(scene.seen(1), square[:, 7 - high : 8 + high, 7 - wide : 8 + wide])


def test_windows_at_the_edge_of_a_map_without_border():
    text = "\n".join("@" if k in (0, 20) else "#" for k in range(21))
    scene = Scene(text, observation={"height": 15, "width": 15})
    first, last = scene.seen(0), scene.seen(1)
    assert (first[0].sum(), first[9].sum(), last[0].sum(), last[9].sum()) == (1, 7, 1, 7)
    assert first[9, 8:, 7].all()
    assert last[9, :7, 7].all()


# -- reset -------------------------------------------------------------------------------------------------------------


def test_everything_is_placed():
    game = make_game("gridworld")
    world = game.new_state(3)
    for i in range(3):
        game.kernels.reset(world, i, np.uint64(i))
        things = world.objects[i]
        assert np.bincount(things["type"][things["type"] != GONE]).tolist() == [144 + 188, 40, 20, 10]
        assert world.agents[i]["alive"].all()
    assert not np.array_equal(world.kind[0], world.kind[1])


FULL = {"wall": 5, "generator": 0, "converter": 0, "altar": 10}


def test_full_maps_are_filled_to_the_last_cell():
    game = make_game("gridworld", map={"height": 7, "width": 7, "agents": 10, "objects": FULL})
    world = game.new_state(1)
    for seed in range(50):
        game.kernels.reset(world, 0, np.uint64(seed))
        assert (world.kind[0, PAD:-PAD, PAD:-PAD] != 0).all()


def test_regions_take_their_cells_from_the_map():
    corner = {"top": 1, "left": 1, "height": 4, "width": 5, "agents": 6, "objects": {"altar": 14}}
    here = {"height": 12, "width": 12, "agents": 2, "objects": FULL | {"wall": 60, "altar": 0}, "regions": [corner]}
    game = make_game("gridworld", map=here)
    world = game.new_state(1)
    for seed in range(20):
        game.kernels.reset(world, 0, np.uint64(seed))
        inside = world.kind[0, PAD + 1 : PAD + 5, PAD + 1 : PAD + 6]
        assert sorted(inside.ravel().tolist()) == [1] * 6 + [5] * 14


def test_ranges():
    ranges = {
        "agent.energy": [50, 60],
        "trait.max_items": [3, 9],
        "objects.altar.energy_cost": [50, 250],
        "objects.*.cooldown": [2, 10],
        "kinship.share": [0.25, 0.5],
    }
    game = make_game("gridworld", preset="a20_40x40", randomize=ranges, kinship={"mode": "teams", "size": 3})
    world = game.new_state(1)
    met = {"energy": set(), "items": set(), "cost": set(), "cooldowns": set(), "share": set()}
    for seed in range(60):
        game.kernels.reset(world, 0, np.uint64(seed))
        met["energy"] |= set(world.agents[0]["energy"].tolist())
        met["items"] |= set(world.agents[0]["max_items"].tolist())
        met["cost"].add(int(world.types[0, 3]["energy_cost"]))
        met["cooldowns"] |= set(world.types[0, 1:]["cooldown"].tolist())
        met["share"].add(float(world.pct[0, 0]))
        assert world.types[0, 0]["cooldown"] == 0
    assert met["energy"] == set(range(50, 61))
    assert met["items"] == set(range(3, 10))
    assert 50 <= min(met["cost"]) < 90 < 200 < max(met["cost"]) <= 250
    assert met["cooldowns"] == set(range(2, 11))
    assert 0.25 <= min(met["share"]) < 0.3 < 0.45 < max(met["share"]) <= 0.5


def test_slots_beyond_the_agents_are_nobody():
    game = make_game("gridworld", preset="a5_25x25", slots=8)
    world = game.new_state(1)
    game.kernels.reset(world, 0, np.uint64(1))
    assert world.agents[0]["alive"].tolist() == [True] * 5 + [False] * 3
    assert world.agents[0]["id"].tolist() == [0, 1, 2, 3, 4, -1, -1, -1]
    assert [bool(game.kernels.alive(world, 0, s)) for s in (0, 7)] == [True, False]
    assert game.legal_actions(world, 0, 7) == []


def test_keys():
    game = make_game("gridworld", preset="a5_25x25")
    world = game.new_state(2)
    for i in range(2):
        game.kernels.reset(world, i, np.uint64(7))
    assert game.key(world, 0) == game.key(world, 1)
    rewards = np.zeros(5, np.float32)
    for i, action in ((0, rotate(UP)), (1, NOOP)):  # everybody looks up already
        game.kernels.step(world, i, np.full(5, action, np.int32), rewards)
    assert game.key(world, 0) == game.key(world, 1)
    for change in (("agents", "energy"), ("agents", "facing"), ("objects", "hp"), ("objects", "busy_until")):
        getattr(world, change[0])[0, 2][change[1]] += 1
        assert game.key(world, 0) != game.key(world, 1)
        getattr(world, change[0])[0, 2][change[1]] -= 1
    game.kernels.step(world, 0, np.full(5, NOOP, np.int32), rewards)
    assert game.key(world, 0) != game.key(world, 1)
