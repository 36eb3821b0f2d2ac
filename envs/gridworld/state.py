"""The gridworld's state: N worlds as a NamedTuple of arrays, and the constants for their values.

Letters: N worlds, i one of them, S slots (the most agents alive at once), O places for objects, K types of objects, I
kinds of items, G regions, Q ranges, H W the map. All sizes come from the configuration, so one compilation of the
kernels serves every map. Deaths do not change the layout: ``alive`` says which slots count.

Coordinates are (row, column) from (0, 0) in the upper left corner. ``kind`` and ``which`` have ``PAD`` extra cells on
every side, so that windows and attacks never leave the arrays::

    kind[i, row + PAD, col + PAD]     0 empty, 1 an agent, 2 + t an object of type t, 255 outside the map
    which[i, row + PAD, col + PAD]    the slot of the agent, or the place of the object

Directions: 0 up, 1 down, 2 left, 3 right.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AGENT",
    "AGENT_KIND",
    "ATTACK",
    "BACK",
    "COLUMN_STEP",
    "DOWN",
    "EMPTY",
    "FORWARD",
    "GIFT",
    "GONE",
    "LEFT",
    "NOOP",
    "OBJECT",
    "OBJECT_KIND",
    "OUTSIDE",
    "PAD",
    "RANGE",
    "REGION",
    "RIGHT",
    "ROTATE",
    "ROW_STEP",
    "RULES",
    "SHIELD",
    "SWAP",
    "TYPE",
    "UP",
    "USE",
    "WALL",
    "World",
]

PAD = 7
"""Cells around the map in ``kind`` and ``which``: half of the widest window, 15."""

EMPTY, AGENT_KIND, OBJECT_KIND, OUTSIDE = 0, 1, 2, 255
"""Values of ``kind``; an object of type t is OBJECT_KIND + t."""

GONE = 255
"""The type of a place that holds no object (never did, or the object was destroyed)."""

WALL = 0
"""The type of walls: always the first."""

UP, DOWN, LEFT, RIGHT = range(4)
ROW_STEP: Any = np.array([-1, 1, 0, 0], np.int64)
COLUMN_STEP: Any = np.array([0, 0, -1, 1], np.int64)

NOOP, FORWARD, BACK, ROTATE, USE, ATTACK, SHIELD, SWAP, GIFT = 0, 1, 2, 3, 7, 8, 17, 18, 19
"""First action number of each verb: ROTATE + direction, ATTACK + (k - 1) for k = 1..9, GIFT + item. A = GIFT + I."""

RULES = np.dtype(
    [
        ("seed", np.uint64),  # of this episode; rng.word(seed, n) gives the n-th 64 random bits
        ("draws", np.int64),  # how many of them are used
        ("clock", np.int32),  # ticks begun in this episode
        ("max_steps", np.int32),
        ("height", np.int16),
        ("width", np.int16),
        ("window_height", np.int16),
        ("window_width", np.int16),
        ("rotate", np.bool_),  # windows are turned so that the agent looks up
        ("hidden", np.int32),  # bit j: plane j of other agents is not shown
        ("plane_kinship", np.int16),  # -1: no such plane; the same for the next two
        ("plane_last_action", np.int16),
        ("plane_last_reward", np.int16),
        ("agents", np.int16),  # number alive at the beginning: slots 0..agents-1
        ("energy", np.int32),  # at the beginning
        ("freeze", np.int32),  # ticks
        ("shield_upkeep", np.int32),
        ("hp", np.int16),
        ("move_cost", np.int32),  # energy that a successful action costs; back costs the same as forward
        ("rotate_cost", np.int32),
        ("use_cost", np.int32),
        ("attack_cost", np.int32),
        ("shield_cost", np.int32),
        ("swap_cost", np.int32),
        ("gift_cost", np.int32),
        ("attack", np.bool_),  # which verbs are available
        ("shield", np.bool_),
        ("swap", np.bool_),
        ("gift", np.bool_),
        ("loot_by_use", np.bool_),  # an attack leaves the inventory; using a frozen agent takes it
        ("shuffled", np.bool_),  # agents act in random order; else by slot
        ("death_energy", np.bool_),
        ("death_hp", np.bool_),
        ("max_age", np.int32),  # ticks; 0: none
        ("kinship", np.int16),  # a Sharing number of config/sections.py
        ("own_labels", np.bool_),  # the agents' ``group`` gives the labels
        ("pedigree", np.bool_),  # ``related`` and the founders' parents come from the configuration
        ("share", np.float32),  # the pooled fraction
        ("team_size", np.int32),
        ("normalise", np.bool_),
        ("prestige_every", np.int32),  # ticks; 0: never
        ("terrain", np.int16),  # a terrain's number
        ("border", np.int16),  # thickness of the wall around the map
        ("connected", np.bool_),  # walls that cut an agent off are opened
        ("terrain_a", np.int32),  # the terrain's options: maps/table.py
        ("terrain_b", np.int32),
        ("terrain_c", np.int32),
        ("terrain_d", np.int32),
    ],
    align=True,
)
"""[N] the rules of this episode, its clock and the state of its random generator."""

TYPE = np.dtype(
    [
        ("hp", np.int16),  # 0: cannot be attacked
        ("stock", np.int16),  # number of uses; -1: unlimited
        ("cooldown", np.int32),  # ticks
        ("energy_cost", np.int32),
        ("energy_gain", np.int32),
        ("reward", np.float32),
        ("usable", np.bool_),
        ("offset", np.int32),  # start of its planes in a window, in cells; a missing plane has presence's
        ("offset_hp", np.int32),
        ("offset_stock", np.int32),
        ("offset_input", np.int32),
        ("offset_output", np.int32),
        ("offset_gain", np.int32),
        ("offset_ready", np.int32),
        ("first_input", np.uint8),  # 1 + number of the first input item; 0: none
        ("first_output", np.uint8),
        ("plane", np.int16),  # of presence, and of each feature; -1: no such plane, or hidden
        ("plane_hp", np.int16),
        ("plane_stock", np.int16),
        ("plane_input", np.int16),  # of first_input, first_output and energy_gain
        ("plane_output", np.int16),
        ("plane_gain", np.int16),
        ("plane_ready", np.int16),
    ],
    align=True,
)
"""[N, K] the types of objects with their recipes."""

OBJECT = np.dtype(
    [
        ("busy_until", np.int32),  # it can be used once the clock is past this
        ("row", np.int16),
        ("col", np.int16),
        ("hp", np.int16),
        ("stock", np.int16),
        ("type", np.uint8),  # GONE: no object
    ],
    align=True,
)
"""[N, O] objects, walls included."""

AGENT = np.dtype(
    [
        ("id", np.int32),  # the slot's number; -1 in slots not used yet
        ("mother", np.int32),  # ids; -1: unknown
        ("father", np.int32),
        ("born", np.int32),  # tick
        ("energy", np.int32),
        ("frozen_until", np.int32),  # its actions fail until the clock is past this
        ("score", np.int32),  # energy paid in this episode into objects that give reward
        ("last_reward", np.float32),  # after sharing
        ("max_energy", np.int32),  # traits: this and the next four
        ("max_items", np.int16),  # of each kind
        ("damage", np.int16),
        ("upkeep", np.int16),  # energy per tick
        ("colour", np.int16),
        ("row", np.int16),
        ("col", np.int16),
        ("hp", np.int16),
        ("label", np.int16),  # team or family: 0..S-1; -1: none
        ("group", np.int16),  # the slot's label, if the configuration gives labels
        ("last_action", np.int16),  # -1: none yet, or not a valid action number
        ("facing", np.uint8),
        ("alive", np.bool_),
        ("shield", np.bool_),
        ("succeeded", np.bool_),  # its last action
    ],
    align=True,
)
"""[N, S] agents by slot. A dead agent's other fields stay until the next reset."""

