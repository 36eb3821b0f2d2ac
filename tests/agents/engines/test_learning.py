"""Engines that learn: gradients, steps, players; and those that can't."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from peft import LoraConfig  # noqa: E402

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.agents.engines.base import Ask, Choice, Context, Datum, Free, Trie  # noqa: E402
from coterie.agents.engines.learning import AdamParams, Batch  # noqa: E402
from coterie.agents.engines.local import LocalEngine  # noqa: E402
from coterie.agents.engines.mock import MockEngine  # noqa: E402
from coterie.agents.engines.openai import OpenAIEngine  # noqa: E402
from coterie.agents.llm.models import load_model  # noqa: E402
from coterie.agents.seeds import Seed  # noqa: E402
from coterie.errors import UsageError  # noqa: E402
from coterie.training.learn.learner import Learner  # noqa: E402
from coterie.training.runs.config import LossConfig, OptimizerConfig  # noqa: E402

FORMS = (Choice(((10,), (11, 12), (13, 14))), Trie(((10, 9), (10, 12), (13,))), Free(4, (3,)), Free(3))


@pytest.fixture
def engine(mini):
    loaded = load_model(str(mini))
    bank = LoraBank(loaded.model, LoraConfig(r=2, target_modules="all-linear", init_lora_weights=False), ("ann", "bob"))
    return LocalEngine(loaded, bank)


def said(engine, count=24):
    """Decisions in three forms and at two temperatures, in one conversation or several."""
    asks = [
        Ask(Context((1, 5, k % 4 + 4)), FORMS[k % 4], ("ann", "bob")[k % 2], Seed(3, k), (1.0, 0.7)[k % 3 == 0])
        for k in range(count)
    ]
    return [Datum.of(ask, answer) for ask, answer in zip(asks, engine.sample(asks), strict=True)]


def batch(records):
    return Batch(records, np.linspace(-1.0, 1.0, len(records)), np.ones(len(records), np.bool_))


def weighed(terms):
    """The sum of advantage times log-prob; as statistics how many decisions there were."""
    loss = -(terms.advantages[:, None] * terms.logprobs * terms.mask).sum()
    return loss, {"loss": loss.item(), "rows": float(len(terms.advantages)), "whole": float(terms.whole.rows)}


def test_fresh_decisions_of_all_forms_are_scored_as_they_were_sampled(engine):
    records = said(engine)
    for record, scored in zip(records, engine.score(records), strict=True):
        np.testing.assert_allclose(scored.logprobs, record.logprobs, atol=2e-5)
        assert scored.entropy > 0


def test_a_batch_of_several_forms_has_the_gradients_of_its_parts(engine, close):
    records = said(engine)
    whole = batch(records)
    passed = engine.forward_backward(whole, weighed)
    assert passed.broken == {}
    assert {name: row["rows"] for name, row in passed.metrics.items()} == {"ann": 12.0, "bob": 12.0}
    together = {name: engine.bank.grads(name).clone() for name in ("ann", "bob")}
    alone = {name: torch.zeros_like(row) for name, row in together.items()}
    for d, record in enumerate(records):
        engine.forward_backward(Batch([record], whole.advantages[d : d + 1], whole.keep[:1]), weighed)
        alone[record.lora] += engine.bank.grads(record.lora)
    for name, row in together.items():
        assert row.abs().max() > 0
        close(row, alone[name], terms=256, depth=64)


def test_a_value_head_reads_and_moves_what_the_model_knows_behind_a_prompt(engine):
    records = said(engine)
    torch.manual_seed(0)
    head = torch.nn.Linear(engine.loaded.model.config.hidden_size, 1)
    seen = {}

    def squared(terms):
        assert terms.hidden.shape[0] == terms.distributions.shape[0]
        values = head(terms.hidden[terms.question].float())[:, 0]
        for hidden, advantage in zip(terms.hidden[terms.question], terms.advantages.tolist(), strict=True):
            seen[round(advantage, 4)] = hidden.detach()
        loss = (values - terms.advantages).square().sum() / terms.whole.rows
        return loss, {"value_loss": loss.item()}

    learned = batch(records)
    first = engine.forward_backward(learned, squared).metrics
    assert head.weight.grad.abs().max() > 0
    assert all(engine.bank.grads(name).abs().max() > 0 for name in ("ann", "bob"))
    for record, advantage in zip(records, learned.advantages.tolist(), strict=True):
        with torch.no_grad(), engine.bank.route(torch.tensor([engine.slot(record.lora)])):
            alone = engine.loaded.model.base_model(input_ids=torch.tensor([record.prompt])).last_hidden_state[0, -1]
        torch.testing.assert_close(seen[round(advantage, 4)], alone, atol=1e-4, rtol=1e-4)
    for _ in range(3):
        engine.optim_step({name: AdamParams(1e-2) for name in ("ann", "bob")})
        last = engine.forward_backward(learned, squared).metrics
    assert all(last[name]["value_loss"] < first[name]["value_loss"] for name in ("ann", "bob"))


def test_without_a_backward_pass_gradients_stay(engine):
    records = said(engine)
    engine.forward_backward(batch(records), weighed)
    before = engine.bank.grads("ann").clone()
    shown = engine.forward_backward(batch(records[:4]), weighed, backward=False)
    assert torch.equal(engine.bank.grads("ann"), before)
    assert shown.metrics["ann"]["loss"] != 0


def test_a_step_is_torchs_adamw_with_settings_of_the_players_own(engine):
    params = {"ann": AdamParams(0.1, betas=(0.5, 0.6), weight_decay=0.3), "bob": AdamParams(0.01, max_grad_norm=1e-3)}
    mine = {name: engine.bank.weights(name).clone().requires_grad_() for name in params}
    theirs = {
        "ann": torch.optim.AdamW([mine["ann"]], lr=0.1, betas=(0.5, 0.6), weight_decay=0.3),
        "bob": torch.optim.AdamW([mine["bob"]], lr=0.01, weight_decay=0.0),
    }
    for _ in range(3):
        engine.forward_backward(batch(said(engine)), weighed)
        norms = {name: float(engine.bank.grads(name).norm()) for name in params}
        for name, row in mine.items():
            row.grad = engine.bank.grads(name).clone()
            torch.nn.utils.clip_grad_norm_([row], params[name].max_grad_norm)
            theirs[name].step()
        assert engine.optim_step(params) == pytest.approx(norms)
    for name, row in mine.items():
        torch.testing.assert_close(engine.bank.weights(name), row.detach(), rtol=1e-4, atol=1e-6)
    assert dict(engine.describe().players) == {"ann": 3, "bob": 3}


def test_players_come_go_and_are_kept(engine, tmp_path):
    engine.save("ann", tmp_path / "ann")
    engine.copy("bob", "ann")
    engine.add("eve", init_from="bob")
    engine.load("old ann", tmp_path / "ann")
    engine.remove("bob")
    assert list(dict(engine.describe().players)) == ["ann", "eve", "old ann"]
    weights = engine.bank.weights
    assert torch.equal(weights("eve"), weights("ann"))
    assert not torch.equal(weights("old ann"), weights("ann"))


def test_a_copy_may_learn_on_as_the_original_does(engine):
    """With the optimizer's state both take the same step; without it, a first one."""
    params = AdamParams(0.01)
    engine.forward_backward(batch(said(engine)), weighed)
    engine.optim_step({"ann": params})
    state = engine.state_dict()
    engine.add("twin")
    engine.copy("ann", "twin", moments=True)
    engine.add("fresh", init_from="ann")
    engine.forward_backward(batch(said(engine)), weighed)
    for name in ("twin", "fresh"):
        engine.bank.grads(name).copy_(engine.bank.grads("ann"))
    engine.optim_step(dict.fromkeys(("ann", "twin", "fresh"), params))
    weights = engine.bank.weights
    assert torch.equal(weights("twin"), weights("ann"))
    assert not torch.equal(weights("fresh"), weights("ann"))
    later = weights("ann").clone()
    engine.load_state_dict(state)
    assert list(dict(engine.describe().players)) == ["ann", "bob"]
    engine.forward_backward(batch(said(engine)), weighed)
    engine.optim_step({"ann": params})
    assert torch.equal(weights("ann"), later)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("score", ([],)),
        ("forward_backward", (None, None)),
        ("optim_step", ({},)),
        ("add", ("ann",)),
        ("remove", ("ann",)),
        ("copy", ("ann", "bob")),
        ("save", ("ann", ".")),
        ("load", ("ann", ".")),
        ("state_dict", ()),
        ("load_state_dict", ({},)),
    ],
)
def test_engines_that_cannot_learn_say_so(mini, name, arguments):
    with pytest.raises(UsageError, match="only answers: it can't score, learn, or hold our players"):
        getattr(OpenAIEngine("http://localhost:1/v1", "m"), name)(*arguments)
    if name != "score":  # the base model alone can be asked what it makes of decisions
        with pytest.raises(UsageError, match="without a bank has nothing to train"):
            getattr(LocalEngine(load_model(str(mini)), None), name)(*arguments)


