"""The learner step: the same gradient however a batch is packed or mixed, and what it refuses to learn from."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from peft import LoraConfig  # noqa: E402

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.agents.bank.optimizer import BankAdamW  # noqa: E402
from coterie.agents.core import Turn, seeded  # noqa: E402
from coterie.agents.engines.learning import Terms, Whole  # noqa: E402
from coterie.agents.llm.models import load_model  # noqa: E402
from coterie.agents.llm.policy import LoraPolicy  # noqa: E402
from coterie.agents.llm.scoring.decoding import KINDS, score  # noqa: E402
from coterie.agents.llm.scoring.forest import Question, pack_questions  # noqa: E402
from coterie.envs.making import make_vec  # noqa: E402
from coterie.errors import CollapseError, UsageError  # noqa: E402
from coterie.training.learn.learner import Learner  # noqa: E402
from coterie.training.learn.objectives import Clipped  # noqa: E402
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
    made = [decision.tokens for decision in policy.act(seeded(turns), who)]
    return made, rng.normal(size=count)


class Standing(BankAdamW):
    """Writes gradients down instead of following them."""

    def __init__(self, policy):
        super().__init__(policy.bank)
        policy.local.optimizer = self
        self.seen, self.rates = {}, {}

    def step(self, active, lr=None, **how):
        self.seen |= {name: self.bank.grads(name).clone() for name in active}
        self.rates |= dict.fromkeys(active, lr)


def gradients(policy, made, advantages, loss=ONCE):
    """The gradients of one pass and what was shown, both by player."""
    optimizer = Standing(policy)
    free = policy.decode == "free"
    learner = Learner(policy.engine, loss, OptimizerConfig(max_grad_norm=0.0), free=free, max_completion_length=3)
    shown = learner.step(made, np.asarray(advantages), np.ones(len(made), np.bool_), 10)
    return optimizer.seen, shown


@pytest.mark.parametrize("decode", KINDS)
@pytest.mark.parametrize("loss_type", LOSSES)
def test_how_a_batch_is_packed_changes_nothing(mini, decode, loss_type):
    policy = make(mini, decode)
    made, advantages = records(policy)
    loss = dataclasses.replace(ONCE, loss_type=loss_type, beta=0.1, epsilon_high=2.0)
    whole, shown = gradients(policy, made, advantages, loss)
    policy.local.batch_tokens = 1  # every tree goes through the model alone
    parts, again = gradients(policy, made, advantages, loss)
    for name in whole:
        assert whole[name].abs().max() > 0
        torch.testing.assert_close(parts[name], whole[name], rtol=1e-4, atol=1e-7)
        for key, value in shown[name].items():
            assert again[name][key] == pytest.approx(value, rel=1e-3, abs=1e-6), key


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


def test_nobody_need_have_given_the_longest_answer(mini):
    policy = make(mini, "constrained")
    made, advantages = records(policy)
    short = [k for k, record in enumerate(made) if len(record.completion) == 2]
    assert short
    assert max(len(candidate) for candidate in made[0].candidates) == 3
    _, shown = gradients(policy, [made[k] for k in short], advantages[short])
    assert all(row["approx_kl"] == pytest.approx(0.0, abs=1e-6) for row in shown.values())


@pytest.mark.parametrize("decode", KINDS)
def test_a_fresh_batch_is_on_policy(mini, decode):
    policy = make(mini, decode, temperature=0.7)
    _, shown = gradients(policy, *records(policy))
    for name in policy.bank.players:
        assert shown[name]["approx_kl"] == pytest.approx(0.0, abs=1e-6)
        assert shown[name]["clip_ratio/region_mean"] == 0.0


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
            scores = score(base.loaded.model, pack, decode)
        row = max(record.chosen, 0)
        real = scores.mask[row] > 0
        gaps += (scores.logprobs[row][real] - torch.tensor(record.logprobs)).tolist()
    place = np.cumsum([0, *(len(r.logprobs) for r in made)])
    for name in ("ann", "bob"):
        own = [gaps[place[k] : place[k + 1]] for k, r in enumerate(made) if r.lora == name]
        flat = np.concatenate(own)
        assert shown[name]["kl"] == pytest.approx(np.mean(np.exp(flat) - flat - 1), rel=1e-3)


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
    assert all(after[name]["entropy"] > before[name]["entropy"] for name in grads)


def unrewarded(taken, question, chosen, table, **more):
    """Terms of three decisions about two questions, whose advantages are 0."""
    return Terms(
        logprobs=taken,
        mask=torch.ones(3, 1),
        entropies=torch.zeros(3),
        old=taken.detach(),
        advantages=torch.zeros(3),
        keep=torch.zeros(3, dtype=torch.bool),
        question=question,
        chosen=chosen,
        distributions=table,
        hidden=torch.zeros(2, 4),
        whole=Whole(rows=3, kept=0, tokens=0, sampled=0),
        reference=lambda: taken,
        **({"magnet": lambda: table.detach()} | more),
    )


def test_the_cover_pulls_by_the_distance_from_the_uniform_choice_however_sure_the_policy_is():
    """Its gradient on a logit is pi(a) - 1/C, by the derivative of a log-softmax: -1/C where pi(a) is almost 0."""
    logits = torch.tensor([[12.0, 0.0, -3.0], [1.0, 2.0, -float("inf")]], dtype=torch.float64, requires_grad=True)
    table = torch.log_softmax(logits, 1)
    rows = torch.tensor([0, 0, 1])  # the first question was asked twice
    chosen = torch.tensor([0, 0, 1])
    taken = table[rows, chosen][:, None]
    terms = unrewarded(taken, rows, chosen, table)
    loss, _ = Clipped("bnpo", cover=0.3)(terms)
    loss.backward()
    chances = table.detach().exp()
    often = torch.tensor([[2.0], [1.0]]) / 3
    uniform = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(logits.grad, 0.3 * often * (chances - uniform))
    assert logits.grad[0, 2] < -0.3 * 2 / 3 * 0.33  # the least likely answer is pulled hardest


def test_the_magnet_pulls_by_the_whole_kl_to_it():
    """Against torch's own KL, two decisions about the first question and one about the second."""
    logits = torch.tensor([[0.5, 0.0, -3.0], [1.0, 2.0, -float("inf")]], dtype=torch.float64, requires_grad=True)
    table = torch.log_softmax(logits, 1)
    magnet = torch.log_softmax(torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, -float("inf")]], dtype=torch.float64), 1)
    rows = torch.tensor([0, 0, 1])
    taken = table[rows, torch.tensor([0, 1, 1])][:, None]
    loss, stats = Clipped("bnpo", magnet=0.3)(unrewarded(taken, rows, rows, table, magnet=lambda: magnet))
    (grad,) = torch.autograd.grad(loss, logits, retain_graph=True)
    ours = torch.distributions.Categorical(logits=logits[0]), torch.distributions.Categorical(logits=logits[1, :2])
    fixed = torch.distributions.Categorical(logits=magnet[0]), torch.distributions.Categorical(logits=magnet[1, :2])
    kls = [torch.distributions.kl_divergence(p, q) for p, q in zip(ours, fixed, strict=True)]
    wanted = (2 * kls[0] + kls[1]) / 3
    assert stats["magnet_kl"] == pytest.approx(float(wanted.detach()))
    torch.testing.assert_close(grad, torch.autograd.grad(0.3 * wanted, logits)[0])
    assert Clipped("bnpo")(unrewarded(taken, rows, rows, table))[0] == 0


