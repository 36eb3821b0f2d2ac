"""Forged worlds at the gridworld's doors: ``python -m coterie.benchmarks.gridworld_forged --rows 1000000``.

Rows from real play in varied worlds (``gridworld_worlds``) are changed by a forger that knows their layout: fields to
the ends of their types, links that lead nowhere, bits. Each comes in through a door that is open to users (a row, a
snapshot, bytes, a reset option). What is refused must be refused by a StateError; what is let in is stepped with random
actions, observed, told and, some of it, drawn, and must stay sound. Run it under ``NUMBA_BOUNDSCHECK=1`` too, with a
cache of its own.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game
from ..envs.faces.vec import VecEnv
from ..envs.gridworld.game import gridworld
from ..envs.gridworld.state import AGENT_KIND, EMPTY, GONE, OBJECT_KIND, PAD, World
from ..envs.state import take, to_bytes
from ..errors import StateError
from .gridworld_worlds import varied_config

__all__ = ["Forger", "besiege", "main"]

DOORS = ("row", "snapshot", "bytes", "option")
BATCH = 16
"""Worlds that are let in are played this many at a time."""


class Forger:
    """Changes single worlds [1], in place; the seed determines everything."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self._ways = (self._entry, self._entry, self._number, self._bit, self._cell, self._agent, self._object)

    def forge(self, world: World) -> None:
        """One to three changes; in one of four rows, plausible ones first."""
        if self.rng.random() < 0.25:
            self._plausible(world)
        for _ in range(self.rng.integers(0 if self.rng.random() < 0.2 else 1, 4)):
            self._ways[self.rng.integers(len(self._ways))](world)

    def _value(self, like: Any, size: int) -> Any:
        """A value of a number type: an end of it, near an array's size, or any."""
        dtype = np.dtype(like)
        if dtype.kind == "f":
            return self.rng.choice([0.0, -1.0, 0.5, 1.0, 2.0, np.nan, np.inf, -np.inf, 1e30])
        if dtype.kind == "b":
            return bool(self.rng.integers(2))
        ends = np.iinfo(dtype)
        near = [0, 1, 2, 3, 4, 5, 255, 256, size - 1, size, size + 1, -1, -2]
        some = [ends.min, ends.max, ends.max - 1, *near, int(self.rng.integers(0, 300))]
        return np.array(some[self.rng.integers(len(some))]).astype(dtype)

    def _entry(self, world: World) -> None:
        """A field of a record."""
        leaf = getattr(world, self.rng.choice(["rules", "types", "agents", "agents", "objects", "objects", "regions"]))
        entries = leaf.reshape(-1)
        k, name = self.rng.integers(len(entries)), self.rng.choice(leaf.dtype.names)
        column = entries[name]
        if column.dtype == np.bool_ and self.rng.random() < 0.5:
            column.view(np.uint8)[k] = self.rng.integers(256)
        else:
            column[k] = self._value(column.dtype, len(entries))

    def _number(self, world: World) -> None:
        """An element of an array of numbers."""
        name = self.rng.choice(
            ["recipes", "counts", "plan", "kind", "which", "items", "related", "pct", "order", "work"]
        )
        flat = getattr(world, name).reshape(-1)
        if flat.size:
            flat[self.rng.integers(flat.size)] = self._value(flat.dtype, flat.size)

    def _bit(self, world: World) -> None:
        """A bit, anywhere."""
        leaf = world[self.rng.integers(len(world))]
        if leaf.size:
            flat = leaf.reshape(-1).view(np.uint8)
            flat[self.rng.integers(flat.size)] ^= np.uint8(1 << self.rng.integers(8))

    def _cell(self, world: World) -> None:
        """What a cell of the map shows, or who it names."""
        row, column = (PAD + self.rng.integers(-1, n - 2 * PAD + 1) for n in world.kind.shape[1:])
        if self.rng.random() < 0.5:
            world.kind[0, row, column] = self._value(np.uint8, OBJECT_KIND + world.types.shape[1])
        else:
            world.which[0, row, column] = self._value(np.int32, world.objects.shape[1])

    def _agent(self, world: World) -> None:
        """An agent that is moved, raised or struck down without the map's knowledge, or stands twice on it."""
        s = self.rng.integers(world.agents.shape[1])
        agent, way = world.agents[0, s], self.rng.integers(4)
        tall, wide = world.kind.shape[1:]
        cell = 0, (int(agent["row"]) + PAD) % tall, (int(agent["col"]) + PAD) % wide
        if way == 0:
            agent["row"], agent["col"] = (self.rng.integers(-1, n - 2 * PAD + 1) for n in world.kind.shape[1:])
        elif way == 1:
            agent["alive"] = not agent["alive"]
        elif way == 2:
            world.which[cell] = self.rng.integers(world.agents.shape[1])
        else:
            row, column = self._free(world)
            world.kind[0, row, column], world.which[0, row, column] = AGENT_KIND, s

    def _object(self, world: World) -> None:
        """An object that changes its type or place without the map's knowledge."""
        o = self.rng.integers(world.objects.shape[1])
        thing, way = world.objects[0, o], self.rng.integers(3)
        if way == 0:
            thing["type"] = self.rng.choice([GONE, self.rng.integers(world.types.shape[1] + 1)])
        elif way == 1:
            thing["row"], thing["col"] = (self.rng.integers(-1, n - 2 * PAD + 1) for n in world.kind.shape[1:])
        else:
            row, column = self._free(world)
            world.kind[0, row, column], world.which[0, row, column] = OBJECT_KIND + thing["type"] % 8, o

    def _free(self, world: World) -> tuple[Any, Any]:
        """An empty cell with its padding; the first cell if there is none."""
        cells = np.argwhere(world.kind[0, PAD:-PAD, PAD:-PAD] == EMPTY)
        row, column = cells[self.rng.integers(len(cells))] if len(cells) else (0, 0)
        return row + PAD, column + PAD

    def _plausible(self, world: World) -> None:
        """Changes that keep a world sound, at the edges of what play can do."""
        rng, agents, things = self.rng, world.agents[0], world.objects[0]
        alive, clock = agents["alive"], int(world.rules["clock"][0])
        for s in np.flatnonzero(alive & (rng.random(len(agents)) < 0.5)):
            row, column = self._free(world)
            if world.kind[0, row, column] == EMPTY:
                world.kind[0, agents[s]["row"] + PAD, agents[s]["col"] + PAD] = EMPTY
                world.kind[0, row, column], world.which[0, row, column] = AGENT_KIND, s
                agents[s]["row"], agents[s]["col"] = row - PAD, column - PAD
        if rng.random() < 0.5:
            agents["energy"] = agents["max_energy"] * (alive & (rng.random(alive.shape) < 0.5))
        agents["facing"] = rng.integers(0, 4, agents.shape)
        agents["shield"] &= rng.random(agents.shape) < 0.5
        agents["last_action"] = rng.integers(-1, 19 + world.items.shape[2], agents.shape)
        agents["frozen_until"] = rng.integers(0, clock + int(world.rules["freeze"][0]) + 1, agents.shape)
        world.items[0] = np.where(
            alive[:, None], rng.integers(0, agents["max_items"][:, None] + 1, world.items[0].shape), 0
        )
        things["busy_until"] = np.minimum(things["busy_until"], rng.integers(0, clock + 1))
        world.which[0][world.kind[0] == EMPTY] = rng.integers(-(2**31), 2**31)
        for scratch in (world.order, world.pool, world.work):
            scratch.reshape(-1).view(np.uint8)[:] = rng.integers(256)


