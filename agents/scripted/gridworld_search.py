"""Kernels of the gridworld's scripted players: memory, the worth of objects, and path search.

A player sees its window, knows the rules of the episode and its own place, and remembers what it saw. It searches for
the quickest sequence of actions that ends in a worthwhile use: breadth first over (cell, direction), where each step
forward or back and each turn costs one tick, and an object that is still busy costs the wait. Cells never seen count as
free, so paths may lead through them; if the player knows nothing worth using, the nearest unseen cell is its goal.

Letters: N worlds, S slots, H W the map with its padding (``layout.PAD``), B turns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...envs.gridworld.state import (
    AGENT_KIND,
    ATTACK,
    BACK,
    COLUMN_STEP,
    EMPTY,
    FORWARD,
    GIFT,
    NOOP,
    OBJECT_KIND,
    OUTSIDE,
    PAD,
    ROTATE,
    ROW_STEP,
    SWAP,
    USE,
    World,
)
from ...envs.stepping.jit import kernel
from ...envs.stepping.rng import below

__all__ = ["ALTRUIST", "FORAGER", "RAIDER", "Memory", "decide", "forget"]

FORAGER, RAIDER, ALTRUIST = range(3)
UNKNOWN, SPENT = 254, 253
"""Values of ``Memory.known`` besides those of ``kind``: never seen; an object that can't be used any more."""


class Memory(NamedTuple):
    """What the players of N worlds remember.

    Attributes:
        known: [N, S, H, W] uint8 what was last seen in a cell: a value of ``kind``, UNKNOWN or SPENT.
        busy: [N, S, H, W] int32 the tick until which the object last seen there is busy.
        clock: [N, S] int32 the tick in which the player was last asked; -1: never. It may be asked twice in a tick.
        needed: [K_items] bool scratch.
        queue: [4 H W] int32 scratch: nodes (cell * 4 + direction) in order of distance.
        depth: [4 H W] int32 scratch: a node's distance, or -1.
        first: [4 H W] int8 scratch: the first action of the path to a node.
    """

    known: NDArray[np.uint8]
    busy: NDArray[np.int32]
    clock: NDArray[np.int32]
    needed: NDArray[np.bool_]
    queue: NDArray[np.int32]
    depth: NDArray[np.int32]
    first: NDArray[np.int8]


@kernel
def forget(world: World, memory: Memory, i: int, s: int) -> None:
    """Clear the memory for a new episode; only the size of the map is known."""
    for r in range(world.kind.shape[1]):
        for c in range(world.kind.shape[2]):
            memory.known[i, s, r, c] = OUTSIDE if world.kind[i, r, c] == OUTSIDE else UNKNOWN
            memory.busy[i, s, r, c] = 0


@kernel
def _look(world: World, i: int, s: int, memory: Memory) -> None:
    """Write what player s sees in its window into its memory."""
    rules, me = world.rules[i], world.agents[i, s]
    up, left = rules["window_height"] // 2, rules["window_width"] // 2
    if rules["rotate"] and me["facing"] >= 2:
        up, left = left, up
    row, col = me["row"] + PAD, me["col"] + PAD
    for r in range(row - up, row + up + 1):
        for c in range(col - left, col + left + 1):
            kind = world.kind[i, r, c]
            if kind >= OBJECT_KIND and kind != OUTSIDE:
                thing = world.objects[i, world.which[i, r, c]]
                memory.busy[i, s, r, c] = thing["busy_until"]
                if thing["stock"] == 0:
                    kind = SPENT
            memory.known[i, s, r, c] = kind


@kernel
def _need(world: World, i: int, memory: Memory) -> None:
    """Mark the items that lead to rewards or energy: inputs of objects that give either, or that give such items."""
    items = world.recipes.shape[3]
    for j in range(items):
        memory.needed[j] = False
    for _ in range(items):
        for t in range(world.types.shape[1]):
            kind = world.types[i, t]
            useful = kind["usable"] and (kind["reward"] > 0 or kind["energy_gain"] > kind["energy_cost"])
            for j in range(items):
                useful |= memory.needed[j] and world.recipes[i, t, 1, j] > 0
            for j in range(items):
                if useful and world.recipes[i, t, 0, j] > 0:
                    memory.needed[j] = True


