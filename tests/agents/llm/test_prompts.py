"""What a model is shown, and what of its words is the answer."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

from coterie.agents.core import Turn
from coterie.agents.llm.prompts import answer_text, make_template, stop_token
from coterie.agents.llm.tokenizer import byte_tokenizer
from coterie.envs.making import make_vec
from coterie.errors import UnknownName


@pytest.fixture
def turn():
    vec = make_vec("tictactoe", num_envs=1, seed=0)
    vec.reset(seed=0)
    return Turn(vec.game, vec.state, 0, 0, vec.action_mask[0], 0)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("4", "4"),
        (" 4.\n", "4"),
        ("Answer: 4", "4"),
        ("I could win with 2. Answer: 4\nThat blocks.", "4"),
        ("answer : 3? No.\nAnswer: 4", "4"),
        ("**Answer:** 4", "4"),
        ("Answer:\n`4`", "4"),
        ("Answer:", ""),
        ("", ""),
    ],
)
def test_the_last_answer_counts(said, answer):
    assert answer_text(said) == answer


def test_thoughts_are_asked_for_where_they_are_wanted(turn):
    tokenizer = byte_tokenizer()
    thinking = make_template("auto", tokenizer, think=True, free=True)
    assert thinking.name == "chat"
    shown = tokenizer.decode(thinking.encode(turn, thinking.text(turn)))
    assert turn.game.rules in shown
    assert turn.describe() in shown
    assert "end with one line: Answer: <action>" in shown
    assert make_template("auto", tokenizer, free=True).name == "compact"  # a model of bytes can't talk
    plain = make_template("chat", tokenizer)
    assert "nothing else" in tokenizer.decode(plain.encode(turn, plain.text(turn)))


def test_a_chat_template_without_system_messages_gets_the_rules_from_the_user(turn):
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('No system role here') }}{% endif %}"
        "[{{ m.role }}]{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}[model]{% endif %}"
    )
    template = make_template("chat", tokenizer)
    shown = tokenizer.decode(template.encode(turn, template.text(turn)))
    assert shown.startswith("[user]" + turn.game.rules)
    assert turn.describe() in shown
    assert shown.endswith("[model]")


def test_what_ends_an_answer():
    tokenizer = byte_tokenizer()
    assert stop_token(tokenizer) in range(256, len(tokenizer))
    tokenizer.chat_template = None
    assert stop_token(tokenizer) == tokenizer.eos_token_id


def test_an_unknown_template_gets_a_suggestion():
    with pytest.raises(UnknownName, match="Did you mean 'compact'"):
        make_template("compat", byte_tokenizer())
