"""Checks that compare fields of a gridworld's configuration: names, recipes, and room on the map.

``sections.py`` has the bounds of single fields, which ``fields.py`` checks while it reads. Each error names the entry
by its path and says how to mend it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ....errors import UnknownName, UsageError
from ...plain import limit, refuse, short, told
from ...typed import bounds
from ..maps.table import TERRAINS
from .fitting import check_room, check_terrain
from .sections import COSTS, RANGES, AgentRules, GridworldConfig, KinshipRules, ObjectType
from .world import MAX_WORLD_BYTES, plane_names, sizes, world_bytes

__all__ = ["check"]


def check(config: GridworldConfig) -> GridworldConfig:
    """Return the configuration unchanged if a world can be built from it.

    Raises:
        UnknownName: a name (item, type of object, terrain, mode, ...) that doesn't exist.
        UsageError: settings that exclude each other, or a world too large.
    """
    for part in (_objects, _observation, _map, check_terrain, _randomize, _size, check_room, _agents, _kinship):
        part(config)
    return config


def _in_bounds(path: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UsageError(f"{path} is {value:,.10g}; it must be from {low:,} to {high:,}.")


def _one_of(path: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise UnknownName(path, short(value), known)


def _objects(config: GridworldConfig) -> None:
    for verb in config.actions.costs:
        _one_of("verb in actions.costs", verb, COSTS)
    names = list(config.objects)
    if not names or names[0] != "wall":
        first = f"begins with {names[0]!r}" if names else "is empty"
        raise UsageError(f"objects {first}; the first type must be `wall`, which builds maps and their borders.")
    glyphs: dict[str, str] = {}
    for name, kind in config.objects.items():
        if (other := glyphs.setdefault(kind.glyph, name)) != name:
            raise UsageError(
                f"objects.{name}.glyph is {kind.glyph!r}, which {other!r} uses too; choose another for one."
            )
        for side, amounts in (("inputs", kind.inputs), ("outputs", kind.outputs)):
            for item in amounts:
                _one_of(f"item in objects.{name}.{side}", item, config.items)
        _some_gain(config, f"objects.{name}", kind)


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


def _observation(config: GridworldConfig) -> None:
    seen = config.observation
    planes = plane_names(config)
    for name in seen.hidden:
        _one_of("feature in observation.hidden", name, [plane for plane in planes if "." in plane])
    if seen.kind == "tokens" and len(planes) > 255:
        raise UsageError(
            f"observation.kind is 'tokens', but this world has {len(planes)} features and a token can name 255; use "
            "fewer types of objects or `kind: planes`."
        )


def _map(config: GridworldConfig) -> None:
    here = config.map
    _one_of("map.terrain", here.terrain, TERRAINS)
    drawn = TERRAINS[here.terrain].drawn
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
        for start, length, whole in (("top", "height", here.height), ("left", "width", here.width)):
            first, cells = getattr(region, start), getattr(region, length) or whole
            if first + cells > whole:
                raise UsageError(
                    f"{path} starts at {start} {first} and spans {cells} cells, beyond the map's {length} of {whole}; "
                    f"make its {length} at most {max(0, whole - first)}."
                )
        _placed(config, f"{path}.objects", region.objects)


def _size(config: GridworldConfig) -> None:
    needed, most = world_bytes(config), limit(MAX_WORLD_BYTES)
    if needed > most:
        here, ancestors = config.map, len(config.kinship.pedigree)
        pedigree = f", kinship.pedigree of {ancestors:,}" if ancestors else ""
        raise refuse(
            f"This world (map of {here.height:,}x{here.width:,}, slots {sizes(config).slots:,}{pedigree}) would take "
            f"{needed / 2**20:,.0f} MiB with its observations; at most {most // 2**20:,} MiB are allowed.",
            needed,
            MAX_WORLD_BYTES,
        )


def _placed(config: GridworldConfig, path: str, counts: Mapping[str, int]) -> None:
    for name in counts:
        _one_of(f"type of object in {path}", name, config.objects)


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
    """Check that the map has agents, slots for them, and that they start with no more than they can hold."""
    agents, most = sizes(config).agents, bounds(GridworldConfig, "slots")[1]
    agent = config.agent
    if agent.energy > agent.max_energy and "agent.max_energy" not in config.randomize:
        raise UsageError(
            f"agent.energy is {agent.energy}, more than agent.max_energy, {agent.max_energy}; raise agent.max_energy "
            "or start with less."
        )
    if agents < 1:
        raise UsageError("The map has no agents; set map.agents (or a region's), or draw an @ in map.text.")
    if agents > most:
        raise UsageError(f"The map has {agents:,} agents; at most {most:,} can live at once.")
    if 0 < config.slots < agents:
        raise UsageError(
            f"slots is {config.slots}, but the map has {agents} agents; raise slots to at least {agents}, or set it to "
            "0 for one slot per agent."
        )


# -- kinship -----------------------------------------------------------------------------------------------------------


_KIN_FIELDS: Final = {
    "labels": ("teams", "groups"),
    "pct": ("groups",),
    "matrix": ("matrix",),
    "pedigree": ("relatedness",),
    "normalise": ("matrix", "relatedness"),
}
"""Fields of ``KinshipRules`` -> the modes that read them; under another mode they would be ignored."""


def _kinship(config: GridworldConfig) -> None:
    kinship, agents, slots = config.kinship, sizes(config).agents, sizes(config).slots
    for name, modes in _KIN_FIELDS.items():
        given = getattr(kinship, name)
        if given is not None and given != () and kinship.mode not in modes:
            raise UsageError(
                f"kinship.{name} is {told(given)}, but kinship.mode is {kinship.mode!r}, which ignores it; remove "
                f"kinship.{name}, or set kinship.mode to {' or '.join(map(repr, modes))}."
            )
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


def _range_bounds(config: GridworldConfig, name: str) -> tuple[float, float]:
    """Lowest and highest value of an entry of ``randomize``."""
    if not name.startswith("objects."):
        of_objects = [f"objects.{kind}.cooldown" for kind in config.objects]
        _one_of("name in randomize", name, [*(k for k in RANGES if not k.startswith("objects.")), *of_objects])
        section, _, field = name.rpartition(".")
        if name == "trait.colour":
            return bounds(GridworldConfig, "slots")
        return bounds(KinshipRules if section == "kinship" else AgentRules, field)
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
    return bounds(ObjectType, parts[2])
