"""The running episode, which model calls, requests and stores find through a context variable."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from ...agents.seeds import Seed
from .records import EpisodeRequest, EpisodeState, GenerateResult

__all__ = ["HERE", "Node"]


@dataclass(slots=True)
class Node:
    """An episode of the tree while it runs.

    Attributes:
        request: what was asked for.
        result: what it becomes.
        state: what it works on.
        stream: of its seeds; its place in the tree determines it.
        arena: whose episode it is.
        asks: how many questions it has asked so far.
        children: the episodes it has started so far.
        later: what to do once the whole tree is done, in the order of the tree.
        away: how many of its requests it waits for.
        placed: whether it has one of the places for running episodes.
    """

    request: EpisodeRequest
    result: GenerateResult
    state: EpisodeState
    stream: int
    arena: object
    asks: int = 0
    children: list[Node] = field(default_factory=list)
    later: list[Callable[[], None]] = field(default_factory=list)
    away: int = 0
    placed: bool = False

    def next_seed(self) -> Seed:
        """The seed of the episode's next question."""
        self.asks += 1
        return Seed(self.stream, self.asks - 1)

    def finish(self) -> None:
        """Do what was put off, unless the episode failed; then its children, in order."""
        if not self.result.error:
            for act in self.later:
                act()
        for child in self.children:
            child.finish()


HERE: ContextVar[Node | None] = ContextVar("episode", default=None)
"""The episode that the current task runs."""
