"""Completes a saved adapter for use on other machines: the base model's name, a model card, the tokenizer."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...envs.atomic import write_atomically
from ...envs.reading import parsed, read_text
from ...envs.registry import is_game
from ...errors import RunError
from ..population.pool import PlayerRecord
from .config import AnyConfig, NetConfig, PolicyConfig, TaskConfig, TrainConfig, to_dict
from .curves import title
from .presets import starting

if TYPE_CHECKING:
    from ...agents.llm.models import LoadedModel

__all__ = ["base_name", "command", "complete", "read_persona", "usual", "write_record"]

HUB = {"smollm2": "HuggingFaceTB/SmolLM2-135M-Instruct"}
"""coterie's names -> ids on the hub."""


def base_name(id: str) -> str:
    """A base model's name on any machine: its id on the hub, coterie's name, or the name of its folder or file."""
    return HUB.get(id) or (Path(id).name if Path(id).is_absolute() else id)


def usual(config: AnyConfig, defaults: Mapping[str, Any] | None = None) -> AnyConfig:
    """The configuration that ``coterie train`` begins with for this game or task; ``defaults`` are the task's own."""
    if isinstance(config, NetConfig):
        return NetConfig.preset(config.game)
    if isinstance(config, TaskConfig):
        return TaskConfig.preset(config.task, defaults or {})
    return starting(config.game, config.rollout.curriculum, config.policy.model)


def command(config: AnyConfig, defaults: Mapping[str, Any] | None = None) -> str:
    """The command line that starts a run with this configuration: its game or task, and what differs from ``usual``."""
    if isinstance(config, TaskConfig):
        words = ["coterie", "train", f"task:{config.task}" if is_game(config.task) else config.task]
    else:
        words = ["coterie", "train", config.game.rpartition("-v")[0] or config.game]
    if isinstance(config, NetConfig):
        words += ["--policy", "net"]
    if isinstance(config, TrainConfig) and config.rollout.curriculum:
        words += ["--curriculum", config.rollout.curriculum]
    start = to_dict(usual(config, defaults))
    for section, values in to_dict(config).items():
        own = values if isinstance(values, Mapping) else {section: values}
        before = start[section] if isinstance(values, Mapping) else start
        for name, value in own.items():
            if section in ("game", "task") or value == before[name]:
                continue
            flag = f"--{name.replace('_', '-')}"
            if isinstance(value, bool):
                words.append(flag if value else f"--no-{flag[2:]}")
            else:
                words += [flag, *(map(str, value) if isinstance(value, list) else [str(value)])]
    return shlex.join(words)


def write_record(folder: Path, record: PlayerRecord) -> None:
    """Write player.json beside an adapter whose player has a persona or a genome."""
    if record.persona or record.genome:
        write_atomically(folder / "player.json", json.dumps(dataclasses.asdict(record), indent=2))


def read_persona(folder: Path) -> str:
    """The persona of a saved player; empty: none.

    Raises:
        RunError: a damaged file.
    """
    path = folder / "player.json"
    try:
        return str(parsed(read_text(path))["persona"]) if path.is_file() else ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} cannot be read: {error}. Take it from another version of the player.") from None


def complete(
    folder: Path,
    loaded: LoadedModel,
    config: TrainConfig | TaskConfig,
    evaluation: Sequence[Mapping[str, Any]] = (),
    defaults: Mapping[str, Any] | None = None,
) -> None:
    """Complete an adapter in peft's format in ``folder``: set the base model's name, add README.md and the tokenizer.

    ``evaluation`` holds the rows of the run's last evaluation, if any; ``defaults`` are the task's own settings.

    Raises:
        OSError: a file can't be written.
    """
    from ...agents.sums import write_sums  # torch

    adapter = json.loads((folder / "adapter_config.json").read_text())
    if adapter["base_model_name_or_path"] != base_name(loaded.id):
        adapter["base_model_name_or_path"] = base_name(loaded.id)
        write_atomically(folder / "adapter_config.json", json.dumps(adapter, indent=2, sort_keys=True))
        write_sums(folder, ("adapter_config.json", "adapter_model.safetensors"))
    loaded.tokenizer.save_pretrained(str(folder))
    write_atomically(folder / "README.md", _card(loaded, config, evaluation, command(config, defaults)))


