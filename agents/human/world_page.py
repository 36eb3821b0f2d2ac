"""People and agents in a world on a page: what one tab of a browser plays; a server carries the messages.

A person sees the whole map, as in the window, and beside it what the selected agent is told.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import numpy as np

from ...aliases import RUNNING, Player
from ...envs.core import Game
from ..core import Agent
from .adviser import Adviser
from .paged import Paged, Request
from .replayed import Replayed
from .session import Thinker, reason
from .table import Match
from .world import WorldGame, beside_drawer

__all__ = ["PageWorld", "live_of"]

_INTENTION: Final = re.compile("(attack|gift) [1-9]|[a-z]{1,9}")


class PageWorld(WorldGame, Paged[Match | Replayed]):
    """A world on a page; with several people, they share the page.

    Args:
        begin, agents, people, lock: see ``world.WorldGame``.
        live: ``"package.module:class"`` of what tells the page about the world (``renderers.web.live``).
        adviser: gives hints.
    """

    def __init__(
        self,
        begin: Callable[[int], Match],
        agents: Sequence[Agent | None],
        live: str,
        *,
        people: Sequence[Player] = (),
        adviser: Adviser | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        super().__init__(begin, agents, people=people, lock=lock)
        module, _, name = live.partition(":")
        self._live: Any = getattr(importlib.import_module(module), name)(self.game)
        self.adviser, self._advice = adviser, Thinker([adviser] * self.game.info.players, lock)
        self._note, self._hint = "", ""
        self._slot, self._plane = self.own, 0  # what the page looks at
        self._parts = 0  # messages since the last whole one

    # -- what happens --------------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether nothing happens before a person does something."""
        waiting = (self.paused and not self._single) or self.failed or self.match.status != RUNNING
        return bool(waiting) and not self._advice.busy

    def step(self, wait: float = 0.0) -> bool:
        """Play what is due; whether anything has changed. An agent's failure becomes the text ``failed``."""
        before = self._stamp()
        self._try()
        self._take_advice()
        return self._stamp() != before

    def _stamp(self) -> tuple[object, ...]:
        return self._version, self.own, self.failed, self._note, self._hint, self._advice.busy

    def do(self, asked: Request) -> None:
        """Do what a person asks for; what makes no sense now is ignored."""
        self._note = ""
        slot = asked.action if 0 <= asked.action < self.game.info.players else None
        if asked.do == "all":
            self._live.forget()
        elif asked.do == "intend" and _INTENTION.fullmatch(asked.name):
            self.intend(asked.name)
        elif asked.do == "look":
            self._slot, self._plane = slot, asked.plane
        elif asked.do == "take" and slot is not None:
            self.take(slot)
        elif asked.do == "hint" and self.own is not None and self.match.status == RUNNING:
            self._advice.ask(self.match.turns([self.own]))
        elif asked.do == "retry":
            self.failed = ""
        elif asked.do in ("release", *dict(self._controls())):
            self._control(asked.do)

    def _take_advice(self) -> None:
        try:
            found = self._advice.answer()
        except Exception as error:  # whatever a player raises
            self._note = f"No hint: {reason(error)}"
            return
        for seat, decision in (found or {}).items():
            if self.adviser is not None and decision.action is not None:
                did = self.game.action_to_text(self.match.state, 0, decision.action)
                self._hint = f"{self.adviser.name} would play {did} with agent {seat}."

    def _turned(self) -> None:
        super()._turned()
        self._advice.forget()
        self._hint = ""

    def _new(self) -> None:
        super()._new()
        self._live.forget()

    # -- what is shown -------------------------------------------------------------------------------------------------

    def data(self, first: bool = True) -> dict[str, Any]:
        """What the page shows, as plain data.

        Args:
            first: whether the page knows nothing yet; otherwise it is told what has changed, and ``part`` counts.
        """
        if first:
            self._live.forget()
        match, game, own = self.match, self.game, self.own
        rewards = match.plies[-1].rewards if match.plies else np.zeros(game.info.players)
        live = self._live.now(match.state, rewards, match.returns)
        self._parts = 0 if "world" in live else self._parts + 1
        told: dict[str, Any] = {
            "version": self._version,
            "part": self._parts,
            "live": live,
            "own": own,
            "people": self.people,
            "status": self._status(),
            "over": match.status != RUNNING,
            "paused": self.paused,
            "rate": self.rate,
            "controls": [["retry", "Try again"]] * bool(self.failed)
            + [[name, label] for name, label in self._controls()],
            "note": self._note or self._hint,
            "failed": self.failed,
            "busy": self._advice.busy,
            "able": [],
            "seen": None if self._slot is None else self._live.seen(match.state, self._slot, self._plane),
        }
        if own is not None and match.status == RUNNING:
            told["able"] = self._live.able(match.state, own, game.legal_mask(match.state, 0, own))
        if not self._parts:
            told |= {"formats": [".json"], "verbs": self._live.verbs(), "keys": self._live.keys()}
            told["seats"] = [
                {"name": name, "player": player} for name, player in zip(game.info.agents, match.names, strict=True)
            ]
        return told


def live_of(game: Game) -> str:
    """What tells a page about the world, ``"package.module:class"``: ``LIVE`` in its drawer's module.

    Raises:
        UsageError: there is none.
    """
    return beside_drawer(game, "LIVE", f"cannot be played in a browser; play it with coterie play {game.info.name}.")