def test_entropy_and_magnet_are_magnetic_mirror_descent():
    """The step of Sokota et al. 2023 in closed form: pi ~ (e^q magnet^alpha pi_old^(1/eta)) ^ (1 / (alpha + 1/eta)).

    One decision with three answers, sampled uniformly: pi_old is uniform, which makes 1/eta the weight of the entropy.
    """
    values = torch.tensor([1.0, -0.5, 0.2], dtype=torch.float64)
    magnet = torch.log(torch.tensor([[0.2, 0.7, 0.1]], dtype=torch.float64))
    alpha, eta = 0.4, 2.5
    logits = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    descent = torch.optim.LBFGS([logits], max_iter=200, tolerance_grad=1e-12, tolerance_change=0.0)

    def objective():
        descent.zero_grad()
        table = torch.log_softmax(logits, 1)
        terms = unrewarded(table.T, torch.zeros(3, dtype=torch.int64), torch.arange(3), table, magnet=lambda: magnet)
        terms.old = torch.full((3, 1), 1 / 3, dtype=torch.float64).log()
        terms.advantages, terms.keep = values, torch.ones(3, dtype=torch.bool)
        terms.entropies = -(table.exp() * table).sum().expand(3)
        terms.whole = Whole(rows=3, kept=3, tokens=3, sampled=3)
        loss, _ = Clipped("bnpo", epsilon_low=1.0, epsilon_high=9.0, bonus=1 / eta, magnet=alpha)(terms)
        loss.backward()
        return loss

    descent.step(objective)
    wanted = torch.softmax((values + alpha * magnet) / (alpha + 1 / eta), 1)
    torch.testing.assert_close(torch.softmax(logits.detach(), 1), wanted, atol=1e-6, rtol=0)


