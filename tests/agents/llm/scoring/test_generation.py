"""Generation with a cache against brute force: the whole sequence fed again for every token."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.agents.llm.scoring.batches import _appended  # noqa: E402
from coterie.agents.llm.scoring.decoding import score  # noqa: E402
from coterie.agents.llm.scoring.forest import Question, pack_questions  # noqa: E402
from coterie.agents.llm.scoring.generation import _inverse, generate  # noqa: E402
from coterie.agents.seeds import Seed, uniforms  # noqa: E402
from coterie.errors import UsageError  # noqa: E402

from ...llama import llama  # noqa: E402
from .architectures import MODELS, build, logprobs_alone  # noqa: E402

torch.set_num_threads(1)

STOP = [7, 8]
RUNS = {
    "same prompts": ([[1, 2, 3]] * 4, [0, 0, 1, 1]),
    "shared prefixes": ([[5] * 12 + [k] for k in range(4)] + [[6] * 9 + [k, k] for k in range(3)], [0] * 4 + [1] * 3),
    "one prefix, shuffled players": ([[5] * 12 + [k % 2] for k in range(6)], [1, 0, -1, 1, 0, 1]),
    "nothing shared": ([[1], [2, 3, 4, 5, 6], [3, 3]], [1, -1, 0]),
    "one row": ([[4, 5, 6, 7]], [1]),
    "prefix of another": ([[9] * 10, [9] * 10 + [1, 2, 3], [9] * 10], [0, 0, 0]),
    "long and short": ([[1, 2]] + [[3] * 20 + [k] for k in range(5)], [1, 0, 0, 0, 0, 0]),
}


@pytest.fixture(scope="module", params=["llama", "gpt2", "gemma2"])
def bank(request: pytest.FixtureRequest) -> LoraBank:
    torch.manual_seed(0)
    if request.param == "llama":
        model = llama(40, 32, tie_word_embeddings=True)
    elif request.param == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=40, n_embd=32, n_layer=2, n_head=2, n_positions=64, initializer_range=0.3
        )
        model = transformers.GPT2LMHeadModel(config)
    else:  # soft-capped logits, sliding windows
        config = transformers.Gemma2Config(
            vocab_size=40,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            sliding_window=8,
            initializer_range=0.3,
            final_logit_softcapping=3.0,
        )
        model = transformers.Gemma2ForCausalLM(config)
    made = LoraBank(model.eval(), peft.LoraConfig(r=4, target_modules="all-linear"), ["ann", "bob"])
    with torch.no_grad():
        for name in made.players:
            made.weights(name).add_(torch.randn(made.weights(name).shape) * 0.1)
    return made


def brute_force(bank: LoraBank, prompt: list[int], slot: int, tokens: list[int], temperature: float) -> Any:
    """[T, V] log-probabilities in front of each sampled token, from one full forward pass a token."""
    rows = []
    for t in range(len(tokens)):
        with torch.no_grad(), bank.route([slot]):
            logits = bank.model(input_ids=torch.tensor([prompt + tokens[:t]]), use_cache=False).logits[0, -1]
        rows.append(torch.log_softmax(logits.float() / temperature, -1))
    return torch.stack(rows)


def seeds(count: int, stream: int) -> list[Seed]:
    return [Seed(stream, row) for row in range(count)]


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_tokens_and_logprobs_equal_brute_force(bank: LoraBank, run: Any, temperature: float, close: Any) -> None:
    prompts, index = run
    uniform = uniforms(seeds(len(prompts), 3), 10)
    out = generate(bank.model, bank, prompts, index, 10, STOP, temperature, seeds(len(prompts), 3))
    for b, prompt in enumerate(prompts):
        tokens = out.tokens[b]
        expected = brute_force(bank, prompt, index[b], tokens, temperature)
        got = torch.tensor(out.logprobs[b])
        close(got, expected[range(len(tokens)), tokens])
        # Each token is the one its own random number falls on.
        edges = expected.exp().double().cumsum(1)
        for t, token in enumerate(tokens):
            low = edges[t, token - 1].item() if token else 0.0
            assert low - 1e-4 <= uniform[b, t] <= edges[t, token].item() + 1e-4
        assert out.stop[b] == ("stop" if tokens[-1] in STOP else "length")
        assert len(tokens) == 10 or tokens[-1] in STOP
        assert not set(tokens[:-1]) & set(STOP)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_sharing_changes_the_work_and_not_the_answers(bank: LoraBank, run: Any, close: Any) -> None:
    prompts, index = run
    shared = generate(bank.model, bank, prompts, index, 6, STOP, seeds=seeds(len(prompts), 1))
    apart = generate(bank.model, bank, prompts, index, 6, STOP, seeds=seeds(len(prompts), 1), share=False)
    assert shared.tokens == apart.tokens
    assert shared.fed <= apart.fed
    for a, b in zip(shared.logprobs, apart.logprobs, strict=True):
        close(a, b)


def test_equal_prompts_and_prefixes_are_fed_once(bank: LoraBank) -> None:
    if bank.model.config.model_type == "gemma2":
        pytest.skip("trees end where the window does")

    def fed(prompts: list[list[int]], index: list[int]) -> int:
        return generate(bank.model, bank, prompts, index, 1).fed

    assert fed([[5] * 10] * 8, [0] * 4 + [1] * 4) == 20
    assert fed([[5] * 10 + [k] for k in range(4)], [0] * 4) == 10 + 4
    assert fed([[5] * 10 + [k] for k in range(4)] * 3, [0] * 12) == 10 + 4
    assert fed([[5] * 10, [5] * 4 + [6] * 3, [5] * 4 + [6] * 3 + list(range(7))], [0] * 3) == 10 + 3 + 7


@pytest.mark.parametrize("name", MODELS)
def test_every_architecture_says_what_it_says_of_whole_sequences(name: str) -> None:
    model = build(name)
    prompts = [[3, 4, 5, 6, 7, 9, 11, 12, 13, 14], [3, 4, 5, 20], [3, 4, 5, 20], [21]]
    out = generate(model, None, prompts, [-1] * 4, 6, STOP)
    for prompt, tokens, logprobs in zip(prompts, out.tokens, out.logprobs, strict=True):
        for t, (token, logprob) in enumerate(zip(tokens, logprobs, strict=True)):
            alone = logprobs_alone(model, prompt + tokens[:t])
            assert logprob == pytest.approx(float(alone[token]), abs=5e-5), (name, t)


def test_a_long_prefix_is_fed_once() -> None:
    prefix = [k % 37 for k in range(100)]
    assert generate(build("llama"), None, [[*prefix, k] for k in range(16)], [-1] * 16, 1).fed == 100 + 16


def test_a_cache_that_lies_is_not_used() -> None:
    prompt = list(range(9))
    want = generate(build("llama"), None, [prompt], [-1], 3, greedy=True)
    model = build("llama")
    model.model.register_forward_hook(_forget, with_kwargs=True)
    got = generate(model, None, [prompt], [-1], 3, greedy=True)
    assert got.tokens == want.tokens
    np.testing.assert_allclose(got.logprobs, want.logprobs, atol=2e-5)
    assert (want.fed, got.fed) == (9 + 1 + 1, 9 + 10 + 11)


def _forget(module: Any, args: Any, words: Any, out: Any) -> Any:
    """With a cache, one token's state is not what it should be."""
    if words["input_ids"].shape[1] == 1 and words["use_cache"]:
        out.last_hidden_state = out.last_hidden_state.flip(-1)
    return out


