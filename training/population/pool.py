"""All players that can be seated in a run: learners, their past selves, and others that do not change.

A past self is called ``main@25``: player main as it was after 25 updates.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...agents.core import Agent
from ...agents.engines.protocol import Players
from ...errors import UnknownName, UsageError

__all__ = ["PlayerRecord", "Pool"]


@dataclass(frozen=True)
class PlayerRecord:
    """What belongs to a player beside its weights.

    Attributes:
        role: in a league: main, main_exploiter or league_exploiter.
        parent: whose weights it began with; empty: its own.
        genome: plain data that breeding may use, such as a learning rate.
        persona: a text that stands before the rules in whatever it is asked.
    """

    role: str = ""
    parent: str = ""
    genome: Mapping[str, Any] = field(default_factory=dict)
    persona: str = ""


class Pool:
    """The players of a run, by name.

    Args:
        players: hold the weights of the learners and of their past selves; an engine.
        agent: makes an agent of one of them, by name.
        max_past: past selves to keep of each player; the oldest is removed.
        shelf: the folder in which a player's weights may wait; None: all stay in memory.

    ``agents`` holds all players; ``live`` ones learn, ``frozen`` ones have learned and no longer change; ``snapshots``
    are past selves by player, oldest first. ``lineage`` says where players come from, in order of time: ``player``,
    ``how`` (snapshot, reset, inherit or breed), ``update``, and ``parents`` with their shares. ``renewed`` are those
    whose weights were replaced, for others to take note and clear. ``records`` are of those who learn or have learned;
    ``personas`` are theirs, where there are any. ``offloaded`` are those whose weights wait on disk: they are no
    ``agents`` until ``ready`` loads them.
    """

    def __init__(
        self,
        players: Players,
        agent: Callable[[str], Agent],
        max_past: int,
        shelf: Callable[[str], Path] | None = None,
    ) -> None:
        self.players, self._agent, self._max_past, self._shelf = players, agent, max_past, shelf
        self.offloaded: list[str] = []
        self.agents: dict[str, Agent] = {}
        self.live: list[str] = []
        self.frozen: list[str] = []
        self.snapshots: dict[str, list[str]] = {}
        self.lineage: list[dict[str, Any]] = []
        self.renewed: list[str] = []
        self.records: dict[str, PlayerRecord] = {}
        self.personas: dict[str, str] = {}

    def add(self, name: str, agent: Agent | None = None) -> None:
        """Add a player: one that has weights here, and learns, or ``agent``, which does not.

        Raises:
            UsageError: the name is taken.
        """
        if name in self.agents or name in self.offloaded:
            raise UsageError(f"There is already a player {name!r}; choose another name.")
        self.agents[name] = agent or self._agent(name)
        if agent is None:
            self.live.append(name)
            self._record(name, PlayerRecord())

    def describe(self, name: str, **changes: Any) -> None:
        """Change fields of a player's record.

        Raises:
            UnknownName: no player who learns or has learned has that name.
            UsageError: a genome that isn't plain data.
        """
        self._check(name, self._own())
        try:
            json.dumps(changes.get("genome", {}))
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"The genome of {name} cannot be saved: {error}. Use numbers, texts, lists, dicts."
            ) from None
        self._record(name, dataclasses.replace(self.records[name], **changes))

    def _record(self, name: str, record: PlayerRecord) -> None:
        self.records[name] = record
        self.personas.pop(name, None)
        if record.persona:
            self.personas[name] = record.persona

    def offload(self, name: str) -> None:
        """Write the weights of a player who doesn't learn to disk, and free their memory.

        Raises:
            UnknownName: no player who has learned, or past self, has that name.
            UsageError: there is no folder to write to.
        """
        self._check(name, [*self.frozen, *self.kept])
        if self._shelf is None:
            raise UsageError(f"{name} cannot wait on disk: this pool has no folder. Give the run one.")
        if name not in self.offloaded:
            self.players.save(name, self._shelf(name))
            self.players.remove(name)
            del self.agents[name]
            self.offloaded.append(name)

    def ready(self, names: Iterable[str]) -> Mapping[str, Agent]:
        """All agents, after loading the weights of those players that wait on disk."""
        for name in dict.fromkeys(names):
            if name in self.offloaded and self._shelf is not None:
                self.players.load(name, self._shelf(name))
                self.offloaded.remove(name)
                self.agents[name] = self._agent(name)
        return self.agents

    def rest(self, most: int, busy: Collection[str]) -> None:
        """Offload past selves until at most so many are in memory, oldest first; not those that are ``busy``."""
        held = [name for name in self.kept if name not in self.offloaded]
        for name in [name for name in held if name not in busy][: max(0, len(held) - most)]:
            self.offload(name)

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

    def snapshot(self, name: str, update: int, *, bounded: bool = True) -> str:
        """Keep a learner's current self as a past self.

        Args:
            name: the learner.
            update: updates done so far.
            bounded: beyond ``max_past`` the oldest is removed; False keeps all.

        Returns:
            The past self's name.

        Raises:
            UnknownName: no learner has that name.
        """
        self._check(name)
        past = self.snapshots.setdefault(name, [])
        if bounded and len(past) >= self._max_past:
            self.remove(past[0])
        kept = f"{name}@{update}"
        self.players.add(kept, init_from=name)
        past.append(kept)
        self.agents[kept] = self._agent(kept)
        self._record(kept, dataclasses.replace(self.records[name], parent=name))
        self._note(kept, "snapshot", update, {name: 1.0})
        return kept

    def reset(self, name: str, update: int) -> None:
        """Give a learner the weights with which it began, without moments.

        Raises:
            UnknownName: no learner has that name.
        """
        self._check(name)
        self.players.reset(name)
        self._renew(name, "reset", update, {})

    def inherit(self, name: str, parent: str, update: int) -> None:
        """Give a learner the weights, moments, genome and persona of another player.

        Raises:
            UnknownName: no learner has that name, or no player that of the parent.
        """
        self._check(name)
        self._check(parent, self._own())
        self.ready([parent])
        self.players.copy(parent, name, moments=True)
        self._record(name, dataclasses.replace(self.records[parent], role=self.records[name].role, parent=parent))
        self._renew(name, "inherit", update, {parent: 1.0})

    def breed(
        self,
        name: str,
        parents: Mapping[str, float],
        update: int,
        *,
        mutation: float = 0.0,
        layers: Sequence[str] = (),
        seed: int = 0,
    ) -> None:
        """Give a learner a weighted mixture of other players' weights, without moments; see ``LoraBank.breed``.

        Its genome and persona stay; ``describe`` changes them.

        Raises:
            UnknownName: no learner has that name, or no player that of a parent.
            UsageError: no parents, or numbers out of bounds.
        """
        self._check(name)
        for parent in parents:
            self._check(parent, self._own())
        self.ready(parents)
        self.players.breed(name, parents, mutation=mutation, layers=layers, seed=seed)
        total = sum(parents.values())
        self._record(name, dataclasses.replace(self.records[name], parent=max(parents, key=lambda who: parents[who])))
        self._renew(name, "breed", update, {parent: weight / total for parent, weight in parents.items()})

    def remove(self, name: str) -> None:
        """Remove a player, with its past selves and weights.

        Raises:
            UnknownName: no player has that name.
        """
        if name not in self.agents and name not in self.offloaded:
            raise UnknownName("player", name, [*self.agents, *self.offloaded])
        self.agents.pop(name, None)
        self.records.pop(name, None)
        self.personas.pop(name, None)
        for kept in list(self.past(name)):
            self.remove(kept)
        self.snapshots.pop(name, None)
        for names in (self.live, self.frozen, *self.snapshots.values()):
            if name in names:  # other players have no weights here
                names.remove(name)
                if name in self.offloaded:
                    self.offloaded.remove(name)
                else:
                    self.players.remove(name)

    @property
    def kept(self) -> list[str]:
        """Names of all past selves."""
        return [kept for past in self.snapshots.values() for kept in past]

    def _own(self) -> list[str]:
        """All who learn or have learned."""
        return [*self.live, *self.frozen, *self.kept]

    def _check(self, name: str, known: Sequence[str] | None = None) -> None:
        if name not in (self.live if known is None else known):
            raise UnknownName("player who learns" if known is None else "player", name, known or self.live)

    def _note(self, name: str, how: str, update: int, parents: Mapping[str, float]) -> None:
        self.lineage.append({"player": name, "how": how, "update": update, "parents": dict(parents)})

    def _renew(self, name: str, how: str, update: int, parents: Mapping[str, float]) -> None:
        self._note(name, how, update, parents)
        self.renewed.append(name)

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint; the weights are in ``players``."""
        records = {name: dataclasses.asdict(record) for name, record in self.records.items()}
        names = {"live": self.live, "frozen": self.frozen, "snapshots": self.snapshots}
        return copy.deepcopy({**names, "lineage": self.lineage, "records": records, "offloaded": self.offloaded})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned; load ``players`` first."""
        for name in self._own():
            self.agents.pop(name, None)
        held = copy.deepcopy(dict(state))
        self.live, self.frozen, self.snapshots = held["live"], held["frozen"], held["snapshots"]
        self.lineage = held.get("lineage", [])  # earlier versions kept none
        self.offloaded = held.get("offloaded", [])
        self.agents |= {name: self._agent(name) for name in self._own() if name not in self.offloaded}
        known = held.get("records", {})  # nor records
        self.records.clear()
        self.personas.clear()
        for name in self._own():
            self._record(name, PlayerRecord(**known.get(name, {})))
