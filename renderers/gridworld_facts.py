"""Facts about an agent or an object of a gridworld for the panel: text and numbers, no pictures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aliases import Player
from ..envs.core import Game
from ..envs.gridworld.config import GridworldConfig, ObjectType
from ..envs.gridworld.config.world import plane_names
from ..envs.gridworld.seen.answers import action_names
from ..envs.gridworld.seen.planes import relatedness
from ..envs.gridworld.state import AGENT_KIND, EMPTY, GONE, OUTSIDE, PAD, World

__all__ = ["AgentFacts", "ThingFacts", "agent_facts", "at_cell", "kin_in_sight", "planes_of", "recipe", "thing_facts"]


class AgentFacts(NamedTuple):
    """One agent.

    Attributes:
        slot: its seat.
        id: unique within an episode.
        alive: whether it is alive.
        energy, max_energy: its energy and the most it can have.
        items: (name, count, most it can carry) of each kind.
        frozen: ticks for which it is still frozen.
        shield: whether its shield is on.
        last: the name of its last action, with " (failed)" if it failed; "" before the first.
        more: (label, value) of everything else.
        kin: (slot, id, relatedness, cells away) of the agents that it sees, closest kin first.
    """

    slot: Player
    id: int
    alive: bool
    energy: int
    max_energy: int
    items: tuple[tuple[str, int, int], ...]
    frozen: int
    shield: bool
    last: str
    more: tuple[tuple[str, str], ...]
    kin: tuple[tuple[Player, int, float, int], ...]


class ThingFacts(NamedTuple):
    """One object.

    Attributes:
        name: the name of its type.
        type: the number of its type.
        state: whether it can be used, as text.
        more: (label, value) of everything else.
    """

    name: str
    type: int
    state: str
    more: tuple[tuple[str, str], ...]


def agent_facts(config: GridworldConfig, world: World, i: int, slot: Player) -> AgentFacts:
    """The facts about an agent."""
    agent, clock = world.agents[i, slot], int(world.rules[i]["clock"])
    names = action_names(config)
    did = int(agent["last_action"])
    last = f"{names[did]}{'' if agent['succeeded'] else ' (failed)'}" if clock and 0 <= did < len(names) else ""
    more = [("last reward", f"{float(agent['last_reward']):.3g}"), ("paid at altars", str(int(agent["score"])))]
    if int(agent["label"]) >= 0:
        belongs = {"teams": "team", "groups": "group"}.get(config.kinship.mode, "family")
        more.append((belongs, str(int(agent["label"]))))
    if config.death.hp:
        more.append(("hit points", str(int(agent["hp"]))))
    if config.death.max_age:
        more.append(("age", f"{clock - int(agent['born'])} of {config.death.max_age}"))
    if int(agent["upkeep"]):
        more.append(("upkeep", str(int(agent["upkeep"]))))
    if config.actions.attack and config.actions.shield:
        more.append(("damage", str(int(agent["damage"]))))
    if int(agent["mother"]) >= 0:
        more.append(("parents", f"{int(agent['mother'])}, {int(agent['father'])}"))
    most = int(agent["max_items"])
    return AgentFacts(
        slot,
        int(agent["id"]),
        bool(agent["alive"]),
        int(agent["energy"]),
        int(agent["max_energy"]),
        tuple((name, int(world.items[i, slot, j]), most) for j, name in enumerate(config.items)),
        max(0, int(agent["frozen_until"]) - clock),
        bool(agent["shield"]),
        last,
        tuple(more),
        kin_in_sight(world, i, slot),
    )


def kin_in_sight(world: World, i: int, slot: Player) -> tuple[tuple[Player, int, float, int], ...]:
    """(slot, id, relatedness, cells away) of the other living agents in an agent's window, closest kin first."""
    agents, rules = world.agents[i], world.rules[i]
    down = np.abs(agents["row"].astype(int) - int(agents[slot]["row"]))
    right = np.abs(agents["col"].astype(int) - int(agents[slot]["col"]))
    high, wide = int(rules["window_height"]) // 2, int(rules["window_width"]) // 2
    if rules["rotate"] and agents[slot]["facing"] >= 2:  # it faces left or right, so its window is turned
        high, wide = wide, high
    seen = agents["alive"] & (down <= high) & (right <= wide)
    seen[slot] = False
    found = [
        (s, int(agents[s]["id"]), float(relatedness(world, i, slot, s)), int(down[s] + right[s]))
        for s in np.flatnonzero(seen).tolist()
    ]
    return tuple(sorted(found, key=lambda one: (-one[2], one[3])))


