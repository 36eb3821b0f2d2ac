"""What a gridworld is made of (``sections``); reading it (``fields``, ``files``, ``presets``) and checking it."""

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
