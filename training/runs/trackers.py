"""Logs a run's metrics to trackers: TensorBoard, wandb."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from ...errors import UnknownName, needs
from .config import AnyConfig, to_dict
from .curves import title

__all__ = ["TRACKERS", "Tracker", "make_tracker", "scalars"]

TRACKERS = ("tensorboard", "wandb", "none")


class Tracker(Protocol):
    """Receives metrics and stores them."""

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        """Log an update's metrics."""
        ...

    def finish(self) -> None:
        """Called when the run is over."""
        ...


def scalars(row: Mapping[str, Any]) -> dict[str, float]:
    """The numbers in a line of metrics; those of evaluations as ``eval_OPPONENT/NAME``."""
    found = {name: float(v) for name, v in row.items() if isinstance(v, int | float) and name != "update"}
    for player, own in (*row.get("players", {}).items(), *((name, row[name]) for name in ("task",) if name in row)):
        found |= {f"{player}/{name}": value for name, value in scalars(own).items()}
    for e in row.get("eval", ()):
        found |= {f"eval_{title(e)}/{name}": float(value) for name, value in e.get("figures", {}).items()}
        for name in ("win", "draw", "loss", "solved", "sampled", "entropy", "exploitability", "reward"):
            if e.get(name) is not None:
                found[f"eval_{title(e)}/{name}" + (f"_{e['player']}" if "player" in e else "")] = float(e[name])
    return found


def make_tracker(name: str, folder: Path, config: AnyConfig, update: int) -> Tracker | None:
    """The tracker that ``--report-to`` names; None for ``none``.

    The folder's name is the run's name, its configuration is logged as hyperparameters. A resumed run logs again from
    ``update`` on. wandb's project is ``coterie``, unless the environment's WANDB_PROJECT names another.

    Raises:
        UnknownName: no such tracker.
        MissingExtra: its package is not installed.
    """
    if name not in TRACKERS:
        raise UnknownName("tracker", name, TRACKERS)
    if name == "none":
        return None
    if name == "tensorboard":
        return _TensorBoard(folder, config, update)
    with needs(f"--report-to {name}", "track"):
        module = importlib.import_module(name)
    more = {"id": folder.name, "dir": str(folder)} if name == "wandb" else {}
    project = os.environ.get("WANDB_PROJECT", "coterie")
    module.init(project=project, name=folder.name, config=_flat(to_dict(config)), resume="allow", **more)
    return module


class _TensorBoard:
    """Event files in RUN/tensorboard, with metrics and hyperparameters."""

    def __init__(self, folder: Path, config: AnyConfig, update: int) -> None:
        with needs("TensorBoard's files", "train"):
            from torch.utils.tensorboard import SummaryWriter
            from torch.utils.tensorboard.summary import hparams
        self.writer = cast("Any", SummaryWriter(str(folder / "tensorboard"), purge_step=update))
        plain = {k: v if isinstance(v, bool | int | float) else str(v) for k, v in _flat(to_dict(config)).items()}
        for summary in hparams(plain, {"reward": 0.0}):
            self.writer.file_writer.add_summary(summary)

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        for name, value in numbers.items():
            self.writer.add_scalar(name, value, step)

    def finish(self) -> None:
        self.writer.close()


def _flat(data: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """``{"loss": {"beta": 0.1}}`` as ``{"loss.beta": 0.1}``."""
    found: dict[str, Any] = {}
    for name, value in data.items():
        found |= _flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return found
