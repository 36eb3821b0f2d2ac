"""The entries that a gridworld adds to PettingZoo infos."""

from __future__ import annotations

from typing import Any

from ..state import World

__all__ = ["Tell"]

WHO = ("id", "label", "mother", "father")


class Tell:
    """``(world, i) -> [S]`` infos: identity of each agent, and whether its last action succeeded.

    Identities rarely change, so their dictionaries are cached and copied while the arrays hold the same bytes.
    """

    def __init__(self) -> None:
        self._array: Any = None
        self._columns: list[Any] = []
        self._bytes: list[bytes] = []
        self._known: list[tuple[dict[str, Any], dict[str, Any]]] = []  # of each slot: failed, succeeded

    def __call__(self, world: World, i: int) -> list[dict[str, Any]]:
        """New dictionaries, one for each slot: id, label, mother, father, succeeded."""
        if self._array is not world.agents:
            self._array, self._columns = world.agents, [world.agents[name] for name in WHO]
        here = [column[i].tobytes() for column in self._columns]
        if here != self._bytes:
            rows = zip(*(column[i].tolist() for column in self._columns), strict=True)
            self._bytes, self._known = here, [_pair(dict(zip(WHO, row, strict=True))) for row in rows]
        succeeded = world.agents["succeeded"][i].tolist()
        return [pair[done].copy() for pair, done in zip(self._known, succeeded, strict=True)]


def _pair(who: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The infos of an agent whose last action failed, and of one whose last action succeeded."""
    pair = who | {"succeeded": False} | _ROOM, who | {"succeeded": True} | _ROOM
    for known in pair:
        del known["action_mask"], known["illegal"]
    return pair


_ROOM = {"action_mask": None, "illegal": 0}
"""Added once and deleted, so that copies have room for the entries that are written later."""
