"""Converts a gridworld's configuration to and from plain data and YAML. ``files.py`` writes and reads files.

Plain data is what JSON holds: dicts, lists, numbers, strings, booleans. There are two ways to read it:

* ``from_dict`` reads a complete configuration. Missing fields take their defaults; a mapping (objects, counts, costs,
  ...) that is given replaces the default one.
* ``merge`` reads changes to another configuration. Sections and mappings change entry by entry: a new entry is added,
  ``None`` (YAML: ``null``) removes one. Lists are replaced whole.

If a map has ``text``, the rest of its section has other defaults: terrain, height and width are those of the drawing,
and only what is drawn is placed. A single word sets a section's main field: ``observation: tokens``, ``map: maze``,
``kinship: teams``, ``actions: verbs``.

A file (or dict) that names a ``preset`` holds changes to that preset; any other is a complete configuration. ``about``
is a description for people.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

import yaml

from ....errors import UsageError
from ...plain import plain_data, read_yaml
from ...typed import overlaid, read
from .sections import GridworldConfig, MapRules

__all__ = ["from_dict", "merge", "read_yaml", "to_dict", "to_yaml"]

ABOUT, PRESET = "about", "preset"
"""Entries of a file that are not fields of a configuration."""

_MAIN: Final = {"observation": "kind", "actions": "space", "map": "terrain", "kinship": "mode"}
"""The field of a section that a single word sets: ``observation="tokens"``."""

T = TypeVar("T")


def to_dict(config: GridworldConfig, whole: bool = True) -> dict[str, Any]:
    """Plain data from which ``from_dict`` makes an equal configuration.

    Args:
        config: the configuration.
        whole: False omits fields that have their default value.
    """
    data = cast("dict[str, Any]", _plain(config, None if whole else GridworldConfig()))
    for ends in data.get("randomize", {}).values():
        ends[:] = [int(end) if end.is_integer() else end for end in map(float, ends)]
    return data


def from_dict(data: Mapping[str, Any]) -> GridworldConfig:
    """A complete configuration; missing fields take their defaults.

    Raises:
        UnknownName: a field or choice that doesn't exist.
        UsageError: a value of the wrong type, or out of bounds.
    """
    data = _spelt_out(data)
    if (drawn := _drawn(data)) is not None:
        data["map"] = overlaid(drawn, data["map"], "map")
    return read(GridworldConfig, data, "a gridworld")


def merge(base: GridworldConfig, changes: Mapping[str, Any]) -> GridworldConfig:
    """A copy of a configuration with some entries changed.

    Removing a type of object also removes it from the map and from ``randomize``; changing the terrain discards the old
    terrain's options.

    Args:
        base: the configuration to start from; not modified.
        changes: nested data: ``{"map": {"height": 30}, "objects": {"altar": {"cooldown": 5}, "converter": None}}``.

    Raises:
        UnknownName: a field, entry or choice that doesn't exist.
        UsageError: a value of the wrong type, or out of bounds.
    """
    changes = _spelt_out(changes)
    objects, here = changes.get("objects"), changes.get("map")
    if isinstance(objects, dict):
        base = _without(base, {name for name, value in objects.items() if value is None and name in base.objects})
    if (drawn := _drawn(changes)) is not None:
        base = dataclasses.replace(base, map=drawn)
    elif isinstance(here, dict) and here.get("terrain", base.map.terrain) != base.map.terrain:
        base = dataclasses.replace(base, map=dataclasses.replace(base.map, terrain_options={}))
    return read(GridworldConfig, overlaid(base, changes), "a gridworld")


def to_yaml(config: GridworldConfig, whole: bool = True) -> str:
    """YAML from which ``load`` makes an equal configuration; arguments as in ``to_dict``."""
    return yaml.dump(to_dict(config, whole), Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)


# -- out ---------------------------------------------------------------------------------------------------------------


def _plain(value: Any, default: Any) -> Any:
    """Plain data; from a dataclass only the fields that differ from ``default``, if one is given."""
    if dataclasses.is_dataclass(value):
        entries = ((f.name, getattr(value, f.name), getattr(default, f.name, None)) for f in dataclasses.fields(value))
        # The defaults of a drawn map depend on the drawing.
        same = type(default) is type(value) and not (isinstance(value, MapRules) and value.text)
        return {
            name: _plain(one, usual if dataclasses.is_dataclass(one) else None)
            for name, one, usual in entries
            if not same or one != usual
        }
    if isinstance(value, Mapping):
        return {name: _plain(one, None) for name, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(one, None) for one in value]
    return value


class _Dumper(yaml.SafeDumper):
    """Writes drawn maps as blocks of lines, and short flat lists and mappings on one line."""


def _line_or_block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _flat(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.SequenceNode:
    short = not any(isinstance(one, (dict, list)) for one in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=short)


def _table(dumper: yaml.SafeDumper, table: dict[str, Any]) -> yaml.MappingNode:
    short = not any(isinstance(one, (dict, list, str)) for one in table.values())
    return dumper.represent_mapping("tag:yaml.org,2002:map", table, flow_style=short and len(table) < 5)


_Dumper.add_representer(str, _line_or_block)
_Dumper.add_representer(list, _flat)
_Dumper.add_representer(dict, _table)


# -- in ----------------------------------------------------------------------------------------------------------------


def _spelt_out(data: Any) -> dict[str, Any]:
    """Plain data with words for sections spelt out, and ranges under dotted names."""
    data = plain_data(data, "The configuration")
    if not isinstance(data, dict):
        return cast("dict[str, Any]", read(GridworldConfig, data, "a gridworld"))  # raises
    for section, field in _MAIN.items():
        if isinstance(data.get(section), str):
            data[section] = {field: data[section]}
    if isinstance(seen := data.get("observation"), dict) and seen.get("kind") == "text":
        raise UsageError(
            "observation.kind is 'text', but text works with any kind: leave kind alone and pass text=True: "
            'coterie.make("gridworld-v0", text=True).'
        )
    if isinstance(data.get("randomize"), dict):
        data["randomize"] = _dotted(data["randomize"])
    return data


def _dotted(table: Mapping[Any, Any]) -> dict[Any, Any]:
    """``{"agent": {"energy": ends}}`` as ``{"agent.energy": ends}``: ranges can be named either way."""
    found: dict[Any, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{inner}": ends for inner, ends in _dotted(value).items()}
        else:
            found[name] = value
    return found


def _drawn(data: Mapping[str, Any]) -> MapRules | None:
    """The defaults of a drawn map: the size of the text, and nothing placed but what is drawn."""
    here = data.get("map")
    text = here.get("text") if isinstance(here, dict) else None
    if not isinstance(text, str) or not text.strip():
        return None
    lines = MapRules(text=text).lines
    return MapRules("ascii", len(lines), len(lines[0]), border=0, agents=0, objects={})


def _without(config: GridworldConfig, gone: set[str]) -> GridworldConfig:
    """The configuration without the map counts and ranges of the object types in ``gone``."""

    def kept(table: Mapping[str, T]) -> dict[str, T]:
        return {name: value for name, value in table.items() if name not in gone}

    regions = tuple(dataclasses.replace(region, objects=kept(region.objects)) for region in config.map.regions)
    return dataclasses.replace(
        config,
        map=dataclasses.replace(config.map, objects=kept(config.map.objects), regions=regions),
        randomize={
            name: ends
            for name, ends in config.randomize.items()
            if not (name.startswith("objects.") and name.split(".")[1] in gone)
        },
    )
