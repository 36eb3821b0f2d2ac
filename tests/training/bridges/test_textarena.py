"""Games in TextArena's loop, and its agents in our matches. Both sides are texts, so its library is not needed."""

from __future__ import annotations

import random
import re

import pytest

from coterie.agents.baselines import make_baseline
from coterie.envs import make_game
from coterie.errors import UsageError
from coterie.training.bridges.textarena import TextArenaAgent, TextArenaEnv
from coterie.training.evaluation.match import play_match


def guess(rng: random.Random):
    def answer(observation: str) -> str:
        legal = re.findall(r"Legal actions: (.*)\.", observation)[-1].split()
        return f"<think>Hm.</think> [{rng.choice(legal)}]"

    return answer


def test_the_documented_loop_plays_a_game_to_its_end():
    env = TextArenaEnv("tictactoe-v0")
    env.reset(num_players=2, seed=0)
    players, done = [], False
    for cell in "03142":
        assert not done
        player, seen = env.get_observation()
        assert (env.game.rules in seen) == (len(players) < 2)
        players.append(player)
        done, info = env.step(f"I take [{cell}].")
    assert done
    assert players == [0, 1, 0, 1, 0]
    rewards, infos = env.close()
    assert rewards == {0: 1.0, 1: -1.0}
    assert set(infos) == {0, 1}


def test_an_illegal_answer_loses_and_is_told():
    env = TextArenaEnv("tictactoe-v0")
    env.reset(num_players=2)
    assert env.get_observation()[0] == 0
    done, _ = env.step("no idea")
    assert done
    assert env.close()[0] == {0: -1.0, 1: 0.0}


def test_games_of_words_too():
    env = TextArenaEnv("debate-v0")
    env.reset(num_players=env.game.info.players, seed=0)
    done = False
    while not done:
        env.get_observation()
        done, _ = env.step("I say what I always say.")
    assert set(env.close()[0]) == set(range(env.game.info.players))


def test_its_agents_play_matches():
    game = make_game("tictactoe")
    agent = TextArenaAgent(guess(random.Random(0)))
    won, drawn, lost = play_match(game, (agent, make_baseline("minimax", game)), 10, seed=0).shares
    assert won == 0
    silent = TextArenaAgent(lambda observation: "")
    assert play_match(game, (silent, make_baseline("random", game)), 4, seed=0).shares[2] == 1


def test_wrong_use():
    with pytest.raises(UsageError, match="simultaneous"):
        TextArenaEnv("matrix-v0")
    with pytest.raises(UsageError, match="num_players=3 came"):
        TextArenaEnv("tictactoe-v0").reset(num_players=3)
    with pytest.raises(UsageError, match="a function from an observation"):
        TextArenaAgent("gpt")
