"""A tick of the gridworld, as in docs/games/gridworld-rules.md: events, order, attacks, other verbs, sharing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....aliases import RUNNING, TERMINATED, TRUNCATED, Rewards, Status
from ...kinship.kernels import prestige, share_labels, share_matrix, share_relatives
from ...stepping.jit import inner, kernel, part
from ...stepping.machine import get, put
from ...stepping.rng import Word, below, word
from ..config import Sharing
from ..state import (
    AGENT_KIND,
    ATTACK,
    COLUMN_STEP,
    EMPTY,
    FORWARD,
    GIFT,
    GONE,
    NOOP,
    OBJECT_KIND,
    ROTATE,
    ROW_STEP,
    SHIELD,
    SWAP,
    USE,
    World,
)
from .may import (
    attackable,
    attacked,
    cell,
    may_attack,
    may_gift,
    may_move,
    may_rotate,
    may_shield,
    may_swap,
    may_use,
    steps,
)

__all__ = ["draw", "step"]

TEAMS, FAMILIES, MATRIX = int(Sharing.TEAMS), int(Sharing.FAMILIES), int(Sharing.MATRIX)
GROUPS, RELATEDNESS = int(Sharing.GROUPS), int(Sharing.RELATEDNESS)


@kernel
def draw(world: World, i: Any) -> Word:
    """The next 64 random bits of world i."""
    rules = world.rules[i]
    drawn = word(rules["seed"], rules["draws"])
    rules["draws"] += 1
    return drawn


# -- what happens to agents and objects --------------------------------------------------------------------------------


@part
def die(world: World, i: Any, s: Any) -> None:
    """The agent leaves its cell and loses all it holds."""
    agent = world.agents[i, s]
    put(world.kind, cell(world, i, np.int64(agent["row"]), np.int64(agent["col"])), EMPTY)
    agent["alive"] = False
    agent["energy"] = 0
    agent["shield"] = False
    for j in range(world.items.shape[2]):
        world.items[i, s, j] = 0


@part
def loot(world: World, i: Any, s: Any, target: Any) -> None:
    """Agent s takes as many of each of the target's items as it can hold."""
    limit = world.agents[i, s]["max_items"]
    for j in range(world.items.shape[2]):
        taken = min(world.items[i, target, j], limit - world.items[i, s, j])
        if taken > 0:
            world.items[i, target, j] -= taken
            world.items[i, s, j] += taken


@part
def hit(world: World, i: Any, s: Any, target: Any) -> None:
    """Agent s hits the target, whose shield absorbs the hit if energy remains after the damage."""
    rules, agent = world.rules[i], world.agents[i, target]
    if agent["shield"]:
        agent["energy"] = max(0, agent["energy"] - world.agents[i, s]["damage"])
        if agent["energy"] > 0:
            return
    agent["frozen_until"] = rules["clock"] + rules["freeze"]
    agent["energy"] = 0
    agent["shield"] = False
    if not rules["loot_by_use"]:
        loot(world, i, s, target)
    if rules["death_hp"]:
        agent["hp"] -= 1
        if agent["hp"] <= 0:
            die(world, i, target)


# -- verbs: each returns whether it succeeded; ``here`` is the agent's cell, ``there`` the cell it acts on -------------


@part
def move(world: World, i: Any, s: Any, here: Any, there: Any, way: Any) -> bool:
    """One cell forward (way 1) or back (-1)."""
    if not may_move(world, i, s, there):
        return False
    agent = world.agents[i, s]
    agent["energy"] -= world.rules[i]["move_cost"]
    agent["row"] += way * ROW_STEP[agent["facing"]]
    agent["col"] += way * COLUMN_STEP[agent["facing"]]
    put(world.kind, here, EMPTY)
    put(world.kind, there, AGENT_KIND)
    put(world.which, there, s)
    return True


@part
def rotate(world: World, i: Any, s: Any, direction: Any) -> bool:
    """Face a direction."""
    if not may_rotate(world, i, s):
        return False
    agent = world.agents[i, s]
    agent["energy"] -= world.rules[i]["rotate_cost"]
    agent["facing"] = direction
    return True


