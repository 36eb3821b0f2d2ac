"""Everybody who can be seated in a run: players who learn, their past selves, others who stay what they are.

A past self is called ``main@25``: player main as it was after 25 updates.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...agents.core import Agent
from ...errors import UnknownName, UsageError

__all__ = ["Bank", "Pool"]


class Bank(Protocol):
    """What a pool needs of an engine."""

    def add(self, name: str, init_from: str | None = None) -> object:
        """Add a player with a fresh adapter, or with another's weights."""
        ...

    def remove(self, name: str) -> None:
        """Remove a player."""
        ...


class Pool:
    """The players of a run, by name.

    Args:
        bank: holds the adapters of those who learn, and their past selves'.
        agent: a player of the bank as an agent.
        max_past: past selves that are kept of each player; the oldest leaves.

    ``agents`` are everybody; ``live`` learn, ``frozen`` have learned and stay what they are; ``snapshots`` are past
    selves by player, oldest first.
    """

    def __init__(self, bank: Bank, agent: Callable[[str], Agent], max_past: int) -> None:
        self._bank, self._agent, self._max_past = bank, agent, max_past
        self.agents: dict[str, Agent] = {}
        self.live: list[str] = []
        self.frozen: list[str] = []
        self.snapshots: dict[str, list[str]] = {}

    def add(self, name: str, agent: Agent | None = None) -> None:
        """Add a player of the bank, who learns; one that comes as an ``agent`` of its own stays what it is.

        Raises:
            UsageError: there is one of that name.
        """
        if name in self.agents:
            raise UsageError(f"There is a player {name!r} already; take another name.")
        self.agents[name] = agent or self._agent(name)
        if agent is None:
            self.live.append(name)

    def freeze(self, name: str) -> None:
        """Let a player stay what it is from now on.

        Raises:
            UnknownName: nobody of that name learns.
        """
        self._check(name)
        self.live.remove(name)
        self.frozen.append(name)

    def past(self, name: str) -> list[str]:
        """Names of a player's past selves, oldest first."""
        return self.snapshots.get(name, [])

    def snapshot(self, name: str, update: int) -> str:
        """Keep a player who learns as it is now; the oldest of too many past selves leaves.

        Returns:
            The past self's name.

        Raises:
            UnknownName: nobody of that name learns.
        """
        self._check(name)
        past = self.snapshots.setdefault(name, [])
        if len(past) >= self._max_past:
            self.remove(past[0])
        kept = f"{name}@{update}"
        self._bank.add(kept, init_from=name)
        past.append(kept)
        self.agents[kept] = self._agent(kept)
        return kept

    def remove(self, name: str) -> None:
        """Remove whoever is called so, with past selves and weights.

        Raises:
            UnknownName: nobody is.
        """
        if name not in self.agents:
            raise UnknownName("player", name, self.agents)
        del self.agents[name]
        for kept in list(self.past(name)):
            self.remove(kept)
        self.snapshots.pop(name, None)
        for names in (self.live, self.frozen, *self.snapshots.values()):
            if name in names:  # others have their weights elsewhere
                names.remove(name)
                self._bank.remove(name)

    def _own(self) -> list[str]:
        """Whose weights lie in the bank."""
        return [*self.live, *self.frozen, *(kept for past in self.snapshots.values() for kept in past)]

    def _check(self, name: str) -> None:
        if name not in self.live:
            raise UnknownName("player who learns", name, self.live)

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint; the weights are the bank's."""
        return copy.deepcopy({"live": self.live, "frozen": self.frozen, "snapshots": self.snapshots})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` gave; load the bank first."""
        for name in self._own():
            del self.agents[name]
        held = copy.deepcopy(dict(state))
        self.live, self.frozen, self.snapshots = held["live"], held["frozen"], held["snapshots"]
        self.agents |= {name: self._agent(name) for name in self._own()}
