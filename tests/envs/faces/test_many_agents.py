"""Worlds of many agents in every face: actions that fail, and deaths."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.aliases import RUNNING
from coterie.envs.faces.aec import AECGame
from coterie.envs.faces.gym_vector import SeatsVector
from coterie.envs.faces.parallel import ParallelGame
from coterie.envs.faces.vec import VecEnv
from coterie.envs.state import from_bytes, to_bytes
from coterie.envs.stepping.drivers import drivers
from coterie.errors import IllegalAction, InvalidAction

from .ring import ring

# -- illegal actions ---------------------------------------------------------------------------------------------------


def test_noop_is_the_default_where_actions_may_fail():
    env, vec = ParallelGame(ring()), VecEnv(ring(), 2)
    for face in (env.table.limits, vec.limits):
        assert (face.illegal, face.illegal_reward, face.max_cycles) == (3, 0, 2**31 - 1)


def first_illegal(game, state, player):
    return int(np.flatnonzero(game.legal_mask(state, 0, player) == 0)[0])


def test_only_who_erred_loses_its_action():
    env = ParallelGame(ring(), illegal_reward=-0.25)
    env.reset(seed=1)
    wrong = first_illegal(env.game, env.table.state, 1)
    before = env.table.state.at[0].copy()
    rewards = env.step({a: wrong if a == "player_1" else 2 for a in env.agents})[1]
    moved = (env.table.state.at[0] - before) % 20
    assert moved.tolist() == [1, 0, 1, 1, 1, 1]
    assert env.table.state.failed[0].tolist() == [0, 1, 0, 0, 0, 0]
    assert env.table.faults == [0, 1, 0, 0, 0, 0]
    assert rewards["player_1"] in (-0.25, 0.75)


def test_no_answer_is_the_idle_action():
    env = ParallelGame(ring())
    env.reset(seed=1)
    before = env.table.state.at[0].copy()
    env.step(dict.fromkeys(env.agents, None))
    assert env.table.state.failed[0].sum() == 0
    assert np.array_equal(env.table.state.at[0], before)
    assert env.table.faults == [1] * 6


@pytest.mark.parametrize("policy", ["lose", "raise", "resample"])
def test_other_policies_stay_as_they_are(policy):
    env = ParallelGame(ring(), illegal=policy)
    env.reset(seed=1)
    actions = {a: first_illegal(env.game, env.table.state, p) for p, a in enumerate(env.agents)}
    if policy == "raise":
        with pytest.raises(IllegalAction, match="player_0"):
            env.step(actions)
        assert env.table.cycles == 0
        return
    _, _, ended, _, infos = env.step(actions)
    assert all(ended.values()) == (policy == "lose")
    assert env.table.state.failed.sum() == 0
    assert all(info["illegal"] == 1 for info in infos.values())


def test_who_is_refused_turn_by_turn_may_answer_again():
    """At once: when the tick comes, only the last to answer could."""
    env = AECGame(ring(), illegal="raise")
    env.reset(seed=1)
    for p, agent in enumerate(env.possible_agents):
        with pytest.raises(IllegalAction, match=f"of {agent} is not legal"):
            env.step(first_illegal(env.game, env.table.state, p))
        assert env.agent_selection == agent
        env.step(0)
    assert env.table.cycles == 1


# -- deaths ------------------------------------------------------------------------------------------------------------


def random_actions(rng, env):
    return {agent: int(rng.integers(0, 6)) for agent in env.agents}


def test_the_dead_leave_the_parallel_face():
    env = ParallelGame(ring())
    seen, infos = env.reset(seed=3)
    rng = np.random.default_rng(0)
    ended = {}
    for tick in range(1, 41):
        played = list(env.agents)
        seen, rewards, terminations, truncations, infos = env.step(random_actions(rng, env))
        assert list(seen) == list(rewards) == list(terminations) == list(truncations) == list(infos) == played
        lives = env.table.state.at[0] >= 0
        for agent in played:
            p = env.possible_agents.index(agent)
            assert terminations[agent] == (not lives[p])
            assert truncations[agent] == (bool(lives[p]) and tick == 40)
            if terminations[agent]:
                ended[agent] = tick
                assert not seen[agent]["action_mask"].any()
        assert env.agents == [a for p, a in enumerate(env.possible_agents) if lives[p] and tick < 40]
        if not env.agents:
            break
    assert len(set(ended.values())) > 1


def until_somebody_dies(env, seed=3):
    env.reset(seed=seed)
    while len(env.agents) == 6:
        env.step(dict.fromkeys(env.agents, 0))
    assert env.agents
    return next(agent for agent in env.possible_agents if agent not in env.agents)


def test_actions_of_the_departed_are_ignored():
    env = ParallelGame(ring())
    departed = until_somebody_dies(env)
    twin = env.clone()
    env.step(dict.fromkeys(env.agents, 0))
    twin.step({departed: 3, **dict.fromkeys(twin.agents, 0)})
    assert env.get_state().state.at.tolist() == twin.get_state().state.at.tolist()
    with pytest.raises(InvalidAction, match="no agent 'player_9'"):
        env.step({"player_9": 0, **dict.fromkeys(env.agents, 0)})
    with pytest.raises(InvalidAction, match="is missing"):
        env.step(dict.fromkeys(env.agents[1:], 0))


def test_the_dead_leave_the_aec_face_before_the_next_tick():
    env, other = AECGame(ring()), ParallelGame(ring())
    env.reset(seed=3)
    other.reset(seed=3)
    rng = np.random.default_rng(1)
    while other.agents:
        actions = random_actions(rng, other)
        assert env.agents == other.agents
        for agent in other.agents:
            assert env.agent_selection == agent
            env.step(actions[agent])
        _, rewards, terminations, truncations, _ = other.step(actions)
        assert (env.rewards, env.terminations, env.truncations) == (rewards, terminations, truncations)
        for agent in [a for a in rewards if terminations[a] or truncations[a]]:
            assert env.agent_selection == agent
            assert env.last()[1] == rewards[agent]
            with pytest.raises(InvalidAction, match=r"step\(None\)"):
                env.step(0)
            env.step(None)
    assert env.agents == []


@pytest.mark.parametrize("policy", [None, "lose", "resample", "noop"])
@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_batched_and_single_die_alike(policy, mode):
    n, game = 7, ring(ticks=25)
    vec = VecEnv(game, n, seed=40, illegal=policy, illegal_reward=-0.1, autoreset_mode=mode)
    vec.reset()
    envs = [ParallelGame(game, illegal=policy, illegal_reward=-0.1) for _ in range(n)]
    for i, env in enumerate(envs):
        env.reset(seed=40 + i)
    rng = np.random.default_rng(5)
    deaths = 0
    for _ in range(120):
        actions = rng.integers(-1, 6, (n, 6))
        if policy == "lose":
            actions = np.where(rng.random((n, 6)) < 0.99, vec.sample_actions(), actions)
        asleep = vec.status != RUNNING
        obs, rewards, terminated, truncated, info = vec.step(actions)
        for i, env in enumerate(envs):
            if asleep[i]:
                assert mode != "SameStep"
                continue
            seats = [env.possible_agents.index(a) for a in env.agents]
            gone = sorted(set(range(6)) - set(seats))
            chosen = {f"player_{p}": None if actions[i, p] < 0 else int(actions[i, p]) for p in range(6)}
            seen, won, ended, cut, told = env.step(chosen)
            assert list(won.values()) == rewards[i, seats].tolist()
            assert list(ended.values()) == terminated[i, seats].tolist()
            assert list(cut.values()) == truncated[i, seats].tolist()
            assert not (terminated[i, gone] | truncated[i, gone]).any()
            assert not rewards[i, gone].any()
            deaths += int(terminated[i].sum())
            now = info["final_obs"] if info["_final_obs"][i] and mode == "SameStep" else obs
            for p, agent in zip(seats, seen, strict=True):
                assert np.array_equal(now["observation"][i, p], seen[agent]["observation"])
                if env.agents:
                    assert np.array_equal(now["action_mask"][i, p], seen[agent]["action_mask"])
            if env.agents:
                assert [a in env.agents for a in env.possible_agents] == info["alive"][i].tolist()
                assert env.table.faults == vec.get_state(i).illegal[0].tolist()
        if mode == "Disabled":
            vec.reset(mask=vec.status != RUNNING)
        if mode != "NextStep":
            for env in envs:
                if not env.agents:
                    env.reset()
            assert np.array_equal(info["alive"], vec.state.at >= 0)
        else:
            for i, env in enumerate(envs):
                if asleep[i]:
                    env.reset()
    assert deaths > 20 or policy == "lose"


def test_unseen_rollouts_die_alike():
    a, b = (VecEnv(ring(players=24, cells=60), 20, seed=9) for _ in range(2))
    for vec in (a, b):
        vec.reset()
    assert a.random_rollout(57).episodes == b.random_rollout(57, observe=False).episodes
    for name in ("alive", "terminations", "truncations", "rewards", "action_mask", "observation"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_all_sizes_share_one_compilation():
    games = [ring(players=p, cells=2 * p) for p in (2, 5, 24, 300)]
    assert len({id(drivers(game)) for game in games}) == 1
    for game in games:
        vec = VecEnv(game, 3, seed=0)
        vec.reset()
        vec.random_rollout(30)


@pytest.mark.parametrize("way", ["clone", "state", "bytes"])
@pytest.mark.parametrize("face", [AECGame, ParallelGame])
def test_copies_with_some_dead(face, way):
    game = ring()
    for stop in range(1, 90):
        env = face(game)
        env.reset(seed=3)

        def turn(env):
            if face is ParallelGame:
                return env.step(dict.fromkeys(env.agents, 1))
            over = env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
            env.step(None if over else 1)
            return env.rewards, env.terminations, env.truncations, env._cumulative_rewards

        for _ in range(stop):
            if env.agents:
                turn(env)
        if way == "clone":
            twin = env.clone()
        else:
            twin = face(game)
            whole = env.get_state()
            twin.set_state(whole if way == "state" else from_bytes(game, to_bytes(game, whole)))
        assert twin.agents == env.agents
        for _ in range(30):
            if not env.agents:
                break
            first, second = turn(env), turn(twin)
            if face is ParallelGame:
                first, second = first[1:4], second[1:4]
            assert first == second
            assert env.agents == twin.agents
        if not env.agents and stop > 60:
            break


def test_states_of_the_batched_face_with_some_dead():
    vec = VecEnv(ring(), 4, seed=2)
    vec.reset()
    while vec.alive.all() or not vec.terminations.any():
        vec.step(vec.sample_actions())
    other = VecEnv(ring(), 4, seed=99)
    other.set_state(vec.get_state())
    for name in ("alive", "terminations", "truncations", "action_mask", "observation"):
        assert np.array_equal(getattr(vec, name), getattr(other, name)), name
    row = int(np.flatnonzero(vec.terminations.any(1))[0])
    env = ParallelGame(ring())
    env.set_state(vec.get_state(row))
    assert [a in env.agents for a in env.possible_agents] == vec.alive[row].tolist()
    env = AECGame(ring())
    env.set_state(vec.get_state(row))
    died = env.possible_agents[int(np.flatnonzero(vec.terminations[row])[0])]
    assert env.agent_selection == died
    assert env.terminations[died]
    env.step(None)
    assert died not in env.agents


def test_rows_of_the_dead_in_gymnasiums_face():
    env = SeatsVector(VecEnv(ring(), 3, seed=4))
    _, info = env.reset(seed=4)
    assert info["alive"].all()
    ended = np.zeros(18, bool)
    for _ in range(39):
        before = info["alive"]
        obs, rewards, terminated, truncated, info = env.step(np.zeros(18, int))
        assert env.observation_space.contains(obs)
        assert not (terminated & ended).any()
        assert not rewards[ended].any()
        over = info.get("_final_obs", np.zeros(18, bool))
        ended = (ended | terminated) & ~over
        assert np.array_equal(info["alive"], ~ended)
        assert not obs["action_mask"][ended].any()
        if over.any():
            break
    assert (before & ~info["alive"]).any() or terminated.any()
