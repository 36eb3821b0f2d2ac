"""Turns a configuration into arrays: sizes, planes, and N worlds with the configuration written into them.

The kernels read only a ``World``; this file writes what they need of the configuration into it, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...kinship.pedigree import Pedigree
from ..maps.table import TERRAINS, option_values, terrain_regions
from ..state import AGENT, EMPTY, GIFT, GONE, OBJECT, OBJECT_KIND, OUTSIDE, PAD, RANGE, REGION, RULES, TYPE, World
from .sections import RANGES, GridworldConfig, Region, Sharing

__all__ = ["MAX_WORLD_BYTES", "Sizes", "new_world", "plane_names", "ranges_of", "sizes", "verbs", "world_bytes"]

MAX_WORLD_BYTES = 256 * 2**20
"""The most that one world and its observations may take; ``COTERIE_LIMITS`` raises it."""

AGENT_PLANES = ("agent", "agent.hp", "agent.frozen", "agent.energy", "agent.orientation", "agent.shield")
"""The planes of agents that precede the items' planes."""


class Sizes(NamedTuple):
    """Array sizes of a configuration.

    Attributes:
        slots, items, types: S, I, K (letters as in ``state.py``).
        agents: number placed at the beginning.
        objects: O, the most objects that a map can hold.
        actions: A.
        planes: C.
        regions: G.
        work: M.
    """

    slots: int
    items: int
    types: int
    agents: int
    objects: int
    actions: int
    planes: int
    regions: int
    work: int


def _type_planes(config: GridworldConfig) -> Iterator[tuple[str, str]]:
    """(type, feature) of each object plane, in order; the feature "" is presence."""
    for name, kind in config.objects.items():
        yield name, ""
        if kind.hp > 0:
            yield name, "hp"
        if kind.stock >= 0:
            yield name, "stock"
        if kind.inputs and (kind.outputs or kind.energy_gain):
            yield from ((name, feature) for feature in ("input", "output", "gain"))
        if kind.usable:
            yield name, "ready"


def plane_names(config: GridworldConfig) -> list[str]:
    """[C] what each plane shows: ``"agent.energy"``, ``"agent.r1"``, ``"altar"``, ``"altar.ready"``, ``"kinship"``."""
    names = [*AGENT_PLANES, *(f"agent.{item}" for item in config.items)]
    names += [f"{name}.{feature}" if feature else name for name, feature in _type_planes(config)]
    seen = config.observation
    return names + [
        name
        for name, on in (
            ("kinship", seen.kinship),
            ("last_action", seen.last_action),
            ("last_reward", seen.last_reward),
        )
        if on
    ]


def verbs(config: GridworldConfig) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each verb with the action numbers of its arguments, in order."""
    gifts = tuple(GIFT + j for j in range(len(config.items)))
    return (
        ("noop", (0,)),
        ("move", (1, 2)),
        ("rotate", (3, 4, 5, 6)),
        ("use", (7,)),
        ("attack", tuple(range(8, 17))),
        ("shield", (17,)),
        ("swap", (18,)),
        ("gift", gifts),
    )


def all_regions(config: GridworldConfig) -> list[Region]:
    """All regions of the map; see ``maps.table.terrain_regions``."""
    return terrain_regions(config.map)


def sizes(config: GridworldConfig) -> Sizes:
    """The array sizes of a configuration."""
    here, regions = config.map, all_regions(config)
    agents = sum(region.agents for region in regions)
    placed = sum(sum(region.objects.values()) for region in regions)
    terrain = TERRAINS[here.terrain]
    if terrain.build is None:
        inner = max(0, here.height - 2 * here.border) * max(0, here.width - 2 * here.border)
        objects = placed + here.height * here.width - inner
        work = 2 * here.height * here.width if here.connected else 1
    else:
        objects = here.height * here.width
        work = 2 * objects
        if terrain.drawn:
            agents += here.text.count("@")
    return Sizes(
        slots=config.slots or max(1, agents),
        items=len(config.items),
        types=len(config.objects),
        agents=agents,
        objects=max(1, objects),
        actions=GIFT + len(config.items),
        planes=len(plane_names(config)),
        regions=len(regions),
        work=max(1, work),
    )


def _arrays(config: GridworldConfig, n: int) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Shape and dtype of each array of N worlds."""
    size, here = sizes(config), config.map
    padded = (n, here.height + 2 * PAD, here.width + 2 * PAD)
    dense = size.slots if config.kinship.mode in ("matrix", "relatedness") else 1
    return {
        "rules": ((n,), RULES),
        "types": ((n, size.types), TYPE),
        "recipes": ((n, size.types, 2, size.items), np.int16),
        "ranges": ((n, len(ranges_of(config))), RANGE),
        "regions": ((n, size.regions), REGION),
        "counts": ((n, size.regions, size.types + 1), np.int16),
        "plan": ((n, here.height, here.width) if TERRAINS[here.terrain].drawn else (n, 1, 1), np.uint8),
        "kind": (padded, np.uint8),
        "which": (padded, np.int32),
        "objects": ((n, size.objects), OBJECT),
        "agents": ((n, size.slots), AGENT),
        "items": ((n, size.slots, size.items), np.int16),
        "related": ((n, dense, dense), np.float32),
        "pct": ((n, size.slots), np.float32),
        "order": ((n, size.slots), np.int16),
        "pool": ((n, size.slots, 2), np.float64),
        "work": ((n, size.work), np.int32),
    }


