"""PettingZoo environments arranged for other libraries."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test

import coterie
from coterie.errors import UnknownName, UsageError


def test_arrangements_hold_the_same_numbers():
    plain = coterie.make("connect_four-v0")
    flat = coterie.make("connect_four-v0", layout="flat", mask="info", idle="ones", infos="numbers")
    first = coterie.make("connect_four-v0", layout="channels_first", mask="observation")
    for env in (plain, flat, first):
        env.reset(seed=0)
        for action in (3, 3, 2):
            env.step(action)
    for agent in plain.agents:
        seen = plain.observe(agent)
        assert np.array_equal(flat.observe(agent), seen["observation"].reshape(-1).astype(np.float32))
        assert np.array_equal(first.observe(agent)["observation"], seen["observation"].transpose(2, 0, 1))
        assert np.array_equal(first.observe(agent)["action_mask"], seen["action_mask"])
        assert flat.observation_space(agent).contains(flat.observe(agent))
        assert first.observation_space(agent).contains(first.observe(agent))
        assert "action_mask" not in first.infos[agent]
    assert flat.infos["player_0"]["action_mask"].all()  # not to move
    assert np.array_equal(flat.last()[4]["action_mask"], plain.last()[4]["action_mask"])
    assert flat.last(observe=False)[0] is None


def test_parallel_and_infos():
    env = coterie.make("gridworld-v0", api="parallel", preset="a3_9x9", layout="channels_last", mask="none")
    seen, infos = env.reset(seed=0)
    plain = coterie.make("gridworld-v0", api="parallel", preset="a3_9x9")
    native, told = plain.reset(seed=0)
    assert np.array_equal(seen["player_1"], native["player_1"]["observation"].transpose(1, 2, 0))
    assert infos["player_1"].keys() == told["player_1"].keys() - {"action_mask"}
    seen, *_ = env.step(dict.fromkeys(env.agents, 0))
    native, *_ = plain.step(dict.fromkeys(plain.agents, 0))
    assert np.array_equal(seen["player_2"], native["player_2"]["observation"].transpose(1, 2, 0))
    turns = coterie.make("tictactoe-v0", api="parallel", infos="numbers")
    assert "active_agent" not in turns.reset(seed=0)[1]["player_0"]


@pytest.mark.parametrize("how", [{"layout": "flat", "mask": "none"}, {"mask": "observation", "idle": "ones"}])
@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_tests(how, capsys):
    api_test(coterie.make("tictactoe-v0", illegal="resample", **how), num_cycles=50)
    parallel_api_test(coterie.make("highest_number-v0", api="parallel", **how), num_cycles=50)


def test_what_cannot_be_is_refused():
    with pytest.raises(UnknownName, match="flat"):
        coterie.make("tictactoe-v0", layout="flatt")
    with pytest.raises(UnknownName, match="observation"):
        coterie.make("tictactoe-v0", mask="observations")
    with pytest.raises(UsageError, match="texts"):
        coterie.make("tictactoe-v0", text=True, mask="info")
    with pytest.raises(UsageError, match="texts"):
        coterie.make("word_chain-v0", layout="flat")


def test_after_the_end_an_empty_step_is_empty():
    env = coterie.make("highest_number-v0", api="parallel")
    env.reset(seed=0)
    while env.agents:
        env.step(dict.fromkeys(env.agents, 1))
    assert env.step({}) == ({}, {}, {}, {}, {})


def test_a_games_module_is_imported_by_name():
    module = importlib.import_module("coterie.envs.connect_four_v0")
    assert module.env().metadata["name"] == "connect_four_v0"
    from coterie.envs import connect_four_v0

    assert module is connect_four_v0
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("coterie.envs.connect_five_v0")


def test_masks_of_idle_agents_need_masks():
    with pytest.raises(UsageError, match="idle='ones' came with mask='none'"):
        coterie.make("connect_four-v0", mask="none", idle="ones")