RANGE = np.dtype([("code", np.int16), ("index", np.int16), ("low", np.int32), ("high", np.int32)], align=True)
"""[N, Q] what each episode samples: see ``config.RANGES``. Both ends are included."""

REGION = np.dtype([("top", np.int16), ("left", np.int16), ("height", np.int16), ("width", np.int16)], align=True)
"""[N, G] rectangles in which agents and objects are placed. A cell belongs to the last region that contains it."""


class World(NamedTuple):
    """N worlds.

    Attributes:
        rules: [N] RULES.
        types: [N, K] TYPE.
        recipes: [N, K, 2, I] int16 items that a use takes (0) and gives (1).
        ranges: [N, Q] RANGE.
        regions: [N, G] REGION.
        counts: [N, G, K + 1] int16 how many objects of each type a region gets, and how many agents (last).
        plan: [N, H, W] uint8 a drawn map, as values of ``kind`` (ASCII terrain; else [N, 1, 1]).
        kind: [N, H + 2 PAD, W + 2 PAD] uint8 what each cell holds; OUTSIDE beyond the map.
        which: [N, H + 2 PAD, W + 2 PAD] int32 which agent or object; undefined in empty cells.
        objects: [N, O] OBJECT.
        agents: [N, S] AGENT.
        items: [N, S, I] int16 inventories.
        related: [N, S, S] float32 relatedness R (diagonal 1 + F), or the sharing matrix K; [N, 1, 1] if no rule
            reads it.
        pct: [N, S] float32 the pooled fraction of each label.
        order: [N, S] int16 scratch: the order in which agents act.
        pool: [N, S, 2] float64 scratch for sharing.
        work: [N, M] int32 scratch for map builders; M is at least 1.
    """

    rules: NDArray[Any]
    types: NDArray[Any]
    recipes: NDArray[np.int16]
    ranges: NDArray[Any]
    regions: NDArray[Any]
    counts: NDArray[np.int16]
    plan: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    which: NDArray[np.int32]
    objects: NDArray[Any]
    agents: NDArray[Any]
    items: NDArray[np.int16]
    related: NDArray[np.float32]
    pct: NDArray[np.float32]
    order: NDArray[np.int16]
    pool: NDArray[np.float64]
    work: NDArray[np.int32]

    def configured(self) -> tuple[NDArray[Any], ...]:
        """What the observation kernels trust unchecked: window sizes, and where each plane lies."""
        window = ["window_height", "window_width", "plane_kinship", "plane_last_action", "plane_last_reward"]
        offsets = [name for name in TYPE.names or () if name.startswith("offset")]
        return self.rules[window], self.types[offsets]
