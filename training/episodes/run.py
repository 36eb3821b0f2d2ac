"""Runs on tasks of episodes: ``coterie train TASK``.

The folder is that of every run (``runs.folder``), with what was said (``transcripts``). A run killed anywhere and
resumed continues as if nothing had happened.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch

from ...errors import RunError
from ..runs.card import complete
from ..runs.config import TaskConfig, new_folder
from ..runs.course import run_updates
from ..runs.display import watched
from ..runs.folder import Run, fitting
from ..runs.outcome import Outcome, Watcher
from ..runs.players import as_recorded, build_policy
from ..runs.task_config import EpisodeCreditConfig, TaskBudgetConfig
from .arena import Arena
from .credit import (
    ConstantCredit,
    CreditAssigner,
    EpisodicRewardCredit,
    GRPOCredit,
    RAECredit,
    TurnCredit,
)
from .tasks import Task, make_task, read_options, task_defaults
from .transcripts import Told, told, write_transcript

__all__ = ["TaskTrainer", "make_credit", "train_task"]


def make_credit(config: EpisodeCreditConfig) -> CreditAssigner:
    """The credit assigner that a configuration names."""
    if config.credit in ("rae", "global"):
        return RAECredit(config.rae_decay, by_role=config.credit == "rae")
    if config.credit == "turn":
        return TurnCredit()
    if config.credit == "episodic":
        return EpisodicRewardCredit(config.reward_baseline, positive_only=config.positive_only)
    return ConstantCredit() if config.credit == "constant" else GRPOCredit(config.scale_rewards)


class TaskTrainer:
    """A task, its arena and the folder of the run.

    Args:
        config: of the run. run: its folder; None keeps everything in memory.
        task: None: the one that ``config`` names.
        said: called with the first tree of every update, see ``transcripts``.

    Raises:
        CoterieError: no such task, option or model.
    """

    def __init__(
        self,
        config: TaskConfig,
        run: Run | None = None,
        task: Task | None = None,
        said: Callable[[Told], None] | None = None,
    ) -> None:
        if config.threads:
            torch.set_num_threads(config.threads)
        self.run, self._said = run, said
        self.task = task or make_task(config.task, **read_options(config.task, config.game_arguments))
        self.policy = build_policy(config.policy.policy, players=(), seed=config.seed)
        style = config.policy.template
        self.arena = Arena(
            self.policy,
            seed=config.seed,
            credit=make_credit(config.credit),
            concurrency=config.episodes.concurrency,
            timeout=config.episodes.timeout,
            style=None if style == "auto" else style,
            loss=config.loss,
            optimizer=config.optimizer,
            limits=config.limits,
        )
        self.task.join(self.arena)
        _ = self.arena.learning
        # The next versions will change what "tiny" means, so a run stores the full id.
        policy = dataclasses.replace(config.policy, model=self.policy.loaded.id)
        self.config = dataclasses.replace(config, policy=policy)

    @property
    def updates(self) -> int:
        """Finished updates."""
        return self.arena.updates

    @property
    def budget(self) -> TaskBudgetConfig:
        """When to save and to stop."""
        return self.config.budget

    def headline(self) -> str:
        """The task, its learners, the model and the adapters in one line."""
        bank, learners = self.policy.bank, [name for one in self.arena.learning.values() for name in one.live]
        weights = sum(p[0].numel() for p in bank.parameters()) if bank else 0
        return (
            f"{self.task.name}  model {self.policy.loaded.id}  LoRA r {self.config.policy.lora_r} "
            f"({weights:,} weights a player)  players {', '.join(learners) or 'none'}  credit "
            f"{self.config.credit.credit}  seed {self.config.seed}"
        )

    def step(self) -> dict[str, Any]:
        """One update; returns its line for metrics.jsonl."""
        row = self.arena.step()
        if self.run is not None:
            write_transcript(self.run.folder, self.updates, self.arena.results, self.config.episodes.transcripts)
        if self._said is not None and self.arena.results:
            self._said(told(self.arena.results[0]))
        return row

    def look(self, *, first: bool = False) -> list[dict[str, Any]] | None:
        """One row of an evaluation on held-out requests, if one is due now."""
        budget = self.config.budget
        if first or not budget.eval_every:
            return None
        due = self.updates % budget.eval_every == 0 or self.updates == budget.updates
        return [{"task": self.task.name, **self.arena.evaluate(budget.eval_batches)}] if due else None

    def reached(self, rows: list[dict[str, Any]]) -> str:
        """No goal is reached: a run ends with its budget."""
        return ""

    def taken(self) -> Any:
        """All that the next update depends on."""
        return self.arena.taken()

    def put_back(self, state: Any) -> None:
        """Restore what ``taken`` returned."""
        self.arena.put_back(*state)

    def save(self) -> None:
        """Write a checkpoint, and the adapters of all learners.

        Raises:
            RunError: one could not be written.
        """
        run = self.run
        if run is None:
            return
        from safetensors import SafetensorError

        for model, learning in self.arena.learning.items():
            for name in learning.live:
                folder = run.player_folder(f"{model}.{name}" if model else name, self.updates)
                try:
                    learning.engine.save(name, folder)
                    if not model:
                        complete(folder, self.policy.loaded, self.config, defaults=task_defaults(self.config.task))
                except (OSError, SafetensorError) as error:
                    raise run.unwritten(f"The adapter in {folder}", error) from None
        run.save(self.updates, *self.taken())

    def restore(self) -> list[str]:
        """Load the newest undamaged checkpoint; returns warnings about newer ones.

        Raises:
            RunError: see ``Run.load``; or a model has changed.
        """
        run = self.run
        found = run.load() if run is not None else None
        if run is None or found is None:
            if run is not None:
                run.cut_metrics(0)
            return []
        tensors, state, warnings = found
        with fitting(f"The checkpoint of update {state['update']}"):
            for name, model in self.arena.models.items():
                now = model.engine.describe()
                if state["models"][name] != now.hash:
                    raise RunError(
                        f"{run.folder} was trained with {'another model' if name else state['model']['id']} than "
                        f"{now.model}: its weights have the hash {state['models'][name][:12]}, not {now.hash[:12]}."
                    )
            self.arena.put_back(tensors, state)
        run.cut_metrics(self.updates)
        return warnings


def train_task(
    config: TaskConfig,
    run: Path | str | None = None,
    *,
    resume: bool = False,
    watcher: Watcher | Literal["lines"] | None = "lines",
    task: Task | None = None,
    said: Callable[[Told], None] | None = None,
) -> Outcome:
    """Train until the budget is used up, a collapse or Ctrl-C: once finishes the update and saves, twice stops at once.

    Args:
        config: of the run; with ``resume`` it must agree with the run's own except for its ``free`` fields.
        run: folder; ``runs/TASK-TIME`` by default.
        resume: continue the run in that folder.
        watcher: as in ``loop.train``.
        task: a task of your own; None: the one that ``config`` names.
        said: called with the first tree of every update, see ``transcripts``.

    Returns:
        How it ended.

    Raises:
        CoterieError: a bad setting, task, model or folder.
    """
    started = time.monotonic()
    folder = Path(run) if run is not None else new_folder(config)
    kept = Run.reopen(folder, config) if resume else None
    if kept is not None:
        model = as_recorded(config.policy.policy, kept.model()).model
        config = dataclasses.replace(config, policy=dataclasses.replace(config.policy, model=model))
    trainer = TaskTrainer(config, task=task, said=said)
    kept = trainer.run = kept or Run.create(folder, trainer.config)
    kept.config = trainer.config
    minutes = config.budget.minutes
    moment = started + 60 * minutes if minutes else math.inf
    with kept.alone():
        notes = trainer.restore() if resume else []
        kept.write_config()
        with watched(trainer, watcher) as show:
            reason, message, rows = run_updates(trainer, kept, started, moment, show, notes)
    return Outcome(reason, message, folder, trainer.updates, time.monotonic() - started, rows)