def world_bytes(config: GridworldConfig) -> int:
    """Memory for one world and its observations; with a pedigree, for the ancestors' matrix too."""
    size, seen = sizes(config), config.observation
    window = 3 * seen.tokens if seen.kind == "tokens" else size.planes * seen.height * seen.width
    ancestors = 8 * (2 * len(config.kinship.pedigree)) ** 2 if config.kinship.mode == "relatedness" else 0
    state = sum(prod(shape) * int(np.dtype(dtype).itemsize) for shape, dtype in _arrays(config, 1).values())
    return state + size.slots * window + ancestors


def new_world(config: GridworldConfig, n: int) -> World:
    """N worlds with the configuration written into them, not yet reset."""
    world = World(**{name: np.zeros(shape, dtype) for name, (shape, dtype) in _arrays(config, n).items()})
    world.kind[:] = OUTSIDE
    world.kind[:, PAD:-PAD, PAD:-PAD] = EMPTY
    world.objects["type"] = GONE
    _write_rules(config, world)
    _write_types(config, world)
    _write_regions(config, world)
    _write_kin(config, world)
    if TERRAINS[config.map.terrain].drawn:
        world.plan[:] = _plan(config)
    for k, one in enumerate(ranges_of(config)):
        world.ranges[:, k] = one
    return world


def _write_rules(config: GridworldConfig, world: World) -> None:
    rules, names = world.rules, plane_names(config)
    agent, actions, seen, here = config.agent, config.actions, config.observation, config.map
    values: dict[str, Any] = {
        "max_steps": config.max_steps,
        "height": here.height,
        "width": here.width,
        "window_height": seen.height,
        "window_width": seen.width,
        "rotate": seen.rotate,
        "hidden": sum(1 << names.index(name) for name in set(seen.hidden) if name.startswith("agent.")),
        "agents": sizes(config).agents,
        "energy": agent.energy,
        "freeze": agent.freeze,
        "shield_upkeep": agent.shield_upkeep,
        "hp": agent.hp,
        "attack": actions.attack,
        "shield": actions.shield,
        "swap": actions.swap,
        "gift": actions.gift,
        "loot_by_use": actions.loot == "use",
        "shuffled": actions.order == "shuffled",
        "death_energy": config.death.energy,
        "death_hp": config.death.hp,
        "max_age": config.death.max_age,
        "kinship": Sharing[config.kinship.mode.upper()],
        "share": config.kinship.share,
        "team_size": config.kinship.size,
        "normalise": bool(config.kinship.normalise),
        "prestige_every": config.kinship.prestige_every,
        "terrain": TERRAINS[here.terrain].number,
        "border": here.border,
        "connected": here.connected,
    }
    values |= {f"terrain_{letter}": value for letter, value in zip("abcd", option_values(here), strict=True)}
    values |= {
        f"plane_{name}": names.index(name) if name in names else -1
        for name in ("kinship", "last_action", "last_reward")
    }
    values |= {
        f"{verb}_cost": actions.costs.get(verb, 0)
        for verb in ("move", "rotate", "use", "attack", "shield", "swap", "gift")
    }
    for name, value in values.items():
        rules[name] = value
    # Traits of all slots, until a range sets others.
    for trait in ("max_energy", "max_items", "damage", "upkeep"):
        world.agents[trait] = getattr(agent, trait)


