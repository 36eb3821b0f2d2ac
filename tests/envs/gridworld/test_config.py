"""Configurations: presets, plain data and YAML in and out, overrides."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from coterie.envs.gridworld.config import GridworldConfig, MapRules
from coterie.envs.gridworld.config.files import dump, from_dict, load, merge, to_dict, to_yaml
from coterie.envs.gridworld.config.presets import arguments, configure, list_presets, preset
from coterie.envs.gridworld.config.world import new_world, plane_names, sizes
from coterie.errors import UnknownName, UsageError

from .strategies import CONFIGS

CLASSIC = {
    # agents, altars, converters, generators, walls; height and width
    "bench_24_48x48": (24, 10, 20, 40, 144, 48),
    "a5_25x25_simple": (5, 1, 3, 15, 60, 25),
    "a5_25x25": (5, 1, 3, 15, 60, 25),
    "a20_40x40": (20, 5, 10, 50, 40, 40),
    "a20_40x40_rich": (20, 5, 10, 100, 40, 40),
    "a20_r4_40x40": (20, 4, 12, 40, 160, 40),
    "a100_100x100": (100, 20, 30, 200, 1000, 100),
    "a100_r25_100x100": (100, 25, 50, 100, 500, 100),
}


# -- presets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSIC)
def test_the_classic_presets_hold_what_they_held(name: str) -> None:
    config = configure(name)
    rooms = config.map.terrain_options.get("rows", 1) * config.map.terrain_options.get("columns", 1)
    placed = config.map.objects
    counts = [rooms * placed[kind] for kind in ("altar", "converter", "generator", "wall")]
    assert (rooms * config.map.agents, *counts, config.map.height) == CLASSIC[name]
    assert config.map.width == config.map.height
    assert config.max_steps == 5000
    assert (config.agent.energy, config.agent.max_energy, config.agent.max_items) == (250, 250, 5)


def test_what_sets_presets_apart() -> None:
    simple, rich, bases = (preset(name) for name in ("a5_25x25_simple", "a20_40x40_rich", "a20_b4_40x40"))
    assert simple == merge(preset("a5_25x25"), {"actions": {"attack": False, "shield": False}})
    assert rich.randomize["agent.energy"] == (50, 250)
    assert rich.randomize["kinship.share"] == (0, 1)
    assert merge(rich, {"map": {"objects": {"generator": 50}}}).map == preset("a20_40x40").map
    assert sizes(bases).slots == 20
    assert bases.map.terrain == "bases"


def test_presets_are_listed_with_one_line_each_and_the_default_first() -> None:
    listed = list_presets()
    assert set(CLASSIC) | {"a20_b4_40x40", "a3_11x11"} <= set(listed)
    assert next(iter(listed)) == "bench_24_48x48"
    assert all(about and "\n" not in about for about in listed.values())
    assert configure() == configure("bench_24_48x48") == GridworldConfig()


def test_players_see_and_do_the_same_in_all_presets() -> None:
    facts = {(sizes(preset(name)).planes, sizes(preset(name)).actions) for name in list_presets()}
    assert facts == {(24, 22)}
    assert len({tuple(plane_names(preset(name))) for name in list_presets()}) == 1


def test_nobody_else_sees_what_one_does_to_a_configuration() -> None:
    for make in (GridworldConfig, configure, lambda: preset("a5_25x25"), lambda: configure("a5_25x25")):
        config = make()
        config.objects.clear()
        config.map.objects.clear()
        config.actions.costs.clear()
        assert make().objects
        assert make().map.objects
        assert make().actions.costs


def test_an_unknown_preset_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'a5_25x25_simple'"):
        configure("a5_25x25_simpel")


# -- in and out --------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(CONFIGS)
def test_plain_data_and_yaml_come_back_equal(config: GridworldConfig) -> None:
    for whole in (True, False):
        data = to_dict(config, whole)
        assert from_dict(data) == config
        assert from_dict(json.loads(json.dumps(data))) == config
        assert from_dict(yaml.safe_load(to_yaml(config, whole))) == config
    assert merge(GridworldConfig(), to_dict(config)).agent == config.agent


@settings(max_examples=25, deadline=None)
@given(CONFIGS, CONFIGS)
def test_data_says_all_of_what_differs_from_the_defaults(one: GridworldConfig, other: GridworldConfig) -> None:
    assert (to_dict(one, whole=False) == to_dict(other, whole=False)) == (one == other)


def test_every_field_is_written() -> None:
    def same(data: Any, node: Any) -> None:
        if is_dataclass(node):
            assert list(data) == [f.name for f in fields(node)]
            for f in fields(node):
                same(data[f.name], getattr(node, f.name))

    same(to_dict(preset("a20_40x40_rich")), preset("a20_40x40_rich"))
    assert to_dict(GridworldConfig(), whole=False) == {}


@pytest.mark.parametrize("name", list_presets())
def test_presets_come_back_from_files(name: str, tmp_path: Path) -> None:
    dump(preset(name), tmp_path / "my.yaml")
    assert load(tmp_path / "my.yaml") == configure(config=str(tmp_path / "my.yaml")) == preset(name)


def test_numbers_of_numpy_and_lists_for_tuples_are_taken() -> None:
    import numpy as np

    config = configure(
        "a5_25x25",
        overrides={
            "agent": {"energy": np.int64(40)},
            "kinship": {"mode": "matrix", "matrix": np.eye(5), "share": 1},
            "randomize": {"agent.freeze": (1, 2)},
        },
    )
    assert type(config.agent.energy) is int
    assert config.kinship.matrix[2] == (0.0, 0.0, 1.0, 0.0, 0.0)
    json.dumps(to_dict(config))


# -- overrides ---------------------------------------------------------------------------------------------------------


def test_sections_and_tables_change_entry_by_entry() -> None:
    base = preset("a5_25x25")
    config = configure(
        "a5_25x25",
        overrides={
            "max_steps": 100,
            "map": {"height": 30, "objects": {"wall": 10}},
            "objects": {"altar": {"cooldown": 5}, "well": {"glyph": "w", "energy_gain": 20}},
        },
    )
    assert config.max_steps == 100
    assert config.map == replace(base.map, height=30, objects={**base.map.objects, "wall": 10})
    assert config.objects["altar"] == replace(base.objects["altar"], cooldown=5)
    assert list(config.objects) == [*base.objects, "well"]


def test_null_takes_away_and_what_named_it_goes_along() -> None:
    config = configure("a20_40x40_rich", overrides={"objects": {"altar": None}, "actions": {"costs": {"attack": None}}})
    assert "altar" not in config.objects
    assert "altar" not in config.map.objects
    assert config.actions.costs == {"shield": 1}
    assert "objects.altar.energy_cost" not in config.randomize
    assert "objects.*.cooldown" in config.randomize
    with pytest.raises(UnknownName, match="Did you mean 'altar'"):
        configure(overrides={"objects": {"alter": None}})


def test_a_file_lies_on_a_preset_or_stands_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("about: mine\npreset: a5_25x25\nmap: {objects: {wall: 3}}\n")
    assert configure(config=path) == configure("a5_25x25", overrides={"map": {"objects": {"wall": 3}}})
    path.write_text("map: {objects: {wall: 3}}\n")
    assert configure(config=path).map.objects == {"wall": 3}
    assert configure(config=path).map.height == GridworldConfig().map.height
    path.write_text("")
    assert configure(config=path) == GridworldConfig()


def test_dataclasses_stand_for_whole_sections() -> None:
    here = MapRules(height=9, width=9, agents=2, objects={"altar": 1})
    config = configure("a5_25x25_simple", overrides={"map": here, "max_steps": 7})
    assert config.map == here
    assert config.max_steps == 7
    assert not config.actions.attack
    words = arguments("a5_25x25_simple", overrides={"map": here, "max_steps": 7})
    assert configure(config=words["config"]) == config
    assert configure(config=config) == config


@settings(max_examples=40, deadline=None)
@given(CONFIGS)
def test_arguments_are_plain_short_and_complete(config: GridworldConfig) -> None:
    words = arguments(config=config, overrides={"max_steps": 9})
    assert json.loads(json.dumps(words)) == words
    rest = {name: value for name, value in words.items() if name != "config"}
    assert merge(from_dict(words["config"]), rest) == replace(config, max_steps=9)
    assert arguments() == {"preset": "bench_24_48x48"}
    assert arguments(preset="a5_25x25", overrides={"map": {"height": 30}}) == {
        "preset": "a5_25x25",
        "map": {"height": 30},
    }


def test_arguments_know_nothing_of_the_file_that_they_came_from(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("preset: a5_25x25\nmax_steps: 3\n")
    words = arguments(config=tmp_path / "my.yaml")
    (tmp_path / "my.yaml").unlink()
    assert configure(**pickle.loads(pickle.dumps(words))).max_steps == 3


DRAWING = """\
#######
#@...a#
#.n.c.#
#######
"""


def test_a_word_stands_for_the_main_field_of_a_section() -> None:
    words = {"observation": "tokens", "actions": "verbs", "map": "maze", "kinship": "teams"}
    sections = {
        "observation": {"kind": "tokens"},
        "actions": {"space": "verbs"},
        "map": {"terrain": "maze"},
        "kinship": {"mode": "teams"},
    }
    assert configure("a5_25x25", overrides=words) == configure("a5_25x25", overrides=sections)
    assert from_dict(words) == from_dict(sections)
    with pytest.raises(UnknownName, match=r"Unknown observation\.kind 'token'.*Did you mean 'tokens'\?"):
        configure("a5_25x25", overrides={"observation": "token"})
    with pytest.raises(UsageError, match="agent is 'strong'; it must be a section with fields: energy"):
        configure("a5_25x25", overrides={"agent": "strong"})


def test_a_drawn_map_is_as_large_as_its_drawing_and_holds_no_more() -> None:
    config = configure("a20_r4_40x40", overrides={"map": {"text": DRAWING}})
    assert (config.map.terrain, config.map.height, config.map.width) == ("ascii", 4, 7)
    assert (config.map.agents, config.map.objects, config.map.regions) == (0, {}, ())
    assert sizes(config).slots == 1
    assert new_world(config, 1).plan.shape == (1, 4, 7)
    more = configure(overrides={"map": {"text": DRAWING, "agents": 2, "objects": {"altar": 3}}})
    assert sizes(more).slots == 3
    assert more.map.objects == {"altar": 3}
    assert configure(config=to_dict(more, whole=False)) == more
