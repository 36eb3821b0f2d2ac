"""The configuration of a gridworld as frozen dataclasses: rules, objects, map, observation, kinship.

``GridworldConfig()`` is the default world. docs/games/gridworld-rules.md defines exactly what each number does. The
annotations hold the bounds of each field, which hold for what is read (``fields.py``); ``checks.py`` compares fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from annotated_types import Interval, Len, Predicate
from pydantic import Field

from ...typed import STRICT, Flag, Number, Whole

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


# These bounds keep sums and differences within the types of state.py (int16 and int32), clocks included.
_SHORT, _ENERGY, _TICKS, _SIDE = 30_000, 1_000_000, 1_000_000_000, 4096

Count: TypeAlias = Annotated[Whole, Interval(ge=0, le=_SHORT)]
Positive: TypeAlias = Annotated[Whole, Interval(ge=1, le=_SHORT)]
Energy: TypeAlias = Annotated[Whole, Interval(ge=0, le=_ENERGY)]
Ticks: TypeAlias = Annotated[Whole, Interval(ge=0, le=_TICKS)]
Side: TypeAlias = Annotated[Whole, Interval(ge=1, le=_SIDE)]
Part: TypeAlias = Annotated[Number, Interval(ge=0, le=1)]
Window: TypeAlias = Annotated[
    Whole,
    Interval(ge=1, le=15),
    Predicate(lambda cells: cells % 2 == 1),
    Field(description="an odd number from 1 to 15, so that the agent is in the middle"),
]
_NAME = "a name (at most 60 letters, digits and _, no digit first) other than {}, which observations use"
_ITEM_TAKEN = ("hp", "frozen", "energy", "orientation", "shield")
_TYPE_TAKEN = ("agent", "kinship", "last_action", "last_reward")


def _is_name(name: str) -> bool:
    return len(name) <= 60 and name.isascii() and name.isidentifier()


Item: TypeAlias = Annotated[
    str,
    Predicate(lambda name: _is_name(name) and name not in _ITEM_TAKEN),
    Field(description=_NAME.format(", ".join(_ITEM_TAKEN))),
]
Type: TypeAlias = Annotated[
    str,
    Predicate(lambda name: _is_name(name) and name not in _TYPE_TAKEN),
    Field(description=_NAME.format(", ".join(_TYPE_TAKEN))),
]
Items: TypeAlias = Annotated[
    tuple[Item, ...],
    Len(1, 25),
    Predicate(lambda items: len(set(items)) == len(items)),
    Field(description="a list of 1 to 25 different names, such as [r1, r2]"),
]
Glyph: TypeAlias = Annotated[
    str,
    Predicate(lambda glyph: len(glyph) == 1 and glyph.isprintable() and not glyph.isspace() and glyph not in ".@"),
    Field(description="one visible character other than . (an empty cell) and @ (an agent)"),
]
Ancestor: TypeAlias = Annotated[Whole, Interval(ge=-1, le=_TICKS)]

COSTS = ("move", "rotate", "use", "attack", "shield", "swap", "gift")
"""Verbs that can cost energy."""


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

    glyph: Glyph
    inputs: Mapping[str, Positive] = field(default_factory=dict)
    outputs: Mapping[str, Positive] = field(default_factory=dict)
    energy_cost: Energy = 0
    energy_gain: Energy = 0
    reward: Annotated[Number, Interval(ge=-_ENERGY, le=_ENERGY)] = 0.0
    cooldown: Ticks = 0
    stock: Annotated[Whole, Interval(ge=-1, le=_SHORT)] = -1
    hp: Count = 30

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

    energy: Energy = 250
    max_energy: Annotated[Whole, Interval(ge=1, le=_ENERGY)] = 250
    max_items: Count = 5
    hp: Positive = 1
    freeze: Ticks = 10
    upkeep: Count = 0
    shield_upkeep: Energy = 1
    damage: Count = 5


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

    attack: Flag = True
    shield: Flag = True
    swap: Flag = True
    gift: Flag = True
    costs: Mapping[str, Energy] = field(default_factory=lambda: {"attack": 5, "shield": 1})
    loot: Literal["attack", "use"] = "attack"
    order: Literal["shuffled", "fixed"] = "shuffled"
    space: Literal["flat", "verbs"] = "flat"


@dataclass(frozen=True)
class DeathRules:
    """Who dies.

    Attributes:
        energy: agents that have no energy left at the beginning of a tick, after upkeep.
        hp: agents whose hit points are used up; each hit costs one.
        max_age: agents of this age in ticks; 0: no limit.
    """

    energy: Flag = False
    hp: Flag = False
    max_age: Ticks = 0


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
        line: what the one-line text shows: all ``"places"``, the ``"nearest"`` of each type, or the ``"steps"`` to it.
    """

    kind: Literal["planes", "tokens"] = "planes"
    height: Window = 11
    width: Window = 11
    rotate: Flag = False
    hidden: tuple[str, ...] = ()
    kinship: Flag = False
    last_action: Flag = False
    last_reward: Flag = False
    tokens: Positive = 200
    line: Literal["places", "nearest", "steps"] = "places"


