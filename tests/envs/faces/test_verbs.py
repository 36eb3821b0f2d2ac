"""Actions as pairs of verb and argument, in every face."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from coterie.aliases import RUNNING
from coterie.envs.faces.aec import AECGame
from coterie.envs.faces.gym_vector import SeatsVector
from coterie.envs.faces.parallel import ParallelGame
from coterie.envs.faces.vec import VecEnv
from coterie.envs.words.vec import vec_of
from coterie.errors import IllegalAction, InvalidAction

from .ring import VERBS, ring

PAIRS = [(v, k) for v, (_, numbers) in enumerate(VERBS) for k in range(len(numbers))]


def test_spaces_of_pairs():
    for env in (AECGame(ring(pairs=True)), ParallelGame(ring(pairs=True))):
        assert env.action_space("player_0") == gymnasium.spaces.MultiDiscrete([3, 3])
        env.reset(seed=0)
        seen = env.observe("player_0") if isinstance(env, AECGame) else env.reset(seed=0)[0]["player_0"]
        assert env.observation_space("player_0").contains(seen)
        env.action_space("player_0").sample(seen["action_mask"])


def test_pairs_and_numbers_play_the_same_game():
    pairs, numbers = ParallelGame(ring(pairs=True)), ParallelGame(ring())
    vec = vec_of(ring(pairs=True), 1, seed=6, autoreset_mode="Disabled")
    vec.reset()
    pairs.reset(seed=6)
    numbers.reset(seed=6)
    rng = np.random.default_rng(2)
    kinds = (list, tuple, np.array)
    while numbers.agents:
        chosen = rng.integers(0, 6, 6)
        row = np.array([PAIRS[a] for a in chosen])
        both = [
            pairs.step({a: kinds[p % 3](row[p]) for p, a in enumerate(pairs.possible_agents)}),
            numbers.step({a: int(chosen[p]) for p, a in enumerate(numbers.possible_agents)}),
        ]
        assert both[0][1:4] == both[1][1:4]
        obs, rewards, *_, info = vec.step(row[None])
        for agent, seen in both[0][0].items():
            p, told = numbers.possible_agents.index(agent), both[0][4][agent]
            assert np.array_equal(seen["observation"], both[1][0][agent]["observation"])
            exact = both[1][0][agent]["action_mask"]
            for v, (_, actions) in enumerate(VERBS):
                expected = [exact[actions[k]] if k < len(actions) else 0 for k in range(3)]
                assert told["pair_mask"][v].tolist() == expected
            assert seen["action_mask"][0].tolist() == told["pair_mask"].any(1).tolist()
            assert seen["action_mask"][1].tolist() == told["pair_mask"].any(0).tolist()
            assert np.array_equal(info["pair_mask"][0, p], told["pair_mask"])
            for mine, theirs in zip(obs["action_mask"], seen["action_mask"], strict=True):
                assert np.array_equal(mine[0, p], theirs)
                assert theirs.dtype == np.int8
            assert rewards[0, p] == both[1][1][agent]
    assert vec.status[0] != RUNNING


def test_a_verb_without_such_an_argument_is_illegal():
    env = ParallelGame(ring(pairs=True))
    env.reset(seed=1)
    _, _, _, _, infos = env.step(dict.fromkeys(env.agents, (0, 2)))
    assert [info["illegal"] for info in infos.values()] == [1] * 6
    vec = vec_of(ring(pairs=True), 2, seed=1)
    vec.reset()
    pairs = np.zeros((2, 6, 2), int)
    pairs[0, 0] = (0, 2)
    pairs[1, 5] = (-1, 0)
    assert np.argwhere(vec.step(pairs)[4]["illegal"]).tolist() == [[0, 0], [1, 5]]
    raising = AECGame(ring(pairs=True), illegal="raise")
    raising.reset(seed=1)
    with pytest.raises(IllegalAction):
        raising.step((0, 2))


@pytest.mark.parametrize(
    "action", [(3, 0), (0, 3), (-1, 0), 4, "move", (1, 2, 0), (0.5, 1), [[0, 1]], True, ((1, 2), 3)]
)
def test_bad_pairs(action):
    env = ParallelGame(ring(pairs=True))
    env.reset(seed=0)
    with pytest.raises(InvalidAction):
        env.step({a: action if a == "player_2" else (0, 0) for a in env.agents})
    assert env.table.cycles == 0
    other = AECGame(ring(pairs=True))
    other.reset(seed=0)
    with pytest.raises(InvalidAction):
        other.step(action)
    raw = AECGame(ring(pairs=True), checked=False)
    raw.reset(seed=0)
    raw.step(action)
    assert raw.agent_selection == "player_1"


def test_bad_pairs_in_batches():
    vec = vec_of(ring(pairs=True), 2, seed=0)
    vec.reset()
    for bad in (np.full((2, 6, 2), 3), np.zeros((2, 6, 3), int), np.zeros((2, 6, 2)), np.full((2, 6, 2), -2)):
        with pytest.raises(InvalidAction):
            vec.step(bad)
    vec.step(vec.sample_actions())  # action numbers are taken too
    plain = VecEnv(ring(), 2, seed=0)
    plain.reset()
    with pytest.raises(InvalidAction):
        plain.step(np.zeros((2, 6, 2), int))


def test_pairs_in_gymnasiums_face():
    env = SeatsVector(vec_of(ring(pairs=True), 3, seed=4))
    obs, _ = env.reset(seed=4)
    assert env.observation_space.contains(obs)
    assert env.action_space.shape == (18, 2)
    obs, _, _, _, info = env.step(np.zeros((18, 2), int))
    assert env.observation_space.contains(obs)
    assert info["pair_mask"].shape == (18, 3, 3)
    while "final_obs" not in info:
        *_, info = env.step(np.zeros((18, 2), int))
    assert env.single_observation_space.contains(info["final_obs"][info["_final_obs"].argmax()])
    with pytest.raises(InvalidAction, match="18 rows"):
        env.step(np.zeros((18, 3), int))


def test_pairs_and_copies():
    vec = vec_of(ring(pairs=True), 4, seed=3)
    vec.reset()
    twin = vec.clone()
    vec.step(vec.sample_actions())
    masks = [part.copy() for part in (*twin.reset(mask=[])[0]["action_mask"], twin._info["pair_mask"])]
    twin.step(twin.sample_actions())
    assert np.array_equal(twin._info["pair_mask"], vec._info["pair_mask"])
    assert not np.array_equal(masks[2], twin._info["pair_mask"])
    env = AECGame(ring(pairs=True))
    env.reset(seed=3)
    env.step((0, 0))
    assert env.clone().infos["player_1"]["pair_mask"].tolist() == env.infos["player_1"]["pair_mask"].tolist()
