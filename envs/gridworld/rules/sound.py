"""What rows from outside must fulfil before kernels, which do not check bounds, see them; see ``envs.sound``.

``Ranges`` gives every field its lowest and highest value: where the configuration fixes it both are that value, and
where an episode samples it they span the sampled range and the configured value. ``sound`` then compares fields with
each other: cells with what is in them, agents and objects with their limits, ticks with the clock. Scratch arrays and
``which`` in empty cells have no meaning and may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ...stepping.jit import kernel, part
from ..config import RANGES, GridworldConfig
from ..config.world import new_world, ranges_of, sizes
from ..state import AGENT_KIND, EMPTY, GONE, OBJECT_KIND, OUTSIDE, PAD, World

__all__ = ["CONDITIONS", "Ranges", "sound"]

CONDITIONS = (
    "agents.id is neither the slot's number nor, in a slot not used yet, -1",
    "agents.energy is not from 0 to max_energy, or a dead agent has some",
    "items are not from 0 to the agent's max_items, or a dead agent has some",
    "agents.frozen_until is later than the clock + freeze",
    "agents.born is later than the clock",
    "agents.hp is 0, but the agent lives",
    "agents.shield is on, but the agent is dead",
    "agents.label is not the group that the configuration gives",
    "objects.type is neither a type of the configuration nor 255 (no object)",
    "objects.hp is not from 1 to the hp of the type",
    "objects.stock is not from 0 to the stock of the type (-1: unlimited)",
    "objects.busy_until is later than the clock + the type's cooldown",
    "kind is 255 on the map, or something else outside it",
    "kind is neither 0 (empty) nor 1 (an agent) nor 2 + a type of object",
    "kind is 1 where which names no living agent that stands there",
    "kind is 2 + a type where which names no object of this type that stands there",
    "a living agent is not on the map",
    "an object is not on the map",
)
"""What makes a row unsound, in order; the first that applies is reported."""

(
    ID,
    ENERGY,
    ITEMS,
    FROZEN,
    BORN,
    HP,
    SHIELD,
    LABEL,
    TYPE,
    OBJECT_HP,
    STOCK,
    BUSY,
    OUTER,
    KIND,
    AGENT_THERE,
    OBJECT_THERE,
    AGENTS,
    OBJECTS,
) = range(1, len(CONDITIONS) + 1)

_SAMPLED = {"agent.energy": "energy", "agent.freeze": "freeze", "kinship.size": "team_size", "kinship.share": "share"}
"""Ranges that an episode samples into ``rules``, and their fields there; the others are of agents or types."""

_FIXED = ("recipes", "counts", "plan", "related", "pct")
"""Arrays of numbers that the configuration fixes; the last two only in some kinship modes."""

_MOST = 2**31 - 1


class Ranges(Mapping[str, tuple[Any, Any]]):
    """``Game.ranges`` of a configuration, written down at the first use.

    Args:
        config: the configuration.
    """

    def __init__(self, config: GridworldConfig) -> None:
        self._config = config

    def __getitem__(self, name: str) -> tuple[Any, Any]:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> dict[str, tuple[Any, Any]]:
        config, own = self._config, new_world(self._config, 1)
        found: dict[str, tuple[Any, Any]] = {}
        for leaf in ("rules", "types", "agents", "objects", "ranges", "regions"):
            entries = getattr(own, leaf)[0]
            found |= {
                f"{leaf}.{field}": (np.array(entries[field]), np.array(entries[field])) for field in entries.dtype.names
            }
        _widen(config, found)
        found |= {name: (array[0], array[0]) for name, array in own._asdict().items() if name in _FIXED}
        return found | _changing(config, own.agents.shape[1])


def _widen(config: GridworldConfig, found: dict[str, tuple[Any, Any]]) -> None:
    """Widen the ranges of what episodes sample."""
    names = {code: name for name, code in RANGES.items()}
    for code, t, *ends in ranges_of(config):
        section, field = names[code].split(".")
        leaf = "rules" if names[code] in _SAMPLED else {"objects": "types"}.get(section, "agents")
        field = f"{leaf}.{_SAMPLED.get(names[code], field)}"
        at: Any = t if leaf == "types" else ...
        for bound, end, wider in zip(found[field], ends, (np.minimum, np.maximum), strict=True):
            bound[at] = wider(bound[at], end / 1000 if field == "rules.share" else end)


def _changing(config: GridworldConfig, slots: int) -> dict[str, tuple[Any, Any]]:
    """The ranges of what play changes."""
    finite = float(np.finfo(np.float32).max)
    ticks, mode, high, wide = config.max_steps, config.kinship.mode, config.map.height - 1, config.map.width - 1
    agents = {
        "id": (-1, slots - 1),
        "born": (0, ticks),
        "energy": (0, _MOST),
        "frozen_until": (0, _MOST),
        "score": (0, _MOST),
        "last_reward": (-finite, finite),
        "row": (0, high),
        "col": (0, wide),
        "hp": (0, config.agent.hp),
        "label": (-1, slots - 1),
        "last_action": (-1, sizes(config).actions - 1),
        "facing": (0, 3),
        "alive": (False, True),
        "shield": (False, True),
        "succeeded": (False, True),
    }
    objects = {
        "busy_until": (0, _MOST),
        "row": (0, high),
        "col": (0, wide),
        "hp": (0, 2**15 - 1),
        "stock": (-1, 2**15 - 1),
    }
    found: dict[str, tuple[Any, Any]] = {
        "rules.seed": (0, 2**64 - 1),
        "rules.draws": (0, 2**62),
        "rules.clock": (0, ticks),
        "rules.agents": (0, slots),
    }
    found |= {f"agents.{field}": ends for field, ends in agents.items()}
    found |= {f"objects.{field}": ends for field, ends in objects.items()} | {"objects.type": (0, GONE)}
    if mode in ("teams", "families"):
        found["pct"] = (0.0, 1.0)
    if mode == "relatedness" and not config.kinship.pedigree:
        found["related"] = (0.0, 1.0)
    return found


@part
def _between(value: Any, low: Any, high: Any) -> bool:
    return bool(low <= value <= high)


@kernel
def _agents(world: World, i: int) -> int:
    """What is wrong with an agent; 0: nothing."""
    rules = world.rules[i]
    clock = np.int64(rules["clock"])
    for s in range(world.agents.shape[1]):
        agent = world.agents[i, s]
        lives = np.int64(agent["alive"])
        if agent["id"] != s and (lives or agent["id"] != -1):
            return ID
        if not _between(agent["energy"], 0, lives * agent["max_energy"]):
            return ENERGY
        for j in range(world.items.shape[2]):
            if not _between(world.items[i, s, j], 0, lives * agent["max_items"]):
                return ITEMS
        if agent["frozen_until"] > clock + rules["freeze"]:
            return FROZEN
        if agent["born"] > clock:
            return BORN
        if agent["hp"] < lives:
            return HP
        if agent["shield"] > agent["alive"]:
            return SHIELD
        if rules["own_labels"] and agent["label"] != agent["group"] and agent["id"] >= 0:
            return LABEL
    return 0


@kernel
def _objects(world: World, i: int) -> int:
    """What is wrong with an object; 0: nothing."""
    clock = np.int64(world.rules[i]["clock"])
    for o in range(world.objects.shape[1]):
        thing = world.objects[i, o]
        if thing["type"] == GONE:
            continue
        if thing["type"] >= world.types.shape[1]:
            return TYPE
        kind = world.types[i, thing["type"]]
        if not _between(thing["hp"], min(1, kind["hp"]), kind["hp"]):
            return OBJECT_HP
        if not _between(thing["stock"], min(0, kind["stock"]), kind["stock"]):
            return STOCK
        if thing["busy_until"] > clock + kind["cooldown"]:
            return BUSY
    return 0


@kernel
def _cells(world: World, i: int) -> int:
    """What is wrong with a cell, or who has none; 0: nothing."""
    tall, wide = world.kind.shape[1], world.kind.shape[2]
    agents, objects = np.int64(0), np.int64(0)
    for row in range(tall):
        for column in range(wide):
            kind, which = np.int64(world.kind[i, row, column]), np.int64(world.which[i, row, column])
            inside = PAD <= row < tall - PAD and PAD <= column < wide - PAD
            if (kind != OUTSIDE) != inside:
                return OUTER
            if kind == EMPTY or not inside:
                continue
            if kind == AGENT_KIND:
                if not 0 <= which < world.agents.shape[1]:
                    return AGENT_THERE
                agent = world.agents[i, which]
                if not (agent["alive"] and agent["row"] == row - PAD and agent["col"] == column - PAD):
                    return AGENT_THERE
                agents += 1
                continue
            if kind >= OBJECT_KIND + world.types.shape[1]:
                return KIND
            if not 0 <= which < world.objects.shape[1]:
                return OBJECT_THERE
            thing = world.objects[i, which]
            here = thing["row"] == row - PAD and thing["col"] == column - PAD
            if not (here and np.int64(thing["type"]) == kind - OBJECT_KIND):
                return OBJECT_THERE
            objects += 1
    # Every cell has shown another agent or object: if the numbers are equal, each has its cell.
    for s in range(world.agents.shape[1]):
        agents -= world.agents[i, s]["alive"]
    for o in range(world.objects.shape[1]):
        objects -= world.objects[i, o]["type"] != GONE
    return AGENTS if agents != 0 else OBJECTS if objects != 0 else 0


@kernel
def sound(world: World, i: int) -> int:
    """The first of ``CONDITIONS`` that applies to row i, counted from 1; 0: none does, the row is sound."""
    found = _agents(world, i)
    if found == 0:
        found = _objects(world, i)
    return found if found != 0 else _cells(world, i)
