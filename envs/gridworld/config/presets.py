"""Gridworlds by name, and how a user's arguments become a checked configuration.

Presets are YAML files in ``data/``, in the form that ``fields.py`` describes; a new file there is a new preset.
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
from ...plain import plain_data, short, told
from ...registry import Presets
from .checks import check
from .fields import ABOUT, PRESET, from_dict, merge, read_yaml, to_dict, to_yaml
from .sections import GridworldConfig
from .world import all_regions, sizes

__all__ = ["DEFAULT", "arguments", "configure", "configured", "list_presets", "named", "preset"]

DEFAULT = "bench_24_48x48"
"""The preset used without ``preset`` and ``config``."""

_FOLDER = Path(__file__).parent.parent / "data"


@cache
def _files() -> dict[str, Path]:
    return {path.stem: path for path in sorted(_FOLDER.glob("*.yaml"))}


@cache
def _written(name: str) -> Mapping[str, Any]:
    """The data in the preset's file."""
    if name not in _files():
        raise UnknownName("gridworld preset", name, _files())
    return read_yaml(_files()[name])


def list_presets() -> dict[str, str]:
    """Name -> one-line description of each preset; the default first, then by size of the map."""
    size = {name: (name != DEFAULT, _area(name), name) for name in _files()}
    return {name: str(_written(name)[ABOUT]) for name in sorted(size, key=lambda name: size[name])}


def _area(name: str) -> int:
    here = preset(name).map
    return here.height * here.width


def preset(name: str) -> GridworldConfig:
    """A new copy of a preset's configuration.

    Raises:
        UnknownName: no such preset.
    """
    return deepcopy(_preset(short(name)))


@cache
def _preset(name: str) -> GridworldConfig:
    return _understood(_written(name), f"preset {name!r}")


def configure(
    preset: str | None = None,
    config: GridworldConfig | Mapping[str, Any] | str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> GridworldConfig:
    """The complete, checked configuration that a user's arguments describe.

    Args:
        preset: a name; without it and without ``config``, ``DEFAULT``.
        config: instead of a preset: a configuration, plain data, or the path of a YAML file.
        overrides: changes to it, as ``files.merge`` reads them.

    Raises:
        UnknownName: a preset, field or name that doesn't exist.
        UsageError: the world is impossible.
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
    """The same arguments as plain data, with files read and dataclasses converted.

    Returns ``preset`` or ``config``, and each override under its field; ``configured`` reads the result.

    Raises:
        UnknownName, UsageError: as ``configure``.
    """
    if preset is not None and config is not None:
        raise UsageError(
            f"preset={preset!r} and config= both say which world it is; drop config=, or drop preset= and "
            f"write `preset: {preset}` into the configuration."
        )
    changes = plain_data(dict(overrides or {}), "The configuration")
    if any(_holds_dataclass(value) for value in changes.values()):
        # A dataclass replaces a whole section; as plain data it would only be merged into the present one.
        return {"config": to_dict(_built(arguments(preset, config) | changes), whole=False)}
    if config is None:
        return {PRESET: preset if preset is not None else DEFAULT, **changes}
    if isinstance(config, (str, Path)):
        config = read_yaml(config)
    if isinstance(config, GridworldConfig):
        config = to_dict(config, whole=False)
    if not isinstance(config, Mapping):
        raise UsageError(
            f"config is {told(config)}; it must be a GridworldConfig, a dict of its fields, or the path of a YAML file."
        )
    return {"config": plain_data(config, "config"), **changes}


def configured(words: Mapping[str, Any]) -> GridworldConfig:
    """The configuration that a game's arguments (``Game.config``) describe.

    Raises:
        UnknownName, UsageError: as ``configure``.
    """
    rest = {name: value for name, value in words.items() if name not in (PRESET, "config")}
    return configure(words.get(PRESET), words.get("config"), rest)


def named() -> Presets:
    """The presets as the registry needs them."""
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
    """The whole configuration, as YAML, that a game's arguments describe."""
    return to_yaml(configured(words))


def _carried(run: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The run's observation settings and action space, where the chosen world's differ."""
    was, now = configured(run), configured(chosen)
    found: dict[str, Any] = {}
    seen = {f.name: getattr(was.observation, f.name) for f in dataclasses.fields(was.observation)}
    seen = {name: value for name, value in seen.items() if value != getattr(now.observation, name)}
    if seen:
        found["observation"] = plain_data(seen, "observation")
    if was.actions.space != now.actions.space:
        found["actions"] = {"space": was.actions.space}
    return found


def _built(words: Mapping[str, Any]) -> GridworldConfig:
    """The configuration, not checked, from the result of ``arguments``."""
    rest = {name: value for name, value in words.items() if name not in (PRESET, "config")}
    base = preset(words[PRESET]) if PRESET in words else _understood(words["config"], "config")
    return merge(base, rest) if rest else base


def _understood(data: Mapping[str, Any], whose: str) -> GridworldConfig:
    """The configuration from the mapping in a file: changes to the preset it names, or complete."""
    fields = {name: value for name, value in data.items() if name not in (ABOUT, PRESET)}
    if PRESET not in data:
        return from_dict(fields)
    if not isinstance(data[PRESET], str):
        raise UsageError(f"{whose}: preset is {told(data[PRESET])}; it must be the name of one: {', '.join(_files())}.")
    return merge(preset(data[PRESET]), fields)


def _holds_dataclass(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_dataclass(one) for one in value.values())
    if isinstance(value, (tuple, list)):
        return any(_holds_dataclass(one) for one in value)
    return dataclasses.is_dataclass(value)
