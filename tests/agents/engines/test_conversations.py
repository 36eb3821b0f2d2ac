"""Key-value caches of conversations: fewer tokens fed, the same answers; bounded, and never of other weights."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from peft import LoraConfig  # noqa: E402

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.agents.engines.base import Ask, Context, Free  # noqa: E402
from coterie.agents.engines.conversations import Conversations  # noqa: E402
from coterie.agents.engines.local import LocalEngine  # noqa: E402
from coterie.agents.llm.models import load_model  # noqa: E402
from coterie.agents.llm.scoring.batches import Past  # noqa: E402
from coterie.agents.seeds import Seed, stream  # noqa: E402

PLAYERS = ("ann", "bob", None)


@pytest.fixture(scope="module")
def loaded(mini):
    return load_model(str(mini))


def make(loaded, **kwargs):
    lora = LoraConfig(r=2, target_modules="all-linear", init_lora_weights=False)
    return LocalEngine(loaded, LoraBank(loaded.model, lora, ("ann", "bob")), **kwargs)


def talk(engine, turns=4, conversations=9, between=None):
    """Conversations of several turns: what was answered in each; tokens fed for each turn of all of them."""
    contexts = [Context(range(5, 25 + c), by="template").extend((30 + c,)) for c in range(conversations)]
    said, fed = [], []
    for turn in range(turns):
        before = engine.forward_tokens
        asks = [
            Ask(context, Free(6, (3,)), PLAYERS[c % 3], Seed(stream(7, c), turn)) for c, context in enumerate(contexts)
        ]
        answers = engine.sample(asks)
        fed.append(engine.forward_tokens - before)
        said.append(answers)
        contexts = [
            context.extend(answer.ids, by="ann").extend((40 + turn, 41))
            for context, answer in zip(contexts, answers, strict=True)
        ]
        if between is not None:
            between(engine)
    return said, fed


def agree(mine, want):
    for turn, other in zip(mine, want, strict=True):
        for a, b in zip(turn, other, strict=True):
            assert (a.ids, a.stop) == (b.ids, b.stop)
            np.testing.assert_allclose(a.logprobs, b.logprobs, atol=2e-5)


def test_a_context_that_grows_is_fed_once(loaded):
    said, fed = talk(make(loaded))
    plain, whole = talk(make(loaded, cache_bytes=0))
    agree(said, plain)
    assert fed[0] == whole[0]
    for turn in range(1, 4):
        # The last token of the answer before, two of the game, and of each new answer all but the last.
        assert fed[turn] == sum(1 + 2 + len(answer.ids) - 1 for answer in said[turn])
        assert whole[turn] > 2 * fed[turn]


def test_siblings_go_on_from_their_own_past_and_equal_ones_are_fed_once(loaded):
    engine = make(loaded)
    start = Context(range(5, 45), by="template").extend((50,))
    first = engine.sample([Ask(start, Free(5), "ann", Seed(1, k)) for k in range(4)])
    grown = [start.extend(answer.ids, by="ann").extend((60,)) for answer in first]
    assert len({context.ids for context in grown}) == 4
    before = engine.forward_tokens
    asks = [Ask(context, Free(1), "ann", Seed(2, k)) for k, context in enumerate((*grown, *grown))]
    answers = engine.sample(asks)
    assert engine.forward_tokens - before == 4 * 2
    agree([answers], [make(loaded, cache_bytes=0).sample(asks)])


def test_what_comes_once_is_not_kept(loaded):
    engine = make(loaded)
    engine.sample([Ask(Context(range(5, 30)), Free(3), "ann", Seed(0, 0))])
    assert len(engine.conversations) == 0


@pytest.mark.parametrize("change", ["step", "copy", "load"])
def test_other_weights_are_never_answered_from(loaded, change):
    def move(engine):
        with torch.no_grad():
            if change == "step":
                engine.bank.weights("ann").add_(0.3)
                engine.bank.versions["ann"] += 1
            elif change == "copy":
                engine.copy("bob", "ann")
            else:
                state = engine.bank.state_dict()
                state["weights"]["ann"] += 0.3
                engine.bank.load_state_dict(state)

    said, fed = talk(make(loaded), turns=2, between=move)
    plain, _ = talk(make(loaded, cache_bytes=0), turns=2, between=move)
    agree(said, plain)
    gone = 3 if change != "load" else 6  # conversations whose player has other weights, as far as one can know
    new = sum(1 + 2 + len(answer.ids) - 1 for answer in said[1])
    assert fed[1] >= new + gone


def test_the_least_recently_asked_goes_first():
    def past(*ids):
        return Past(ids, [(torch.zeros(1, len(ids), 1), torch.zeros(1, len(ids), 1))])

    kept = Conversations(limit=8 * 10)
    kept.keep("ann", past(1, 2, 3, 4), 0)
    kept.keep("ann", past(5, 6, 7, 8), 0)
    assert kept.find("ann", (1, 2, 3, 4, 9)).ids == (1, 2, 3, 4)
    kept.keep("bob", past(1, 2, 3, 4), 0)
    assert kept.nbytes == 8 * 8
    assert kept.find("ann", (5, 6, 7, 8, 9)) is None
    assert kept.find("ann", (1, 2, 3, 4)).ids == (1, 2, 3)  # the last token's state is what is asked for
    assert kept.find("ann", (1, 2, 9, 9, 9)) is None  # most of it would be fed anyway
    kept.keep("ann", past(1, 2, 3, 4, 5), 0)
    assert len(kept) == 2
    kept.only({"ann": 0, "bob": 1})
    assert (len(kept), kept.nbytes) == (1, 8 * 5)
    kept.keep("ann", past(*range(11)), 0)
    assert (len(kept), kept.nbytes) == (0, 0)


def test_caches_are_where_the_model_is(mini, loaded, elsewhere):
    want, fed = talk(make(loaded), turns=2)
    with elsewhere():
        there = make(load_model(str(mini), device="meta"))
        there.bank.load_state_dict(make(loaded).bank.state_dict())
        got, again = talk(there, turns=2)
    agree(got, want)
    assert again == fed