def _knock(vec: VecEnv, door: str, world: World, whole: Any) -> str:
    """Bring one forged world into row 0; returns why it was refused, or an empty string."""
    try:
        _enter(vec, door, world, whole)
    except StateError as error:
        return str(error)
    return ""


def _enter(vec: VecEnv, door: str, world: World, whole: Any) -> None:
    if door == "row":
        vec.set_state(world, 0)
    elif door == "snapshot":
        vec.set_state(whole._replace(state=world), 0)
    elif door == "bytes":
        vec.set_state(to_bytes(vec.game, whole._replace(state=world)), 0)
    else:
        vec.reset(mask=[0], options={"state": world})


def _play(vec: VecEnv, rng: np.random.Generator, draw: Any) -> None:
    """Step, observe, tell and draw all worlds, then have them pass the gate again."""
    game = vec.game
    for _ in range(4):
        vec.step(rng.integers(-1, game.info.num_actions, (vec.num_envs, game.info.players)))
    vec.random_rollout(8)
    for i in rng.integers(vec.num_envs, size=2).tolist():
        player = int(rng.integers(game.info.players))
        game.describe(vec.state, i, player)
        game.compact(vec.state, i, player)
        game.key(vec.state, i)
        if game.tell is not None and game.whole is not None:
            game.tell(vec.state, i)
            game.whole.read(vec.state, i)
    if draw is not None and rng.random() < 0.1:
        draw(game, vec.state, int(rng.integers(vec.num_envs)))
    vec.set_state(vec.get_state())


