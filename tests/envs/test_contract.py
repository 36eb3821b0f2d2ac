"""What a game may leave out, and what it then is."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import coterie
from coterie.envs import RUNNING, TERMINATED, Game, GameInfo, Kernels, everybody, kernel, make_game, registry
from coterie.envs.testing import CHECKS, check_game
from coterie.errors import IllegalAction, UsageError


@pytest.mark.parametrize("id", coterie.list_envs())
def test_every_game_says_its_goal_in_a_sentence(id: str) -> None:
    goal = make_game(id).goal
    assert goal[0].isupper()
    assert goal.endswith(".")
    assert ". " not in goal
    assert len(goal) <= 110


@pytest.mark.parametrize(
    ("id", "config", "word"),
    [
        ("gridworld", {"preset": "a3_9x9"}, "using the altar."),
        ("gridworld", {"kinship": "families"}, "family"),
        ("gridworld", {"objects": {"altar": {"reward": 0.0, "energy_gain": 1}}}, "Earn as much reward as you can."),
        ("word_chain", {"goal": "long"}, "together"),
        ("tictactoe", {"talk": 20}, "three"),
    ],
)
def test_goals_follow_the_configuration(id: str, config: dict, word: str) -> None:
    assert word in make_game(id, **config).goal


ROUND = np.dtype([("played", np.uint8), ("rounds", np.uint8)])


@kernel
def reset(state, i, seed):
    state[i]["played"] = 0


@kernel
def legal(state, i, player, mask):
    mask[:] = state[i]["played"] < state[i]["rounds"]


@kernel
def step(state, i, actions, rewards):
    state[i]["played"] += 1
    rewards[0] = 1.0 if actions[0] == actions[1] else -1.0
    rewards[1] = -rewards[0]
    return RUNNING if state[i]["played"] < state[i]["rounds"] else TERMINATED


@kernel
def observe(state, i, player, out):
    out[0] = state[i]["played"]


def pennies(rounds=3, **more):
    """Matching pennies; all texts have their defaults but the compact line."""

    def new_state(n):
        state = np.zeros(n, ROUND)
        state["rounds"] = rounds
        return state

    known = {"new_state": new_state}
    known |= {"compact": lambda state, i, player: f"P{player} {state[i]['played']}>", "actions": ("heads", "tails")}
    return Game(
        info=GameInfo(
            players=2, num_actions=2, observation_shape=(1,), observation_high=9, max_cycles=rounds, simultaneous=True
        ),
        kernels=Kernels(reset, everybody, legal, step, observe),
        rules="player_0 wins where both show the same side.",
        **(known | more),
    )


def pennies_of(rounds=3):
    return pennies(rounds)


def no_game():
    return None


@pytest.fixture
def scratch(monkeypatch):
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    monkeypatch.setattr(registry, "_TOLD", [])


@pytest.mark.slow
@pytest.mark.bounds
def test_a_game_is_named_and_configured_once(scratch):
    coterie.register("pennies-v3", f"{__name__}:pennies_of")
    game = make_game("pennies", rounds=np.int64(2))
    assert (game.info.name, game.info.version, game.info.id) == ("pennies", 3, "pennies-v3")
    assert game.config == {"rounds": 2}
    assert type(game.config["rounds"]) is int
    assert make_game("pennies").config == {"rounds": 3}
    assert coterie.make("pennies-v3").metadata["name"] == "pennies_v3"
    check_game(game)
    assert pennies().info.id == "unnamed-v0"


def test_a_factory_returns_a_game(scratch):
    coterie.register("empty-v0", f"{__name__}:no_game")
    with pytest.raises(UsageError, match=r"The factory .*:no_game of empty-v0 returned None, which is not a Game"):
        make_game("empty-v0")


@kernel
def one_side_a_round(state, i, player, mask):
    for side in range(2):
        mask[side] = state[i]["played"] < state[i]["rounds"] and state[i]["played"] % 2 == side


def test_simultaneous_games_may_have_illegal_actions():
    """PettingZoo's max_cycles_test plays without masks, and the game must not be lost by that."""
    game = pennies(6)
    CHECKS["pettingzoo"](dataclasses.replace(game, kernels=game.kernels._replace(legal=one_side_a_round)))


def test_texts_by_default():
    game = pennies()
    state = game.new_state(1)
    assert game.describe(state, 0, 1) == "P1 0>\nLegal actions: heads tails."
    assert [game.action_to_text(state, 0, a) for a in (0, 1)] == ["heads", "tails"]
    assert game.parse_action(state, 0, "Tails!") == 1
    state["played"] = 3
    assert game.describe(state, 0, 1) == "P1 3>\nYou have no move now."
    with pytest.raises(IllegalAction, match=r"'tails' cannot be played now\. The game is over\."):
        game.parse_action(state, 0, "tails")
    numbered = pennies(actions=(), compact=None, describe=lambda state, i, player: "Heads (0)\n  or tails (1)?")
    assert numbered.compact(state, 0, 0) == "Heads (0) or tails (1)?"
    assert numbered.action_to_text(state, 0, 1) == "1"
    written = pennies(actions=(), action_to_text=lambda state, i, action: "HT"[action])
    assert written.parse_action(written.new_state(1), 0, "I show t") == 1


def test_defaults_follow_what_is_replaced():
    game = dataclasses.replace(pennies(), compact=lambda state, i, player: "now>")
    assert game.describe(game.new_state(1), 0, 0).startswith("now>")


class Columns(NamedTuple):
    played: np.ndarray


def test_what_cannot_be_filled_in():
    with pytest.raises(UsageError, match="describe= or compact="):
        pennies(compact=None)
    for actions in (("heads",), ("heads", "Heads"), ("a", "b", "c")):
        with pytest.raises(UsageError, match="2 different names are needed"):
            pennies(actions=actions)
    with pytest.raises(UsageError, match=r"Kernels has no key.*not a Columns\. Write key"):
        pennies(new_state=lambda n: Columns(np.zeros(n)))
