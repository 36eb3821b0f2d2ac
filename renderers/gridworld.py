"""The gridworld as a picture: the whole map, or what one agent sees.

It shows walls; generators, converters and altars (bright when usable, dim during cooldown, faded when used up); other
types as tiles with their glyph; and agents in the colour of their team or family, or else in their own, looking where
they face, with their energy below. Frozen agents are covered in ice, agents with a shield have a ring, agents that have
just earned a reward have a small heart, and a cross marks where an attack went.

The window calls ``paint``, which makes a surface of any part of the map. Maps whose cells would be smaller than
``TINY`` pixels are drawn as coloured points.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aliases import Action, Player, State
from ..envs.core import Game
from ..envs.gridworld.config import GridworldConfig
from ..envs.gridworld.config.presets import configured
from ..envs.gridworld.state import (
    AGENT_KIND,
    ATTACK,
    EMPTY,
    GONE,
    OBJECT_KIND,
    OUTSIDE,
    PAD,
    WALL,
    World,
)
from .board import PALETTE, Color, Frame, load_pygame, mixed
from .gridworld_keys import target
from .gridworld_sprites import FLOOR, ICONS, WALL_COLOR, agent_color, sprite, type_color

__all__ = [
    "LIVE",
    "SHOW",
    "WINDOW",
    "Camera",
    "Look",
    "around",
    "boxes",
    "cells",
    "config_of",
    "draw",
    "draw_world",
    "look_of",
    "paint",
    "whole",
]

WINDOW: Final = f"{__name__}_window:GridworldWindow"
"""The gridworld's window, used instead of the one that other games share."""

SHOW: Final = f"{__package__}.web.world:show"
"""Makes the gridworld's page, instead of the function that other games share."""

LIVE: Final = f"{__package__}.web.live:LiveWorld"
"""Tells pages on which people play the gridworld what happens in it."""

TINY: Final = 4
"""Cells of fewer pixels are points of one colour."""

DETAILS: Final = 10
"""Energy and stock are shown in cells of at least this many pixels."""

SMALL: Final = 14
"""In cells of fewer pixels, agents and objects are drawn larger than the cell, by ``SPILL`` of it on each side."""

SPILL: Final = 0.2
FILLING: Final = ("wall", "glyph", "empty", "ice")

TALLEST: Final = 1.5
"""Largest height of a picture divided by its width; a taller map gets margins."""


class Camera(NamedTuple):
    """The part of the map that is shown, in cells; it may extend beyond the map."""

    top: int
    left: int
    rows: int
    columns: int


class Look(NamedTuple):
    """How the types of objects look: [K] names, glyphs and colours."""

    names: tuple[str, ...]
    glyphs: tuple[str, ...]
    colors: tuple[Color, ...]


# -- the public functions --------------------------------------------------------------------------------------------


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[H, size, 3] uint8: the whole map; with ``player``, the window that it sees.

    Raises:
        MissingExtra: pygame is not installed.
    """
    return draw_world(config_of(game), state, i, size, _camera(state, i, player))


def draw_world(config: GridworldConfig, world: World, i: int, size: int = 480, camera: Camera | None = None) -> Frame:
    """[H, size, 3] uint8: world i, the whole map by default. H is at most 1.5 ``size``.

    Raises:
        MissingExtra: pygame is not installed.
    """
    pygame = load_pygame()
    seen = camera or whole(world, i)
    left, inner, height = _measures(seen, size)
    surface = paint(look_of(config), world, i, seen, inner)
    if inner != size:
        framed = pygame.Surface((size, height), 0, 32)
        framed.fill(PALETTE.background)
        framed.blit(surface, (left, 0))
        surface = framed
    return np.ascontiguousarray(pygame.surfarray.array3d(surface).transpose(1, 0, 2))


def boxes(game: Game, size: int = 480, player: Player | None = None) -> list[tuple[float, float, float, float]]:
    """x, y, w, h of every cell of the map, row by row; with ``player``, of its window."""
    config = config_of(game)
    here = config.observation if player is not None else config.map
    camera = Camera(0, 0, here.height, here.width)
    left, inner, _ = _measures(camera, size)
    xs, ys = _edges(camera.columns, inner), _edges(camera.rows, inner * camera.rows / camera.columns)
    return [
        (float(left + xs[c]), float(ys[r]), float(xs[c + 1] - xs[c]), float(ys[r + 1] - ys[r]))
        for r in range(camera.rows)
        for c in range(camera.columns)
    ]


def cells(game: Game, state: State, i: int, action: Action) -> tuple[int, ...]:
    """No cells: every action is a button, or a key in the gridworld's window."""
    return ()


