"""The keys of the gridworld's window, and the action that serves a person's intention.

``KEYS`` and ``INTENTIONS`` are the lists that the window shows and the docs repeat. Nothing here needs a window: the
functions map pygame's key names to the names of controls and intentions, and intentions to actions.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..aliases import Action, Mask
from ..envs.gridworld.state import (
    AGENT_KIND,
    ATTACK,
    BACK,
    COLUMN_STEP,
    FORWARD,
    GIFT,
    NOOP,
    PAD,
    ROTATE,
    ROW_STEP,
    SHIELD,
    SWAP,
    USE,
    World,
)
from .screen import KEYS as SHARED

__all__ = [
    "CONTROL_KEYS",
    "DIRECTIONS",
    "INTENTIONS",
    "INTENTION_KEYS",
    "KEYS",
    "action_of",
    "control_of",
    "intention_of",
    "target",
]

KEYS: Final = (
    ("click", "select an agent or a thing; elsewhere: deselect"),
    ("Tab, Shift+Tab", "select the next agent, the previous one"),
    ("c", "camera: whole map, or follow the agent"),
    ("wheel, PgUp, PgDn", "zoom"),
    ("p, Space", "pause, play"),
    (". or Right", "one tick"),
    ("Left", "one tick back (replays)"),
    ("+, -", "faster, slower"),
    ("o", "what the agent sees: planes, words"),
    ("[, ]", "the previous plane, the next"),
    ("n", "a new world"),
    ("h, ?, F1", "these keys; the world waits"),
    ("Enter", "take the agent over; hand it back"),
    ("Escape", "hand it back; or deselect"),
)
"""(keys, what they do)."""

INTENTIONS: Final = (
    ("arrows, WASD", "turn that way; if it faces that way, move"),
    ("b", "step back"),
    ("Space", "use what is ahead"),
    ("x", "attack the nearest agent in reach"),
    ("1 to 9", "attack that cell: 1-3 ahead, 4-6, 7-9 beyond"),
    ("f", "shield on, off"),
    ("g", "give the first item that can be given"),
    ("Ctrl+1 to 9", "give that item"),
    ("v", "swap places with the frozen agent ahead"),
    (".", "wait"),
)
"""(keys, what they do) while a person controls an agent. Other keys work as in ``KEYS``."""

DIRECTIONS: Final = ("up", "down", "left", "right")

CONTROL_KEYS: Final = {
    **SHARED,
    "c": "camera",
    "p": "pause",
    ".": "step",
    "left": "back",
    "o": "words",
    "[": "plane before",
    "]": "plane next",
    "return": "take",
    "enter": "take",
    "escape": "escape",
    "page up": "nearer",
    "page down": "farther",
    "tab": "next",
}
"""pygame's name of a key, or the character that it types -> the control."""

INTENTION_KEYS: Final = {
    **{name: name for name in DIRECTIONS},
    "w": "up",
    "s": "down",
    "a": "left",
    "d": "right",
    "b": "back",
    "space": "use",
    "x": "attack",
    "f": "shield",
    "g": "gift",
    "v": "swap",
    ".": "wait",
}
"""pygame's name of a key -> the intention, while a person controls an agent."""

_NEAREST: Final = (2, 1, 3, 5, 4, 6, 8, 7, 9)
"""Cells of an attack, the nearest first."""


def control_of(name: str, shift: bool = False) -> str:
    """The control that a key stands for; "" for none.

    Args:
        name: pygame's name of the key, or the character it types.
        shift: whether Shift is held.
    """
    if name == "tab" and shift:
        return "before"
    return CONTROL_KEYS.get(name, "")


def intention_of(name: str, control: bool = False) -> str:
    """The intention that a key stands for while a person controls an agent; "" for none.

    Args:
        name: pygame's name of the key.
        control: whether Ctrl is held.
    """
    digit = name.strip("[]")  # keypad digits are named like [1]
    if len(digit) == 1 and digit in "123456789":
        return f"{'gift' if control else 'attack'} {digit}"
    return "" if control else INTENTION_KEYS.get(name, "")


def action_of(world: World, i: int, slot: int, intention: str, mask: Mask) -> Action:
    """The action that serves an intention best; it may fail.

    Args:
        world: N worlds.
        i: which of them.
        slot: the agent that a person controls.
        intention: as ``intention_of`` returns it.
        mask: [A] 1 for actions that would succeed.
    """
    word, _, number = intention.partition(" ")
    if word in DIRECTIONS:
        direction = DIRECTIONS.index(word)
        return FORWARD if world.agents[i, slot]["facing"] == direction else ROTATE + direction
    if word == "attack":
        return ATTACK + (int(number) if number else _aim(world, i, slot, mask)) - 1
    if word == "gift":
        gifts = np.flatnonzero(mask[GIFT:])
        first = int(gifts[0]) if gifts.size else 0
        return GIFT + min(int(number) - 1 if number else first, len(mask) - GIFT - 1)
    return {"back": BACK, "use": USE, "shield": SHIELD, "swap": SWAP}.get(word, NOOP)


def target(row: int, col: int, facing: int, k: int) -> tuple[int, int]:
    """The cell (row, column) that attack k (1..9) from (row, col) aims at; see the rules."""
    ahead, left = 1 + (k - 1) // 3, 1 - (k - 1) % 3
    down, right = int(ROW_STEP[facing]), int(COLUMN_STEP[facing])
    # The direction to the left of (down, right) is (-right, down): for up (-1, 0) it is (0, -1).
    return row + ahead * down - left * right, col + ahead * right + left * down


def _aim(world: World, i: int, slot: int, mask: Mask) -> int:
    """The attack (1..9) on the nearest cell with an agent in reach; else the cell straight ahead."""
    agent = world.agents[i, slot]
    for k in _NEAREST:
        row, col = target(int(agent["row"]), int(agent["col"]), int(agent["facing"]), k)
        if mask[ATTACK + k - 1] and world.kind[i, row + PAD, col + PAD] == AGENT_KIND:
            return k
    return _NEAREST[0]
