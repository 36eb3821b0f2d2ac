"""The batched face: autoreset, illegal actions, states, threads, bad input.

A little over 400 lines, because one contract is told in one place.
"""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.envs import make_game, make_vec, state
from coterie.envs.stepping.jit import disabled
from coterie.errors import IllegalAction, InvalidAction, StateError, UnknownName, UsageError

X_WINS = [0, 3, 1, 4, 2]


def started(n=4, id="tictactoe", **kwargs):
    vec = make_vec(id, n, **{"seed": 0, **kwargs})
    vec.reset()
    return vec


def play(vec, cells):
    for cell in cells:
        result = vec.step(np.full(vec.num_envs, cell))
    return result


def test_shapes_and_types():
    vec = make_vec("tictactoe-v0", num_envs=5, num_threads=1, seed=1)
    obs, info = vec.reset(seed=2)
    assert obs["observation"].shape == (5, 3, 3, 2)
    assert obs["observation"].dtype == np.int8
    assert obs["action_mask"].shape == (5, 9)
    assert obs["action_mask"].dtype == np.int8
    obs, rewards, terminations, truncations, info = vec.step(vec.sample_actions())
    assert rewards.shape == (5, 2)
    assert terminations.shape == truncations.shape == info["illegal"].shape == info["_final_obs"].shape == (5,)
    assert vec.player.tolist() == [1] * 5
    assert obs["observation"] is vec.observation
    assert vec.action_mask is obs["action_mask"]


def test_simultaneous_shapes():
    vec = started(5, "highest_number", players=3, max_number=7)
    obs, rewards, terminations, truncations, info = vec.step(vec.sample_actions())
    assert vec.sample_actions().shape == rewards.shape == terminations.shape == (5, 3)
    assert truncations.shape == info["illegal"].shape == (5, 3)
    assert obs["observation"].shape == (5, 3, 3)
    assert obs["action_mask"].shape == (5, 3, 8)
    assert vec.player.tolist() == [-1] * 5
    assert info["_final_obs"].shape == (5,)
    assert (info["final_obs"]["observation"] >= 0).all()


@pytest.mark.parametrize("mode", ["SameStep", gymnasium.vector.AutoresetMode.SAME_STEP])
def test_same_step(mode):
    vec = started(autoreset_mode=mode)
    obs, rewards, terminations, truncations, info = play(vec, X_WINS)
    assert rewards.tolist() == [[1, -1]] * 4
    assert terminations.all()
    assert not truncations.any()
    assert info["_final_obs"].all()
    assert info["final_obs"]["observation"][0, :, :, 1].tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert not info["final_obs"]["action_mask"].any()
    assert not obs["observation"].any()
    assert obs["action_mask"].all()
    assert (vec.player == 0).all()
    assert (vec.status == 0).all()
    _, rewards, terminations, _, info = vec.step(vec.sample_actions())
    assert not rewards.any()
    assert not terminations.any()
    assert not info["_final_obs"].any()


def test_next_step():
    vec = started(autoreset_mode=gymnasium.vector.AutoresetMode.NEXT_STEP)
    obs, rewards, terminations, _, info = play(vec, X_WINS)
    assert terminations.all()
    assert obs["observation"].any()
    assert not obs["action_mask"].any()
    obs, rewards, terminations, _, info = vec.step(np.full(4, 8))  # ignored
    assert not rewards.any()
    assert not terminations.any()
    assert not info["illegal"].any()
    assert not obs["observation"].any()
    assert obs["action_mask"].all()


def test_disabled():
    vec = started(autoreset_mode="Disabled")
    play(vec, X_WINS)
    for _ in range(3):
        obs, rewards, terminations, _, info = vec.step(np.full(4, 8))
        assert terminations.all()
        assert not rewards.any()
        assert not obs["action_mask"].any()
        assert not info["illegal"].any()
        assert vec.sample_actions().tolist() == [0] * 4
    vec.reset(mask=np.array([True, False, False, True]))
    assert vec.status.tolist() == [0, 1, 1, 0]
    assert vec.terminations.tolist() == [False, True, True, False]
    assert vec.action_mask.all(1).tolist() == [True, False, False, True]
    vec.reset(mask=[1])
    assert vec.status.tolist() == [0, 0, 1, 0]


