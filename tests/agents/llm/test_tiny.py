"""The built-in model: it knows the notation, not the strategy; and its recipe."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors import safe_open  # noqa: E402

from coterie.agents.baselines import make_baseline  # noqa: E402
from coterie.agents.core import Turn  # noqa: E402
from coterie.agents.llm.models import load_model  # noqa: E402
from coterie.agents.llm.policy import LLMAgent, LoraPolicy  # noqa: E402
from coterie.agents.llm.prompts import stop_token  # noqa: E402
from coterie.agents.llm.scoring.forest import Question, pack_questions  # noqa: E402
from coterie.agents.llm.scoring.logprobs import Head, edge_logprobs  # noqa: E402
from coterie.agents.llm.scoring.passes import parent_states  # noqa: E402
from coterie.agents.llm.tiny import PRESETS, Recipe, Rehearsal, answer_shares, build, corpus, train  # noqa: E402
from coterie.agents.llm.tokenizer import byte_tokenizer  # noqa: E402
from coterie.envs.making import make_vec  # noqa: E402
from coterie.envs.registry import list_envs, make_game  # noqa: E402
from coterie.envs.words import TextGame  # noqa: E402
from coterie.training.evaluation.match import play_match  # noqa: E402


@pytest.fixture(scope="module")
def tiny():
    return load_model("tiny")


def test_it_is_small_and_has_the_promised_shape(tiny):
    folder = Path(__file__).parents[3] / "agents" / "weights" / tiny.id
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


@pytest.mark.parametrize(("preset", "least"), [("a3_9x9", 0.98), ("a3_11x11", 0.9)])
def test_in_small_worlds_it_is_nearly_indifferent(tiny, preset, least):
    """Whoever learns there begins with nearly uniform choices, in worlds that the recipe's seeds did not draw."""
    vec = make_vec("gridworld", num_envs=20, seed=54_321, preset=preset)
    vec.reset(seed=54_321)
    agent, shares = LLMAgent(LoraPolicy(tiny)), []
    for _ in range(4):
        for _ in range(7):
            vec.step(vec.sample_actions())
        mask = vec.action_mask
        turns = [Turn(vec.game, vec.state, i, 0, mask[i, 0], 0) for i in range(20) if mask[i, 0].sum() > 1]
        for turn, p in zip(turns, agent.policy(turns), strict=True):
            p = p[turn.legal_actions]
            shares.append(-float((p * np.log(p + 1e-30)).sum()) / np.log(len(p)))
    assert np.mean(shares) > least


@pytest.mark.slow
def test_the_corpus_is_every_legal_answer_and_says_no_results():
    tokenizer, begun, decided = byte_tokenizer(), 0, set()
    stop = stop_token(tokenizer)
    for lines in islice(corpus(Recipe(lines=64, described=0.1)), 40):
        for question in lines:
            text = tokenizer.decode(question.prompt)
            assert all(answer[-1] == stop for answer in question.answers)
            assert len(set(question.answers)) == len(question.answers) >= 1
            if "<user>" in text:
                continue
            assert not any(word in text.lower() for word in ("win", "won", "los", "draw ", "value", "best", "score"))
            if text == "<bos>X .........>":
                begun += 1
                assert [tokenizer.decode(a[:-1]) for a in question.answers] == list("012345678")
            decided.add(text)
    assert begun > 2
    assert len(decided) > 1500


def test_a_packed_trie_weighs_all_answers_alike():
    questions = [Question(-1, (1, 2), ((3, 4), (3, 5), (6,))), Question(-1, (1, 2, 7), ((8,), (9, 3))), *_some(20)]
    model = build(Recipe(width=16, layers=1, heads=2, inner=24)).eval()
    for kind in range(2):
        chosen = questions[2 * kind :]
        total = torch.zeros(())
        for pack in pack_questions(chosen, row_tokens=64):
            hidden = parent_states(model, pack)
            logps, _ = edge_logprobs(Head(model), hidden, pack.edge_parent, pack.edge_token)
            total = total + (logps * answer_shares(pack)).sum()
        one_by_one = []
        for question in chosen:
            for answer in question.answers:
                ids = torch.tensor([question.prompt + answer])
                logps = torch.log_softmax(model(input_ids=ids).logits[0, :-1], -1)
                each = logps[torch.arange(ids.shape[1] - 1), ids[0, 1:]][len(question.prompt) - 1 :]
                one_by_one.append(each.sum() / len(question.answers))
        assert torch.allclose(total, torch.stack(one_by_one).sum(), rtol=1e-4)


def _some(count):
    """Chess positions and others as the corpus shows them."""
    return list(dict.fromkeys(next(corpus(Recipe(lines=count, described=0.0)))))


def test_every_registered_game_is_in_the_corpus():
    shown = "".join(
        byte_tokenizer().decode(q.prompt)
        for lines in islice(corpus(Recipe(lines=150, described=1.0)), 4)
        for q in lines
    )
    for name in list_envs():
        if isinstance(make_game(name), TextGame):
            continue
        assert make_game(name).rules in shown
    for preset in PRESETS["gridworld"]:
        assert make_game("gridworld", preset=preset).rules in shown


@pytest.mark.slow
def test_the_recipe_repeats_itself_to_the_bit_and_learns():
    recipe = Recipe(width=16, layers=1, heads=2, inner=24, steps=30, lines=16, warmup=3, described=0.0)
    a, b = train(recipe, log_every=0), train(recipe, log_every=0)
    for x, y in zip(a.parameters(), b.parameters(), strict=True):
        assert torch.equal(x, y)

    def loss(model):
        return Rehearsal(model, recipe).step(0, next(corpus(recipe)))

    assert loss(a) < 0.8 * loss(build(recipe))
