"""Our games as OpenSpiel's TimeSteps: its agents learn, where it is installed."""

from __future__ import annotations

import pytest

pytest.importorskip("open_spiel.python.rl_environment", reason="OpenSpiel is not installed")

from open_spiel.python.algorithms import random_agent

from coterie.errors import IllegalAction, UsageError
from coterie.training.bridges.openspiel import TimeSteps


@pytest.mark.parametrize("id", ["tictactoe-v0", "leduc_poker-v0", "matrix-v0"])
def test_its_random_agents_play_to_the_end(id):
    env = TimeSteps(id)
    env.seed(0)
    actions = env.action_spec()["num_actions"]
    agents = [random_agent.RandomAgent(p, actions) for p in range(env.num_players)]
    step = env.reset()
    assert step.first()
    assert len(step.observations["info_state"][0]) == env.observation_spec()["info_state"][0]
    while not step.last():
        asked = [agents[step.current_player()]] if env.is_turn_based else agents
        step = env.step([agent.step(step).action for agent in asked])
    assert len(step.rewards) == env.num_players
    assert step.discounts == [0.0] * env.num_players
    with pytest.raises(IllegalAction, match="is over"):
        env.step([0] * (1 if env.is_turn_based else env.num_players))


def test_a_game_of_words_is_refused():
    with pytest.raises(UsageError, match="game of words"):
        TimeSteps("debate-v0")
