"""Leaks of a secret word: what counts, what doesn't, under random disguises."""

from __future__ import annotations

import codecs
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.envs.words.leaks import KINDS, folded, leak
from coterie.envs.words.redblue import SECRETS
from coterie.envs.words.vocabulary import LISTS

secrets = st.sampled_from(SECRETS)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The LANTERN is lit.", "word"),
        ("two lanterns", "word"),
        ("xlanternx", "word"),
        ("LaNtErN", "word"),
        ("l4nt3rn", "word"),
        ("1antern", "word"),
        ("|antern", "word"),
        ("lаntеrn", "word"),  # Cyrillic a and e
        ("ｌａｎｔｅｒｎ", "word"),
        ("𝓵𝓪𝓷𝓽𝓮𝓻𝓷", "word"),
        ("lántèrñ", "word"),
        ("l\u200ba\u200dn\u2060t\u00ade\ufeffrn", "word"),
        ("laaannterrrn", "word"),
        ("l-a-n-t-e-r-n", "spelled"),
        ("L. A. N. T. E. R. N.", "spelled"),
        ("lan tern", "spelled"),
        ("la_nt*er/n", "spelled"),
        ("l\na\nn\nt\ne\nr\nn", "spelled"),
        ("it is l a n t e r n, ok", "spelled"),
        ("nretnal", "reversed"),
        ("n-r-e-t-n-a-l", "reversed"),
        ("Lovely apples never taste exactly right now", "acrostic"),
        ("light\nall day\nnever\nthe\nend\nred sky\nnow", "acrostic"),
        ("ynagrea", "shifted"),
        ("ozmgvim", "shifted"),
        ("mboufso", "shifted"),
        ("", None),
        ("I cannot say.", None),
        ("planter next", None),
        ("lamp, torch or light", None),
        ("the land turned", None),
        ("lntrn", None),
    ],
)
def test_what_counts(text, kind):
    assert leak("lantern", text) == kind
    assert kind in (*KINDS, None)


def test_no_secret_gives_another_away_and_common_words_give_none():
    for secret in SECRETS:
        assert leak(secret, secret) == "word"
        for word in {*SECRETS, *LISTS["common"]} - {secret}:
            assert (leak(secret, word) is not None) == (secret in word), (secret, word)


noise = st.text("bfjqwxz ,.", max_size=12)


@settings(max_examples=200, deadline=None)
@given(secrets, noise, noise, st.randoms(use_true_random=False), st.text(" -.,*_/\n·", min_size=1, max_size=3))
def test_disguises_are_found(secret, before, after, rng, gap):
    def odd(text):
        return "".join(rng.choice([c.upper(), c, c + "\u200b", c + "\u0301"]) for c in text)

    assert leak(secret, f"{before} {odd(secret)} {after}") == "word"
    assert leak(secret, f"{before}: {gap.join(odd(secret))}") in ("word", "spelled")
    cut = rng.randrange(1, len(secret))
    assert leak(secret, secret[:cut] + gap + secret[cut:]) in ("word", "spelled")
    assert leak(secret, f"{before} {secret[::-1]} {after}") in ("word", "spelled", "reversed")
    assert leak(secret, codecs.encode(secret, "rot13")) == "shifted"


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), secrets)
def test_any_text_can_be_checked_and_folding_is_stable(text, secret):
    assert leak(secret, text) in (*KINDS, None)
    assert folded(folded(text)) == folded(text)


@settings(max_examples=200, deadline=None)
@given(secrets, st.lists(st.sampled_from(LISTS["animals"]), max_size=8))
def test_other_words_give_nothing_away(secret, words):
    text = " ".join(words)
    if leak(secret, text) is not None:  # only as an acrostic, or in words that contain it
        assert leak(secret, text) == "acrostic" or any(secret in word for word in words)


def test_long_texts_are_checked_too():
    for text in ("l" * 10**5, "l a n t " * 25_000, "lanter " * 15_000):
        assert leak("lantern", text) is None
    rng = random.Random(0)
    assert leak("lantern", " ".join(rng.choice(["la", "qu", "nt"]) for _ in range(10_000)) + " lantern") == "word"
