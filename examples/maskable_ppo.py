"""MaskablePPO of sb3-contrib learns tic-tac-toe against a random opponent: its own script, with an import and an id.

``pip install sb3-contrib`` first. ``sb3_ppo.py`` has learners without masks.
"""

import argparse

import gymnasium
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy

import coterie  # noqa: F401  # registers coterie/...

ID = "coterie/tictactoe-v0"


def main(steps: int = 8000, games: int = 200) -> tuple[float, float]:
    torch.set_num_threads(1)
    model = MaskablePPO("MlpPolicy", gymnasium.make(ID), n_steps=512, seed=0)
    means = []
    for trained in (0, steps):
        if trained:
            model.learn(trained)
        mean, _ = evaluate_policy(model, gymnasium.make(ID), games, warn=False)
        means.append(float(mean))
        print(f"after {trained:,} steps: mean reward {mean:+.2f} over {games} games from both seats")
    return means[0], means[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8000)
    main(**vars(parser.parse_args()))
