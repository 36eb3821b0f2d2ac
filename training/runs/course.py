"""Runs the updates of a run with its evaluations, metrics and checkpoints, and decides when it ends."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from ...agents.deadline import OutOfTime, until
from ...agents.llm.models import LARGE
from ...errors import CollapseError
from .display import watched
from .folder import Run
from .interrupts import StopFlag
from .outcome import Outcome, Watcher, how_to_resume
from .state import Training, foresee, put_back, save, taken

__all__ = ["follow"]


def follow(
    trainer: Training, run: Run, started: float, watcher: Watcher | Literal["lines"] | None, notes: list[str]
) -> Outcome:
    """Update until the goal, the budget, a collapse or Ctrl-C; see ``loop.train``.

    ``started`` is the run's start in ``time.monotonic``; ``notes`` go into its first line of metrics.
    """
    minutes, dense = trainer.config.budget.minutes, trainer.config.rollout.shaping + trainer.config.rollout.novelty
    moment = started + 60 * minutes if minutes else math.inf
    if trainer.policy.loaded.model.num_parameters() > LARGE and not dense:
        with contextlib.suppress(OutOfTime), until(moment):
            trainer.foreseen = foresee(trainer)
    with watched(trainer, watcher) as show:
        reason, message, rows = _updates(trainer, run, started, moment, show, notes)
    return Outcome(reason, message, run.folder, trainer.updates, time.monotonic() - started, rows)


def _updates(
    trainer: Training,
    run: Run,
    started: float,
    moment: float,
    show: Callable[[Mapping[str, Any]], None],
    notes: list[str],
) -> tuple[str, str, list[dict[str, Any]]]:
    budget, exam = trainer.config.budget, trainer.exam
    before = run.elapsed()
    rows: list[dict[str, Any]] = []
    with StopFlag() as stop:
        while trainer.updates < budget.updates:
            whole = taken(trainer) if budget.minutes else None
            try:
                with until(moment):
                    start = trainer.evaluate() if not trainer.updates and exam.looks_first else []
                    row = trainer.step()
            except OutOfTime:  # an unfinished update leaves no trace
                assert whole is not None
                put_back(trainer, *whole)
                break
            except CollapseError as error:
                kept = run.checkpoints()
                last = f" The checkpoint of update {kept[-1]} is kept." if kept else ""
                return "collapse", f"{error}{last}", rows
            if trainer.updates % budget.eval_every == 0 or trainer.updates == budget.updates:
                with contextlib.suppress(OutOfTime), until(moment):
                    row["eval"] = rows = trainer.evaluate()
            if start:
                row["before"] = start
            spent = time.monotonic() - started
            row["elapsed"] = before + spent
            if notes:
                row["notes"], notes = [*notes, *row.get("notes", ())], []
            run.log(row)
            show(row)
            reached = "eval" in row and exam.goal.reached(rows)
            over = time.monotonic() > moment
            if reached or over or stop.asked or trainer.updates % budget.checkpoint_every == 0:
                save(trainer)
            if reached:
                return "goal", f"The goal is reached: {exam.goal.shown(rows)}.", rows
            if stop.asked:
                return "interrupted", how_to_resume(run, trainer.updates), rows
            if over:
                break
    save(trainer)
    short = "" if trainer.updates else " One takes longer than `minutes` allows: set fewer games, or more minutes."
    return "budget", f"The budget is used up after {trainer.updates} updates.{short}", rows
