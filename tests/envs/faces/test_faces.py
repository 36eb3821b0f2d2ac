"""AEC, parallel, text and registry faces: policies for illegal actions, bad input, states.

A little over 400 lines, because both faces keep one contract.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.utils.conversions import aec_to_parallel

import coterie
from coterie.aliases import RUNNING
from coterie.envs import make_game, tictactoe_v0
from coterie.envs.faces.aec import AECGame
from coterie.envs.state import to_bytes
from coterie.envs.stepping.drivers import drivers
from coterie.envs.stepping.jit import disabled
from coterie.envs.words import TextGame
from coterie.errors import ActionError, CoterieError, IllegalAction, InvalidAction, UnknownName, UsageError

X_WINS = [0, 3, 1, 4, 2]


def aec(**kwargs):
    env = coterie.make("tictactoe-v0", **kwargs)
    env.reset(seed=0)
    return env


def parallel(**kwargs):
    env = coterie.make("tictactoe-v0", api="parallel", **kwargs)
    env.reset(seed=0)
    return env


def everybody(env, action):
    return dict.fromkeys(env.agents, action)


# -- illegal actions ---------------------------------------------------------------------------------------------------


def test_lose_punishes_only_the_mover():
    env = aec()
    env.step(4)
    env.step(4)
    assert env.rewards == {"player_0": 0, "player_1": -1}
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}
    assert env.infos["player_1"]["illegal"] == 1
    assert env.infos["player_0"]["illegal"] == 0
    for _ in range(2):
        env.step(None)
    env.reset()
    assert env.infos["player_1"]["illegal"] == 0
    assert env.rewards == {"player_0": 0, "player_1": 0}


def test_lose_in_parallel():
    env = parallel(illegal_reward=-3)
    env.step(everybody(env, 4))
    _, rewards, terminations, truncations, infos = env.step(everybody(env, 4))
    assert rewards == {"player_0": 0, "player_1": -3}
    assert all(terminations.values())
    assert not any(truncations.values())
    assert infos["player_1"]["illegal"] == 1
    assert env.agents == []


@pytest.mark.parametrize("make", [aec, parallel])
def test_raise_changes_nothing(make):
    env = make(illegal="raise")
    turn = (lambda a: env.step(a)) if make is aec else (lambda a: env.step(everybody(env, a)))
    turn(4)
    with pytest.raises(IllegalAction, match=r"Action 4 of player_1(.|\n)*Legal: 0 1 2 3 5 6 7 8"):
        turn(4)
    turn(0)
    assert env.table.cycles == 2


@pytest.mark.parametrize("make", [aec, parallel])
@pytest.mark.parametrize("policy", ["resample", "noop"])
def test_the_game_goes_on(make, policy):
    env = make(illegal=policy, illegal_reward=-0.5)
    turn = (lambda a: env.step(a)) if make is aec else (lambda a: env.step(everybody(env, a)))
    turn(4)
    turn(4)
    assert env.table.rewards == [0, -0.5]
    assert env.table.faults == [0, 1]
    assert env.table.mover == (0 if policy == "resample" else 1)
    assert env.table.mask(env.table.mover).sum() == (7 if policy == "resample" else 8)


@pytest.mark.parametrize("policy", ["lose", "resample", "noop"])
@pytest.mark.parametrize("id", ["tictactoe-v0", "highest_number-v0"])
def test_single_and_batched_punish_alike(id, policy):
    """Random actions, legal or not, with the same seeds: bit for bit the same."""
    rng = np.random.default_rng(3)
    config = {"rounds": 4} if id.startswith("highest") else {}
    n = 5
    vec = coterie.make_vec(id, n, seed=20, illegal=policy, illegal_reward=-0.1, max_cycles=12, **config)
    vec.reset()
    envs = [
        coterie.make(id, api="parallel", illegal=policy, illegal_reward=-0.1, max_cycles=12, **config) for _ in range(n)
    ]
    for i, env in enumerate(envs):
        env.reset(seed=20 + i)
    simultaneous = vec.game.info.simultaneous
    count = vec.game.info.num_actions
    for _ in range(150):
        actions = rng.integers(-1, count, (n, 2) if simultaneous else n)
        _, rewards, terminations, truncations, info = vec.step(actions)
        for i, env in enumerate(envs):
            seats = actions[i] if simultaneous else np.repeat(actions[i], 2)
            chosen = {a: None if k < 0 else int(k) for a, k in zip(env.agents, seats, strict=True)}
            _, won, ended, cut, told = env.step(chosen)
            assert list(won.values()) == rewards[i].tolist()
            assert list(ended.values()) == np.broadcast_to(terminations[i], 2).tolist()
            assert list(cut.values()) == np.broadcast_to(truncations[i], 2).tolist()
            if not env.agents:
                env.reset()
            else:
                assert [told[a]["illegal"] for a in told] == vec.get_state(i).illegal[0].tolist()
        assert info["illegal"].shape == (actions.shape)


@pytest.mark.parametrize("policy", ["lose", "raise", "resample", "noop"])
@pytest.mark.parametrize("id", ["tictactoe-v0", "highest_number-v0"])
def test_the_four_policies_leave_the_same_rows_in_all_forms(id, policy):
    """One game of random actions, legal or not, in AEC, parallel and batched form: equal snapshots after every turn."""
    config = {"rounds": 4} if id.startswith("highest") else {}
    limits = {"illegal": policy, "illegal_reward": -0.1, "max_cycles": 12}
    env = AECGame(make_game(id, **config), checked=False, **limits)  # takes -1 for no answer
    together = coterie.make(id, api="parallel", **limits, **config)
    vec = coterie.make_vec(id, 1, autoreset_mode="Disabled", **limits, **config)
    rng, simultaneous, raised = np.random.default_rng(4), vec.game.info.simultaneous, 0
    for game in range(12):
        for face in (env, together, vec):
            face.reset(seed=game)
        while vec.status[0] == RUNNING:
            seats = rng.integers(-1, vec.game.info.num_actions, 2 if simultaneous else 1).tolist()
            chosen = dict(zip(together.agents, [None if a < 0 else a for a in seats * 2], strict=False))
            before = to_bytes(env.game, vec.get_state())
            try:
                vec.step([seats] if simultaneous else seats)
            except IllegalAction:
                raised += 1
                with pytest.raises(IllegalAction):
                    together.step(chosen)
                assert to_bytes(env.game, together.get_state()) == before
                with pytest.raises(IllegalAction):
                    list(map(env.step, seats))
                env.set_state(before)  # whoever answered before, answers again
                continue
            together.step(chosen)
            for action in seats:
                env.step(action)
            one, two, three = (face.get_state()._replace(pending=0, gone=0) for face in (env, together, vec))
            for parts in zip(one, two, three, strict=True):
                assert np.array_equal(parts[0], parts[1])
                assert np.array_equal(parts[0], parts[2])
    assert (raised > 0) == (policy == "raise")


def test_a_raised_tick_can_be_repeated():
    env = coterie.make("highest_number-v0", illegal="raise", text=True)
    env.reset()
    env.step("3")
    with pytest.raises(ActionError):
        env.step("no")
    assert env.agent_selection == "player_1"
    env.step("4")
    assert env.rewards == {"player_0": -1, "player_1": 1}


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [9, -1, 1.0, "4", None, True, [4], np.array([1, 2]), np.float32(3), 10**30])
def test_bad_actions(action):
    env = aec()
    with pytest.raises(InvalidAction):
        env.step(action)
    assert env.table.cycles == 0
    other = parallel()
    if action is not None:  # None is "no answer" there
        with pytest.raises(InvalidAction):
            other.step(everybody(other, action))
        assert other.table.cycles == 0


@pytest.mark.parametrize("action", [4, np.int32(4), np.int64(4), np.uint8(4), np.array(4)])
def test_good_actions(action):
    env = aec()
    env.step(action)
    assert env.last()[0]["action_mask"].sum() == 8


def test_the_end():
    env = aec()
    for cell in X_WINS:
        env.step(cell)
    assert env.rewards == {"player_0": 1, "player_1": -1}
    with pytest.raises(InvalidAction, match=r"step\(None\)"):
        env.step(5)
    env.step(None)
    env.step(None)
    assert env.agents == []
    with pytest.raises(IllegalAction, match="reset"):
        env.step(5)
    with pytest.raises(IllegalAction, match="reset"):
        env.step(None)
    other = parallel()
    for cell in X_WINS:
        other.step(everybody(other, cell))
    with pytest.raises(IllegalAction, match="reset"):
        other.step({"player_0": 1})


def test_before_reset():
    env = coterie.make("tictactoe-v0", render_mode="ansi")
    for call in (lambda: env.step(0), lambda: env.observe("player_0"), env.render):
        with pytest.raises(UsageError, match="reset"):
            call()
    with pytest.raises(AttributeError, match="reset"):
        _ = env.rewards
    with pytest.raises(AttributeError, match="no attribute"):
        _ = env.rewardz
    other = coterie.make("tictactoe-v0", api="parallel", render_mode="ansi")
    for call in (lambda: other.step({}), other.render):
        with pytest.raises(UsageError, match="reset"):
            call()


def test_bad_dictionaries():
    env = parallel()
    with pytest.raises(InvalidAction, match="missing"):
        env.step({"player_1": 3})
    with pytest.raises(InvalidAction, match="no agent 'player_7'"):
        env.step({"player_0": 3, "player_7": 1})
    with pytest.raises(InvalidAction, match="dictionary"):
        env.step([3, 4])
    env.step({"player_0": 3})


@pytest.mark.parametrize("seed", ["1", 1.5, True])
def test_bad_seeds(seed):
    with pytest.raises(UsageError, match="seed"):
        aec().reset(seed=seed)


def test_bad_makes():
    with pytest.raises(UnknownName, match="Did you mean 'parallel'"):
        coterie.make("tictactoe-v0", api="parallels")
    with pytest.raises(UnknownName, match="Did you mean 'ansi'"):
        coterie.make("tictactoe-v0", render_mode="anssi")
    with pytest.raises(UnknownName, match="rgb_array"):
        coterie.make("highest_number-v0", render_mode="rgb_array")
    with pytest.raises(UnknownName, match="Did you mean 'lose'"):
        coterie.make("tictactoe-v0", illegal="loose")
    with pytest.raises(UsageError, match="render_mode"):
        aec().render()


def test_unknown_reset_options_are_ignored_with_a_warning():
    env = aec()
    with pytest.warns(UserWarning, match="ignores the reset option 'fen'"):
        env.reset(options={"fen": "x"})
    assert env.agent_selection == "player_0"


# -- texts -------------------------------------------------------------------------------------------------------------


def test_text_face():
    env = aec(text=True)
    seen = env.last()[0]
    assert seen.endswith("Legal actions: 0 1 2 3 4 5 6 7 8.")
    assert env.observation_space("player_0").contains(seen)
    env.step("cell 4")
    assert "X" in env.last()[0]
    with pytest.raises(InvalidAction, match="string"):
        env.step(3)
    env.step("what?")
    assert env.rewards == {"player_0": 0, "player_1": -1}
    other = parallel(text=True)
    seen, *_ = other.step({"player_0": "8"})
    assert seen["player_1"].startswith(" 0 | 3 | 6")


def test_text_and_numbers_play_the_same_game():
    words, numbers = aec(text=True), aec()
    for cell in X_WINS:
        words.step(str(cell))
        numbers.step(cell)
    assert words.rewards == numbers.rewards


@pytest.mark.skipif(disabled(), reason="nothing is compiled")
def test_actions_of_all_integer_types_share_one_compilation():
    for number in (int, np.int32, np.int64, np.uint8):
        env = tictactoe_v0.raw_env()
        env.reset(seed=0)
        env.step(number(4))
    assert len(drivers(make_game("tictactoe")).turn.signatures) == 1


def test_text_with_raise():
    env = aec(text=True, illegal="raise")
    with pytest.raises(InvalidAction):
        env.step("what?")


# -- states ------------------------------------------------------------------------------------------------------------


def test_states_travel_between_faces():
    vec = coterie.make_vec("tictactoe-v0", 3, seed=1)
    vec.reset()
    vec.random_rollout(3)
    env, other = aec(), parallel()
    env.set_state(vec.get_state(1))
    assert env.agent_selection == "player_1"
    assert np.array_equal(env.last()[0]["observation"], vec.observation[1])
    seen, _ = other.reset(options={"state": env.get_state()})
    assert np.array_equal(seen["player_1"]["action_mask"], vec.action_mask[1])
    env.reset(options={"state": vec.state[1:2]})
    assert np.array_equal(env.last()[0]["observation"], vec.observation[1])


def test_a_state_between_the_closing_steps():
    env = aec()
    for cell in X_WINS:
        env.step(cell)
    env.step(None)
    twin = aec()
    twin.set_state(env.get_state())
    assert twin.agents == env.agents == ["player_0"]
    assert twin.last()[1] == env.last()[1] == 1
    twin.step(None)
    assert twin.agents == []


def test_a_state_in_the_middle_of_a_tick():
    env = coterie.make("highest_number-v0")
    env.reset(seed=0)
    env.step(12)
    twin = coterie.make("highest_number-v0")
    twin.set_state(env.get_state())
    assert twin.agent_selection == "player_1"
    twin.step(11)
    assert twin.rewards == {"player_0": 1, "player_1": -1}


def test_what_is_handed_out_is_a_copy():
    env = aec()
    seen = env.last()
    seen[0]["action_mask"][:] = 0
    seen[4]["action_mask"][:] = 0
    seen[0]["observation"][:] = 1
    again = env.last()
    assert again[0]["action_mask"].all()
    assert not again[0]["observation"].any()
    env.step(4)
    assert env.table.faults == [0, 0]


def test_raw_env_has_no_checks():
    from coterie.envs import tictactoe_v0

    env = tictactoe_v0.raw_env()
    env.reset()
    env.step(12)  # out of bounds: merely illegal
    assert env.rewards == {"player_0": -1, "player_1": 0}


# -- PettingZoo's registry ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry from 1.27 on")
@pytest.mark.parametrize("id", coterie.list_envs())
def test_pettingzoo_make(id):
    env = pettingzoo.make("aec", f"coterie/{id}")
    env.reset(seed=0)
    assert env.unwrapped.game.info.id == id
    env = pettingzoo.make("parallel", f"coterie/{id}", max_cycles=1, illegal="noop")
    env.reset(seed=0)
    assert env.table.limits.max_cycles == 1


def test_human_mode_prints_where_there_is_no_display(capsys, monkeypatch):
    monkeypatch.setattr("coterie.renderers.screen.show_frame", lambda *args, **kwargs: False)
    env = aec(render_mode="human")
    env.step(4)
    shown = capsys.readouterr().out
    assert shown.count("You are") == 2
    assert "X" in shown


def test_space_objects_stay_the_same():
    env = aec()
    assert env.action_space("player_0") is env.action_space("player_0")
    assert env.action_space("player_0") is not env.action_space("player_1")
    assert env.observation_space("player_0").contains(env.observe("player_0"))
    assert make_game("tictactoe").info.agents == env.possible_agents


@pytest.mark.parametrize("id", [id for id in coterie.list_envs() if not isinstance(make_game(id), TextGame)])
@pytest.mark.parametrize("way", ["clone", "deepcopy", "pickle", "state"])
def test_copies_of_parallel_environments(id, way):
    env = coterie.make(id, api="parallel", **({"rounds": 3} if id.startswith("highest") else {}))

    def legal(seen):
        masks = {agent: seen[agent]["action_mask"] for agent in env.agents}
        return {agent: int(np.flatnonzero(mask)[0]) if mask.any() else 0 for agent, mask in masks.items()}

    seen = env.step(legal(env.reset(seed=5)[0]))[0]
    if way == "state":
        twin = coterie.make(id, api="parallel", **env.game.config)
        twin.set_state(env.get_state())
    else:
        copies = {"clone": env.clone, "deepcopy": lambda: copy.deepcopy(env)}
        twin = copies.get(way, lambda: pickle.loads(pickle.dumps(env)))()
    frozen = twin.get_state()
    actions = legal(seen)
    first = env.step(actions)
    assert to_bytes(env.game, twin.get_state()) == to_bytes(env.game, frozen)
    assert data_equivalence(first, twin.step(actions))
    assert to_bytes(env.game, twin.get_state()) == to_bytes(env.game, env.get_state())
    assert env.observation_space("player_0") == twin.observation_space("player_0")


def test_an_illegal_tick_under_raise_can_be_repeated():
    from coterie.envs import highest_number_v0

    env = highest_number_v0.raw_env(illegal="raise")
    env.reset(seed=0)
    env.step(3)
    with pytest.raises(IllegalAction, match="Action 99 of player_1"):
        env.step(99)
    env.step(2)
    assert env.rewards == {"player_0": 1, "player_1": -1}


def test_human_mode_prints_in_parallel(capsys, monkeypatch):
    monkeypatch.setattr("coterie.renderers.screen.show_frame", lambda *args, **kwargs: False)
    env = parallel(render_mode="human")
    env.step(everybody(env, 4))
    assert capsys.readouterr().out.count("You are") == 2
    env.close()


@pytest.mark.parametrize("options", [{"fen": "x"}, {"state": b"x"}, {"fen": "8/8/8/8/8/8/8/8 w - - 0 1"}])
def test_a_refused_option_leaves_the_game_as_it_stood(options):
    env, twin = coterie.make("chess"), coterie.make("chess")
    for each in (env, twin):
        each.reset(seed=1)
        each.step(int(each.last()[0]["action_mask"].argmax()))
    with pytest.raises(CoterieError):
        env.reset(seed=5, options=options)
    assert env.agent_selection == twin.agent_selection
    for _ in range(4):
        seen, expected = env.last(), twin.last()
        assert np.array_equal(seen[0]["action_mask"], expected[0]["action_mask"])
        assert np.array_equal(seen[0]["observation"], expected[0]["observation"])
        for each in (env, twin):
            each.step(int(seen[0]["action_mask"].argmax()))
    env.reset()
    twin.reset()
    assert env.table.episode == twin.table.episode
    assert env.table.seed == twin.table.seed


@pytest.mark.parametrize("options", [5, [1], "state", {1: 2}])
@pytest.mark.parametrize("game", ["tictactoe", "highest_string"])
def test_options_that_are_no_dictionary(game, options):
    for api in ("aec", "parallel"):
        env = coterie.make(game, api=api)
        with pytest.raises(UsageError, match="reset takes a dictionary"):
            env.reset(options=options)
        env.reset(seed=0)
    if game == "tictactoe":
        vec = coterie.make_vec(game, num_envs=2, seed=0)
        vec.reset()
        before = vec.cycles.copy()
        with pytest.raises(UsageError, match="reset takes a dictionary"):
            vec.reset(options=options)
        assert (vec.cycles == before).all()


@pytest.mark.parametrize("reward", ["5", float("nan"), [1.0]])
def test_penalties_that_are_no_numbers(reward):
    for make in (coterie.make, coterie.make_vec):
        with pytest.raises(UsageError, match=r"illegal_reward=.* came; a finite number"):
            make("tictactoe", illegal_reward=reward)


@pytest.mark.parametrize("name", [5, None, b"tictactoe"])
def test_names_that_are_no_texts(name):
    for make in (coterie.make, coterie.make_vec):
        with pytest.raises(UsageError, match="environments have names such as"):
            make(name)


def test_more_games_than_the_memory_holds():
    with pytest.raises(UsageError, match=r"num_envs=10000000000 of chess-v0 takes [\d,]+ GB, [\d,]+ bytes each"):
        coterie.make_vec("chess", num_envs=10**10)


@pytest.mark.parametrize("id", coterie.list_envs())
def test_is_parallelizable_where_aec_to_parallel_works(id):
    env = coterie.make(id)
    if not env.game.info.simultaneous:
        with pytest.raises(AssertionError, match="is_parallelizable"):
            aec_to_parallel(env)
        return
    turned, own = aec_to_parallel(env), coterie.make(id, api="parallel")
    for face in (turned, own):
        face.reset(seed=0)
    for agent in own.agents:
        own.action_space(agent).seed(0)
    for _ in range(20):
        if not own.agents:
            break
        actions = {agent: own.action_space(agent).sample() for agent in own.agents}
        (_, *got, _), (_, *expected, _) = turned.step(actions), own.step(actions)
        assert got == expected
    assert turned.agents == own.agents
