"""People at the window: a match, the agents in its other seats, and what is clicked, brought together.

Opponents think in a thread of their own, so that the window answers while they do. An answer that comes after its
question was taken back is thrown away.
"""

from __future__ import annotations

import atexit
import importlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...aliases import RUNNING, Action, Player
from ...envs.core import Game
from ..core import Agent, Decision, Turn
from .table import Match, answers, can_undo, winner

if TYPE_CHECKING:
    from ...renderers.window import View

__all__ = ["Session", "Thinker"]

SPEEDS = (4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.0)
"""Seconds between moves when nobody but agents plays."""

SHOWN = 0.35
"""Seconds that a person sees its own move before the answer to it comes."""


LAST_THOUGHT = 30.0
"""Seconds that a language model gets to finish its move before the process ends."""


class Thinker:
    """Agents that think in a thread of their own, one question after the other."""

    def __init__(self, agents: Sequence[Agent | None]) -> None:
        self._agents = agents
        self._asked: queue.SimpleQueue[tuple[int, dict[Player, Turn]] | None] = queue.SimpleQueue()
        self._said: queue.SimpleQueue[tuple[int, dict[Player, Decision] | BaseException]] = queue.SimpleQueue()
        self.ticket = 0
        self.busy = False
        self._thread = threading.Thread(target=self._think, name="coterie-thinker", daemon=True)
        self._thread.start()

    def ask(self, turns: Mapping[Player, Turn]) -> None:
        """Ask the agents of these seats."""
        self.ticket += 1
        self.busy = True
        self._asked.put((self.ticket, dict(turns)))

    def forget(self) -> None:
        """The question that is being thought about is no longer one."""
        self.ticket += 1
        self.busy = False

    def answer(self, wait: float = 0.0) -> dict[Player, Decision] | None:
        """The answer to the last question, once it is there; waits so many seconds for it. Raises what went wrong."""
        end = time.monotonic() + wait
        while True:
            try:
                left = max(0.0, end - time.monotonic())
                ticket, said = self._said.get(timeout=left) if wait else self._said.get_nowait()
            except queue.Empty:
                return None
            if ticket == self.ticket:
                self.busy = False
                if isinstance(said, BaseException):
                    raise said
                return said

    def stop(self) -> None:
        """End the thread once it has finished what it does; waits for a moment only."""
        self.forget()
        self._asked.put(None)
        self._thread.join(timeout=0.2)
        if self._thread.is_alive() and "torch" in sys.modules:
            # A thread that is still within torch when Python ends would abort the process.
            atexit.register(self._thread.join, LAST_THOUGHT)

    def _think(self) -> None:
        while (question := self._asked.get()) is not None:
            ticket, turns = question
            if ticket != self.ticket:
                continue
            try:
                self._said.put((ticket, answers(self._agents, turns)))
            except BaseException as error:
                self._said.put((ticket, error))


