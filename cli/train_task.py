"""``coterie train TASK``: train the roles of a task of episodes."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from ..envs.plain import read_yaml
from ..envs.registry import game_arguments, is_game
from ..errors import RunError, UsageError
from ..training.runs.config import TaskConfig, as_yaml, new_folder, newest_folder, read_config
from ..training.runs.fields import merge
from .arguments import COMMON, TrainTask
from .parsing import joined, parse, told

__all__ = ["of_task", "run", "said", "stored_config"]

PREFIX = "task:"
"""Before a name, it means the task even if there is a game of that name."""

SAME = {"--num-steps": "--updates", "--batch-size": "--batch", "--model-path": "--model"}
"""Other names of flags."""


def of_task(words: list[str]) -> bool:
    """Whether the words after ``coterie train`` are about a task: named, or that of a run or a file."""
    if words and not words[0].startswith("-"):
        from ..training.episodes.tasks import is_task

        mixed = "+" in words[0] and any(is_task(part) for part in words[0].split("+"))
        return words[0].startswith(PREFIX) or (not is_game(words[0]) and (mixed or is_task(words[0])))
    given = said(words)
    files = [Path(given.config)] if given.config else [Path(given.run) / "config.yaml"] if given.run else []
    return any(file.is_file() and "task" in read_yaml(file) for file in files)


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        CoterieError: a bad argument, setting or folder.
    """
    from ..training.episodes.tasks import make_task, read_options, task_defaults

    given, named = said(words), ""
    if words and not words[0].startswith("-"):
        named, words = words[0].removeprefix(PREFIX).replace("-", "_"), words[1:]
    resume, folder = given.resume, Path(given.run) if given.run else None
    if resume or given.config:
        folder = folder or newest_folder(named) if resume else folder
        source = stored_config(folder) if resume and folder else Path(given.config)
        data = read_yaml(source)
        task = str(data.get("task", named))
        base = read_config(source) if resume else merge(TaskConfig.preset(task, task_defaults(task)), _untagged(data))
        if not isinstance(base, TaskConfig) or (named and base.task != named):
            raise UsageError(f"{source} is for {base.game}, not for the task {named}.")
    else:
        base = TaskConfig.preset(named, task_defaults(named))
    config, asked = _config(base, words)
    if asked.print_config:
        make_task(config.task, **read_options(config.task, config.game_arguments))  # refuses what a run would refuse
        print(f"# To use it: coterie train --config FILE\n{as_yaml(config)}", end="")
        return 0
    return _train(config, folder or new_folder(config), resume, asked)


def _untagged(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "task"}


def _config(base: TaskConfig, words: list[str]) -> tuple[TaskConfig, Any]:
    """The configuration that flags make of ``base``, and the flags."""
    from ..training.episodes.tasks import read_options, task_options

    options = task_options(base.task)
    own = [field.name for field in _flagged(options)]
    settings = [field.name for field in dataclasses.fields(TaskConfig) if field.name != "task"]
    kind = _arguments(base.task)
    before = {name: v for name, v in read_options(base.task, base.game_arguments).items() if name in own}
    default = kind(task=base.task, **{name: getattr(base, name) for name in settings}, **before)
    known = {name for name in SAME if name != "--batch-size" or "batch" in own}
    parts = [word.partition("=") for word in words]
    words = [(SAME[head] if head in known else head) + equals + tail for head, equals, tail in parts]
    asked = parse(kind, "train", words, default, (*COMMON, *own))
    if asked.task != base.task:
        raise UsageError(f"{asked.task!r} came beside the task {base.task}. Write options as --name value.")
    chosen = read_options(base.task, base.game_arguments | game_arguments(asked.set))
    chosen |= {name: getattr(asked, name) for name in own if getattr(asked, name) != getattr(default, name)}
    texts = tuple(
        f"{name}={yaml.safe_dump(value, default_flow_style=True).splitlines()[0]}" for name, value in chosen.items()
    )
    return dataclasses.replace(base, **{name: getattr(asked, name) for name in settings} | {"set": texts}), asked


def _arguments(task: str) -> Any:
    """The flags of a task: those of every run, its options, and the settings of its configuration."""
    from ..training.episodes.tasks import task_options

    options = task_options(task)
    taken = {field.name for field in dataclasses.fields(options)} - {field.name for field in _flagged(options)}
    doc = (TrainTask.__doc__ or "").replace("the roles of a task.", f"the roles of the task {task}. {told(options)[0]}")
    return joined(doc, (TrainTask, ()), (options, tuple(sorted(taken))), (TaskConfig, ("task",)))


def _flagged(options: Any) -> list[Any]:
    """The options with flags of their own: all whose names no other flag has (``--set`` sets those)."""
    sections = [hint for hint in get_type_hints(TaskConfig).values() if dataclasses.is_dataclass(hint)]
    taken = {field.name for kind in (TrainTask, TaskConfig, *sections) for field in dataclasses.fields(kind)}
    return [field for field in dataclasses.fields(options) if field.name not in taken]


def _train(config: TaskConfig, folder: Path, resume: bool, asked: Any) -> int:
    from ..training.episodes.run import train_task
    from ..training.episodes.show import as_tree
    from ..training.episodes.transcripts import Told
    from ..training.runs.display import Display

    display = Display(report_to=asked.report_to, live=False if asked.verbose else None)

    def show(tree: Told) -> None:
        display.console.print(as_tree(tree), highlight=False)

    outcome = train_task(config, folder, resume=resume, watcher=display, said=show if asked.verbose else None)
    print(outcome.message)
    return {"collapse": 1, "interrupted": 130}.get(outcome.reason, 0)


def said(words: list[str]) -> argparse.Namespace:
    """``--run``, ``--config`` and ``--policy`` (None: not given; "": without a value), and whether ``--resume`` was."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ("run", "config", "policy"):
        parser.add_argument(f"--{name}", nargs="?", const="")
    parser.add_argument("--resume", action="store_true")
    return parser.parse_known_args(words)[0]


def stored_config(folder: Path) -> Path:
    """The configuration of the run to resume.

    Raises:
        RunError: there is none.
    """
    if not (folder / "config.yaml").is_file():
        raise RunError(f"There is no run in {folder} (no config.yaml); leave out --resume to start one there.")
    return folder / "config.yaml"
