"""Runs the updates of a run with its evaluations, metrics and checkpoints, and decides when it ends."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from ...agents.deadline import OutOfTime, until
from ...agents.llm.models import LARGE
from ...errors import CollapseError, CoterieError
from .display import watched
from .folder import Run
from .interrupts import StopFlag
from .outcome import Outcome, Watched, Watcher, how_to_resume
from .sections import BudgetConfig
from .state import Training, foresee, put_back, save, taken
from .task_config import TaskBudgetConfig

__all__ = ["Course", "follow", "run_updates"]


class Course(Watched, Protocol):
    """A run whose updates ``run_updates`` runs."""

    @property
    def budget(self) -> BudgetConfig | TaskBudgetConfig:
        """When to save and to stop."""
        ...

    def step(self) -> dict[str, Any]:
        """One update; returns its line for metrics.jsonl."""
        ...

    def look(self, *, first: bool = False) -> list[dict[str, Any]] | None:
        """The rows of an evaluation, if one is due now; ``first``: before the first update."""
        ...

    def reached(self, rows: list[dict[str, Any]]) -> str:
        """One sentence if these rows reach the run's goal, else nothing."""
        ...

    def save(self) -> None:
        """Write a checkpoint."""
        ...

    def taken(self) -> Any:
        """All that the next update depends on."""
        ...

    def put_back(self, state: Any) -> None:
        """Restore what ``taken`` returned."""
        ...


class _Games:
    """The course of a run of games."""

    def __init__(self, trainer: Training) -> None:
        self._trainer = trainer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trainer, name)

    @property
    def budget(self) -> BudgetConfig:
        return self._trainer.config.budget

    def look(self, *, first: bool = False) -> list[dict[str, Any]] | None:
        trainer, budget = self._trainer, self._trainer.config.budget
        if not budget.eval_every:
            return None
        if first:
            return trainer.evaluate() if trainer.exam.looks_first else None
        due = trainer.updates % budget.eval_every == 0 or trainer.updates == budget.updates
        return trainer.evaluate() if due else None

    def reached(self, rows: list[dict[str, Any]]) -> str:
        goal = self._trainer.exam.goal
        return f"The goal is reached: {goal.shown(rows)}." if goal.reached(rows) else ""

    def save(self) -> None:
        save(self._trainer)

    def taken(self) -> Any:
        return taken(self._trainer)

    def put_back(self, state: Any) -> None:
        put_back(self._trainer, *state)


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
        reason, message, rows = run_updates(_Games(trainer), run, started, moment, show, notes)
    return Outcome(reason, message, run.folder, trainer.updates, time.monotonic() - started, rows)


# Longer than most: the ways in which a run may end, in the order in which they are looked at.
def run_updates(
    course: Course | _Games,
    run: Run,
    started: float,
    moment: float,
    show: Callable[[Mapping[str, Any]], None],
    notes: list[str],
) -> tuple[str, str, list[dict[str, Any]]]:
    """Update until the goal, the budget, a collapse or Ctrl-C.

    Args:
        course: the run.
        run: its folder.
        started: when it began, in ``time.monotonic``.
        moment: when its minutes are over.
        show: called with every line of metrics.
        notes: for the first line.

    Returns:
        Reason and message of the ``Outcome``, and the rows of the last evaluation.
    """
    budget = course.budget
    before = run.elapsed()
    evaluated = 0
    rows: list[dict[str, Any]] = []
    with StopFlag() as stop:
        while course.updates < budget.updates:
            whole = course.taken() if budget.minutes else None
            try:
                with until(moment):
                    start = None if course.updates else course.look(first=True)
                    row = course.step()
            except OutOfTime:  # an unfinished update leaves no trace
                assert whole is not None
                course.put_back(whole)
                break
            except CollapseError as error:
                kept = run.checkpoints()
                last = f" The checkpoint of update {kept[-1]} is kept." if kept else ""
                return "collapse", f"{error}{last}", rows
            except CoterieError:  # a game or a player of others failed: what was learned before is kept
                if whole is not None:
                    course.put_back(whole)
                    course.save()
                raise
            with contextlib.suppress(OutOfTime), until(moment):
                looked = course.look()
                if looked is not None:
                    row["eval"] = rows = looked
                    evaluated = course.updates
            if start:
                row["before"] = start
            spent = time.monotonic() - started
            row["elapsed"] = before + spent
            if notes:
                row["notes"], notes = [*notes, *row.get("notes", ())], []
            run.log(row)
            show(row)
            reached = course.reached(rows) if "eval" in row else ""
            over = time.monotonic() > moment
            if reached or over or stop.asked or course.updates % budget.checkpoint_every == 0:
                course.save()
            if reached:
                return "goal", reached, rows
            if stop.asked:
                return "interrupted", how_to_resume(run, course.updates), rows
            if over:
                break
    course.save()
    more = "" if course.updates else " One takes longer than `minutes` allows: set fewer games, or more minutes."
    if course.updates and budget.eval_every and evaluated != course.updates:
        more = (
            f" The last evaluation was after update {evaluated}." if evaluated else " No evaluation was due meanwhile."
        )
    count = f"{course.updates} update{'s' * (course.updates != 1)}"
    return "budget", f"The budget is used up after {count}.{more}", rows
