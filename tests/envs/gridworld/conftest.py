"""Worlds in which everything that can be seen has some value."""

from __future__ import annotations

import numpy as np

from coterie.envs import make_game
from coterie.envs.gridworld.config.presets import configured

CROWD = {"height": 14, "width": 13, "agents": 8, "objects": {"wall": 14, "generator": 12, "converter": 8, "altar": 6}}
EVERYTHING = {"kinship": True, "last_action": True, "last_reward": True}


def config_of(game):
    """The complete configuration of a game."""
    return configured(game.config)


def drawn(text, seed=0, **fields):
    """A world drawn by hand; agents look up."""
    game = make_game("gridworld", config={"map": {"terrain": "ascii", "text": text}, **fields})
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(seed))
    return game, state


def scrambled(seed, **fields):
    """A game of one small crowded world, and that world, everything in it drawn at random."""
    game = make_game("gridworld", **{"map": CROWD, **fields})
    state, rng = game.new_state(1), np.random.default_rng(seed)
    game.kernels.reset(state, 0, np.uint64(seed))
    for _ in range(5):
        actions = rng.integers(0, game.info.num_actions, game.info.players, dtype=np.int32)
        game.kernels.step(state, 0, actions, np.zeros(game.info.players, np.float32))
    clock, agents, objects = int(state.rules["clock"][0]), state.agents[0], state.objects[0]
    living = agents["alive"]

    def drawn(low, high, like):
        return rng.integers(low, high + 1, like.shape)

    agents["energy"] = np.where(living, drawn(0, 250, living), 0)
    agents["hp"] = drawn(1, 9, living)
    agents["frozen_until"] = clock + drawn(-9, 20, living)
    agents["shield"] = drawn(0, 1, living) & living
    agents["facing"] = drawn(0, 3, living)
    agents["last_action"] = drawn(-1, game.info.num_actions - 1, living)
    agents["succeeded"] = drawn(0, 1, living)
    agents["last_reward"] = drawn(-20, 20, living) / 4
    state.items[0] = np.where(living[:, None], drawn(0, 5, state.items[0]), 0)
    objects["busy_until"] = clock + drawn(-3, 3, objects)
    objects["stock"] = np.where(objects["stock"] >= 0, drawn(0, 3, objects), -1)
    objects["hp"] = drawn(1, 30, objects)
    if state.related.shape[1] > 1:
        state.related[0] = rng.random(state.related[0].shape)
    return game, state