@pytest.mark.parametrize("decode", ["choice", "constrained"])
def test_a_magnet_is_a_past_self_that_moves_every_so_often(mini, decode):
    policy = make(mini, decode)
    made, _ = records(policy)
    loss = dataclasses.replace(ONCE, magnet_coef=1e-3, magnet_every=2, num_iterations=2)
    teacher, bank = learner(policy, loss), policy.bank
    names = {r.lora for r in made}
    seen = []
    for update in range(4):
        made = [dataclasses.replace(r, version=bank.versions[r.lora]) for r in made]
        before = {name: bank.weights(name).clone() for name in names}
        stats = teacher.step(made, np.linspace(-1, 1, len(made)), np.ones(len(made), np.bool_), update)
        for name in names:
            assert stats[name]["magnet_kl"] > 0  # the second pass is away from it
            seen.append(torch.equal(bank.weights(f"{name}@magnet"), before[name]))
    assert seen == [update % 2 == 0 for update in range(4) for _ in names]
    teacher.forget(sorted(names))
    assert set(bank.players) == names


@pytest.mark.parametrize("decode", ["choice", "constrained"])
def test_a_magnet_holds_its_player_back(mini, decode):
    """The KL is to the player's own magnet, in packs of several players too."""
    moved = {}
    for coef in (0.0, 100.0):
        policy = make(mini, decode)
        made, advantages = records(policy)
        loss = dataclasses.replace(ONCE, magnet_coef=coef, num_iterations=8)
        stats = step(policy, loss, made, advantages)
        moved[coef] = {name: own["approx_kl"] for name, own in stats.items()}
    assert all(moved[100.0][name] < 0.5 * moved[0.0][name] for name in moved[0.0])


def test_free_answers_have_no_magnet(mini):
    with pytest.raises(UsageError, match=r"magnet_coef is 0\.5, but free answers can't be listed"):
        learner(make(mini, "free"), dataclasses.replace(ONCE, magnet_coef=0.5))


def taught(policy, made, k=-1):
    """The same records, with a teacher who would always have given one of the answers."""
    return [dataclasses.replace(r, taught=k % len(r.candidates)) for r in made]


def test_imitation_pulls_towards_the_teachers_answer_as_cross_entropy_does(mini):
    """Against torch's own cross-entropy; the second decision was not shown by a teacher, and advantages are 0."""
    logits = torch.tensor([[0.5, 0.0, -3.0], [1.0, 2.0, -float("inf")]], dtype=torch.float64, requires_grad=True)
    table = torch.log_softmax(logits, 1)
    rows, chosen, shown = torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]), torch.tensor([2, -1, 0])
    taken = table[rows, chosen][:, None]
    terms = unrewarded(taken, rows, chosen, table, taught=shown)
    loss, stats = Clipped("bnpo", imitation=0.3)(terms)
    (grad,) = torch.autograd.grad(loss, logits)
    wanted = torch.nn.functional.cross_entropy(logits[[0, 1]], shown[[0, 2]], reduction="sum") / 3
    assert stats["imitation"] == pytest.approx(float(wanted.detach()))
    torch.testing.assert_close(grad, torch.autograd.grad(0.3 * wanted, logits)[0])
    assert Clipped("bnpo")(terms)[0] == 0  # without a weight the teacher is not heard


@pytest.mark.parametrize("decode", ["choice", "constrained"])
def test_a_learner_follows_its_teacher_without_a_reward(mini, decode):
    policy = make(mini, decode)
    made, _ = records(policy)
    made, kept = taught(policy, made), np.zeros(len(made), np.bool_)
    loss = dataclasses.replace(ONCE, imitation_coef=1.0, imitation_final=0.5, entropy_decay_updates=20)
    assert learner(policy, loss).imitation_coef(10) == 0.75
    first = step(policy, loss, made, np.zeros(len(made)), kept, 0)
    made = [dataclasses.replace(r, version=policy.bank.versions[r.lora]) for r in made]
    second = step(policy, loss, made, np.zeros(len(made)), kept, 0)
    assert all(second[name]["imitation"] < first[name]["imitation"] for name in first)


