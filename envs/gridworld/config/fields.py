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
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import yaml

from ....errors import UnknownName, UsageError
from .sections import ActionRules, GridworldConfig, KinshipRules, MapRules, ObservationRules

__all__ = ["from_dict", "merge", "read_yaml", "to_dict", "to_yaml"]

ABOUT, PRESET = "about", "preset"
"""Entries of a file that are not fields of a configuration."""

_SCALARS: dict[Any, tuple[str, Any]] = {
    bool: ("true or false", True),
    int: ("a whole number", 5),
    float: ("a number", 0.5),
    str: ("a string", "..."),
}

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
        UnknownName: a field that doesn't exist.
        UsageError: a value of the wrong type.
    """
    return cast(GridworldConfig, _read(GridworldConfig, data, "", GridworldConfig(), merging=False))


def merge(base: GridworldConfig, changes: Mapping[str, Any]) -> GridworldConfig:
    """A copy of a configuration with some entries changed.

    Removing a type of object also removes it from the map and from ``randomize``; changing the terrain discards the old
    terrain's options.

    Args:
        base: the configuration to start from; not modified.
        changes: nested data: ``{"map": {"height": 30}, "objects": {"altar": {"cooldown": 5}, "converter": None}}``.

    Raises:
        UnknownName: a field or entry that doesn't exist.
        UsageError: a value of the wrong type.
    """
    objects = changes.get("objects")
    if isinstance(objects, Mapping):
        base = _without(base, {name for name, value in objects.items() if value is None and name in base.objects})
    return cast(GridworldConfig, _read(GridworldConfig, changes, "", base, merging=True))


def to_yaml(config: GridworldConfig, whole: bool = True) -> str:
    """YAML from which ``load`` makes an equal configuration; arguments as in ``to_dict``."""
    return yaml.dump(to_dict(config, whole), Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)


def read_yaml(path: str | Path) -> dict[str, Any]:
    """The mapping that a YAML file holds.

    Raises:
        UsageError: there is no such file, or it does not hold YAML or a mapping.
    """
    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"There is no file {str(path)!r} to read a gridworld from.") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}.") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds {_told(data)}, not a mapping of fields such as `max_steps: 1000`.")
    return data


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


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _told(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _wrong(path: str, value: Any, wanted: str) -> UsageError:
    return UsageError(f"{path or 'The configuration'} is {_told(value)}; it must be {wanted}.")


def _read(hint: Any, value: Any, path: str, base: Any, merging: bool) -> Any:
    """Read a value of the annotated type from plain data.

    Args:
        hint: the annotation.
        value: the plain data.
        path: dotted, for messages.
        base: the present value, which supplies missing fields; None: there is none.
        merging: mappings change entry by entry too.
    """
    if dataclasses.is_dataclass(hint):
        return _read_section(cast(type, hint), value, path, base, merging)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        raise AssertionError(f"{path}: no field of a configuration has several types")
    if origin is tuple:
        return _read_list(hint, value, path)
    if origin is not None and issubclass(origin, Mapping):
        return _read_table(get_args(hint)[1], value, path, base, merging)
    return _read_scalar(hint, value, path)


_MAIN: Final[dict[type, str]] = {
    ObservationRules: "kind",
    ActionRules: "space",
    MapRules: "terrain",
    KinshipRules: "mode",
}
"""The field of a section that a single word sets: ``observation="tokens"``."""


def _read_section(kind: type, value: Any, path: str, base: Any, merging: bool) -> Any:
    if isinstance(value, kind):
        value, base, merging = _plain(value, None), None, False
    hints = _hints(kind)
    if isinstance(value, str) and kind in _MAIN:
        value = {_MAIN[kind]: value}
    if not isinstance(value, Mapping):
        raise _wrong(path, value, f"a section with fields: {', '.join(hints)}")
    if kind is MapRules and isinstance(value.get("text"), str) and value["text"].strip():
        base = _drawn(value["text"])
    if merging and kind is MapRules and value.get("terrain", base.terrain) != base.terrain:
        base = dataclasses.replace(base, terrain_options={})  # they belong to the old terrain
    found = {}
    for name, one in value.items():
        if name not in hints:
            raise UnknownName(f"field of {path}" if path else "field of a gridworld", str(name), hints)
        inner = f"{path}.{name}" if path else name
        if inner == "randomize" and isinstance(one, Mapping):
            one = _dotted(one)
        found[name] = _read(hints[name], one, inner, getattr(base, name, None), merging)
    if base is not None:
        return dataclasses.replace(base, **found)
    for f in dataclasses.fields(kind):
        if f.name not in found and f.default is f.default_factory is dataclasses.MISSING:
            raise UsageError(f"{path} has no {f.name}; add `{f.name}: ...` to it.")
    return kind(**found)


def _dotted(table: Mapping[Any, Any]) -> dict[Any, Any]:
    """``{"agent": {"energy": ends}}`` as ``{"agent.energy": ends}``: ranges can be named either way."""
    found: dict[Any, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{inner}": ends for inner, ends in _dotted(value).items()}
        else:
            found[name] = value
    return found


def _drawn(text: str) -> MapRules:
    """The defaults of a drawn map: the size of the text, and nothing placed but what is drawn."""
    lines = MapRules(text=text).lines
    return MapRules("ascii", len(lines), len(lines[0]), border=0, agents=0, objects={})


def _read_table(hint: Any, value: Any, path: str, base: Any, merging: bool) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(path, value, "a mapping from names to values, such as {name: value}")
    found = dict(base or {}) if merging else {}
    for name, one in value.items():
        if not isinstance(name, str):
            raise UsageError(f"{path} names {_told(name)}, which YAML does not read as a string; write it in quotes.")
        inner = f"{path}.{name}"
        if one is None and merging:
            if name not in found:
                raise UnknownName(f"entry of {path}", name, found)
            del found[name]
        else:
            found[name] = _read(hint, one, inner, found.get(name), merging)
    return found


def _read_list(hint: Any, value: Any, path: str) -> tuple[Any, ...]:
    inside = get_args(hint)
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise _wrong(path, value, "a list, such as [a, b]")
    entries = list(value)
    hints = [inside[0]] * len(entries) if inside[-1] is Ellipsis else list(inside)
    if len(hints) != len(entries):
        raise _wrong(path, value, f"a list of {len(hints)} numbers")
    each = enumerate(zip(hints, entries, strict=True))
    return tuple(_read(h, one, f"{path}[{k}]", None, False) for k, (h, one) in each)


def _read_scalar(hint: Any, value: Any, path: str) -> Any:
    wanted, example = _SCALARS[hint]
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()  # NumPy scalars
    if hint is float and isinstance(value, str):
        try:
            value = float(value)  # YAML 1.1 reads 1e-3 as a string
        except ValueError:
            raise _wrong(path, value, f"{wanted}, such as {example!r}") from None
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not hint:
        quotes = f'; write "{value}" in quotes' if hint is str and value is not None else ""
        raise _wrong(path, value, f"{wanted}{quotes or ('' if hint is bool else f', such as {example!r}')}")
    return value


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