def test_a_learner_needs_nothing_but_an_engine():
    """How many passes and steps, over which decisions and at which rates, is the learner's affair alone."""
    engine = MockEngine(players=("ann", "bob"))
    asks = [Ask(Context((1, k)), FORMS[0], ("ann", "bob")[k % 2], Seed(0, k)) for k in range(40)]
    records = [Datum.of(ask, answer) for ask, answer in zip(asks, engine.sample(asks), strict=True)]
    engine.players["bob"] = 5
    records = [dataclasses.replace(r, version=5 if r.lora == "bob" and d < 20 else 0) for d, r in enumerate(records)]
    schedule = OptimizerConfig(learning_rate=0.5, lr_scheduler_type="constant", beta1=0.7, max_grad_norm=2.0)
    learner = Learner(engine, LossConfig(num_iterations=3, num_mini_batches=2, max_lag=3), schedule)
    shown = learner.step(records, np.ones(40), np.ones(40, np.bool_), 0)
    assert [backward for _, backward in engine.passes] == [True] * 6 + [False]
    assert sorted(r.prompt for data, _ in engine.passes[:2] for r in data.records) == sorted(
        r.prompt for r in records if r.lora == "ann" or r.version == 5
    )
    assert engine.steps == [dict.fromkeys(("ann", "bob"), AdamParams(0.5, 2.0, (0.7, schedule.beta2), 0.0))] * 6
    assert dict(engine.describe().players) == {"ann": 6, "bob": 11}
    assert (shown["ann"]["stale"], shown["bob"]["stale"]) == (0.0, 0.5)
    with pytest.raises(UsageError, match="without players has nothing to train"):
        Learner(MockEngine(), LossConfig(), schedule)
