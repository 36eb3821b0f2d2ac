"""Tasks by name: ``make_task("proposer_solver", batch=16)``.

To add one, write a file here with a factory that returns a ``Task``, and add one line to ``TASKS``. The factory's
keyword arguments, with their types and defaults, are the task's options.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, get_type_hints

from ....envs.typed import STRICT, read
from ....errors import UnknownName, UsageError, did_you_mean
from .task import Task

__all__ = [
    "TASKS",
    "Task",
    "is_task",
    "make_task",
    "read_options",
    "register_task",
    "task_defaults",
    "task_factory",
    "task_options",
]

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
    "proof": "proof:proof",
    "constitution": "constitution:constitution",
    "game": "game:game",
    "debate": "debate:debate",
    "redblue": "redblue:redblue",
    "negotiation": "negotiation:negotiation",
    "elo_arena": "elo_arena:elo_arena",
    "tournament": "tournament:tournament",
}


def task_factory(name: str) -> Callable[..., Task]:
    """The function that builds a task; its signature lists the options.

    Raises:
        UnknownName: no such task.
    """
    module, factory = _place(name)
    found: Callable[..., Task] = getattr(import_module(module, __name__), factory)
    return found


def _place(name: str) -> tuple[str, str]:
    key = name.replace("-", "_")
    if key not in TASKS:
        raise UnknownName("task", name, TASKS)
    module, _, factory = TASKS[key].partition(":")
    return (module if "." in module else f".{module}"), factory


COUNTS = ("batch", "rollouts", "n_solver_rollouts", "samples", "games")
"""Options that no task takes below 1, whatever else they mean to it."""

LARGEST = 1_000_000
"""Most episodes of an update: the product of a task's COUNTS."""


def register_task(name: str, entry_point: str) -> None:
    """Add a task of your own: ``register_task("haiku", "my.module:haiku")``.

    Raises:
        UsageError: the name is taken, or the entry point is not of the form module:factory.
    """
    if name in TASKS:
        raise UsageError(f"There is already a task {name!r}; choose another name.")
    if not re.fullmatch(r"[\w.]+:\w+", entry_point):
        raise UsageError(f"{entry_point!r} is not of the form module:factory.")
    TASKS[name] = entry_point


def is_task(name: str) -> bool:
    """Whether a name means a task, or several joined by ``+``."""
    return all(part.replace("-", "_") in TASKS for part in name.split("+"))


def task_defaults(name: str) -> dict[str, Any]:
    """The settings of runs in which a task differs from others: ``DEFAULTS`` of its module; a mixture has none.

    Raises:
        UnknownName: no such task.
    """
    if "+" in name:
        return {}
    return dict(getattr(import_module(_place(name)[0], __name__), "DEFAULTS", {}))


@cache
def task_options(name: str) -> Any:
    """A frozen dataclass of a task's options, with its factory's docstring; a mixture has none.

    Raises:
        UnknownName: no such task.
    """
    factory = (lambda: None) if "+" in name else task_factory(name)
    hints, fields = get_type_hints(factory), []
    for option, parameter in inspect.signature(factory).parameters.items():
        default = dataclasses.field() if parameter.default is inspect.Parameter.empty else parameter.default
        fields.append((option, hints[option], default))
    made = dataclasses.make_dataclass(
        f"Options of {name}", fields, frozen=True, kw_only=True, namespace={"__pydantic_config__": STRICT}
    )
    made.__doc__ = inspect.getdoc(factory)
    return made


def read_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a factory takes them, from plain data.

    Raises:
        UnknownName: an option that the task does not have.
        UsageError: a value of the wrong type.
    """
    found = read(task_options(name), dict(options), f"the task {name}")
    return {option: getattr(found, option) for option in options}


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
    counts = {option: options.get(option, known[option].default) for option in COUNTS if option in known}
    if math.prod(n for n in counts.values() if isinstance(n, int) and n > 0) > LARGEST:
        asked = " and ".join(f"{option} {value}" for option, value in counts.items())
        raise UsageError(f"{name}: {asked} make more than {LARGEST:,} episodes an update; set smaller numbers.")
    made = factory(**options)
    for option, value in options.items():  # those that the factory itself let pass
        if option in COUNTS and value < 1:
            raise UsageError(f"{option} of the task {name} is {value}; it must be at least 1.")
    return made
