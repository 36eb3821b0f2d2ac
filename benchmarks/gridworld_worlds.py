"""Varied gridworlds, and scripted players that try everything, for ``gridworld_differential``.

The players are made to trigger every rule (random walkers hardly ever loot, swap or convert), not to play well.
"""

from __future__ import annotations

from random import Random
from typing import Any

from ..envs.gridworld.config import RANGES, GridworldConfig
from ..envs.gridworld.config.presets import configure, list_presets
from ..envs.gridworld.config.world import sizes
from .gridworld_reference import Reference, plane_list

__all__ = ["MOODS", "Players", "varied_config"]

LARGE = ("a100_100x100", "a100_r25_100x100")
"""Presets that only a few worlds use: one of their ticks takes as long as fifty of a small world's."""
SMALL = {"height": 12, "width": 12, "agents": 8, "objects": {"wall": 8, "generator": 8, "converter": 4, "altar": 3}}
"""A crowded map, where agents meet."""
TERRAINS = ("rooms", "bsp", "maze", "radial_maze", "mean_distance", "mirror", "caves", "bases")
MORE_OBJECTS: dict[str, Any] = {
    "mill": {"glyph": "m", "inputs": {"r1": 1, "r2": 1}, "outputs": {"r3": 2}, "energy_cost": 7, "stock": 9, "hp": 2},
    "spring": {"glyph": "s", "energy_gain": 40, "cooldown": 3, "hp": 0},
    "shrine": {"glyph": "h", "inputs": {"r3": 1}, "outputs": {"r1": 3}, "energy_cost": 11, "reward": 2.5},
    "thorn": {"glyph": "t", "reward": -0.25, "cooldown": 1, "hp": 1},
}
COUNTS = {"mill": 5, "spring": 3, "shrine": 3, "thorn": 4}
RANGE_ENDS: dict[str, tuple[float, float]] = {
    "agent.energy": (20, 250),
    "agent.max_energy": (100, 300),
    "agent.max_items": (1, 10),
    "agent.freeze": (0, 20),
    "agent.upkeep": (0, 2),
    "agent.damage": (0, 90),
    "kinship.size": (1, 5),
    "kinship.share": (0, 1),
    "trait.max_energy": (50, 250),
    "trait.max_items": (1, 6),
    "trait.damage": (0, 60),
    "trait.upkeep": (0, 1),
    "trait.colour": (0, 9),
    "objects.altar.energy_cost": (50, 250),
    "objects.converter.energy_gain": (10, 120),
    "objects.*.cooldown": (0, 10),
    "objects.generator.stock": (1, 30),
    "objects.wall.hp": (1, 4),
}
assert {name.split(".")[0] + "." + name.split(".")[-1] for name in RANGE_ENDS} == set(RANGES) | {"objects.hp"}


def varied_config(number: int) -> tuple[str, GridworldConfig]:
    """The name and configuration of world number ``number``: a preset, or a preset with variations.

    Every preset also occurs unchanged; nearly two of three worlds vary one.
    """
    random = Random(f"world {number}")
    if number % 50 < len(LARGE):
        base = LARGE[number % 50]
    else:
        small = [name for name in list_presets() if name not in LARGE]
        base = small[number % len(small)]
    if random.random() < 0.35 or (base in LARGE and random.random() < 0.5):
        return base, configure(base)
    changes: dict[str, Any] = {"max_steps": random.choice((60, 137, 400, 5000))}
    if base not in LARGE and random.random() < 0.6:
        changes["map"] = dict(SMALL, regions=[], terrain="random")
        if random.random() < 0.2:
            changes["map"] |= {"terrain": random.choice(TERRAINS), "height": 31, "width": 31}
            changes["map"]["connected"] = random.random() < 0.5
    for vary in (_actions, _agents, _objects, _observation, _ranges, _kinship):
        if random.random() < 0.6:
            vary(random, changes, base)
    return f"{base} varied", configure(base, None, changes)


def _actions(random: Random, changes: dict[str, Any], base: str) -> None:
    verbs = ("move", "rotate", "use", "attack", "shield", "swap", "gift")
    changes["actions"] = {
        "loot": random.choice(("attack", "use")),
        "order": random.choice(("shuffled", "fixed")),
        "costs": {verb: random.choice((0, 0, 1, 3)) for verb in verbs},
    }
    if random.random() < 0.4:
        changes["actions"]["costs"]["shield"] = 60
    if random.random() < 0.15:
        changes["actions"][random.choice(("attack", "shield", "swap", "gift"))] = False


