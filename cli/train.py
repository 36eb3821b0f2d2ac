"""``coterie train``: train a language model or a net on a game."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from ..envs.arguments import with_preset
from ..envs.registry import list_envs, make_game, spec
from ..errors import RunError, UnknownName, UsageError
from ..training.runs.config import (
    AnyConfig,
    NetConfig,
    TrainConfig,
    as_yaml,
    new_folder,
    newest_folder,
    preset,
    read_config,
)
from ..training.runs.presets import is_large
from . import train_task
from .arguments import COMMON, train_arguments
from .parsing import HELP, parse
from .train_task import of_task

__all__ = ["run"]

POLICIES = {"llm": TrainConfig, "net": NetConfig}


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        CoterieError: a bad argument, setting or folder.
    """
    return train_task.run(words) if of_task(words) else trained(words)[0]


def trained(words: list[str], command: str = "train") -> tuple[int, Path | None]:
    """Train on a game; returns the exit code and the run's folder (None: the configuration was printed).

    Args:
        words: the arguments.
        command: what the person typed before them.

    Raises:
        CoterieError: a bad argument, setting or folder.
    """
    said = _taken(words, "policy", "run", "config")
    policy = said.policy
    if policy is not None and policy not in POLICIES:
        raise UsageError(f"--policy is {policy!r}; it must be llm (a language model, default) or net (a small net).")
    named = words[0] if words and not words[0].startswith("-") else ""
    if {*HELP} & {*words}:
        _parsed(words, _start(policy, named or TrainConfig.game), named, command)
    resume, run, file = "--resume" in words, said.run, said.config
    if resume or file:
        folder = Path(run) if run else newest_folder(spec(named).name if named else "") if resume else None
        source = folder / "config.yaml" if resume and folder else Path(file or "")
        if resume and not source.is_file():
            raise RunError(f"There is no run in {folder} (no config.yaml); leave out --resume to start one there.")
        base = read_config(source, named or None)
        if policy and not isinstance(base, POLICIES[policy]):
            raise UsageError(f"{source} is for another kind of policy than {policy}; leave out --policy.")
        if named and spec(base.game) != spec(named) and spec(base.game).name != named:
            raise UsageError(f"{source} is for {base.game}, not {named}; see its field `game`.")
        asked = _parsed(words, base, named, command)
    else:
        if not named:
            raise UsageError(f"Which game? For example: coterie {command} tictactoe; `coterie envs` lists them.")
        folder, base = Path(run) if run else None, _start(policy, named)
        asked = _parsed(words, base, named, command)
        if isinstance(base, TrainConfig) and (asked.rollout.curriculum or is_large(asked.policy.model)):
            base = preset(base.game, asked.rollout.curriculum, asked.policy.model)  # these have their own presets
            asked = _parsed(words, base, named, command)
            if is_large(asked.policy.model):
                print(
                    f"{asked.policy.model} is large, so this run uses games {asked.rollout.games}, learning_rate "
                    f"{asked.optimizer.learning_rate:g}, eval_games {asked.budget.eval_games}, minutes "
                    f"{asked.budget.minutes:g}; set flags to change them."
                )
    chosen = {name: getattr(asked, name) for name in _fields(base)}
    if asked.preset:
        # A game's own settings belong to the preset that they begin with.
        own = base.set if resume or file else ()
        chosen["set"] = with_preset(base.game, own if asked.set == base.set else asked.set, asked.preset, own)
    config = dataclasses.replace(base, **chosen)
    if asked.print_config:
        make_game(config.game, **config.game_arguments)  # refuses what a run would refuse
        print(f"# To use it: coterie {command} --config FILE\n{as_yaml(config)}", end="")
        return 0, None
    folder = folder or new_folder(config)
    return _run(config, folder, resume, asked.report_to), folder


def _run(config: AnyConfig, folder: Path, resume: bool, report_to: str) -> int:
    from ..training.loop import train as train_llm
    from ..training.runs.display import Display
    from ..training.runs.net_run import train_net

    watcher = Display(report_to=report_to)
    if isinstance(config, NetConfig):
        outcome = train_net(config, folder, resume=resume, watcher=watcher)
    else:
        assert isinstance(config, TrainConfig)  # tasks have a command of their own
        outcome = train_llm(config, folder, resume=resume, watcher=watcher)
    print(outcome.message)
    return {"collapse": 1, "interrupted": 130}.get(outcome.reason, 0)


def _start(policy: str | None, game: str) -> AnyConfig:
    """The configuration that the flags change where there is neither a file nor a run.

    Raises:
        UnknownName: no such game.
    """
    try:
        spec(game)
    except UnknownName:
        from ..training.episodes.tasks import TASKS

        raise UnknownName("game or task", game, [*list_envs(), *TASKS]) from None
    return NetConfig.preset(game) if policy == "net" else preset(game)


def _fields(config: AnyConfig) -> list[str]:
    return [field.name for field in dataclasses.fields(config) if field.name != "game"]


def _parsed(words: list[str], base: AnyConfig, named: str, command: str = "train") -> Any:
    made_from: Any = type(base)
    kind = train_arguments(made_from, command)
    return parse(
        kind, command, words, kind(game=named, **{name: getattr(base, name) for name in _fields(base)}), COMMON
    )


def _taken(words: list[str], *names: str) -> argparse.Namespace:
    """The values of some flags (None: not given; "": without a value)."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in names:
        parser.add_argument(f"--{name}", nargs="?", const="")
    return parser.parse_known_args(words)[0]
