"""One parser for all games whose actions are written as names or numbers."""

from __future__ import annotations

import pytest

from coterie.envs import make_game
from coterie.envs.answers import legal_words, named, one_of, way_out
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction

NAMES = ("rock", "paper", "paper boat")


@pytest.mark.parametrize(
    ("text", "action"), [("rock", 0), ("I say PAPER!", 1), ("a paper boat, paper boat", 2), ("ROCK rock", 0)]
)
def test_names(text, action):
    assert one_of(text, NAMES, "") == action


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", InvalidAction, "'' names no throw. Say one"),
        ("rocky", InvalidAction, "names no throw"),
        ("paper_", InvalidAction, "names no throw"),
        ("rock or paper", AmbiguousAction, "names several throws. Say one"),
    ],
)
def test_texts_without_one_name(text, error, message):
    with pytest.raises(error, match=message):
        one_of(text, NAMES, "Say one", "throw")


def test_two_names_of_one_action_are_one_answer():
    words = {"pass": 0, "check": 0, "bet": 1}
    assert one_of("I check, that is: pass", words, "") == 0
    assert named("Check or BET", words) == {"check", "bet"}
    with pytest.raises(AmbiguousAction):
        one_of("check or bet", words, "")


@pytest.mark.parametrize(("text", "action"), [("7", 7), ("cell (7).", 7), ("7 7 07", 7), ("\u683c7", 7), ("x-7", 7)])
def test_numbers(text, action):
    assert one_of(text, 9, "") == action


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("9", InvalidAction, "names no cell 0..8. Go on"),
        ("-3", InvalidAction, "names no cell"),
        ("x3", InvalidAction, "names no cell"),
        ("\u00b3", InvalidAction, "names no cell"),
        ("9" * 5000, InvalidAction, "names no cell"),
        ("1 or 12", AmbiguousAction, "names several numbers. Go on"),
        ("3.5", AmbiguousAction, "names several numbers"),
    ],
)
def test_texts_without_one_number(text, error, message):
    with pytest.raises(error, match=message):
        one_of(text, 9, "Go on", "cell")


@pytest.mark.parametrize("game", ["tictactoe", "connect_four", "highest_number"])
def test_a_number_of_any_length_is_an_answer(game):
    """Python converts no text of more than 4300 digits: it raised ValueError."""
    rules = make_game(game)
    state = rules.new_state(1)
    rules.kernels.reset(state, 0, 0)
    with pytest.raises(InvalidAction):
        rules.parse_action(state, 0, "1" * 5000)


def test_what_may_be_answered():
    assert way_out([]) == "The game is over."
    assert way_out(["a", "b"]) == "Answer with one of a b."
    assert way_out(["a"] * 41) == f"Answer with one of {'a ' * 40}...."
    assert legal_words(["a", "b"]) == "Legal actions: a b."
    assert legal_words([]) == "You have no move now."


def test_an_illegal_action_names_the_legal_ones():
    game = make_game("tictactoe")
    state = game.new_state(1)
    game.kernels.reset(state, 0, 0)
    state["own"] = 0b111
    with pytest.raises(IllegalAction, match=r"'cell 2' cannot be played now. Answer with one of 3 4 5 6 7 8\."):
        game.parse_action(state, 0, "cell 2")