@pytest.mark.parametrize("decode", ["choice", "constrained"])
def test_a_cover_spreads_the_policy_without_a_reward(mini, decode):
    policy = make(mini, decode)
    made, _ = records(policy)
    kept = np.zeros(len(made), np.bool_)
    loss = dataclasses.replace(ONCE, cover_coef=1.0, cover_final=0.5, entropy_decay_updates=20)
    assert learner(policy, loss).cover_coef(10) == 0.75

    def least():  # the mean log-prob of all answers
        questions = [Question(policy.local.slot(r.lora), r.prompt, r.candidates) for r in made]
        table = policy.local.distributions(list(dict.fromkeys(questions)), decode)[0]
        return np.ma.masked_invalid(table).mean()

    before = least()
    step(policy, loss, made, np.zeros(len(made)), kept)
    assert least() > before


def learner(policy, loss=ONCE, **kwargs):
    free = policy.decode == "free"
    return Learner(policy.engine, loss, OptimizerConfig(), free=free, max_completion_length=3, **kwargs)


def step(policy, loss, made, advantages, keep=None, update=10, **kwargs):
    keep = np.ones(len(made), np.bool_) if keep is None else keep
    return learner(policy, loss, **kwargs).step(made, np.asarray(advantages), keep, update)


def test_better_decisions_become_likelier(mini):
    policy = make(mini)
    made, _ = records(policy, players=("ann",))
    advantages = np.array([1.0 if r.chosen >= 6 else -1.0 for r in made])
    question = Question(policy.local.slot("ann"), made[0].prompt, made[0].candidates)

    def unlikely():
        return np.exp(policy.local.distributions([question], policy.decode, policy.temperature)[0][0])[6:].sum()

    before = unlikely()
    step(policy, LossConfig(num_iterations=8), made, advantages)
    assert (
        np.exp(policy.local.distributions([question], policy.decode, policy.temperature)[0][0])[6:].sum()
        > before + 0.01
    )


def test_what_is_not_kept_and_what_is_stale_teaches_nothing(mini):
    policy = make(mini)
    made, advantages = records(policy)
    before = policy.bank.weights("ann").clone()
    shown = step(policy, ONCE, made, advantages, np.zeros(len(made), np.bool_))
    assert [row["trained"] for row in shown.values()] == [0, 0]
    policy.bank.versions["bob"] += 5
    shown = step(policy, ONCE, [r for r in made if r.lora == "bob"], advantages[1::2])
    assert (shown["bob"]["trained"], shown["bob"]["stale"]) == (0, 1.0)
    assert "entropy" not in shown["bob"]
    assert torch.equal(policy.bank.weights("ann"), before)
    idle = policy.bank.weights("bob").clone()
    shown = step(policy, ONCE, made, advantages)
    assert (shown["ann"]["stale"], shown["bob"]["stale"]) == (0.0, 1.0)
    assert torch.equal(policy.bank.weights("bob"), idle)
    assert not torch.equal(policy.bank.weights("ann"), before)


def test_mini_batches_take_every_decision_once(mini):
    policy = make(mini)
    made, advantages = records(policy)
    shown = step(policy, dataclasses.replace(ONCE, num_mini_batches=2), made, advantages)
    assert sum(row["trained"] for row in shown.values()) == len(made)
    assert policy.bank.versions == {"ann": 1, "bob": 1}  # here each has one question, which is in one mini-batch


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
        assert shown["ann"].get("cut_short", 0.0) == cut
        weights.append(policy.bank.weights("ann").clone())
        assert policy.bank.versions["ann"] == (5 if loss.target_kl == 1e6 else 1)
    assert torch.equal(weights[0], weights[1]), "the step that came too late was not taken"
    assert not torch.equal(weights[1], weights[2])


def test_explored_answers_do_not_cut_an_update_short(mini):
    """``target_kl`` looks at answers that the policy itself sampled."""
    loss = dataclasses.replace(ONCE, num_iterations=5, target_kl=0.5)
    for explored, updates in ((True, 5), (False, 0)):
        policy = make(mini)
        made, advantages = records(policy, players=("ann",))
        unlikely = {"logprobs": (-12.0,), "explored": explored}  # the estimate of the KL would be in the thousands
        made[::2] = [dataclasses.replace(r, **unlikely) for r in made[::2]]
        shown = step(policy, loss, made, advantages)["ann"]
        assert policy.bank.versions["ann"] == updates
        assert ("cut_short" in shown) != explored