def test_lose_is_the_default():
    vec = started(3)
    vec.step(np.array([4, 4, 4]))
    _, rewards, terminations, truncations, info = vec.step(np.array([4, -1, 0]))
    assert rewards.tolist() == [[0, -1], [0, -1], [0, 0]]
    assert terminations.tolist() == [True, True, False]
    assert not truncations.any()
    assert info["illegal"].tolist() == [True, True, False]


def test_the_penalty_can_be_chosen():
    vec = started(2, illegal_reward=-0.25)
    _, rewards, *_ = vec.step(np.array([-1, 0]))
    assert rewards.tolist() == [[-0.25, 0], [0, 0]]


def test_raise_changes_nothing():
    vec = started(3, illegal="raise")
    vec.step(np.array([4, 4, 4]))
    before = state.to_bytes(vec.game, vec.get_state())
    with pytest.raises(IllegalAction, match=r"Action 4 of player 1 in row 1 is not legal(.|\n)*Legal: 0 1 2 3 5 6 7 8"):
        vec.step(np.array([0, 4, 0]))
    with pytest.raises(IllegalAction, match="Action -1"):
        vec.step(np.array([0, 0, -1]))
    assert state.to_bytes(vec.game, vec.get_state()) == before
    vec.step(np.array([0, 4, 0]), rows=[0, 2])  # row 1 does not play


def test_resample_plays_something_legal_and_the_same_again():
    results = []
    for threads in (1, 2):
        vec = started(600, illegal="resample", illegal_reward=-0.5, num_threads=threads)
        _, rewards, terminations, _, info = vec.step(np.full(600, -1))
        assert info["illegal"].all()
        assert (rewards[:, 0] == -0.5).all()
        assert not terminations.any()
        assert (vec.action_mask.sum(1) == 8).all()
        assert len(np.unique(vec.state["other"])) == 9
        assert (vec.get_state().illegal[:, 0] == 1).all()
        results.append(vec.state.copy())
    assert np.array_equal(*results)


def test_noop_only_counts():
    vec = started(2, illegal="noop", max_cycles=3)
    for turn in range(3):
        _, rewards, terminations, truncations, info = vec.step(np.array([-1, turn]))
        assert info["illegal"].tolist() == [True, False]
        assert not rewards.any()
        assert not terminations.any()
    assert truncations.all()
    assert info["final_obs"]["action_mask"][0].all()


def test_noop_ends_some_day():
    vec = started(1, illegal="noop", autoreset_mode="Disabled")
    for _ in range(36):
        _, _, _, truncations, _ = vec.step(np.array([-1]))
    assert truncations.all()


@pytest.mark.parametrize(("illegal", "reward"), [("lose", -1.0), ("noop", 0.0), ("resample", 0.0)])
def test_illegal_in_simultaneous_games(illegal, reward):
    vec = started(2, "highest_number", illegal=illegal, rounds=2, autoreset_mode="Disabled")
    _, rewards, terminations, _, info = vec.step(np.array([[3, -1], [3, 1]]))
    assert info["illegal"].tolist() == [[False, True], [False, False]]
    assert rewards[1].tolist() == [1, -1]
    assert terminations.tolist() == [[illegal == "lose"] * 2, [False] * 2]
    if illegal != "resample":
        assert rewards[0].tolist() == [0, reward]
        assert vec.state.said[0].tolist() == [-1, -1]
    else:
        assert vec.state.said[0, 0] == 3
        assert 0 <= vec.state.said[0, 1] <= 20


def test_max_cycles_truncates():
    vec = started(2, max_cycles=2)
    vec.step(np.array([0, 0]))
    _, _, terminations, truncations, _ = vec.step(np.array([1, 1]))
    assert truncations.all()
    assert not terminations.any()