@part
def use(world: World, i: Any, s: Any, there: Any, rewards: Rewards) -> bool:
    """Use the object there, or loot the frozen agent there."""
    rules, agent = world.rules[i], world.agents[i, s]
    if not may_use(world, i, s, there, np.int64(rules["clock"])):
        return False
    found, other = np.int64(get(world.kind, there)), np.int64(get(world.which, there))
    agent["energy"] -= rules["use_cost"]
    if found == AGENT_KIND:
        loot(world, i, s, other)
        return True
    t = found - OBJECT_KIND
    kind, thing = world.types[i, t], world.objects[i, other]
    for j in range(world.items.shape[2]):
        held = world.items[i, s, j] - world.recipes[i, t, 0, j]
        if world.recipes[i, t, 1, j] > 0:
            held = max(held, min(held + world.recipes[i, t, 1, j], agent["max_items"]))
        world.items[i, s, j] = held
    agent["energy"] -= kind["energy_cost"]
    agent["energy"] = max(agent["energy"], min(agent["energy"] + kind["energy_gain"], agent["max_energy"]))
    if thing["stock"] > 0:
        thing["stock"] -= 1
    thing["busy_until"] = rules["clock"] + kind["cooldown"]
    if kind["reward"] != 0:
        rewards[s] += kind["reward"]
        agent["score"] = min(np.int64(agent["score"]) + kind["energy_cost"], 2**31 - 1)
    return True


@part
def attack(world: World, i: Any, s: Any, there: Any) -> bool:
    """Attack the agent or object there."""
    if not may_attack(world, i, s) or not attackable(world, i, there):
        return False
    other = np.int64(get(world.which, there))
    world.agents[i, s]["energy"] -= world.rules[i]["attack_cost"]
    if get(world.kind, there) == AGENT_KIND:
        hit(world, i, s, other)
        return True
    thing = world.objects[i, other]
    thing["hp"] -= 1
    if thing["hp"] <= 0:
        thing["type"] = GONE
        put(world.kind, there, EMPTY)
    return True


@part
def shield(world: World, i: Any, s: Any) -> bool:
    """Turn the shield on if it is off, and off if it is on."""
    if not may_shield(world, i, s):
        return False
    agent = world.agents[i, s]
    agent["energy"] -= world.rules[i]["shield_cost"]
    agent["shield"] = not agent["shield"]
    return True


@part
def swap(world: World, i: Any, s: Any, here: Any, there: Any) -> bool:
    """Change places with the frozen agent there."""
    rules, agent = world.rules[i], world.agents[i, s]
    if not may_swap(world, i, s, there, np.int64(rules["clock"])):
        return False
    slot = np.int64(get(world.which, there))
    other = world.agents[i, slot]
    agent["energy"] -= rules["swap_cost"]
    agent["row"], other["row"] = other["row"], agent["row"]
    agent["col"], other["col"] = other["col"], agent["col"]
    put(world.which, here, slot)
    put(world.which, there, s)
    return True


@part
def gift(world: World, i: Any, s: Any, there: Any, j: Any) -> bool:
    """Give one item j to the agent there."""
    if not may_gift(world, i, s, there, j):
        return False
    world.agents[i, s]["energy"] -= world.rules[i]["gift_cost"]
    world.items[i, s, j] -= 1
    world.items[i, np.int64(get(world.which, there)), j] += 1
    return True


@part
def act(world: World, i: Any, s: Any, action: Any, rewards: Rewards) -> bool:
    """Perform one action, 0..A-1, of an agent that is not frozen; returns whether it succeeded."""
    if action == NOOP:
        return True
    here, ahead, left = steps(world, i, s)
    if action < ROTATE:
        way = 1 if action == FORWARD else -1
        return move(world, i, s, here, here + way * ahead, way)
    if action < USE:
        return rotate(world, i, s, action - ROTATE)
    if action == USE:
        return use(world, i, s, here + ahead, rewards)
    if action < SHIELD:
        return attack(world, i, s, attacked(here, ahead, left, action - ATTACK))
    if action == SHIELD:
        return shield(world, i, s)
    if action == SWAP:
        return swap(world, i, s, here, here + ahead)
    return gift(world, i, s, here + ahead, action - GIFT)


