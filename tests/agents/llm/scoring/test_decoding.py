"""Forest packing and the three decodings, against brute force on a small Llama."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.agents.llm.scoring import forest, logprobs
from coterie.agents.llm.scoring.decoding import KINDS, score
from coterie.agents.llm.scoring.forest import Question, pack_questions
from coterie.agents.llm.scoring.logprobs import Head
from coterie.errors import UnknownName

from ...llama import llama

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def model():
    return llama(24, 32, max_position_embeddings=64, initializer_range=0.5)


def next_logits(model, ids):
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids])).logits[0, -1].double()


def string_logprob(model, prompt, answer, temperature=1.0):
    """Plain: one forward pass a token."""
    total = []
    for j, token in enumerate(answer):
        logits = next_logits(model, [*prompt, *answer[:j]]) / temperature
        total.append(float(torch.log_softmax(logits, -1)[token]))
    return total


def all_scores(model, questions, kind, temperature=1.0, **pack):
    """Scores by (question, answer), as plain lists a token."""
    out = {}
    for p in pack_questions(questions, **pack):
        with torch.no_grad():
            scores = score(model, p, kind, temperature=temperature)
        for k, q in enumerate(p.questions):
            rows = p.question_answers[k][p.question_answers[k] >= 0]
            for c, row in enumerate(rows.tolist()):
                counted = scores.mask[row] > 0
                out[int(q), c] = scores.logprobs[row][counted].tolist()
                out[int(q), c, "entropy"] = float(scores.entropy[row])
            out[int(q), "whole"] = scores.by_question[k].tolist()
    return out


QUESTIONS = [
    Question(-1, (1, 2, 3), ((4,), (5,), (6, 7), (6, 8, 9))),
    Question(-1, (1, 2, 3, 4), ((4,), (6, 7))),  # its prompt goes on where an answer of the first stands
    Question(-1, (1, 2), ((3, 5, 5), (3, 5, 6), (7,))),
    Question(-1, (9,), ((1,),)),
]
SIZE = 5.0
"""Of logits: what their differences, the log-probabilities, are rounded by."""

PACKINGS = [{}, {"row_tokens": 4}, {"row_tokens": 100}, {"batch_tokens": 5}]


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_free_equals_one_forward_a_token(model, packing, temperature, close):
    got = all_scores(model, QUESTIONS, "free", temperature, **packing)
    for q, question in enumerate(QUESTIONS):
        for c, answer in enumerate(question.answers):
            want = string_logprob(model, question.prompt, answer, temperature)
            close(got[q, c], want, size=SIZE)
            each = [next_logits(model, [*question.prompt, *answer[:j]]) / temperature for j in range(len(answer))]
            entropies = [float(torch.distributions.Categorical(logits=logits).entropy()) for logits in each]
            close(got[q, c, "entropy"], np.mean(entropies), size=SIZE)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_choice_is_the_softmax_over_whole_answers(model, packing, temperature, close):
    got = all_scores(model, QUESTIONS, "choice", temperature, **packing)
    for q, question in enumerate(QUESTIONS):
        strings = np.array([sum(string_logprob(model, question.prompt, a)) for a in question.answers]) / temperature
        want = strings - np.log(np.exp(strings).sum())
        n = len(question.answers)
        close(got[q, "whole"][:n], want.tolist(), size=SIZE)
        assert all(x == -math.inf for x in got[q, "whole"][n:])
        close([got[q, c][0] for c in range(n)], want.tolist(), size=SIZE)
        for c in range(n):
            close(got[q, c, "entropy"], -(np.exp(want) * want).sum(), size=SIZE)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_constrained_is_masked_sampling_token_by_token(model, packing, temperature, close):
    got = all_scores(model, QUESTIONS, "constrained", temperature, **packing)
    for q, question in enumerate(QUESTIONS):
        whole = []
        for c, answer in enumerate(question.answers):
            want = []
            for j, token in enumerate(answer):
                children = sorted({a[j] for a in question.answers if a[:j] == answer[:j] and len(a) > j})
                logits = next_logits(model, [*question.prompt, *answer[:j]])[children] / temperature
                want.append(float(torch.log_softmax(logits, -1)[children.index(token)]))
            close(got[q, c], want, size=SIZE)
            whole.append(sum(want))
        assert np.exp(whole).sum() == pytest.approx(1.0)
        close(got[q, "whole"][: len(whole)], whole, size=SIZE)


def test_the_three_are_different_distributions(model):
    question = [Question(-1, (1, 2, 3), ((4,), (6, 7), (6, 8)))]
    tables = {kind: np.exp(all_scores(model, question, kind)[0, "whole"]) for kind in ("choice", "constrained", "free")}
    for a, b in itertools.combinations(tables, 2):
        assert np.abs(tables[a] - tables[b]).max() > 0.01, (a, b)
    assert tables["free"].sum() < 0.99  # the rest is illegal


def test_gradients_equal_those_of_plain_passes(model):
    chosen = {0: 2, 1: 0, 2: 1, 3: 0}
    parameters = [p for p in model.parameters() if p.requires_grad]

    def packed(kind, **packing):
        total = torch.zeros(())
        for p in pack_questions(QUESTIONS, **packing):
            scores = score(model, p, kind)
            for k, q in enumerate(p.questions.tolist()):
                total = total + scores.by_question[k, chosen[q]]
        return torch.autograd.grad(total, parameters)

    def plain():
        total = torch.zeros(())
        for q, question in enumerate(QUESTIONS):
            strings = []
            for answer in question.answers:
                ids = torch.tensor([[*question.prompt, *answer]])
                logps = torch.log_softmax(model(input_ids=ids).logits[0], -1)
                start = len(question.prompt) - 1
                strings.append(sum(logps[start + j, token] for j, token in enumerate(answer)))
            total = total + torch.log_softmax(torch.stack(strings), 0)[chosen[q]]
        return torch.autograd.grad(total, parameters)

    want = plain()
    for packing in PACKINGS:
        for a, b in zip(packed("choice", **packing), want, strict=True):
            torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-3)


def test_equal_prompts_and_shared_prefixes_are_fed_once():
    shared = tuple(range(20))
    questions = [Question(0, (*shared, t), ((1,), (2,))) for t in range(5)]
    packs = pack_questions(questions)
    assert sum(p.tokens for p in packs) == 20 + 5
    other_player = [Question(1, (*shared, 3), ((1,),))]
    assert sum(p.tokens for p in pack_questions(questions + other_player)) == 20 + 5 + 21


def test_a_prefix_is_shared_whatever_its_length():
    shared = tuple(k % 23 for k in range(1000))
    questions = [Question(0, (*shared, t), ((1,), (2, 3))) for t in range(16)]
    assert sum(p.tokens for p in pack_questions(questions)) == 1000 + 16 + 16  # 16 first tokens of second answers
    apart = [Question(0, (t, *shared), ((1,),)) for t in range(4)]
    assert sum(p.tokens for p in pack_questions(apart)) == 4 * 1001


@pytest.mark.parametrize("count", [60, 200])
def test_rows_of_questions_that_are_alike_are_filled_evenly(count):
    """Two thirds of a prompt are everybody's: rows hold several questions, and hardly any padding."""
    tails = np.random.default_rng(0).integers(3, size=(count, 9)) + 20
    prompts = {(*range(20), *tail) for tail in tails.tolist()}
    (pack,) = pack_questions([Question(0, prompt, ((1,), (2,))) for prompt in prompts])
    assert 1 < len(pack.ids) < count // 4
    assert pack.ids.numel() < 1.05 * pack.tokens


