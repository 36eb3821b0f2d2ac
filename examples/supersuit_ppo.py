"""PPO of Stable-Baselines3 learns in the gridworld: SuperSuit makes every agent a row of one vector environment.

``pip install supersuit stable-baselines3`` first. These two read no masks, so the observations have none.
"""

import argparse

import supersuit
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecNormalize

import coterie

TICKS, WORLDS = 40, 8


def make():
    env = coterie.make("gridworld-v0", preset="a3_9x9", max_steps=TICKS, api="parallel", layout="flat", mask="none")
    env = supersuit.pettingzoo_env_to_vec_env_v1(supersuit.black_death_v3(env))
    return supersuit.concat_vec_envs_v1(env, WORLDS, base_class="stable_baselines3")


def score(model: PPO, games: int = 12) -> float:
    """The mean reward of a world's agents together, from its start to its end."""
    envs = model.get_env()
    observations, total = envs.reset(), 0.0
    for _ in range(games * TICKS):
        actions, _ = model.predict(observations)
        observations, rewards, *_ = envs.step(actions)
        total += float(rewards.sum())
    return total / games / WORLDS


def main(steps: int = 60_000) -> tuple[float, float]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    envs = VecNormalize(make(), norm_reward=False)  # the planes hold energies up to 255 beside zeros and ones
    model = PPO("MlpPolicy", envs, n_steps=3 * TICKS, batch_size=240, learning_rate=1e-3, gamma=0.95, ent_coef=0.01)
    before = score(model)
    after = score(model.learn(steps))
    print(f"reward of a world of three agents: {before:.2f} before, {after:.2f} after {steps:,} steps of agents")
    return before, after


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60_000)
    main(**vars(parser.parse_args()))
