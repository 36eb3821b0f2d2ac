"""``coterie train``: train a language model or a net on a game."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from ..envs.arguments import with_preset
from ..envs.registry import list_envs, make_game, spec
from ..errors import UnknownName, UsageError
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
from .train_task import of_task, said, stored_config

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
    given = said(words)
    policy, resume, file = given.policy, given.resume, given.config
    named = words[0] if words and not words[0].startswith("-") else ""
    if {*HELP} & {*words}:
        _parsed(words, _start(policy, named or TrainConfig.game, command), named, command)
    if resume or file:
        folder = Path(given.run) if given.run else newest_folder(spec(named).name if named else "") if resume else None
        source = stored_config(folder) if resume and folder else Path(file or "")
        base = read_config(source, named or None)
        if policy in POLICIES and not isinstance(base, POLICIES[policy]):
            raise UsageError(f"{source} is for another kind of policy than {policy}; leave out --policy.")
        if named and spec(base.game) != spec(named) and spec(base.game).name != named:
            raise UsageError(f"{source} is for {base.game}, not {named}; see its field `game`.")
        asked = _parsed(words, base, named, command)
    else:
        if not named:
            raise UsageError(f"Which game? For example: coterie {command} tictactoe; `coterie envs` lists them.")
        folder, base = Path(given.run) if given.run else None, _start(policy, named, command)
        asked = _parsed(words, base, named, command)
        if isinstance(base, TrainConfig) and (asked.rollout.curriculum or is_large(asked.policy.model)):
            usual = _start(policy, named, command, asked.rollout.curriculum)  # their own presets
            base = _start(policy, named, command, asked.rollout.curriculum, asked.policy.model)
            asked = _parsed(words, base, named, command)
            sized = _sized(usual, base, asked)
            if sized and not asked.print_config:
                print(f"{asked.policy.model} is large, so this run uses {sized}; set flags to change them.")
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


def _sized(usual: AnyConfig, large: AnyConfig, asked: Any) -> str:
    """What differs between two presets, where the flags left it as the second says."""
    found = []
    for section, name in (
        ("rollout", "games"),
        ("optimizer", "learning_rate"),
        ("budget", "eval_games"),
        ("budget", "minutes"),
    ):
        before, now, chosen = (getattr(getattr(config, section), name) for config in (usual, large, asked))
        found += [f"{name} {now:g}"] if before != now == chosen else []
    return ", ".join(found)


def _start(policy: str | None, game: str, command: str, curriculum: str = "", model: str = "") -> AnyConfig:
    """The configuration that the flags change where there is neither a file nor a run.

    Raises:
        UnknownName: no such game.
        UsageError: a league of nets.
    """
    try:
        spec(game)
    except UnknownName:
        from ..training.episodes.tasks import TASKS

        raise UnknownName("game or task", game, [*list_envs(), *TASKS]) from None
    if policy == "net":
        if command == "league":
            raise UsageError("A league is of language models; leave out --policy net.")
        return NetConfig.preset(game)
    start = preset(game, curriculum, model)
    league = dataclasses.replace(start.scheme, scheme="league")
    return dataclasses.replace(start, scheme=league) if command == "league" else start


def _fields(config: AnyConfig) -> list[str]:
    return [field.name for field in dataclasses.fields(config) if field.name != "game"]


def _parsed(words: list[str], base: AnyConfig, named: str, command: str = "train") -> Any:
    made_from: Any = type(base)
    kind = train_arguments(made_from, command)
    return parse(
        kind, command, words, kind(game=named, **{name: getattr(base, name) for name in _fields(base)}), COMMON
    )
