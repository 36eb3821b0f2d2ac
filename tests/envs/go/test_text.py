"""What is told of a game of Go, and what is understood."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.envs import make_game
from coterie.envs.stepping import jit
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction


def position(names, **config):
    """The state after some moves."""
    game = make_game("go-v0", **config)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    for name in names.split():
        action = game.parse_action(state, 0, name)
        game.kernels.step(state, 0, np.array([action, action], np.int32), np.zeros(2, np.float32))
    return game, state


KO = "C4 D4 B3 E3 C2 D2 D3 C3"

KO_TOLD = """\
   A B C D E
 5 . . . . . 5
 4 . . X O . 4
 3 . X O . O 3
 2 . . X O . 2
 1 . . . . . 1
   A B C D E
Black has captured 0 stones, White 1 stone. Komi 7.5.
White played C3. 42 moves left before the board is counted.
You are Black (X). Legal moves: any empty point (.) except D3 (superko); or pass."""


def test_a_position_in_words():
    game, state = position(KO, size=5)
    assert game.describe(state, 0, 0) == KO_TOLD
    assert game.describe(state, 0, 1).endswith("You are White (O). You have no move now.")
    assert game.compact(state, 0, 0) == "X ...../..XO./.XO.O/..XO./..... 7.5 42 D3>"
    assert game.compact(state, 0, 1) == "O ...../..XO./.XO.O/..XO./..... 7.5 42>"


def test_a_ko_under_the_simple_rule_is_called_so():
    game, state = position(KO, size=5, superko="simple")
    assert "except D3 (ko); or pass." in game.describe(state, 0, 0)
    with pytest.raises(IllegalAction, match="forbidden by ko: it would make at once the position before"):
        game.parse_action(state, 0, "D3")


def test_the_first_and_the_last_words():
    game, state = position("", size=5)
    told = game.describe(state, 0, 0)
    assert "No move yet. 50 moves left" in told
    assert told.endswith("You are Black (X). Legal moves: any empty point (.), or pass.")
    game, state = position("C3 pass", size=5)
    assert "White passed: a pass now ends the game. 48 moves left" in game.describe(state, 0, 0)
    assert game.compact(state, 0, 0) == "X ...../...../..X../...../..... 7.5 48 p>"
    game, state = position("C3 pass pass", size=5)
    end = "Area: Black 25, White 0 and 7.5 komi. Black wins by 17.5. You are White (O)."
    assert game.describe(state, 0, 1).endswith(f"Black passed.\nThe game is over. {end}")
    game, state = position("pass pass", size=5, komi=0)
    assert "The game is a draw." in game.describe(state, 0, 0)
    game, state = position("C3 B2", size=5, max_moves=2)
    assert "White played B2.\nThe game is over." in game.describe(state, 0, 0)


def test_few_points_are_listed():
    game, state = position("", size=5)
    rng = np.random.default_rng(0)
    while True:
        legal = game.legal_actions(state, 0, game.mover(state, 0))
        if len(legal) <= 8:
            break
        action = int(rng.choice(legal[:-1]))
        game.kernels.step(state, 0, np.array([action, action], np.int32), np.zeros(2, np.float32))
    names = " ".join(game.action_to_text(state, 0, a) for a in legal)
    assert f"Legal moves: {names}." in game.describe(state, 0, game.mover(state, 0))


@pytest.mark.skipif(jit.disabled(), reason="the compiler is off")
@pytest.mark.parametrize("seed", range(3))
def test_the_largest_board_fits_into_a_text_observation(seed):
    """PettingZoo's text observations hold 8,192 printable characters."""
    game, state = position("", size=19)
    rng = np.random.default_rng(seed)
    longest, status = 0, 0
    while status == 0:
        player = game.mover(state, 0)
        legal = game.legal_actions(state, 0, player)
        told = game.describe(state, 0, player)
        assert told.isascii()
        longest = max(longest, len(told), len(game.compact(state, 0, player)))
        action = int(rng.choice(legal[:-1] or legal))
        status = game.kernels.step(state, 0, np.array([action, action], np.int32), np.zeros(2, np.float32))
    assert 1000 < longest < 3000


@pytest.mark.parametrize(
    "text", ["B2", "b2", " B2.\n", "I play B2!", "(B2)", "B 2", "b02", "B2, yes B2", "a stone on b2"]
)
def test_answers_that_are_understood(text):
    game, state = position(KO, size=5)
    assert game.action_to_text(state, 0, game.parse_action(state, 0, text)) == "B2"


@pytest.mark.parametrize("text", ["pass", "PASS", "I pass.", "Pass!"])
def test_passes_that_are_understood(text):
    game, state = position(KO, size=5)
    assert game.parse_action(state, 0, text) == 25


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", InvalidAction, "Answer with one point, A1 to E5"),
        ("resign", InvalidAction, "names no point"),
        ("passing", InvalidAction, "names no point"),
        ("12", InvalidAction, "names no point"),
        ("B22x", InvalidAction, "names no point"),
        ("xB2", InvalidAction, "names no point"),
        ("F1", InvalidAction, "F1 is no point of a 5x5 board"),
        ("A6", InvalidAction, "A6 is no point"),
        ("A0", InvalidAction, "A0 is no point"),
        ("I3", InvalidAction, "no column I"),
        ("B2 or C1", AmbiguousAction, "several moves: B2, C1"),
        ("B2 or pass", AmbiguousAction, "several moves"),
        ("C4", IllegalAction, "C4 is occupied by Black"),
        ("D4", IllegalAction, "D4 is occupied by White"),
        ("D3", IllegalAction, "forbidden by superko: it would make a position that was on the board before"),
    ],
)
def test_answers_that_are_not(text, error, words):
    game, state = position(KO, size=5)
    with pytest.raises(error, match=words):
        game.parse_action(state, 0, text)


def test_suicide_is_named():
    game, state = position("A2 E5 B1 E4 E3", size=5)
    with pytest.raises(IllegalAction, match=r"A1 is suicide.*except A1 \(suicide\); or pass"):
        game.parse_action(state, 0, "A1")


def test_no_answer_after_the_end():
    game, state = position("pass pass", size=5)
    for text in ("C3", "pass"):
        with pytest.raises(IllegalAction, match="game is over"):
            game.parse_action(state, 0, text)


def test_the_rules_say_what_was_configured():
    game = make_game("go-v0", size=9, handicap=3, superko="simple", max_moves=99)
    for words in (
        "9x9",
        "3 handicap stones",
        "White moves first",
        "0.5 points of komi",
        "99 moves",
        "taken back at once",
    ):
        assert words in game.rules