class Session:
    """A window and the games that are played in it, one after the other.

    Args:
        begin: from the number of a game (the first is 0) to its beginning.
        agents: who sits in seats 0..P-1; None is a person at this window.
        draw: the drawer that the game was registered with, ``"package.module:function"``; None: words.
        games: how many games agents play among themselves before the window rests; a person asks for new games.
        seconds: how long a move is shown before an agent's next one.
        left: is told every match that is left: it ended and a new one begins, or the window is closed.

    Raises:
        MissingExtra: pygame is not installed.
        UsageError: there is no display.
    """

    def __init__(
        self,
        begin: Callable[[int], Match],
        agents: Sequence[Agent | None],
        draw: str | None,
        *,
        games: int = 1,
        seconds: float | None = None,
        left: Callable[[Match], None] = lambda match: None,
    ) -> None:
        from ...renderers.window import Window

        match = begin(0)
        self.match, self.agents, self._left, self._begin = match, list(agents), left, begin
        self.game: Game = match.game
        self.people = [p for p, agent in enumerate(agents) if agent is None]
        module = draw.partition(":")[0] if draw else f"{__package__}".rpartition(".")[0] + ".renderers.words"
        self._drawer = importlib.import_module(module)
        seats = range(self.game.info.players)
        boxes = [self._drawer.boxes(self.game, size=480, player=p) for p in seats]
        self._has_sides = any(other != boxes[0] for other in boxes)
        self.window = Window(self.game, draw, f"{self.game.info.name}: {' against '.join(match.names)}")
        self.thinker = Thinker(agents)
        self.answers: dict[Player, Decision] = {}
        self.paused = False
        self.flipped = False
        self.seconds = (SHOWN if self.people else 1.0) if seconds is None else seconds
        self._games, self._played = games, 0
        self._changed = time.monotonic()
        self._version = 0
        self._may_see: Player | None = None  # the person before the window, where each sees its own cards alone
        self._last_view: View | None = None
        self._view_key: tuple[object, ...] = ()
        self._single_step = False

    # -- the loop ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Show and play until the window is closed.

        Raises:
            CoterieError: what went wrong with an agent; the match was given to ``left`` before.
        """
        try:
            while self.step(wait=0.02):
                pass
        finally:
            self.close()

    def close(self) -> None:
        """Leave the match, close the window."""
        self.thinker.stop()
        self.window.close()
        self._left(self.match)

    def step(self, wait: float = 0.0) -> bool:
        """One round: show, answer what was clicked, take over what was thought; False once the window is closed."""
        self.window.show(self.view())
        for asked in self.window.poll(wait):
            if asked == "quit":
                return False
            if isinstance(asked, str):
                self._control(asked)
            else:
                self._choose(asked)
        self._ask_agents()
        self._take_answer()
        self._play()
        return True

    def _choose(self, action: Action) -> None:
        seat = self.asked
        if seat is not None and action in self.match.turn(seat).legal_actions:
            self.answers[seat] = Decision(action, self.match.turn(seat).action_to_text(action))

    def _ask_agents(self) -> None:
        if self.thinker.busy or (self.paused and not self._single_step):
            return
        seats = [p for p in self.match.seats() if self.agents[p] is not None and p not in self.answers]
        if seats:
            self.thinker.ask({p: self.match.turn(p) for p in seats})

    def _take_answer(self) -> None:
        wait = 0.0 if self._single_step else self.seconds
        if (self.paused and not self._single_step) or time.monotonic() - self._changed < wait:
            return
        self.answers |= self.thinker.answer() or {}

    def _play(self) -> None:
        seats = self.match.seats()
        if not seats:
            self._next_game()
            return
        if any(p not in self.answers for p in seats):
            return
        self.match.play({p: self.answers[p] for p in seats})
        self._single_step = False
        self._turned()

    def _turned(self) -> None:
        """The position is another one."""
        self.answers = {}
        self._version += 1
        self._changed = time.monotonic()

    def _next_game(self) -> None:
        """Agents among themselves play as many games as were asked for; the last one stays in the window."""
        if self.people or self.paused or self._played + 1 >= self._games:
            return
        if time.monotonic() - self._changed >= 3 * self.seconds:
            self._new()

    # -- controls ------------------------------------------------------------------------------------------------------

    def _control(self, name: str) -> None:
        if name == "undo":
            self._undo()
        elif name == "new":
            self._new()
        elif name == "flip":
            self.flipped = not self.flipped
        elif name == "pause":
            self.paused = not self.paused
        elif name == "step":
            self.paused = self._single_step = True
        elif name == "uncover":
            self._may_see = self.asked
        elif name in ("faster", "slower"):
            order = SPEEDS if name == "slower" else SPEEDS[::-1]
            slower = [s for s in order if (s > self.seconds if name == "slower" else s < self.seconds)]
            self.seconds = slower[-1] if slower else self.seconds

    def _undo(self) -> None:
        """Back to the last decision of a person; where there is none, by one move, and pause."""
        if self.match.undo(self.people or range(self.game.info.players)):
            self.thinker.forget()
            self.paused = self.paused or not self.people
            self._turned()

    def _new(self) -> None:
        self._left(self.match)
        self.thinker.forget()
        self._played += 1
        self.match = self._begin(self._played)
        self._may_see = None
        self._turned()

    # -- what is to be seen --------------------------------------------------------------------------------------------

    @property
    def asked(self) -> Player | None:
        """The person who is to choose now."""
        return next((p for p in self.match.seats() if p in self.people and p not in self.answers), None)

    @property
    def _covered(self) -> bool:
        """Two people before one window, and each may see its own cards alone."""
        return self.game.info.hidden and len(self.people) > 1 and self.asked not in (None, self._may_see)

    def view(self) -> View:
        """What the window shows now."""
        from ...renderers.window import View

        seat, match = self.asked, self.match
        key = (self._version, seat, self.paused, self.seconds, self.flipped, self.thinker.busy, self._may_see)
        if self._last_view is not None and key == self._view_key:
            return self._last_view
        self._view_key = key
        cells: dict[Action, tuple[int, ...]] = {}
        labels: dict[Action, str] = {}
        if seat is not None and not self._covered:
            turn = match.turn(seat)
            cells = {a: tuple(self._drawer.cells(self.game, turn.state, 0, a)) for a in turn.legal_actions}
            labels = {a: turn.action_to_text(a) for a in turn.legal_actions}
        cover = f"player_{seat}: click when nobody else is looking" if self._covered else ""
        self._last_view = View(
            match.state,
            self._eyes(),
            cells,
            labels,
            self._last_cells(),
            match.names,
            tuple(match.seats()),
            self._status(),
            self._controls(),
            cover,
            self._version,
        )
        return self._last_view

    def _eyes(self) -> Player | None:
        """From whose side the board is seen, and with whose eyes."""
        if self.game.info.hidden:
            if len(self.people) > 1:
                return self._may_see if self._may_see is not None else self.people[0]
            return self.people[0] if self.people else None
        side = self.people[0] if len(self.people) == 1 else 0
        side = (side + self.flipped) % self.game.info.players
        return side if side or len(self.people) == 1 else None

    def _last_cells(self) -> tuple[int, ...]:
        if not self.match.plies or self.match.plies[-1].actions is None:
            return ()
        ply = self.match.plies[-1]
        assert ply.actions is not None
        assert ply.before is not None, "worlds have a window of their own"
        return tuple(
            cell for p in ply.seats for cell in self._drawer.cells(self.game, ply.before, 0, int(ply.actions[p]))
        )

    def _status(self) -> str:
        match, seat = self.match, self.asked
        if match.status != RUNNING:
            return self._result()
        if seat is not None:
            return "Your move" if len(self.people) == 1 else f"player_{seat} ({match.names[seat]}) to move"
        thinking = [match.names[p] for p in match.seats() if self.agents[p] is not None]
        if self.paused:
            return f"Paused; {thinking[0]} to move" if thinking else "Paused"
        return f"{' and '.join(thinking)} to move ..." if thinking else ""

    def _result(self) -> str:
        """How it ended, from the side of the only person if there is one."""
        match = self.match
        if match.illegal is not None:
            return f"player_{match.illegal} ({match.names[match.illegal]}) answered with no legal action and loses."
        best, returns = winner(match.returns), match.returns
        points = "" if set(np.abs(returns)) <= {0.0, 1.0} else f" ({' : '.join(f'{r:g}' for r in returns)})"
        if best is None:
            return f"A draw.{points}"
        if len(self.people) == 1:
            return ("You win." if best == self.people[0] else "You lose.") + points
        return f"player_{best} ({match.names[best]}) wins.{points}"

    def _controls(self) -> dict[str, str]:
        controls = {"undo": "Undo"} if can_undo(self.game) and self.match.plies else {}
        controls["new"] = "New game"
        if self._has_sides:
            controls["flip"] = "Flip"
        if not self.people:
            controls |= {"pause": "Play" if self.paused else "Pause", "step": "Step", "slower": "-", "faster": "+"}
        return controls
