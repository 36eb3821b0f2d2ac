"""A second, slow implementation of the gridworld's rules in plain Python, to compare the kernels with.

It was written from docs/games/gridworld-rules.md alone and shares no code with the kernels: no tables of plane numbers,
no padding, its own random generator. It copies a row of a ``World`` that was just reset, and from then on gets only the
actions.

The file is longer than most because it implements one whole page of rules.

Letters: S slots, I kinds of items, A actions, C planes, h w the window.
"""

from __future__ import annotations

from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, TRUNCATED
from ..envs.gridworld.config import GridworldConfig
from ..envs.gridworld.state import AGENT, OBJECT, World

__all__ = ["Reference", "close", "plane_list"]

UP, DOWN, LEFT, RIGHT = 0, 1, 2, 3
STEP = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}
LEFT_OF = {UP: LEFT, DOWN: RIGHT, LEFT: DOWN, RIGHT: UP}
EMPTY, AN_AGENT, FIRST_TYPE, BEYOND, NO_TYPE = 0, 1, 2, 255, 255
AGENT_FEATURES = ("hp", "frozen", "energy", "orientation", "shield")
VERBS = ("noop", "forward", "back", *("rotate",) * 4, "use", *("attack",) * 9, "shield", "swap")
COST = {verb: f"{verb}_cost" for verb in (*VERBS, "gift")} | {"forward": "move_cost", "back": "move_cost"}
"""Verb -> name of its cost in the rules."""
_FIXED = ("types", "recipes", "ranges", "regions", "counts", "plan", "related", "pct")
"""Arrays that no rule changes after the reset."""
_64 = (1 << 64) - 1
_agent_record, _object_record = attrgetter(*AGENT.names or ()), attrgetter(*OBJECT.names or ())


def _records(array: NDArray[Any]) -> list[SimpleNamespace]:
    """The fields of a structured array as attributes."""
    return [SimpleNamespace(**dict(zip(array.dtype.names or (), row, strict=True))) for row in array.tolist()]


def random_below(seed: int, number: int, n: int) -> int:
    """A random number in 0..n-1, from output ``number`` of SplitMix64 with this seed."""
    y = (seed + 0x9E3779B97F4A7C15 * (number + 1)) & _64
    y = ((y ^ (y >> 30)) * 0xBF58476D1CE4E5B9) & _64
    y = ((y ^ (y >> 27)) * 0x94D049BB133111EB) & _64
    return ((y ^ (y >> 31)) >> 32) * n >> 32


def close(a: float, b: float) -> bool:
    """Whether two rewards after sharing are equal up to rounding: the rules fix no order of additions."""
    return abs(a - b) <= 1e-6 + 1e-5 * max(abs(a), abs(b))


def plane_list(config: GridworldConfig) -> list[tuple[str, str]]:
    """[C] (subject, feature) of each plane: ("agent", "energy"), ("altar", "ready"), ("altar", "") for presence."""
    planes = [("agent", ""), *(("agent", feature) for feature in (*AGENT_FEATURES, *config.items))]
    for name, kind in config.objects.items():
        features = [("", True), ("hp", kind.hp > 0), ("stock", kind.stock >= 0)]
        gives = bool(kind.outputs) or kind.energy_gain > 0
        features += [(feature, bool(kind.inputs) and gives) for feature in ("input", "output", "gain")]
        features.append(("ready", kind.usable))
        planes += [(name, feature) for feature, there in features if there]
    seen = config.observation
    extra = {"kinship": seen.kinship, "last_action": seen.last_action, "last_reward": seen.last_reward}
    return planes + [("", name) for name, there in extra.items() if there]


