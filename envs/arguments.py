"""A game's arguments from the words of a command line: presets, single fields, and those of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UnknownName, UsageError
from .registry import game_arguments, presets, spec

__all__ = ["wanted", "with_preset"]


def wanted(game: str, set: Sequence[str], preset: str = "", run: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A game's arguments from the words of a command line.

    Args:
        game: id or name.
        set: words of --set.
        preset: word of --preset; empty: none.
        run: the arguments of the run that plays. They hold where nothing else was said; with another preset, they only
            tell how the world is to be seen.

    Raises:
        UsageError: words that cannot be read, or a preset where there is none.
    """
    said = game_arguments(set)
    if preset:
        known = presets(game)
        if preset not in known.names:
            raise UnknownName(f"preset of {spec(game).id}", preset, known.names)
        if said.get("preset", preset) != preset or "config" in said:
            other = next(word for word in set if word.startswith(("preset=", "config=")))
            raise UsageError(f"--preset {preset} and --set {other} both say which world it is; remove one.")
        said = {"preset": preset, **said}
    if not run:
        return said
    if spec(game).presets and {"preset", "config"} & said.keys():
        return _over(presets(game).carried(run, said), said)
    return _over(run, said)


def with_preset(game: str, set: Sequence[str], preset: str, base: Sequence[str]) -> tuple[str, ...]:
    """The words of --set with those of --preset before them.

    Args:
        game: id or name.
        set: words of --set; where nothing was said, those of ``base``.
        preset: word of --preset.
        base: what held before; which world it was about gives way.

    Raises:
        UsageError, UnknownName: there is no such preset, or --set names another world.
    """
    if tuple(set) == tuple(base):
        set = [word for word in set if not word.startswith(("preset=", "config="))]
    wanted(game, set, preset)
    return (f"preset={preset}", *(word for word in set if not word.startswith("preset=")))


def _over(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A nested mapping with another laid over it, part by part."""
    parts = {
        name: _over(base[name], value)
        for name, value in more.items()
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping)
    }
    return {**base, **more, **parts}