# -- the tick ----------------------------------------------------------------------------------------------------------


@part
def events(world: World, i: Any) -> int:
    """Shields, upkeep, and deaths by age or lack of energy; writes the living to ``order``, returns their number."""
    rules = world.rules[i]
    living = 0
    for s in range(world.agents.shape[1]):
        agent = world.agents[i, s]
        if not agent["alive"]:
            continue
        agent["last_reward"] = 0
        if agent["shield"]:
            if agent["energy"] < rules["shield_upkeep"]:
                agent["shield"] = False
            else:
                agent["energy"] -= rules["shield_upkeep"]
        agent["energy"] = max(0, agent["energy"] - agent["upkeep"])
        starved = rules["death_energy"] and agent["energy"] == 0
        aged = rules["max_age"] > 0 and rules["clock"] - agent["born"] >= rules["max_age"]
        if starved or aged:
            die(world, i, s)
        else:
            world.order[i, living] = s
            living += 1
    return living


@inner
def shuffle(world: World, i: Any, living: Any) -> None:
    """Shuffle the first ``living`` entries of ``order``."""
    for k in range(living - 1, 0, -1):
        other = below(draw(world, i), k + 1)
        slot = world.order[i, k]
        world.order[i, k] = world.order[i, other]
        world.order[i, other] = slot


@inner
def turn(world: World, i: Any, s: Any, action: Any, rewards: Rewards) -> None:
    """One agent's turn; agents that died in this tick do nothing."""
    agent = world.agents[i, s]
    if not agent["alive"]:
        return
    known = 0 <= action < GIFT + world.items.shape[2]
    agent["last_action"] = action if known else -1
    agent["succeeded"] = known and world.rules[i]["clock"] > agent["frozen_until"] and act(world, i, s, action, rewards)


@inner
def share(world: World, i: Any, rewards: Rewards) -> None:
    """Share the tick's rewards among the living by kinship, then pay prestige."""
    rules = world.rules[i]
    mode, living = rules["kinship"], world.agents["alive"][i]
    if mode in (TEAMS, FAMILIES, GROUPS):
        share_labels(rewards, world.agents["label"][i], world.pct[i], living, world.pool[i])
    elif mode == MATRIX:
        share_matrix(rewards, world.related[i], living, world.pool[i, :, 0])
    elif mode == RELATEDNESS:
        share_relatives(rewards, world.related[i], living, rules["normalise"], world.pool[i, :, 0])
    if rules["prestige_every"] > 0 and rules["clock"] % rules["prestige_every"] == 0:
        prestige(world.agents["score"][i], living, rewards)


@kernel
def step(world: World, i: Any, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """One tick of world i: actions [S] (any numbers); fills rewards [S], which hold zeros."""
    rules = world.rules[i]
    rules["clock"] += 1
    living = events(world, i)
    if rules["shuffled"]:
        shuffle(world, i, living)
    for k in range(living):
        s = np.int64(world.order[i, k])
        if ATTACK <= actions[s] < SHIELD:
            turn(world, i, s, np.int64(actions[s]), rewards)
    for k in range(living):
        s = np.int64(world.order[i, k])
        if not ATTACK <= actions[s] < SHIELD:
            turn(world, i, s, np.int64(actions[s]), rewards)
    share(world, i, rewards)
    left = 0
    for k in range(living):
        agent = world.agents[i, world.order[i, k]]
        agent["last_reward"] = rewards[world.order[i, k]]
        left += agent["alive"]
    if left == 0:
        return TERMINATED
    return TRUNCATED if rules["clock"] >= rules["max_steps"] else RUNNING
