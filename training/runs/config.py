"""Reads and writes configurations of runs; a tag says of what kind: a language model on a game or a task, or a net.

``policy: net`` marks a run of a net; for a language model ``policy`` is a section. ``task`` marks a run on episodes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ...envs.atomic import write_atomically
from ...envs.plain import read_yaml
from ...envs.registry import spec
from ...envs.replay.keeping import dated
from ...errors import UsageError
from .fields import merge
from .net_config import NetConfig
from .presets import preset, starting
from .sections import (
    BudgetConfig,
    CreditConfig,
    LossConfig,
    OptimizerConfig,
    PolicyConfig,
    RolloutConfig,
    SchemeConfig,
    TrainConfig,
)
from .task_config import TaskConfig

__all__ = [
    "AnyConfig",
    "BudgetConfig",
    "CreditConfig",
    "LossConfig",
    "NetConfig",
    "OptimizerConfig",
    "PolicyConfig",
    "RolloutConfig",
    "SchemeConfig",
    "TaskConfig",
    "TrainConfig",
    "as_yaml",
    "from_dict",
    "from_tagged",
    "is_net_run",
    "load_config",
    "new_folder",
    "preset",
    "read_config",
    "save_config",
    "to_dict",
]

AnyConfig = TrainConfig | NetConfig | TaskConfig


def to_dict(config: AnyConfig) -> dict[str, Any]:
    """Plain nested data, for JSON and YAML, with its tag."""
    tag = {"policy": "net"} if isinstance(config, NetConfig) else {}
    return tag | dataclasses.asdict(config) | {"set": list(config.set)}


def from_dict(data: Mapping[str, Any], base: TrainConfig | None = None) -> TrainConfig:
    """A configuration from nested data, on top of ``base``; by default the game's preset.

    Raises:
        UnknownName: a section or field that doesn't exist.
        UsageError: a value of the wrong type.
    """
    if base is None:
        rollout = data.get("rollout")
        curriculum = rollout.get("curriculum", "") if isinstance(rollout, Mapping) else ""
        policy = data.get("policy")
        model = policy.get("model", "") if isinstance(policy, Mapping) else ""
        base = starting(str(data.get("game", "tictactoe")), str(curriculum), str(model))
    return merge(base, data)


def from_tagged(data: Mapping[str, Any]) -> AnyConfig:
    """A configuration from nested data with its tag; missing fields have the presets' values.

    Raises:
        UnknownName, UsageError: see ``from_dict``.
    """
    if "task" in data:
        untagged = {name: value for name, value in data.items() if name not in ("task", "game")}
        return merge(TaskConfig(task=str(data["task"])), untagged)
    if data.get("policy") != "net":
        return from_dict(data)
    untagged = {name: value for name, value in data.items() if name != "policy"}
    return merge(NetConfig.preset(str(data.get("game", NetConfig.game))), untagged)


def read_config(path: Path, game: str | None = TrainConfig.game) -> AnyConfig:
    """Read a YAML file written by hand or by ``save_config``.

    Args:
        path: of the file.
        game: if the file names none.

    Raises:
        UsageError: no such file, not YAML, not a mapping, no game, unknown fields or bad values.
    """
    data = read_yaml(path)
    if "task" in data:
        return from_tagged(data)
    if "game" not in data and game is None:
        raise UsageError(
            f"{path} doesn't name a game: add a line such as `game: tictactoe`, or give the game before --config."
        )
    return from_tagged({"game": game, **data})


def config_of(name: str) -> AnyConfig | None:
    """The configuration of the run named by ``RUN``, ``RUN:player`` or ``RUN:player@version``; None: not a run."""
    player = name.partition("@")[0]
    for folder in (name, player, player.rpartition(":")[0]):
        if folder and (Path(folder) / "config.yaml").is_file():
            return read_config(Path(folder) / "config.yaml")
    return None


def is_net_run(folder: Path) -> bool:
    """Whether a folder holds a run of a net, judged by its tag alone."""
    try:
        return read_yaml(folder / "config.yaml").get("policy") == "net"
    except UsageError:
        return False


def load_config(path: Path) -> TrainConfig:
    """``read_config`` for a language model's run.

    Raises:
        UsageError: see ``read_config``; or it configures a net.
    """
    config = read_config(path)
    if isinstance(config, NetConfig):
        raise UsageError(f"{path} configures a net (policy: net), not a language model.")
    if isinstance(config, TaskConfig):
        raise UsageError(f"{path} configures a run on the task {config.task}, whose players do not play games.")
    return config


def as_yaml(config: AnyConfig) -> str:
    """YAML that ``read_config`` reads back equal."""
    return yaml.safe_dump(to_dict(config), sort_keys=False)


def save_config(config: AnyConfig, path: Path) -> None:
    """Write ``as_yaml`` to a file."""
    write_atomically(path, as_yaml(config))


def new_folder(config: AnyConfig) -> Path:
    """The default folder of a run: ``runs/GAME-TIME``, or ``runs/GAME-TIME-2`` and so on."""
    kind = "-net" if isinstance(config, NetConfig) else ""
    name = config.task if isinstance(config, TaskConfig) else spec(config.game).name
    return dated(Path("runs"), f"{_file_name(name)}{kind}")


def _file_name(name: str) -> str:
    """A game's name for files: pettingzoo:MODULE has a colon."""
    return re.sub(r"[^\w.-]", "-", name)


def newest_folder(name: str) -> Path:
    """The newest run of a game or task in runs/, by its name without version; of any if ``name`` is empty.

    Raises:
        UsageError: there is no such run.
    """
    pattern = f"{_file_name(name)}-*" if name else "*-*"
    left = sorted(Path("runs").glob(pattern), key=lambda path: path.stat().st_mtime)
    if not left:
        what = f"No run of {name}" if name else "No run"
        raise UsageError(f"{what} in runs/; name the one to resume: --run DIR --resume.")
    return left[-1]