def test_sampler_and_loss_differ_in_bfloat16_by_the_rounding_of_states() -> None:
    """0.008 nats a token (standard deviation): what the learner's first pass is there to measure and to weigh."""
    model = build("llama", torch.bfloat16)
    prompts = [[3, 4, 5, k] for k in range(32)]
    out = generate(model, None, prompts, [-1] * 32, 8)
    gaps = []
    for prompt, tokens, logprobs in zip(prompts, out.tokens, out.logprobs, strict=True):
        (pack,) = pack_questions([Question(-1, tuple(prompt), (tuple(tokens),))])
        with torch.no_grad():
            gaps.append(score(model, pack, "free").logprobs[0].numpy() - logprobs)
    assert np.concatenate(gaps).std() < 0.03
    assert abs(np.concatenate(gaps).mean()) < 0.01


def test_order_of_rows_does_not_matter_to_greedy_answers(bank: LoraBank) -> None:
    prompts, index = RUNS["one prefix, shuffled players"]
    there = generate(bank.model, bank, prompts, index, 8, greedy=True)
    back = generate(bank.model, bank, prompts[::-1], torch.tensor(index[::-1]), 8, greedy=True)
    assert there.tokens == back.tokens[::-1]
    best = brute_force(bank, prompts[0], index[0], there.tokens[0], 1.0).argmax(1)
    assert there.tokens[0] == best.tolist()


