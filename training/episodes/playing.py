"""Players of tasks that are games (negotiation, debate, redblue, elo_arena, game): they play matches as others do."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from ...agents.llm.chat import Chat
from ...envs.words.talk import TalkGame
from ...errors import UsageError
from ..runs.config import TaskConfig, TrainConfig, load_config, read_config
from ..runs.players import load_base
from .game import GameEpisode
from .tasks import Task, make_task, read_options

__all__ = ["as_game", "players_of", "read_any"]


def read_any(path: Path) -> TrainConfig:
    """The configuration of a run of games, or of a task that is a game.

    Raises:
        UsageError: see ``runs.config.read_config`` and ``as_game``.
    """
    config = read_config(path)
    return as_game(config) if isinstance(config, TaskConfig) else load_config(path)


def as_game(config: TaskConfig) -> TrainConfig:
    """A run on a task as one of the game that it plays: players are then asked as the task asks them.

    Raises:
        UsageError: the task is no game, or its roles are asked in another way than players of matches.
    """
    task = _task(config)
    played = [episode for episode in task.episodes.values() if isinstance(episode, GameEpisode)]
    if not played:
        raise UsageError(
            f"This is a run on the task {config.task}, whose players do not play games. Its figures are in "
            "metrics.jsonl; `coterie view RUN --text` shows what was said."
        )
    game, free, role = played[0].game, played[0].free, task.roles[0]
    if isinstance(game, TalkGame) or any(one.system_prompt for one in task.roles):
        how = "with messages beside its actions" if isinstance(game, TalkGame) else "with prompts of its own"
        raise UsageError(f"This run on the task {config.task} asks its roles {how}, which matches do not.")
    policy = config.policy.policy
    if policy.template == "auto":
        style = Chat(load_base(policy.model, policy.dtype, policy.device).tokenizer).style
        policy = dataclasses.replace(policy, template="chat" if style == "chat" else "compact")
    policy = dataclasses.replace(
        policy,
        decode="free" if free else "choice",
        temperature=role.temperature,
        max_completion_length=role.max_tokens,
    )
    arguments = tuple(f"{name}={json.dumps(value)}" for name, value in game.config.items() if value is not None)
    return TrainConfig(game=game.info.id, seed=config.seed, set=arguments, policy=policy)


def players_of(name: str, config: TaskConfig) -> list[str]:
    """The players that a name means: all that learned in the run, unless the name picks one."""
    if not Path(name).is_dir():
        return [name]
    names = dict.fromkeys(role.adapter for role in _task(config).roles if role.trainable)
    return [f"{name}:{player}" for player in names]


def _task(config: TaskConfig) -> Task:
    return make_task(config.task, **read_options(config.task, config.game_arguments))
