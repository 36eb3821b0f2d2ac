"""The configuration of a gridworld as frozen dataclasses: rules, objects, map, observation, kinship.

``GridworldConfig()`` is the default world. docs/games/gridworld-rules.md defines exactly what each
number does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

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
]


class Sharing(IntEnum):
    """Values of ``kinship.mode``."""

    NONE = 0
    TEAMS = 1
    FAMILIES = 2
    MATRIX = 3
    GROUPS = 4
    RELATEDNESS = 5


RANGES: Mapping[str, int] = {
    "agent.energy": 0,
    "agent.max_energy": 1,
    "agent.max_items": 2,
    "agent.freeze": 3,
    "agent.upkeep": 4,
    "agent.damage": 5,
    "kinship.size": 6,
    "kinship.share": 7,  # low and high in thousandths
    "trait.max_energy": 8,  # traits are sampled for each agent, the others once for the world
    "trait.max_items": 9,
    "trait.damage": 10,
    "trait.upkeep": 11,
    "trait.colour": 12,
    "objects.energy_cost": 13,  # index: the type of object
    "objects.energy_gain": 14,
    "objects.cooldown": 15,
    "objects.stock": 16,
    "objects.hp": 17,
}
"""What ``randomize`` can name -> its code in ``World.ranges``. For objects, write ``objects.altar.cooldown``, or
``objects.*.cooldown`` for every usable type (each sampled separately)."""


@dataclass(frozen=True)
class ObjectType:
    """One type of object: a recipe.

    Attributes:
        glyph: its character in ASCII maps and text observations.
        inputs, outputs: items that one use takes and gives.
        energy_cost, energy_gain: energy that one use takes and gives.
        reward: the reward of one use.
        cooldown: ticks after a use before it can be used again.
        stock: number of uses; -1: unlimited.
        hp: hits that destroy it; 0: it cannot be attacked.
    """

    glyph: str
    inputs: Mapping[str, int] = field(default_factory=dict)
    outputs: Mapping[str, int] = field(default_factory=dict)
    energy_cost: int = 0
    energy_gain: int = 0
    reward: float = 0.0
    cooldown: int = 0
    stock: int = -1
    hp: int = 30

    @property
    def usable(self) -> bool:
        """Whether it takes or gives anything; walls do not."""
        return bool(self.inputs or self.outputs or self.energy_cost or self.energy_gain or self.reward)


@dataclass(frozen=True)
class AgentRules:
    """What an agent starts with, and its limits.

    Attributes:
        energy, max_energy: at the start, and at most.
        max_items: limit for each kind of item.
        hp: hit points; only ``death.hp`` uses them.
        freeze: ticks for which an unshielded hit freezes an agent.
        upkeep: energy per tick.
        shield_upkeep: energy per tick while the shield is on.
        damage: energy that its attack drains from a shield.
    """

    energy: int = 250
    max_energy: int = 250
    max_items: int = 5
    hp: int = 1
    freeze: int = 10
    upkeep: int = 0
    shield_upkeep: int = 1
    damage: int = 5


@dataclass(frozen=True)
class ActionRules:
    """Which verbs are available, what they cost, and who acts first.

    Attributes:
        attack, shield, swap, gift: whether agents can do it; the action numbers are the same either way.
        costs: energy for each verb: move, rotate, use, attack, shield, swap, gift.
        loot: what takes the target's items: the ``"attack"``, or a later ``"use"`` of the frozen agent.
        order: ``"shuffled"`` in every tick, or ``"fixed"`` by slot.
        space: ``"flat"`` action numbers, or ``"verbs"``: (verb, argument) pairs.
    """

    attack: bool = True
    shield: bool = True
    swap: bool = True
    gift: bool = True
    costs: Mapping[str, int] = field(default_factory=lambda: {"attack": 5, "shield": 1})
    loot: str = "attack"
    order: str = "shuffled"
    space: str = "flat"


@dataclass(frozen=True)
class DeathRules:
    """Who dies.

    Attributes:
        energy: agents that have no energy left at the beginning of a tick, after upkeep.
        hp: agents whose hit points are used up; each hit costs one.
        max_age: agents of this age in ticks; 0: no limit.
    """

    energy: bool = False
    hp: bool = False
    max_age: int = 0


@dataclass(frozen=True)
class ObservationRules:
    """What an agent sees.

    Attributes:
        kind: ``"planes"`` [C, height, width] or ``"tokens"`` [tokens, 3].
        height, width: of the window; odd, at most 15.
        rotate: turn the window so that the agent looks up.
        hidden: features that are not shown: ``"agent.energy"`` (of others), ``"altar.ready"``.
        kinship, last_action, last_reward: whether each gets a plane.
        tokens: number of rows of a token observation.
    """

    kind: str = "planes"
    height: int = 11
    width: int = 11
    rotate: bool = False
    hidden: tuple[str, ...] = ()
    kinship: bool = False
    last_action: bool = False
    last_reward: bool = False
    tokens: int = 200


@dataclass(frozen=True)
class Region:
    """A rectangle of the map, and what is placed in it.

    Attributes:
        top, left, height, width: cells; height or width 0: the whole map.
        agents: how many start there.
        objects: how many of each type.
    """

    top: int = 0
    left: int = 0
    height: int = 0
    width: int = 0
    agents: int = 0
    objects: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class MapRules:
    """The map.

    Attributes:
        terrain: ``"random"`` (nothing but the border), ``"rooms"``, ``"bsp"``, ``"maze"``, ``"radial_maze"``,
            ``"mean_distance"``, ``"mirror"``, ``"ascii"``, ``"caves"``, ``"bases"``.
        height, width: cells, border included. Plain data and files with a ``text`` can omit them.
        border: thickness of the wall around it.
        agents, objects: what is placed anywhere (rooms: in every room).
        regions: further agents and objects, in rectangles.
        connected: open walls until agents reach each other and every usable object.
        terrain_options: the terrain's options, by name (``{"rows": 2, "columns": 2}`` for rooms).
        text: the map as characters, for ``"ascii"``.
    """

    terrain: str = "random"
    height: int = 48
    width: int = 48
    border: int = 1
    agents: int = 24
    objects: Mapping[str, int] = field(
        default_factory=lambda: {"wall": 144, "generator": 40, "converter": 20, "altar": 10}
    )
    regions: tuple[Region, ...] = ()
    connected: bool = False
    terrain_options: Mapping[str, int] = field(default_factory=dict)
    text: str = ""

    @property
    def lines(self) -> list[str]:
        """The rows of ``text``."""
        return self.text.strip("\n").split("\n")


@dataclass(frozen=True)
class KinshipRules:
    """Who shares in whose reward; see docs/kinship.md.

    Attributes:
        mode: ``"none"``, ``"teams"``, ``"families"``, ``"matrix"``, ``"groups"``, ``"relatedness"``.
        size: agents in a team (by slot) or a family (sampled in every episode).
        share: the fraction of rewards that is pooled, 0..1.
        pct: groups: the pooled fraction of each group.
        labels: groups: the group number of each slot; teams: the team of each slot, instead of ``size``.
        matrix: [S][S] K; its rows are normalised.
        pedigree: relatedness: (id, mother, father) of ancestors and founders; founders are ids 0..agents-1. Without it
            the members of a family of ``size`` are full siblings.
        normalise: relatedness: inclusive fitness divided by the sum of its weights.
        prestige_every: ticks between prestige rewards; 0: none.
    """

    mode: str = "none"
    size: int = 1
    share: float = 0.5
    pct: tuple[float, ...] = ()
    labels: tuple[int, ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()
    pedigree: tuple[tuple[int, int, int], ...] = ()
    normalise: bool = False
    prestige_every: int = 0


def classic_objects() -> dict[str, ObjectType]:
    """The wall, generator, converter and altar of the default world."""
    return {
        "wall": ObjectType("#", hp=10),
        "generator": ObjectType("n", outputs={"r1": 1}, cooldown=5, stock=30),
        "converter": ObjectType("c", inputs={"r1": 1}, outputs={"r2": 1}, energy_gain=100, cooldown=2),
        "altar": ObjectType("a", energy_cost=100, reward=1.0, cooldown=2),
    }


@dataclass(frozen=True)
class GridworldConfig:
    """A gridworld.

    Attributes:
        max_steps: ticks of an episode.
        slots: the most agents alive at once; 0: as many as the map places.
        items: names of the kinds of items.
        objects: types of objects by name; ``wall`` comes first.
        agent, actions, death, observation, map, kinship: their rules.
        randomize: what each episode samples: a name of ``RANGES`` -> (low, high), both included.
    """

    max_steps: int = 5000
    slots: int = 0
    items: tuple[str, ...] = ("r1", "r2", "r3")
    objects: Mapping[str, ObjectType] = field(default_factory=classic_objects)
    agent: AgentRules = field(default_factory=AgentRules)
    actions: ActionRules = field(default_factory=ActionRules)
    death: DeathRules = field(default_factory=DeathRules)
    observation: ObservationRules = field(default_factory=ObservationRules)
    map: MapRules = field(default_factory=MapRules)
    kinship: KinshipRules = field(default_factory=KinshipRules)
    randomize: Mapping[str, tuple[float, float]] = field(default_factory=dict)
