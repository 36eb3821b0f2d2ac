"""PPO or DQN of Stable-Baselines3 learns tic-tac-toe against a random opponent: its own script, an import, an id.

``pip install stable-baselines3`` first. Illegal moves lose the game, so the learner also learns the rules.
"""

import argparse

import gymnasium
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy

import coterie  # noqa: F401  # registers coterie/...

ID = "coterie/tictactoe-v0"


def main(steps: int = 20_000, algorithm: str = "ppo", games: int = 200) -> tuple[float, float]:
    torch.set_num_threads(1)
    if algorithm == "dqn":
        model = DQN("MlpPolicy", gymnasium.make(ID), learning_starts=500, exploration_fraction=0.5, seed=0)
    else:
        model = PPO("MlpPolicy", gymnasium.make(ID), n_steps=512, seed=0)
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
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--algorithm", choices=("ppo", "dqn"), default="ppo")
    main(**vars(parser.parse_args()))
