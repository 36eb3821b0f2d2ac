"""A game of your own in one file: Nim. ``register`` makes it reachable through every face."""

import numpy as np

import coterie
from coterie.aliases import RUNNING, TERMINATED
from coterie.envs.core import Game, GameInfo, Kernels
from coterie.envs.stepping.jit import kernel
from coterie.errors import IllegalAction, InvalidAction

MATCHES = np.dtype([("left", np.int8), ("mover", np.int8)])


@kernel
def reset(state, i, seed):
    state[i]["left"], state[i]["mover"] = 12, 0


@kernel
def mover(state, i):
    return state[i]["mover"]


@kernel
def legal(state, i, player, mask):
    for action in range(3):
        mask[action] = state[i]["mover"] == player and state[i]["left"] > action


@kernel
def step(state, i, actions, rewards):
    player = state[i]["mover"]
    state[i]["left"], state[i]["mover"] = state[i]["left"] - actions[player] - 1, 1 - player
    if state[i]["left"] == 0:
        rewards[player], rewards[1 - player] = 1.0, -1.0
    return RUNNING if state[i]["left"] > 0 else TERMINATED


@kernel
def observe(state, i, player, out):
    out[0] = state[i]["left"]


@kernel
def key(state, i):
    return np.uint64(state[i]["left"] * 2 + state[i]["mover"])


def parse(state, i, text):
    if text.strip() not in ("1", "2", "3"):
        raise InvalidAction(f"{text!r} is not 1, 2 or 3.")
    if int(text) > state[i]["left"]:
        raise IllegalAction("So many are not left.")
    return int(text) - 1


def nim() -> Game:
    return Game(
        info=GameInfo("nim", 0, 2, 3, (1,), "int8", 0, 12, max_cycles=12),
        kernels=Kernels(reset, mover, legal, step, observe, key),
        new_state=lambda n: np.zeros(n, MATCHES),
        rules="Take one to three of the matches in turn; who takes the last one wins.",
        describe=lambda state, i, player: f"{state[i]['left']} matches are left. Take 1 to 3 of them.",
        compact=lambda state, i, player: f"{state[i]['left']}>",
        action_to_text=lambda state, i, action: str(action + 1),
        parse_action=parse,
        config={},
    )


def main() -> int:
    coterie.register("nim-v0", f"{__name__}:nim")
    vec = coterie.make_vec("nim-v0", num_envs=64, seed=0)
    vec.reset()
    return vec.random_rollout(100).episodes


if __name__ == "__main__":
    print(main(), "games of Nim")
