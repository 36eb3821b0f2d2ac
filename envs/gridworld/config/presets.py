"""Gridworlds by name, and the way from a user's words to a checked configuration.

Presets are YAML files in ``data/``, written as ``fields.py`` explains; a new file there is a new preset.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from ....errors import UnknownName, UsageError
from ...registry import Presets
from .checks import check
from .fields import ABOUT, PRESET, from_dict, merge, read_yaml, to_dict, to_yaml
from .sections import GridworldConfig
from .world import all_regions, sizes

__all__ = ["DEFAULT", "arguments", "configure", "configured", "list_presets", "named", "preset"]

DEFAULT = "bench_24_48x48"
"""The preset where nothing else is said."""

_FOLDER = Path(__file__).parent.parent / "data"


@cache
def _files() -> dict[str, Path]:
    return {path.stem: path for path in sorted(_FOLDER.glob("*.yaml"))}


@cache
def _written(name: str) -> Mapping[str, Any]:
    """What the preset's file says."""
    if name not in _files():
        raise UnknownName("gridworld preset", name, _files())
    return read_yaml(_files()[name])


def list_presets() -> dict[str, str]:
    """Name of each preset -> what it is, in one line; the default comes first, small worlds before large ones."""
    size = {name: (name != DEFAULT, _area(name), name) for name in _files()}
    return {name: str(_written(name)[ABOUT]) for name in sorted(size, key=lambda name: size[name])}


def _area(name: str) -> int:
    here = preset(name).map
    return here.height * here.width


def preset(name: str) -> GridworldConfig:
    """The configuration of a preset, the caller's own.

    Raises:
        UnknownName: no such preset.
    """
    return deepcopy(_preset(str(name)))


@cache
def _preset(name: str) -> GridworldConfig:
    return _understood(_written(name), f"preset {name!r}")


def configure(
    preset: str | None = None,
    config: GridworldConfig | Mapping[str, Any] | str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> GridworldConfig:
    """The complete, checked configuration that a user's words mean.

    Args:
        preset: a name; without it and without ``config``, the default.
        config: instead of a preset: a configuration, plain data, or the path of a YAML file.
        overrides: what differs from it, as ``files.merge`` reads it.

    Raises:
        UnknownName: a preset, field or name that doesn't exist.
        UsageError: a world that can't be.
    """
    try:
        return check(_built(arguments(preset, config, overrides)))
    except UsageError as error:
        if isinstance(config, (str, Path)) and str(config) not in str(error):
            error.args = (f"{config}: {error}",)
        raise


def arguments(
    preset: str | None = None,
    config: GridworldConfig | Mapping[str, Any] | str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The same words as plain data, short and complete: files are read, configurations taken apart.

    ``configure(**...)`` of the three takes them back: a ``preset`` or a ``config``, and the overrides by field.

    Raises:
        UnknownName, UsageError: as ``configure``.
    """
    if preset is not None and config is not None:
        raise UsageError(
            f"preset={preset!r} and config= both say which world it is; write `preset: {preset}` into the "
            "configuration and leave preset= away, or the other way round."
        )
    changes = dict(overrides or {})
    if any(_holds_dataclass(value) for value in changes.values()):
        # A dataclass stands for a whole section; plain data could only be laid over the one that stands.
        return {"config": to_dict(_built(arguments(preset, config) | changes), whole=False)}
    changes = {name: _plain_data(value) for name, value in changes.items()}
    if config is None:
        return {PRESET: preset if preset is not None else DEFAULT, **changes}
    if isinstance(config, (str, Path)):
        config = read_yaml(config)
    if isinstance(config, GridworldConfig):
        config = to_dict(config, whole=False)
    if not isinstance(config, Mapping):
        raise UsageError(
            f"config is {config!r}; it must be a GridworldConfig, a dict of its fields, or the path of a YAML file."
        )
    return {"config": _plain_data(config), **changes}


def configured(words: Mapping[str, Any]) -> GridworldConfig:
    """The configuration that a game's arguments (``Game.config``) mean.

    Raises:
        UnknownName, UsageError: as ``configure``.
    """
    rest = {name: value for name, value in words.items() if name not in (PRESET, "config")}
    return configure(words.get(PRESET), words.get("config"), rest)


def named() -> Presets:
    """What the registry is told of the presets."""
    return Presets(names=list_presets(), table=_table(), to_yaml=_to_yaml, carried=_carried)


def _table() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("preset", "agents", "map", "ticks", "objects")]
    for name in list_presets():
        config = preset(name)
        counts = Counter[str]()
        for region in all_regions(config):
            counts.update(region.objects)
        here = config.map
        rows.append(
            (
                name,
                str(sizes(config).agents),
                f"{here.height}x{here.width} {here.terrain}",
                f"{config.max_steps:,}",
                ", ".join(f"{count} {kind}" for kind, count in counts.items() if count),
            )
        )
    return rows


def _to_yaml(words: Mapping[str, Any]) -> str:
    """The whole configuration that a game's arguments mean."""
    return to_yaml(configured(words))


def _carried(run: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The observations, and the space of actions, of the run, where the chosen world has others."""
    was, now = configured(run), configured(chosen)
    found: dict[str, Any] = {}
    seen = {f.name: getattr(was.observation, f.name) for f in dataclasses.fields(was.observation)}
    seen = {name: value for name, value in seen.items() if value != getattr(now.observation, name)}
    if seen:
        found["observation"] = _plain_data(seen)
    if was.actions.space != now.actions.space:
        found["actions"] = {"space": was.actions.space}
    return found


def _built(words: Mapping[str, Any]) -> GridworldConfig:
    """From what ``arguments`` returns."""
    rest = {name: value for name, value in words.items() if name not in (PRESET, "config")}
    base = preset(words[PRESET]) if PRESET in words else _understood(words["config"], "config")
    return merge(base, rest) if rest else base


def _understood(data: Mapping[str, Any], whose: str) -> GridworldConfig:
    """From the mapping in a file: on top of the preset that it names, or by itself."""
    fields = {name: value for name, value in data.items() if name not in (ABOUT, PRESET)}
    if PRESET not in data:
        return from_dict(fields)
    if not isinstance(data[PRESET], str):
        raise UsageError(f"{whose}: preset is {data[PRESET]!r}; it must be the name of one: {', '.join(_files())}.")
    return merge(preset(data[PRESET]), fields)


def _holds_dataclass(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_dataclass(one) for one in value.values())
    if isinstance(value, (tuple, list)):
        return any(_holds_dataclass(one) for one in value)
    return dataclasses.is_dataclass(value)


def _plain_data(value: Any) -> Any:
    """Dicts, lists and numbers out of whatever holds them."""
    if isinstance(value, Mapping):
        return {name: _plain_data(one) for name, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain_data(one) for one in value]
    if hasattr(value, "tolist"):
        return value.tolist()  # arrays and numbers of NumPy
    return value
