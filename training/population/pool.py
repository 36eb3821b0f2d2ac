"""All players that can be seated in a run: learners, their past selves, and others that do not change.

A past self is called ``main@25``: player main as it was after 25 updates.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from ...agents.core import Agent
from ...agents.engines.protocol import Players
from ...errors import UnknownName, UsageError

__all__ = ["Pool"]


class Pool:
    """The players of a run, by name.

    Args:
        players: hold the weights of the learners and of their past selves; an engine.
        agent: makes an agent of one of them, by name.
        max_past: past selves to keep of each player; the oldest is removed.

    ``agents`` holds all players; ``live`` ones learn, ``frozen`` ones have learned and no longer change; ``snapshots``
    are past selves by player, oldest first.
    """

    def __init__(self, players: Players, agent: Callable[[str], Agent], max_past: int) -> None:
        self.players, self._agent, self._max_past = players, agent, max_past
        self.agents: dict[str, Agent] = {}
        self.live: list[str] = []
        self.frozen: list[str] = []
        self.snapshots: dict[str, list[str]] = {}

    def add(self, name: str, agent: Agent | None = None) -> None:
        """Add a player: one that has weights here, and learns, or ``agent``, which does not.

        Raises:
            UsageError: the name is taken.
        """
        if name in self.agents:
            raise UsageError(f"There is already a player {name!r}; choose another name.")
        self.agents[name] = agent or self._agent(name)
        if agent is None:
            self.live.append(name)

    def freeze(self, name: str) -> None:
        """Stop a player's learning.

        Raises:
            UnknownName: no learner has that name.
        """
        self._check(name)
        self.live.remove(name)
        self.frozen.append(name)

    def past(self, name: str) -> list[str]:
        """Names of a player's past selves, oldest first."""
        return self.snapshots.get(name, [])

    def snapshot(self, name: str, update: int) -> str:
        """Keep a learner's current self as a past self; beyond ``max_past`` the oldest is removed.

        Returns:
            The past self's name.

        Raises:
            UnknownName: no learner has that name.
        """
        self._check(name)
        past = self.snapshots.setdefault(name, [])
        if len(past) >= self._max_past:
            self.remove(past[0])
        kept = f"{name}@{update}"
        self.players.add(kept, init_from=name)
        past.append(kept)
        self.agents[kept] = self._agent(kept)
        return kept

    def remove(self, name: str) -> None:
        """Remove a player, with its past selves and weights.

        Raises:
            UnknownName: no player has that name.
        """
        if name not in self.agents:
            raise UnknownName("player", name, self.agents)
        del self.agents[name]
        for kept in list(self.past(name)):
            self.remove(kept)
        self.snapshots.pop(name, None)
        for names in (self.live, self.frozen, *self.snapshots.values()):
            if name in names:  # other players have no weights here
                names.remove(name)
                self.players.remove(name)

    def _own(self) -> list[str]:
        """All who learn or have learned."""
        return [*self.live, *self.frozen, *(kept for past in self.snapshots.values() for kept in past)]

    def _check(self, name: str) -> None:
        if name not in self.live:
            raise UnknownName("player who learns", name, self.live)

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint; the weights are in ``players``."""
        return copy.deepcopy({"live": self.live, "frozen": self.frozen, "snapshots": self.snapshots})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned; load ``players`` first."""
        for name in self._own():
            del self.agents[name]
        held = copy.deepcopy(dict(state))
        self.live, self.frozen, self.snapshots = held["live"], held["frozen"], held["snapshots"]
        self.agents |= {name: self._agent(name) for name in self._own()}
