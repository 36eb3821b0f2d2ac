"""The simultaneous toy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.envs import make_game
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction, UsageError


@settings(deadline=None)  # the first call may compile
@given(st.lists(st.integers(0, 20), min_size=2, max_size=6))
def test_rewards_by_definition(said):
    game = make_game("highest_number", players=len(said))
    env = coterie.make("highest_number-v0", api="parallel", players=len(said))
    env.reset()
    _, rewards, terminations, _, _ = env.step(dict(zip(game.info.agents, said, strict=True)))
    expected = [(sum(a > b for b in said) - sum(a < b for b in said)) / (len(said) - 1) for a in said]
    assert np.allclose(list(rewards.values()), expected)
    assert sum(expected) == pytest.approx(0)
    assert all(terminations.values())


def test_two_players():
    env = coterie.make("highest_number-v0", api="parallel", max_number=5)
    for said, reward in (((5, 4), 1), ((0, 1), -1), ((3, 3), 0)):
        observations, _ = env.reset()
        assert observations["player_0"]["observation"].tolist() == [-1, -1]
        observations, rewards, *_ = env.step({"player_0": said[0], "player_1": said[1]})
        assert rewards == {"player_0": reward, "player_1": -reward}
        assert observations["player_1"]["observation"].tolist() == [said[1], said[0]]
        assert not observations["player_0"]["action_mask"].any()


def test_rounds():
    env = coterie.make("highest_number-v0", rounds=3)
    env.reset()
    total = {"player_0": 0.0, "player_1": 0.0}
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        total[agent] += reward
        env.step(None if terminated or truncated else {"player_0": 1, "player_1": 2}[agent])
    assert total == {"player_0": -3, "player_1": 3}


def test_agents_do_not_see_each_others_answer():
    env = coterie.make("highest_number-v0")
    env.reset()
    before = env.observe("player_1")
    env.step(13)
    after = env.observe("player_1")
    assert np.array_equal(before["observation"], after["observation"])
    assert env.rewards == {"player_0": 0, "player_1": 0}
    assert env.agent_selection == "player_1"


@pytest.mark.parametrize(
    "config",
    [{"max_number": 0}, {"players": 1}, {"rounds": 0}, {"max_number": "9"}, {"players": True}, {"rounds": 1.5}],
)
def test_bad_arguments(config):
    with pytest.raises(UsageError, match=f"{next(iter(config))}="):
        make_game("highest_number", **config)


def test_answers():
    game = make_game("highest_number")
    state = game.new_state(1)
    assert game.parse_action(state, 0, "I say 12.") == 12
    for text, error in (("21", InvalidAction), ("-3", InvalidAction), ("", InvalidAction), ("3 4", AmbiguousAction)):
        with pytest.raises(error):
            game.parse_action(state, 0, text)
    game.kernels.step(state, 0, np.array([1, 2], np.int32), np.zeros(2, np.float32))
    with pytest.raises(IllegalAction, match="over"):
        game.parse_action(state, 0, "3")