@pytest.mark.parametrize(
    "actions",
    [
        [9, 0],
        [-2, 0],
        [2**40, 0],
        [0.0, 1.0],
        [True, False],
        ["0", "1"],
        [None, 0],
        [0],
        [[0, 1]],
        7,
        [0, 1, 2],
        [[0, 1], [2]],
        {"player_0": 1},
        np.array([2**64 - 1, 0], np.uint64),
    ],
)
def test_bad_actions_are_refused_and_nothing_is_played(actions):
    vec = started(2)
    before = state.to_bytes(vec.game, vec.get_state())
    with pytest.raises(InvalidAction, match="tictactoe-v0"):
        vec.step(actions)
    assert state.to_bytes(vec.game, vec.get_state()) == before


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_any_integer_type_will_do(dtype):
    vec = started(2)
    vec.step(np.array([3, 8], dtype))
    assert vec.state["other"].tolist() == [1 << 3, 1 << 8]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_small_types_for_many_actions(dtype):
    vec = started(1, "highest_number", max_number=300)
    vec.step(np.array([[100, 3]], dtype))
    assert vec.rewards.tolist() == [[1, -1]]


def test_strided_actions():
    vec = started(2)
    vec.step(np.array([[3, 0], [8, 0]], np.int32)[:, 0])
    assert vec.state["other"].tolist() == [1 << 3, 1 << 8]


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"num_envs": 0}, UsageError),
        ({"num_envs": 2.0}, UsageError),
        ({"num_threads": 0}, UsageError),
        ({"max_cycles": 0}, UsageError),
        ({"illegal": "loose"}, UnknownName),
        ({"illegal_reward": float("nan")}, UsageError),
        ({"autoreset_mode": "Never"}, UnknownName),
        ({"board": 4}, UsageError),
    ],
)
def test_bad_arguments(kwargs, error):
    with pytest.raises(error):
        make_vec("tictactoe", **kwargs)


def test_calls_before_reset():
    vec = make_vec("tictactoe", 2)
    for call in (vec.sample_actions, lambda: vec.step([0, 0]), lambda: vec.random_rollout(1)):
        with pytest.raises(UsageError, match="reset"):
            call()


def test_seeds():
    first, second = make_vec("tictactoe", 3), make_vec("tictactoe", 3, seed=9)
    first.reset(seed=9)
    second.reset()
    assert first.sample_actions().tolist() == second.sample_actions().tolist()
    assert first.get_state().seed.tolist() == [9, 10, 11]
    first.reset()
    assert first.get_state().episode.tolist() == [1, 1, 1]
    first.reset(seed=[4, 5, 6])
    assert first.get_state().seed.tolist() == [4, 5, 6]
    with pytest.raises(UsageError, match="seed"):
        first.reset(seed=[1.5, 2, 3])
    with pytest.raises(UsageError, match="seed"):
        first.reset(seed=[1, 2])


def test_sampling_is_uniform():
    vec = started(9000)
    play_first = np.bincount(vec.sample_actions(), minlength=9)
    assert ((play_first - 1000) ** 2 / 1000).sum() < 26.1  # chi-square, 8 degrees of freedom, p = .001
    assert not np.array_equal(vec.sample_actions().copy(), vec.sample_actions())


@pytest.mark.skipif(disabled(), reason="the word trick is only used where it is compiled")
@settings(deadline=None)  # the first draw of a size compiles
@given(st.integers(1, 200), st.floats(0, 1), st.integers(0, 2**63))
def test_sampled_actions_are_legal_for_any_mask(actions, density, seed):
    """The sampler reads eight entries at a time: any number of actions, any mask, against NumPy."""
    from coterie.envs.stepping.templates import pick_plain

    rng = np.random.default_rng(seed)
    mask = (rng.random(actions) < density).astype(np.int8)
    word = rng.integers(0, 2**64, dtype=np.uint64)
    assert picker(actions)(mask, word) == pick_plain(mask, word)