def test_answers_that_fill_more_than_a_row_are_scored_alike(model, monkeypatch):
    whole = {kind: all_scores(model, QUESTIONS, kind) for kind in KINDS}
    monkeypatch.setattr(forest, "ROW_TOKENS", 4)
    packs = pack_questions(QUESTIONS)
    assert max(p.ids.shape[1] for p in packs) <= 5  # the longest path
    for kind in KINDS:
        split = all_scores(model, QUESTIONS, kind)
        for key, value in whole[kind].items():
            assert split[key] == pytest.approx(value, abs=2e-5), (kind, key)


def test_masks_and_logits_are_bounded(model, monkeypatch):
    """Never more logits at once than the bound, forward or backward, and the same gradients."""
    questions = [Question(-1, (t, *range(20)), ((1, 2, 3), (2, 4))) for t in range(20)]
    monkeypatch.setattr(forest, "MASK_BYTES", 3000)
    packs = pack_questions(questions)
    assert len(packs) > 2
    assert max(p.mask.numel() for p in packs) <= 3000
    seen = []
    logits = Head.logits

    def watched(head, hidden):
        out = logits(head, hidden)
        seen.append(out.numel() * 4)
        return out

    monkeypatch.setattr(Head, "logits", watched)
    weights = [p for p in model.parameters() if p.requires_grad]
    (pack,) = pack_questions(questions[:2])
    for kind in ("choice", "free"):
        found = []
        for bound in (1 << 26, 3 * 4 * 24):
            monkeypatch.setattr(logprobs, "LOGIT_BYTES", bound)
            seen.clear()
            scores = score(model, pack, kind)
            found.append(torch.autograd.grad(scores.logprobs.sum() + scores.entropy.sum(), weights))
            assert max(seen) <= bound
        assert len(seen) >= 2 * (len(pack.parents) // 3)  # forward, and once more
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


tokens = st.integers(0, 5)


def test_a_batch_is_as_wide_as_the_longest_row_of_any_player():
    ones = [Question(-1, (0,), ((0,),)), Question(-1, (0,), ((0, 0),)), Question(-1, (0,), ((0, 0, 0),))]
    twos = [Question(0, (0,), ((0, 0),)), Question(0, (0,), ((0,),))]
    for pack in pack_questions(ones + twos, row_tokens=1, batch_tokens=6):
        assert pack.ids.numel() <= 6


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            Question,
            st.sampled_from([-1, 0, 2]),
            st.lists(tokens, min_size=1, max_size=6).map(tuple),
            st.lists(st.lists(tokens, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4, unique=True).map(
                tuple
            ),
        ),
        min_size=1,
        max_size=8,
        unique=True,
    ),
    st.none() | st.integers(1, 40),
    st.integers(1, 200),
)
def test_packing_keeps_every_path(questions, row_tokens, batch_tokens):
    """From a parent up, its ancestors spell exactly prompt + answer, in a row of its player; each question once."""
    seen = []
    for pack in pack_questions(questions, row_tokens=row_tokens, batch_tokens=batch_tokens):
        rows, width = pack.ids.shape
        for k, q in enumerate(pack.questions.tolist()):
            seen.append(q)
            question = questions[q]
            answers = pack.question_answers[k][pack.question_answers[k] >= 0]
            assert len(answers) == len(question.answers)
            for answer, number in zip(question.answers, answers.tolist(), strict=True):
                edges = pack.answer_edges[number][pack.answer_edges[number] >= 0]
                assert tuple(pack.edge_token[edges].tolist()) == answer
                for j, edge in enumerate(edges.tolist()):
                    flat = int(pack.parents[pack.edge_parent[edge]])
                    row, node = divmod(flat, width)
                    assert pack.slots[row] == question.slot
                    ancestors = torch.nonzero(pack.mask[row, 0, node])[:, 0]
                    order = torch.argsort(pack.positions[row, ancestors])
                    assert tuple(pack.ids[row, ancestors[order]].tolist()) == question.prompt + answer[:j]
                    assert pack.positions[row, ancestors[order]].tolist() == list(range(len(question.prompt) + j))
        assert rows * width <= max(batch_tokens, width)
    assert sorted(seen) == list(range(len(questions)))


def test_an_unknown_decoding_gets_a_suggestion(model):
    with pytest.raises(UnknownName, match="Did you mean 'choice'"):
        score(model, pack_questions(QUESTIONS)[0], "choise")
