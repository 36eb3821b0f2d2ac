"""Kinship on PettingZoo environments, ours and others': what is paid in each turn, sums, deaths, PettingZoo's tests.

The file is longer than most: the environments that it makes, with deaths and without, serve all its tests.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec

import coterie
from coterie.envs.kinship import Families, Groups, Matrix, Pedigree, Prestige, Relatedness, Teams, share
from coterie.envs.kinship.wrapper import KinshipWrapper
from coterie.envs.testing import FARAMA_WARNINGS
from coterie.errors import IllegalAction, UsageError


def third_party(name, what, **arguments):
    def make():
        pytest.importorskip(name.partition(".")[0])
        pytest.importorskip("pygame")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say while they are imported
            module = importlib.import_module(name)
        return getattr(module, what)(**arguments)

    return make


AEC = {
    "tictactoe": lambda: coterie.make("tictactoe"),
    "chess": lambda: coterie.make("chess", max_cycles=60),
    "matrix": lambda: coterie.make("matrix", game="prisoners_dilemma"),
    "highest_number": lambda: coterie.make("highest_number", players=4),
    "pettingzoo tictactoe": third_party("pettingzoo.classic.tictactoe_v3", "env"),
    "mpe2 spread": third_party("mpe2.simple_spread_v3", "env", N=3, max_cycles=8),
    "mpe2 tag": third_party("mpe2.simple_tag_v3", "env", max_cycles=8),
}
PARALLEL = {
    "tictactoe": lambda: coterie.make("tictactoe", api="parallel"),
    "matrix": lambda: coterie.make("matrix", game="prisoners_dilemma", api="parallel"),
    "highest_number": lambda: coterie.make("highest_number", players=4, api="parallel"),
    "mpe2 spread": third_party("mpe2.simple_spread_v3", "parallel_env", N=3, max_cycles=8),
    "mpe2 tag": third_party("mpe2.simple_tag_v3", "parallel_env", max_cycles=8),
}


def modes(players):
    draw = np.random.default_rng(players)
    return [
        Teams(size=2, p=0.7),
        Families(number=2, p=0.4, seed=9),
        Groups(["a"] + ["b"] * (players - 1), {"a": 0.2, "b": 1.0}),
        Matrix(draw.random((players, players))),
        Relatedness(np.full((players, players), 0.25)),
    ]


def columns(mode, players):
    """K of a mode, one reward of 1 at a time."""
    return np.array([share(np.eye(players)[j], mode) for j in range(players)]).T


def beside(makers, name, which):
    """An environment in a mode's hands, a twin that nobody shares in, the mode and its K."""
    env, twin = makers[name](), makers[name]()
    mode = modes(len(env.possible_agents))[which]
    return KinshipWrapper(env, mode), twin, mode, columns(mode, len(env.possible_agents))


def conserves(mode):
    return isinstance(mode, Teams | Families | Groups)


# -- what is paid ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AEC)
@pytest.mark.parametrize("which", range(5))
def test_every_turn_is_paid_once(name, which):
    """A twin of the environment, stepped beside: rewards go through K into a ledger as PettingZoo's page has it."""
    wrapped, twin, mode, K = beside(AEC, name, which)
    assert isinstance(wrapped, AECEnv)
    for seed in range(3):
        wrapped.reset(seed=seed)
        twin.reset(seed=seed)
        owed = dict.fromkeys(twin.possible_agents, 0.0)
        alone = dict(owed)
        paid, earned = 0.0, 0.0
        draw = np.random.default_rng(seed)
        while twin.agents:
            agent = twin.agent_selection
            assert wrapped.agent_selection == agent
            observation, reward, terminated, truncated, info = wrapped.last()
            assert reward == pytest.approx(owed[agent], abs=1e-9)
            assert info["own_reward"] == pytest.approx(alone[agent], abs=1e-9)
            assert set(info) == set(twin.infos[agent]) | {"own_reward"}
            assert same(observation, twin.observe(agent))
            assert (terminated, truncated) == (twin.terminations[agent], twin.truncations[agent])
            over = terminated or truncated
            if over:
                paid += reward
            action = None if over else choose(wrapped.action_space(agent), observation, draw)
            wrapped.step(action)
            twin.step(action)
            if over:
                assert not any(wrapped.rewards.values())
            else:
                paid += reward
                owed[agent] = alone[agent] = 0.0
                own = np.array([twin.rewards.get(a, 0.0) for a in twin.possible_agents])
                earned += own.sum()
                for a, r, o in zip(twin.possible_agents, K @ own, own, strict=True):
                    owed[a] += r
                    alone[a] += o
                    assert wrapped.rewards[a] == pytest.approx(r, abs=1e-9)
            assert set(wrapped.rewards) == set(wrapped.infos) == set(wrapped._cumulative_rewards) == set(twin.agents)
            for a in twin.agents:
                assert wrapped._cumulative_rewards[a] == pytest.approx(owed[a], abs=1e-9)
        if conserves(mode):
            assert paid == pytest.approx(earned, abs=1e-9)


