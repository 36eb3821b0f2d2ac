"""Games as environments of TRL's trainer."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie.errors import UnknownName
from coterie.training.bridges.environment import GameEnvironment, game_environment


def first_free(observation, mask, rng):
    return mask.argmax(1)


def test_a_game_by_calls_of_a_tool():
    env = GameEnvironment("tictactoe", opponent=first_free, seat=0)
    assert "You are X. Legal actions: 0 1 2 3 4 5 6 7 8." in env.reset(seed=1, prompt="ignored")
    assert env.get_reward() == -1  # nothing was played
    assert "Legal actions: 1 2 3 5 6 7 8." in env.play("4")
    env.play("I take 3")
    assert env.play("5") == "The game is over. Your reward is 1."
    assert env.get_reward() == 1
    assert env.play("8") == "The game is over."
    env.reset(seed=2)
    env.play("nonsense")
    assert env.get_reward() == -1


def test_the_model_may_try_again_under_raise():
    env = GameEnvironment("tictactoe", opponent=first_free, seat=0, illegal="raise")
    env.reset(seed=1)
    env.play("4")
    assert "4" in env.play("4")
    assert "Legal actions" in env.play("8")


def test_a_seed_is_a_game():
    one, other = GameEnvironment("kuhn_poker"), GameEnvironment("kuhn_poker")
    seen = [one.reset(seed=seed) for seed in range(30)]
    assert seen == [other.reset(seed=seed) for seed in range(30)]
    assert len(set(seen)) > 3
    assert "Say a new word" in GameEnvironment("word_chain").reset(seed=0)


def test_wrong_arguments_are_refused_before_training():
    with pytest.raises(UnknownName, match="minimax"):
        game_environment("tictactoe", opponent="minmax")
    with pytest.raises(UnknownName, match="tictactoe"):
        game_environment("tictactow")


def test_a_plain_grpo_trainer_plays(tmp_path: Path):
    """TRL's own loop parses the calls, plays them and takes the reward; what the model says is scripted."""
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    transformers = pytest.importorskip("transformers")
    from trl.chat_template_utils import qwen3_chat_template

    from coterie.agents.llm.tokenizer import VOCAB_SIZE, byte_tokenizer

    tokenizer = byte_tokenizer()
    tokenizer.chat_template = qwen3_chat_template
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(vocab_size=VOCAB_SIZE, max_position_embeddings=4096, **sizes)
    )
    prompt = [{"role": "user", "content": "Win. "}]
    trainer = trl.GRPOTrainer(
        model=model,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            report_to=[],
            per_device_train_batch_size=2,
            num_generations=2,
            max_steps=1,
            max_completion_length=2000,
            logging_steps=1,
        ),
        train_dataset=datasets.Dataset.from_dict({"prompt": [prompt] * 2, "seed": [0, 1]}),
        processing_class=tokenizer,
        environment_factory=game_environment("tictactoe", opponent=first_free, seat=0),
    )
    script = iter([["4", "0"], ["3", "0"], ["5", "8"]])  # the first row wins, the second takes a cell twice
    seen = []

    def say(prompt_ids, *_, **__):
        seen.append(tokenizer.decode(prompt_ids[0]))
        moves = next(script, [None] * len(prompt_ids))
        call = '<tool_call>\n{{"name": "play", "arguments": {{"action": "{}"}}}}\n</tool_call>'
        texts = ["done" if move is None else call.format(move) for move in moves]
        ids = [[*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id] for text in texts]
        return ids, [[0.0] * len(row) for row in ids]

    trainer._generate_single_turn = say
    trainer.train()
    assert "Legal actions: 0 1 2 3 4 5 6 7 8." in seen[0]
    assert "Legal actions: 1 2 3 5 6 7 8." in seen[1]
    assert sorted(env.get_reward() for env in trainer.environments) == [-1, 1]
    assert trainer.state.log_history[0]["rewards/GameEnvironment/mean"] == 0
