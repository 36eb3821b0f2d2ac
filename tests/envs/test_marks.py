"""How answers are read in every game: the rules of docs/answers.md. ``check_game`` holds all games to the forms."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.envs import make_game
from coterie.envs.marks import marked, reading, without_thoughts
from coterie.errors import ActionError, AmbiguousAction, IllegalAction, InvalidAction

LENGTH = 100_000  # of a hostile text: a reader that takes quadratic time would meet the test suite's time limit
GAMES = [id for id in coterie.list_envs() if make_game(id).info.num_actions > 1]


def begun(id: str):
    game = make_game(id)
    state = game.new_state(1)
    game.kernels.reset(state, 0, 0)
    return game, state


def read(text: str) -> int:
    game, state = begun("tictactoe")
    return game.parse_action(state, 0, text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("4", "4"),
        (" 4 ", " 4 "),
        ("<think>3?</think>4", "4"),
        ("<think>3?</think>\n 4\n", "4"),
        ("<THINK>3?</Think> 4", "4"),
        ("<thinking>3?</thinking> 4", "4"),
        ("3?</think> 4", "4"),
        ("<think>3? <think>2?</think> 4", "4"),
        ("4 <think>or 3?</think>", "4"),
        ("4 <think>3?</think> is it", "4   is it"),
        ("<think>3?</think>", ""),
        ("x < think > y", "x < think > y"),
    ],
)
def test_thoughts_are_dropped(text, left):
    assert without_thoughts(text) == left


@pytest.mark.parametrize("text", ["<think>4", "4 <think> or 3", "<think>3</think> 4 <think>"])
def test_a_thought_without_an_end_leaves_no_answer(text):
    with pytest.raises(InvalidAction, match="no </think>"):
        read(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("4", None),
        (r"\boxed{3} no, \boxed{4}", "4"),
        (r"\boxed{\mathbf{4}}", "4"),
        (r"\boxed{a{b}c} d", "a{b}c"),
        (r"\boxed{4", "4"),
        (r"\fbox{4}", "4"),
        ("<answer>3</answer> <answer> 4 </answer>", "4"),
        ("<answer>4", "4"),
        (r"<answer>3</answer> \boxed{4}", "4"),
        (r"\boxed{3} <answer>4</answer>", "4"),
        (r"\boxed{<answer>4</answer>}", "4"),
        ('{"move": "3"} {"action": "4"}', "4"),
        ('{"action": 4}', "4"),
        ('{"action": -4, "why": "Answer: 3"}', "-4"),
        ('{"Action": "a \\"b\\" \\u0063"}', 'a "b" c'),
        (r'{"action": "\q4"}', None),  # JSON has no such escape
        ('{"action": "\\\\boxed{4}"}', "4"),
        ('{"action": {"cell": 4}}', None),
        ('{"reaction": 4}', None),
        ("Answer: 3? No.\nAnswer: 4", "4"),
        ("answer : 3.\nThat blocks.", "3."),
        ("**Answer:** 4", "4"),
        ("Answer:\n`4`", "4"),
        ("Answer:", ""),
        ("<answer>4</answer>\nAnswer: 3", "4"),
        ("<answer>Answer: 4</answer>", "4"),
    ],
)
def test_what_is_marked(text, answer):
    assert marked(text) == answer


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("4", 4),
        ("I take cell 4.", 4),
        ("3 looks good, but [4]", 4),
        ("[3] or [4]", 4),
        ("[[4]]", 4),
        ("4 [the middle]", 4),
        ("Answer: [4]", 4),
        (r"\boxed{[4]} and not [3]", 4),
    ],
)
def test_brackets_hold_an_action_or_are_text(text, action):
    assert read(text) == action


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        (r"4 \boxed{}", InvalidAction, "names no"),
        (r"4 \boxed{banana}", InvalidAction, "'banana' names no"),
        ("<think>4</think>", InvalidAction, "'' names no"),
        ("4 <answer>3 or 4</answer>", AmbiguousAction, "3 or 4"),
        ('4 {"action": 99}', InvalidAction, "'99' names no"),
        ("4 or 5 [one of them]", AmbiguousAction, "4 or 5"),
        ("[one of them]", InvalidAction, "'one of them' names no"),
    ],
)
def test_a_mark_counts_even_if_it_holds_no_action(text, error, match):
    with pytest.raises(error, match=match):
        read(text)


def test_brackets_with_an_illegal_action_are_refused():
    game, state = begun("tictactoe")
    game.kernels.step(state, 0, np.array([4, 4], np.int32), np.zeros(2, np.float32))
    with pytest.raises(IllegalAction):
        game.parse_action(state, 0, "3 is worse than [4]")


def test_messages_are_said_without_thoughts_and_marks_only_help_where_the_rules_refuse_them():
    open_game = make_game("debate")
    state = open_game.new_state(1)
    open_game.kernels.reset(state, 0, 0)
    (seat,) = open_game.asked(state[0])
    assert open_game.read(state, 0, seat, "<think>Be kind.</think> I agree [partly].") == "I agree [partly]."
    assert open_game.read(state, 0, seat, r"It is \boxed{4}.") == r"It is \boxed{4}."
    with pytest.raises(InvalidAction, match="no </think>"):
        open_game.read(state, 0, seat, "<think>Be kind.")


def test_a_thought_is_not_heard_by_others():
    env = coterie.make("debate", text=True)
    env.reset(seed=0)
    env.step("<think>my secret</think>Hello there")
    seen, *_ = env.last()
    assert "Hello there" in seen
    assert "secret" not in seen


def test_a_turn_with_talk_is_read_in_marks():
    game = make_game("tictactoe", talk=80)
    state = game.new_state(1)
    game.kernels.reset(state, 0, 0)
    for text in ("<think>[3]</think>hi [4]", "<answer>hi [4]</answer>", json.dumps({"action": "hi [4]"})):
        assert game.split(state, 0, game.read(state, 0, 0, text)) == ("hi", 4)
    with pytest.raises(InvalidAction, match="brackets"):
        game.read(state, 0, 0, "[3] [4]")


@given(st.text(alphabet='<>/\\{}[]":, thinkasweroxdm4\n', max_size=80))
def test_any_text_is_an_action_or_refused(text):
    with contextlib.suppress(ActionError):
        assert read(text) in range(9)


@given(st.text(max_size=60).filter(lambda text: "<" not in text), st.text(max_size=60))
def test_what_follows_thoughts_is_all_that_counts(answer, thought):
    thought = thought.replace("<", "")

    def same(text: str) -> str:
        return text

    assert reading(same, f"<think>{thought}</think>{answer}") == reading(same, answer.strip())


HOSTILE = [
    "<think>",
    "</think>",
    "<think></think>",
    "<answer>",
    "<answer></answer>",
    r"\boxed{",
    r"\boxed{}",
    r"\text{",
    r"\boxed{\text{",
    "{",
    "[",
    "]",
    "[]",
    "[[4]",
    '{"action":',
    '{"action":"',
    '{"action":"\\',
    '{"action":[',
    ",   ",
    '{"action" ',
    "answer",
    "answer:",
    "answer ",
    "Answer: [",
    " ",
    "\n",
    "-",
    "4",
    "4 ",
    "a1",
    "Offer: ",
    "attack ",
    "Nbd",
    "O-",
]


@pytest.mark.parametrize("id", GAMES)
def test_hostile_texts_are_read_in_linear_time(id):
    game, state = begun(id)
    for part in HOSTILE:
        for text in (part * (LENGTH // len(part)), "\\boxed{" + part * (LENGTH // len(part)) + " x"):
            with contextlib.suppress(ActionError):
                game.parse_action(state, 0, text)
