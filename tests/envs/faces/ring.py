"""A world of many agents: a ring of cells with food on it.

Everybody loses one energy a tick, dies at zero and leaves the ring. What is not possible fails, and is counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.aliases import RUNNING, TERMINATED, TRUNCATED
from coterie.envs.core import Game, GameInfo, GlobalState, Kernels
from coterie.envs.stepping.jit import kernel
from coterie.envs.stepping.rng import below, mix64, word
from coterie.errors import InvalidAction

ACTIONS = ("stay", "left", "right", "hit 1", "hit 2", "hit 3")
VERBS = (("stay", (0,)), ("move", (1, 2)), ("hit", (3, 4, 5)))


class Ring(NamedTuple):
    """N rings: cells [N, P] (-1: dead), energy [N, P], failed [N, P], food [N, C], clock [N, 2] (tick, limit)."""

    at: np.ndarray
    energy: np.ndarray
    failed: np.ndarray
    food: np.ndarray
    clock: np.ndarray
    seed: np.ndarray


@kernel
def reset(state, i, seed):
    cells = state.food.shape[1]
    players = state.at.shape[1]
    state.seed[i] = seed
    state.clock[i, 0] = 0
    for c in range(cells):
        state.food[i, c] = word(seed, c) % np.uint64(3) == np.uint64(0)
    for p in range(players):
        state.at[i, p] = p * cells // players
        state.energy[i, p] = 4 + below(word(seed, cells + p), 9)
        state.failed[i, p] = 0


@kernel
def mover(state, i):
    return -1


@kernel
def at(state, i, cell):
    """Who stands there, or -1."""
    for p in range(state.at.shape[1]):
        if state.at[i, p] == cell:
            return p
    return -1


@kernel
def possible(state, i, player, action):
    cells = state.food.shape[1]
    here = state.at[i, player]
    if action == 0:
        return True
    if action <= 2:
        return at(state, i, (here + (1 if action == 2 else cells - 1)) % cells) < 0
    return at(state, i, (here + action - 2) % cells) >= 0


@kernel
def over(state, i):
    if state.clock[i, 0] >= state.clock[i, 1]:
        return True
    for p in range(state.at.shape[1]):  # noqa: SIM110
        if state.at[i, p] >= 0:
            return False
    return True


@kernel
def legal(state, i, player, mask):
    asked = state.at[i, player] >= 0 and not over(state, i)
    for a in range(6):
        mask[a] = asked and possible(state, i, player, a)


@kernel
def step(state, i, actions, rewards):
    cells = state.food.shape[1]
    players = state.at.shape[1]
    for p in range(players):
        if state.at[i, p] < 0 or state.energy[i, p] <= 0:
            continue
        action = actions[p]
        if not possible(state, i, p, action):
            state.failed[i, p] += 1
        elif action >= 3:
            hit = at(state, i, (state.at[i, p] + action - 2) % cells)
            state.energy[i, hit] -= 2
            rewards[p] += np.float32(0.5)
        elif action >= 1:
            state.at[i, p] = (state.at[i, p] + (1 if action == 2 else cells - 1)) % cells
        if state.food[i, state.at[i, p]]:
            state.food[i, state.at[i, p]] = 0
            state.energy[i, p] = min(state.energy[i, p] + 6, 15)
            rewards[p] += np.float32(1)
    state.clock[i, 0] += 1
    state.food[i, below(word(state.seed[i], 1000 + state.clock[i, 0]), cells)] = 1
    living = 0
    for p in range(players):
        if state.at[i, p] >= 0:
            state.energy[i, p] -= 1
            if state.energy[i, p] <= 0:
                state.at[i, p] = -1
                state.energy[i, p] = 0
            else:
                living += 1
    if living == 0:
        return TERMINATED
    return TRUNCATED if state.clock[i, 0] >= state.clock[i, 1] else RUNNING


@kernel
def observe(state, i, player, out):
    """Planes [2 or more, S, S]: energy and food of the cells around, in the middle row; the dead see nothing."""
    planes, side = out.shape[0], out.shape[1]
    cells = state.food.shape[1]
    for k in range(planes):
        for y in range(side):
            for x in range(side):
                out[k, y, x] = 0
    here = state.at[i, player]
    if here < 0:
        return
    for x in range(side):
        cell = (here + x + cells - side // 2) % cells
        out[1, side // 2, x] = state.food[i, cell]
    for q in range(state.at.shape[1]):
        if state.at[i, q] >= 0:
            x = (state.at[i, q] - here + cells + side // 2) % cells
            if x < side:
                out[0, side // 2, x] = state.energy[i, q]


@kernel
def key(state, i):
    total = mix64(np.uint64(state.clock[i, 0]) ^ state.seed[i])
    for p in range(state.at.shape[1]):
        total = mix64(total ^ np.uint64(state.at[i, p] + 1 + 1000 * state.energy[i, p]))
    for c in range(state.food.shape[1]):
        total = mix64(total ^ np.uint64(state.food[i, c]))
    return total


@kernel
def alive(state, i, player):
    return state.at[i, player] >= 0


def describe(state, i, player):
    """Seat, clock, position, energy."""
    return f"Player {player}, tick {state.clock[i, 0]}, cell {state.at[i, player]}, energy {state.energy[i, player]}."


def compact(state, i, player):
    return f"P{player} t{state.clock[i, 0]} c{state.at[i, player]} e{state.energy[i, player]}>"


def ring(players=6, cells=20, ticks=40, planes=2, side=7, pairs=False):
    """The game; ``pairs``: actions are (verb, argument)."""

    def new_state(n):
        clock = np.zeros((n, 2), np.int32)
        clock[:, 1] = ticks
        each = [np.zeros((n, players), np.int32) for _ in range(3)]
        return Ring(*each, np.zeros((n, cells), np.int8), clock, np.zeros(n, np.uint64))

    def parse_action(state, i, text):
        if text not in ACTIONS:
            raise InvalidAction(f"{text!r} is none of {', '.join(ACTIONS)}.")
        return ACTIONS.index(text)

    def read(state, i):
        return {"at": state.at[i].copy(), "food": state.food[i].copy()}

    return Game(
        info=GameInfo(
            name="ring",
            players=players,
            num_actions=6,
            observation_shape=(planes, side, side),
            observation_dtype="uint8",
            observation_high=255,
            max_cycles=ticks,
            simultaneous=True,
            noop=0,
        ),
        kernels=Kernels(reset, mover, legal, step, observe, key, alive=alive),
        new_state=new_state,
        rules="Eat to live.",
        describe=describe,
        compact=compact,
        action_to_text=lambda state, i, action: ACTIONS[action],
        parse_action=parse_action,
        config={
            "players": players,
            "cells": cells,
            "ticks": ticks,
            "planes": planes,
            "side": side,
            "pairs": pairs,
        },
        verbs=VERBS if pairs else (),
        whole=GlobalState(
            {"at": (players,), "food": (cells,)},
            {"at": "int32", "food": "int8"},
            {"at": -1, "food": 0},
            {"at": cells - 1, "food": 1},
            read,
        ),
        tell=lambda state, i: [{"energy": energy} for energy in state.energy[i].tolist()],
    )
