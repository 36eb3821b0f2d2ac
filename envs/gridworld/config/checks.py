"""Checks of a gridworld's configuration: each error names the entry by its path and says how to mend it.

``fields.py`` checks types while it reads; this file checks names, numbers and room on the map.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping

from ....errors import UnknownName, UsageError
from ..maps.table import TERRAINS
from .fitting import check_terrain
from .sections import RANGES, GridworldConfig, KinshipRules, ObjectType, Sharing
from .world import plane_names, sizes

__all__ = ["COSTS", "check"]

COSTS = ("move", "rotate", "use", "attack", "shield", "swap", "gift")
"""Verbs that can cost energy."""

# These limits keep sums and differences within the types of state.py (int16 and int32), clocks included.
_SHORT, _ENERGY, _TICKS, _SIDE = 30_000, 1_000_000, 1_000_000_000, 4096
_ITEMS, _TYPES, _WINDOW = 25, 125, 15

_BOUNDS: Mapping[str, tuple[int, int]] = {
    "max_steps": (1, _TICKS),
    "slots": (0, _SHORT),
    "agent.energy": (0, _ENERGY),
    "agent.max_energy": (1, _ENERGY),
    "agent.max_items": (0, _SHORT),
    "agent.hp": (1, _SHORT),
    "agent.freeze": (0, _TICKS),
    "agent.upkeep": (0, _SHORT),
    "agent.shield_upkeep": (0, _ENERGY),
    "agent.damage": (0, _SHORT),
    "death.max_age": (0, _TICKS),
    "observation.height": (1, _WINDOW),
    "observation.width": (1, _WINDOW),
    "observation.tokens": (1, _SHORT),
    "map.height": (1, _SIDE),
    "map.width": (1, _SIDE),
    "map.border": (0, _SIDE),
    "map.agents": (0, _SHORT),
    "kinship.size": (1, _SHORT),
    "kinship.share": (0, 1),
    "kinship.prestige_every": (0, _TICKS),
    "trait.colour": (0, _SHORT),
}
"""Lowest and highest value of each number; only ``randomize`` reads ``trait.colour``."""

_OBJECT_BOUNDS: Mapping[str, tuple[int, int]] = {
    "hp": (0, _SHORT),
    "stock": (-1, _SHORT),
    "cooldown": (0, _TICKS),
    "energy_cost": (0, _ENERGY),
    "energy_gain": (0, _ENERGY),
    "reward": (-_ENERGY, _ENERGY),
}

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "actions.loot": ("attack", "use"),
    "actions.order": ("shuffled", "fixed"),
    "actions.space": ("flat", "verbs"),
    "observation.kind": ("planes", "tokens"),
    "map.terrain": tuple(TERRAINS),
    "kinship.mode": tuple(mode.name.lower() for mode in Sharing),
}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ITEM_TAKEN = ("hp", "frozen", "energy", "orientation", "shield")
_TYPE_TAKEN = ("agent", "kinship", "last_action", "last_reward")
_GLYPHS_TAKEN = {".": "an empty cell", "@": "an agent"}


def check(config: GridworldConfig) -> GridworldConfig:
    """Return the configuration unchanged if a world can be built from it.

    Raises:
        UnknownName: a name (item, type of object, terrain, mode, ...) that doesn't exist.
        UsageError: a number out of range, or settings that exclude each other.
    """
    for part in (_numbers, _items, _objects, _observation, _map):
        part(config)
    # Some terrains are built to count the room they leave, so this uses only what has passed the checks so far.
    check_terrain(dataclasses.replace(config, kinship=KinshipRules(), randomize={}))
    for part in (_agents, _kinship, _randomize):
        part(config)
    return config


def _in_bounds(path: str, value: float, low: float, high: float) -> None:
    if not (math.isfinite(value) and low <= value <= high):
        raise UsageError(f"{path} is {value:,}; it must be from {low:,} to {high:,}.")


def _one_of(path: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise UnknownName(path, value, known)


def _numbers(config: GridworldConfig) -> None:
    for path, (low, high) in _BOUNDS.items():
        section, _, name = path.rpartition(".")
        node = getattr(config, section, None) if section else config
        if node is not None:
            _in_bounds(path, getattr(node, name), low, high)
    for path, known in _CHOICES.items():
        section, _, name = path.rpartition(".")
        value = getattr(getattr(config, section), name)
        if path == "observation.kind" and value == "text":
            raise UsageError(
                "observation.kind is 'text', but text works with any kind: leave kind alone and pass text=True: "
                'coterie.make("gridworld-v0", text=True).'
            )
        _one_of(path, value, known)
    for verb, cost in config.actions.costs.items():
        _one_of("verb in actions.costs", verb, COSTS)
        _in_bounds(f"actions.costs.{verb}", cost, 0, _ENERGY)
    if config.agent.energy > config.agent.max_energy and "agent.max_energy" not in config.randomize:
        raise UsageError(
            f"agent.energy is {config.agent.energy}, more than agent.max_energy, {config.agent.max_energy}; "
            "raise agent.max_energy or start with less."
        )


def _names(path: str, names: Iterable[str], taken: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{path} has {name!r}; a name is made of letters, digits and _, and starts with no digit.")
        if name in taken:
            raise UsageError(f"{path} has {name!r}, which names something else in observations; choose another name.")
        if name in seen:
            raise UsageError(f"{path} has {name!r} twice; name each once.")
        seen.add(name)


def _items(config: GridworldConfig) -> None:
    if not 1 <= len(config.items) <= _ITEMS:
        raise UsageError(f"items has {len(config.items)} names; a gridworld has from 1 to {_ITEMS} kinds of items.")
    _names("items", config.items, _ITEM_TAKEN)


def _objects(config: GridworldConfig) -> None:
    names = list(config.objects)
    if not names or names[0] != "wall":
        first = f"begins with {names[0]!r}" if names else "is empty"
        raise UsageError(f"objects {first}; the first type must be `wall`, which builds maps and their borders.")
    if len(names) > _TYPES:
        raise UsageError(f"objects has {len(names)} types; a world can have at most {_TYPES}.")
    _names("objects", names, _TYPE_TAKEN)
    glyphs: dict[str, str] = {}
    for name, kind in config.objects.items():
        path = f"objects.{name}"
        _glyph(path, name, kind.glyph, glyphs)
        for fact, (low, high) in _OBJECT_BOUNDS.items():
            _in_bounds(f"{path}.{fact}", getattr(kind, fact), low, high)
        for side, amounts in (("inputs", kind.inputs), ("outputs", kind.outputs)):
            for item, amount in amounts.items():
                _one_of(f"item in {path}.{side}", item, config.items)
                _in_bounds(f"{path}.{side}.{item}", amount, 1, _SHORT)
        _some_gain(config, path, kind)


def _some_gain(config: GridworldConfig, path: str, kind: ObjectType) -> None:
    """Reject an object that takes but gives nothing: every use of it would fail."""
    gives = kind.outputs or kind.energy_gain or kind.reward
    drawn = {f"{path}.energy_gain", "objects.*.energy_gain"} & set(config.randomize)
    if kind.usable and not gives and not drawn:
        takes = ", ".join([*kind.inputs, *(["energy"] if kind.energy_cost else [])])
        raise UsageError(
            f"{path} takes {takes} and gives nothing, so every use of it would fail; add outputs, an energy_gain or a "
            "reward."
        )


def _glyph(path: str, name: str, glyph: str, glyphs: dict[str, str]) -> None:
    if len(glyph) != 1 or not glyph.isprintable() or glyph.isspace():
        raise UsageError(f"{path}.glyph is {glyph!r}; it must be one visible character, such as {name[0]!r}.")
    if glyph in _GLYPHS_TAKEN:
        raise UsageError(f"{path}.glyph is {glyph!r}, which stands for {_GLYPHS_TAKEN[glyph]} in maps; choose another.")
    if glyph in glyphs:
        raise UsageError(f"{path}.glyph is {glyph!r}, which {glyphs[glyph]!r} uses too; choose another for one.")
    glyphs[glyph] = name


def _observation(config: GridworldConfig) -> None:
    seen = config.observation
    for side in ("height", "width"):
        cells = getattr(seen, side)
        if cells % 2 == 0:
            raise UsageError(
                f"observation.{side} is {cells}; it must be odd, so that the agent is in the middle: "
                f"{cells - 1} or {cells + 1}."
                if cells < _WINDOW
                else f"observation.{side} is {cells}; it must be odd and at most {_WINDOW}."
            )
    planes = plane_names(config)
    for name in seen.hidden:
        _one_of("feature in observation.hidden", name, [plane for plane in planes if "." in plane])
    if seen.kind == "tokens" and len(planes) > 255:
        raise UsageError(
            f"observation.kind is 'tokens', but this world has {len(planes)} features and a token can name 255; use "
            "fewer types of objects or `kind: planes`."
        )


def _map(config: GridworldConfig) -> None:
    here, drawn = config.map, TERRAINS[config.map.terrain].drawn
    if here.text and not drawn:
        raise UsageError(
            f"map.text is drawn, but map.terrain is {here.terrain!r}; write `terrain: ascii`, or `text: ''` to "
            "drop the drawing."
        )
    if drawn:
        _drawing(config)
    _placed(config, "map.objects", here.objects)
    for k, region in enumerate(here.regions):
        path = f"map.regions[{k}]"
        for name in ("top", "left", "height", "width", "agents"):
            _in_bounds(f"{path}.{name}", getattr(region, name), 0, _SHORT)
        for start, length, whole in (("top", "height", here.height), ("left", "width", here.width)):
            first, cells = getattr(region, start), getattr(region, length) or whole
            if first + cells > whole:
                raise UsageError(
                    f"{path} starts at {start} {first} and spans {cells} cells, beyond the map's {length} of {whole}; "
                    f"make its {length} at most {max(0, whole - first)}."
                )
        _placed(config, f"{path}.objects", region.objects)


def _placed(config: GridworldConfig, path: str, counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        _one_of(f"type of object in {path}", name, config.objects)
        _in_bounds(f"{path}.{name}", count, 0, _SHORT)


def _drawing(config: GridworldConfig) -> None:
    here, lines = config.map, config.map.lines
    if not here.text.strip():
        raise UsageError("map.terrain is 'ascii', but map.text is empty; draw the map there, one line a row.")
    glyphs = {kind.glyph: name for name, kind in config.objects.items()}
    for k, line in enumerate(lines, 1):
        if len(line) != len(lines[0]):
            raise UsageError(
                f"map.text: line {k} has {len(line)} cells and line 1 has {len(lines[0])}; pad the shorter with dots."
            )
        for column, glyph in enumerate(line, 1):
            if glyph not in glyphs and glyph not in (".", " ", "@"):
                known = ", ".join(f"{g} {name}" for g, name in glyphs.items())
                raise UsageError(
                    f"map.text: line {k}, column {column} has {glyph!r}, which stands for nothing. Known: {known}, "
                    "@ agent, . nothing."
                )
    if (here.height, here.width) != (len(lines), len(lines[0])):
        raise UsageError(
            f"map.height and map.width are {here.height} and {here.width}, but map.text has {len(lines)} lines of "
            f"{len(lines[0])}; omit both to take them from the text."
        )


# -- agents ------------------------------------------------------------------------------------------------------------


def _agents(config: GridworldConfig) -> None:
    """Check that the map has agents, and that there are slots for them."""
    agents = sizes(config).agents
    if agents < 1:
        raise UsageError("The map has no agents; set map.agents (or a region's), or draw an @ in map.text.")
    if agents > _SHORT:
        raise UsageError(f"The map has {agents:,} agents; at most {_SHORT:,} can live at once.")
    if 0 < config.slots < agents:
        raise UsageError(
            f"slots is {config.slots}, but the map has {agents} agents; raise slots to at least {agents}, or set it to "
            "0 for one slot per agent."
        )


# -- kinship -----------------------------------------------------------------------------------------------------------


def _kinship(config: GridworldConfig) -> None:
    kinship, agents, slots = config.kinship, sizes(config).agents, sizes(config).slots
    for k, part in enumerate(kinship.pct):
        _in_bounds(f"kinship.pct[{k}]", part, 0, 1)
    if kinship.mode in ("teams", "groups") and kinship.labels:
        if len(kinship.labels) != slots:
            raise UsageError(f"kinship.labels has {len(kinship.labels)} entries for {slots} slots; give each slot one.")
        highest = (len(kinship.pct) if kinship.mode == "groups" else slots) - 1
        for k, label in enumerate(kinship.labels):
            _in_bounds(f"kinship.labels[{k}]", label, -1, highest)
    if kinship.mode == "groups" and not (kinship.labels and kinship.pct):
        raise UsageError(
            "kinship.mode is 'groups', which needs labels (each slot's group, from 0) and pct (each group's pooled "
            "part, 0 to 1)."
        )
    if kinship.mode == "groups" and len(kinship.pct) > slots:
        raise UsageError(f"kinship.pct has {len(kinship.pct)} groups for {slots} slots; give at most one per slot.")
    if kinship.mode == "matrix":
        _matrix(kinship.matrix, slots)
    if kinship.mode == "relatedness" and kinship.pedigree:
        _pedigree(kinship.pedigree, agents)


def _matrix(matrix: tuple[tuple[float, ...], ...], slots: int) -> None:
    if not matrix:
        raise UsageError(
            f"kinship.mode is 'matrix', but kinship.matrix is empty; give {slots} rows of {slots} numbers."
        )
    for i, row in enumerate(matrix):
        if len(row) != len(matrix):
            raise UsageError(
                f"kinship.matrix has {len(matrix)} rows, but row {i} has {len(row)} numbers; it must be square."
            )
        for j, number in enumerate(row):
            _in_bounds(f"kinship.matrix[{i}][{j}]", number, 0, _ENERGY)
    if len(matrix) != slots:
        raise UsageError(
            f"kinship.matrix is {len(matrix)} x {len(matrix)}, but the world has {slots} slots; give each slot a "
            "row and a column."
        )


def _pedigree(rows: tuple[tuple[int, int, int], ...], agents: int) -> None:
    from ...kinship.pedigree import Pedigree

    try:
        known = set(Pedigree.from_parents(rows).living)
    except UsageError as error:
        raise UsageError(f"kinship.pedigree: {error}".replace("write null", "write -1")) from None
    for agent in range(agents):
        if agent not in known:
            raise UsageError(
                f"kinship.pedigree has no row for agent {agent}; give each id from 0 to {agents - 1} a row, "
                f"[{agent}, -1, -1] if its parents are unknown."
            )


# -- ranges ------------------------------------------------------------------------------------------------------------


def _randomize(config: GridworldConfig) -> None:
    for name, (low, high) in config.randomize.items():
        lowest, highest = _range_bounds(config, name)
        path = f"randomize.{name}"
        for end in (low, high):
            _in_bounds(path, end, lowest, highest)
            if name != "kinship.share" and end != int(end):
                raise UsageError(f"{path} has {end}; its ends must be whole numbers.")
        if low > high:
            raise UsageError(f"{path} goes from {low:g} down to {high:g}; write the lower end first.")


def _range_bounds(config: GridworldConfig, name: str) -> tuple[int, int]:
    """Lowest and highest value of an entry of ``randomize``."""
    if not name.startswith("objects."):
        of_objects = [f"objects.{kind}.cooldown" for kind in config.objects]
        _one_of("name in randomize", name, [*(k for k in RANGES if not k.startswith("objects.")), *of_objects])
        return _BOUNDS[name] if name in _BOUNDS else _BOUNDS[name.replace("trait.", "agent.")]
    parts = name.split(".")
    facts = [known.partition(".")[2] for known in RANGES if known.startswith("objects.")]
    if len(parts) != 3:
        raise UsageError(f"randomize has {name!r}; for objects, write objects.TYPE.FACT or objects.*.FACT.")
    if parts[1] != "*":
        _one_of(f"type of object in randomize.{name}", parts[1], config.objects)
    _one_of(f"fact of objects in randomize.{name}", parts[2], facts)
    if parts[1] != "*" and parts[2] != "hp" and not config.objects[parts[1]].usable:
        raise UsageError(
            f"randomize.{name} would change nothing: objects.{parts[1]} takes and gives nothing, so it cannot be used; "
            "give it a recipe first."
        )
    return _OBJECT_BOUNDS[parts[2]]
