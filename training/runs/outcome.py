"""How runs are watched, and how they end: the same for language models and nets."""

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
        run: the folder. updates: finished in all. seconds: since it was started or resumed.
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
        """Its configuration."""
        ...

    @property
    def updates(self) -> int:
        """Number of finished updates."""
        ...

    def headline(self) -> str:
        """The game and the model in one line."""
        ...


class Watcher(Protocol):
    """Receives a run's progress; see ``display.py``."""

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
    """The message for a user who stopped a run."""
    game = str(getattr(run.config, "game", ""))
    named = f"{game.removesuffix('-v0')} " if game.startswith("pettingzoo:") else ""  # only who names it may import it
    how = f"coterie train {named}--run {run.folder} --resume"
    if game.startswith("play:"):
        how = f"train(model, play, run={str(run.folder)!r}, resume=True)"
    return f"Stopped; update {update} is saved. Continue with: {how}"