def test_target_kl_is_the_mean_over_all_packs_of_the_answers_not_explored(mini):
    for batch_tokens in (1 << 14, 1):
        policy = make(mini)
        policy.local.batch_tokens = batch_tokens
        made, advantages = records(policy, players=("ann",))
        made = [dataclasses.replace(r, explored=k % 3 == 0) for k, r in enumerate(made)]
        made = [r if r.explored else dataclasses.replace(r, logprobs=(r.logprobs[0] - 1.0,)) for r in made]
        far = float(np.exp(1.0) - 2.0)  # exp(d) - d - 1 at a distance of one nat
        for target, cut in ((0.99 * far, True), (1.01 * far, False)):
            shown = step(policy, dataclasses.replace(ONCE, target_kl=target), made, advantages)["ann"]
            assert ("cut_short" in shown) == cut


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_step_that_is_not_finite_changes_no_weight(mini, bad):
    policy = make(mini)
    made, advantages = records(policy, players=("ann",))
    before = policy.bank.weights("ann").clone()
    advantages[3] = bad
    trainer = learner(policy)
    shown = trainer.step(made, advantages, np.ones(len(made), np.bool_), 10)
    assert shown["ann"]["broken"] == 1.0
    assert isinstance(trainer.broken["ann"], CollapseError)
    assert re.search("loss is|not finite", str(trainer.broken["ann"]))
    assert torch.equal(policy.bank.weights("ann"), before)


def test_a_mini_batch_of_flat_groups_alone_takes_a_step_of_the_usual_size(mini):
    policy = make(mini)
    made, _ = records(policy, count=48, players=("ann",))
    loss = dataclasses.replace(ONCE, entropy_coef=0.1)
    optimizer = Standing(policy)
    trainer = Learner(policy.engine, loss, OptimizerConfig(max_grad_norm=0.0))
    half = [made[:24], made[24:]]
    trainer._split = lambda records, update: [np.arange(24), np.arange(24, 48)]
    keep = np.arange(48) >= 24  # the first mini-batch has nothing but flat groups
    shown = trainer.step([*half[0], *half[1]], np.zeros(48), keep, 10)
    assert "approx_kl" in shown["ann"]
    usual, _ = gradients(policy, half[1], np.zeros(24), loss)
    trainer._split = lambda records, update: [np.arange(24, 48), np.arange(24)]
    trainer.step([*half[0], *half[1]], np.zeros(48), keep, 10)
    assert optimizer.seen["ann"].norm() < 2 * usual["ann"].norm()


def nats(policy, made):
    """[D] of each decision now: log-probability a token (choice: of the action) and entropy, one question at a time."""
    logs, entropies = [], []
    for r in made:
        (pack,) = pack_questions([Question(policy.local.slot(r.lora), r.prompt, r.candidates or (r.completion,))])
        with torch.no_grad():
            scores = score(policy.loaded.model, pack, policy.decode, bank=policy.bank, temperature=policy.temperature)
        row = max(r.chosen, 0)
        logs.append(scores.logprobs[row][scores.mask[row] > 0].double().numpy())
        entropies.append(float(scores.entropy[row]))
    return logs, np.array(entropies)


@pytest.mark.parametrize("decode", KINDS)
def test_what_is_told_of_a_policy_is_of_the_policy_after_the_update(mini, decode):
    policy = make(mini, decode)
    made, advantages = records(policy)
    keep = np.arange(len(made)) % 3 > 0  # what is not kept has an entropy too
    loss = dataclasses.replace(ONCE, epsilon=0.01)
    for r in made:
        assert r.version == policy.bank.versions[r.lora]
    shown = step(policy, loss, made, advantages, keep)
    logs, entropies = nats(policy, made)
    for name, row in shown.items():
        own = [d for d, r in enumerate(made) if r.lora == name]
        gap = np.concatenate([logs[d] - np.array(made[d].logprobs) for d in own])
        assert row["approx_kl"] == pytest.approx(np.mean(np.exp(gap) - gap - 1), rel=1e-3, abs=1e-7)
        assert row["approx_kl"] > 0
        assert row["entropy"] == pytest.approx(entropies[own].mean(), rel=1e-4)
        signs = np.concatenate([np.repeat(np.sign(advantages[d] * keep[d]), len(logs[d])) for d in own])
        cut = ((np.exp(gap) < 0.99) & (signs < 0)) | ((np.exp(gap) > 1.01) & (signs > 0))
        assert row["clip_ratio/region_mean"] == pytest.approx(cut.mean())