class Reference:
    """One world under the rules.

    Args:
        config: of the world.
        world: N worlds; row i was just reset.
        i: the row.

    Attributes:
        log: of the last tick, in the order of turns: (slot, action, why it failed or "", what it met).
    """

    def __init__(self, config: GridworldConfig, world: World, i: int) -> None:
        self.config = config
        self.rules: dict[str, Any] = {name: world.rules[name][i].item() for name in world.rules.dtype.names or ()}
        self.types = _records(world.types[i])
        self.recipes: list[list[list[int]]] = world.recipes[i].tolist()
        self.agents = _records(world.agents[i])
        self.objects = _records(world.objects[i])
        self.items: list[list[int]] = world.items[i].tolist()
        self.related: list[list[float]] = world.related[i].tolist()
        self.pct: list[float] = world.pct[i].tolist()
        self.height, self.width = self.rules["height"], self.rules["width"]
        pad = (world.kind.shape[1] - self.height) // 2
        self.pad = pad
        inside = (i, slice(pad, pad + self.height), slice(pad, pad + self.width))
        self.kind: list[list[int]] = world.kind[inside].tolist()
        self.which: list[list[int]] = np.where(world.kind[inside] == EMPTY, -1, world.which[inside]).tolist()
        self.fixed = {name: getattr(world, name)[i].copy() for name in _FIXED}
        self.planes_of = plane_list(config)
        self.hidden = {tuple(name.split(".")) for name in config.observation.hidden}
        self.type_names = list(config.objects)
        self.first_items = [
            [next((j + 1 for j, n in enumerate(side) if n), 0) for side in both] for both in self.recipes
        ]
        self.actions = len(VERBS) + len(config.items)
        self.log: list[tuple[int, int, str, str]] = []

    def check_start(self) -> None:
        """Check a world that was just reset against the rules, except for its map and sampled values.

        Raises:
            AssertionError: it breaks a rule.
        """
        start = {"facing": UP, "shield": False, "succeeded": False, "last_action": -1, "last_reward": 0.0}
        start |= {"born": 0, "frozen_until": 0, "score": 0, "hp": self.rules["hp"]}
        for slot, agent in enumerate(self.agents):
            founder = slot < self.rules["agents"]
            assert (agent.alive, agent.id) == (founder, slot if founder else -1), ("founders", slot)
            assert not any(self.items[slot]), ("items", slot)
            if founder:
                found = {name: getattr(agent, name) for name in start}
                assert found == start, (slot, found)
                assert agent.energy == min(self.rules["energy"], agent.max_energy), ("energy", slot)
        things = [thing for thing in self.objects if thing.type != NO_TYPE]
        cells = [(thing.row, thing.col) for thing in things]
        assert cells == sorted(cells), "objects are numbered row by row"
        for number, thing in enumerate(things):
            kind = self.types[thing.type]
            assert (thing.busy_until, thing.hp, thing.stock) == (0, kind.hp, kind.stock), ("object", number)
            assert self._there((thing.row, thing.col)) == FIRST_TYPE + thing.type, ("object", number)
        drawn = sum(kind >= FIRST_TYPE for row in self.kind for kind in row)
        assert drawn == len(cells), ("objects", drawn, len(cells))

        self._check_kin()

    def _check_kin(self) -> None:
        kinship, founders, size = self.config.kinship, self.rules["agents"], max(1, self.rules["team_size"])
        labels = [agent.label for agent in self.agents[:founders]]
        mode = kinship.mode if kinship.mode != "teams" or not kinship.labels else "groups"
        if mode == "teams":
            assert labels == [slot // size for slot in range(founders)], ("teams", labels)
        if mode == "groups":
            assert labels == list(kinship.labels)[:founders], ("groups", labels)
        if mode == "families":
            members = sorted(map(labels.count, set(labels)))
            assert members == sorted([size] * (founders // size) + [founders % size] * (founders % size > 0)), labels
        if kinship.mode in ("teams", "families", "groups"):
            for label in set(labels):
                part = kinship.pct[label] if kinship.mode == "groups" else self.rules["share"]
                assert close(self.pct[label], part), ("pct", label)
        if kinship.mode == "matrix":
            for slot, row in enumerate(kinship.matrix):
                whole = 1 if kinship.normalise is False else sum(row) or 1
                assert all(map(close, self.related[slot], [k / whole for k in row])), ("matrix", slot)
        if kinship.mode == "relatedness" and not kinship.pedigree:
            for slot in range(founders):
                kin = {other for other in range(founders) if self.related[slot][other]}
                assert founders % size or len(kin) == size, ("siblings", slot)
                assert all(self.related[a][b] == (1.0 if a == b else 0.5) for a in kin for b in kin), ("siblings", slot)

    # -- where things are

    def cell(self, agent: Any, ahead: int, left: int = 0) -> tuple[int, int]:
        """The cell ``ahead`` and ``left`` of an agent, by that many cells; it may be outside the map."""
        (dr, dc), (lr, lc) = STEP[agent.facing], STEP[LEFT_OF[agent.facing]]
        return agent.row + ahead * dr + left * lr, agent.col + ahead * dc + left * lc

    def _there(self, cell: tuple[int, int]) -> int:
        """The content of a cell: a value of ``kind``."""
        row, col = cell
        return self.kind[row][col] if 0 <= row < self.height and 0 <= col < self.width else BEYOND

    def _put(self, cell: tuple[int, int], kind: int, which: int) -> None:
        self.kind[cell[0]][cell[1]], self.which[cell[0]][cell[1]] = kind, which

    def agent_at(self, cell: tuple[int, int]) -> int:
        """The slot of the agent in a cell, or -1."""
        return self.which[cell[0]][cell[1]] if self._there(cell) == AN_AGENT else -1

    # -- why an action would fail: "" if it would succeed

    def cost_of(self, action: int) -> int:
        """The energy cost of an action's verb, without the cost of an object."""
        if action == 0:
            return 0
        verb = VERBS[action] if action < len(VERBS) else "gift"
        cost: int = self.rules[COST[verb]]
        return cost

    def obstacle(self, slot: int, action: int, tick: int) -> str:
        """Why an action would fail in a tick; "" if it would not."""
        agent = self.agents[slot]
        if tick <= agent.frozen_until:
            return "frozen"
        if not 0 <= action < self.actions:
            return "no such action"
        verb = VERBS[action] if action < len(VERBS) else "gift"
        if verb in ("attack", "shield", "swap", "gift") and not self.rules[verb]:
            return "switched off"
        if agent.energy < self.cost_of(action):
            return "energy"
        if verb in ("forward", "back"):
            found = self._there(self.cell(agent, 1 if verb == "forward" else -1))
            return "" if found == EMPTY else "occupied"
        if verb == "use":
            return self._use_obstacle(slot, tick)
        if verb == "attack":
            found = self._there(self.target(agent, action - 7))
            if found in (EMPTY, BEYOND):
                return "nothing there"
            return "" if found == AN_AGENT or self.types[found - FIRST_TYPE].hp > 0 else "no hp"
        if verb in ("swap", "gift"):
            other = self.agent_at(self.cell(agent, 1))
            if other < 0:
                return "nobody there"
            if verb == "swap":
                return "" if tick <= self.agents[other].frozen_until else "not frozen"
            item = action - len(VERBS)
            if self.items[slot][item] == 0:
                return "nothing to give"
            return "" if self.items[other][item] < self.agents[other].max_items else "full"
        return ""

    def target(self, agent: Any, k: int) -> tuple[int, int]:
        """The cell that attack k, 1..9, aims at."""
        return self.cell(agent, 1 + (k - 1) // 3, 1 - (k - 1) % 3)

    def _use_obstacle(self, slot: int, tick: int) -> str:
        agent, held = self.agents[slot], self.items[slot]
        cell = self.cell(agent, 1)
        found = self._there(cell)
        if found in (EMPTY, BEYOND):
            return "nothing there"
        if found == AN_AGENT:
            other = self.agent_at(cell)
            if not self.rules["loot_by_use"] or tick > self.agents[other].frozen_until:
                return "an agent"
            return "" if any(self._loot(slot, other)) else "nothing to loot"
        kind, (inputs, outputs) = self.types[found - FIRST_TYPE], self.recipes[found - FIRST_TYPE]
        thing = self.objects[self.which[cell[0]][cell[1]]]
        if not kind.usable:
            return "not usable"
        if tick <= thing.busy_until:
            return "not ready"
        if thing.stock == 0:
            return "no stock"
        if any(has < needs for has, needs in zip(held, inputs, strict=True)):
            return "inputs"
        rest = agent.energy - self.rules["use_cost"] - kind.energy_cost
        if rest < 0:
            return "energy of the object"
        fits = [
            out > 0 and has - needs < agent.max_items for has, needs, out in zip(held, inputs, outputs, strict=True)
        ]
        gains = kind.reward != 0 or any(fits) or (kind.energy_gain > 0 and rest < agent.max_energy)
        return "" if gains else "no gain"

    def _loot(self, slot: int, other: int) -> list[int]:
        """[I] how many of each item ``slot`` can take from ``other``."""
        most = self.agents[slot].max_items
        return [
            min(theirs, max(0, most - own)) for own, theirs in zip(self.items[slot], self.items[other], strict=True)
        ]

    # -- effects

    def _act(self, slot: int, action: int, rewards: list[float]) -> str:
        """Carry out a possible action; returns what it met."""
        agent = self.agents[slot]
        agent.energy -= self.cost_of(action)
        verb = VERBS[action] if action < len(VERBS) else "gift"
        if verb in ("forward", "back"):
            goal = self.cell(agent, 1 if verb == "forward" else -1)
            self._put((agent.row, agent.col), EMPTY, -1)
            self._put(goal, AN_AGENT, slot)
            agent.row, agent.col = goal
        elif verb == "rotate":
            agent.facing = action - 3
        elif verb == "use":
            return self._use(slot, rewards)
        elif verb == "attack":
            return self._attack(slot, self.target(agent, action - 7))
        elif verb == "shield":
            agent.shield = not agent.shield
            return "on" if agent.shield else "off"
        elif verb == "swap":
            cell = self.cell(agent, 1)
            other = self.agent_at(cell)
            self._put((agent.row, agent.col), AN_AGENT, other)
            self._put(cell, AN_AGENT, slot)
            self.agents[other].row, self.agents[other].col = agent.row, agent.col
            agent.row, agent.col = cell
        elif verb == "gift":
            other = self.agent_at(self.cell(agent, 1))
            self.items[slot][action - len(VERBS)] -= 1
            self.items[other][action - len(VERBS)] += 1
        return ""

    def _take(self, slot: int, other: int) -> int:
        loot = self._loot(slot, other)
        for item, amount in enumerate(loot):
            self.items[slot][item] += amount
            self.items[other][item] -= amount
        return sum(loot)

    def _use(self, slot: int, rewards: list[float]) -> str:
        agent, held, cell = self.agents[slot], self.items[slot], self.cell(self.agents[slot], 1)
        found = self._there(cell)
        if found == AN_AGENT:
            self._take(slot, self.agent_at(cell))
            return "loot"
        kind, (inputs, outputs) = self.types[found - FIRST_TYPE], self.recipes[found - FIRST_TYPE]
        thing = self.objects[self.which[cell[0]][cell[1]]]
        agent.energy = min(agent.energy - kind.energy_cost + kind.energy_gain, agent.max_energy)
        for item in range(len(held)):
            held[item] -= inputs[item]
            held[item] += min(outputs[item], max(0, agent.max_items - held[item]))
        rewards[slot] += kind.reward
        if kind.reward != 0:
            agent.score += kind.energy_cost
        if thing.stock > 0:
            thing.stock -= 1
        thing.busy_until = self.rules["clock"] + kind.cooldown
        return self.type_names[found - FIRST_TYPE]

    def _attack(self, slot: int, cell: tuple[int, int]) -> str:
        found = self._there(cell)
        if found != AN_AGENT:
            thing = self.objects[self.which[cell[0]][cell[1]]]
            thing.hp -= 1
            if thing.hp > 0:
                return "object"
            thing.type = NO_TYPE
            self._put(cell, EMPTY, -1)
            return "object destroyed"
        other = self.agent_at(cell)
        target = self.agents[other]
        if target.shield:
            target.energy = max(0, target.energy - self.agents[slot].damage)
            if target.energy > 0:
                return "shielded"
        met = "through the shield" if target.shield else "hit"
        target.frozen_until = self.rules["clock"] + self.rules["freeze"]
        target.energy, target.shield = 0, False
        if not self.rules["loot_by_use"] and self._take(slot, other):
            met += " and looted"
        if self.rules["death_hp"]:
            target.hp -= 1
            if target.hp <= 0:
                self._die(other)
                return "killed"
        return met

    def _die(self, slot: int) -> None:
        agent = self.agents[slot]
        self._put((agent.row, agent.col), EMPTY, -1)
        agent.alive, agent.energy, agent.shield = False, 0, False
        self.items[slot] = [0] * len(self.items[slot])

    # -- a tick

    def step(self, actions: list[int]) -> tuple[list[float], int]:
        """One tick: [S] rewards and the status."""
        rules, agents = self.rules, self.agents
        rewards = [0.0] * len(agents)
        self.log = []
        rules["clock"] += 1
        began = [slot for slot, agent in enumerate(agents) if agent.alive]
        for slot in began:
            self._events(slot)
        order = self._order()
        attackers = [slot for slot in order if 8 <= actions[slot] <= 16]
        for slot in attackers + [slot for slot in order if slot not in set(attackers)]:
            agent, action = agents[slot], actions[slot]
            if not agent.alive:
                continue
            why = self.obstacle(slot, action, rules["clock"])
            met = self._act(slot, action, rewards) if not why else self._missed(slot, action)
            agent.last_action = action if 0 <= action < self.actions else -1
            agent.succeeded = not why
            self.log.append((slot, action, why, met))
        rewards = self._share(rewards)
        for slot in began:
            agents[slot].last_reward = rewards[slot]
        if not any(agent.alive for agent in agents):
            return rewards, TERMINATED
        return rewards, TRUNCATED if rules["clock"] >= rules["max_steps"] else RUNNING

    def _missed(self, slot: int, action: int) -> str:
        """The object that a failed use faced, or the state that a failed shield action aimed at."""
        found = self._there(self.cell(self.agents[slot], 1))
        if action == 7 and FIRST_TYPE <= found < BEYOND:
            return self.type_names[found - FIRST_TYPE]
        if action == 7:
            return "loot" if found == AN_AGENT and self.rules["loot_by_use"] else ""
        return ("off" if self.agents[slot].shield else "on") if action == 17 else ""

    def _events(self, slot: int) -> None:
        agent, rules = self.agents[slot], self.rules
        if agent.shield:
            if agent.energy < rules["shield_upkeep"]:
                agent.shield = False
            else:
                agent.energy -= rules["shield_upkeep"]
        agent.energy = max(0, agent.energy - agent.upkeep)
        starved = rules["death_energy"] and agent.energy == 0
        if starved or (rules["max_age"] > 0 and rules["clock"] - agent.born >= rules["max_age"]):
            self._die(slot)

    def _order(self) -> list[int]:
        order = [slot for slot, agent in enumerate(self.agents) if agent.alive]
        if self.rules["shuffled"]:
            for k in range(len(order) - 1, 0, -1):
                other = random_below(self.rules["seed"], self.rules["draws"], k + 1)
                self.rules["draws"] += 1
                order[k], order[other] = order[other], order[k]
        return order

    # -- kinship

    def _share(self, earned: list[float]) -> list[float]:
        """The rewards after sharing, plus prestige."""
        living = [slot for slot, agent in enumerate(self.agents) if agent.alive]
        mode, paid = self.config.kinship.mode, list(earned)
        if mode in ("teams", "families", "groups"):
            for label in {self.agents[slot].label for slot in living} - {-1}:
                members = [slot for slot in living if self.agents[slot].label == label]
                pool = sum(self.pct[label] * earned[slot] for slot in members)
                for slot in members:
                    paid[slot] = (1 - self.pct[label]) * earned[slot] + pool / len(members)
        elif mode == "matrix":
            gone = [slot for slot, agent in enumerate(self.agents) if not agent.alive]
            for i in living:
                paid[i] = sum(self.related[i][j] * earned[j] for j in living)
                paid[i] += sum(self.related[k][i] for k in gone) * earned[i]
        elif mode == "relatedness":
            for i in living:
                others = [(self.related[i][j] / max(1.0, self.related[i][i]), j) for j in living if j != i]
                paid[i] = earned[i] + sum(r * earned[j] for r, j in others)
                if self.rules["normalise"]:
                    paid[i] /= 1 + sum(r for r, _ in others)
        every = self.rules["prestige_every"]
        if every > 0 and self.rules["clock"] % every == 0 and len(living) > 1:
            scores = [self.agents[slot].score for slot in living]
            for slot in living:
                own = self.agents[slot].score
                less, more = sum(s < own for s in scores), sum(s > own for s in scores)
                paid[slot] += (less - more) / (len(living) - 1)
        return paid

    def kin(self, slot: int, other: int) -> float:
        """Relatedness of ``other`` to the observer ``slot``, as in the kinship plane (before x 255)."""
        mode = self.config.kinship.mode
        if mode in ("matrix", "relatedness"):
            return self.related[slot][other]
        label = self.agents[slot].label
        return float(mode != "none" and label != -1 and label == self.agents[other].label)

    # -- masks and observations

    def mask(self, slot: int) -> list[int]:
        """[A] which actions would succeed."""
        count, agent, tick = self.actions, self.agents[slot], self.rules["clock"] + 1
        if not agent.alive or self.rules["clock"] >= self.rules["max_steps"]:
            return [0] * count
        if tick <= agent.frozen_until:
            return [1] + [0] * (count - 1)
        return [int(not self.obstacle(slot, action, tick)) for action in range(count)]

    def _features(self, slot: int, row: int, col: int) -> dict[tuple[str, str], int]:
        """The values of a cell, by plane; zeros may be left out."""
        found, which = self._there((row, col)), -1
        if found in (EMPTY, BEYOND):
            return {}
        which, clock = self.which[row][col], self.rules["clock"]
        if found != AN_AGENT:
            t = found - FIRST_TYPE
            thing, name, first = self.objects[which], self.type_names[t], self.first_items[t]
            features = {"": 1, "hp": thing.hp, "stock": thing.stock, "input": first[0], "output": first[1]}
            features |= {"gain": self.types[t].energy_gain, "ready": int(clock + 1 > thing.busy_until)}
        else:
            agent, me, name = self.agents[which], self.agents[slot], "agent"
            turned = agent.facing
            if self.config.observation.rotate and agent is not me:
                up, left = me.facing, LEFT_OF[me.facing]
                turned = {up: UP, LEFT_OF[left]: DOWN, left: LEFT}.get(agent.facing, RIGHT)
            values = (agent.hp, max(0, agent.frozen_until - clock), agent.energy, turned, int(agent.shield))
            features = {"": 1} | dict(zip(AGENT_FEATURES, values, strict=True))
            features |= dict(zip(self.config.items, self.items[which], strict=True))
        own = found == AN_AGENT and which == slot
        shown = {(name, what): value for what, value in features.items() if own or (name, what) not in self.hidden}
        if found == AN_AGENT:
            shown["", "kinship"] = 255 if own else max(0, round(self.kin(slot, which) * 255))
        return shown

    def planes(self, slot: int) -> list[list[list[int]]]:
        """Numbers 0..255, `[C, h, w]`."""
        seen, me = self.config.observation, self.agents[slot]
        planes = {name: [[0] * seen.width for _ in range(seen.height)] for name in self.planes_of}
        if not me.alive:
            return list(planes.values())
        for y in range(seen.height):
            for x in range(seen.width):
                up, left = seen.height // 2 - y, seen.width // 2 - x
                cell = self.cell(me, up, left) if seen.rotate else (me.row - up, me.col - left)
                for name, value in self._features(slot, *cell).items():
                    if name in planes:
                        planes[name][y][x] = min(value, 255)
        whole = {"last_action": me.last_action + 1, "last_reward": round(128 + 32 * me.last_reward)}
        for what, value in whole.items():
            if ("", what) in planes:
                planes["", what] = [[min(max(value, 0), 255)] * seen.width for _ in range(seen.height)]
        return list(planes.values())

    def tokens(self, slot: int) -> list[list[int]]:
        """Numbers 0..255, `[T, 3]`."""
        seen, planes = self.config.observation, self.planes(slot)
        middle = (seen.height // 2, seen.width // 2)
        wide = [c for c, name in enumerate(self.planes_of) if name in (("", "last_action"), ("", "last_reward"))]
        rows = [[16 * middle[0] + middle[1], c, planes[c][middle[0]][middle[1]]] for c in wide]
        cells = [(y, x) for y in range(seen.height) for x in range(seen.width)]
        cells.sort(key=lambda cell: max(abs(cell[0] - middle[0]), abs(cell[1] - middle[1])))  # stable: row by row
        for y, x in cells:
            rows += [[16 * y + x, c, plane[y][x]] for c, plane in enumerate(planes) if plane[y][x] and c not in wide]
        rows = [row for row in rows if row[2]][: seen.tokens]
        return rows + [[255] * 3 for _ in range(seen.tokens - len(rows))]

    # -- comparison with the kernels

    def compare(self, world: World, i: int) -> None:
        """Compare row i with this world, in every array that the rules define.

        ``which`` counts only in cells that aren't empty; ``order``, ``pool`` and ``work`` are scratch. ``last_reward``
        may differ as ``close`` allows and is then copied, so that planes made from it are comparable.

        Raises:
            AssertionError: they differ; says where.
        """
        theirs = {name: world.rules[name][i].item() for name in world.rules.dtype.names or ()}
        assert self.rules == theirs, ("rules", [k for k in theirs if theirs[k] != self.rules[k]])
        for name, array in self.fixed.items():
            assert np.array_equal(array, getattr(world, name)[i]), name
        pad = self.pad
        kind = world.kind[i]
        inside = (slice(pad, pad + self.height), slice(pad, pad + self.width))
        assert kind[inside].tolist() == self.kind, ("kind", *_where(kind[inside].tolist(), self.kind))
        assert int((kind == BEYOND).sum()) == kind.size - self.height * self.width, "padding"
        which = np.where(kind[inside] == EMPTY, -1, world.which[i][inside]).tolist()
        assert which == self.which, ("which", *_where(which, self.which))
        assert world.items[i].tolist() == self.items, ("items", *_where(world.items[i].tolist(), self.items))
        objects, ours = world.objects[i].tolist(), list(map(_object_record, self.objects))
        assert objects == ours, ("objects", OBJECT.names, *_where(objects, ours))
        for agent, reward in zip(self.agents, world.agents["last_reward"][i].tolist(), strict=True):
            assert close(agent.last_reward, reward), ("last_reward", agent.id, reward, agent.last_reward)
            agent.last_reward = reward
        agents, ours = world.agents[i].tolist(), list(map(_agent_record, self.agents))
        assert agents == ours, ("agents", AGENT.names, *_where(agents, ours))


def _where(theirs: list[Any], ours: list[Any]) -> tuple[int, Any, Any]:
    """The first difference: its index, their value, ours."""
    return next((k, a, b) for k, (a, b) in enumerate(zip(theirs, ours, strict=True)) if a != b)
