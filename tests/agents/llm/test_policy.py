"""Language models as players: what is asked, sampled and recorded."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from peft import LoraConfig  # noqa: E402

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.agents.core import Turn, ask, seeded  # noqa: E402
from coterie.agents.engines.mock import MockEngine  # noqa: E402
from coterie.agents.llm.models import load_model  # noqa: E402
from coterie.agents.llm.policy import LLMAgent, LoraPolicy  # noqa: E402
from coterie.envs.making import make_vec  # noqa: E402
from coterie.errors import UnknownName, UsageError  # noqa: E402


def make_policy(folder, players=("ann", "bob"), **kwargs):
    loaded = load_model(str(folder))
    bank = LoraBank(loaded.model, LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"), players, seed=0)
    for k, parameter in enumerate(bank.parameters()):
        generator = torch.Generator().manual_seed(k)
        with torch.no_grad():
            parameter.normal_(0, 0.3, generator=generator)
    return LoraPolicy(loaded, bank, **kwargs)


def turns_of(name, rows, plies=0, **config):
    vec = make_vec(name, num_envs=rows, seed=1, autoreset_mode="Disabled", **config)
    vec.reset(seed=1)
    for _ in range(plies):
        vec.step(vec.sample_actions())
    game, masks = vec.game, vec.action_mask
    if game.info.simultaneous:
        return [Turn(game, vec.state, r, p, masks[r, p], game.key(vec.state, r)) for r in range(rows) for p in range(2)]
    return [Turn(game, vec.state, r, int(vec.player[r]), masks[r], game.key(vec.state, r)) for r in range(rows)]


def brute_force(policy, player, turn):
    """The choice policy by plain forward passes, one a legal action."""
    question = policy.question(turn, policy.local.slot(player))
    strings = []
    for answer in question.answers:
        ids = torch.tensor([[*question.prompt, *answer]])
        with torch.no_grad(), policy.bank.route([player]):
            logps = torch.log_softmax(policy.loaded.model(input_ids=ids).logits[0].double(), -1)
        at = len(question.prompt) - 1
        strings.append(sum(float(logps[at + j, token]) for j, token in enumerate(answer)) / policy.temperature)
    weights = np.exp(np.array(strings) - max(strings))
    return weights / weights.sum()


@pytest.mark.parametrize(("name", "config"), [("tictactoe", {}), ("highest_number", {"max_number": 12})])
def test_choice_equals_brute_force_for_every_player(mini, name, config):
    policy = make_policy(mini, temperature=0.8)
    turns = turns_of(name, 6, plies=0 if config else 3, **config)
    for player in ("ann", "bob"):
        got = LLMAgent(policy, player).policy(turns)
        for turn, probabilities in zip(turns, got, strict=True):
            assert probabilities[turn.legal_actions] == pytest.approx(brute_force(policy, player, turn), abs=1e-4)
            assert probabilities.sum() == pytest.approx(1.0)
            assert not probabilities[np.flatnonzero(turn.mask == 0)].any()


def test_a_mixed_batch_answers_as_each_player_alone(mini, close):
    policy = make_policy(mini)
    turns = turns_of("tictactoe", 8, plies=2)
    players = ["ann", "bob", None, "ann", None, "bob", "bob", "ann"]
    mixed = policy.act(seeded(turns), players, greedy=True)
    for turn, player, decision in zip(turns, players, mixed, strict=True):
        alone = policy.act(seeded([turn]), [player], greedy=True)[0]
        assert (decision.action, decision.tokens.prompt) == (alone.action, alone.tokens.prompt)
        close(decision.tokens.logprobs, alone.tokens.logprobs, size=5.0)


@pytest.mark.parametrize("decode", ["choice", "constrained"])
def test_sampling_follows_the_distribution_and_records_it(mini, decode):
    policy = make_policy(mini, decode=decode)
    turn = turns_of("highest_number", 1, max_number=11)[0]
    agent = LLMAgent(policy, "ann")
    want = agent.policy([turn])[0]
    decisions = agent.act(seeded([turn] * 4000))
    seen = np.bincount([d.action for d in decisions], minlength=12) / 4000
    assert np.abs(seen - want).max() < 5 * np.sqrt(0.25 / 4000)
    for decision in decisions[:50]:
        record = decision.tokens
        assert np.exp(sum(record.logprobs)) == pytest.approx(want[decision.action], rel=1e-4)
        assert record.candidates[record.chosen] == record.completion
        assert len(record.logprobs) == (1 if decode == "choice" else len(record.completion))
        assert (record.kind, record.lora, record.version) == (decode, "ann", 0)


def test_numbers_that_begin_each_other_are_told_apart(mini):
    """ "1" begins "11": both get a stop token, and their probabilities are not added up."""
    policy = make_policy(mini)
    turn = turns_of("highest_number", 1, max_number=11)[0]
    answers = policy.question(turn, 0).answers
    assert all(answer[-1] == policy.stop for answer in answers)
    assert len(set(answers)) == 12


def test_free_answers_are_parsed_counted_and_never_crash(mini):
    policy = make_policy(mini, decode="free", max_new_tokens=4)
    turns = turns_of("tictactoe", 60)
    decisions = LLMAgent(policy, "ann").act(seeded(turns))
    assert any(d.action is None and "error" in d.info for d in decisions)
    for decision in decisions:
        record = decision.tokens
        assert 1 <= len(record.completion) == len(record.logprobs) <= 4
        assert record.stop == ("stop" if record.completion[-1] == policy.stop else "length")
        assert record.chosen == -1
        assert not record.candidates


def test_free_logprobs_are_those_that_the_loss_computes(mini):
    from coterie.agents.llm.scoring.decoding import score
    from coterie.agents.llm.scoring.forest import Question, pack_questions

    policy = make_policy(mini, decode="free", max_new_tokens=5, temperature=1.3)
    record = LLMAgent(policy, "bob").act(seeded(turns_of("tictactoe", 1), 3))[0].tokens
    pack = pack_questions([Question(policy.local.slot("bob"), record.prompt, (record.completion,))])[0]
    with torch.no_grad():
        scores = score(policy.loaded.model, pack, "free", bank=policy.bank, temperature=1.3)
    assert scores.logprobs[0].tolist() == pytest.approx(list(record.logprobs), abs=1e-4)


def test_explored_answers_are_drawn_uniformly_and_have_the_policys_logprobs(mini):
    policy = make_policy(mini, temperature=0.2)  # far from uniform
    turns = turns_of("tictactoe", 900)
    own = LLMAgent(policy, "ann").policy(turns[:1])[0]
    assert own.max() > 0.2
    tried = LLMAgent(policy, "ann", explore=1.0).act(seeded(turns))
    assert np.bincount([d.action for d in tried], minlength=9) == pytest.approx(np.full(9, 100), abs=40)  # 4 sigma
    for decision in tried[:50]:
        record = decision.tokens
        assert record.explored
        assert record.completion == record.candidates[record.chosen]
        assert np.exp(record.logprobs) == pytest.approx([own[decision.action]], rel=1e-4)
    some = LLMAgent(policy, "ann", explore=0.25).act(seeded(turns))
    assert sum(d.tokens.explored for d in some) == pytest.approx(225, abs=52)  # 4 sigma
    never = LLMAgent(policy, "ann").act(seeded(turns))
    assert [d.action for d in never if not d.tokens.explored] == [d.action for d in never]
    kept = [(a.action, b.action) for a, b in zip(never, some, strict=True) if not b.tokens.explored]
    assert all(a == b for a, b in kept)
    assert not any(d.tokens.explored for d in LLMAgent(policy, "ann", greedy=True, explore=1.0).act(seeded(turns[:20])))


def test_who_explores_is_each_agents_own_affair_where_many_are_asked_at_once(mini):
    policy = make_policy(mini)
    turns = seeded(turns_of("tictactoe", 40))
    who = [LLMAgent(policy, "ann", explore=1.0), LLMAgent(policy, "bob")] * 20
    assert [d.tokens.explored for d in ask(turns, who)] == [True, False] * 20


def test_the_same_prompt_is_computed_once(mini):
    policy = make_policy(mini)
    turns = turns_of("tictactoe", 100)  # a hundred empty boards
    policy.act(seeded(turns), ["ann"] * 100)
    assert policy.local.forward_tokens == len(policy.question(turns[0], 0).prompt)


def test_games_that_share_their_words_keep_their_own_rules(mini):
    policy = make_policy(mini, template="chat")
    turn = turns_of("tictactoe", 1)[0]
    other = dataclasses.replace(turn, game=dataclasses.replace(turn.game, rules="Whoever makes three in a row loses."))
    assert other.describe() == turn.describe()
    shown = [policy.loaded.tokenizer.decode(policy.question(t, 0).prompt) for t in (turn, other, turn)]
    assert "loses" in shown[1]
    assert "loses" not in shown[0]
    assert shown[0] == shown[2]


def test_an_engine_may_answer_instead_of_the_model(mini):
    policy = make_policy(mini, engine=MockEngine(lambda ask: 2))
    turns = turns_of("tictactoe", 3)
    decisions = LLMAgent(policy, "ann").act(turns)
    assert [d.action for d in decisions] == [2, 2, 2]
    assert LLMAgent(policy, "ann").policy(turns)[0] == pytest.approx(np.eye(9)[2])
    assert policy.local.forward_tokens == 0


def test_the_chat_template_shows_rules_position_and_legal_actions(mini):
    policy = make_policy(mini, template="chat")
    turn = turns_of("tictactoe", 1, plies=4)[0]
    shown = policy.loaded.tokenizer.decode(policy.question(turn, 0).prompt)
    assert turn.game.rules in shown
    assert turn.describe() in shown
    assert shown.endswith("<assistant>")


def test_bad_settings_are_named(mini):
    with pytest.raises(UnknownName, match="Did you mean 'choice'"):
        make_policy(mini, decode="choise")
    with pytest.raises(UnknownName, match="Did you mean 'compact'"):
        make_policy(mini, template="compct")
    with pytest.raises(UsageError, match="temperature is 0; it must be > 0"):
        make_policy(mini, temperature=0)
    policy = make_policy(mini)
    with pytest.raises(UsageError, match="no player 'eve'; it has: ann, bob"):
        LLMAgent(policy, "eve")
    with pytest.raises(UsageError, match="Free decoding has no exact distribution"):
        LLMAgent(make_policy(mini, decode="free"), "ann").policy(turns_of("tictactoe", 1))