def test_same_seeds_same_answers_and_another_differs(bank: LoraBank) -> None:
    prompts, index = [[1, 2, 3]] * 8, [0] * 8
    a, b, c = (generate(bank.model, bank, prompts, index, 8, seeds=seeds(len(prompts), s)).tokens for s in (1, 1, 2))
    assert a == b != c
    assert len({tuple(x) for x in a}) > 1  # equal prompts draw for themselves


def test_without_a_bank_the_base_model_answers(bank: LoraBank) -> None:
    prompts = [[1, 2, 3], [4, 5]]
    plain = generate(bank.model, None, prompts, [-1, -1], 5, greedy=True)
    routed = generate(bank.model, bank, prompts, [-1, -1], 5, greedy=True)
    assert plain.tokens == routed.tokens


def test_wrong_arguments(bank: LoraBank) -> None:
    with pytest.raises(UsageError, match="one slot per prompt"):
        generate(bank.model, bank, [[1]], [0, 0], 2)
    with pytest.raises(UsageError, match="temperature of 0"):
        generate(bank.model, bank, [[1]], [0], 2, temperature=0)
    with pytest.raises(UsageError, match="empty prompt"):
        generate(bank.model, bank, [[1], []], [0, 0], 2)
    assert generate(bank.model, bank, [], [], 2).tokens == []
    assert generate(bank.model, bank, [[1]], [0], 0).tokens == [[]]


def test_cache_grows_in_place_and_by_copy() -> None:
    pieces = [torch.randn(2, 3, n, 4) for n in (5, 1, 1, 70, 1)]
    whole = torch.tensor([])
    places = []
    for piece in pieces:
        whole = _appended(whole, piece, room=8)
        places.append(whole.data_ptr())
    assert torch.equal(whole, torch.cat(pieces, 2))
    assert places[0] == places[1] == places[2] != places[3] == places[4]
    chosen = whole.index_select(0, torch.tensor([1, 0, 1]))
    more = torch.randn(3, 3, 1, 4)
    assert torch.equal(_appended(chosen, more, room=8), torch.cat([chosen, more], 2))


def test_draws_fall_where_the_cumulative_distribution_says() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 7, 255, 256, 257, 1000):
        chances = torch.from_numpy(rng.dirichlet(np.full(size, 0.1), 50)).float()
        draws = torch.from_numpy(rng.random(50))
        draws[:2] = torch.tensor([0.0, 1 - 1e-16])
        got = _inverse(chances, draws)
        edges = chances.double().cumsum(1)
        expected = torch.searchsorted(edges, (draws * edges[:, -1])[:, None], right=True)[:, 0].clamp(max=size - 1)
        assert (got == expected).float().mean() > 0.97
        assert (chances.gather(1, got[:, None]) > 0).all()


def test_draws_have_the_right_frequencies() -> None:
    chances = torch.tensor([[0.5, 0.0, 0.3, 0.2]]).expand(20000, -1)
    got = _inverse(chances, torch.from_numpy(np.random.default_rng(0).random(20000)))
    shares = torch.bincount(got, minlength=4) / 20000
    torch.testing.assert_close(shares, chances[0], atol=0.012, rtol=0)
    assert shares[1] == 0
