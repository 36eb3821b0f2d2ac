"""A hash of a world: equal keys mean the same future."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...stepping.jit import kernel
from ...stepping.rng import Word, mix64
from ..state import GONE, World

__all__ = ["key"]


@kernel
def _with(hashed: Word, value: Any) -> Word:
    """The hash extended by one integer."""
    return mix64(hashed ^ (np.uint64(np.int64(value)) & np.uint64(0xFFFFFFFFFFFFFFFF)))


@kernel
def _agent(world: World, i: int, s: int, hashed: Word) -> Word:
    agent = world.agents[i, s]
    hashed = _with(hashed, agent["id"])
    hashed = _with(hashed, agent["mother"])
    hashed = _with(hashed, agent["father"])
    hashed = _with(hashed, agent["born"])
    hashed = _with(hashed, agent["energy"])
    hashed = _with(hashed, agent["frozen_until"])
    hashed = _with(hashed, agent["score"])
    hashed = _with(hashed, agent["max_energy"])
    hashed = _with(hashed, agent["max_items"])
    hashed = _with(hashed, agent["damage"])
    hashed = _with(hashed, agent["upkeep"])
    hashed = _with(hashed, agent["colour"])
    hashed = _with(hashed, agent["row"])
    hashed = _with(hashed, agent["col"])
    hashed = _with(hashed, agent["hp"])
    hashed = _with(hashed, agent["label"])
    hashed = _with(hashed, agent["facing"])
    hashed = _with(hashed, agent["shield"])
    for j in range(world.items.shape[2]):
        hashed = _with(hashed, world.items[i, s, j])
    return hashed


@kernel
def _type(world: World, i: int, t: int, hashed: Word) -> Word:
    """The facts of a type that an episode can sample, but for those that each object holds (hit points, stock)."""
    kind = world.types[i, t]
    hashed = _with(hashed, kind["energy_cost"])
    hashed = _with(hashed, kind["energy_gain"])
    return _with(hashed, kind["cooldown"])


@kernel
def key(world: World, i: int) -> Word:
    """Hashes generator, clock, sampled rules, living agents and objects; not the last actions and rewards."""
    rules = world.rules[i]
    hashed = mix64(rules["seed"])
    hashed = _with(hashed, rules["draws"])
    hashed = _with(hashed, rules["clock"])
    hashed = _with(hashed, rules["freeze"])
    hashed = _with(hashed, np.int64(np.float64(rules["share"]) * 1048576.0))
    for t in range(world.types.shape[1]):
        hashed = _type(world, i, t, hashed)
    for s in range(world.agents.shape[1]):
        if world.agents[i, s]["alive"]:
            hashed = _agent(world, i, s, _with(hashed, s))
    for number in range(world.objects.shape[1]):
        thing = world.objects[i, number]
        if thing["type"] != GONE:
            hashed = _with(hashed, number)
            hashed = _with(hashed, thing["type"])
            hashed = _with(hashed, thing["busy_until"])
            hashed = _with(hashed, thing["row"])
            hashed = _with(hashed, thing["col"])
            hashed = _with(hashed, thing["hp"])
            hashed = _with(hashed, thing["stock"])
    return hashed