@pytest.mark.parametrize("name", PARALLEL)
@pytest.mark.parametrize("which", range(5))
def test_every_step_is_paid_once(name, which):
    wrapped, twin, _, K = beside(PARALLEL, name, which)
    assert isinstance(wrapped, ParallelEnv)
    seen, infos = wrapped.reset(seed=5)
    twin.reset(seed=5)
    assert {info["own_reward"] for info in infos.values()} == {0.0}
    draw = np.random.default_rng(5)
    while twin.agents:
        actions = {a: choose(wrapped.action_space(a), seen[a], draw) for a in twin.agents}
        seen, rewards, terminated, truncated, infos = wrapped.step(actions)
        expected = twin.step(actions)
        assert same(seen, expected[0])
        assert (terminated, truncated) == expected[2:4]
        own = np.array([expected[1][a] for a in twin.possible_agents])
        assert [rewards[a] for a in twin.possible_agents] == pytest.approx(list(K @ own), abs=1e-9)
        assert [infos[a]["own_reward"] for a in twin.possible_agents] == pytest.approx(list(own))
        assert all(type(reward) is float for reward in rewards.values())
    assert wrapped.agents == []


def choose(space, observation, draw):
    if isinstance(observation, dict):
        legal = np.flatnonzero(observation["action_mask"])
        return int(draw.choice(legal)) if len(legal) else 0
    return int(draw.integers(space.n))


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return np.array_equal(a, b)


def test_sides_of_one_mind():
    """Two teams of one, one team of two, and an altruist."""
    for kinship, expected in (
        (Teams({"player_0": "x", "player_1": "o"}, p=1.0), [1.0, -1.0]),
        (Teams({"player_1": "us", "player_0": "us"}, p=1.0), [0.0, 0.0]),
        (Matrix({"player_0": {"player_1": 1}, "player_1": {"player_1": 3, "player_0": 1}}), [-1.0, -0.5]),
        (Relatedness({"player_0": {"player_1": 0.5}}), [0.5, -1.0]),
        (Relatedness(Pedigree([["player_1", "player_0"]])), [0.5, -0.5]),
        (Relatedness(Pedigree([2])), [0.5, -0.5]),
        ([Teams(size=2, p=1.0), Relatedness([[1, 1], [1, 1]])], [0.0, 0.0]),
        ([Relatedness({"player_0": {"player_1": 0.5}}), Teams(size=2, p=1.0)], [-0.25, -0.25]),
    ):
        env = KinshipWrapper(coterie.make("tictactoe"), kinship)
        env.reset()
        for action in (0, 3, 1, 4, 2):
            env.step(action)
        assert list(env.rewards.values()) == expected


# -- deaths ------------------------------------------------------------------------------------------------------------


class Mortal(ParallelEnv):
    """Three agents who earn and die by a script: [(rewards, who dies), ...]; the last step ends the game for all."""

    render_mode = None

    def __init__(self, script):
        self.metadata = {"name": "mortal_v0", "render_modes": [], "is_parallelizable": True}
        self.script = script
        self.possible_agents = ["a", "b", "c"]
        self._space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
        self._actions = gymnasium.spaces.Discrete(2)

    def observation_space(self, agent):
        return self._space

    def action_space(self, agent):
        return self._actions

    def reset(self, seed=None, options=None):
        self.agents, self.at = self.possible_agents[:], 0
        return {a: np.zeros(1, np.float32) for a in self.agents}, {a: {} for a in self.agents}

    def step(self, actions):
        rewards, dying = self.script[self.at]
        self.at += 1
        last = self.at == len(self.script)
        played, ends = self.agents, {a: last or a in dying for a in self.agents}
        self.agents = [a for a in played if not ends[a]]
        return (
            {a: np.zeros(1, np.float32) for a in played},
            {a: float(rewards[a]) for a in played},
            ends,
            dict.fromkeys(played, False),
            {a: {} for a in played},
        )


