"""Gridworld configurations: the dataclasses (``sections``), reading (``fields``, ``files``, ``presets``), checks."""

from ..maps.table import Numbers as Terrain
from .sections import (
    RANGES,
    ActionRules,
    AgentRules,
    DeathRules,
    GridworldConfig,
    KinshipRules,
    MapRules,
    ObjectType,
    ObservationRules,
    Region,
    Sharing,
)

__all__ = [
    "RANGES",
    "ActionRules",
    "AgentRules",
    "DeathRules",
    "GridworldConfig",
    "KinshipRules",
    "MapRules",
    "ObjectType",
    "ObservationRules",
    "Region",
    "Sharing",
    "Terrain",
]