def picker(actions, made={}):  # noqa: B006 one compilation a number of actions
    from coterie.envs.stepping import templates
    from coterie.envs.stepping.jit import bind

    actions = next(a for a in (1, 7, 8, 9, 16, 127, 128, 200) if a >= actions)
    if actions not in made:
        made[actions] = bind(templates.pick_legal, {"ACTIONS": actions}, f"test_{actions}")

    def pick(mask, word):
        return made[actions](np.concatenate([mask, np.zeros(actions - len(mask), np.int8)]), word)

    return pick


@pytest.mark.skipif(disabled(), reason="the word trick is only used where it is compiled")
@settings(deadline=None)  # the first draw of a size compiles
@given(st.sampled_from([512, 519, 1100, 4672]), st.floats(0, 1), st.integers(0, 2**63))
def test_wide_masks_are_searched_in_large_steps(actions, density, seed):
    from coterie.envs.stepping import templates
    from coterie.envs.stepping.jit import bind

    rng = np.random.default_rng(seed)
    mask = (rng.random(actions) < density**4).astype(np.int8)
    word = rng.integers(0, 2**64, dtype=np.uint64)
    if actions not in WIDE:
        WIDE[actions] = bind(templates.pick_wide, {"ACTIONS": actions}, f"test_{actions}")
    assert WIDE[actions](mask, word) == templates.pick_plain(mask, word)
    assert WIDE[actions](np.ones_like(mask), word) == templates.pick_plain(np.ones_like(mask), word)


WIDE = {}
"""One compilation a number of actions."""


@pytest.mark.parametrize("autoreset", ["SameStep", "NextStep", "Disabled"])
@pytest.mark.parametrize("id", ["tictactoe", "highest_number"])
def test_a_rollout_that_is_not_watched_plays_the_same_games(id, autoreset):
    """Neither game draws by itself, so that masks decide in both; flags and views agree at the end."""
    watched, unwatched = (make_vec(id, 300, seed=3, autoreset_mode=autoreset, max_cycles=7) for _ in range(2))
    for vec, observe in ((watched, True), (unwatched, False)):
        vec.reset()
        vec.random_rollout(2)
        first = vec.random_rollout(12, observe=observe)
        second = vec.random_rollout(3, observe=observe)
        vec.sums = [first.steps, first.episodes, *first.returns.tolist(), second.episodes, *second.returns.tolist()]
    assert watched.sums == unwatched.sums
    assert state.to_bytes(watched.game, watched.get_state()) == state.to_bytes(unwatched.game, unwatched.get_state())
    for name in ("observation", "action_mask", "player", "rewards", "terminations", "truncations", "illegal", "cycles"):
        assert np.array_equal(getattr(watched, name), getattr(unwatched, name)), name


def test_threads_change_nothing():
    results = []
    for threads in (1, 2, 5):
        vec = started(3000, num_threads=threads)
        for _ in range(10):
            vec.step(vec.sample_actions())
        sums = vec.random_rollout(10)
        results.append((state.to_bytes(vec.game, vec.get_state()), sums.episodes, sums.returns.tolist()))
        vec.close()
    assert results[0] == results[1] == results[2]


def test_states_travel_between_rows_and_batches():
    source, target = started(4), started(3, autoreset_mode="Disabled")
    source.random_rollout(4)
    part = source.get_state([1, 3])
    target.set_state(part, [2, 0])
    assert np.array_equal(target.observation[[2, 0]], source.observation[[1, 3]])
    assert np.array_equal(target.action_mask[[2, 0]], source.action_mask[[1, 3]])
    assert target.cycles[[2, 0]].tolist() == source.cycles[[1, 3]].tolist()
    target.set_state(source.state[2:3])  # one bare row for all
    assert (target.state == source.state[2]).all()
    with pytest.raises(StateError, match="2 states came for 3 rows"):
        target.set_state(part)


