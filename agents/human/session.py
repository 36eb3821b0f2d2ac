"""Games at a window, one after the other: what the windows of boards and of worlds have in common.

Agents think in a thread of their own, so that the window answers while they do. An answer that comes after its
question was taken back is thrown away.
"""

from __future__ import annotations

import atexit
import queue
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from typing import Any, Generic, TypeAlias, TypeVar

from ...aliases import Player
from ..core import Agent, Decision, Turn
from .table import Match, answers

__all__ = ["Session", "Thinker"]

Shown = TypeVar("Shown")
"""A match, or a record that is shown."""

Answer: TypeAlias = Future[dict[Player, Decision]]

LAST_THOUGHT = 30.0
"""Seconds that a language model gets to finish its move before the process ends."""


class Thinker:
    """Agents that think in a thread of their own, one question after the other."""

    def __init__(self, agents: Sequence[Agent | None]) -> None:
        self._agents = agents
        self._asked: queue.SimpleQueue[tuple[Answer, dict[Player, Turn]] | None] = queue.SimpleQueue()
        self._answer: Answer | None = None
        self._thread: threading.Thread | None = None  # begins with the first question

    @property
    def busy(self) -> bool:
        """Whether a question waits for its answer."""
        return self._answer is not None

    def ask(self, turns: Mapping[Player, Turn]) -> None:
        """Ask the agents of these seats."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._think, name="coterie-thinker", daemon=True)
            self._thread.start()
        self._answer = Future()
        self._asked.put((self._answer, dict(turns)))

    def forget(self) -> None:
        """The question that is being thought about is no longer one."""
        if self._answer is not None:
            self._answer.cancel()
        self._answer = None

    def answer(self, wait: float = 0.0) -> dict[Player, Decision] | None:
        """The answer to the last question, once it is there; waits so many seconds for it. Raises what went wrong."""
        if self._answer is None or not futures.wait([self._answer], wait).done:
            return None
        said, self._answer = self._answer, None
        return said.result()

    def stop(self) -> None:
        """End the thread once it has finished what it does; waits for a moment only."""
        self.forget()
        if self._thread is None:
            return
        self._asked.put(None)
        self._thread.join(timeout=0.2)
        if self._thread.is_alive() and "torch" in sys.modules:
            # A thread that is still within torch when Python ends would abort the process.
            atexit.register(self._thread.join, LAST_THOUGHT)

    def _think(self) -> None:
        while (question := self._asked.get()) is not None:
            answer, turns = question
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(answers(self._agents, turns))
                except BaseException as error:
                    answer.set_exception(error)


class Session(ABC, Generic[Shown]):
    """A window and the games in it, one after the other; boards and worlds add the ``window`` and ``step``.

    Args:
        begin: from the number of a game (the first is 0) to its beginning.
        agents: who sits in seats 0..P-1; None is a person at this window.
        games: how many are played before the window rests; a person asks for new ones.
        left: is given every match that is left: it ended and a new one begins, or the window is closed.

    Attributes:
        match: what is shown.
        paused: nothing goes on by itself.
    """

    window: Any

    def __init__(
        self, begin: Callable[[int], Shown], agents: Sequence[Agent | None], games: int, left: Callable[[Match], None]
    ) -> None:
        self.match = begin(0)
        self.agents = list(agents)
        self.thinker = Thinker(self.agents)
        self.answers: dict[Player, Decision] = {}  # to the question that the match asks now
        self.paused = False
        self._begin, self._left, self._games, self._played = begin, left, games, 0
        self._single = False  # one turn, then pause again
        self._version = 0  # rises whenever the state is another one
        self._changed = time.monotonic()

    def run(self) -> None:
        """Show and play until the window is closed.

        Raises:
            CoterieError: what went wrong with an agent; the match was given to ``left`` before.
        """
        try:
            while self.step(wait=0.01):
                pass
        finally:
            self.close()

    def close(self) -> None:
        """Leave the match, close the window."""
        self.thinker.stop()
        self.window.close()
        self._leave()

    @abstractmethod
    def step(self, wait: float = 0.0) -> bool:
        """One round: show, answer what was asked for, play what is due; False once the window is closed."""

    def _ask(self, match: Match, seats: Sequence[Player]) -> None:
        """Ask the agents of these seats, unless they have answered or still think."""
        missing = [p for p in seats if self.agents[p] is not None and p not in self.answers]
        if missing and not self.thinker.busy:
            self.thinker.ask(match.turns(missing))

    def _control(self, name: str) -> None:
        """The controls that every window has."""
        if name == "pause":
            self.paused = not self.paused
        elif name == "step":
            self.paused = self._single = True
        elif name == "new":
            self._new()

    def _turned(self) -> None:
        """The state is another one."""
        self.answers = {}
        self._version += 1
        self._changed = time.monotonic()

    def _next_game(self, rest: float) -> None:
        """The next of as many games as were asked for, so many seconds after the end; the last one stays."""
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