LIFE = [
    ({"a": 3, "b": 0, "c": 0}, ""),
    ({"a": 3, "b": 6, "c": 0}, "b"),  # b dies: it keeps what it earns and has no part in what a earns
    ({"a": 0, "c": 8}, ""),
    ({"a": 2, "c": 4}, ""),  # the end: shared by who is left
]
TEAM_OF_THREE = [[1, 1, 1], [1.5, 6, 1.5], [4, 4], [3, 3]]


def test_a_vanished_members_part_returns():
    for kinship, expected in (
        (Teams(size=3, p=1.0), TEAM_OF_THREE),
        (Matrix([[0, 1, 0], [1, 0, 0], [0, 0, 1]], normalise=False), [[0, 3, 0], [3, 6, 0], [0, 8], [2, 4]]),
        (Relatedness(np.full((3, 3), 0.5)), [[3, 1.5, 1.5], [3, 6, 1.5], [4, 8], [4, 5]]),
    ):
        env = KinshipWrapper(Mortal(LIFE), kinship)
        for _ in range(2):  # a new game forgets who had died
            env.reset()
            for rewards in expected:
                _, paid, *_ = env.step(dict.fromkeys(env.agents, 0))
                assert list(paid.values()) == rewards


def test_deaths_turn_by_turn():
    env = KinshipWrapper(parallel_to_aec(Mortal(LIFE)), Teams(size=3, p=1.0))
    for _ in range(2):
        env.reset()
        paid = dict.fromkeys(env.possible_agents, 0.0)
        own = dict(paid)
        ticks = []
        for agent in env.agent_iter():
            _, reward, terminated, _, info = env.last()
            paid[agent] += reward
            own[agent] += info["own_reward"]
            env.step(None if terminated else 0)
            if any(env.rewards.values()):
                ticks.append(list(env.rewards.values()))
        assert ticks == TEAM_OF_THREE
        assert paid == {"a": 9.5, "b": 7, "c": 9.5}
        assert own == {"a": 8, "b": 6, "c": 12}


def test_who_died_before_the_end_stays_dead():
    """Environments that keep the dead in their dictionaries do not bring them back when the others end too."""

    class Lingering(Mortal):
        def step(self, actions):
            observations, rewards, ends, cut, infos = super().step(actions)
            self.agents = self.possible_agents[:]
            return observations, rewards, ends, cut, infos

    script = [({"a": 0, "b": 0, "c": 0}, "b"), ({"a": 6, "b": 0, "c": 0}, "abc")]
    env = KinshipWrapper(Lingering(script), Teams(size=3, p=1.0))
    env.reset()
    env.step({})
    assert list(env.step({})[1].values()) == [3, 0, 3]


WORLD = {
    "api": "parallel",
    "map": {
        "height": 10,
        "width": 10,
        "agents": 8,
        "objects": {"altar": 24, "wall": 0, "generator": 0, "converter": 0},
    },
    "objects": {"altar": {"energy_cost": 1, "cooldown": 0, "hp": 0}},
    "agent": {"energy": 120, "hp": 2, "upkeep": 1},
    "actions": {"costs": {"attack": 1}},
    "death": {"energy": True, "hp": True},
    "randomize": {"trait.upkeep": [1, 3]},
    "max_steps": 100,
}
PATTERN = (np.arange(64).reshape(8, 8) % 7 + 1) / 8
COUSINS = Pedigree.from_parents([(8, -1, -1), (9, -1, -1), *((k, 8 if k % 2 else 9, -1) for k in range(8))])


