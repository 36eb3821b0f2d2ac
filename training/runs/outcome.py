"""What a run shows while it goes on, and how it ends: the same for language models and nets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .config import AnyConfig
    from .folder import Run

__all__ = ["Outcome", "Watched", "Watcher", "how_to_resume"]


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        reason: ``goal``, ``budget``, ``interrupted`` or ``collapse``. message: one sentence.
        run: the folder. updates: done in all. seconds: since it was started or resumed.
        evaluation: rows of the last evaluation.
    """

    reason: str
    message: str
    run: Path
    updates: int
    seconds: float
    evaluation: list[dict[str, Any]]


class Watched(Protocol):
    """A run as a watcher sees it."""

    @property
    def run(self) -> Run | None:
        """Its folder, if it has one."""
        ...

    @property
    def config(self) -> AnyConfig:
        """What it does."""
        ...

    @property
    def updates(self) -> int:
        """How many are done."""
        ...

    def headline(self) -> str:
        """What learns what, in one line."""
        ...


class Watcher(Protocol):
    """Is shown what happens; see ``display.py``."""

    def start(self, trainer: Watched) -> None:
        """Called once before the first update."""
        ...

    def update(self, row: Mapping[str, Any]) -> None:
        """Called with every line of metrics.jsonl."""
        ...

    def stop(self) -> None:
        """Called once at the end, whatever happened."""
        ...


def how_to_resume(run: Run, update: int) -> str:
    """What to tell who stopped a run."""
    return f"Stopped; update {update} is saved. Continue with: coterie train --run {run.folder} --resume"
