"""A recorded gridworld as a *show* of the kind "world": what stays the same once, what changes as packed columns.

Beside the fields of every show (``shows``), with ``frames`` empty, it has ``world``::

    height, width: of the map, cells;  ticks: T;  slots: S;  max_steps: ticks of the whole episode
    window: [height, width] of what an agent sees;  rotate: whether it turns with the agent
    items: [[name, colour], ...];  actions: [name, ...];  attack: number of the first attack
    types: [{name, glyph, color, icon, usable, hp, stock, cooldown, use}, ...] of objects; ``use`` is the recipe as text
    agents: [{max_energy, max_items, color, facts: [[what, value], ...]}, ...] by slot: what does not change
    belongs: "team", "family", "group" or ""
    kin: [[[slot, relatedness], ...], ...] by slot, or null where agents of one label are kin
    state: {layout, data}: the columns below
    texts: {slot: {layout, data}, ...}: what these agents are told: ``words``, a JSON list as bytes, and by tick the
        ``number`` of the one that counts
    thoughts: {slot: {layout, data}, ...} of agents that were asked what they think, if any were: ``shares``, [T + 1, A]
        the probabilities of its actions, 32767 for 1, -1 for actions that would fail
    asked: who was asked what all of them think, or ""
    clock: the clock at the start;  over: whether the episode had ended

``data`` is base64 of deflated little-endian arrays, one after the other; ``layout`` lists [name, type, length]. A
column of the agents has (T + 1) S numbers, slot by slot, each the difference to the tick before it; ``reward`` has the
numbers themselves. ``objects.NAME`` have a number for each place at the start; ``change.NAME`` list the changes: tick
(each the difference to the change before it), place and the place's new fields.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, Player
from ...envs.core import Game, GameRecord
from ...envs.gridworld.config import GridworldConfig
from ...envs.gridworld.seen.answers import action_names
from ...envs.gridworld.seen.planes import relatedness
from ...envs.gridworld.state import ATTACK, GONE, World
from ...envs.replay.file import replay
from ...errors import UsageError
from ..board import Color
from ..gridworld import color_of, config_of, look_of
from ..gridworld_facts import recipe
from ..gridworld_sprites import ICONS, ITEM_COLORS
from .shows import seats

__all__ = ["AGENT_COLUMNS", "OBJECT_COLUMNS", "TEXTS", "constants", "css", "pack", "pack_shares", "show", "unpack"]

AGENT_COLUMNS: Final = (
    *("row", "col", "facing", "alive", "energy", "hp", "shield", "frozen_until"),
    *("last_action", "succeeded", "score", "id", "label", "born"),
)
"""Fields of agents that are stored for every tick, beside their items and rewards."""

OBJECT_COLUMNS: Final = ("type", "row", "col", "hp", "stock", "busy_until")

TEXTS: Final = 30_000
"""Where nobody is named, so many texts at most are stored, of the first agents; they take about a megabyte."""


def show(
    game: Game, record: GameRecord, *, title: str = "", command: str = "", texts: Sequence[Player] | None = None
) -> dict[str, Any]:
    """The show of a played gridworld.

    Args:
        game: a gridworld.
        record: what was played.
        title: above the page; by default the game's name.
        command: what makes the page again.
        texts: the slots whose texts are stored, about 50 bytes a tick each; None: the first ones, ``TEXTS`` texts at
            most.

    Raises:
        UsageError: there is no such slot.
        NotationError: the record cannot be replayed.
    """
    slots, ticks = game.info.players, len(record.actions)
    told = range(min(slots, TEXTS // (ticks + 1))) if texts is None else dict.fromkeys(texts)
    for slot in told:
        if not 0 <= slot < slots:
            raise UsageError(f"There is no agent {slot} to store texts of, only 0..{slots - 1}.")
    config = config_of(game)
    first, columns, said = _replayed(game, record, list(told))
    info = game.info
    colors = [css(color_of(agent)) for agent in first.agents[0]]
    return {
        "format": 1,
        "kind": "world",
        "game": info.id,
        "title": title or "Gridworld",
        "goal": game.goal,
        "rules": game.rules,
        "seats": seats(game, record.players, colors),
        "command": command,
        "speed": 8,
        "frames": [],
        "world": {
            **constants(config, first, colors),
            "ticks": ticks,
            "over": record.status != RUNNING,
            "state": pack(columns),
            "texts": {str(slot): _pack_texts(texts) for slot, texts in said.items()},
        },
    }


def _replayed(
    game: Game, record: GameRecord, told: Sequence[Player]
) -> tuple[World, dict[str, NDArray[Any]], dict[Player, list[str]]]:
    """The first state; all columns; and the texts of the slots ``told`` by tick."""
    slots, ticks, items = game.info.players, len(record.actions), config_of(game).items
    dense = {name: np.zeros((slots, ticks + 1), np.int32) for name in AGENT_COLUMNS}
    held = np.zeros((len(items), slots, ticks + 1), np.int32)
    paid = np.zeros((slots, ticks + 1), np.float32)
    said: dict[Player, list[str]] = {slot: [] for slot in told}
    changes: list[NDArray[Any]] = []
    first: World | None = None
    places: Any = None
    for tick, (state, rewards, _) in enumerate(replay(game, record)):
        for name in AGENT_COLUMNS:
            dense[name][:, tick] = state.agents[0][name]
        held[:, :, tick], paid[:, tick] = state.items[0].T, rewards
        for slot, texts in said.items():
            texts.append(game.describe(state, 0, slot) if state.agents[0, slot]["alive"] else "")
        if first is None:
            first, places = state, state.objects[0]
        else:
            moved = np.flatnonzero(state.objects[0] != places)
            changes.append(_change(tick, moved, state.objects[0]))
            places = state.objects[0]
    assert first is not None
    columns: dict[str, NDArray[Any]] = {name: np.diff(dense[name], prepend=0) for name in AGENT_COLUMNS}
    columns |= {f"item.{j}": np.diff(held[j], prepend=0) for j in range(len(items))}
    columns["reward"] = paid
    columns |= {f"objects.{name}": first.objects[0][name].astype(np.int32) for name in OBJECT_COLUMNS}
    every = np.concatenate([np.zeros((2 + len(OBJECT_COLUMNS), 0), np.int32), *changes], axis=1)
    for name, row in zip(("tick", "place", *OBJECT_COLUMNS), every, strict=True):
        columns[f"change.{name}"] = np.diff(row, prepend=0) if name == "tick" else row
    return first, columns, said


def _change(tick: int, places: NDArray[Any], objects: NDArray[Any]) -> NDArray[Any]:
    """[2 + fields, K] int32: tick, place and fields of the objects that have changed."""
    rows = [np.full(len(places), tick), places, *(objects[name][places] for name in OBJECT_COLUMNS)]
    return np.array(rows, np.int32)


def constants(config: GridworldConfig, first: World, colors: Sequence[str]) -> dict[str, Any]:
    """What does not change in a world: the fields of ``world`` without ticks, columns and texts.

    Args:
        config: the game's configuration.
        first: one world, at any tick.
        colors: [S] a CSS colour for each agent.
    """
    rules, agents, look = first.rules[0], first.agents[0], look_of(config)
    mode = config.kinship.mode
    pairs = mode in ("matrix", "relatedness")
    return {
        "height": int(rules["height"]),
        "width": int(rules["width"]),
        "slots": len(agents),
        "clock": int(rules["clock"]),
        "max_steps": int(rules["max_steps"]),
        "window": [int(rules["window_height"]), int(rules["window_width"])],
        "rotate": bool(rules["rotate"]),
        "items": [[name, css(ITEM_COLORS[j % len(ITEM_COLORS)])] for j, name in enumerate(config.items)],
        "actions": list(action_names(config)),
        "attack": ATTACK,
        "gone": GONE,
        "types": [
            {
                "name": name,
                "glyph": kind.glyph,
                "color": css(look.colors[t]),
                "icon": name if name in ICONS else "",
                **{field: int(first.types[0, t][field]) for field in ("hp", "stock", "cooldown")},
                "usable": bool(first.types[0, t]["usable"]),
                "use": recipe(kind, first.types[0, t]) if kind.usable else "",
            }
            for t, (name, kind) in enumerate(config.objects.items())
        ],
        "agents": [
            {
                "max_energy": int(agent["max_energy"]),
                "max_items": int(agent["max_items"]),
                "color": color,
                "facts": _facts(config, agent),
            }
            for agent, color in zip(agents, colors, strict=True)
        ],
        "belongs": {"teams": "team", "groups": "group", "families": "family"}.get(mode, ""),
        "kin": [
            [[b, round(float(r), 3)] for b in range(len(agents)) if b != a and (r := relatedness(first, 0, a, b)) > 0]
            for a in range(len(agents))
        ]
        if pairs
        else None,
    }


def _facts(config: GridworldConfig, agent: Any) -> list[list[str]]:
    """(what, value) about an agent, where rules read them."""
    told = []
    if int(agent["upkeep"]):
        told.append(["upkeep", f"{int(agent['upkeep'])} energy a tick"])
    if config.actions.attack and config.actions.shield:
        told.append(["damage", str(int(agent["damage"]))])
    if int(agent["mother"]) >= 0:
        told.append(["parents", f"{int(agent['mother'])}, {int(agent['father'])}"])
    return told


def css(color: Color) -> str:
    """A colour for a page."""
    return "#{:02x}{:02x}{:02x}".format(*color)


# -- packing ---------------------------------------------------------------------------------------------------------


def pack(columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """``{layout, data}`` of named arrays of any shape: whole numbers in as few bytes as hold them, float32 as it is."""
    layout, parts = [], []
    for name, column in columns.items():
        kind = np.float32 if column.dtype.kind == "f" else _narrowest(column)
        written = np.ascontiguousarray(column, np.dtype(kind).newbyteorder("<"))
        layout.append([name, np.dtype(kind).str[1:], written.size])
        parts.append(written.tobytes())
    return {"layout": layout, "data": base64.b64encode(zlib.compress(b"".join(parts), 9)).decode()}


def pack_shares(shares: NDArray[np.int16]) -> dict[str, Any]:
    """Probabilities of an agent's actions, see ``world.thoughts``."""
    return pack({"shares": shares.astype(np.int32).ravel()})


def unpack(packed: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The columns of ``{layout, data}``, each in one dimension."""
    raw, at, found = zlib.decompress(base64.b64decode(packed["data"])), 0, {}
    for name, kind, size in packed["layout"]:
        found[name] = np.frombuffer(raw, f"<{kind}", size, at)
        at += found[name].nbytes
    return found


def _narrowest(column: NDArray[Any]) -> type[np.signedinteger[Any]]:
    low, high = (int(column.min()), int(column.max())) if column.size else (0, 0)
    for kind in (np.int8, np.int16):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return kind
    return np.int32


def _pack_texts(said: Sequence[str]) -> dict[str, Any]:
    """Texts as bytes: a JSON list of the different ones, and a column of their numbers."""
    known = list(dict.fromkeys(said))
    number = {text: k for k, text in enumerate(known)}
    words = np.frombuffer(json.dumps(known).encode(), np.int8)
    return pack({"number": np.array([number[text] for text in said], np.int32), "words": words})
