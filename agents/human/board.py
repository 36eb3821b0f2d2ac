"""People and agents at a board game, whatever shows it: a window (``window``) or a page (``browser``)."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...aliases import RUNNING, Action, Player
from ...envs.core import Game
from ...envs.words import SAY, TextGame
from ...errors import ActionError
from ..core import Agent, Decision
from .adviser import Adviser
from .clock import told_time
from .history import History
from .session import Session, Thinker, reason
from .table import Match, can_resign, can_undo, winner

if TYPE_CHECKING:
    from ...renderers.panel import View

__all__ = ["BoardGame"]

SPEEDS = (4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.0)
"""Seconds between moves when only agents play."""

SHOWN = 0.35
"""Seconds that a person's move is shown before an agent's reply."""

WORDS = "coterie.renderers.words:draw"


class BoardGame(Session[Match]):
    """Board games, one after the other; subclasses show ``view()`` and pass on what a person does.

    Args:
        begin, agents, games, left: see ``session.Session``.
        draw: the drawer that the game is registered with, ``"package.module:function"``; None shows text.
        seconds: how long a move is shown before an agent's next one; None: 0.35 with a person, else 1.
        adviser: gives hints, and judges the draws that people offer to agents; None: no hints.
        lock: held while agents think, where other games share them.

    Attributes:
        people: the seats of people.
        talk: the game, if messages may come with its actions.
        drawer: the drawer's module, with ``boxes`` and ``cells``.
        history: what has happened, as viewers may know it.
        flipped: whether the board is shown from the other side.
        offered: the person who offers a draw.
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
        adviser: Adviser | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        super().__init__(begin, agents, games, left)
        self.thinker = Thinker(self.agents, lock)
        self.game: Game = self.match.game
        self.people = [p for p, agent in enumerate(agents) if agent is None]
        self.drawer: ModuleType = importlib.import_module((draw or WORDS).partition(":")[0])
        self.history = History(self.game, self.drawer)
        self.talk = self.history.talk
        self.adviser, self._advice = adviser, Thinker([adviser] * self.game.info.players, lock)
        self.offered: Player | None = None
        self._asked_for = ""  # of the adviser: "hint" or "offer"
        self._hint: tuple[int, Decision] | None = None  # the version of the position, and what was advised
        self._note = ""  # what the person is told
        shown = self.history.shown(self.match.state)[0]
        boxes = [self.drawer.boxes(shown, size=480, player=p) for p in range(self.game.info.players)]
        self._has_sides = any(other != boxes[0] for other in boxes)
        self.flipped = False
        self.seconds = (SHOWN if self.people else 1.0) if seconds is None else seconds
        self._may_see: Player | None = None  # the person at the screen, in games with hidden cards
        self._now: float | None = None  # until when time was counted; None: the game has not been shown yet
        self._spent = [0.0] * self.game.info.players  # seconds that each seat has thought
        self._last_view: View | None = None
        self._view_key: tuple[object, ...] = ()

    @property
    def touched(self) -> bool:
        """Whether a person has moved in this match."""
        return any(seat in self.people for ply in self.match.plies for seat in ply.seats)

    def choose(self, action: Action, message: str = "") -> None:
        """Play this action, with talk after a message; a note tells why something cannot be said."""
        seat = self.asked
        if seat is None:
            return
        turn = self.match.turn(seat)
        if not self.talk:
            if action in turn.legal_actions and not isinstance(self.game, TextGame):
                self.answers[seat] = Decision(action, turn.action_to_text(action))
            return
        if action in self.talk.inner.legal_actions(self.talk.rows(turn.state[0]), 0, seat):
            self._say(self.talk.join(turn.state, 0, message.strip(), action))

    def say(self, words: str) -> None:
        """Say this in a game of words; a note tells why something cannot be said."""
        if self.asked is not None and isinstance(self.game, TextGame):
            self._say(words)

    def _say(self, words: str) -> None:
        seat = self.asked
        assert seat is not None
        try:
            self.match.turn(seat).parse_action(words)
        except ActionError as error:
            self._note = str(error)
            return
        self.answers[seat] = Decision(SAY, words)
        self._forget_words()

    def _forget_words(self) -> None:
        """Begin a new message."""
        self._note = ""

    def _play(self) -> None:
        """Ask the agents at once, and play their moves once the last move has been shown long enough."""
        seats = self.match.seats()
        if self._single or not self.paused:
            self._ask(self.match, seats)
            if self._single or time.monotonic() - self._changed >= self.seconds:
                self.answers |= self.thinker.answer() or {}
        if seats and all(p in self.answers for p in seats):
            self.match.play({p: self.answers[p] for p in seats})
            self._single = False
            self._turned()
        elif not seats and not self.people:
            self._next_game(3 * self.seconds)

    # -- controls ------------------------------------------------------------------------------------------------------

    def _control(self, name: str) -> None:
        if name == "undo":
            self._undo()
        elif name == "flip":
            self.flipped = not self.flipped
        elif name == "uncover":
            self._may_see = self.asked
            self._forget_words()  # the other person's
        elif name in ("faster", "slower"):
            order = SPEEDS if name == "slower" else SPEEDS[::-1]
            slower = [s for s in order if (s > self.seconds if name == "slower" else s < self.seconds)]
            self.seconds = slower[-1] if slower else self.seconds
        elif name in ("hint", "offer") and self.asked is not None:
            self.offered = self.asked if name == "offer" else self.offered
            if name == "hint" or len(self.people) == 1:
                self._asked_for = name
                self._advice.ask(self.match.turns([self.asked]))
        elif name == "accept":
            self._end(self.match.agree)
        elif name == "decline":
            self.offered = None
        elif name == "resign":
            seat = self.people[0] if len(self.people) == 1 else self.asked
            if seat is not None:
                self._end(lambda: self.match.resign(seat))
        else:
            super()._control(name)

    def _end(self, how: Callable[[], None]) -> None:
        how()
        self.thinker.forget()
        self._turned()

    def _take_advice(self) -> None:
        """Keep a hint that has come, or answer an offer; a note tells why not."""
        seat = self.asked
        try:
            found = self._advice.answer()
        except Exception as error:  # whatever a player raises
            why = reason(error)
            self._note = f"No hint: {why}" if self._asked_for == "hint" else f"The draw is declined: {why}"
            self._asked_for, self.offered = "", None
            return
        if found is None or seat not in found:
            return
        asked, self._asked_for = self._asked_for, ""
        if asked == "hint":
            self._hint = self._version, found[seat]
            return
        assert self.adviser is not None
        why = self.adviser.declines(self.match.turn(seat), found[seat])
        if not why:
            self._end(self.match.agree)
            return
        self._note, self.offered = f"The draw is declined: {why}.", None

    def _turned(self) -> None:
        super()._turned()
        self._advice.forget()
        self.offered, self._asked_for, self._note = None, "", ""
        self._now = time.monotonic()  # what the change took is nobody's time

    def _pass_time(self, *, counted: bool = True) -> None:
        """Count the time since the last call as that of the seat to move, whose game ends if none is left."""
        now = time.monotonic()
        passed, self._now = 0.0 if self._now is None else now - self._now, now
        if self.paused or self._covered or not counted:
            return
        for seat in self.match.seats():
            self._spent[seat] += passed
            if self.match.clock:
                self.match.clock.spend(seat, passed)
                if self.match.clock.flagged(seat):
                    self._end(partial(self.match.flag, seat))

    def times(self) -> tuple[str, ...]:
        """What the clocks show, seat by seat: the time that is left, without a clock the time that was used."""
        if self.match.clock:
            return tuple(map(told_time, self.match.clock.left))
        return tuple(told_time(int(seconds)) for seconds in self._spent)

    def _undo(self) -> None:
        """Go back to a person's last decision; where only agents play, go back one move and pause."""
        if self.match.undo(self.people or range(self.game.info.players)):
            self.thinker.forget()
            self.paused = self.paused or not self.people
            self._turned()

    def _new(self) -> None:
        self._may_see = None
        self._forget_words()
        super()._new()
        self._spent = [0.0] * self.game.info.players

    # -- what is shown -------------------------------------------------------------------------------------------------

    @property
    def asked(self) -> Player | None:
        """The person to move now, or None."""
        return next((p for p in self.match.seats() if p in self.people and p not in self.answers), None)

    @property
    def _covered(self) -> bool:
        """Whether the board is covered: several people share the screen, and each may see only its own cards."""
        if not self.game.info.hidden or len(self.people) < 2:
            return False
        return self.asked not in (None, self._may_see) or (self._may_see is None and self.match.status == RUNNING)

    def _cover(self) -> str:
        if not self._covered:
            return ""
        return (
            "No person is to move yet"
            if self.asked is None
            else f"player_{self.asked}: click when nobody else is looking"
        )

    def view(self) -> View:
        """What is shown."""
        from ...renderers.panel import View

        seat, match = self.asked, self.match
        busy = self.thinker.busy
        wanted = self.offered, self._asked_for, self._note
        key = (self._version, seat, self.paused, self.seconds, self.flipped, busy, self._may_see, wanted)
        if self._last_view is not None and key == self._view_key:
            return self._last_view
        self._view_key = key
        cells: dict[Action, tuple[int, ...]] = {}
        labels: dict[Action, str] = {}
        game, state = self.history.shown(match.state)
        if seat is not None and not self._covered and not isinstance(game, TextGame):
            legal = game.legal_actions(state, 0, seat)
            cells = {a: tuple(self.drawer.cells(game, state, 0, a)) for a in legal}
            labels = {a: game.action_to_text(state, 0, a) for a in legal}
        self._last_view = View(
            state,
            self._eyes(),
            cells,
            labels,
            self.history.cells(match, self._eyes()),
            match.names,
            tuple(match.seats()),
            self._status(),
            self._controls(),
            self._cover(),
            self._version,
            self._said(),
        )
        return self._last_view

    def _eyes(self) -> Player | None:
        """The seat from whose side, and with whose information, the board is shown; None for a spectator."""
        if self.game.info.hidden:
            if len(self.people) > 1:
                return self._may_see if self._may_see is not None else self.people[0]
            return self.people[0] if self.people else None
        side = self.people[0] if len(self.people) == 1 else 0
        side = (side + self.flipped) % self.game.info.players
        return side if side or len(self.people) == 1 else None

    def _said(self) -> tuple[tuple[Player, str], ...]:
        """What the viewer heard, spectators everything; and what the person who types is told."""
        from ...renderers.talking import NOTE

        if not self.talk:
            return ()
        heard = self.history.said(self.match, self._eyes())
        return (*heard, *([(NOTE, self._note)] if self._note else []))

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
        """The result, addressed to the person if there is only one."""
        match = self.match
        if match.illegal is not None:
            return f"player_{match.illegal} ({match.names[match.illegal]}) gave an illegal answer and loses."
        if match.ended and winner(match.returns) is None:
            return f"{match.ended}."
        best, returns = winner(match.returns), match.returns
        points = "" if set(np.abs(returns)) <= {0.0, 1.0} else f" ({' : '.join(f'{r:g}' for r in returns)})"
        if best is None:
            return f"A draw.{points}"
        if match.ended:
            points = f" {match.ended}."
        if len(self.people) == 1:
            return ("You win." if best == self.people[0] else "You lose.") + points
        return f"player_{best} ({match.names[best]}) wins.{points}"

    def _controls(self) -> dict[str, str]:
        controls = {"undo": "Undo"} if can_undo(self.game) and self.match.plies else {}
        controls["new"] = "New game"
        if self._has_sides:
            controls["flip"] = "Flip"
        seat = self.asked
        if seat is not None and not self._covered and not self._asked_for and self.adviser is not None:
            controls["hint"] = "Hint"
        if can_resign(self.game) and self.people and self.match.status == RUNNING:
            if self.offered is not None and len(self.people) > 1:
                controls = {"accept": "Accept the draw", "decline": "Decline", **controls}
            elif seat is not None and not self._asked_for and (len(self.people) > 1 or self.adviser is not None):
                controls["offer"] = "Offer a draw"
            controls["resign"] = "Resign"
        if not self.people:
            controls |= {"pause": "Play" if self.paused else "Pause", "step": "Step", "slower": "-", "faster": "+"}
        return controls

    def _hinted(self) -> tuple[str, tuple[int, ...]] | None:
        """What the adviser would play here, in words, and its cells; None if nothing was advised."""
        if self._hint is None or self._hint[0] != self._version or self.asked is None:
            return None
        game, state = self.history.shown(self.match.state)
        decision = self._hint[1]
        if isinstance(game, TextGame):
            return decision.text, ()
        try:
            action = self.talk.split(self.match.state, 0, decision.text).action if self.talk else decision.action
        except ActionError:
            return None
        if action is None:
            return None
        return game.action_to_text(state, 0, action), tuple(self.drawer.cells(game, state, 0, action))