@pytest.mark.parametrize(
    ("rules", "mode"),
    [
        ({"mode": "teams", "size": 3, "share": 0.5}, lambda labels: Teams(size=3, p=0.5)),
        ({"mode": "families", "size": 3, "share": 0.75}, lambda labels: Teams(labels, p=0.75)),
        (
            {"mode": "groups", "labels": [0, 1, 1, -1, 0, 2, 2, 2], "pct": [0.25, 0.5, 1.0]},
            lambda labels: Groups([0, 1, 1, -1, 0, 2, 2, 2], [0.25, 0.5, 1.0]),
        ),
        ({"mode": "matrix", "matrix": PATTERN.tolist()}, lambda labels: Matrix(PATTERN)),
        (
            {
                "mode": "relatedness",
                "pedigree": [[k, *(-1 if p is None else p for p in COUSINS.parents[k])] for k in COUSINS.parents],
            },
            lambda labels: Relatedness(COUSINS.matrix(range(8))),
        ),
    ],
    ids=lambda x: x["mode"] if isinstance(x, dict) else "",
)
def test_a_gridworld_shares_as_the_wrapper_does(rules, mode):
    """The kernels in one world, share() around another that shares nothing: the same rewards, deaths included."""
    nothing = {**rules, "share": 0.0} if rules["mode"] == "families" else {}  # drawing families takes random words
    deaths, earned = 0, 0.0
    for seed in range(4):
        inside = coterie.make("gridworld", **WORLD, kinship=rules)
        _, infos = inside.reset(seed=seed)
        world = coterie.make("gridworld", **WORLD, kinship=nothing)
        around = KinshipWrapper(world, mode([info["label"] for info in infos.values()]))
        around.reset(seed=seed)
        draw = np.random.default_rng(seed)
        while inside.agents:
            actions = {a: int(draw.choice(22, p=USING)) for a in inside.agents}
            shared = inside.step(actions)
            _, wrapped, ends, _, _ = around.step(actions)
            assert wrapped == pytest.approx(shared[1], abs=1e-5)
            deaths += sum(ends.values())
            earned += sum(abs(r) for r in wrapped.values())
        assert not around.agents
    assert deaths > 10
    assert earned > 20


USING = np.full(22, 0.4 / 21)
USING[7] = 0.6


def test_a_gridworld_turn_by_turn():
    """AEC pays everybody in all what the parallel face pays, and PettingZoo finds nothing to say."""
    with farama():
        from pettingzoo.test import api_test
    world = {key: value for key, value in WORLD.items() if key != "api"}
    together = KinshipWrapper(coterie.make("gridworld", **WORLD), Teams(size=3, p=0.5))
    turns = KinshipWrapper(coterie.make("gridworld", **world), Teams(size=3, p=0.5))
    script = np.random.default_rng(2).choice(22, p=USING, size=(100, 8))
    expected = dict.fromkeys(together.possible_agents, 0.0)
    together.reset(seed=2)
    for row in script:
        actions = dict(zip(together.possible_agents, row.tolist(), strict=True))
        for agent, reward in together.step({a: actions[a] for a in together.agents})[1].items():
            expected[agent] += reward
        if not together.agents:
            break
    paid, earned = dict.fromkeys(expected, 0.0), 0.0
    ticks = dict.fromkeys(expected, 0)
    turns.reset(seed=2)
    for agent in turns.agent_iter():
        _, reward, terminated, truncated, info = turns.last()
        paid[agent] += reward
        earned += info["own_reward"]
        over = terminated or truncated
        turns.step(None if over else int(script[ticks[agent], turns.possible_agents.index(agent)]))
        ticks[agent] += 1
    assert paid == pytest.approx(expected)
    assert sum(paid.values()) == pytest.approx(earned)
    assert earned > 5
    assert len(set(ticks.values())) > 3, "they died at different times"
    with farama():
        api_test(turns, num_cycles=30)


# -- prestige ----------------------------------------------------------------------------------------------------------


def test_prestige_every_few_steps():
    script = [({"a": 1, "b": 2, "c": 0}, "")] * 4
    expected = [[1, 2, 0], [1, 3, -1], [1, 2, 0], [1, 3, -1]]
    env = KinshipWrapper(Mortal(script), Prestige(2))
    env.reset()
    assert [list(env.step(dict.fromkeys("abc", 0))[1].values()) for _ in range(4)] == expected
    turns = KinshipWrapper(parallel_to_aec(Mortal(script)), Prestige(2))
    turns.reset()
    paid = []
    for _ in range(12):
        turns.step(0)
        if any(turns.rewards.values()):
            paid.append(list(turns.rewards.values()))
    assert paid == expected


def test_prestige_of_a_score_among_the_living():
    script = [({"a": 0, "b": 4, "c": 0}, "b"), ({"a": 0, "c": 2}, "")]
    env = KinshipWrapper(Mortal(script), [Teams(size=3, p=1.0), Prestige(1)], score=lambda env: {"a": env.at})
    env.reset()
    assert env.step(dict.fromkeys("abc", 0))[1] == {"a": 1, "b": 4, "c": -1}
    assert env.step(dict.fromkeys("ac", 0))[1] == {"a": 2, "c": 0}


