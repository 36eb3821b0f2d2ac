"""``gymnasium.make`` and ``gymnasium.make_vec`` with our ids."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import vector as wrappers

import coterie
from coterie.agents.core import Decision
from coterie.envs.registry import make_game
from coterie.envs.words import TextGame
from coterie.errors import IllegalAction, InvalidAction, UnknownName, UsageError

GAMES = coterie.list_envs()


def first_free(observation, mask, rng):
    return mask.argmax(1)


def choose(env, info, rng):
    if "action_mask" in info:
        return int(np.where(info["action_mask"] != 0, rng.random(len(info["action_mask"])), -1).argmax())
    return str(rng.choice(info["choices"])) if info.get("choices") else env.action_space.sample()


@pytest.mark.parametrize("id", GAMES)
@pytest.mark.filterwarnings("ignore:.*obs.*:UserWarning")
def test_gymnasiums_own_check(id):
    env = gymnasium.make(f"coterie/{id}")
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("id", GAMES)
def test_a_seed_is_a_game(id):
    played = []
    for _ in range(2):
        env, rng = gymnasium.make(f"coterie/{id}", opponent="random", seat="random"), np.random.default_rng(5)
        env.action_space.seed(5)
        seen, info = env.reset(seed=3)
        log = [(np.asarray(seen).tolist(), info["seat"])]
        for _ in range(12):
            seen, reward, terminated, truncated, info = env.step(choose(env, info, rng))
            assert env.observation_space.contains(seen)
            log.append((np.asarray(seen).tolist(), reward, terminated, truncated, info["seat"]))
            if terminated or truncated:
                seen, info = env.reset()
                log.append((np.asarray(seen).tolist(), info["seat"]))
        played.append(log)
    assert played[0] == played[1]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("id", ["tictactoe-v0", "connect_four-v0", "highest_number-v0", "leduc_poker-v0"])
def test_one_game_and_many_are_the_same_games(id, seat):
    """An opponent without chance: a row of the vector environment is the single one, whatever stands beside it."""
    single = gymnasium.make(f"coterie/{id}", opponent=first_free, seat=seat)
    many = gymnasium.make_vec(f"coterie/{id}", 3, opponent=first_free, seat=seat, autoreset_mode="SameStep")
    rng = np.random.default_rng(2)
    seen, info = single.reset(seed=10)
    rows, infos = many.reset(seed=9)  # row 1 is the game of seed 10
    for _ in range(40):
        assert np.array_equal(rows[1], seen)
        assert np.array_equal(infos["action_mask"][1], info["action_mask"])
        actions = np.array([int(mask.argmax()) for mask in infos["action_mask"]])
        actions[1] = choose(single, info, rng)
        seen, reward, terminated, truncated, info = single.step(actions[1])
        rows, rewards, terms, truncs, infos = many.step(actions)
        assert (rewards[1], terms[1], truncs[1]) == (reward, terminated, truncated)
        if terminated or truncated:
            assert np.array_equal(infos["final_obs"][1], seen)
            assert infos["final_info"]["seat"][1] == seat
            seen, info = single.reset()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("id", ["tictactoe-v0", "kuhn_poker-v0", "highest_number-v0", "word_chain-v0"])
def test_autoreset_modes_as_gymnasium_has_them(id, mode):
    """RecordEpisodeStatistics counts what we count, in every mode; a finished row never acts."""
    env = wrappers.RecordEpisodeStatistics(gymnasium.make_vec(f"coterie/{id}", 4, autoreset_mode=mode))
    assert env.metadata["autoreset_mode"].value == mode
    seen, info = env.reset(seed=1)
    env.action_space.seed(1)
    rng, waiting, lengths, ended = np.random.default_rng(0), np.zeros(4, bool), np.zeros(4, int), 0
    for _ in range(30):
        if "action_mask" in info:
            actions = np.where(info["action_mask"] != 0, rng.random(info["action_mask"].shape), -1).argmax(-1)
        else:
            actions = env.action_space.sample()
        seen, reward, terminated, truncated, info = env.step(actions)
        over = terminated | truncated
        assert not over[waiting].any()
        assert not np.asarray(reward)[waiting].any()
        lengths += ~waiting
        if over.any():
            assert info["episode"]["l"][over].tolist() == lengths[over].tolist()
            assert ("final_obs" in info) == (mode == "SameStep")
        lengths[over], ended, waiting = 0, ended + int(over.sum()), over if mode == "NextStep" else waiting
        if mode == "Disabled" and over.any():
            seen, info = env.reset(options={"reset_mask": over})
    assert ended > 4


def test_observation_wrappers_of_gymnasium_take_it():
    env = wrappers.NormalizeReward(wrappers.NormalizeObservation(gymnasium.make_vec("coterie/tictactoe-v0", 4)))
    env.reset(seed=0)
    seen, *_ = env.step(np.array([0, 1, 2, 3]))
    assert seen.shape == (4, 18)


def test_a_finished_row_waits_for_its_reset():
    env = gymnasium.make_vec("coterie/tictactoe-v0", 2, seat=0, autoreset_mode="Disabled")
    env.reset(seed=0)
    *_, terminated, _, _ = env.step(np.array([0, -1]))
    assert terminated.tolist() == [False, True]
    with pytest.raises(UsageError, match=r"\[1\] are over"):
        env.step(np.array([1, 0]))
    seen, info = env.reset(options={"reset_mask": terminated})
    assert info["action_mask"][1].all()
    assert not info["action_mask"][0].all()


def test_layouts_hold_the_same_numbers():
    views = {
        layout: gymnasium.make("coterie/connect_four-v0", layout=layout, seat=1)
        for layout in ("flat", "native", "channels_first", "channels_last", "dict")
    }
    seen = {layout: env.reset(seed=4)[0] for layout, env in views.items()}
    native = seen["native"]
    assert native.shape == (6, 7, 2)
    assert native.any()
    assert np.array_equal(seen["flat"], native.reshape(-1).astype(np.float32))
    assert seen["flat"].dtype == np.float32
    assert np.array_equal(seen["channels_first"], native.transpose(2, 0, 1))
    assert np.array_equal(seen["channels_last"], native)
    assert np.array_equal(seen["dict"]["observation"], native)
    assert seen["dict"]["action_mask"].tolist() == [1] * 7
    world = {
        layout: gymnasium.make_vec("coterie/gridworld-v0", 2, layout=layout, preset="a3_9x9").reset(seed=1)[0]
        for layout in ("native", "channels_last")
    }
    assert np.array_equal(world["channels_last"], world["native"].transpose(0, 2, 3, 1))


def test_opponents_by_name_as_agents_and_as_functions():
    class Corner:
        name = "corner"

        def act(self, turns):
            return [Decision(turn.legal_actions[-1]) for turn in turns]

    for opponent in ("minimax", "mcts:20", Corner(), first_free):
        env, rng = gymnasium.make("coterie/tictactoe-v0", opponent=opponent), np.random.default_rng(0)
        seen, info = env.reset(seed=0)
        results = []
        while len(results) < 10:
            *_, reward, terminated, truncated, info = env.step(choose(env, info, rng))
            if terminated or truncated:
                results.append(reward)
                seen, info = env.reset()
        if opponent == "minimax":
            assert max(results) <= 0
    many = gymnasium.make_vec("coterie/tictactoe-v0", 8, opponent="minimax", autoreset_mode="SameStep")
    _, info = many.reset(seed=1)
    for _ in range(20):
        _, reward, _, _, info = many.step(info["action_mask"].argmax(1))
        assert reward.max() <= 0


def test_seats():
    env = gymnasium.make("coterie/tictactoe-v0")
    assert [env.reset(seed=0)[1]["seat"], *(env.reset()[1]["seat"] for _ in range(3))] == [0, 1, 0, 1]
    drawn = gymnasium.make("coterie/tictactoe-v0", seat="random")
    seats = [drawn.reset(seed=1)[1]["seat"], *(drawn.reset()[1]["seat"] for _ in range(40))]
    assert set(seats) == {0, 1}
    assert gymnasium.make_vec("coterie/tictactoe-v0", 3).reset()[1]["seat"].tolist() == [0, 1, 0]


def test_the_learners_death_ends_its_episode():
    """It starves doing nothing, while foragers live on; its row of the vector environment begins anew."""
    arguments = {"preset": "a3_9x9", "agent": {"energy": 30, "upkeep": 1}, "death": {"energy": True}}
    env = gymnasium.make("coterie/gridworld-v0", seat=0, opponent="forager", max_cycles=200, **arguments)
    env.reset(seed=0)
    for _ in range(30):
        *_, terminated, truncated, _ = env.step(0)
    assert terminated
    assert not truncated
    assert env.unwrapped.face.agents
    with pytest.raises(IllegalAction, match="learner's game"):
        env.step(0)
    many = gymnasium.make_vec("coterie/gridworld-v0", 3, seat=0, opponent="forager", max_cycles=200, **arguments)
    many.reset(seed=0)
    ended = [many.step(np.zeros(3, int))[2].all() for _ in range(61)]
    assert np.flatnonzero(ended).tolist() == [29, 60]  # one step for the reset


def test_masks_have_the_name_that_maskable_ppo_looks_for():
    env = gymnasium.make("coterie/tictactoe-v0", seat=0)
    _, info = env.reset(seed=0)
    assert env.unwrapped.action_masks().dtype == np.bool_
    env.step(4)
    assert not env.unwrapped.action_masks()[4]
    assert env.unwrapped.action_masks().sum() == 7
    words = gymnasium.make("coterie/word_chain-v0")
    words.reset(seed=0)
    with pytest.raises(UsageError, match="texts"):
        words.unwrapped.action_masks()


@pytest.mark.parametrize("switch", [{"mask": "none"}, {"mask": "both"}, {"idle": "ones"}])
def test_switches_of_pettingzoo_faces_contradict_action_masks(switch: dict[str, str]):
    with pytest.raises(UsageError, match=r"action_masks\(\)"):
        gymnasium.make("coterie/tictactoe-v0", **switch)


def test_illegal_actions_follow_the_policy():
    env = gymnasium.make("coterie/tictactoe-v0", seat=0, opponent=first_free, illegal_reward=-3)
    env.reset(seed=0)
    env.step(0)
    _, reward, terminated, _, info = env.step(0)
    assert (reward, terminated, info["illegal"]) == (-3, True, 1)
    again = gymnasium.make("coterie/tictactoe-v0", seat=0, illegal="resample")
    again.reset(seed=0)
    again.step(0)
    assert not again.step(0)[2]


def test_texts():
    env = gymnasium.make("coterie/tictactoe-v0", text=True, seat=1, opponent=first_free)
    seen, _ = env.reset(seed=0)
    assert "You are O" in seen
    assert "You are O" in env.step("4")[0]


def test_pictures():
    env = gymnasium.make("coterie/tictactoe-v0", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape[2] == 3


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"opponent": "minmax"}, UnknownName, "minimax"),
        ({"opponent": 5}, UsageError, "opponent=5"),
        ({"seat": 2}, UsageError, "seat=2"),
        ({"seat": True}, UsageError, "seat=True"),
        ({"layout": "chw"}, UnknownName, "layout"),
        ({"size": 4}, TypeError, "unexpected keyword argument 'size'"),
    ],
)
@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_what_cannot_be_is_refused(make, wrong, error, said):
    with pytest.raises(error, match=said):
        make("coterie/tictactoe-v0", **wrong)


def test_other_wrong_uses():
    with pytest.raises(UsageError, match="channels"):
        gymnasium.make("coterie/kuhn_poker-v0", layout="channels_first")
    with pytest.raises(UsageError, match="texts"):
        gymnasium.make("coterie/word_chain-v0", layout="flat")
    with pytest.raises(UsageError, match="no pictures"):
        gymnasium.make_vec("coterie/highest_number-v0", render_mode="rgb_array")
    with pytest.raises(UsageError, match="needs a render_mode"):
        gymnasium.make_vec("coterie/tictactoe-v0").render()
    with pytest.raises(UnknownName, match="SameStep"):
        gymnasium.make_vec("coterie/tictactoe-v0", autoreset_mode="samestp")
    env = gymnasium.make("coterie/tictactoe-v0", opponent=lambda seen, mask, rng: mask, seat=1)
    with pytest.raises(InvalidAction, match="opponent returned"):
        env.reset(seed=0)
    stubborn = gymnasium.make("coterie/tictactoe-v0", opponent=lambda seen, mask, rng: np.array([-1]), seat=1)
    with pytest.raises(IllegalAction, match="first turn"):
        stubborn.reset(seed=0)
    many = gymnasium.make_vec("coterie/tictactoe-v0", 2)
    many.reset(seed=0)
    with pytest.raises(InvalidAction, match="one for each of 2"):
        many.step(np.zeros(3, int))


def test_games_registered_later_are_found_too(own_games):
    coterie.register("late_tictactoe-v0", "coterie.envs.tictactoe:tictactoe")
    assert gymnasium.make("coterie/late_tictactoe-v0").reset(seed=0)[0].shape == (18,)


def test_words_games_are_many_single_ones():
    env = gymnasium.make_vec("coterie/word_chain-v0", 2)
    assert isinstance(env, gymnasium.vector.SyncVectorEnv)
    seen, info = env.reset(seed=0)
    assert all("Say a new word" in text for text in seen)
    assert isinstance(make_game("word_chain"), TextGame)
