"""The learner step: the same gradient however a batch is packed or mixed, and what it refuses to learn from."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from peft import LoraConfig  # noqa: E402

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.agents.bank.optimizer import BankAdamW  # noqa: E402
from coterie.agents.core import Turn  # noqa: E402
from coterie.agents.llm.models import load_model  # noqa: E402
from coterie.agents.llm.policy import LoraPolicy  # noqa: E402
from coterie.agents.llm.scoring.decoding import KINDS, score  # noqa: E402
from coterie.agents.llm.scoring.forest import Question, pack_questions  # noqa: E402
from coterie.envs.registry import make_vec  # noqa: E402
from coterie.errors import CollapseError  # noqa: E402
from coterie.training.learn.learner import Learner  # noqa: E402
from coterie.training.runs.config import LossConfig, OptimizerConfig  # noqa: E402

ONCE = LossConfig(num_iterations=1)
LOSSES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo")


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def make(mini, decode="choice", spread=0.3, **kwargs):
    """A policy with two players, whose adapters are noise."""
    loaded = load_model(str(mini))
    bank = LoraBank(loaded.model, LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"), ("ann", "bob"))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name in bank.players:
            bank.weights(name).add_(spread * torch.randn(bank.weights(name).shape, generator=generator))
    return LoraPolicy(loaded, bank, decode=decode, max_new_tokens=3, **kwargs)


def records(policy, count=24, players=("ann", "bob")):
    """Decisions about numbers of one and two digits, and advantages of either sign."""
    vec = make_vec("highest_number", num_envs=count, seed=0, max_number=12)
    vec.reset(seed=0)
    turns = [Turn(vec.game, vec.state, r, r % 2, vec.action_mask[r, r % 2], 0) for r in range(count)]
    who = [players[k % len(players)] for k in range(count)]
    rng = np.random.default_rng(0)
    made = [decision.tokens for decision in policy.act(turns, who, rng)]
    return made, rng.normal(size=count)


class Standing(BankAdamW):
    """Writes gradients down instead of following them."""

    def step(self, active, lr=None):
        self.seen = {name: self.bank.grads(name).clone() for name in active}


def gradients(policy, made, advantages, loss=ONCE):
    """The gradients of one pass, by player, and what it showed."""
    optimizer = Standing(policy.bank, lr=1e-3)
    learner = Learner(policy, optimizer, loss, OptimizerConfig(max_grad_norm=0.0), max_completion_length=3)
    shown = learner.step(made, np.asarray(advantages), np.ones(len(made), np.bool_), 10)
    return optimizer.seen, shown


@pytest.mark.parametrize("decode", KINDS)
@pytest.mark.parametrize("loss_type", LOSSES)
def test_how_a_batch_is_packed_changes_nothing(mini, decode, loss_type):
    policy = make(mini, decode)
    made, advantages = records(policy)
    loss = dataclasses.replace(ONCE, loss_type=loss_type, beta=0.1, epsilon_high=2.0)
    whole, shown = gradients(policy, made, advantages, loss)
    policy.batch_tokens = 1  # every tree goes through the model alone
    parts, again = gradients(policy, made, advantages, loss)
    for name in whole:
        assert whole[name].abs().max() > 0
        torch.testing.assert_close(parts[name], whole[name], rtol=1e-4, atol=1e-7)
    assert again["approx_kl"] == pytest.approx(shown["approx_kl"], abs=1e-6)


@pytest.mark.parametrize("loss_type", LOSSES)
def test_a_mixed_batch_teaches_each_player_what_its_own_would(mini, loss_type):
    policy = make(mini, "constrained")
    made, advantages = records(policy, players=("ann", "ann", "bob"))
    loss = dataclasses.replace(ONCE, loss_type=loss_type)
    mixed, _ = gradients(policy, made, advantages, loss)
    for name in ("ann", "bob"):
        own = [k for k, record in enumerate(made) if record.lora == name]
        alone, _ = gradients(policy, [made[k] for k in own], advantages[own], loss)
        torch.testing.assert_close(mixed[name], alone[name], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("decode", KINDS)
def test_a_fresh_batch_is_on_policy(mini, decode):
    policy = make(mini, decode, temperature=0.7)
    _, shown = gradients(policy, *records(policy))
    assert shown["approx_kl"] == pytest.approx(0.0, abs=1e-6)
    assert shown["clip_ratio/region_mean"] == 0.0


@pytest.mark.parametrize("decode", KINDS)
def test_the_reference_is_the_base_model_alone(mini, decode):
    loss = dataclasses.replace(ONCE, beta=1.0)
    policy = make(mini, decode)
    made, advantages = records(policy)
    _, shown = gradients(policy, made, advantages, loss)
    base = LoraPolicy(policy.loaded, decode=decode)
    policy.bank.detach()
    gaps = []
    for record in made:
        answers = record.candidates or (record.completion,)
        (pack,) = pack_questions([Question(-1, record.prompt, answers)])
        with torch.no_grad():
            scores = score(base.model, pack, decode)
        row = max(record.chosen, 0)
        real = scores.mask[row] > 0
        gaps += (scores.logprobs[row][real] - torch.tensor(record.logprobs)).tolist()
    by_player = []
    place = np.cumsum([0, *(len(r.logprobs) for r in made)])
    for name in ("ann", "bob"):
        own = [gaps[place[k] : place[k + 1]] for k, r in enumerate(made) if r.lora == name]
        flat = np.concatenate(own)
        by_player.append(np.mean(np.exp(flat) - flat - 1))
    assert shown["kl"] == pytest.approx(np.mean(by_player), rel=1e-3)


@pytest.mark.parametrize("decode", KINDS)
def test_an_entropy_bonus_spreads_the_policy(mini, decode):
    policy = make(mini, decode)
    made, _ = records(policy)
    loss = dataclasses.replace(ONCE, entropy_coef=1.0)
    grads, before = gradients(policy, made, np.zeros(len(made)), loss)
    assert all(grad.abs().max() > 0 for grad in grads.values())
    with torch.no_grad():
        for name, grad in grads.items():
            policy.bank.weights(name).sub_(0.01 * grad / grad.norm())
    _, after = gradients(policy, made, np.zeros(len(made)), loss)
    assert after["entropy"] > before["entropy"]


def step(policy, loss, made, advantages, keep=None, update=10):
    optimizer = BankAdamW(policy.bank, lr=1e-3)
    learner = Learner(policy, optimizer, loss, OptimizerConfig(), max_completion_length=3)
    keep = np.ones(len(made), np.bool_) if keep is None else keep
    return learner.step(made, np.asarray(advantages), keep, update)


def test_better_decisions_become_likelier(mini):
    policy = make(mini)
    made, _ = records(policy, players=("ann",))
    advantages = np.array([1.0 if r.chosen >= 6 else -1.0 for r in made])
    question = Question(policy.slot("ann"), made[0].prompt, made[0].candidates)
    before = np.exp(policy.distributions([question])[0][0])[6:].sum()
    step(policy, LossConfig(num_iterations=8), made, advantages)
    assert np.exp(policy.distributions([question])[0][0])[6:].sum() > before + 0.01


def test_what_is_not_kept_and_what_is_stale_teaches_nothing(mini):
    policy = make(mini)
    made, advantages = records(policy)
    before = policy.bank.weights("ann").clone()
    shown = step(policy, ONCE, made, advantages, np.zeros(len(made), np.bool_))
    assert shown["trained"] == 0
    policy.bank.versions["bob"] += 5
    shown = step(policy, ONCE, [r for r in made if r.lora == "bob"], advantages[1::2])
    assert (shown["trained"], shown["stale"]) == (0, 1.0)
    assert torch.equal(policy.bank.weights("ann"), before)
    idle = policy.bank.weights("bob").clone()
    assert step(policy, ONCE, made, advantages)["stale"] == 0.5
    assert torch.equal(policy.bank.weights("bob"), idle)
    assert not torch.equal(policy.bank.weights("ann"), before)


def test_mini_batches_take_every_decision_once(mini):
    policy = make(mini)
    made, advantages = records(policy)
    shown = step(policy, dataclasses.replace(ONCE, num_mini_batches=2), made, advantages)
    assert shown["trained"] == len(made)
    assert sum(policy.bank.versions.values()) in (2, 3, 4)  # a question, and so a player here, is in one mini-batch


def test_an_update_that_leads_too_far_ends_early(mini):
    weights = []
    for loss, cut in (
        (dataclasses.replace(ONCE, num_iterations=1), False),
        (dataclasses.replace(ONCE, num_iterations=5, target_kl=1e-6), True),
        (dataclasses.replace(ONCE, num_iterations=5, target_kl=1e6), False),
    ):
        policy = make(mini)
        made, advantages = records(policy, players=("ann",))
        shown = step(policy, loss, made, advantages)
        assert shown.get("cut_short", 0.0) == cut
        weights.append(policy.bank.weights("ann").clone())
        assert policy.bank.versions["ann"] == (5 if loss.target_kl == 1e6 else 1)
    assert torch.equal(weights[0], weights[1]), "the step that came too late was not taken"
    assert not torch.equal(weights[1], weights[2])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_step_that_is_not_finite_changes_no_weight(mini, bad):
    policy = make(mini)
    made, advantages = records(policy, players=("ann",))
    before = policy.bank.weights("ann").clone()
    advantages[3] = bad
    with pytest.raises(CollapseError, match=r"loss is|not finite"):
        step(policy, ONCE, made, advantages)
    assert torch.equal(policy.bank.weights("ann"), before)


def test_a_mini_batch_of_flat_groups_alone_takes_a_step_of_the_usual_size(mini):
    policy = make(mini)
    made, _ = records(policy, count=48, players=("ann",))
    loss = dataclasses.replace(ONCE, entropy_coef=0.1)
    optimizer = Standing(policy.bank, lr=1e-3)
    learner = Learner(policy, optimizer, loss, OptimizerConfig(max_grad_norm=0.0))
    half = [made[:24], made[24:]]
    learner._split = lambda records, update: [np.arange(24), np.arange(24, 48)]
    keep = np.arange(48) >= 24  # the first mini-batch has nothing but flat groups
    shown = learner.step([*half[0], *half[1]], np.zeros(48), keep, 10)
    assert "approx_kl" in shown
    usual, _ = gradients(policy, half[1], np.zeros(24), loss)
    learner._split = lambda records, update: [np.arange(24, 48), np.arange(24)]
    learner.step([*half[0], *half[1]], np.zeros(48), keep, 10)
    assert optimizer.seen["ann"].norm() < 2 * usual["ann"].norm()