def config_of(game: Game) -> GridworldConfig:
    """The configuration of a gridworld."""
    return _config(json.dumps(game.config))  # keys are not sorted: their order numbers the types


def look_of(config: GridworldConfig) -> Look:
    """How the object types of a configuration look."""
    names = tuple(config.objects)
    return Look(
        names,
        tuple(kind.glyph for kind in config.objects.values()),
        tuple(type_color(name, t) for t, name in enumerate(names)),
    )


def whole(world: World, i: int) -> Camera:
    """A camera that shows the whole map."""
    return Camera(0, 0, int(world.rules[i]["height"]), int(world.rules[i]["width"]))


def around(world: World, i: int, slot: int, rows: int, columns: int, inside: bool = False) -> Camera:
    """A camera of ``rows`` x ``columns`` cells centred on an agent; ``inside`` moves it so that it stays in the map."""
    agent, rules = world.agents[i, slot], world.rules[i]
    top, left = int(agent["row"]) - rows // 2, int(agent["col"]) - columns // 2
    if inside:
        top = max(0, min(top, int(rules["height"]) - rows))
        left = max(0, min(left, int(rules["width"]) - columns))
    return Camera(top, left, rows, columns)


def paint(look: Look, world: World, i: int, camera: Camera, width: int) -> Any:
    """A pygame surface with part of world i, ``width`` pixels wide, with square cells.

    Args:
        look: how the object types look.
        world: N worlds.
        i: which of them.
        camera: the part to show.
        width: pixels.
    """
    pygame = load_pygame()
    height = max(1, round(width * camera.rows / camera.columns))
    if width / camera.columns < TINY:
        return _points(pygame, look, world, i, camera, width, height)
    xs, ys = _edges(camera.columns, width), _edges(camera.rows, height)
    surface = _ground(pygame, xs, ys, _inside(world, i, camera)).copy()
    pieces: list[tuple[Any, tuple[int, int], None, int]] = []
    bars: list[tuple[Color, tuple[int, int, int, int]]] = []
    view = _View(camera, xs, ys, pieces, bars, pygame.BLEND_PREMULTIPLIED)
    _objects(view, look, world, i)
    _agents(view, world, i)
    surface.blits(pieces, doreturn=False)
    for color, rect in bars:
        surface.fill(color, rect)
    return surface


# -- measures --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _config(arguments: str) -> GridworldConfig:
    return configured(json.loads(arguments))


def _camera(world: World, i: int, player: Player | None) -> Camera:
    if player is None:
        return whole(world, i)
    rules = world.rules[i]
    return around(world, i, player, int(rules["window_height"]), int(rules["window_width"]))


def _measures(camera: Camera, size: int) -> tuple[int, int, int]:
    """Left margin, width of the map and height, in pixels, of a picture that is ``size`` pixels wide."""
    inner = min(size, max(1, round(TALLEST * size * camera.columns / camera.rows)))
    return (size - inner) // 2, inner, max(1, round(inner * camera.rows / camera.columns))


@lru_cache(maxsize=64)
def _edges(count: int, length: float) -> tuple[int, ...]:
    """[count + 1] the edges of ``count`` cells that share ``length`` as evenly as whole pixels allow."""
    return tuple(round(k * length / count) for k in range(count + 1))


