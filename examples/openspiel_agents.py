"""OpenSpiel's tabular Q-learner learns tic-tac-toe here, against its random agent: the loop of its own examples.

``pip install open_spiel`` first.
"""

import numpy as np
from open_spiel.python.algorithms import random_agent, tabular_qlearner

from coterie.training.bridges.openspiel import TimeSteps


def play(env, agents, games, learning):
    """The mean reward of the first agent."""
    rewards = []
    for _ in range(games):
        time_step = env.reset()
        while not time_step.last():
            agent = agents[time_step.observations["current_player"]]
            time_step = env.step([agent.step(time_step, is_evaluation=not learning).action])
        for agent in agents:
            agent.step(time_step, is_evaluation=not learning)
        rewards.append(time_step.rewards[0])
    return float(np.mean(rewards))


def main(games: int = 4000) -> tuple[float, float]:
    np.random.seed(0)
    env = TimeSteps("tictactoe-v0")
    env.seed(0)
    actions = env.action_spec()["num_actions"]
    learner = tabular_qlearner.QLearner(player_id=0, num_actions=actions, step_size=0.5)
    agents = [learner, random_agent.RandomAgent(player_id=1, num_actions=actions)]
    before = play(env, agents, 200, learning=False)
    play(env, agents, games, learning=True)
    after = play(env, agents, 200, learning=False)
    print(f"mean reward over 200 games: {before:+.2f} before, {after:+.2f} after {games:,} games of learning")
    return before, after


if __name__ == "__main__":
    main()