def thing_facts(config: GridworldConfig, world: World, i: int, place: int) -> ThingFacts | None:
    """The facts about the object with number ``place``; None if it is gone."""
    thing, clock = world.objects[i, place], int(world.rules[i]["clock"])
    if thing["type"] == GONE:
        return None
    number = int(thing["type"])
    name, drawn = list(config.objects)[number], world.types[i, number]
    rest, stock = max(0, int(thing["busy_until"]) - clock), int(thing["stock"])
    if not drawn["usable"]:
        state = "cannot be used"
    elif stock == 0:
        state = "used up"
    else:
        state = f"rests for {rest} ticks" if rest else "ready"
    more = [("use", recipe(config.objects[name], drawn))] if drawn["usable"] else []
    if drawn["usable"]:
        more.append(("cooldown", f"{int(drawn['cooldown'])} ticks"))
    if stock >= 0:
        more.append(("uses left", str(stock)))
    if int(drawn["hp"]):
        more.append(("hit points", f"{int(thing['hp'])} of {int(drawn['hp'])}"))
    return ThingFacts(name, number, state, tuple(more))


def recipe(kind: ObjectType, drawn: Any = None) -> str:
    """What using an object takes and gives: ``r1 > r2 + 100 energy``.

    Args:
        kind: its type.
        drawn: the type's row of ``World.types``, whose numbers may differ in this episode; None: those of the type.
    """
    costs = int(drawn["energy_cost"]) if drawn is not None else kind.energy_cost
    gains = int(drawn["energy_gain"]) if drawn is not None else kind.energy_gain
    takes = [_amount(name, n) for name, n in kind.inputs.items()] + ([f"{costs} energy"] if costs else [])
    gives = [_amount(name, n) for name, n in kind.outputs.items()] + ([f"{gains} energy"] if gains else [])
    gives += [f"reward {kind.reward:g}"] if kind.reward else []
    return f"{' + '.join(takes)} > {' + '.join(gives) or 'nothing'}" if takes else " + ".join(gives) or "nothing"


def _amount(name: str, n: int) -> str:
    return name if n == 1 else f"{n} {name}"


def at_cell(world: World, i: int, row: int, col: int) -> tuple[str, int]:
    """What is on a cell: ("agent", slot), ("thing", place), or ("", -1) for nothing."""
    height, width = int(world.rules[i]["height"]), int(world.rules[i]["width"])
    if not (0 <= row < height and 0 <= col < width):
        return "", -1
    kind, which = int(world.kind[i, row + PAD, col + PAD]), int(world.which[i, row + PAD, col + PAD])
    if kind in (EMPTY, OUTSIDE):
        return "", -1
    return ("agent" if kind == AGENT_KIND else "thing"), which


def planes_of(game: Game, config: GridworldConfig, world: World, i: int, slot: Player) -> NDArray[np.uint8]:
    """[C, height, width] uint8: an agent's observation as planes, also in worlds that observe tokens."""
    info, seen = game.info, config.observation
    out = np.zeros(info.observation_shape, info.observation_dtype)
    game.kernels.observe(world, i, slot, out)
    if seen.kind != "tokens":
        return out
    planes = np.zeros((len(plane_names(config)), seen.height, seen.width), np.uint8)
    for place, plane, value in out[out[:, 1] < len(planes)].tolist():
        planes[plane, place // 16, place % 16] = value
    return planes