# -- PettingZoo's own tests, copies, passing through -------------------------------------------------------------------


@contextlib.contextmanager
def farama():
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        for message in FARAMA_WARNINGS:
            warnings.filterwarnings("ignore", message=message)
        yield


@pytest.mark.parametrize("name", AEC)
def test_pettingzoos_tests(name):
    with farama():
        from pettingzoo.test import api_test, seed_test
    AEC[name]()  # skips where it is not installed
    for kinship in (Teams(size=2, p=0.5), [Families(size=2, seed=1), Prestige(3)]):
        with farama():
            api_test(KinshipWrapper(AEC[name](), kinship), num_cycles=60)
            seed_test(lambda kinship=kinship: KinshipWrapper(AEC[name](), kinship), num_cycles=60)


@pytest.mark.parametrize("name", PARALLEL)
def test_pettingzoos_parallel_tests(name):
    with farama():
        from pettingzoo.test import parallel_api_test, parallel_seed_test
    PARALLEL[name]()
    kinship = [Families(size=2, seed=1), Prestige(3)]
    with farama():
        parallel_api_test(KinshipWrapper(PARALLEL[name](), kinship), num_cycles=60)
        parallel_seed_test(lambda: KinshipWrapper(PARALLEL[name](), kinship), num_cycles=60)


class Counting(gymnasium.utils.EzPickle, ParallelEnv):
    """Pays each agent the number of steps so far. Its pickle holds its arguments alone."""

    def __init__(self):
        gymnasium.utils.EzPickle.__init__(self)
        self.metadata, self.possible_agents = {"name": "counting"}, ["a", "b"]

    def reset(self, seed=None, options=None):
        self.agents, self.steps = ["a", "b"], 0
        return {}, {"a": {}, "b": {}}

    def step(self, actions):
        self.steps += 1
        no = {"a": False, "b": False}
        return {}, {"a": self.steps, "b": 0}, no, no, {"a": {}, "b": {}}


@pytest.mark.parametrize("way", [lambda env: env.clone(), copy.deepcopy])
def test_copies_of_environments_whose_pickles_forget(way):
    env = KinshipWrapper(Counting(), Teams(size=2, p=1.0))
    env.reset()
    env.step({})
    twin = way(env)
    assert twin.step({})[1] == {"a": 1.0, "b": 1.0}
    assert env.unwrapped.steps == 1, "the copy is independent"
    assert env.step({})[1] == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize("name", AEC)
def test_every_copy_plays_on(name):
    env = KinshipWrapper(AEC[name](), Teams(size=2, p=0.5))
    env.reset(seed=4)
    play(env, np.random.default_rng(1))
    twin, draws = env.clone(), [np.random.default_rng(2) for _ in range(2)]
    for _ in range(12):
        if env.agents:
            assert play(env, draws[0]) == play(twin, draws[1])


