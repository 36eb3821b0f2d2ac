"""A tick of the gridworld, as docs/games/gridworld-rules.md has it: events, order, attacks, other verbs, sharing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....aliases import RUNNING, TERMINATED, TRUNCATED, Rewards, Status
from ...kinship.kernels import prestige, share_labels, share_matrix, share_relatives
from ...stepping.jit import kernel, part
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
from .may import attackable, cell, may_attack, may_gift, may_move, may_rotate, may_shield, may_swap, may_use, steps

__all__ = ["draw", "step"]

TEAMS, FAMILIES, MATRIX = int(Sharing.TEAMS), int(Sharing.FAMILIES), int(Sharing.MATRIX)
GROUPS, RELATEDNESS = int(Sharing.GROUPS), int(Sharing.RELATEDNESS)


@kernel
def draw(world: World, i: Any) -> Word:
    """The next random word of world i."""
    rules = world.rules[i]
    drawn = word(rules["seed"], rules["draws"])
    rules["draws"] += 1
    return drawn


# -- what happens to agents and objects --------------------------------------------------------------------------------


@part
def die(world: World, i: Any, s: Any) -> None:
    """The agent leaves its cell and everything it holds is lost."""
    agent = world.agents[i, s]
    put(world.kind, cell(world, i, np.int64(agent["row"]), np.int64(agent["col"])), EMPTY)
    agent["alive"] = False
    agent["energy"] = 0
    agent["shield"] = False
    for j in range(world.items.shape[2]):
        world.items[i, s, j] = 0


@part
def go(world: World, i: Any, s: Any, row: Any, column: Any) -> None:
    """Agent s stands in that cell of the map now; the one it leaves is not touched."""
    agent, there = world.agents[i, s], cell(world, i, row, column)
    put(world.kind, there, AGENT_KIND)
    put(world.which, there, s)
    agent["row"], agent["col"] = row, column


@part
def loot(world: World, i: Any, s: Any, target: Any) -> None:
    """Agent s takes of each item as many as it can hold."""
    limit = world.agents[i, s]["max_items"]
    for j in range(world.items.shape[2]):
        taken = min(world.items[i, target, j], limit - world.items[i, s, j])
        if taken > 0:
            world.items[i, target, j] -= taken
            world.items[i, s, j] += taken


@part
def hit(world: World, i: Any, s: Any, target: Any) -> None:
    """Agent s attacks the target: its shield gives way first."""
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


# -- verbs: each returns whether it succeeded --------------------------------------------------------------------------


@part
def move(world: World, i: Any, s: Any, way: Any) -> bool:
    """One cell forward or back."""
    if not may_move(world, i, s, way):
        return False
    agent = world.agents[i, s]
    row, column, facing = np.int64(agent["row"]), np.int64(agent["col"]), agent["facing"]
    agent["energy"] -= world.rules[i]["move_cost"]
    put(world.kind, cell(world, i, row, column), EMPTY)
    go(world, i, s, row + way * ROW_STEP[facing], column + way * COLUMN_STEP[facing])
    return True


@part
def rotate(world: World, i: Any, s: Any, direction: Any) -> bool:
    """Look there."""
    if not may_rotate(world, i, s):
        return False
    agent = world.agents[i, s]
    agent["energy"] -= world.rules[i]["rotate_cost"]
    agent["facing"] = direction
    return True


@part
def use(world: World, i: Any, s: Any, rewards: Rewards) -> bool:
    """Use the object ahead, or loot the frozen agent ahead."""
    rules, agent = world.rules[i], world.agents[i, s]
    if not may_use(world, i, s, np.int64(rules["clock"])):
        return False
    here, ahead, _ = steps(world, i, s)
    found, other = np.int64(get(world.kind, here + ahead)), np.int64(get(world.which, here + ahead))
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
        agent["score"] += kind["energy_cost"]
    return True


@part
def attack(world: World, i: Any, s: Any, k: Any) -> bool:
    """Attack k, 1..9: an agent or an object in the block ahead."""
    here, ahead, left = steps(world, i, s)
    target = here + (1 + (k - 1) // 3) * ahead + (1 - (k - 1) % 3) * left
    if not may_attack(world, i, s) or not attackable(world, i, target):
        return False
    other = np.int64(get(world.which, target))
    world.agents[i, s]["energy"] -= world.rules[i]["attack_cost"]
    if get(world.kind, target) == AGENT_KIND:
        hit(world, i, s, other)
        return True
    thing = world.objects[i, other]
    thing["hp"] -= 1
    if thing["hp"] <= 0:
        thing["type"] = GONE
        put(world.kind, target, EMPTY)
    return True


@part
def shield(world: World, i: Any, s: Any) -> bool:
    """On goes off, off goes on."""
    if not may_shield(world, i, s):
        return False
    agent = world.agents[i, s]
    agent["energy"] -= world.rules[i]["shield_cost"]
    agent["shield"] = not agent["shield"]
    return True


@part
def swap(world: World, i: Any, s: Any) -> bool:
    """Change places with the frozen agent ahead."""
    rules, agent = world.rules[i], world.agents[i, s]
    if not may_swap(world, i, s, np.int64(rules["clock"])):
        return False
    here, ahead, _ = steps(world, i, s)
    other = np.int64(get(world.which, here + ahead))
    row, column = np.int64(world.agents[i, other]["row"]), np.int64(world.agents[i, other]["col"])
    agent["energy"] -= rules["swap_cost"]
    go(world, i, other, np.int64(agent["row"]), np.int64(agent["col"]))
    go(world, i, s, row, column)
    return True


@part
def gift(world: World, i: Any, s: Any, j: Any) -> bool:
    """One item j to the agent ahead."""
    if not may_gift(world, i, s, j):
        return False
    here, ahead, _ = steps(world, i, s)
    world.agents[i, s]["energy"] -= world.rules[i]["gift_cost"]
    world.items[i, s, j] -= 1
    world.items[i, np.int64(get(world.which, here + ahead)), j] += 1
    return True


@part
def act(world: World, i: Any, s: Any, action: Any, rewards: Rewards) -> bool:
    """One action, 0..A-1, of an agent that isn't frozen."""
    if action == NOOP:
        return True
    if action < ROTATE:
        return move(world, i, s, 1 if action == FORWARD else -1)
    if action < USE:
        return rotate(world, i, s, action - ROTATE)
    if action == USE:
        return use(world, i, s, rewards)
    if action < SHIELD:
        return attack(world, i, s, action - ATTACK + 1)
    if action == SHIELD:
        return shield(world, i, s)
    if action == SWAP:
        return swap(world, i, s)
    return gift(world, i, s, action - GIFT)


# -- the tick ----------------------------------------------------------------------------------------------------------


@part
def events(world: World, i: Any) -> int:
    """Shields, upkeep and deaths of age or hunger; writes the living into ``order`` and returns how many they are."""
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


@kernel
def shuffle(world: World, i: Any, living: Any) -> None:
    """Put the first places of ``order`` into random order."""
    for k in range(living - 1, 0, -1):
        other = below(draw(world, i), k + 1)
        slot = world.order[i, k]
        world.order[i, k] = world.order[i, other]
        world.order[i, other] = slot


@kernel
def turn(world: World, i: Any, s: Any, action: Any, rewards: Rewards) -> None:
    """One agent's turn; the dead do nothing."""
    agent = world.agents[i, s]
    if not agent["alive"]:
        return
    known = 0 <= action < GIFT + world.items.shape[2]
    agent["last_action"] = action if known else -1
    agent["succeeded"] = known and world.rules[i]["clock"] > agent["frozen_until"] and act(world, i, s, action, rewards)


@kernel
def share(world: World, i: Any, rewards: Rewards) -> None:
    """Kinship: what the tick has earned, among those who live; then prestige."""
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
    """One tick of world i: actions [S] (any numbers), rewards [S] of zeros, which it fills."""
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