@kernel
def _price(world: World, i: int) -> Any:
    """The energy that the cheapest reward costs."""
    price = 1 << 30
    for t in range(world.types.shape[1]):
        if world.types[i, t]["reward"] > 0:
            price = min(price, world.types[i, t]["energy_cost"] + world.rules[i]["use_cost"])
    return price


@kernel
def _worth(world: World, i: int, s: int, t: int, memory: Memory) -> Any:
    """Whether it is worthwhile for player s to use an object of type t now."""
    kind, me, rules = world.types[i, t], world.agents[i, s], world.rules[i]
    cost = kind["energy_cost"] + rules["use_cost"]
    if not kind["usable"] or me["energy"] < cost:
        return False
    items = world.recipes.shape[3]
    for j in range(items):
        if world.items[i, s, j] < world.recipes[i, t, 0, j]:
            return False
    if kind["reward"] > 0:
        return True
    if kind["reward"] < 0:
        return False
    gain = kind["energy_gain"]
    if gain > cost and (me["energy"] - cost + gain <= me["max_energy"] or me["energy"] < _price(world, i)):
        return True
    for j in range(items):
        out = world.recipes[i, t, 1, j]
        if out > 0 and memory.needed[j] and world.items[i, s, j] + out <= me["max_items"]:
            return True
    return False


@kernel
def _way(world: World, i: int, s: int, memory: Memory, mask: NDArray[np.int8]) -> Any:
    """The first action of the quickest path to a worthwhile use, else to an unseen cell; -1: there is neither."""
    me, clock = world.agents[i, s], world.rules[i]["clock"]
    known, busy = memory.known[i, s], memory.busy[i, s]
    width = known.shape[1]
    memory.depth[:] = -1
    start_row, start_col = me["row"] + PAD, me["col"] + PAD
    start = (start_row * width + start_col) * 4 + me["facing"]
    memory.queue[0] = start
    memory.depth[start] = 0
    memory.first[start] = NOOP
    head, tail = 0, 1
    best, best_action = 1 << 30, -1
    frontier = -1
    while head < tail:
        node = memory.queue[head]
        head += 1
        depth = memory.depth[node]
        if depth >= best:
            break
        cell, facing = node // 4, node % 4
        row, col = cell // width, cell % width
        ahead_row, ahead_col = row + ROW_STEP[facing], col + COLUMN_STEP[facing]
        ahead = known[ahead_row, ahead_col]
        if OBJECT_KIND <= ahead < SPENT and _worth(world, i, s, ahead - OBJECT_KIND, memory):
            cost = max(depth, busy[ahead_row, ahead_col] - clock)
            if cost < best:
                best = cost
                best_action = memory.first[node]
                if depth == 0:
                    best_action = USE if cost == 0 else NOOP
        if frontier < 0 and known[row, col] == UNKNOWN:
            frontier = memory.first[node]
        for k in range(6):
            # Forward, back, turns to the four directions.
            turned = facing
            to_row, to_col = row, col
            action = FORWARD
            if k == 0:
                to_row, to_col = ahead_row, ahead_col
            elif k == 1:
                to_row, to_col = row - ROW_STEP[facing], col - COLUMN_STEP[facing]
                action = BACK
            else:
                turned = k - 2
                action = ROTATE + turned
            there = known[to_row, to_col]
            # Another agent is likely to have moved on by the time we arrive, unless it is near.
            away = max(abs(to_row - start_row), abs(to_col - start_col))
            free = k >= 2 or there in (EMPTY, UNKNOWN) or (there == AGENT_KIND and away > 2)
            if not free:
                continue
            other = (to_row * width + to_col) * 4 + turned
            if memory.depth[other] >= 0 or (depth == 0 and mask[action] == 0):
                continue
            memory.depth[other] = depth + 1
            memory.first[other] = action if depth == 0 else memory.first[node]
            memory.queue[tail] = other
            tail += 1
    return best_action if best_action >= 0 else frontier


@kernel
def _neighbour(world: World, i: int, s: int, direction: int) -> Any:
    """The slot of the agent next to player s in a direction, or -1."""
    me = world.agents[i, s]
    row, col = me["row"] + PAD + ROW_STEP[direction], me["col"] + PAD + COLUMN_STEP[direction]
    if world.kind[i, row, col] != AGENT_KIND:
        return -1
    return world.which[i, row, col]


