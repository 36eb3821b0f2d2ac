"""The whole world, as ``state()`` returns it for centralised critics and viewers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import GlobalState
from ..config import GridworldConfig
from ..config.world import sizes
from ..state import GONE, World
from .planes import FIRST_ITEM

__all__ = ["map_planes", "whole"]


def map_planes(world: World, i: int, planes: int) -> NDArray[np.uint8]:
    """[C, H, W] uint8 the whole map in the planes of an observation; the observer's own planes are 0.

    Hidden features of agents are shown; those of objects stay 0.

    Args:
        world: N worlds.
        i: index of the world.
        planes: C, the number of planes.
    """
    rules, agents, things, types = world.rules[i], world.agents[i], world.objects[i], world.types[i]
    out = np.zeros((planes, int(rules["height"]), int(rules["width"])), np.uint8)
    agents, items = agents[agents["alive"]], world.items[i][agents["alive"]]
    at = (agents["row"], agents["col"])
    features = [np.ones(len(agents)), agents["hp"], agents["frozen_until"] - rules["clock"], agents["energy"]]
    features += [agents["facing"], agents["shield"], *items.T]
    for plane, values in enumerate(features):
        out[plane][at] = np.clip(values, 0, 255)
    things = things[things["type"] != GONE]
    kinds, at = types[things["type"]], (things["row"], things["col"])
    for name, values in (
        ("plane", np.ones(len(things))),
        ("plane_hp", things["hp"]),
        ("plane_stock", things["stock"]),
        ("plane_input", kinds["first_input"]),
        ("plane_output", kinds["first_output"]),
        ("plane_gain", kinds["energy_gain"]),
        ("plane_ready", rules["clock"] >= things["busy_until"]),
    ):
        has = kinds[name] >= 0
        out[kinds[name][has], at[0][has], at[1][has]] = np.clip(values[has], 0, 255)
    assert FIRST_ITEM + items.shape[1] == len(features)
    return out


def whole(config: GridworldConfig) -> GlobalState:
    """The arrays of ``state()``.

    ``planes`` [C, H, W]; for each slot ``alive``, ``place`` (row, column), ``energy``, ``label``; ``related`` [S, S], R
    or K ([1, 1] if no rule reads it).
    """
    size, here = sizes(config), config.map
    dense = size.slots if config.kinship.mode in ("matrix", "relatedness") else 1
    slots = (size.slots,)
    table: dict[str, tuple[tuple[int, ...], str, float, float]] = {
        "planes": ((size.planes, here.height, here.width), "uint8", 0.0, 255.0),
        "alive": (slots, "int8", 0.0, 1.0),
        "place": ((*slots, 2), "int16", 0.0, 32767.0),
        "energy": (slots, "int32", 0.0, 2147483647.0),
        "label": (slots, "int16", -1.0, 32767.0),
        "related": ((dense, dense), "float32", 0.0, float("inf")),
    }

    def read(world: World, i: int) -> dict[str, NDArray[Any]]:
        agents = world.agents[i]
        return {
            "planes": map_planes(world, i, size.planes),
            "alive": agents["alive"].astype(np.int8),
            "place": np.stack((agents["row"], agents["col"]), -1),
            "energy": agents["energy"].copy(),
            "label": agents["label"].copy(),
            "related": world.related[i].copy(),
        }

    shape, dtype, low, high = ({name: row[k] for name, row in table.items()} for k in range(4))
    return GlobalState(shape=shape, dtype=dtype, low=low, high=high, read=read)  # type: ignore[arg-type]