def _inside(world: World, i: int, camera: Camera) -> tuple[int, int, int, int]:
    """The camera's rows (first, end) and columns (first, end) that are in the map; ends are exclusive."""
    height, width = int(world.rules[i]["height"]), int(world.rules[i]["width"])
    return (
        max(0, -camera.top),
        max(0, min(camera.rows, height - camera.top)),
        max(0, -camera.left),
        max(0, min(camera.columns, width - camera.left)),
    )


@lru_cache(maxsize=8)
def _ground(pygame: Any, xs: tuple[int, ...], ys: tuple[int, ...], inside: tuple[int, int, int, int]) -> Any:
    """The empty map. The surface is cached: copy it, never draw on it."""
    surface = pygame.Surface((xs[-1], ys[-1]), 0, 32)
    surface.fill(PALETTE.background)
    top, bottom, left, right = inside
    surface.blits(
        [
            (sprite("floor", xs[c + 1] - xs[c], ys[r + 1] - ys[r]), (xs[c], ys[r]))
            for r in range(top, bottom)
            for c in range(left, right)
        ],
        doreturn=False,
    )
    return surface


# -- pieces ----------------------------------------------------------------------------------------------------------


class _View(NamedTuple):
    """Where pieces go, and the lists that collect them."""

    camera: Camera
    xs: tuple[int, ...]
    ys: tuple[int, ...]
    pieces: list[tuple[Any, tuple[int, int], None, int]]
    bars: list[tuple[Color, tuple[int, int, int, int]]]
    blend: int

    def put(self, row: int, col: int, kind: str, *what: Any) -> tuple[int, int, int, int]:
        """Put a sprite on a cell of the camera; returns the cell's x, y, w, h."""
        x, y = self.xs[col], self.ys[row]
        w, h = self.xs[col + 1] - x, self.ys[row + 1] - y
        wide, high, usual = w, h, self.xs[-1] / self.camera.columns
        if usual < SMALL and kind not in FILLING:  # all the same size, though some cells are a pixel wider
            wide = high = round((1 + 2 * SPILL) * usual)
        at = (x + (w - wide) // 2, y + (h - high) // 2)
        self.pieces.append((sprite(kind, wide, high, *what), at, None, self.blend))
        return x, y, w, h

    def bar(self, box: tuple[int, int, int, int], part: float, color: Color) -> None:
        """A bar filled to ``part`` (0..1) at the lower edge of a cell."""
        x, y, w, h = box
        if w < DETAILS:
            return
        thick, room = max(1, h // 11), w - 2 * max(1, w // 8)
        left, top = x + (w - room) // 2, y + h - thick - max(0, h // 24)
        self.bars.append((PALETTE.background, (left, top, room, thick)))
        self.bars.append((color, (left, top, max(1 if part > 0 else 0, round(room * min(1.0, part))), thick)))

    def holds(self, row: NDArray[Any], col: NDArray[Any]) -> NDArray[np.bool_]:
        """Which positions the camera shows."""
        top, left, rows, columns = self.camera
        found: NDArray[np.bool_] = (row >= top) & (row < top + rows) & (col >= left) & (col < left + columns)
        return found


def _objects(view: _View, look: Look, world: World, i: int) -> None:
    objects, types, clock = world.objects[i], world.types[i], int(world.rules[i]["clock"])
    shown = objects[(objects["type"] != GONE) & view.holds(objects["row"], objects["col"])]
    full = types["hp"].tolist()
    for row, col, kind, hp, stock, busy in zip(
        (shown["row"] - view.camera.top).tolist(),
        (shown["col"] - view.camera.left).tolist(),
        shown["type"].tolist(),
        shown["hp"].tolist(),
        shown["stock"].tolist(),
        shown["busy_until"].tolist(),
        strict=True,
    ):
        if kind == WALL:
            damage = min(3, 4 * (full[WALL] - hp) // full[WALL]) if 0 < hp < full[WALL] else 0
            view.put(row, col, "wall", max(damage, int(0 < hp < full[WALL])))
            continue
        ready = bool(types[kind]["usable"]) and clock + 1 > busy and stock != 0
        name, color = look.names[kind], look.colors[kind]
        if name in ICONS:
            box = view.put(row, col, name, ready, color)
        else:
            box = view.put(row, col, "glyph", ready or not types[kind]["usable"], color, look.glyphs[kind])
        if stock >= 0:
            most = max(1, int(types[kind]["stock"]))
            view.bar(box, stock / most, color)
            if stock == 0:
                view.put(row, col, "empty")
        elif clock < busy and types[kind]["cooldown"] > 1:
            view.bar(box, (busy - clock) / int(types[kind]["cooldown"]), PALETTE.faint)


def _agents(view: _View, world: World, i: int) -> None:
    agents, rules = world.agents[i], world.rules[i]
    clock, top, left = int(rules["clock"]), view.camera.top, view.camera.left
    for agent in agents[agents["alive"]]:
        row, col = int(agent["row"]) - top, int(agent["col"]) - left
        _blow(view, agent, row, col)
        if not (0 <= row < view.camera.rows and 0 <= col < view.camera.columns):
            continue
        frozen = clock < agent["frozen_until"]
        box = view.put(row, col, "agent", color_of(agent), int(agent["facing"]), bool(frozen))
        if frozen:
            view.put(row, col, "ice")
        if agent["shield"]:
            view.put(row, col, "shield")
        if agent["last_reward"] > 0:
            view.put(row, col, "earned")
        energy = int(agent["energy"]) / max(1, int(agent["max_energy"]))
        view.bar(box, energy, mixed((255, 86, 80), (110, 226, 128), min(1.0, energy)))


def color_of(agent: Any) -> Color:
    """The colour of an agent's team or family, or else its own."""
    return agent_color(int(agent["label"]) if agent["label"] >= 0 else int(agent["id"]))


def _blow(view: _View, agent: Any, row: int, col: int) -> None:
    """A cross where an agent has just attacked."""
    k = int(agent["last_action"]) - ATTACK
    if not (0 <= k < 9 and agent["succeeded"]):
        return
    row, col = target(row, col, int(agent["facing"]), k + 1)
    if 0 <= row < view.camera.rows and 0 <= col < view.camera.columns:
        view.put(row, col, "hit")


# -- many cells ------------------------------------------------------------------------------------------------------


def _points(pygame: Any, look: Look, world: World, i: int, camera: Camera, width: int, height: int) -> Any:
    """The map with each cell as one colour."""
    colors = np.zeros((256, 3), np.uint8)
    colors[EMPTY], colors[OUTSIDE] = FLOOR, PALETTE.background
    for t, color in enumerate(look.colors):
        colors[OBJECT_KIND + t] = WALL_COLOR if t == WALL else color
    high, wide = world.kind.shape[1:]
    rows = np.clip(np.arange(camera.top, camera.top + camera.rows) + PAD, 0, high - 1)
    columns = np.clip(np.arange(camera.left, camera.left + camera.columns) + PAD, 0, wide - 1)
    kind = world.kind[i][np.ix_(rows, columns)]
    picture = colors[kind]
    for row, col in np.argwhere(kind == AGENT_KIND).tolist():
        slot = int(world.which[i, rows[row], columns[col]])
        picture[row, col] = color_of(world.agents[i, slot])
    if width < camera.columns:  # cells are smaller than pixels
        surface = pygame.surfarray.make_surface(picture.transpose(1, 0, 2))
        return pygame.transform.smoothscale(surface, (width, height))
    ys = (2 * np.arange(height) + 1) * camera.rows // (2 * height)
    xs = (2 * np.arange(width) + 1) * camera.columns // (2 * width)
    return pygame.surfarray.make_surface(picture[np.ix_(ys, xs)].transpose(1, 0, 2))
