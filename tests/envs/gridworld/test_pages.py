"""What docs/games/gridworld.md and its parts say of fields, defaults, presets and planes is so."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from coterie.envs.gridworld.config import GridworldConfig, ObjectType
from coterie.envs.gridworld.config.presets import list_presets, named
from coterie.envs.gridworld.config.world import plane_names
from coterie.envs.registry import make_game

DOCS = Path(__file__).parents[3] / "docs"
PAGE = "\n".join((DOCS / "games" / f"gridworld{part}.md").read_text() for part in ("", "-fields", "-agents"))
SECTIONS = ["agent", "actions", "death", "observation", "map", "kinship"]


def table(after: str) -> Iterator[list[str]]:
    """The rows of the first table after some words, without its head."""
    rest = PAGE[PAGE.index(after) :]
    lines = rest[rest.index("\n|") + 1 :].split("\n\n")[0].splitlines()
    for line in lines[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def shown(name: str, value: Any) -> str:
    """A default as the page writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if name == "objects" and value and isinstance(next(iter(value.values())), int):
        return ", ".join(f"{count} {kind}" for kind, count in value.items())
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" if isinstance(one, int) else key for key, one in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def said(node: Any) -> dict[str, str]:
    return {f.name: shown(f.name, getattr(node, f.name)) for f in dataclasses.fields(node)}


def fields_of(after: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for names, default, *_ in table(after):
        every = re.findall(r"`(\w+)`", names)
        values = default.split(", ") if len(every) > 1 and default else [default] * len(every)
        found |= zip(every, values, strict=True)
    return found


@pytest.mark.parametrize("section", SECTIONS)
def test_every_field_is_told_with_its_default(section: str) -> None:
    assert fields_of(f"\n`{section}`") == said(getattr(GridworldConfig(), section))


def test_the_top_level_and_objects() -> None:
    top = {name: value for name, value in said(GridworldConfig()).items() if name not in SECTIONS}
    assert fields_of("\nTop level:") == top
    assert fields_of("\n`objects.NAME`:") == {**said(ObjectType("")), "glyph": ""}


def test_the_classic_types() -> None:
    for name, glyph, takes, gives, cooldown, stock, hp in table("\nThe classic types:"):
        kind = GridworldConfig().objects[name]
        assert glyph == f"`{kind.glyph}`"
        assert int(cooldown or 0) == kind.cooldown
        assert int(stock or -1) == kind.stock
        assert int(hp) == kind.hp
        energy = f"{kind.energy_cost} energy" if kind.energy_cost else ""
        assert takes == (", ".join(f"{n} {item}" for item, n in kind.inputs.items()) or energy)
        gains = [f"{n} {item}" for item, n in kind.outputs.items()]
        gains += [f"{kind.energy_gain} energy"] if kind.energy_gain else []
        gains += [f"reward {kind.reward:g}"] if kind.reward else []
        assert gives == ", ".join(gains)


def test_presets_are_told_and_pictured() -> None:
    rows = {name.strip("`"): rest for name, *rest in table("\n## Presets")}
    assert rows.keys() == list_presets().keys()
    for name, agents, place, _, objects in list(named().table)[1:]:
        counts = {kind: int(count) for count, kind in (entry.split() for entry in objects.split(", "))}
        told, where, *numbers = rows[name][:6]
        assert told == agents
        assert where.split(",")[0].split()[0] == place.split()[0]
        order = [counts[kind] for kind in ("wall", "generator", "converter", "altar")]
        assert [int(number.replace(",", "")) for number in numbers] == order
        assert f"gridworld-{name}.png" in PAGE
        assert (DOCS / "images" / f"gridworld-{name}.png").exists()


def test_the_planes_are_numbered() -> None:
    told = {}
    for numbers, names, _ in table("\nA window with the agent in its centre"):
        told |= zip(map(int, numbers.split(", ")), re.findall(r"`([\w.]+)`", names), strict=True)
    assert [told[k] for k in sorted(told)] == plane_names(GridworldConfig())


def test_the_actions_are_numbered() -> None:
    game = make_game("gridworld")
    state = game.new_state(1)
    written = [game.action_to_text(state, 0, action) for action in range(game.info.num_actions)]
    for numbers, texts, _ in table("\n## Actions"):
        first = int(numbers.split()[0].strip(","))
        last = int(numbers.split()[-1])
        named_here = re.findall(r"`([^`]+)`", texts)
        assert written[first] == named_here[0]
        assert written[last] == named_here[-1]
