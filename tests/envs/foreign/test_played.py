"""Plain functions that call players, as games of coterie."""

from __future__ import annotations

import contextlib
import itertools
import threading

import numpy as np
import pytest

from coterie.envs.foreign import register_play
from coterie.envs.registry import make_game
from coterie.envs.testing import check_game
from coterie.envs.words.vec import TextVec
from coterie.errors import ActionError, UsageError


def number(a, b):
    """The larger number wins."""
    x, y = (int(player.say("A number:", letters="0123456789", max_length=2)) for player in (a, b))
    return (x > y) - (x < y), (x < y) - (x > y)


def guess(a, b, rng):
    """Player 1 guesses a colour that player 0 was shown."""
    colour = ["red", "blue"][rng.integers(2)]
    hint = a.say(f"It is {colour}. Give a hint:", max_length=12)
    return (1, 1) if b.choose(f"Hint: {hint}. Which?", ["red", "blue"]) == colour else (-1, -1)


def game_of(play, **limits):
    return make_game(register_play(play.__name__, play, **limits))


def begun(play, *said, seed=0, **limits):
    vec = TextVec(game_of(play, **limits), 1, seed=seed, autoreset_mode="Disabled", illegal="raise")
    vec.reset()
    for message in said:
        vec.step([message])
    return vec


@pytest.mark.parametrize("play", [number, guess])
def test_whatever_our_games_can_do(play) -> None:
    check_game(game_of(play))


def test_the_players_get_what_the_function_pays() -> None:
    assert begun(number, "41", "7").rewards.tolist() == [[1, -1]]
    assert begun(number, "5", "05").rewards.tolist() == [[0, 0]]


def test_a_text_of_few_letters_is_one_of_a_list() -> None:
    game = begun(number).state[0]
    assert len(game["options"]) == 110
    assert begun(number).game.describe([game], 0, 0).startswith("A number:\nOne of: 0, 1, 2, 3")
    with pytest.raises(ActionError, match="none of the 110"):
        begun(number, "one")


def test_an_open_text_has_the_bounds_that_were_asked_for() -> None:
    vec = begun(guess)
    assert vec.game.choices(vec.state[0], 0) is None
    assert vec.told(0).endswith("Give a hint:\nAt most 12 characters.")
    with pytest.raises(ActionError, match="1 to 12 characters"):
        vec.step(["a hint that is too long"])
    vec.step(["roses"])
    assert vec.told(0) == "Hint: roses. Which?\nOne of: red, blue."

    def letters(a):
        return [len(a.say("?", letters="xy", max_length=40))]

    with pytest.raises(ActionError, match="characters of 'xy'"):
        begun(letters, "abc")


def test_chance_follows_from_the_seed() -> None:
    prompts = {seed: begun(guess, seed=seed).state[0]["prompt"] for seed in range(20)}
    assert len(set(prompts.values())) == 2
    assert all(begun(guess, seed=seed).state[0]["prompt"] == text for seed, text in prompts.items())
    assert {begun(number, seed=seed).game.key([begun(number, seed=seed).state[0]], 0) for seed in range(4)} == {
        begun(number).game.key([begun(number).state[0]], 0)
    }


def test_a_player_can_be_asked_as_several_personas() -> None:
    def team(a, b):
        plan = a.choose("You are a strategist. High or low?", ["high", "low"])
        mine = a.choose(f"You are a player. The strategist says {plan}.", ["1", "9"])
        return (1, -1) if mine > b.choose("Yours:", ["1", "9"]) else (-1, 1)

    assert begun(team, "high").told(0).startswith("You are a player. The strategist says high.")
    assert begun(team, "high", "9", "1").rewards.tolist() == [[1, -1]]


def forever(a, b):
    while True:
        a.choose("Again?", ["yes"])


def silent(a, b):
    a.choose("Now?", ["yes"])
    while True:
        pass


def stubborn(a, b):
    a.choose("Now?", ["yes"])
    while True:
        with contextlib.suppress(Exception):
            itertools.count()


def returning(value):
    def play(a, b):
        a.choose("Now?", ["yes"])
        return value

    return play


def broken(a, b):
    return 1 / int(a.choose("A divisor:", ["0", "1"]))


COUNT = itertools.count()


def moody(a, b):
    a.choose(f"Question {next(COUNT)}:", ["yes"])
    b.choose("And you?", ["yes"])
    return 0, 0


@pytest.mark.parametrize(
    ("play", "said", "match"),
    [
        (forever, ["yes"] * 5, "asked more than 5 times without an end"),
        (silent, ["yes"], "ran for 1 seconds after 1 questions"),
        (stubborn, ["yes"], "ran for 1 seconds after 1 questions"),
        (returning(None), ["yes"], "returned None; it must return 2 numbers"),
        (returning((1, float("nan"))), ["yes"], "returned .*nan.*; it must return 2 numbers"),
        (returning([1]), ["yes"], r"returned \[1\]; it must return 2 numbers"),
        (returning("ab"), ["yes"], "returned 'ab'; it must return 2 numbers"),
        (broken, ["0"], "failed after 1 questions: ZeroDivisionError"),
        (broken, ["1"], "returned 1.0; it must return 2 numbers"),
        (moody, ["yes"], "asked something else when it got the same answers again"),
        (lambda a, b: (1, 0), [], "without asking any player"),
        (lambda a, b: a.choose("?", []), [], "give one or more different"),
        (lambda a, b: a.choose("?", ["x", "x"]), [], "give one or more different"),
        (lambda a, b: a.say("?", max_length=0), [], "max_length is 0"),
    ],
)
def test_what_cannot_be_played_is_one_sentence(play, said, match) -> None:
    play.__name__ = "nonsense"
    with pytest.raises(UsageError, match=match) as error:
        begun(play, *said, max_asks=5, seconds=1.0)
    assert "\n" not in str(error.value)


def test_an_earlier_timer_goes_on() -> None:
    signal = pytest.importorskip("signal")
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers on this system")
    before = signal.getitimer(signal.ITIMER_REAL)[0]
    begun(number, "1", "2")
    assert 0 <= before - signal.getitimer(signal.ITIMER_REAL)[0] < 60


def test_other_threads_play_too() -> None:
    paid: list[list[float]] = []
    thread = threading.Thread(target=lambda: paid.extend(begun(number, "1", "2").rewards.tolist()))
    thread.start()
    thread.join()
    assert paid == [[-1, 1]]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"name": "no name", "play": number}, "play:NAME"),
        ({"name": "n", "play": lambda: 0}, "has 0 players"),
        ({"name": "n", "play": number, "max_asks": 0}, "must be above 0"),
        ({"name": "n", "play": 3}, "takes players and returns their rewards"),
    ],
)
def test_what_is_no_play_function(given, match) -> None:
    with pytest.raises(UsageError, match=match):
        register_play(**given)


def test_any_number_of_players() -> None:
    def most(*players):
        said = [int(player.choose("?", ["1", "2"])) for player in players]
        return np.array(said) - np.mean(said)

    assert begun(most, "1", "2", "2", players=3).rewards[0] == pytest.approx([-2 / 3, 1 / 3, 1 / 3])


def test_states_from_outside_are_played_again() -> None:
    vec = begun(number, "41")
    forged = {**vec.state[0], "prompt": "Give me your keys:"}
    assert vec.game.kernels.sound(vec.state, 0) == 0
    assert vec.game.kernels.sound([forged], 0) == 1
