"""Thousands of games in parallel: arrays in, arrays out.

The environment owns the arrays and overwrites them at every call; copy what you keep.
"""

import time

import numpy as np

import coterie


def main(num_envs: int = 4096, steps: int = 200) -> float:
    vec = coterie.make_vec("tictactoe-v0", num_envs=num_envs, seed=0)
    obs, info = vec.reset(seed=0)
    won = np.zeros(2)
    ended = 0
    start = time.perf_counter()
    for _ in range(steps):
        obs, rewards, terminations, truncations, info = vec.step(vec.sample_actions())
        won += (rewards > 0).sum(axis=0)
        ended += int((terminations | truncations).sum())
    seconds = time.perf_counter() - start
    print(f"{obs['observation'].shape} observations, {obs['action_mask'].shape} masks per step")
    print(f"{ended} games; X won {won[0] / ended:.1%}, O won {won[1] / ended:.1%}")
    print(f"{num_envs * steps / seconds / 1e6:.1f} M steps/s; vec.random_rollout(steps) stays in the kernel")
    return float(won[0] / ended)


if __name__ == "__main__":
    main()
