"""A DQN of Tianshou learns tic-tac-toe against Tianshou's random player, through its PettingZoo wrapper.

``pip install tianshou`` first. Both see the mask of legal moves; the learner plays X.
"""

import argparse
import logging

import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import coterie


def make() -> PettingZooEnv:
    return PettingZooEnv(coterie.make("tictactoe-v0", layout="flat"))


def main(steps: int = 10_000, games: int = 200) -> tuple[float, float]:
    logging.getLogger("tianshou").setLevel(logging.ERROR)  # it warns of every collection that two players have returns
    torch.set_num_threads(1)
    np.random.seed(0)
    torch.manual_seed(0)
    env, actions = make(), make().action_space
    net = Net(state_shape=env.observation_space["observation"].shape, action_shape=actions.n, hidden_sizes=(128, 128))
    policy = DiscreteQLearningPolicy(model=net, action_space=actions, eps_training=0.1)
    learner = DQN(
        policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.9, n_step_return_horizon=3, target_update_freq=100
    )
    players = [learner, MARLRandomDiscreteMaskedOffPolicyAlgorithm(actions)]
    both = MultiAgentOffPolicyAlgorithm(algorithms=players, env=env)
    train = Collector(both, DummyVectorEnv([make] * 10), VectorReplayBuffer(20_000, 10), exploration_noise=True)
    test = Collector(both, DummyVectorEnv([make] * 10))

    def score() -> float:
        test.reset()
        return float(test.collect(n_episode=games).returns[:, 0].mean())

    before = score()
    train.reset()
    train.collect(n_step=200)
    both.run_training(
        OffPolicyTrainerParams(
            training_collector=train,
            max_epochs=1,
            epoch_num_steps=steps,
            collection_step_num_env_steps=20,
            batch_size=64,
            update_step_num_gradient_steps_per_sample=0.1,
            show_progress=False,
            verbose=False,
        )
    )
    after = score()
    print(f"mean reward over {games} games: {before:+.2f} before, {after:+.2f} after {steps:,} moves of learning")
    return before, after


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10_000)
    main(**vars(parser.parse_args()))
