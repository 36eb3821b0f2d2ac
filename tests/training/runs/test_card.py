"""Saved adapters on another machine: the base's name, the card, the tokenizer."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")

from coterie.agents.llm.models import load_model  # noqa: E402
from coterie.cli import train_task  # noqa: E402
from coterie.envs.registry import make_game  # noqa: E402
from coterie.training.episodes.tasks import task_defaults  # noqa: E402
from coterie.training.loop import train  # noqa: E402
from coterie.training.runs import command as cli  # noqa: E402
from coterie.training.runs.card import base_name, command  # noqa: E402
from coterie.training.runs.config import TaskConfig, from_dict, preset  # noqa: E402
from coterie.training.runs.players import make_player  # noqa: E402


def trained(folder, model):
    """The player that a run of one update leaves."""
    config = from_dict(
        {
            "threads": 1,
            "policy": {"model": model, "lora_r": 4},
            "rollout": {"games": 16, "num_generations": 4},
            "budget": {"updates": 1, "eval_every": 1, "eval_games": 10, "goal": "", "eval_vs": "random"},
        },
        preset("tictactoe"),
    )
    train(config, folder, watcher=None)
    return folder / "players" / "main" / "v000001"


@pytest.fixture(scope="module")
def adapter(tmp_path_factory):
    """What a run of the built-in model has left."""
    return trained(tmp_path_factory.mktemp("runs") / "one", "tiny")


def test_nothing_of_this_machine_is_in_it(adapter):
    base = json.loads((adapter / "adapter_config.json").read_text())["base_model_name_or_path"]
    assert re.fullmatch(r"tiny-v\d+", base)
    for name in ("README.md", "adapter_config.json", "tokenizer_config.json"):
        assert str(adapter.parents[3]) not in (adapter / name).read_text(), name
        assert "/agents/weights" not in (adapter / name).read_text(), name


def test_the_card_says_what_it_is(adapter):
    import yaml

    _, front, text = (adapter / "README.md").read_text().split("---\n", 2)
    said = yaml.safe_load(front)
    assert (said["library_name"], said["license"]) == ("peft", "mit")
    assert "base_model" not in said, "the built-in model is not on the hub"
    assert load_model("tiny").hash in text
    assert "coterie train tictactoe " in text
    assert re.search(r"\| random \| win [\d.]+, draw [\d.]+, loss [\d.]+ \|", text)


def test_the_card_s_own_code_loads_it(adapter):
    blocks = re.findall(r"```python\n(.*?)```", (adapter / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    scope = {"FOLDER": str(adapter)}
    for block in blocks:
        exec(block, scope)
    ids = torch.tensor([[5, 9, 12, 40]])
    with torch.no_grad():
        theirs = scope["model"](input_ids=ids).logits
        with scope["bank"].route(["main"]):
            ours = scope["loaded"].model(input_ids=ids).logits
    torch.testing.assert_close(theirs, ours, atol=1e-4, rtol=1e-4)
    assert scope["player"].name == "main"


def test_the_tokenizer_beside_it_is_the_base_s(adapter):
    from transformers import AutoTokenizer

    text = "x.o/.x./..o x>"
    assert AutoTokenizer.from_pretrained(adapter)(text).input_ids == load_model("tiny").tokenizer(text).input_ids


def test_a_player_loads_whose_base_was_found_under_another_name(tmp_path):
    (tmp_path / "latest").symlink_to(load_model("tiny").model.name_or_path)
    saved = trained(tmp_path / "run", str(tmp_path / "latest"))
    assert "latest" not in (saved / "adapter_config.json").read_text()
    assert make_player(str(tmp_path / "run"), make_game("tictactoe")).name == "run:main"


def test_names_of_bases(tmp_path):
    assert base_name("smollm2") == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert base_name("Qwen/Qwen3-0.6B") == "Qwen/Qwen3-0.6B"
    assert base_name(str(tmp_path / "mine")) == "mine"


@pytest.mark.parametrize(("name", "said"), [("redblue", "task:redblue"), ("proposer_solver", "proposer_solver")])
def test_the_command_of_a_task_makes_the_same_configuration(name, said):
    start = TaskConfig.preset(name, task_defaults(name))
    plain = TaskConfig(task=name)
    config = dataclasses.replace(start, seed=3, loss=plain.loss, optimizer=plain.optimizer)
    _, _, word, *words = shlex.split(command(config, task_defaults(name)))
    made, _ = train_task._config(start, words)
    assert word == said
    assert dataclasses.replace(made, set=config.set) == config


def test_the_command_of_a_large_model_says_how_it_differs_from_the_preset_of_large_models():
    start = preset("tictactoe")
    config = dataclasses.replace(start, policy=dataclasses.replace(start.policy, model="smollm2"))
    _, _, _, *words = shlex.split(command(config))
    asked = cli._parsed(words, preset("tictactoe", "", "smollm2"), "tictactoe")
    assert (asked.rollout, asked.optimizer) == (config.rollout, config.optimizer)


@pytest.mark.parametrize("game", ["tictactoe", "kuhn_poker", "gridworld"])
def test_the_command_makes_the_same_configuration(game):
    start = preset(game)
    config = dataclasses.replace(
        start,
        seed=3,
        rollout=dataclasses.replace(start.rollout, games=320, num_generations=32),
        optimizer=dataclasses.replace(start.optimizer, learning_rate=3e-4, lr_scheduler_type="cosine", decay_updates=9),
        budget=dataclasses.replace(start.budget, exact=not start.budget.exact, goal="random.win>=0.9"),
    )
    _, _, *words = shlex.split(command(config))
    asked = cli._parsed(words, preset(game), game)
    for field in dataclasses.fields(config):
        if field.name != "game":
            assert getattr(asked, field.name) == getattr(config, field.name), field.name
