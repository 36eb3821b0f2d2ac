"""Which character stands for what in the texts of a gridworld.

A type that can be unusable for a while has two: the small letter, and the capital one while it can be used. Where the
configuration leaves no such pair free (or a glyph isn't ASCII), another character takes its place; legends tell.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from ..config import GridworldConfig, ObjectType
from ..config.world import plane_names

__all__ = ["AGENT_SIGN", "ARROWS", "EDGE_SIGN", "EMPTY_SIGN", "MANY", "Signs", "make_signs"]

ARROWS = "^v<>"
"""Who looks up, down, left and right."""

EMPTY_SIGN, EDGE_SIGN, AGENT_SIGN = ".", "~", "@"
MANY = "?"
"""Whatever found no character of its own."""

_RESERVED = {*ARROWS, EMPTY_SIGN, EDGE_SIGN, AGENT_SIGN, MANY, " "}


@dataclass(frozen=True)
class Signs:
    """The characters of one configuration.

    Attributes:
        idle: [K] of each type: while it can't be used, or always.
        ready: [K] while it can be used; the same where that is always so, never so, or hidden.
        agents: of the other agents in sight, the nearest first.
    """

    idle: tuple[str, ...]
    ready: tuple[str, ...]
    agents: str


def make_signs(config: GridworldConfig) -> Signs:
    """Characters for every type of a configuration, and for agents from what is left."""
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
    """Whether one may see that it can't be used for a while."""
    drawn = {f"objects.{who}.cooldown" for who in (name, "*")} & set(config.randomize)
    waits = (kind.cooldown > 0 or bool(drawn)) and f"{name}.ready" in planes
    return kind.usable and (waits or f"{name}.stock" in planes)


def _take(free: list[str], character: str) -> str:
    """That character, or any that is free; then nobody else gets it."""
    if not free:
        return MANY
    chosen = character or free[0]
    free.remove(chosen)
    return chosen
