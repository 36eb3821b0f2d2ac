"""Checks the fields of configurations, and merges nested data into them: the same for all configurations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeVar, get_type_hints

import yaml

from ...envs.registry import game_arguments
from ...errors import UnknownName, UsageError

__all__ = ["Configuration", "check", "merge"]

_Config = TypeVar("_Config")

_HOLDS: dict[str, Callable[[float], bool]] = {
    "at least 1": lambda value: value >= 1,
    "0 or more": lambda value: value >= 0,
    "more than 0": lambda value: value > 0,
    "between 0 and 1": lambda value: 0 < value < 1,
    "from 0 to 1": lambda value: 0 <= value <= 1,
    "at least 0 and below 1": lambda value: 0 <= value < 1,
}


def check(config: object, bounds: Mapping[str, str]) -> None:
    """Check a dataclass's numbers: ``bounds`` maps keys of ``_HOLDS`` to fields, names separated by blanks.

    A dot in a name leads into a section.

    Raises:
        UsageError: names the first wrong field, its value and what it must be.
    """
    for wanted, names in bounds.items():
        for name in names.split():
            value = attrgetter(name)(config)
            if not _HOLDS[wanted](value):
                raise UsageError(f"{name.rpartition('.')[2]} is {value}; it must be {wanted}.")


class Configuration:
    """Base of the configurations of runs: ``set`` holds the game's own arguments as ``name=value`` texts."""

    set: tuple[str, ...]

    @property
    def game_arguments(self) -> dict[str, Any]:
        """``set`` as keyword arguments of the game.

        Raises:
            UsageError: one that isn't of the form name=value.
        """
        return game_arguments(self.set)


def merge(base: _Config, data: Mapping[str, Any], where: str = "") -> _Config:
    """A dataclass with some fields replaced by nested data; errors name the section, ``where``.

    Raises:
        UnknownName: a section or field that doesn't exist.
        UsageError: a value of the wrong type.
    """
    hints = get_type_hints(type(base))
    changes: dict[str, Any] = {}
    for name, value in data.items():
        if name not in hints:
            raise UnknownName(f"field{where}", str(name), hints)
        current = getattr(base, name)
        if dataclasses.is_dataclass(current):
            if not isinstance(value, Mapping):
                inside = ", ".join(get_type_hints(type(current)))
                raise UsageError(f"{name} is {value!r}; it must be a section with fields: {inside}.")
            changes[name] = merge(current, value, f" of {name}")
            continue
        if name == "set":
            value = _words(value)
        if isinstance(current, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if isinstance(current, float) and isinstance(value, str):
            value = _number(value)  # YAML 1.1 reads 1e-3 as text
        if type(value) is not type(current):
            raise UsageError(f"{name} is {value!r}; it must be a {type(current).__name__}, such as {current!r}.")
        allowed = getattr(hints[name], "__args__", None) if "Literal" in str(hints[name]) else None
        if allowed and value not in allowed:
            raise UnknownName(name, str(value), [str(a) for a in allowed])
        changes[name] = value
    return dataclasses.replace(base, **changes)  # type: ignore[type-var]


def _words(value: Any) -> Any:
    """``{size: 9}`` and ``[size=9]`` as ``("size=9",)``; anything else unchanged."""
    if isinstance(value, Mapping):
        return tuple(
            f"{name}={yaml.safe_dump(v, default_flow_style=True).split(chr(10))[0]}" for name, v in value.items()
        )
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    return value


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
