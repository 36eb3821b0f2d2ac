"""Games of words: faces, policies for illegal messages, states; and proof that their check can fail."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import numpy as np
import pettingzoo
import pytest

import coterie
from coterie.aliases import RUNNING, TERMINATED
from coterie.envs import highest_string_v0, make_game
from coterie.envs.state import from_bytes, to_bytes
from coterie.envs.testing import check_game
from coterie.envs.words import text_game
from coterie.envs.words.vec import TextVec
from coterie.errors import IllegalAction, InvalidAction, StateError, UsageError


def echo(turns=4, **changes):
    """Turn-based: nobody may repeat what was said last; whoever says the longer word of two turns gains."""

    def check(game, player, message):
        if message == game["last"]:
            raise IllegalAction("That was said before.")

    def hear(game, messages):
        ((player, message),) = messages.items()
        longer = len(message) > len(game["last"])
        game["last"], game["turn"] = message, game["turn"] + 1
        rewards = [0.0, 0.0]
        rewards[player] = float(longer)
        return rewards, RUNNING if game["turn"] < turns else TERMINATED

    fields = {
        "players": 2,
        "rules": "Say something new.",
        "begin": lambda seed: {"last": str(seed % 10), "turn": 0},
        "asked": lambda game: [game["turn"] % 2] if game["turn"] < turns else [],
        "tell": lambda game, player: f"Said last: {game['last']}",
        "check": check,
        "hear": hear,
        "sample": lambda game, player, rng: "x" * int(rng.integers(1, 9)) + str(game["turn"]),
        "max_cycles": turns,
        "max_length": 20,
    }
    return text_game("echo-v0", **(fields | changes))


def test_turn_based_and_simultaneous_games_pass():
    check_game(echo())
    check_game(make_game("highest_string", rounds=6, players=3, length=4, alphabet="aäß😀"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tell": lambda game, player: ""}, "returns 0 characters"),
        ({"begin": lambda seed: {"last": ("a", "b"), "turn": 0}}, "changes in a round trip through JSON"),
        ({"max_cycles": 2}, "the game goes on after max_cycles"),
        ({"asked": lambda game: [0] if game["turn"] < 9 else []}, "are asked after the end"),
        ({"asked": lambda game: [0, 1] if game["turn"] < 4 else []}, "turn-based, but asks"),
        ({"info": lambda game: [{}]}, "not every seat has an info"),
    ],
)
def test_wrong_rules_are_found(wrong, message):
    with pytest.raises((AssertionError, UsageError), match=message):
        check_game(echo(**wrong))


def test_hidden_randomness_is_found():
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError, match=r"differ|changes"):
        check_game(echo(tell=lambda game, player: str(rng.random())))


# -- faces -------------------------------------------------------------------------------------------------------------


def test_every_way_to_make_one():
    env = pettingzoo.make("aec", "coterie/highest_string-v0", length=3)
    env.reset(seed=0)
    assert env.unwrapped.game.config["length"] == 3
    assert coterie.make("highest_string", api="parallel").possible_agents == ["player_0", "player_1"]
    assert highest_string_v0.raw_env(players=4).max_num_agents == 4
    with pytest.raises(UsageError, match="game of words"):
        coterie.make_vec("highest_string-v0")


def test_spaces_hold_what_may_be_said_and_nothing_else():
    env = coterie.make("highest_string-v0", length=4)
    space = env.action_space("player_0")
    assert space is env.action_space("player_0")
    assert "~~~~" in space
    for bad in ("", "~~~~~", "\n", "é", 3):
        assert bad not in space
    free = coterie.envs.faces.aec.AECGame(echo()).action_space("player_0")
    assert "日本語 ☃ é" in free
    assert free.sample() in free
    for bad in ("\x00", "\x1b[2J", "\ud800", "x" * 21):
        assert bad not in free


def test_infos_hold_no_mask_and_count_illegal_messages():
    env = coterie.make("highest_string-v0", api="parallel", rounds=3, illegal="noop")
    observations, infos = env.reset(seed=0)
    assert set(infos["player_0"]) == {"illegal", "height"}
    assert "Round 1 of 3" in observations["player_0"]
    *_, infos = env.step({"player_0": "\x00", "player_1": "a"})
    assert [infos[a]["illegal"] for a in env.agents] == [1, 0]
    observations, rewards, *_, infos = env.step({"player_0": "b", "player_1": "a"})
    assert rewards == {"player_0": 1.0, "player_1": -1.0}
    assert "player 1: 'a'" in observations["player_0"]
    assert infos["player_0"]["height"] > infos["player_1"]["height"]


@pytest.mark.parametrize("message", [None, 5, b"a", "", "x" * 10**6, "\x07"])
@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_policies_for_illegal_messages(api, message):
    def say(env):
        if api == "parallel":
            return env.step({"player_0": "a", "player_1": message})
        env.step("a")
        return env.step(message)

    lose = coterie.make("highest_string-v0", api=api, rounds=3)
    lose.reset(seed=1)
    told = say(lose)
    rewards = told[1] if told else lose.rewards
    ended = told[2] if told else lose.terminations
    assert rewards == {"player_0": 0.0, "player_1": -1.0}
    assert ended == {"player_0": True, "player_1": True}
    strict = coterie.make("highest_string-v0", api=api, illegal="raise")
    strict.reset(seed=1)
    with pytest.raises(InvalidAction) as raised:
        say(strict)
    assert len(str(raised.value)) < 300
    again = coterie.make("highest_string-v0", api=api, rounds=2, illegal="resample")
    again.reset(seed=1)
    say(again)
    (game,) = again.get_state().state
    assert game["round"] == 1
    assert 1 <= len(game["said"][1]) <= 8


def test_max_cycles_truncates():
    env = coterie.make("highest_string-v0", api="parallel", rounds=10, max_cycles=3)
    env.reset(seed=0)
    flags = [env.step(dict.fromkeys(env.agents, "a"))[3] for _ in range(3)]
    assert [list(f.values()) for f in flags] == [[False, False], [False, False], [True, True]]
    assert not env.agents


def test_ansi_and_human_render(capsys):
    env = coterie.make("highest_string-v0", render_mode="ansi")
    env.reset(seed=0)
    assert "Say a string" in env.render()
    coterie.make("highest_string-v0", render_mode="human").reset(seed=0)
    assert "Say a string" in capsys.readouterr().out


# -- states ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_copies_in_mid_tick_go_on_alike(api):
    env = coterie.make("highest_string-v0", api=api, rounds=3)
    env.reset(seed=4)
    if api == "aec":
        env.step("abc")  # the other has not answered yet
    else:
        env.step({"player_0": "abc", "player_1": "b"})
    other = coterie.make("highest_string-v0", api=api, rounds=3)
    other.reset(seed=9)
    other.set_state(to_bytes(env.game, env.get_state()))
    for twin in (env.clone(), copy.deepcopy(env), pickle.loads(pickle.dumps(env)), other):
        before = to_bytes(env.game, env.get_state())
        if api == "aec":
            twin.step("b")
            assert twin.rewards == {"player_0": -1.0, "player_1": 1.0}
        else:
            assert twin.step({"player_0": "a", "player_1": "b"})[1]["player_1"] == 1.0
        assert to_bytes(env.game, env.get_state()) == before


def test_state_is_plain_data_and_survives_json():
    game = make_game("highest_string", rounds=3)
    vec = TextVec(game, 4, seed=2)
    vec.reset()
    vec.step(vec.sample_actions())
    snapshot = vec.get_state([1, 3])
    assert json.loads(json.dumps(snapshot.state)) == snapshot.state
    blob = to_bytes(game, snapshot)
    back = from_bytes(game, blob)
    assert back.state == snapshot.state
    assert (back.seed == snapshot.seed).all()
    fresh = TextVec(game, 2)
    fresh.set_state(blob)
    assert fresh.state == snapshot.state
    fresh.state[0]["round"] = 99  # a copy
    assert snapshot.state[0]["round"] == 1
    for damaged in (blob[:-3], blob[:-1] + b"x"):
        with pytest.raises(StateError):
            from_bytes(game, damaged)
    with pytest.raises(StateError, match="another configuration"):
        from_bytes(make_game("highest_string", rounds=4), blob)


def test_rows_are_what_lone_games_are_and_restart():
    vec = TextVec(echo(), 5, seed=20)
    told, _ = vec.reset()
    assert [text[-1] for text in told] == ["0", "1", "2", "3", "4"]
    for _ in range(4):
        told, rewards, terminated, _, info = vec.step(vec.sample_actions())
    assert terminated.all()
    assert all("x" in text for text in info["final_obs"])
    assert not any("x" in text for text in told)
    assert rewards.shape == (5, 2)
    lone = TextVec(echo(), 1)
    lone.reset(seed=22)
    assert lone.sample_actions()[0] == _first(20, 2)


def _first(seed, row):
    vec = TextVec(echo(), 5, seed=seed)
    vec.reset()
    return vec.sample_actions()[row]


def test_messages_of_the_wrong_number_are_told():
    vec = TextVec(make_game("highest_string"), 2)
    with pytest.raises(UsageError, match="reset"):
        vec.step([["a", "b"]] * 2)
    vec.reset(seed=0)
    for wrong in ([["a", "b"]], ["ab", "ab"], [["a"], ["b"]], 7, None, "ab", [["a", "b"], 256], [["a", "b"], None]):
        with pytest.raises(UsageError, match=r"came|got"):
            vec.step(wrong)


def test_a_turn_based_game_says_who_is_asked():
    with pytest.raises(UsageError, match="asked="):
        echo(asked=None)


def test_key_leaves_out_the_seed():
    game = echo(begin=lambda seed: {"last": "a", "turn": 0, "seed": seed})
    one, other = game.new_state(1), game.new_state(1)
    game.kernels.reset(one, 0, 1)
    game.kernels.reset(other, 0, 2)
    assert game.key(one, 0) == game.key(other, 0)
    other[0]["turn"] = 1
    assert game.key(one, 0) != game.key(other, 0)
    assert dataclasses.is_dataclass(game)


# -- listed messages ---------------------------------------------------------------------------------------------------


def closed(**changes):
    """``echo`` with four words, of which the last said is not allowed; the random player says any of them."""
    words = ["a", "b", "ab", "abc"]
    listed = {"choices": lambda game, player: [w for w in words if w != game["last"]], "sample": None, "check": None}
    return echo(**(listed | changes))


def test_games_with_listed_messages_pass():
    check_game(closed())
    check_game(closed(scripts={"first": lambda game, player, rng: "a" if game["last"] != "a" else "b"}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"choices": lambda game, player: ["a", "a"]}, "listed twice"),
        ({"choices": lambda game, player: []}, "no choices"),
        ({"sample": lambda game, player, rng: "abcd"}, "none of the"),
        ({"check": lambda game, player, message: (_ for _ in ()).throw(IllegalAction("Never."))}, "Never"),
        ({"scripts": {"no": lambda game, player, rng: "no"}}, "'no' is none"),
    ],
)
def test_wrong_lists_are_found(wrong, message):
    with pytest.raises((AssertionError, UsageError, IllegalAction, ValueError), match=message):
        check_game(closed(**wrong))


def test_only_listed_messages_may_be_said():
    game = closed()
    state = game.new_state(1)
    assert game.read(state, 0, 0, "ab") == game.read(state, 0, 0, "ab ") == game.read(state, 0, 0, "[ab]") == "ab"
    for message in ("A", "ab c", "abcd", "<|im_end|>"):
        with pytest.raises(IllegalAction, match="none of the 4 messages"):
            game.read(state, 0, 0, message)
    with pytest.raises(IllegalAction, match="Did you mean 'abc'"):
        game.read(state, 0, 0, "abcd")
    state[0]["last"] = "ab"
    with pytest.raises(IllegalAction, match="of the 3 messages"):
        game.read(state, 0, 0, "ab")


def test_infos_list_the_messages_of_the_seat_that_is_asked():
    env = coterie.envs.faces.aec.AECGame(closed())
    env.reset(seed=0)
    assert env.infos["player_0"]["choices"] == ["a", "b", "ab", "abc"]
    assert "choices" not in env.infos["player_1"]
    env.step("ab")
    assert env.infos["player_1"]["choices"] == ["a", "b", "abc"]
    assert "choices" not in env.infos["player_0"]


def test_random_messages_are_uniform_over_the_list():
    game = closed()
    (row,) = game.new_state(1)
    rng = np.random.default_rng(0)
    counts = np.unique([game.sample(row, 0, rng) for _ in range(4000)], return_counts=True)[1]
    assert (abs(counts - 1000) < 130).all()


def test_a_game_without_list_or_sample_is_refused():
    with pytest.raises(UsageError, match="choices="):
        echo(sample=None)


@pytest.mark.parametrize("hidden", [True, False])
def test_exact_analysis_says_that_it_cannot_visit_words(hidden):
    from coterie.agents.search.information_tree import information_tree
    from coterie.agents.search.solver import explore

    for analyse in (explore, information_tree):
        with pytest.raises(UsageError, match="game of words" if not hidden or analyse is not explore else "different"):
            analyse(closed(hidden=hidden))