def _agents(random: Random, changes: dict[str, Any], base: str) -> None:
    changes["agent"] = {
        "energy": random.choice((60, 150, 250)),
        "max_items": random.choice((1, 3, 5, 300)),
        "hp": random.choice((1, 2, 5)),
        "freeze": random.choice((0, 1, 10, 40)),
        "upkeep": random.choice((0, 0, 1)),
        "shield_upkeep": random.choice((0, 1, 4)),
        "damage": random.choice((0, 5, 40, 300)),
    }
    changes["death"] = {
        "energy": random.random() < 0.3,
        "hp": random.random() < 0.5,
        "max_age": random.choice((0, 0, 0, 90)),
    }
    if random.random() < 0.3:
        changes["slots"] = 104 if base in LARGE else 36


def _observation(random: Random, changes: dict[str, Any], base: str) -> None:
    planes = plane_list(configure(base, None, changes))
    hideable = [f"{name}.{feature}" for name, feature in planes if name and feature]
    changes["observation"] = {
        "kind": random.choice(("planes", "tokens")),
        "height": random.choice((3, 5, 11, 15)),
        "width": random.choice((3, 7, 11, 15)),
        "rotate": random.random() < 0.5,
        "hidden": random.sample(hideable, random.choice((0, 3, 8))),
        "kinship": random.random() < 0.6,
        "last_action": random.random() < 0.6,
        "last_reward": random.random() < 0.6,
        "tokens": random.choice((1, 30, 200, 1000)),
    }


def _kinship(random: Random, changes: dict[str, Any], base: str) -> None:
    slots = sizes(configure(base, None, changes)).slots
    mode = random.choice(("teams", "families", "matrix", "groups", "relatedness"))
    kinship: dict[str, Any] = {"mode": mode, "size": random.randint(1, 4), "share": random.choice((0.0, 0.3, 1.0))}
    kinship["prestige_every"], normalise = random.choice((0, 1, 7)), random.random() < 0.5
    if mode in ("matrix", "relatedness"):
        kinship["normalise"] = normalise
    if mode == "matrix":
        kinship["matrix"] = [[float(i == j or random.choice((0, 0, 1, 2))) for j in range(slots)] for i in range(slots)]
    if mode == "groups":
        groups = min(slots, 3)
        kinship["labels"] = [random.randrange(groups) for _ in range(slots)]
        kinship["pct"] = [random.choice((0.0, 0.25, 0.9)) for _ in range(groups)]
    if mode == "relatedness" and random.random() < 0.5:
        kinship["pedigree"] = _pedigree(random, slots)
    changes["kinship"] = kinship


def _pedigree(random: Random, founders: int) -> list[list[int]]:
    """Two unrelated ancestors, their two children, and founders.

    A founder's parents are both children (inbred), both ancestors, one known child, or unknown.
    """
    first = founders
    rows = [[first, -1, -1], [first + 1, -1, -1], [first + 2, first, first + 1], [first + 3, first, first + 1]]
    parents = ([first + 2, first + 3], [first, first + 1], [first + 2, -1], [-1, -1])
    return rows + [[founder, *random.choice(parents)] for founder in range(founders)]


def _objects(random: Random, changes: dict[str, Any], base: str) -> None:
    changes["objects"] = dict(MORE_OBJECTS)
    changes["objects"]["generator"] = {"stock": random.choice((-1, 2, 30)), "hp": random.choice((0, 2, 30))}
    where = changes.setdefault("map", {})
    where["objects"] = where.get("objects", {}) | COUNTS


def _ranges(random: Random, changes: dict[str, Any], base: str) -> None:
    changes["randomize"] = {name: list(RANGE_ENDS[name]) for name in random.sample(sorted(RANGE_ENDS), 6)}


MOODS = (*("worker",) * 5, "raider", "raider", "helper", "helper", "legal", "any")
"""What a player tries to do for some ticks; repeats are more likely."""


