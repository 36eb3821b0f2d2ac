"""The topics of debates: how many, balanced over fields, no duplicates, two sides with reasons each."""

from __future__ import annotations

from collections import Counter

import pytest

from coterie.envs.words.debate.rubric import _content, _stem, _words
from coterie.envs.words.debate.topics import LONGEST, all_topics, chosen_topics, fields
from coterie.errors import UnknownName, UsageError

TOPICS = all_topics()


def test_there_are_two_hundred_balanced_over_fields():
    assert len(TOPICS) >= 200
    assert len(fields()) >= 10
    assert len(set(Counter(topic.field for topic in TOPICS).values())) == 1


def test_no_question_is_asked_twice():
    assert len({topic.question.casefold() for topic in TOPICS}) == len(TOPICS)
    asked = [frozenset(_content(_words(topic.question))) for topic in TOPICS]
    for k, one in enumerate(asked):
        for other in asked[:k]:
            assert len(one & other) < 0.8 * len(one | other), (one, other)


def test_both_sides_have_as_many_reasons_of_their_own():
    for topic in TOPICS:
        assert topic.question.endswith("?")
        assert topic.sides[0] != topic.sides[1]
        assert all(0 < len(text) <= LONGEST and text.isprintable() for text in (topic.question, *topic.sides))
        one, other = ({_stem(word) for word in words} for words in topic.grounds)
        assert len(one) == len(other) == 6, f"{topic}: two words of one side look alike to the judge"
        assert not one & other, topic
        assert not (one | other) & _content(_words(topic.question)), topic


def test_topics_can_be_chosen():
    assert chosen_topics("") == TOPICS
    assert {topic.field for topic in chosen_topics("sport")} == {"sport"}
    assert chosen_topics(7) == (TOPICS[7],)
    (own,) = chosen_topics([["Tea or coffee?", "tea", "coffee"]])
    assert own.sides == ("tea", "coffee")


@pytest.mark.parametrize(
    "bad",
    [
        *(-1, 200, True, 1.5, None, {}, [], [[]], ["abc"], [["q", "a"]], [["q", "a", 3]], [["q", "a", ""]], b"abc"),
        *([["q\nA, opening: no", "a", "b"]], [["q" * 300, "a", "b"]]),
    ],
)
def test_other_topics_are_refused(bad):
    with pytest.raises(UsageError, match="topics"):
        chosen_topics(bad)


def test_a_misspelt_field_gets_a_suggestion():
    with pytest.raises(UnknownName, match="sport"):
        chosen_topics("sports")