def test_a_finished_state_stays_finished():
    source = started(1, autoreset_mode="Disabled")
    play(source, X_WINS)
    target = started(1, autoreset_mode="Disabled")
    for given_state in (source.get_state(), source.state):
        target.reset()
        target.set_state(given_state)
        assert target.terminations.all()
        assert not target.action_mask.any()


def test_reset_from_a_state():
    game = make_game("tictactoe")
    opening = game.new_state(1)
    game.kernels.step(opening, 0, np.array([4, 4], np.int32), np.zeros(2, np.float32))
    vec = make_vec("tictactoe", 3, seed=1)
    for form in (opening, state.to_bytes(game, opening)):
        obs, _ = vec.reset(options={"state": form})
        assert obs["action_mask"].sum(1).tolist() == [8, 8, 8]
        assert (vec.player == 1).all()
    vec.reset(mask=[1])
    assert vec.action_mask.sum(1).tolist() == [8, 9, 8]


@pytest.mark.parametrize("way", [lambda v: v.clone(), copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
@pytest.mark.parametrize("id", ["tictactoe", "highest_number"])
def test_copies_go_the_same_way_and_are_independent(way, id):
    vec = started(50, id, num_threads=2)
    vec.random_rollout(3)
    twin = way(vec)
    frozen = state.to_bytes(vec.game, twin.get_state())
    vec.random_rollout(7)
    assert state.to_bytes(vec.game, twin.get_state()) == frozen
    twin.random_rollout(7)
    for name in ("observation", "action_mask", "rewards", "player"):
        assert np.array_equal(getattr(vec, name), getattr(twin, name))
    assert vec.sample_actions().tolist() == twin.sample_actions().tolist()


def test_some_rows_only():
    vec = started(3)
    vec.step(np.array([0, 1, 2]), rows=[2])
    assert vec.player.tolist() == [0, 0, 1]
    assert vec.cycles.tolist() == [0, 0, 1]
    vec.step(np.array([0, 1, 2]), rows=np.array([True, True, False]))
    assert vec.player.tolist() == [1, 1, 1]


def test_observe_any_seat():
    vec = started(2)
    vec.step(np.array([0, 8]))
    seen = vec.observe([0, 1], np.array([0, 1]))
    assert seen[0, 0, 0].tolist() == [1, 0]
    assert seen[1, 2, 2].tolist() == [0, 1]
    for rows, players in (([0, 1], [0]), ([0], [2]), ([0], [-1]), ([0], [[0]]), ([0], ["a"])):
        with pytest.raises(UsageError, match=r"One seat 0\.\.1 is needed for each of"):
            vec.observe(rows, players)


def test_the_first_reset_starts_all_rows():
    vec = make_vec("highest_number", 3)
    vec.reset(seed=4, mask=[1])
    assert vec.get_state().seed.tolist() == [4, 5, 6]
    assert vec.action_mask.all()
    vec.reset(seed=9, mask=[1])
    assert vec.get_state().seed.tolist() == [4, 10, 6]
    with pytest.raises(StateError, match=r"row mask has the shape \[3, 2\]"):
        vec.reset(mask=vec.terminations)


def test_a_state_before_the_first_reset():
    vec = make_vec("tictactoe", 3, seed=4)
    vec.set_state(make_game("tictactoe").new_state(1))
    assert vec.get_state().seed.tolist() == [4, 5, 6]
    assert vec.action_mask.all()


def test_unknown_reset_options_are_ignored_with_a_warning():
    vec = make_vec("tictactoe", 2)
    with pytest.warns(UserWarning, match="ignores the reset option 'fen'"):
        vec.reset(options={"fen": 1})


# -- packed masks (``Kernels.step_legal``) -----------------------------------------------------------------------------


def packs(actions):
    """Nim with one heap of 40 and that many action numbers: only the first and the last three take 1 to 6 of it."""
    import dataclasses

    from coterie.envs.core import Kernels
    from coterie.envs.stepping.jit import kernel

    last = actions - 3
    dtype = np.dtype([("left", np.int64), ("turn", np.int64)])

    @kernel
    def reset(state, i, seed):
        state[i]["left"] = 40
        state[i]["turn"] = 0

    @kernel
    def mover(state, i):
        return state[i]["turn"]

    @kernel
    def legal(state, i, player, mask):
        mask[:] = 0
        if state[i]["turn"] == player:
            for k in range(min(6, state[i]["left"])):
                mask[k if k < 3 else last + k - 3] = 1

    @kernel
    def step(state, i, actions, rewards):
        row = state[i]
        action = actions[row["turn"]]
        row["left"] -= action + 1 if action < 3 else action - last + 4
        if row["left"] == 0:
            rewards[row["turn"]] = 1
            return 1
        row["turn"] = 1 - row["turn"]
        return 0

    @kernel
    def step_legal(state, i, actions, rewards, packed):
        status = step(state, i, actions, rewards)
        for w in range(last // 64 + 1 + (last % 64 > 61)):
            packed[w] = 0
        for k in range(min(6, state[i]["left"])):
            a = k if k < 3 else last + k - 3
            packed[a >> 6] |= np.uint64(1) << np.uint64(a & 63)
        return status

    @kernel
    def observe(state, i, player, out):
        out[0] = state[i]["left"]

    @kernel
    def key(state, i):
        return np.uint64(2 * state[i]["left"] + state[i]["turn"])

    game = make_game("tictactoe")
    info = dataclasses.replace(
        game.info, name=f"packs{actions}", num_actions=actions, observation_shape=(1,), observation_dtype="int8"
    )
    plain = Kernels(reset, mover, legal, step, observe, key)
    return [
        dataclasses.replace(game, info=info, kernels=kernels, new_state=lambda n: np.zeros(n, dtype), ranges={})
        for kernels in (plain, plain._replace(step_legal=step_legal))
    ]


@pytest.mark.slow
def test_packed_masks_are_those_of_step_and_legal_apart():
    """Illegal actions, restarts of every kind, states put in: the same games, and never another mask."""
    from coterie.envs.faces.vec import VecEnv

    games = packs(4170)  # more words than one word can name, and a part of a word
    for illegal, autoreset in (("lose", "SameStep"), ("resample", "NextStep"), ("noop", "Disabled")):
        apart, packed = (
            VecEnv(game, 5, seed=1, illegal=illegal, autoreset_mode=autoreset, max_cycles=9) for game in games
        )
        apart.reset()
        packed.reset()
        for turn in range(60):
            drawn = [vec.sample_actions().copy() for vec in (apart, packed)]
            assert np.array_equal(*drawn)
            drawn[0][turn % 7 : turn % 7 + 1] = -1
            if turn % 20 == 19:
                whole = apart.get_state([2, 1])
                for vec in (apart, packed):
                    vec.set_state(whole, [0, 4])
                    vec.reset(mask=[3])
                continue
            rows = [0, 2, 3] if turn % 9 == 8 else None
            stepped = [vec.step(drawn[0], rows=rows) for vec in (apart, packed)]
            for a, b in zip(stepped[0][1:4], stepped[1][1:4], strict=True):
                assert np.array_equal(a, b)
            assert np.array_equal(apart.observation, packed.observation)
            assert np.array_equal(apart.action_mask, packed.action_mask), (illegal, turn)
            assert np.array_equal(stepped[0][4]["final_obs"]["action_mask"], stepped[1][4]["final_obs"]["action_mask"])
        assert np.array_equal(apart.clone().sample_actions(), packed.clone().sample_actions())
        assert rollouts_agree(apart, packed)


def rollouts_agree(*vecs):
    """Whether rollouts, seen and unseen, leave equal masks."""
    for vec in vecs:
        vec.random_rollout(7)
        vec.random_rollout(7, observe=False)
    return np.array_equal(vecs[0].action_mask, vecs[1].action_mask)