def _card(
    loaded: LoadedModel, config: TrainConfig | TaskConfig, evaluation: Sequence[Mapping[str, Any]], command: str
) -> str:
    base, game = base_name(loaded.id), config.game.rpartition("-v")[0] or config.game
    hub = "/" in base
    where = f"[{base}](https://huggingface.co/{base})" if hub else f"`{base}`"
    get = f'AutoModelForCausalLM.from_pretrained("{base}")' if hub else f'load_model("{loaded.id}").model'
    source = "transformers import AutoModelForCausalLM" if hub else "coterie.agents.llm.models import load_model"
    shipped = loaded.id.startswith("tiny-v")
    note = "comes with coterie: `pip install 'coterie[train]'`" if shipped else f"loaded as `{base_name(loaded.id)}`"
    if loaded.id in HUB:
        note = f"coterie's `{loaded.id}` (from a quantised file: the hub's weights differ a little)"
    p = config.policy
    task = isinstance(config, TaskConfig)
    return f"""---
library_name: peft
{f"base_model: {base}" if hub else "# base_model: not on the hub, see below"}
license: mit
pipeline_tag: text-generation
tags: [coterie, lora, reinforcement-learning, {game}]
---

# A player of {game}

A LoRA adapter (r {p.lora_r}, alpha {p.lora_alpha}) that learned {config.game} by playing it, with coterie.

- **Base model**: {where}; {note}. SHA-256 of its weights as loaded: `{loaded.hash}`.
- **Trained with**: `{command}`
- **Answers with**: {f"the {p.template} prompt" if task else _decoding(config)}.
- **Licence** of the adapter: MIT; the base model has its own.
{"" if task else _results(evaluation)}
## Load it

With peft, where `FOLDER` is this folder or its id on the hub:

```python
from {source}
from peft import PeftModel

model = PeftModel.from_pretrained({get}, FOLDER)
```
{"" if task else _as_player(loaded, config, base)}"""


def _decoding(config: TrainConfig | TaskConfig) -> str:
    p = config.policy
    assert isinstance(p, PolicyConfig)
    return f"{p.decode} decoding, the {p.template} prompt, temperature {p.temperature:g}"


def _results(evaluation: Sequence[Mapping[str, Any]]) -> str:
    """A table of the run's last evaluation."""
    rows = "\n".join(f"| {title(e)} | {_figures(e)} |" for e in evaluation) or "| none yet | |"
    return f"""
The run's last evaluation:

| against | result |
|---|---|
{rows}
"""


def _as_player(loaded: LoadedModel, config: TrainConfig | TaskConfig, base: str) -> str:
    """How to let the adapter play."""
    p = config.policy
    assert isinstance(p, PolicyConfig)
    return f"""
As a player, with coterie:

```python
from coterie.agents.bank.bank import LoraBank
from coterie.agents.llm.models import load_model
from coterie.agents.llm.policy import LLMAgent, LoraPolicy
from peft import LoraConfig

loaded = load_model("{loaded.id if not Path(loaded.id).is_absolute() else "FOLDER OF " + base}")
bank = LoraBank(loaded.model, LoraConfig.from_pretrained(FOLDER), ["main"])
bank.load_peft("main", FOLDER)
player = LLMAgent(LoraPolicy(loaded, bank, decode="{p.decode}", template="{p.template}"), "main", greedy=True)
```
"""


def _figures(e: Mapping[str, Any]) -> str:
    """The shares and means in a row of an evaluation."""
    names = ("win", "draw", "loss", "solved", "sampled", "exploitability", "reward")
    return ", ".join(f"{name} {e[name]:.4g}" for name in names if isinstance(e.get(name), int | float))
