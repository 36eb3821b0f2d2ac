"""Saves a trainer's state, so that a run can be killed at any time, and restores it."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...errors import RunError
from ..data.assign import assign
from ..data.rollout import names_in
from ..schemes import Stateful
from .card import complete, write_record
from .folder import fitting
from .outcome import Watched

if TYPE_CHECKING:
    from ...agents.llm.policy import LoraPolicy
    from ...envs.core import Game
    from ..data.credit import RoleBaseline
    from ..data.games import Games
    from ..data.memory import PositionMemory
    from ..evaluation.exam import Exam
    from ..learn.learner import Learner
    from ..population.health import Health
    from ..population.pool import Pool
    from ..schemes import Scheme
    from .config import TrainConfig
    from .folder import Run

__all__ = ["Training", "foresee", "put_back", "restore", "save", "taken"]


class Training(Watched, Protocol):
    """The parts of ``loop.Trainer`` that the modules of ``runs`` use."""

    run: Run | None
    updates: int
    foreseen: float
    config: TrainConfig
    game: Game
    games: Games
    scheme: Scheme
    exam: Exam
    policy: LoraPolicy
    pool: Pool
    learner: Learner
    baseline: RoleBaseline
    memory: PositionMemory
    health: Health

    def step(self) -> dict[str, Any]:
        """One update; returns its line for metrics.jsonl."""

    def evaluate(self) -> list[dict[str, Any]]:
        """Evaluate all learners."""


def save(trainer: Training) -> None:
    """Write a checkpoint, and the adapters of all learners and new past selves.

    Past self ``main@25`` is version 25 of player ``main``, even if ``main`` began anew in that update.

    Raises:
        RunError: one could not be written.
    """
    run = trainer.run
    if run is None:
        return
    from safetensors import SafetensorError

    evaluation = run.looked()
    past = {run.past_folder(kept): kept for kept in trainer.pool.kept}
    learners = {run.player_folder(name, trainer.updates): name for name in trainer.pool.live}
    for folder, name in (learners | past).items():
        if folder not in learners and (folder / "README.md").is_file():
            continue  # the past doesn't change
        try:
            if name not in trainer.pool.offloaded:
                trainer.pool.players.save(name, folder)
            write_record(folder, trainer.pool.records[name])
            complete(folder, trainer.policy.loaded, trainer.config, evaluation)
        except (OSError, SafetensorError) as error:
            raise run.unwritten(f"The adapter in {folder}", error) from None
    run.save(trainer.updates, *taken(trainer))


def taken(trainer: Training) -> tuple[dict[str, Any], dict[str, Any]]:
    """Copies of all that the next update depends on: tensors by name, and plain data."""
    model = trainer.pool.players.describe()
    state = {
        "update": trainer.updates,
        "pool": trainer.pool.state_dict(),
        "baseline": trainer.baseline.state_dict(),
        "low": trainer.health.guards.low,
        "sound": trainer.health.sound.updates,
        "model": {"id": model.model, "hash": model.hash},
    }
    if isinstance(trainer.scheme, Stateful):
        state["scheme"] = trainer.scheme.state_dict()
    return trainer.pool.players.state_dict() | {"memory": trainer.memory.state_dict()}, copy.deepcopy(state)


def foresee(trainer: Training) -> float:
    """An upper estimate of an update's seconds: plays and learns from a sixteenth of its groups, then undoes it.

    It is high because work that many games share is done once per update.
    """
    tensors, state = taken(trainer)
    config, update, started = trainer.config, trainer.updates, time.perf_counter()
    groups = config.rollout.games // config.rollout.num_generations
    rng = np.random.default_rng([config.seed, update])
    seats = trainer.scheme.seats(update, groups, trainer.pool, rng)[: max(1, groups // 16)]
    try:
        batch = trainer.games.play(trainer.pool.ready(names_in(seats)), seats, update)
        credit = assign(batch, config.credit, trainer.baseline, trainer.game.info.id, trainer.memory)
        trainer.learner.step([v.tokens for v in batch.visits], credit.advantages, credit.keep, update)
    finally:
        put_back(trainer, tensors, state)
    return (time.perf_counter() - started) * groups / len(seats)


def put_back(trainer: Training, tensors: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Restore the trainer to the state that ``taken`` returned."""
    trainer.pool.players.load_state_dict(tensors)
    earlier = tensors.get("sound", {"updates": {}})  # earlier versions kept it with the tensors, if at all
    trainer.health.sound.updates = dict(state.get("sound", earlier["updates"]))
    if "past" in state:  # from versions with a single learner, whose roles did not name it
        means = {f"main/{role}": mean for role, mean in state["baseline"]["means"].items()}
        pool = {"live": ["main"], "frozen": [], "snapshots": {"main": state["past"]}}
        state = {**state, "pool": pool, "low": {"main": state["low"]}, "baseline": state["baseline"] | {"means": means}}
    trainer.baseline.load_state_dict(state["baseline"])
    trainer.memory.load_state_dict(tensors.get("memory", {}))  # the oldest runs have none
    trainer.pool.load_state_dict(state["pool"])
    if isinstance(trainer.scheme, Stateful):
        trainer.scheme.load_state_dict(state.get("scheme", {}))
    trainer.health.guards.low = state["low"]
    trainer.updates = int(state["update"])


def restore(trainer: Training) -> list[str]:
    """Load the newest undamaged checkpoint; returns warnings about newer ones.

    Raises:
        RunError: see ``Run.load``; or the base model has changed.
    """
    run, model = trainer.run, trainer.pool.players.describe()
    if run is None:
        return []
    found = run.load()
    if found is None:
        run.cut_metrics(0)
        return []
    tensors, state, warnings = found
    with fitting(f"The checkpoint of update {state['update']}"):
        id, digest = str(state["model"]["id"]), str(state["model"]["hash"])
    if digest != model.hash:
        raise RunError(
            f"{run.folder} was trained on {id} with hash {digest[:12]}, "
            f"but {model.model} has {model.hash[:12]}. Name the old model with --model."
        )
    with fitting(f"The checkpoint of update {state['update']}"):
        put_back(trainer, tensors, state)
    run.cut_metrics(trainer.updates)
    return warnings
