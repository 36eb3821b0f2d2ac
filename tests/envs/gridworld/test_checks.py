"""Every fault of a configuration is told in one sentence."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie.envs.gridworld.config import GridworldConfig
from coterie.envs.gridworld.config.files import dump, load, to_dict
from coterie.envs.gridworld.config.presets import configure, preset
from coterie.envs.gridworld.config.world import new_world
from coterie.envs.gridworld.maps.table import OPTIONS
from coterie.errors import CoterieError, UsageError

from .strategies import CONFIGS, COUNTS, LINES, PART, TEXTS

TWO = {"map": {"agents": 2}, "kinship": {"mode": "matrix"}}


def kin(**what: Any) -> dict[str, Any]:
    return {"map": {"agents": 2}, "kinship": what}


def shop(**what: Any) -> dict[str, Any]:
    return {"objects": {"shop": {"glyph": "s", "reward": 1, **what}}}


FAULTS: list[tuple[dict[str, Any], str]] = [
    # names
    ({"max_stepz": 3}, r"field of a gridworld 'max_stepz'\. Did you mean 'max_steps'"),
    ({"map": {"heiht": 3}}, r"field of map 'heiht'\. Did you mean 'height'"),
    ({"map": {"regions": [{"heiht": 3}]}}, r"field of map.regions\[0\] 'heiht'"),
    ({"actions": {"costs": {"attak": 3}}}, r"verb in actions.costs 'attak'\. Did you mean 'attack'"),
    (shop(inputs={"r9": 1}), r"item in objects.shop.inputs 'r9'.* Known: r1, r2, r3"),
    (shop(outputs={"gold": 1}), r"item in objects.shop.outputs 'gold'"),
    ({"map": {"objects": {"alter": 1}}}, r"type of object in map.objects 'alter'\. Did you mean 'altar'"),
    ({"map": {"regions": [{"objects": {"alter": 1}}]}}, r"in map.regions\[0\].objects 'alter'"),
    ({"map": {"terrain": "mase"}}, r"map.terrain 'mase'\. Did you mean 'maze'"),
    ({"map": {"terrain_options": {"rows": 2}}}, r"terrain option of 'random' 'rows'"),
    ({"map": {"terrain": "rooms", "terrain_options": {"row": 2}}}, r"'row'\. Did you mean 'rows'"),
    ({"kinship": {"mode": "family"}}, r"kinship.mode 'family'\. Did you mean 'families'"),
    ({"actions": {"loot": "attac"}}, r"actions.loot 'attac'\. Did you mean 'attack'"),
    ({"actions": {"order": "random"}}, r"actions.order 'random'.* Known: fixed, shuffled"),
    ({"actions": {"space": "multi"}}, r"actions.space 'multi'.* Known: flat, verbs"),
    ({"observation": {"kind": "plane"}}, r"observation.kind 'plane'\. Did you mean 'planes'"),
    ({"observation": {"kind": "text"}}, r"text=True"),
    ({"observation": {"hidden": ["agent.enrgy"]}}, r"observation.hidden 'agent.enrgy'\. Did you mean 'agent.energy'"),
    ({"observation": {"hidden": ["altar"]}}, r"observation.hidden 'altar'"),
    ({"randomize": {"agent.enrgy": [1, 2]}}, r"randomize 'agent.enrgy'\. Did you mean 'agent.energy'"),
    ({"randomize": {"objects.alter.cooldown": [1, 2]}}, r"'alter'\. Did you mean 'altar'"),
    ({"randomize": {"objects.altar.cooldwn": [1, 2]}}, r"'cooldwn'\. Did you mean 'cooldown'"),
    ({"randomize": {"objects.altar": [1, 2]}}, r"objects.TYPE.FACT"),
    # types
    ({"agent": 5}, r"agent is 5; it must be a section with fields: energy"),
    ({"agent": None}, r"agent is None; it must be a section"),
    ({"max_steps": "many"}, r"max_steps is 'many'; it must be a whole number"),
    ({"max_steps": 2.5}, r"max_steps is 2.5; it must be a whole number"),
    ({"max_steps": True}, r"max_steps is True; it must be a whole number"),
    ({"actions": {"attack": 1}}, r"actions.attack is 1; it must be true or false"),
    ({"actions": {"attack": "no"}}, r"actions.attack is 'no'; it must be true or false"),
    ({"kinship": {"share": "half"}}, r"kinship.share is 'half'; it must be a number"),
    ({"items": "r1"}, r"items is 'r1'; it must be a list"),
    ({"items": ["r1", 2]}, r"items\[1\] is 2; it must be a name \(at most 60 letters, digits and _, no digit first\)"),
    ({"map": {"text": 12}}, r"map.text is 12; it must be a string, such as '...'; write \"12\" in quotes"),
    ({"map": {"objects": ["wall"]}}, r"map.objects is \['wall'\]; it must be a mapping"),
    ({"objects": {1: {"glyph": "o"}}}, r"objects has the key 1; it must be a string; write it in quotes"),
    ({"objects": {"shop": {"reward": 1}}}, r"objects.shop has no glyph"),
    ({"randomize": {"agent.energy": 3}}, r"randomize.agent.energy is 3; it must be a list"),
    ({"randomize": {"agent.energy": [3]}}, r"randomize.agent.energy is \[3\]; it must be a list of 2 numbers"),
    ({"kinship": {"pedigree": [[1, 2]]}}, r"kinship.pedigree\[0\] is \[1, 2\]; it must be a list of 3 numbers"),
    # numbers
    ({"max_steps": 0}, r"max_steps is 0; it must be a whole number from 1 to"),
    ({"actions": {"costs": {"attack": -1}}}, r"actions.costs.attack is -1; it must be a whole number from 0 to"),
    (shop(energy_cost=-1), r"objects.shop.energy_cost is -1; it must be a whole number from 0 to"),
    (shop(cooldown=-1), r"objects.shop.cooldown is -1"),
    (shop(stock=-2), r"objects.shop.stock is -2; it must be a whole number from -1 to"),
    (shop(stock=40_000), r"objects.shop.stock is 40,000"),
    (shop(hp=40_000), r"objects.shop.hp is 40,000"),
    (shop(reward=float("nan")), r"objects.shop.reward is nan"),
    (shop(reward=float("inf")), r"objects.shop.reward is inf"),
    (shop(inputs={"r1": 0}), r"objects.shop.inputs.r1 is 0; it must be a whole number from 1 to"),
    (shop(inputs={"r1": 40_000}), r"objects.shop.inputs.r1 is 40,000"),
    ({"agent": {"max_items": 40_000}}, r"agent.max_items is 40,000; it must be a whole number from 0 to 30,000"),
    ({"agent": {"upkeep": 40_000}}, r"agent.upkeep is 40,000"),
    ({"agent": {"damage": -1}}, r"agent.damage is -1"),
    ({"agent": {"energy": 10**10}}, r"agent.energy is 10,000,000,000"),
    ({"agent": {"energy": 300}}, r"agent.energy is 300, more than agent.max_energy, 250"),
    ({"observation": {"height": 10}}, r"observation.height is 10; it must be an odd number from 1 to 15"),
    ({"observation": {"width": 14}}, r"observation.width is 14; it must be an odd number from 1 to 15"),
    ({"observation": {"width": 17}}, r"observation.width is 17; it must be an odd number from 1 to 15"),
    ({"observation": {"tokens": 0}}, r"observation.tokens is 0"),
    ({"map": {"height": 0}}, r"map.height is 0; it must be a whole number from 1 to"),
    ({"map": {"width": 100_000}}, r"map.width is 100,000"),
    ({"map": {"objects": {"wall": 40_000}}}, r"map.objects.wall is 40,000"),
    ({"map": {"objects": {"wall": -1}}}, r"map.objects.wall is -1"),
    ({"map": {"terrain": "rooms", "terrain_options": {"rows": 0}}}, r"map.terrain_options.rows is 0"),
    ({"kinship": {"share": 1.5}}, r"kinship.share is 1.5; it must be a number from 0 to 1"),
    ({"kinship": {"size": 0}}, r"kinship.size is 0"),
    ({"randomize": {"agent.energy": [20, 10]}}, r"randomize.agent.energy goes from 20 down to 10; write the lower end"),
    ({"randomize": {"agent.energy": [-5, 10]}}, r"randomize.agent.energy is -5"),
    ({"randomize": {"agent.energy": [1.5, 10]}}, r"randomize.agent.energy has 1.5; its ends must be whole numbers"),
    ({"randomize": {"kinship.share": [0, 2]}}, r"randomize.kinship.share is 2; it must be from 0 to 1"),
    ({"randomize": {"trait.upkeep": [0, 40_000]}}, r"randomize.trait.upkeep is 40,000"),
    ({"randomize": {"objects.*.cooldown": [-1, 4]}}, r"randomize.objects.\*.cooldown is -1"),
    (
        {"objects": {"spring": {"glyph": "s"}}, "randomize": {"objects.spring.energy_gain": [10, 40]}},
        r"randomize.objects.spring.energy_gain would change nothing: objects.spring takes and gives nothing",
    ),
    # what goes together
    ({"objects": {"wall": None}}, r"the first type must be `wall`"),
    (
        {"objects": {f"o{k}": {"glyph": chr(0x4E00 + k)} for k in range(122)}},
        r"objects has 126 entries; it must be a mapping with 1 to 125 types",
    ),
    ({"items": []}, r"items has 0 entries; it must be a list of 1 to 25 different names"),
    ({"items": [f"i{k}" for k in range(26)]}, r"items has 26 entries; it must be a list of 1 to 25"),
    ({"items": ["r1", "r2", "r1"]}, r"items is \['r1', 'r2', 'r1'\]; it must be a list of 1 to 25 different names"),
    (
        {"items": ["r1", "r2", "hp"]},
        r"items\[2\] is 'hp'; it must be a name .* other than hp, .* which observations use",
    ),
    ({"items": ["r1", "r2", "a b"]}, r"items\[2\] is 'a b'; it must be a name \(at most 60 letters"),
    ({"objects": {"agent": {"glyph": "g"}}}, r"objects has the key 'agent'; it must be a name .* other than agent,"),
    (
        {"objects": {"a.b": {"glyph": "g"}}},
        r"objects has the key 'a.b'; it must be a name \(at most 60 letters, digits and _, no",
    ),
    (shop(glyph="a"), r"objects.shop.glyph is 'a', which 'altar' uses too"),
    (shop(glyph="."), r"objects.shop.glyph is '.'; it must be one visible character other than . \(an empty cell\)"),
    (shop(glyph="@"), r"objects.shop.glyph is '@'; it must be one .* and @ \(an agent\)"),
    (shop(glyph=" "), r"objects.shop.glyph is ' '; it must be one visible character"),
    (shop(glyph="sh"), r"objects.shop.glyph is 'sh'; it must be one visible character"),
    (shop(glyph=""), r"objects.shop.glyph is ''; it must be one visible character"),
    (shop(reward=0, inputs={"r1": 1}, energy_cost=3), r"objects.shop takes r1, energy and gives nothing"),
    (
        {
            "observation": {"kind": "tokens"},
            "objects": {f"o{k}": {"glyph": chr(0x4E00 + k), "reward": 1} for k in range(90)},
        },
        r"this world has 294 features and a token can name 255",
    ),
    ({"map": {"agents": 0}}, r"The map has no agents"),
    ({"map": {"agents": 530}}, r"609 agents and objects must be placed.*room for 529"),
    ({"map": {"height": 2}}, r"The map is 2x25; .* needs at least 3x3"),
    (
        {"map": {"regions": [{"top": 2, "left": 2, "height": 2, "width": 2, "agents": 5}]}},
        r"5 agents and objects must be placed in the region of 2x2 cells at row 2, column 2, which has room for 4",
    ),
    ({"map": {"regions": [{"top": 20, "height": 6}]}}, r"map.regions\[0\] starts at top 20 and spans 6 cells, beyond"),
    ({"map": {"regions": [{"left": 3}]}}, r"map.regions\[0\] starts at left 3 and spans 25 cells.* at most 22"),
    ({"map": {"regions": [{"top": -1}]}}, r"map.regions\[0\].top is -1"),
    ({"slots": 4}, r"slots is 4, but the map has 5 agents; raise slots to at least 5"),
    ({"slots": 40_000}, r"slots is 40,000; it must be a whole number from 0 to 30,000"),
    # drawings
    ({"map": {"text": "####\n#@#\n####"}}, r"map.text: line 2 has 3 cells and line 1 has 4"),
    (
        {"map": {"text": "####\n#@x#\n####"}},
        r"map.text: line 2, column 3 has 'x', which stands for nothing. Known: # w",
    ),
    ({"map": {"text": "####\n#..#\n####"}}, r"The map has no agents"),
    (
        {"map": {"text": "###\n#@#\n###", "height": 5}},
        r"map.height and map.width are 5 and 3, but map.text has 3 lines",
    ),
    ({"map": {"text": "###\n#@#\n###", "agents": 1}}, r"has room for 0"),
    ({"map": {"text": "###\n#@#\n###", "terrain": "maze"}}, r"map.text is drawn, but map.terrain is 'maze'"),
    ({"map": {"terrain": "ascii"}}, r"map.terrain is 'ascii', but map.text is empty"),
    # kinship
    (kin(mode="matrix"), r"kinship.matrix is empty; give 2 rows of 2"),
    (kin(mode="matrix", matrix=[[1, 0], [1]]), r"kinship.matrix has 2 rows, but row 1 has 1 numbers; it must be sq"),
    (kin(mode="matrix", matrix=[[1]]), r"kinship.matrix is 1 x 1, but the world has 2 slots"),
    (
        kin(mode="matrix", matrix=[[1, -1], [0, 1]]),
        r"kinship.matrix\[0\]\[1\] is -1; it must be a number from 0 to 1,000,000",
    ),
    (kin(mode="matrix", matrix=[[1, float("nan")], [0, 1]]), r"kinship.matrix\[0\]\[1\] is nan"),
    (kin(mode="groups"), r"kinship.mode is 'groups', which needs labels"),
    (kin(mode="groups", labels=[0, 1], pct=[0.5]), r"kinship.labels\[1\] is 1; it must be from -1 to 0"),
    (kin(mode="groups", labels=[0], pct=[0.5]), r"kinship.labels has 1 entries for 2 slots"),
    (kin(mode="groups", labels=[0, 1], pct=[0.5, 2]), r"kinship.pct\[1\] is 2; it must be a number from 0 to 1"),
    (kin(mode="groups", labels=[0, 1], pct=[0.1, 0.2, 0.3]), r"kinship.pct has 3 groups for 2 slots"),
    (kin(mode="teams", labels=[0, 5]), r"kinship.labels\[1\] is 5; it must be from -1 to 1"),
    (kin(mode="relatedness", pedigree=[[0, -1, -1]]), r"kinship.pedigree has no row for agent 1"),
    (kin(mode="relatedness", pedigree=[[0, 1, -1], [1, 0, -1]]), r"kinship.pedigree: .* its own ancestor"),
    (kin(mode="relatedness", pedigree=[[0, 7, -1], [1, -1, -1]]), r"kinship.pedigree: .* no row in the pedigree"),
]


@pytest.mark.parametrize(("overrides", "told"), FAULTS, ids=[told[:60] for _, told in FAULTS])
def test_every_fault_is_told_in_one_sentence(overrides: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        configure("a5_25x25", overrides=overrides)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"preset": "a5_25x25", "config": {}}, "both say which world it is"),
        ({"config": "nowhere.yaml"}, "There is no file 'nowhere.yaml'"),
        ({"config": 5}, "config is 5; it must be a GridworldConfig, a dict"),
        ({"config": {"preset": "a6"}}, "Unknown gridworld preset 'a6'"),
        ({"config": {"preset": 7}}, "preset is 7; it must be the name of one"),
        ({"preset": 5}, "Unknown gridworld preset '5'"),
        ({"preset": ["a5_25x25"]}, "Unknown gridworld preset "),
    ],
)
def test_words_that_name_no_world(words: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        configure(**words)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- 1\n- 2\n", r"my.yaml holds \[1, 2\], not a mapping"),
        ("map: {height: [", r"my.yaml cannot be read as YAML"),
        ("objects: {bakery: {glyph: b, inputs: {flour: 2}, reward: 1}}", r"my.yaml: Unknown item in .*'flour'"),
        ("map:\n", r"my.yaml: map is None; it must be a section"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(text: str, told: str, tmp_path: Path) -> None:
    if text.startswith("objects"):
        text = "preset: a5_25x25\n" + text
    (tmp_path / "my.yaml").write_text(text)
    with pytest.raises(UsageError, match=told):
        load(tmp_path / "my.yaml")
    with pytest.raises(UsageError, match="Cannot write"):
        dump(GridworldConfig(), tmp_path / "nowhere" / "my.yaml")


SMALL = st.integers(0, 12)
FEW = st.dictionaries(st.sampled_from(["wall", "generator", "converter", "altar"]), st.integers(0, 5), max_size=4)
LIKELY = st.fixed_dictionaries(
    {"max_steps": st.integers(1, 50)},
    optional={
        "slots": SMALL,
        "actions": st.fixed_dictionaries(
            {"loot": st.sampled_from(["attack", "use"]), "order": st.sampled_from(["shuffled", "fixed"])}
        ),
        "observation": st.fixed_dictionaries(
            {"kind": st.sampled_from(["planes", "tokens"]), "height": st.sampled_from([1, 3, 4, 15])},
            optional={"hidden": st.lists(st.sampled_from(["agent.energy", "altar.ready", "wall"]), max_size=2)},
        ),
        "map": st.fixed_dictionaries(
            {
                "terrain": st.sampled_from(sorted(OPTIONS.keys() - {"ascii"})),
                "height": st.integers(5, 40),
                "width": st.integers(5, 40),
                "agents": SMALL,
                "objects": FEW,
            },
            optional={
                "border": st.integers(0, 3),
                "regions": st.lists(
                    st.fixed_dictionaries({"top": SMALL, "height": SMALL, "agents": SMALL}), max_size=2
                ),
                "connected": st.booleans(),
            },
        )
        | st.fixed_dictionaries({"text": LINES.map("\n".join)}, optional={"agents": SMALL}),
        "kinship": st.fixed_dictionaries(
            {"mode": st.sampled_from(["teams", "families", "matrix", "relatedness"]), "size": SMALL, "share": PART},
            optional={"matrix": st.lists(st.lists(PART, min_size=3, max_size=3), min_size=3, max_size=3)},
        ),
        "randomize": st.dictionaries(
            st.sampled_from(
                ["agent.energy", "trait.damage", "objects.*.cooldown", "objects.altar.stock", "objects.wall.hp"]
            ),
            st.tuples(SMALL, SMALL),
            max_size=2,
        ),
    },
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(LIKELY)
def test_a_likely_configuration_makes_a_world_or_is_told_why_not(overrides: dict[str, Any]) -> None:
    told = ""
    try:
        world = new_world(configure(overrides=overrides), 2)
        assert len(world.agents[0]) >= 1
    except CoterieError as error:
        told = str(error)
    assert "\n" not in told


@settings(max_examples=40, deadline=None)
@given(CONFIGS)
def test_any_configuration_is_checked(config: GridworldConfig) -> None:
    told = ""
    try:
        configure(config=config)
    except CoterieError as error:
        told = str(error)
    assert "\n" not in told


@settings(max_examples=20, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | TEXTS, lambda x: st.lists(x) | COUNTS))
def test_any_value_of_any_field_is_read_or_refused(value: Any) -> None:
    for name, section in to_dict(preset("a5_25x25")).items():
        inner = section if isinstance(section, dict) else {}
        for overrides in ({name: value}, *({name: {entry: value}} for entry in inner)):
            with contextlib.suppress(UsageError):
                configure("a5_25x25", overrides=overrides)
