"""Files that someone writes who means harm, or errs: each is refused in one sentence, in little memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from coterie.envs.gridworld.config import GridworldConfig
from coterie.envs.gridworld.config.files import load
from coterie.envs.gridworld.config.presets import configure, preset
from coterie.envs.registry import game_arguments
from coterie.errors import UsageError

FOLDER = Path(__file__).parent / "yaml"
DEEP = "has lists or mappings more than 30 levels deep. If you mean it, set the environment variable COTERIE_LIMITS=2"
TOLD = {
    "alias_ladder": DEEP,
    "alias_of_itself": "alias_of_itself.yaml has an alias inside what it stands for; write the values out.",
    "aliases": "aliases.yaml has more than 1,000,000 values, counting an alias as what it stands for.",
    "binary": "map.height is b'hello'; it must be a whole number from 1 to 4,096.",
    "bytes": "bytes.yaml is not a text in UTF-8",
    "circle": "its own ancestor in the pedigree: 0 child of 1 child of 2 child of 3 child of ... child of 497 child of",
    "crowd": "This world (map of 400x400, slots 30,000) would take 3,520 MiB with its observations; at most 256 MiB",
    "deep_lists": DEEP,
    "deep_mappings": DEEP,
    "deep_open": DEEP,
    "digits": f"digits.yaml, line 1: '{'9' * 56}... cannot be read as int.",
    "digits_in_a_list": "items[0] is a number of about 6,021 digits; it must be a name",
    "hex_digits": "max_steps is a number of about 6,021 digits; it must be a whole number from 1 to 1,000,000,000.",
    "huge_float": "kinship.share is inf; it must be a number from 0 to 1.",
    "list": "list.yaml holds [1, 2], not a mapping of fields",
    "list_as_choice": "Unknown kinship.mode \"['teams']\". Did you mean 'teams'?",
    "list_as_key": "list_as_key.yaml cannot be read as YAML: ",
    "list_as_mapping": "objects is ['wall', 'altar']; it must be a mapping with 1 to 125 types of objects.",
    "list_as_number": "max_steps is [1]; it must be a whole number from 1 to 1,000,000,000.",
    "list_as_preset": "preset is ['a5_25x25']; it must be the name of one: a100_100x100,",
    "long_field": f"Unknown field of a gridworld '{'x' * 57}...'. Known: ",
    "long_name": f"objects has the key '{'x' * 56}...; it must be a name (at most 60 letters",
    "long_path": f"map.objects.{'x' * 57}... is -1; it must be a whole number from 0 to 30,000.",
    "long_word": f"Unknown kinship.mode '{'x' * 57}...'. Known: ",
    "many_slots": "This world (map of 48x48, slots 30,000) would take 3,590 MiB with its observations; at most 256 MiB",
    "mapping_as_list": "items is {'r1': 'r2'}; it must be a list of 1 to 25 different names, such as [r1, r2].",
    "merged_keys": "merged_keys.yaml has more than 1,000,000 values",
    "not_a_bool": "not_a_bool.yaml, line 1: 'perhaps' cannot be read as bool.",
    "not_a_date": "not_a_date.yaml, line 1: '2020-13-45' cannot be read as timestamp.",
    "not_a_timestamp": "not_a_timestamp.yaml, line 1: 'soon' cannot be read as timestamp.",
    "not_an_int": "not_an_int.yaml, line 1: 'many' cannot be read as int.",
    "null_bytes": "null_bytes.yaml cannot be read as YAML: unacceptable character",
    "number_as_key": "Unknown field of a gridworld '1'. Known: ",
    "option_digits": "map.terrain_options.rows is a number of about 6,021 digits; for 'rooms' it must be 1 to 100",
    "pedigree": "This world (map of 48x48, slots 24, kinship.pedigree of 4,000) would take 488 MiB",
    "python_object": "python_object.yaml cannot be read as YAML: could not determine a constructor",
    "range_digits": "randomize.agent.energy[1] is a number of about 6,021 digits; it must be a number",
    "regions": "map.regions has 1,500 entries; it must be a list of at most 1,000 regions",
    "rooms": "map.terrain_options.rows is 1,000,000,000; for 'rooms' it must be 1 to 100",
    "section_as_list": "map is [1, 2]; it must be a section with fields: terrain, height,",
    "truth_as_key": "objects has the key True; it must be a string; write it in quotes.",
    "two_documents": "two_documents.yaml cannot be read as YAML: expected a single document",
    "unclosed": "unclosed.yaml cannot be read as YAML: ",
    "unprintable": r"\n\x1b[2J' is -1; it must be a whole number from 0 to 30,000.",
    "utf16": "utf16.yaml is not a text in UTF-8",
    "wide_map": "This world (map of 4,096x4,096, slots 1) would take 465 MiB with its observations; at most 256 MiB",
    "wider_map": "map.height is 1,000,000,000; it must be a whole number from 1 to 4,096.",
    "word": "word.yaml holds 'max_steps', not a mapping of fields",
}


def test_every_file_has_its_sentence() -> None:
    assert TOLD.keys() == {path.stem for path in FOLDER.iterdir()}


@pytest.mark.parametrize("name", TOLD)
def test_hostile_files_are_refused(name: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(UsageError) as caught:
            load(FOLDER / f"{name}.yaml")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert TOLD[name] in message
    assert message.startswith(str(FOLDER / f"{name}.yaml"))
    assert message.isprintable()
    assert len(message) < 600
    assert peak < 32 * 2**20


def test_a_large_world_is_allowed_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_LIMITS", "2")
    assert load(FOLDER / "wide_map.yaml").map.height == 4096


def test_the_same_holds_for_arguments() -> None:
    loop: dict[str, object] = {}
    loop["map"] = loop
    for overrides in (loop, {"randomize": loop}, {"items": [[[]] * 9] * 9}, {"max_steps": 10**5000}, {"map": b"\xff"}):
        with pytest.raises(UsageError) as caught:
            configure("a5_25x25", overrides=overrides)
        assert len(str(caught.value)) < 600
    with pytest.raises(UsageError, match=r"The value of 'size=\[\[.*\.\.\.' has lists or mappings more than 30 levels"):
        game_arguments(["size=" + "[" * 99])


def test_files_that_can_be_used_are(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("map: &here {height: 20, width: 20, agents: 3, objects: {}}\nkinship: {share: 1e-1}\n")
    assert load(path).kinship.share == 0.1
    path.write_text(
        "objects: {wall: {glyph: '#'}, a: &a {glyph: a, reward: 1}, b: {<<: *a, glyph: b}}\nmap: {objects: {}}"
    )
    assert load(path).objects["b"].reward == 1.0
    assert preset("a5_25x25") != GridworldConfig()