@pytest.mark.parametrize("name", ["tictactoe", "matrix", "highest_number"])
def test_copies_in_mid_game(name):
    env = KinshipWrapper(AEC[name](), [Teams(size=2, p=0.5), Prestige(2)])
    env.reset(seed=4)
    env.step(choose(env.action_space(env.agent_selection), env.observe(env.agent_selection), np.random.default_rng(0)))
    twins = [env.clone(), copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    draws = [np.random.default_rng(1) for _ in range(4)]
    while env.agents:
        played = [play(each, draw) for each, draw in zip([env, *twins], draws, strict=True)]
        assert played.count(played[0]) == 4
    parallel = KinshipWrapper(PARALLEL[name](), Teams(size=2))
    parallel.reset(seed=1)
    assert pickle.loads(pickle.dumps(parallel.clone())).agents == parallel.agents


def play(env, draw):
    observation, reward, terminated, truncated, info = env.last()
    action = None if terminated or truncated else choose(env.action_space(env.agent_selection), observation, draw)
    env.step(action)
    return reward, action, info["own_reward"], dict(env.rewards), list(env.agents)


def test_the_rest_passes_through():
    inner = coterie.make("tictactoe", render_mode="ansi")
    env = KinshipWrapper(inner, Teams(size=2))
    env.reset(seed=1)
    assert env.metadata is inner.metadata
    assert env.render() == inner.render()
    assert env.observation_space("player_0") is inner.observation_space("player_0")
    assert env.unwrapped is inner
    assert env.game is inner.game
    assert (env.num_agents, env.max_num_agents, env.render_mode) == (2, 2, "ansi")
    assert "tictactoe_v0" in str(env)
    env.close()
    parallel = KinshipWrapper(coterie.make("tictactoe", api="parallel", render_mode="ansi"), Teams(size=2))
    parallel.reset()
    assert parallel.render() == parallel.env.render()
    assert parallel.action_space("player_0") is parallel.env.action_space("player_0")


def test_the_inner_environment_is_not_paid_twice():
    """Wrapped twice: shared twice, once by each."""
    env = KinshipWrapper(KinshipWrapper(coterie.make("tictactoe"), Teams(size=2, p=0.5)), Teams(size=2, p=0.5))
    env.reset()
    for action in (0, 3, 1, 4, 2):
        env.step(action)
    assert list(env.rewards.values()) == [0.25, -0.25]


# -- what is refused ---------------------------------------------------------------------------------------------------


def wrap(kinship, env="tictactoe"):
    return KinshipWrapper(coterie.make(env), kinship)


BAD = [
    (lambda: KinshipWrapper(coterie.make_vec("tictactoe", 2), Teams(size=2)), r"VecEnv is neither.*share\(\)"),
    (lambda: KinshipWrapper(3, Teams(size=2)), "int is neither"),
    (lambda: wrap("teams"), "kinship='teams' cannot be used"),
    (lambda: wrap([]), r"kinship=\[\] cannot be used"),
    (lambda: wrap(Teams), "Pass Teams"),
    (lambda: wrap(Teams([1, 2, 3])), "3 labels for 2 players"),
    (lambda: wrap(Teams({"player_0": 1})), "no entry for 'player_1'"),
    (lambda: wrap(Teams({"player_0": 1, "player_1": 1, "playr_1": 2})), "'playr_1', which is not an agent. Did you"),
    (lambda: wrap(Groups({"player_0": 1, "player_1": 2}, {1: 0.5})), "2 has no pct"),
    (lambda: wrap(Matrix(np.eye(3))), "3 x 3, but there are 2"),
    (lambda: wrap(Matrix({"player_2": {}})), "'player_2', which is not an agent"),
    (lambda: wrap(Matrix({"player_1": {"me": 1}})), "'me', which is not an agent"),
    (lambda: wrap(Matrix({"player_1": 1})), "is not a row"),
    (lambda: wrap(Matrix({"player_1": {"player_0": -1}})), r"-1 at \[1, 0\]"),
    (lambda: wrap(Relatedness(Pedigree(3))), "3 x 3, but there are 2"),
    (lambda: wrap(Relatedness(Pedigree([["ann", "bob"]]))), "no 'player_0' in the pedigree"),
    (lambda: wrap(Teams(size=2)).step(0), "before reset"),
]


@pytest.mark.parametrize(("call", "said"), BAD, ids=range(len(BAD)))
def test_bad_input_is_one_sentence(call, said):
    with pytest.raises(UsageError, match=said) as error:
        call()
    assert "\n" not in str(error.value)


def test_reading_before_reset():
    env = wrap(Teams(size=2))
    env.env.reset()  # not through the wrapper
    for name in ("rewards", "_cumulative_rewards"):
        with pytest.raises(AttributeError, match="before reset"):
            getattr(env, name)
    with pytest.raises(UsageError, match="before reset"):
        env.step(0)


def test_what_would_lose_the_shared_rewards():
    env = wrap(Teams(size=2))
    env.reset()
    for name in ("get_state", "set_state"):
        with pytest.raises(AttributeError, match="clone"):
            getattr(env, name)
    with pytest.raises(AttributeError, match="_seat"):
        _ = env._seat


def test_after_the_end():
    env = wrap(Teams(size=2))
    env.reset()
    for action in (0, 3, 1, 4, 2, None, None):
        env.step(action)
    assert (env.rewards, env.infos, env.agents) == ({}, {}, [])
    with pytest.raises(IllegalAction, match="reset"):
        env.step(0)


def test_rewards_that_are_no_numbers():
    script = [({"a": float("nan"), "b": 0, "c": 0}, "")]
    env = KinshipWrapper(Mortal(script), Teams(size=3))
    env.reset()
    with pytest.raises(UsageError, match="rewards must be finite"):
        env.step({})


def test_environments_without_names():
    env = Mortal([])
    env.possible_agents = []
    with pytest.raises(UsageError, match="possible_agents"):
        KinshipWrapper(env, Teams(size=2))
