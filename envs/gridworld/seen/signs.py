"""The characters in a gridworld's texts.

A type that can be unusable for a while has two: the capital letter while it can be used, otherwise the small one. If
the configuration leaves no such pair free, or a glyph is not ASCII, another character replaces it; legends name it.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from ..config import GridworldConfig, ObjectType
from ..config.world import plane_names

__all__ = ["AGENT_SIGN", "ARROWS", "EDGE_SIGN", "EMPTY_SIGN", "MANY", "Signs", "make_signs"]

ARROWS = "^v<>"
"""An agent that looks up, down, left and right."""

EMPTY_SIGN, EDGE_SIGN, AGENT_SIGN = ".", "~", "@"
MANY = "?"
"""Everything for which no character was left."""

_RESERVED = {*ARROWS, EMPTY_SIGN, EDGE_SIGN, AGENT_SIGN, MANY, " "}


@dataclass(frozen=True)
class Signs:
    """The characters of one configuration.

    Attributes:
        idle: [K] the character of each type while it cannot be used.
        ready: [K] the same while it can be used; equal to ``idle`` if this never changes or is hidden.
        agents: characters for the other agents in sight, nearest first.
    """

    idle: tuple[str, ...]
    ready: tuple[str, ...]
    agents: str


def make_signs(config: GridworldConfig) -> Signs:
    """Choose characters for every type of a configuration, then for agents from what is left."""
    planes = set(plane_names(config)) - set(config.observation.hidden)
    wanted = [kind.glyph for kind in config.objects.values()]
    used = _RESERVED | set(wanted)
    free = [c for c in string.ascii_letters + string.punctuation if c not in used]
    idle, ready = [], []
    for name, kind in config.objects.items():
        own = kind.glyph if kind.glyph.isascii() and kind.glyph not in _RESERVED else _take(free, "")
        other = own
        if _changes(config, name, kind, planes):
            pair = own.swapcase()
            other = _take(free, pair if pair in free else "")
        first, second = (other, own) if own.isupper() and own != other else (own, other)
        idle.append(first)
        ready.append(second)
    agents = [c for c in "123456789" if c not in used] + free
    return Signs(tuple(idle), tuple(ready), "".join(agents[:35]))


def _changes(config: GridworldConfig, name: str, kind: ObjectType, planes: set[str]) -> bool:
    """Whether the type can become unusable in a way that agents see."""
    drawn = {f"objects.{who}.cooldown" for who in (name, "*")} & set(config.randomize)
    waits = (kind.cooldown > 0 or bool(drawn)) and f"{name}.ready" in planes
    return kind.usable and (waits or f"{name}.stock" in planes)


def _take(free: list[str], character: str) -> str:
    """Take ``character``, or if it is empty any free one, off the list; MANY if none is left."""
    if not free:
        return MANY
    chosen = character or free[0]
    free.remove(chosen)
    return chosen