class Players:
    """One player for each slot; moods change now and then.

    Args:
        reference: the world that they play in, which they see completely.
        number: seed of their random numbers.
        moods: the moods that they choose from.
    """

    def __init__(self, reference: Reference, number: int, moods: tuple[str, ...] = MOODS) -> None:
        self.world, self.random = reference, Random(f"players {number}")
        self.choice = moods
        slots = len(reference.agents)
        self.moods = [""] * slots
        self.goals: list[tuple[int, int]] = [(0, 0)] * slots
        self.actions = reference.actions

    def act(self) -> list[int]:
        """[S] an action number for each slot, dead agents included; a few numbers don't exist."""
        return [self._one(slot) for slot in range(len(self.moods))]

    def _one(self, slot: int) -> int:
        random, agent = self.random, self.world.agents[slot]
        if not agent.alive or random.random() < 0.1 or agent.frozen_until > self.world.rules["clock"]:
            return random.randrange(-1, self.actions + 1)
        if not self.moods[slot] or random.random() < 0.06:
            self.moods[slot] = random.choice(self.choice)
            self.goals[slot] = self._goal(slot)
        mood = self.moods[slot]
        if mood == "any":
            return random.randrange(self.actions)
        if mood == "legal":
            return self._any_of(slot, (range(7), range(7, 8), range(8, 17), range(17, 18), range(18, self.actions)))
        if mood != "worker":
            action = self._meet(slot, mood)
            if action:
                return action
        return self._walk(slot)

    def _any_of(self, slot: int, verbs: tuple[range, ...]) -> int:
        """A random verb with a legal action, then one of its legal actions; 0 if there is none."""
        tick = self.world.rules["clock"] + 1
        found = [[a for a in verb if not self.world.obstacle(slot, a, tick)] for verb in verbs]
        found = [allowed for allowed in found if allowed]
        return self.random.choice(self.random.choice(found)) if found else 0

    def _meet(self, slot: int, mood: str) -> int:
        """An action that touches another agent, if one is near; else 0."""
        world, agent = self.world, self.world.agents[slot]
        other = world.agent_at(world.cell(agent, 1))
        frozen = other >= 0 and world.agents[other].frozen_until > world.rules["clock"]
        if other >= 0 and (mood == "helper" or self.random.random() < (0.7 if frozen else 0.2)):
            return self._any_of(slot, (range(18, 19), range(19, self.actions), range(7, 8)))
        if mood == "raider" and self.random.random() < 0.5:
            near = [8 + k for k in range(9) if world.agent_at(world.target(agent, k + 1)) >= 0]
            if near:
                return self.random.choice(near)
        return 17 if self.random.random() < (0.03 if agent.shield else 0.1) else 0

    def _goal(self, slot: int) -> tuple[int, int]:
        """The cell of the nearest object or agent that the player's mood looks for."""
        world, me = self.world, self.world.agents[slot]
        if self.moods[slot] == "worker":
            wanted = self._wanted(slot)
            places = [(thing.row, thing.col) for thing in world.objects if thing.type == wanted]
        else:
            places = [(other.row, other.col) for other in world.agents if other.alive and other is not me]
        return min(places or [(0, 0)], key=lambda place: abs(place[0] - me.row) + abs(place[1] - me.col))

    def _wanted(self, slot: int) -> int:
        """An object type that the agent has the items to use; types with inputs are more likely."""
        held, choice = self.world.items[slot], [0]
        for t, (inputs, _) in enumerate(self.world.recipes):
            if self.world.types[t].usable and all(has >= needs for has, needs in zip(held, inputs, strict=True)):
                choice += [t] * (1 + 2 * sum(inputs))
        return self.random.choice(choice)

    def _walk(self, slot: int) -> int:
        """Walk towards the goal and use what is there; if something is in the way, move or turn at random."""
        world, me, random = self.world, self.world.agents[slot], self.random
        row, col = self.goals[slot]
        ahead = world.cell(me, 1)
        if ahead == (row, col):
            if random.random() < 0.5:
                self.moods[slot] = ""  # something else next
            return 7
        down, right = row - me.row, col - me.col
        wanted = (0 if down < 0 else 1) if abs(down) > abs(right) or (down and random.random() < 0.3) else 3
        if wanted == 3 and right < 0:
            wanted = 2
        if me.facing != wanted and random.random() < 0.8:
            return 3 + wanted
        if not world.obstacle(slot, 1, world.rules["clock"] + 1):
            return 1
        return random.choice((2, 3, 4, 5, 6, 7))