def _write_types(config: GridworldConfig, world: World) -> None:
    names, items = plane_names(config), list(config.items)
    area = config.observation.height * config.observation.width
    for t, (name, kind) in enumerate(config.objects.items()):
        row = world.types[:, t]
        for fact in ("hp", "stock", "cooldown", "energy_cost", "energy_gain", "reward", "usable"):
            row[fact] = getattr(kind, fact)
        row["plane"] = names.index(name)
        row["offset"] = names.index(name) * area
        row["first_input"] = 1 + min(map(items.index, kind.inputs), default=-1)
        row["first_output"] = 1 + min(map(items.index, kind.outputs), default=-1)
        for feature in ("hp", "stock", "input", "output", "gain", "ready"):
            whole = f"{name}.{feature}"
            shown = whole in names and whole not in config.observation.hidden
            row[f"plane_{feature}"] = names.index(whole) if shown else -1
            row[f"offset_{feature}"] = names.index(whole if shown else name) * area
        for side, amounts in enumerate((kind.inputs, kind.outputs)):
            for item, amount in amounts.items():
                world.recipes[:, t, side, items.index(item)] = amount


def _write_regions(config: GridworldConfig, world: World) -> None:
    types = list(config.objects)
    for g, region in enumerate(all_regions(config)):
        world.regions[:, g] = (region.top, region.left, region.height, region.width)
        for name, count in region.objects.items():
            world.counts[:, g, types.index(name)] = count
        world.counts[:, g, len(types)] = region.agents


def _write_kin(config: GridworldConfig, world: World) -> None:
    """Write the labels, pooled fractions, matrix and parents that the configuration gives; ``reset`` sets the rest."""
    kinship, agents = config.kinship, world.agents
    agents["group"] = agents["mother"] = agents["father"] = agents["id"] = agents["label"] = -1
    if kinship.labels and kinship.mode in ("teams", "groups"):
        world.rules["own_labels"] = True
        agents["group"] = kinship.labels
    if kinship.mode == "groups":
        world.pct[:, : len(kinship.pct)] = kinship.pct
    if kinship.mode == "matrix":
        weights = np.asarray(kinship.matrix, np.float64)
        sums = weights.sum(1, keepdims=True) if kinship.normalise is not False else np.ones((len(weights), 1))
        world.related[:] = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    if kinship.mode == "relatedness" and kinship.pedigree:
        slots = agents.shape[1]
        founders = min(slots, sizes(config).agents)
        world.rules["pedigree"] = True
        world.related[:] = np.eye(slots)
        family = Pedigree.from_parents(kinship.pedigree)
        world.related[:, :founders, :founders] = family.matrix(range(founders))
        for name, mother, father in kinship.pedigree:
            if name < founders:
                agents["mother"][:, name], agents["father"][:, name] = mother, father


def _plan(config: GridworldConfig) -> list[list[int]]:
    """[H, W] the drawn map as values of ``kind``: ``@`` is an agent, ``.`` or a blank an empty cell."""
    known = {".": 0, " ": 0, "@": 1} | {kind.glyph: OBJECT_KIND + t for t, kind in enumerate(config.objects.values())}
    return [[known[c] for c in line] for line in config.map.lines]


def ranges_of(config: GridworldConfig) -> list[tuple[int, int, int, int]]:
    """Rows of ``World.ranges``: code, index, low, high."""
    found = []
    for name, (low, high) in config.randomize.items():
        scale = 1000 if name == "kinship.share" else 1
        if name.startswith("objects."):
            _, which, fact = name.split(".")
            for t, (type_name, kind) in enumerate(config.objects.items()):
                if which == type_name or (which == "*" and kind.usable):
                    found.append((RANGES[f"objects.{fact}"], t, int(low), int(high)))
        else:
            found.append((RANGES[name], 0, round(low * scale), round(high * scale)))
    return found