def test_every_drawn_answer_counts_in_the_entropy(mini):
    policy = make(mini, "free", temperature=0.05)
    (first, second), _ = records(policy, 2, players=("ann",))
    second = dataclasses.replace(second, prompt=first.prompt)
    assert first.completion != second.completion
    made = [first, second, first, first]
    Standing(policy)
    trainer = Learner(policy.engine, dataclasses.replace(ONCE, entropy_coef=1.0), OptimizerConfig(max_grad_norm=0))
    shown = trainer.step(made, np.zeros(4), np.zeros(4, np.bool_), 10)
    _, (one, other, *_) = nats(policy, made)
    assert one != pytest.approx(other, rel=1e-3)
    assert shown["ann"]["entropy"] == pytest.approx((3 * one + other) / 4, rel=1e-5)
    assert shown["ann"]["loss"] == pytest.approx(-(3 * one + other) / 4, rel=1e-5)


def test_the_bonus_is_a_mean_over_all_decisions_however_many_are_kept(mini):
    policy = make(mini)
    made, _ = records(policy, players=("ann",))
    grads, losses = [], []
    for kept in (24, 6, 0):
        optimizer = Standing(policy)
        loss = dataclasses.replace(ONCE, entropy_coef=0.5)
        trainer = Learner(policy.engine, loss, OptimizerConfig(max_grad_norm=0.0))
        shown = trainer.step(made, np.zeros(24), np.arange(24) < kept, 10)
        grads.append(optimizer.seen["ann"])
        losses.append(shown["ann"]["loss"])
    assert losses == pytest.approx([-0.5 * nats(policy, made)[1].mean()] * 3, rel=1e-5)
    for grad in grads[1:]:
        torch.testing.assert_close(grad, grads[0], rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("bonus", [0.0, 0.1])
def test_a_batch_without_variance_has_metrics_and_its_bonus(mini, bonus):
    policy = make(mini)
    made, _ = records(policy)
    before = policy.bank.weights("ann").clone()
    loss = dataclasses.replace(ONCE, entropy_coef=bonus)
    shown = step(policy, loss, made, np.zeros(len(made)), np.zeros(len(made), np.bool_))
    assert torch.equal(policy.bank.weights("ann"), before) == (bonus == 0)
    _, entropies = nats(policy, made)
    for k, name in enumerate(("ann", "bob")):
        assert shown[name]["entropy"] == pytest.approx(entropies[k::2].mean(), rel=1e-4)
        assert (shown[name]["approx_kl"] > 1e-6) == (bonus > 0)


def test_the_look_after_an_update_is_bounded_and_follows_from_seed_and_update(mini, monkeypatch):
    looked = []

    policy = make(mini)
    real = policy.local.forward_backward

    def spy(data, objective, **how):
        looked.append([(r.lora, r.prompt) for r in data.records])
        return real(data, objective, **how)

    made, advantages = several(policy, 400)
    made = [dataclasses.replace(r, lora="ann" if d % 4 == 0 else "bob") for d, r in enumerate(made)]
    made = [dataclasses.replace(r, version=policy.bank.versions[r.lora]) for r in made]
    monkeypatch.setattr(policy.local, "forward_backward", spy)
    nobody = np.zeros(len(made), np.bool_)
    for seed, update in ((0, 3), (0, 3), (1, 3), (0, 4)):
        step(policy, ONCE, made, advantages, nobody, update, seed=seed)
    assert [sum(name == who for name, _ in looked[0]) for who in ("ann", "bob")] == [32, 37]
    assert [looked[0] == other for other in looked[1:]] == [True, False, False]


def test_the_look_leaves_out_what_was_tried_by_chance(mini):
    policy = make(mini)
    made, advantages = several(policy, 40)
    made = [dataclasses.replace(r, lora="ann", version=policy.bank.versions["ann"]) for r in made]
    # As if the policy had thought them next to impossible: the estimate of the KL would be in the thousands.
    made[::2] = [dataclasses.replace(r, explored=True, logprobs=(-12.0,)) for r in made[::2]]
    shown = step(policy, ONCE, made, advantages, np.zeros(len(made), np.bool_), 0)["ann"]
    assert 0 <= shown["approx_kl"] < 0.1
    made = [dataclasses.replace(r, explored=True) for r in made]
    assert "approx_kl" not in step(policy, ONCE, made, advantages, np.zeros(len(made), np.bool_), 0)["ann"]


@pytest.mark.parametrize("count", [2, 3])
def test_mini_batches_follow_from_seed_and_update(mini, count):
    policy = make(mini)
    made, _ = records(policy)
    made = [dataclasses.replace(r, prompt=(*r.prompt, 5 + d % 9)) for d, r in enumerate(made)]
    loss = dataclasses.replace(ONCE, num_mini_batches=count)
    parts = {
        (s, u): [p.tolist() for p in learner(policy, loss, seed=s)._split(made, u)] for s in (0, 1) for u in (0, 1)
    }
    assert parts[0, 0] == [p.tolist() for p in learner(policy, loss, seed=0)._split(made, 0)]
    assert len({str(part) for part in parts.values()}) == 4
    for found in parts.values():
        assert sorted(d for part in found for d in part) == list(range(24))
        for name in ("ann", "bob"):  # what a player is given does not depend on who learns beside it
            own = [d for d, r in enumerate(made) if r.lora == name]
            alone = learner(policy, loss, seed=0)._split([made[d] for d in own], 0)
            assert [[d for d in p if d in own] for p in parts[0, 0]] == [[own[k] for k in p] for p in alone]


MANY = LossConfig(num_iterations=3, num_mini_batches=2, entropy_coef=0.05, beta=0.01)


def several(policy, count=48):
    made, advantages = records(policy, count)
    return [dataclasses.replace(r, prompt=(*r.prompt, 5 + d % 9)) for d, r in enumerate(made)], advantages


def of(name, made, advantages, keep=None):
    own = [d for d, r in enumerate(made) if r.lora == name]
    return [made[d] for d in own], advantages[own]


def test_two_learners_in_one_step_are_two_runs(mini):
    together = make(mini)
    made, advantages = several(together)
    shown = step(together, MANY, made, advantages)
    for name in ("ann", "bob"):
        alone = make(mini)
        row = step(alone, MANY, *of(name, made, advantages))
        assert row == {name: pytest.approx(shown[name], rel=1e-3, abs=1e-6)}
        moved = together.bank.weights(name) - make(mini).bank.weights(name)
        torch.testing.assert_close(together.bank.weights(name), alone.bank.weights(name), rtol=1e-4, atol=2e-5)
        assert moved.abs().max() > 100 * 2e-5
        assert together.bank.versions[name] == alone.bank.versions[name]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_who_breaks_stands_still_and_the_others_go_on(mini, bad):
    policy, alone = make(mini), make(mini)
    made, advantages = several(policy)
    before = policy.bank.weights("ann").clone()
    advantages[[d for d, r in enumerate(made) if r.lora == "ann"]] = bad
    trainer = learner(policy, MANY)
    shown = trainer.step(made, advantages, np.ones(len(made), np.bool_), 10)
    assert list(trainer.broken) == ["ann"]
    assert shown["ann"]["broken"] == 1.0
    assert torch.equal(policy.bank.weights("ann"), before)
    row = step(alone, MANY, *of("bob", made, advantages))
    assert row == {"bob": pytest.approx(shown["bob"], rel=1e-3, abs=1e-6)}
    torch.testing.assert_close(policy.bank.weights("bob"), alone.bank.weights("bob"), rtol=1e-4, atol=2e-5)


def test_a_gradient_that_is_not_finite_stops_its_player_alone(mini):
    policy = make(mini)
    made, advantages = several(policy)
    before = {name: policy.bank.weights(name).clone() for name in policy.bank.players}

    def steep(update):
        def objective(terms):
            slope = 1e38 if terms.advantages.shape[0] == 23 else 1.0
            return (terms.logprobs * slope * slope).sum() * 0 + (terms.logprobs * slope).sum(), {"slope": slope}

        return objective

    made, advantages = made[:-1], advantages[:-1]  # 24 of ann's, 23 of bob's
    trainer = learner(policy, objective=steep)
    shown = trainer.step(made, advantages, np.ones(len(made), np.bool_), 10)
    assert list(trainer.broken) == ["bob"]
    assert "not finite" in str(trainer.broken["bob"])
    assert torch.equal(policy.bank.weights("bob"), before["bob"])
    assert not torch.equal(policy.bank.weights("ann"), before["ann"])
    assert shown["ann"]["slope"] == 1.0


def test_a_player_may_have_a_schedule_of_its_own(mini):
    policy = make(mini)
    made, advantages = records(policy)
    optimizer = Standing(policy)
    own = {"bob": OptimizerConfig(learning_rate=0.5, warmup_updates=0, decay_updates=10)}
    trainer = Learner(policy.engine, ONCE, OptimizerConfig(learning_rate=0.1, warmup_updates=4), schedules=own)
    shown = trainer.step(made, advantages, np.ones(len(made), np.bool_), 1)
    assert optimizer.rates == pytest.approx({"ann": 0.05, "bob": 0.5 * 0.91})
    assert {name: row["learning_rate"] for name, row in shown.items()} == pytest.approx(optimizer.rates)


def test_an_early_end_is_the_players_own(mini):
    policy = make(mini)
    made, advantages = several(policy)
    # bob's decisions were made by a policy far from his, ann's by her own
    made = [dataclasses.replace(r, logprobs=(r.logprobs[0] - 3.0,)) if r.lora == "bob" else r for r in made]
    loss = dataclasses.replace(MANY, target_kl=1.0)
    shown = step(policy, loss, made, advantages)
    assert shown["bob"]["cut_short"] == 1.0
    assert "cut_short" not in shown["ann"]
    assert policy.bank.versions == {"ann": 6, "bob": 0}


def test_an_objective_is_a_function_of_terms(mini):
    """Descending the expected cost of all answers, which needs more than the answers that were drawn."""
    policy = make(mini)
    made, advantages = several(policy)
    width = max(len(r.candidates) for r in made)
    cost = torch.linspace(0, 1, width)

    def expected(terms):
        chosen = terms.distributions[terms.question, terms.chosen]
        torch.testing.assert_close(chosen[:, None], terms.logprobs)
        spent = (terms.distributions[terms.question].exp() * cost).sum() / terms.whole.rows
        return spent, {"cost": float(spent.detach())}

    costs = []
    for _ in range(4):
        shown = step(policy, ONCE, made, advantages, objective=lambda update: expected)
        costs.append([shown[name]["cost"] for name in ("ann", "bob")])
    assert np.all(np.diff(costs, axis=0) < 0)


# -- where sampler and learner round differently -----------------------------------------------------------------------


def half(mini):
    policy = make(mini, "free")
    policy.loaded.model.to(torch.bfloat16)
    made, advantages = records(policy)
    return policy, made, advantages


def test_in_half_precision_a_fresh_batch_is_on_policy_once_the_learner_has_looked(mini):
    policy, made, advantages = half(mini)
    shown = step(policy, dataclasses.replace(ONCE, loss_type="bnpo"), made, advantages)
    own = [scored.logprobs for scored in policy.engine.score(made)]
    assert [len(x) for x in own] == [len(r.logprobs) for r in made]
    for name, row in shown.items():
        assert 0 <= row["sampling/sampling_logp_difference/mean"] < 0.2, name


def test_what_the_sampler_said_counts_by_a_truncated_weight_alone(mini):
    """A sampler that said four times too much leaves a weight of 1/4, four times too little one of 2."""
    policy, made, advantages = half(mini)
    own = [scored.logprobs for scored in policy.engine.score(made)]
    told = {}
    for shift in (0.0, np.log(4.0), -np.log(4.0)):
        wrong = [
            dataclasses.replace(r, logprobs=tuple(x + shift for x in new)) for r, new in zip(made, own, strict=True)
        ]
        told[shift], _ = gradients(policy, wrong, advantages)
    for name, grad in told[0.0].items():
        assert grad.abs().max() > 0
        torch.testing.assert_close(told[np.log(4.0)][name], grad / 4, rtol=0.02, atol=1e-5)
        torch.testing.assert_close(told[-np.log(4.0)][name], grad * 2, rtol=0.02, atol=1e-5)


@pytest.mark.parametrize("decode", KINDS)
def test_in_float32_nothing_is_corrected(mini, decode, monkeypatch):
    policy = make(mini, decode)
    made, advantages = records(policy)
    monkeypatch.setattr(policy.local, "score", None)
    shown = step(policy, ONCE, made, advantages)
    assert not any("sampling/sampling_logp_difference/mean" in row for row in shown.values())
