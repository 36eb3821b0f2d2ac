"""What the fields of configurations of runs may hold, and how nested data changes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import yaml
from annotated_types import Interval

from ...envs.plain import plain_data
from ...envs.registry import game_arguments
from ...envs.typed import STRICT, Flag, Number, Whole, check, overlaid, read

__all__ = [
    "Configuration",
    "Flag",
    "Inner",
    "Natural",
    "Number",
    "Part",
    "Positive",
    "Rate",
    "Share",
    "Weight",
    "Whole",
    "check",
    "merge",
]

Positive: TypeAlias = Annotated[Whole, Interval(ge=1)]
Natural: TypeAlias = Annotated[Whole, Interval(ge=0)]
Weight: TypeAlias = Annotated[Number, Interval(ge=0)]
Rate: TypeAlias = Annotated[Number, Interval(gt=0)]
Inner: TypeAlias = Annotated[Number, Interval(gt=0, lt=1)]
Part: TypeAlias = Annotated[Number, Interval(ge=0, le=1)]
Share: TypeAlias = Annotated[Number, Interval(ge=0, lt=1)]

_Config = TypeVar("_Config")


class Configuration:
    """Base of the configurations of runs: ``set`` holds the game's own arguments as ``name=value`` texts."""

    __pydantic_config__: ClassVar[Any] = STRICT

    set: tuple[str, ...]

    def __post_init__(self) -> None:
        """Reject what cannot work, before anything is loaded.

        Raises:
            UsageError: names the field, what came and what would do.
        """
        check(self)
        _ = self.game_arguments

    @property
    def game_arguments(self) -> dict[str, Any]:
        """``set`` as keyword arguments of the game.

        Raises:
            UsageError: one that isn't of the form name=value.
        """
        return game_arguments(self.set)


def merge(base: _Config, data: Mapping[str, Any]) -> _Config:
    """A configuration with some fields replaced by nested data.

    Raises:
        UnknownName: a section, field or choice that doesn't exist.
        UsageError: a value of the wrong type, or out of bounds.
    """
    changes = plain_data(data, "The configuration")
    if isinstance(words := changes.get("set"), Mapping):  # {size: 9} means [size=9]
        dumped = {name: yaml.safe_dump(value, default_flow_style=True) for name, value in words.items()}
        changes["set"] = [f"{name}={text.splitlines()[0]}" for name, text in dumped.items()]
    return read(type(base), overlaid(base, changes), "a run")
