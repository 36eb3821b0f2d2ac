"""Tasks by name: ``make_task("proposer_solver", batch=16)``.

To add one, write a file here with a factory that returns a ``Task``, and add one line to ``TASKS``. The factory's
keyword arguments, with their types and defaults, are the task's options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ....errors import UnknownName, UsageError, did_you_mean
from .task import Task

__all__ = ["TASKS", "Task", "make_task", "task_factory"]

TASKS: dict[str, str] = {
    "single_turn": "single_turn:single_turn",
    "dataset_rl": "dataset_rl:dataset_rl",
    "proposer_solver": "proposer_solver:proposer_solver",
    "refine_loop": "refine_loop:refine_loop",
    "collaborative": "collaborative:collaborative",
    "heavy_agent": "heavy_agent:heavy_agent",
    "ensemble": "ensemble:ensemble",
    "self_distillation": "self_distillation:self_distillation",
    "amplification": "amplification:amplification",
    "code_generation": "code_generation:code_generation",
}


def task_factory(name: str) -> Callable[..., Task]:
    """The function that builds a task; its signature lists the options.

    Raises:
        UnknownName: no such task.
    """
    key = name.replace("-", "_")
    if key not in TASKS:
        raise UnknownName("task", name, TASKS)
    module, factory = TASKS[key].split(":")
    found: Callable[..., Task] = getattr(import_module(f".{module}", __name__), factory)
    return found


def make_task(name: str, **options: Any) -> Task:
    """Build a task.

    Args:
        name: one of ``TASKS``; several joined by ``+`` are mixed, and take no options.
        options: the factory's.

    Raises:
        UnknownName: no such task.
        UsageError: an option that the task does not have, or a value that it refuses.
    """
    first, *others = name.split("+")
    if others:
        if options:
            raise UsageError(f"{name} mixes tasks: build each with its own options and add them.")
        task = make_task(first)
        for other in others:
            task += make_task(other)
        return task
    factory = task_factory(name)
    known = inspect.signature(factory).parameters
    for option in options:
        if option not in known:
            hint = did_you_mean(option, known)
            raise UsageError(f"The task {name} has no option {option!r}.{hint} Options: {', '.join(known)}.")
    return factory(**options)
