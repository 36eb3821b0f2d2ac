"""A game's arguments from a command line: presets, single fields, and the arguments of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UnknownName, UsageError
from .registry import game_arguments, presets, spec

__all__ = ["wanted", "with_preset"]


def wanted(game: str, set: Sequence[str], preset: str = "", run: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A game's arguments from a command line.

    Args:
        game: id or name.
        set: the values of --set.
        preset: the value of --preset; empty: none.
        run: the arguments of the run that plays, used where the command line gives none. With another preset or
            configuration, only those that the run's players need to observe and act as they learned to.

    Raises:
        UsageError: a value that cannot be read, a game without presets, or --set names another world than --preset.
        UnknownName: no such preset.
    """
    said = game_arguments(set)
    if preset:
        known = presets(game)
        if preset not in known.names:
            raise UnknownName(f"preset of {spec(game).id}", preset, known.names)
        if said.get("preset", preset) != preset or "config" in said:
            other = next(word for word in set if word.startswith(("preset=", "config=")))
            raise UsageError(f"--preset {preset} and --set {other} both say what is played; remove one.")
        said = {"preset": preset, **said}
    if not run:
        return said
    if spec(game).presets and {"preset", "config"} & said.keys():
        return _over(presets(game).carried(run, said), said)
    return _over(run, said)


def with_preset(game: str, set: Sequence[str], preset: str, base: Sequence[str]) -> tuple[str, ...]:
    """The values of --set, with that of --preset in front.

    Args:
        game: id or name.
        set: the values of --set; equal to ``base`` if the command line gave none.
        preset: the value of --preset.
        base: the earlier values of --set; those that choose a world are dropped.

    Raises:
        UsageError, UnknownName: no such preset, or --set names another world.
    """
    if tuple(set) == tuple(base):
        set = [word for word in set if not word.startswith(("preset=", "config="))]
    wanted(game, set, preset)
    return (f"preset={preset}", *(word for word in set if not word.startswith("preset=")))


def _over(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A nested mapping with another merged into it, part by part."""
    parts = {
        name: _over(base[name], value)
        for name, value in more.items()
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping)
    }
    return {**base, **more, **parts}