@kernel
def _kin(world: World, i: int, s: int, other: int) -> Any:
    """Whether two agents are kin: the same label, or a relatedness of at least one eighth."""
    mine = world.agents[i, s]["label"]
    if mine >= 0 and mine == world.agents[i, other]["label"]:
        return True
    return world.related.shape[1] > 1 and world.related[i, s, other] >= 0.125


@kernel
def _raid(world: World, i: int, s: int, mask: NDArray[np.int8]) -> Any:
    """Attack a stranger in reach that carries an item we have room for, or loot an agent ahead by USE; -1: neither."""
    me = world.agents[i, s]
    facing = me["facing"]
    if mask[USE] == 1 and world.rules[i]["loot_by_use"] and _neighbour(world, i, s, facing) >= 0:
        return USE
    # The left of an agent that faces up is left; facing down it is right, facing left down, facing right up.
    left_row, left_col = -COLUMN_STEP[facing], ROW_STEP[facing]
    for k in range(9):
        if mask[ATTACK + k] == 0:
            continue
        distance, aside = 1 + k // 3, 1 - k % 3
        row = me["row"] + PAD + distance * ROW_STEP[facing] + aside * left_row
        col = me["col"] + PAD + distance * COLUMN_STEP[facing] + aside * left_col
        if world.kind[i, row, col] != AGENT_KIND:
            continue
        other = world.which[i, row, col]
        if _kin(world, i, s, other):
            continue
        for j in range(world.items.shape[2]):
            if world.items[i, other, j] > 0 and world.items[i, s, j] < me["max_items"]:
                return ATTACK + k
    return -1


@kernel
def _give(world: World, i: int, s: int, memory: Memory, mask: NDArray[np.int8]) -> Any:
    """Give a needed item to kin ahead that has fewer of it, or turn towards adjacent kin that has; -1: neither."""
    me = world.agents[i, s]
    for k in range(4):
        direction = (me["facing"] + k) % 4
        other = _neighbour(world, i, s, direction)
        if other < 0 or not _kin(world, i, s, other):
            continue
        for j in range(world.items.shape[2]):
            if memory.needed[j] and world.items[i, s, j] > world.items[i, other, j] + 1:
                if k == 0 and mask[GIFT + j] == 1:
                    return GIFT + j
                if k > 0 and world.rules[i]["gift"] and mask[ROTATE + direction] == 1:
                    return ROTATE + direction
    return -1


@kernel
def _one(world: World, i: int, s: int, memory: Memory, mask: NDArray[np.int8], style: int, noise: int) -> Any:
    """The action of one player."""
    clock, last = world.rules[i]["clock"], memory.clock[i, s]
    if clock == 0 or last < 0 or not (last <= clock <= last + 1):
        forget(world, memory, i, s)
    memory.clock[i, s] = clock
    _look(world, i, s, memory)
    _need(world, i, memory)
    action = -1
    if style == RAIDER:
        action = _raid(world, i, s, mask)
    if style == ALTRUIST:
        action = _give(world, i, s, memory, mask)
    if action < 0:
        action = _way(world, i, s, memory, mask)
    # Two agents that want to pass each other could step aside together for ever, so some moves are random.
    crowded = action < USE and below(noise << np.uint64(32), 6) == 0  # below reads the upper 32 bits
    near = False
    for direction in range(4):
        near |= _neighbour(world, i, s, direction) >= 0
    if action < 0 or mask[action] == 0 or (crowded and near):
        if mask[SWAP] == 1:
            return SWAP
        few = 0
        for a in range(FORWARD, ROTATE + 4):
            few += mask[a]
        if few == 0:
            return NOOP
        left = below(noise, few)
        for a in range(FORWARD, ROTATE + 4):
            left -= mask[a]
            if left < 0:
                return a
    return action


@kernel
def decide(
    world: World,
    memory: Memory,
    rows: NDArray[np.int64],
    seats: NDArray[np.int64],
    masks: NDArray[np.int8],
    style: int,
    random: NDArray[np.uint64],
    out: NDArray[np.int64],
) -> None:
    """Write into out [B] the actions of players seats [B] in worlds rows [B]; masks [B, A]; random [B] random bits."""
    for b in range(rows.shape[0]):
        out[b] = _one(world, rows[b], seats[b], memory, masks[b], style, random[b])
