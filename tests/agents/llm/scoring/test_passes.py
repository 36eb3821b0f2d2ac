"""Every architecture says through trees, plain paths and banks what it says of each sequence alone."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.agents.llm.scoring.decoding import KINDS, score  # noqa: E402
from coterie.agents.llm.scoring.forest import Question, pack_questions  # noqa: E402
from coterie.agents.llm.scoring.passes import serving  # noqa: E402
from coterie.errors import ModelError, UsageError  # noqa: E402

from .architectures import MODELS, WINDOW, build, logprobs_alone  # noqa: E402

QUESTIONS = [
    Question(0, (1, 2, 3), ((4,), (5,), (6, 7, 8, 9), (6, 8, 9, 9))),
    Question(0, (1, 2, 3, 11, 12, 13, 14), ((4, 5, 6), (6, 7), (4, 7, 7))),  # beyond a window of 6
    Question(1, (1, 2), ((3, 5, 5), (3, 5, 6), (7,))),
]


def answers_alone(model, question, kind, bank=None, temperature=1.0):
    """[C] log-probabilities of whole answers, from one forward pass a token."""
    out = []
    for answer in question.answers:
        total = 0.0
        for j, token in enumerate(answer):
            logps = logprobs_alone(model, [*question.prompt, *answer[:j]], bank, question.slot, temperature)
            if kind == "constrained":
                children = sorted({a[j] for a in question.answers if a[:j] == answer[:j] and len(a) > j})
                logps = logps - logps[children].logsumexp(0)
            total += float(logps[token])
        out.append(total)
    if kind == "choice":
        out = (np.array(out) - np.log(np.exp(out).sum())).tolist()
    return out


def check(model, questions, bank=None, abs=5e-5):
    for kind in KINDS:
        for pack in pack_questions(questions):
            with torch.no_grad():
                scores = score(model, pack, kind, bank=bank)
            for k, q in enumerate(pack.questions.tolist()):
                want = answers_alone(model, questions[q], kind, bank)
                assert scores.by_question[k, : len(want)].tolist() == pytest.approx(want, abs=abs), (kind, q)


@pytest.mark.parametrize("name", MODELS)
def test_every_architecture_is_scored_as_separate_forward_passes_do(name):
    check(build(name), QUESTIONS)


@pytest.mark.parametrize("name", ["llama eager", "mistral, window of 6", "gemma3", "gpt2", "opt", "lfm2"])
def test_so_are_its_adapters(name):
    model = build(name)
    layers = ["q_proj", "v_proj", "out_proj"] if name == "opt" else "all-linear"
    bank = LoraBank(model, peft.LoraConfig(r=2, target_modules=layers), ["ann", "bob"])
    with torch.no_grad():
        for k, player in enumerate(bank.players):
            bank.weights(player).copy_(torch.randn(bank.weights(player).shape, generator=torch.manual_seed(k)) * 0.2)
    check(model, QUESTIONS, bank)
    assert answers_alone(model, QUESTIONS[2], "free", bank) != pytest.approx(
        answers_alone(model, QUESTIONS[2]._replace(slot=0), "free", bank), abs=0.01
    )


def test_layers_that_mix_rows_and_tokens_are_refused_by_the_bank():
    bank = LoraBank(build("opt"), peft.LoraConfig(r=2, target_modules=["fc1"]), ["ann"])
    with pytest.raises(UsageError, match=r"reached 'model\.decoder.layers\.0\.fc1' has"):
        score(bank.model, pack_questions(QUESTIONS[:1])[0], "choice", bank=bank)


@pytest.mark.parametrize("name", ["lfm2", "mistral, window of 6", "llama eager"])
def test_gradients_are_those_of_separate_forward_passes(name):
    model = build(name)
    weights = [p for p in model.parameters() if p.requires_grad]
    question = QUESTIONS[1]
    packed = score(model, pack_questions([question])[0], "free").by_question[0, 0]
    logps = torch.log_softmax(model(input_ids=torch.tensor([question.prompt + question.answers[0]])).logits[0], -1)
    alone = sum(logps[len(question.prompt) - 1 + j, token] for j, token in enumerate(question.answers[0]))
    for a, b in zip(torch.autograd.grad(packed, weights), torch.autograd.grad(alone, weights), strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-3)


def test_what_trees_cannot_serve_is_known_in_bfloat16_too():
    reach = {name: serving(build(name, torch.bfloat16)).reach for name in MODELS}
    for name, tokens in reach.items():
        if name in ("lfm2", "bloom") or "local window" in name:
            assert tokens == 0, name
        elif "window" in name or name.startswith("gemma"):
            assert tokens == WINDOW, name
        else:
            assert tokens > 1e9, name


class Both(torch.nn.Module):
    """Each token's state takes a share of all others, later ones too."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, **words):
        out = self.inner(**words)
        out.last_hidden_state = out.last_hidden_state + out.last_hidden_state.mean(1, keepdim=True)
        return out


def test_what_cannot_be_served_is_refused_by_name():
    model = build("llama")
    model.model = Both(model.model)
    with pytest.raises(ModelError, match="'seer' can't be scored: its output at a token changes"):
        serving(model, "seer")
    model = build("llama")
    model.lm_head.register_forward_hook(lambda module, args, out: out * 1.5)
    with pytest.raises(ModelError, match="'loud' can't be scored: its logits are not"):
        serving(model, "loud")


@pytest.mark.llm
def test_smollm2_is_scored_as_separate_forward_passes_do():
    from coterie.agents.llm.models import load_model

    loaded = load_model("smollm2")
    ids = loaded.tokenizer
    prompt = tuple(ids.encode("The capital of France is"))
    answers = tuple(tuple(ids.encode(text)) for text in (" Paris.", " Paris and", " London", " a large city"))
    check(loaded.model, [Question(-1, prompt, answers)], abs=1e-3)
