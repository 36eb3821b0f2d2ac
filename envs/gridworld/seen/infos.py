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
        self._known: list[dict[str, Any]] = []

    def __call__(self, world: World, i: int) -> list[dict[str, Any]]:
        """New dictionaries, one for each slot: id, label, mother, father, succeeded."""
        if self._array is not world.agents:
            self._array, self._columns = world.agents, [world.agents[name] for name in WHO]
        here = [column[i].tobytes() for column in self._columns]
        if here != self._bytes:
            rows = zip(*(column[i].tolist() for column in self._columns), strict=True)
            self._bytes, self._known = here, [dict(zip(WHO, row, strict=True)) | _ROOM for row in rows]
            for known in self._known:
                del known["action_mask"], known["illegal"]
        told = [known.copy() for known in self._known]
        for info, succeeded in zip(told, world.agents["succeeded"][i].tolist(), strict=True):
            info["succeeded"] = succeeded
        return told


_ROOM = {"succeeded": False, "action_mask": None, "illegal": 0}
"""Added once and partly deleted, so that copies have room for the entries that are written later."""
