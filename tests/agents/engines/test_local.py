"""The engine on this machine: an answer depends on its ask alone, whatever else the call holds."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from peft import LoraConfig  # noqa: E402

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.agents.engines.base import Ask, Choice, Context, Datum, Free, Trie  # noqa: E402
from coterie.agents.engines.local import LocalEngine  # noqa: E402
from coterie.agents.llm.models import load_model  # noqa: E402
from coterie.agents.seeds import Seed  # noqa: E402
from coterie.errors import UsageError  # noqa: E402

FIVE = ((10,), (11, 12), (13, 14, 15), (13, 14, 16), (17, 10))


@pytest.fixture(scope="module")
def engine(mini):
    loaded = load_model(str(mini))
    bank = LoraBank(loaded.model, LoraConfig(r=2, target_modules="all-linear"), ("ann", "bob"), seed=1)
    for k, parameter in enumerate(bank.parameters()):
        with torch.no_grad():
            parameter.normal_(0, 0.3, generator=torch.Generator().manual_seed(k))
    return LocalEngine(loaded, bank)


def asks():
    forms = (Choice(FIVE), Trie(FIVE), Free(5, (3,)), Free(2), Choice(FIVE[:2]))
    contexts = (Context((1, 5, 6)), Context((1, 5, 6, 7)), Context((1,)))
    return [
        Ask(contexts[k % 3], forms[k % 5], ("ann", "bob", None)[k % 7 % 3], Seed(8, k), (1.0, 0.6)[k % 2], k % 11 == 10)
        for k in range(60)
    ]


def test_an_answer_depends_on_its_ask_alone(engine):
    together = engine.sample(asks())
    backwards = engine.sample(asks()[::-1])[::-1]
    alone = [engine.sample([ask])[0] for ask in asks()]
    for ask, one, *others in zip(asks(), together, backwards, alone, strict=True):
        for other in others:
            assert (one.ids, one.chosen, one.stop) == (other.ids, other.chosen, other.stop), ask
            np.testing.assert_allclose(one.logprobs, other.logprobs, atol=2e-5)  # float32, sums of a few tokens
    assert len({answer.ids for answer in together}) > 15


def test_answers_have_the_form_that_was_asked_for(engine):
    for ask, answer in zip(asks(), engine.sample(asks()), strict=True):
        if isinstance(ask.form, Free):
            assert 1 <= len(answer.ids) == len(answer.logprobs) <= ask.form.max_tokens
            assert (answer.chosen, answer.distribution) == (-1, None)
        else:
            assert answer.ids == ask.form.candidates[answer.chosen]
            assert len(answer.logprobs) == (1 if isinstance(ask.form, Choice) else len(answer.ids))
            assert np.exp(answer.distribution).sum() == pytest.approx(1.0, abs=1e-5)
            assert answer.distribution[answer.chosen] == pytest.approx(sum(answer.logprobs), abs=1e-5)
            if ask.greedy:
                assert answer.chosen == answer.distribution.argmax()


def test_a_decision_of_several_asks_is_one_context(engine):
    """First words, then a choice: the second question sees the first answer, and both are scored where they stand."""
    seed = Seed(4, 0)
    thought = Ask(Context((1, 5)), Free(4), "ann", seed)
    said = engine.sample([thought])[0]
    context = thought.context.extend(said.ids, by="ann", logprobs=said.logprobs).extend((20,), by="template")
    choice = Ask(context, Choice(FIVE), "ann", seed.fork(1))
    chosen = engine.sample([choice])[0]
    ended = context.extend(chosen.ids, by="ann", logprobs=chosen.logprobs)
    assert ended.ids == (1, 5, *said.ids, 20, *chosen.ids)
    assert Datum.of(choice, chosen).prompt == (1, 5, *said.ids, 20)
    with torch.no_grad(), engine.bank.route(["ann"]):
        logits = engine.loaded.model(input_ids=torch.tensor([ended.ids[: 2 + len(said.ids)]])).logits[0]
    plain = torch.log_softmax(logits.double(), -1)
    want = [float(plain[1 + t, token]) for t, token in enumerate(said.ids)]
    np.testing.assert_allclose(said.logprobs, want, atol=2e-5)


def test_equal_asks_cost_one_pass(engine):
    before = engine.forward_tokens
    context, form = Context((1, 5, 6, 9)), Choice(FIVE[:2])
    answers = engine.sample([Ask(context, form, "ann", Seed(0, k)) for k in range(300)])
    assert engine.forward_tokens - before == 4 + 1  # the prompt, and the first token of the answer of two
    drawn = np.bincount([answer.chosen for answer in answers], minlength=2) / 300
    np.testing.assert_allclose(drawn, np.exp(answers[0].distribution), atol=4 * np.sqrt(0.25 / 300))


def test_who_answers_and_what_cannot_be_asked(engine):
    told = engine.describe()
    assert (told.dtype, told.device, dict(told.players)) == ("float32", "cpu", {"ann": 0, "bob": 0})
    assert told.hash == engine.loaded.hash
    with pytest.raises(UsageError, match="no player 'eve'; it has: ann, bob"):
        engine.sample([Ask(Context((1,)), Free(1), "eve", Seed(0, 0))])
    with pytest.raises(UsageError, match="A temperature of 0 can't divide logits"):
        engine.sample([Ask(Context((1,)), Free(1), None, Seed(0, 0), temperature=0)])
    with pytest.raises(UsageError, match="no candidates"):
        engine.sample([Ask(Context((1,)), Choice(()), None, Seed(0, 0))])


def test_everything_is_where_the_model_is(engine, mini, elsewhere):
    """In all forms, by the same ways: what is refused on a device must not be made up for by feeding more."""
    before = engine.forward_tokens
    want, fed = engine.sample(asks()), engine.forward_tokens - before
    with elsewhere():
        loaded = load_model(str(mini), device="meta")
        there = LocalEngine(loaded, LoraBank(loaded.model, engine.bank.config, ("ann", "bob")))
        there.bank.load_state_dict(engine.bank.state_dict())
        got = there.sample(asks())
    assert (there.describe().device, there.forward_tokens) == ("meta", fed)
    assert loaded.hash == engine.loaded.hash
    for one, other in zip(want, got, strict=True):
        assert (one.ids, one.stop) == (other.ids, other.stop)
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=2e-5)


def test_the_stand_in_for_a_gpu_refuses_what_a_gpu_refuses(elsewhere):
    with elsewhere():
        there, here = torch.ones(3, device="meta"), torch.arange(3)
        assert (there[here] + there.sum().item() + torch.tensor(1.0)).tolist() == [5.0, 5.0, 5.0]
        for refused in (lambda: there + here, lambda: here[there.long()], lambda: torch.cat([there, here])):
            with pytest.raises(RuntimeError, match="met a tensor of the host"):
                refused()
        with pytest.raises(TypeError, match="another device"):
            there.numpy()
