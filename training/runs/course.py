"""What goes on around the updates of a run: evaluations, metrics, checkpoints, and when it ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ...errors import CollapseError
from .folder import Run
from .interrupts import StopFlag
from .outcome import Outcome, Watcher, how_to_resume
from .state import save

if TYPE_CHECKING:
    from ..loop import Trainer

__all__ = ["follow"]


def follow(trainer: Trainer, run: Run, started: float, watcher: Watcher | None, notes: list[str]) -> Outcome:
    """Update until the goal, the budget, a collapse or Ctrl-C; see ``loop.train``.

    Args:
        trainer: who learns.
        run: where it is kept.
        started: when, as ``time.monotonic`` has it.
        watcher: is shown every update.
        notes: for the first line of metrics.
    """
    if watcher:
        watcher.start(trainer)
    try:
        reason, message, rows = _updates(trainer, run, started, watcher, notes)
    finally:
        if watcher:
            watcher.stop()
    return Outcome(reason, message, run.folder, trainer.updates, time.monotonic() - started, rows)


def _updates(
    trainer: Trainer, run: Run, started: float, watcher: Watcher | None, notes: list[str]
) -> tuple[str, str, list[dict[str, Any]]]:
    budget, exam = trainer.config.budget, trainer.exam
    before = max((float(row["elapsed"]) for row in run.metrics()), default=0.0)
    rows: list[dict[str, Any]] = []
    with StopFlag() as stop:
        while trainer.updates < budget.updates:
            start = trainer.evaluate() if not trainer.updates and exam.looks_first else []
            try:
                row = trainer.step()
            except CollapseError as error:
                kept = run.checkpoints()
                last = f" The checkpoint of update {kept[-1]} is kept." if kept else ""
                return "collapse", f"{error}{last}", rows
            if trainer.updates % budget.eval_every == 0 or trainer.updates == budget.updates:
                row["eval"] = rows = trainer.evaluate()
            if start:
                row["before"] = start
            spent = time.monotonic() - started
            row["elapsed"] = before + spent
            if notes:
                row["notes"], notes = [*notes, *row.get("notes", ())], []
            run.log(row)
            if watcher:
                watcher.update(row)
            reached = "eval" in row and exam.goal.reached(rows)
            over = bool(budget.minutes) and spent > 60 * budget.minutes
            if reached or over or stop.asked or trainer.updates % budget.checkpoint_every == 0:
                save(trainer)
            if reached:
                return "goal", f"The goal is reached: {exam.goal.shown(rows)}.", rows
            if stop.asked:
                return "interrupted", how_to_resume(run, trainer.updates), rows
            if over:
                break
    save(trainer)
    return "budget", f"The budget is used up after {trainer.updates} updates.", rows
