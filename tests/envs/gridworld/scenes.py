"""Worlds drawn by hand, played by the kernels alone."""

from __future__ import annotations

import numpy as np

from coterie.aliases import RUNNING
from coterie.envs import make_game
from coterie.envs.gridworld.state import DOWN, LEFT, PAD, RIGHT, UP

NOOP, FORWARD, BACK, USE, SHIELD, SWAP = 0, 1, 2, 7, 17, 18
NAMES = (UP, DOWN, LEFT, RIGHT)


def rotate(direction):
    return 3 + direction


def attack(k):
    return 7 + k


def gift(item):
    return 19 + item


class Scene:
    """One world drawn by hand; agents are slots in reading order and look up."""

    def __init__(self, text, seed=0, **config):
        text = "\n".join(line.strip() for line in text.strip().splitlines())
        config = {"map": {"terrain": "ascii", "border": 0, "text": text}, **config}
        self.game = make_game("gridworld", **_sized(config))
        self.world = self.game.new_state(1)
        self.game.kernels.reset(self.world, 0, np.uint64(seed))
        self.rewards = np.zeros(self.game.info.players, np.float32)
        self.status = RUNNING

    def tick(self, *actions):
        """One tick; agents that are not named do nothing."""
        given = np.zeros(self.game.info.players, np.int32)
        given[: len(actions)] = actions
        self.rewards[:] = 0
        self.status = self.game.kernels.step(self.world, 0, given, self.rewards)
        return self.rewards

    def agent(self, slot=0):
        return self.world.agents[0, slot]

    def items(self, slot=0):
        return self.world.items[0, slot].tolist()

    def give(self, slot, *items):
        self.world.items[0, slot, : len(items)] = items

    def legal(self, slot=0):
        return self.game.legal_actions(self.world, 0, slot)

    def place(self, slot=0):
        return int(self.agent(slot)["row"]), int(self.agent(slot)["col"])

    def thing(self, row, col):
        """The object in a cell, or None."""
        kind = self.world.kind[0, row + PAD, col + PAD]
        return self.world.objects[0, self.world.which[0, row + PAD, col + PAD]] if 2 <= kind < 255 else None

    def seen(self, slot=0):
        out = np.empty(self.game.info.observation_shape, self.game.info.observation_dtype)
        self.game.kernels.observe(self.world, 0, slot, out)
        return out

    def draw(self):
        glyphs = ".@" + "".join(kind for kind in "#ncaxyz")
        return "\n".join("".join(glyphs[k] for k in row) for row in self.world.kind[0, PAD:-PAD, PAD:-PAD])


def _sized(config):
    lines = config["map"]["text"].splitlines()
    config["map"] |= {"height": len(lines), "width": len(lines[0]), "agents": 0}
    config["map"]["objects"] = dict.fromkeys(("wall", "generator", "converter", "altar"), 0)
    return config