def _verdicts(game: Game, rows: World) -> NDArray[np.bool_]:
    """[N] whether each row is within ``game.ranges`` and sound, all rows at once; the doors must say the same."""
    fine = np.ones(len(rows.rules), np.bool_)
    for name, (low, high) in game.ranges.items():
        leaf, _, field = name.partition(".")
        values = getattr(rows, leaf)[field] if field else getattr(rows, leaf)
        fine &= ((values >= low) & (values <= high)).reshape(len(fine), -1).all(1)
    for part in (rows.rules, rows.types, rows.agents):
        for field in part.dtype.names or ():
            if part.dtype[field] == np.bool_:
                fine &= (part[field].view(np.uint8) < 2).reshape(len(fine), -1).all(1)
    for k in np.flatnonzero(fine).tolist():
        assert game.kernels.sound is not None
        fine[k] = game.kernels.sound(rows, k) == 0
    return fine


def besiege(game: Game, rows: int, seed: int, draw: Any = None, knocks: int = 2) -> Counter[str]:
    """Forge worlds of one game; returns how many were sound ("in"), how many were not, and what the doors said.

    Args:
        game: a gridworld.
        rows: forged worlds, in batches.
        seed: of everything.
        draw: a drawer that sees some of those that are let in.
        knocks: worlds of each batch that come in through a door one by one; those that are sound all do, together.

    Raises:
        AssertionError: a door let in what is not sound, or refused without a reason.
    """
    rng, forger = np.random.default_rng(seed), Forger(seed)
    source, vec = VecEnv(game, BATCH, seed=seed), VecEnv(game, BATCH, seed=seed + 1)
    source.reset()
    vec.reset()
    counted: Counter[str] = Counter()
    while counted["rows"] < rows:
        source.random_rollout(int(rng.integers(1, 40)))
        chosen = rng.integers(BATCH, size=8 * BATCH)
        batch, whole = take(source.state, chosen), source.get_state(chosen)
        for k in range(len(chosen)):
            forger.forge(World(*(leaf[k : k + 1] for leaf in batch)))
        fine = _verdicts(game, batch)
        counted["rows"] += len(fine)
        counted["in"] += int(fine.sum())
        for k in rng.integers(len(fine), size=knocks).tolist():
            said = _knock(vec, DOORS[rng.integers(len(DOORS))], take(batch, k), take(whole, k))
            assert (not said) == fine[k], said or "it was let in"
            counted[said.partition("gridworld-v0: ")[2].partition(" ")[0].partition("[")[0] or said] += 1
        sound = np.flatnonzero(fine)
        for first in range(0, len(sound), BATCH):
            some = sound[first : first + BATCH]
            vec.set_state(take(batch, some), np.arange(len(some)))
            _play(vec, rng, draw)
    return counted


def main() -> None:
    """Besiege varied worlds and print what happened at their doors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="forged rows in all")
    parser.add_argument("--worlds", type=int, default=48, help="configurations")
    parser.add_argument("--first", type=int, default=2, help="number of the first configuration")
    arguments = parser.parse_args()
    from ..renderers.gridworld import draw

    counted: Counter[str] = Counter()
    began = time.perf_counter()
    for number in range(arguments.first, arguments.first + arguments.worlds):
        name, config = varied_config(number)
        counted += besiege(gridworld(config=config), arguments.rows // arguments.worlds, number, draw)
        print(f"{number} {name}: {counted['rows']:,} rows, {counted['in']:,} sound", flush=True)
    took = time.perf_counter() - began
    print(f"{counted['rows']:,} rows in {took:.0f} s. What the doors said: {dict(counted.most_common())}")


if __name__ == "__main__":
    main()
