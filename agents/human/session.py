"""Games in a window, one after the other: what the windows of boards and worlds share.

Agents act in a separate thread, so that the window stays responsive meanwhile. If a question is withdrawn, its late
answer is discarded.
"""

from __future__ import annotations

import atexit
import contextlib
import queue
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeAlias, TypeVar

from ...aliases import Player
from ...errors import CoterieError
from ..core import Agent, Decision, Turn
from ..deadline import breathe, unless
from .table import Match, answers

__all__ = ["Session", "Thinker", "reason"]

Shown = TypeVar("Shown")
"""A match, or a replay."""

Answer: TypeAlias = Future[dict[Player, Decision]]

LAST_THOUGHT = 30.0
"""Seconds that the process waits at exit for a language model to finish its move."""


class Thinker:
    """Runs agents in a separate thread, one question at a time.

    Args:
        agents: of seats 0..P-1.
        lock: held while they think, where several threads share agents.
    """

    def __init__(self, agents: Sequence[Agent | None], lock: AbstractContextManager[Any] | None = None) -> None:
        self._agents, self._lock = agents, lock or contextlib.nullcontext()
        self._asked: queue.SimpleQueue[tuple[Answer, dict[Player, Turn], threading.Event] | None] = queue.SimpleQueue()
        self._left = threading.Event()  # set once the current question is withdrawn
        self._answer: Answer | None = None
        self._thread: threading.Thread | None = None  # starts with the first question

    @property
    def busy(self) -> bool:
        """Whether a question is still unanswered."""
        return self._answer is not None

    def ask(self, turns: Mapping[Player, Turn]) -> None:
        """Ask the agents of these seats."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._think, name="coterie-thinker", daemon=True)
            self._thread.start()
        self._answer, self._left = Future(), threading.Event()
        self._asked.put((self._answer, dict(turns), self._left))

    def forget(self) -> None:
        """Withdraw the current question; agents that ``breathe`` or have ``stop()`` end their search of it."""
        if self._answer is not None:
            self._left.set()
            if not self._answer.cancel():
                for agent in self._agents:
                    getattr(agent, "stop", _nothing)()
        self._answer = None

    def answer(self, wait: float = 0.0) -> dict[Player, Decision] | None:
        """The answer to the last question, or None if it is not there within ``wait`` seconds.

        Raises whatever the agent raised.
        """
        if self._answer is None or not futures.wait([self._answer], wait).done:
            return None
        said, self._answer = self._answer, None
        return said.result()

    def stop(self) -> None:
        """Ask the thread to end after its current question; waits at most 0.2 s for it."""
        self.forget()
        if self._thread is None:
            return
        self._asked.put(None)
        self._thread.join(timeout=0.2)
        if self._thread.is_alive() and "torch" in sys.modules:
            # A thread that is still inside torch when Python exits would abort the process.
            atexit.register(self._thread.join, LAST_THOUGHT)

    def _think(self) -> None:
        while (question := self._asked.get()) is not None:
            answer, turns, left = question
            if answer.set_running_or_notify_cancel():
                try:
                    with self._lock, unless(left.is_set):
                        breathe()
                        said = answers(self._agents, turns)
                    answer.set_result(said)
                except BaseException as error:
                    answer.set_exception(error)


def _nothing() -> None:
    """What an agent does that cannot be stopped."""


class Session(ABC, Generic[Shown]):
    """A window and the games in it, one after the other; subclasses for boards and worlds add ``window`` and ``step``.

    Args:
        begin: starts a game, given its number (from 0).
        agents: the agents of seats 0..P-1; None is a person at this window.
        games: how many games start automatically; a person can start more.
        left: called with each match when the next one begins or the window is closed.

    Attributes:
        match: the match or replay that is shown.
        paused: whether the game waits instead of advancing.
    """

    window: Any

    def __init__(
        self, begin: Callable[[int], Shown], agents: Sequence[Agent | None], games: int, left: Callable[[Match], None]
    ) -> None:
        self.match = begin(0)
        self.agents = list(agents)
        self.thinker = Thinker(self.agents)
        self.answers: dict[Player, Decision] = {}  # for the current turn
        self.paused = False
        self._begin, self._left, self._games, self._played = begin, left, games, 0
        self._single = False  # play one turn, then pause again
        self._version = 0  # rises whenever the state changes
        self._changed = time.monotonic()

    def run(self) -> None:
        """Show and play until the window is closed.

        Raises:
            CoterieError: an agent failed; ``left`` has been called with the match.
        """
        try:
            while self.step(wait=0.01):
                pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop the agents' thread, close the window and leave the match."""
        self.thinker.stop()
        self.window.close()
        self._leave()

    @abstractmethod
    def step(self, wait: float = 0.0) -> bool:
        """One round: show, handle events, play what is due; False once the window is closed."""

    @abstractmethod
    def _play(self) -> None:
        """Play what is due."""

    def _ask(self, match: Match, seats: Sequence[Player]) -> None:
        """Ask the agents of these seats that have not answered, unless the thread is busy."""
        missing = [p for p in seats if self.agents[p] is not None and p not in self.answers]
        if missing and not self.thinker.busy:
            self.thinker.ask(match.turns(missing))

    def _control(self, name: str) -> None:
        """Handle the controls that every window has."""
        if name == "pause":
            self.paused = not self.paused
        elif name == "step":
            self.paused = self._single = True
        elif name == "new":
            self._new()

    def _turned(self) -> None:
        """Called when the state has changed."""
        self.answers = {}
        self._version += 1
        self._changed = time.monotonic()

    def _next_game(self, rest: float) -> None:
        """Start the next game ``rest`` seconds after the end of this one; the last of ``games`` stays on screen."""
        if not self.paused and self._played + 1 < self._games and time.monotonic() - self._changed >= rest:
            self._new()

    def _new(self) -> None:
        self._leave()
        self.thinker.forget()
        self._played += 1
        self._single = False
        self.match = self._begin(self._played)
        self._turned()

    def _leave(self) -> None:
        if isinstance(self.match, Match):
            self._left(self.match)


def reason(error: Exception) -> str:
    """An exception as a sentence."""
    said = str(error).strip() or type(error).__name__
    return said if isinstance(error, CoterieError) else f"{type(error).__name__}: {said}"[:500]
