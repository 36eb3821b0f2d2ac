"""``coterie envs``: list the games, or describe one."""

from __future__ import annotations

import inspect
from typing import Any

from ..envs.arguments import wanted
from ..envs.registry import factory, list_envs, make_game, presets, spec
from ..envs.words import TextGame
from ..errors import UsageError
from .arguments import Envs, parse

__all__ = ["run"]


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        CoterieError: no such game, preset or argument.
    """
    asked: Envs = parse(Envs, "envs", words)
    if not asked.game:
        for flag in ("presets", "preset", "yaml", "set"):
            if getattr(asked, flag):
                raise UsageError(f"Which game's --{flag}? For example: coterie envs gridworld --{flag}.")
        for id in list_envs():
            game = make_game(id)
            kind = "simultaneous" if game.info.simultaneous else "turn-based"
            actions = "messages" if isinstance(game, TextGame) else f"{game.info.num_actions} actions"
            players = f"{game.info.players} player{'s' * (game.info.players > 1)}"
            print(f"{id:<20} {players:<10}  {kind:<12}  {actions:<12}  {game.rules.split('. ')[0].rstrip('.')}.")
        return 0
    found = spec(asked.game)
    if asked.presets:
        return _presets(found.id)
    arguments = wanted(found.id, asked.set, asked.preset)
    if asked.yaml:
        print(_as_yaml(found.name, arguments), end="")
        return 0
    game = make_game(found.id, **arguments)
    info = game.info
    state = game.new_state(1)
    game.kernels.reset(state, 0, 0)
    first = 0 if info.simultaneous else game.mover(state, 0)
    takes = inspect.signature(factory(found.id)).parameters.values()
    rows = {
        **({"goal": game.goal} if game.goal else {}),
        "players": f"{info.players}, {'all act at once' if info.simultaneous else 'one moves at a time'}",
        "actions": f"0 to {info.num_actions - 1}",
        "observation": f"{list(info.observation_shape)} {info.observation_dtype}, "
        f"{info.observation_low:g} to {info.observation_high:g}",
        "ends by": f"{info.max_cycles} {'ticks' if info.simultaneous else 'turns'}",
        "arguments": ", ".join(_short(p) for p in takes) or "none",
        "starts": ", ".join(f"reset(options={{{name!r}: ...}})" for name in game.options) or "at the beginning",
        "presets": f"coterie envs {found.name} --presets" if found.presets else "none",
        "curricula": ", ".join(game.curricula) or "none",
        "pictures": "yes" if found.draw else "no",
        "python": f'coterie.make("{info.id}"), coterie.make_vec("{info.id}", num_envs=4096)',
    }
    if isinstance(game, TextGame):
        rows["actions"] = f"messages of {game.min_length} to {game.max_length} characters"
        rows["observation"], rows["python"] = "a text", f'coterie.make("{info.id}")'
    print(f"{info.id}\n\n{game.rules}\n")
    for name, value in rows.items():
        print(f"  {name:<12} {value}")
    print(f"\nWhat player_{first} sees at the start:\n\n{game.describe(state, 0, first)}")
    return 0


def _short(parameter: inspect.Parameter) -> str:
    """``size: int = 11``, or only the name where the annotation is ``Any`` or long."""
    told = str(parameter).replace("'", "")
    return parameter.name if "Any" in told or len(told) > 40 else told


def _presets(id: str) -> int:
    """Print a table of a game's presets, and how to use one."""
    known, name = presets(id), spec(id).name
    widths = [max(len(row[k]) for row in known.table) for k in range(len(known.table[0]))]
    for row in known.table:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip())
        if row[0] in known.names:
            print(f"    {known.names[row[0]]}")
    first = next(iter(known.names))
    print(f'\n  coterie.make("{id}", preset="{first}", api="parallel")')
    print(f"  coterie play {name} --preset {first} --set FIELD=VALUE")
    if known.to_yaml is not None:
        edit = f"edit it, then: coterie play {name} --set config=my.yaml"
        print(f"  coterie envs {name} --preset {first} --yaml > my.yaml     {edit}")
    return 0


def _as_yaml(name: str, arguments: dict[str, Any]) -> str:
    """A game's whole configuration as YAML, with a first line on how to use it."""
    to_yaml = presets(name).to_yaml
    if to_yaml is None:
        raise UsageError(f"{name} reads no configuration from files, so --yaml has none to print; use --set.")
    told = f"coterie play {name} --set config=FILE, or coterie.make({name!r}, config=FILE)"
    return f"# To use it: {told}\n{to_yaml(arguments)}"
