"""The start of an episode: samples ranges, builds and fills the map, sets kinship labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kinship.kernels import partition
from ...stepping.jit import inner, kernel, part
from ...stepping.rng import Word, below
from ..config import RANGES, Sharing
from ..maps import build, connect
from ..state import AGENT_KIND, EMPTY, GONE, OBJECT_KIND, PAD, UP, WALL, World
from .tick import draw

__all__ = ["reset", "reset_open", "settle"]

TRIES = 32
"""Random cells tried before the free cells are counted."""

FAMILY_DRAWS = 2**62
"""Families have random numbers of their own, from this one on, so that they change nothing else."""

FAMILIES, RELATEDNESS, TEAMS = int(Sharing.FAMILIES), int(Sharing.RELATEDNESS), int(Sharing.TEAMS)

ENERGY, MAX_ENERGY, MAX_ITEMS = RANGES["agent.energy"], RANGES["agent.max_energy"], RANGES["agent.max_items"]
FREEZE, UPKEEP, DAMAGE = RANGES["agent.freeze"], RANGES["agent.upkeep"], RANGES["agent.damage"]
SIZE, SHARE = RANGES["kinship.size"], RANGES["kinship.share"]
OWN_MAX_ENERGY, OWN_MAX_ITEMS = RANGES["trait.max_energy"], RANGES["trait.max_items"]
OWN_DAMAGE, OWN_UPKEEP, OWN_COLOUR = RANGES["trait.damage"], RANGES["trait.upkeep"], RANGES["trait.colour"]
COST, GAIN, COOLDOWN = RANGES["objects.energy_cost"], RANGES["objects.energy_gain"], RANGES["objects.cooldown"]
STOCK, HP = RANGES["objects.stock"], RANGES["objects.hp"]


@part
def _between(world: World, i: Any, q: Any) -> Any:
    """A random number from range q."""
    ends = world.ranges[i, q]
    return ends["low"] + below(draw(world, i), np.int64(ends["high"]) - ends["low"] + 1)


@part
def _draw_type(world: World, i: Any, t: Any, code: Any, value: Any) -> None:
    kind = world.types[i, t]
    if code == COST:
        kind["energy_cost"] = value
    elif code == GAIN:
        kind["energy_gain"] = value
    elif code == COOLDOWN:
        kind["cooldown"] = value
    elif code == STOCK:
        kind["stock"] = value
    elif code == HP:
        kind["hp"] = value


@part
def _draw_trait(world: World, i: Any, s: Any, code: Any, value: Any) -> None:
    agent = world.agents[i, s]
    if code in (MAX_ENERGY, OWN_MAX_ENERGY):
        agent["max_energy"] = value
    elif code in (MAX_ITEMS, OWN_MAX_ITEMS):
        agent["max_items"] = value
    elif code in (UPKEEP, OWN_UPKEEP):
        agent["upkeep"] = value
    elif code in (DAMAGE, OWN_DAMAGE):
        agent["damage"] = value
    elif code == OWN_COLOUR:
        agent["colour"] = value


@inner
def draw_ranges(world: World, i: Any) -> None:
    """Samples every range of the configuration, in order."""
    rules = world.rules[i]
    for q in range(world.ranges.shape[1]):
        code = np.int64(world.ranges[i, q]["code"])
        if code >= COST:
            _draw_type(world, i, np.int64(world.ranges[i, q]["index"]), code, _between(world, i, q))
        elif code >= OWN_MAX_ENERGY:
            for s in range(world.agents.shape[1]):
                _draw_trait(world, i, s, code, _between(world, i, q))
        else:
            value = _between(world, i, q)
            if code == ENERGY:
                rules["energy"] = value
            elif code == FREEZE:
                rules["freeze"] = value
            elif code == SIZE:
                rules["team_size"] = value
            elif code == SHARE:
                rules["share"] = value / 1000
            for s in range(world.agents.shape[1]):
                _draw_trait(world, i, s, code, value)


@inner
def clear(world: World, i: Any) -> None:
    """Resets the map to an empty one with its border."""
    rules = world.rules[i]
    height, width, border = np.int64(rules["height"]), np.int64(rules["width"]), np.int64(rules["border"])
    for row in range(height):
        for column in range(width):
            inside = border <= row < height - border and border <= column < width - border
            world.kind[i, row + PAD, column + PAD] = EMPTY if inside else OBJECT_KIND + WALL
            world.which[i, row + PAD, column + PAD] = 0


@inner
def forget(world: World, i: Any) -> None:
    """Clears all objects and agents; traits stay."""
    for number in range(world.objects.shape[1]):
        thing = world.objects[i, number]
        thing["type"] = GONE
        thing["busy_until"] = thing["row"] = thing["col"] = thing["hp"] = thing["stock"] = 0
    for s in range(world.agents.shape[1]):
        agent = world.agents[i, s]
        agent["id"] = agent["label"] = agent["last_action"] = -1
        if not world.rules[i]["pedigree"]:
            agent["mother"] = agent["father"] = -1
        agent["born"] = agent["energy"] = agent["frozen_until"] = agent["score"] = 0
        agent["row"] = agent["col"] = agent["hp"] = 0
        agent["last_reward"] = 0
        agent["facing"] = UP
        agent["alive"] = agent["shield"] = agent["succeeded"] = False
        for j in range(world.items.shape[2]):
            world.items[i, s, j] = 0


# -- placing -----------------------------------------------------------------------------------------------------------


@part
def _ours(world: World, i: Any, g: Any, row: Any, column: Any) -> bool:
    """Whether no later region contains the cell."""
    for other in range(g + 1, world.regions.shape[1]):
        region = world.regions[i, other]
        down, right = row - region["top"], column - region["left"]
        if 0 <= down < region["height"] and 0 <= right < region["width"]:
            return False
    return True


@inner
def _kth(world: World, i: Any, g: Any, k: Any) -> Any:
    """The k-th empty cell of region g (-1: the whole map): row * width + column; k = -1: the number of empty cells."""
    rules = world.rules[i]
    top, left = np.int64(0), np.int64(0)
    height, width = np.int64(rules["height"]), np.int64(rules["width"])
    bottom, right = height, width
    if g >= 0:
        region = world.regions[i, g]
        top, left = np.int64(region["top"]), np.int64(region["left"])
        bottom, right = min(height, top + region["height"]), min(width, left + region["width"])
    count = np.int64(0)
    for row in range(top, bottom):
        for column in range(left, right):
            if world.kind[i, row + PAD, column + PAD] == EMPTY and (g < 0 or _ours(world, i, g, row, column)):
                if count == k:
                    return row * width + column
                count += 1
    return count


@part
def _find(world: World, i: Any, g: Any) -> Any:
    """A random empty cell of region g, or of the map if g has none: row * width + column; -1: the map is full."""
    region, width = world.regions[i, g], np.int64(world.rules[i]["width"])
    wide = np.int64(region["width"])
    for _ in range(TRIES):
        cell = below(draw(world, i), np.int64(region["height"]) * wide)
        row, column = region["top"] + cell // wide, region["left"] + cell % wide
        if world.kind[i, row + PAD, column + PAD] == EMPTY and _ours(world, i, g, row, column):
            return row * width + column
    where, anywhere = np.int64(g), np.int64(-1)
    count = _kth(world, i, where, anywhere)
    if count == 0:
        where = anywhere
        count = _kth(world, i, where, anywhere)
    return _kth(world, i, where, below(draw(world, i), count)) if count > 0 else anywhere


@part
def _begin(world: World, i: Any, s: Any, row: Any, column: Any) -> None:
    """Agent s starts in this cell."""
    agent, rules = world.agents[i, s], world.rules[i]
    agent["id"] = s
    agent["alive"] = True
    agent["row"], agent["col"] = row, column
    agent["energy"] = min(rules["energy"], agent["max_energy"])
    agent["hp"] = rules["hp"]
    world.kind[i, row + PAD, column + PAD] = AGENT_KIND
    world.which[i, row + PAD, column + PAD] = s


@inner
def begin_drawn(world: World, i: Any) -> int:
    """Starts the agents that ``kind`` shows, row by row, and drops those beyond the last slot; returns how many."""
    rules, living = world.rules[i], 0
    for row in range(np.int64(rules["height"])):
        for column in range(np.int64(rules["width"])):
            if world.kind[i, row + PAD, column + PAD] == AGENT_KIND:
                if living < world.agents.shape[1]:
                    _begin(world, i, living, row, column)
                    living += 1
                else:
                    world.kind[i, row + PAD, column + PAD] = EMPTY
    return living


@inner
def place_all(world: World, i: Any, living: Any) -> int:
    """Places what the regions ask for in random empty cells, agents before objects; returns how many agents live.

    Skips regions of height 0, which the terrain's builder has filled.
    """
    width, types = np.int64(world.rules[i]["width"]), world.types.shape[1]
    for g in range(world.regions.shape[1]):
        if world.regions[i, g]["height"] > 0:
            for _ in range(min(world.counts[i, g, types], world.agents.shape[1] - living)):
                cell = _find(world, i, g)
                if cell >= 0:
                    _begin(world, i, living, cell // width, cell % width)
                    living += 1
    for g in range(world.regions.shape[1]):
        if world.regions[i, g]["height"] > 0:
            for t in range(types):
                for _ in range(world.counts[i, g, t]):
                    cell = _find(world, i, g)
                    if cell >= 0:
                        world.kind[i, cell // width + PAD, cell % width + PAD] = OBJECT_KIND + t
    return int(living)


@inner
def number_objects(world: World, i: Any) -> None:
    """Gives the objects that ``kind`` shows their places, row by row, so that neighbours lie close in memory."""
    rules, number = world.rules[i], 0
    for row in range(np.int64(rules["height"])):
        for column in range(np.int64(rules["width"])):
            kind = world.kind[i, row + PAD, column + PAD]
            if kind < OBJECT_KIND:
                continue
            if number == world.objects.shape[1]:
                world.kind[i, row + PAD, column + PAD] = EMPTY
                continue
            t = np.int64(kind) - OBJECT_KIND
            thing = world.objects[i, number]
            thing["type"], thing["row"], thing["col"] = t, row, column
            thing["hp"], thing["stock"] = world.types[i, t]["hp"], world.types[i, t]["stock"]
            world.which[i, row + PAD, column + PAD] = number
            number += 1


# -- kin ---------------------------------------------------------------------------------------------------------------


@inner
def label(world: World, i: Any, living: Any) -> None:
    """Sets labels: teams by slot, families at random; relatedness without a pedigree makes families full siblings."""
    rules = world.rules[i]
    mode, size = rules["kinship"], max(1, rules["team_size"])
    labels = world.agents["label"][i]
    if rules["own_labels"]:
        for s in range(labels.shape[0]):
            labels[s] = world.agents[i, s]["group"]
    elif mode == TEAMS:
        for s in range(labels.shape[0]):
            labels[s] = s // size
    elif mode == FAMILIES or (mode == RELATEDNESS and not rules["pedigree"]):
        partition(labels[:living], size, rules["seed"], FAMILY_DRAWS)
    if mode in (TEAMS, FAMILIES):
        for s in range(labels.shape[0]):
            world.pct[i, s] = rules["share"]
    if mode == RELATEDNESS and not rules["pedigree"]:
        for s in range(labels.shape[0]):
            for other in range(labels.shape[0]):
                siblings = labels[s] >= 0 and labels[s] == labels[other]
                world.related[i, s, other] = 1.0 if s == other else (0.5 if siblings else 0.0)


@inner
def _fill(world: World, i: Any) -> None:
    """Places all that the regions ask for, numbers the objects and sets kinship labels."""
    living = place_all(world, i, begin_drawn(world, i))
    number_objects(world, i)
    world.rules[i]["agents"] = living
    label(world, i, living)


@inner
def _bare(world: World, i: Any, seed: Word) -> None:
    """Samples the ranges and clears the map but for its border."""
    rules = world.rules[i]
    rules["seed"] = seed
    rules["draws"] = 0
    rules["clock"] = 0
    draw_ranges(world, i)
    clear(world, i)
    forget(world, i)


@kernel
def reset(world: World, i: Any, seed: Word) -> None:
    """Starts a new episode in world i; the seed determines everything."""
    _bare(world, i, seed)
    build(world, i)
    _fill(world, i)
    if world.rules[i]["connected"]:
        connect(world, i)


@kernel
def reset_open(world: World, i: Any, seed: Word) -> None:
    """``reset`` for maps without a terrain builder or ``connected``, which need not compile the builders."""
    _bare(world, i, seed)
    _fill(world, i)


@kernel
def settle(world: World, i: Any) -> None:
    """Replaces all agents and objects by those that ``kind`` of row i shows, in the order of its cells."""
    rules = world.rules[i]
    forget(world, i)
    living = begin_drawn(world, i)
    number_objects(world, i)
    rules["agents"] = living
    label(world, i, living)
    if rules["connected"]:
        connect(world, i)
