"""The built-in model: it knows the notation, not the strategy; and its recipe."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors import safe_open  # noqa: E402

from coterie.agents.baselines import make_baseline  # noqa: E402
from coterie.agents.llm import LLMAgent, LoraPolicy  # noqa: E402
from coterie.agents.models import load_model  # noqa: E402
from coterie.agents.tiny import Recipe, batches, build, corpus, train  # noqa: E402
from coterie.agents.tokenizer import byte_tokenizer  # noqa: E402
from coterie.envs.registry import list_envs, make_game  # noqa: E402
from coterie.training.evaluate import play_match  # noqa: E402


@pytest.fixture(scope="module")
def tiny():
    return load_model("tiny")


def test_it_is_small_and_has_the_promised_shape(tiny):
    folder = Path(__file__).parents[2] / "agents" / "weights" / tiny.id
    assert sum(f.stat().st_size for f in folder.iterdir()) < 8e6
    with safe_open(folder / "model.safetensors", "pt") as file:
        assert {file.get_tensor(name).dtype for name in file.keys()} == {torch.float16}  # noqa: SIM118
    assert 0.3e6 <= sum(p.numel() for p in tiny.model.parameters()) <= 3e6
    assert tiny.model.config.max_position_embeddings >= 2048
    assert len(tiny.tokenizer) <= 264


def test_sampled_it_plays_like_random(tiny):
    """Random against random wins 43.7 %: whoever is above has been told more than the rules."""
    game = make_game("tictactoe")
    match = play_match(game, (LLMAgent(LoraPolicy(tiny)), make_baseline("random", game)), games=4000, seed=7)
    assert abs(match.shares[0] - 0.437) < 0.04


def test_freely_decoded_its_moves_are_legal(tiny):
    """It knows what may be played: unmasked sampling is nearly always a legal move."""
    game = make_game("tictactoe")
    policy = LoraPolicy(tiny, decode="free", max_new_tokens=4)
    match = play_match(game, (LLMAgent(policy), make_baseline("random", game)), games=200, seed=3)
    assert match.illegal < 0.05


def test_the_corpus_is_uniform_legal_play_and_says_no_results():
    recipe = Recipe(lines=64, described=0.3)
    tokenizer = byte_tokenizer()
    first = []
    for lines in islice(corpus(recipe), 60):
        for prompt, answer in lines:
            text = tokenizer.decode(prompt)
            assert not any(word in text.lower() for word in ("won", "lost", "draw ", "value", "best", "score"))
            if text.endswith(">") and text.startswith("<bos>X .........") and "<user>" not in text:
                first.append(tokenizer.decode(answer[:-1]))
    counts = np.array([first.count(str(k)) for k in range(9)])
    assert counts.sum() == len(first) > 150
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 27  # chi-squared, 8 degrees of freedom, p = .0007


def test_every_registered_game_is_in_the_corpus():
    shown = "".join(
        byte_tokenizer().decode(p) for lines in islice(corpus(Recipe(lines=16, described=1.0)), 2) for p, _ in lines
    )
    for name in list_envs():
        assert make_game(name).rules in shown


def test_the_recipe_repeats_itself_to_the_bit_and_learns():
    recipe = Recipe(width=16, layers=1, heads=2, inner=24, steps=30, lines=16, warmup=3)
    a, b = train(recipe, log_every=0), train(recipe, log_every=0)
    for x, y in zip(a.parameters(), b.parameters(), strict=True):
        assert torch.equal(x, y)

    def loss(model):
        ids, weights = next(batches(next(corpus(recipe)), 0.1))
        with torch.no_grad():
            logits = model(input_ids=ids).logits[:, :-1]
        each = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        return float((each * weights[:, 1:]).sum())

    assert loss(a) < 0.8 * loss(build(recipe))
