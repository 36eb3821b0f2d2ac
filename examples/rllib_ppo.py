"""PPO of RLlib learns tic-tac-toe against a random opponent, with the action-mask module of RLlib's own examples.

``pip install "ray[rllib]"`` first. The module wants the array under another name and the mask as float32.
"""

import argparse
import os

import gymnasium
import numpy as np
import ray
from gymnasium.spaces import Box, Dict
from gymnasium.wrappers import TransformObservation
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

import coterie  # noqa: F401  # registers coterie/...

ID, BATCH = "coterie/tictactoe-v0", 2000


def make(config: dict) -> gymnasium.Env:
    def renamed(seen: dict) -> dict:
        return {"observations": np.float32(seen["observation"]).ravel(), "action_mask": np.float32(seen["action_mask"])}

    env = gymnasium.make(ID, layout="dict")
    sizes = {"observations": env.observation_space["observation"].shape, "action_mask": (env.action_space.n,)}
    boxes = {name: Box(0.0, 1.0, (int(np.prod(shape)),), np.float32) for name, shape in sizes.items()}
    return TransformObservation(env, renamed, Dict(boxes))


def main(steps: int = 20_000) -> tuple[float, float]:
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "180")  # on a busy machine Ray takes long to start
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    register_env("masked", make)
    config = PPOConfig().environment("masked").env_runners(num_env_runners=0, num_envs_per_env_runner=8)
    config = config.training(train_batch_size_per_learner=BATCH, minibatch_size=200, num_epochs=6, lr=1e-3)
    sizes = {"fcnet_hiddens": [64, 64], "head_fcnet_hiddens": [64, 64]}
    spec = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config=sizes)
    learner = config.rl_module(rl_module_spec=spec).debugging(seed=0).build_algo()
    means = [learner.train()["env_runners"]["episode_return_mean"] for _ in range(max(2, steps // BATCH))]
    print(f"mean reward: {means[0]:+.2f} in the first {BATCH:,} steps, {means[-1]:+.2f} in the last of {steps:,}")
    return means[0], means[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20_000)
    main(**vars(parser.parse_args()))
