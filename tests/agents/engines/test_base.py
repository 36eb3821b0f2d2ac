"""Contexts grow and share their past; a record says what was asked and answered."""

from __future__ import annotations

import pytest

from coterie.agents.engines.base import Answer, Ask, Choice, Context, Datum, Free
from coterie.agents.seeds import Seed
from coterie.errors import UsageError


def test_contexts_grow_and_siblings_share_their_past():
    root = Context((1, 2), by="game")
    one = root.extend((3,), by="ann", logprobs=(-0.5,))
    two = root.extend((4, 5), by="bob", logprobs=(-0.1, -0.2)).extend((6,), by="template")
    assert (root.ids, one.ids, two.ids) == ((1, 2), (1, 2, 3), (1, 2, 4, 5, 6))
    assert one.past is root
    assert [s.by for s in two.segments()] == ["game", "bob", "template"]
    assert next(s.logprobs for s in two.segments() if s.by == "bob") == (-0.1, -0.2)
    assert (len(root), len(one), len(two)) == (2, 3, 5)


def test_a_contexts_id_follows_from_its_ids_alone():
    grown = Context((1, 2)).extend((3,), by="ann")
    assert grown.id == Context((1, 2, 3)).id == "abccad42d03c940bc2b249bf5a4e1e3d"
    assert len({grown.id, Context((1, 2)).id, Context((3, 2, 1)).id, Context((1, 23)).id}) == 4


def test_nothing_is_written_without_tokens():
    with pytest.raises(UsageError, match="ann wrote no tokens"):
        Context((1,)).extend((), by="ann")
    with pytest.raises(UsageError, match="game wrote no tokens"):
        Context(())


def test_a_datum_is_the_ask_and_its_answer():
    context = Context((1,)).extend((2, 3))
    choice = Ask(context, Choice(((4,), (5, 6))), "ann", Seed(0, 0), temperature=0.7)
    made = Datum.of(choice, Answer((5, 6), (-0.2,), chosen=1, version=3, model="m"))
    assert (made.prompt, made.completion, made.kind, made.chosen) == ((1, 2, 3), (5, 6), "choice", 1)
    assert (made.candidates, made.temperature, made.lora, made.version) == (((4,), (5, 6)), 0.7, "ann", 3)
    free = Datum.of(Ask(context, Free(4, (9,)), None, Seed(0, 1)), Answer((7, 9), (-1.0, -2.0), stop="stop"))
    assert (free.kind, free.candidates, free.lora, free.stop) == ("free", (), "", "stop")
