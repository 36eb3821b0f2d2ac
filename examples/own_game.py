"""Your own game in one file: Nim. ``register`` makes it available through every face."""

import numpy as np

from coterie.envs import RUNNING, TERMINATED, Game, GameInfo, Kernels, kernel, make_vec, register, row_mover

ROW = np.dtype([("left", np.int8), ("mover", np.int8)])


@kernel
def reset(state, i, seed):
    state[i]["left"], state[i]["mover"] = 12, 0


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


def nim() -> Game:
    return Game(
        info=GameInfo(players=2, num_actions=3, observation_shape=(1,), observation_high=12, max_cycles=12),
        kernels=Kernels(reset, row_mover, legal, step, observe),
        new_state=lambda n: np.zeros(n, ROW),
        rules="Take one to three of twelve matches in turn; the player who takes the last one wins.",
        describe=lambda state, i, player: f"{state[i]['left']} matches are left. Take 1, 2 or 3 of them.",
        actions=("1", "2", "3"),
    )


if __name__ == "__main__":
    register("nim-v0", "__main__:nim")
    vec = make_vec("nim-v0", num_envs=64, seed=0)
    vec.reset()
    print(vec.random_rollout(100).episodes, "games of Nim")