@dataclass(frozen=True)
class Region:
    """A rectangle of the map, and what is placed in it.

    Attributes:
        top, left, height, width: cells; height or width 0: the whole map.
        agents: how many start there.
        objects: how many of each type.
    """

    top: Count = 0
    left: Count = 0
    height: Count = 0
    width: Count = 0
    agents: Count = 0
    objects: Mapping[str, Count] = field(default_factory=dict)


Regions: TypeAlias = Annotated[
    tuple[Region, ...], Len(0, 1000), Field(description="a list of at most 1,000 regions, such as [{agents: 2}]")
]


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
    height: Side = 48
    width: Side = 48
    border: Annotated[Whole, Interval(ge=0, le=_SIDE)] = 1
    agents: Count = 24
    objects: Mapping[str, Count] = field(
        default_factory=lambda: {"wall": 144, "generator": 40, "converter": 20, "altar": 10}
    )
    regions: Regions = ()
    connected: Flag = False
    terrain_options: Mapping[str, Whole] = field(default_factory=dict)
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
        matrix: `[S, S]` K.
        pedigree: relatedness: (id, mother, father) of ancestors and founders; founders are ids 0..agents-1. Without it
            the members of a family of ``size`` are full siblings.
        normalise: matrix: rows divided by their sums, unless False. relatedness: inclusive fitness divided by the sum
            of its weights, if True.
        prestige_every: ticks between prestige rewards; 0: none.
    """

    mode: Literal["none", "teams", "families", "matrix", "groups", "relatedness"] = "none"
    size: Positive = 1
    share: Part = 0.5
    pct: tuple[Part, ...] = ()
    labels: tuple[Annotated[Whole, Interval(ge=-1, le=_SHORT)], ...] = ()
    matrix: tuple[tuple[Annotated[Number, Interval(ge=0, le=_ENERGY)], ...], ...] = ()
    pedigree: tuple[tuple[Ancestor, Ancestor, Ancestor], ...] = ()
    normalise: Annotated[Flag | None, Field(description="true or false")] = None
    prestige_every: Ticks = 0


Objects: TypeAlias = Annotated[
    Mapping[Type, ObjectType], Len(1, 125), Field(description="a mapping with 1 to 125 types of objects")
]


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

    __pydantic_config__: ClassVar[Any] = STRICT

    max_steps: Annotated[Whole, Interval(ge=1, le=_TICKS)] = 5000
    slots: Count = 0
    items: Items = ("r1", "r2", "r3")
    objects: Objects = field(default_factory=classic_objects)
    agent: AgentRules = field(default_factory=AgentRules)
    actions: ActionRules = field(default_factory=ActionRules)
    death: DeathRules = field(default_factory=DeathRules)
    observation: ObservationRules = field(default_factory=ObservationRules)
    map: MapRules = field(default_factory=MapRules)
    kinship: KinshipRules = field(default_factory=KinshipRules)
    randomize: Mapping[str, tuple[Number, Number]] = field(default_factory=dict)
