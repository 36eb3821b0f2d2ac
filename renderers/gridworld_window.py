"""The gridworld's window: the map under a camera, a panel beside it, buttons below.

It knows worlds but not the players: ``show`` gives it a ``Scene``, ``poll`` handles its events and returns what the
person asked for. The window itself keeps the selection and the view (agent, camera, zoom, plane). Keys are in
``gridworld_keys``.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from ..aliases import Player
from ..envs.core import Game
from ..envs.gridworld.state import GONE
from ..errors import UsageError
from .board import PALETTE, Brush
from .gridworld import Camera, around, config_of, look_of, paint, whole
from .gridworld_facts import at_cell
from .gridworld_keys import INTENTIONS, KEYS, control_of, intention_of
from .gridworld_panel import Panel, Scene
from .screen import Interactive, Spot, hit
from .sheet import draw_keys

__all__ = ["Asked", "GridworldWindow", "Scene"]

SIZE: Final = (1120, 800)
PANEL: Final = 340
BAR: Final = 46
LINE: Final = 22  # the timeline of a replay
ZOOMS: Final = (7, 9, 11, 13, 15, 17, 21, 25, 31, 39, 49, 63, 79, 99, 127, 159, 199)
TAGS: Final = 24
"""Agents have their ids above them in cells of at least this many pixels."""


class Asked(NamedTuple):
    """What a person asked for.

    Attributes:
        name: ``"quit"``, ``"pause"``, ``"step"``, ``"back"``, ``"faster"``, ``"slower"``, ``"new"``, ``"take"`` (value:
            the slot), ``"release"``, ``"seek"`` (value: the tick), or ``"do"``.
        value: see ``name``.
        intention: with ``"do"``, what the controlled agent should do.
    """

    name: str
    value: int = 0
    intention: str = ""


class GridworldWindow(Interactive):
    """An open window.

    Args:
        game: a gridworld.
        title: the window's title.

    Attributes:
        slot: the selected agent, or None.
        place: the number of the selected object, or None.
        following: whether the camera follows the agent instead of showing the whole map.

    Raises:
        MissingExtra: pygame is not installed.
        UsageError: there is no display.
    """

    def __init__(self, game: Game, title: str) -> None:
        self.game, self.config = game, config_of(game)
        self.look = look_of(self.config)
        super().__init__(SIZE, title)
        self.pygame.key.set_repeat(220, 90)
        self.panel = Panel(game, self.config, self.look)
        self.slot: Player | None = None
        self.place: int | None = None
        self.following = False
        self._zoom = ZOOMS.index(17)
        self._spots: list[Spot] = []
        self._scene: Scene | None = None

    @property
    def scene(self) -> Scene:
        """What is shown."""
        assert self._scene is not None
        return self._scene

    def show(self, scene: Scene) -> None:
        """Show this scene from now on."""
        old = self._scene
        same = old is not None and (old.version, old.own, old.status, old.controls) == (
            *(scene.version, scene.own, scene.status, scene.controls),
        )
        if old is not None and scene.own is not None and old.own != scene.own:
            self.look_at(scene.own)
        self._scene, self._stale = scene, self._stale or not same

    def look_at(self, slot: Player) -> None:
        """Select an agent and follow it.

        Raises:
            UsageError: there is no such slot.
        """
        if not 0 <= slot < self.game.info.players:
            raise UsageError(f"There is no agent {slot} to follow, only 0..{self.game.info.players - 1}.")
        self.slot, self.place, self.following, self._stale = slot, None, True, True

    # -- where things are ----------------------------------------------------------------------------------------------

    @property
    def map_box(self) -> tuple[int, int, int, int]:
        """x, y, w, h of the room for the map, in pixels."""
        width, height = self.screen.size
        wide = PANEL if width >= 2 * PANEL else 0
        below = BAR + (LINE if self._scene is not None and self._scene.replay else 0)
        return 0, 0, width - wide, max(60, height - below)

    def camera(self) -> tuple[Camera, int, int, int]:
        """The part of the map that is shown, x and y where its picture begins, and its width, in pixels."""
        _, _, w, h = self.map_box
        state = self.scene.state
        if self.following and self.slot is not None:
            columns = min(ZOOMS[self._zoom], int(state.rules[0]["width"]))
            rows = min(max(3, round(columns * h / w)), int(state.rules[0]["height"]))
            camera = around(state, 0, self.slot, rows, columns, inside=True)
        else:
            camera = whole(state, 0)
        wide = min(w, h * camera.columns // camera.rows)
        high = round(wide * camera.rows / camera.columns)
        return camera, (w - wide) // 2, (h - high) // 2, wide

    def cell_at(self, x: int, y: int) -> tuple[int, int] | None:
        """The map's cell (row, column) at a point of the window, or None."""
        camera, left, top, wide = self.camera()
        side = wide / camera.columns
        col, row = (x - left) / side, (y - top) / side
        _, _, w, h = self.map_box
        if not (0 <= col < camera.columns and 0 <= row < camera.rows and x < w and y < h):
            return None
        return camera.top + int(row), camera.left + int(col)

    def spot(self, name: str) -> Spot:
        """The button or row for the control ``name``, for tests and demos."""
        return next(spot for spot in self._spots if spot.name == name)

    # -- drawing -------------------------------------------------------------------------------------------------------

    def draw(self) -> None:
        """Redraw everything and show it."""
        surface, scene = self.screen.surface, self.scene
        self._forget_the_gone()
        x, y, w, h = self.map_box
        surface.fill(PALETTE.background, (0, 0, w, self.screen.size[1]))
        camera, left, top, wide = self.camera()
        surface.set_clip((x, y, w, h))
        surface.blit(paint(self.look, scene.state, 0, camera, wide), (left, top))
        self._marks(camera, left, top, wide / camera.columns)
        surface.set_clip(None)
        self._spots = []
        width, height = self.screen.size
        if w < width:
            beside = (w, 0, width - w, height)
            self._spots += self.panel.draw(surface, beside, scene, self.slot, self.place, self._hover)
        if self.helping:
            keys = (("Keys", KEYS), ("While you control an agent", INTENTIONS))
            draw_keys(surface, (x, y, w, h), self.game.goal, keys)
        if scene.replay:
            self._timeline(w, h)
        self._buttons(w, height)
        self.screen.flip()
        self._stale = False

    def _forget_the_gone(self) -> None:
        if self.place is not None and self.scene.state.objects[0, self.place]["type"] == GONE:
            self.place = None

    def _marks(self, camera: Camera, left: int, top: int, side: float) -> None:
        """Mark the selection and what it sees, and show ids where there is room."""
        state, brush = self.scene.state, Brush(self.screen.surface)

        def corner(row: int, col: int) -> tuple[float, float]:
            return left + (col - camera.left) * side, top + (row - camera.top) * side

        agents = state.agents[0]
        for slot in np.flatnonzero(agents["alive"]).tolist() if side >= TAGS else ():
            cx, cy = corner(int(agents[slot]["row"]), int(agents[slot]["col"]))
            brush.text(cx + side / 2, cy - 4, str(int(agents[slot]["id"])), 11)
        if self.slot is not None and agents[self.slot]["alive"]:
            agent, rules = agents[self.slot], state.rules[0]
            row, col = int(agent["row"]), int(agent["col"])
            cx, cy = corner(row, col)
            color = PALETTE.accent if self.scene.own == self.slot else PALETTE.text
            brush.rectangle(cx - 2, cy - 2, side + 4, side + 4, color, 4, line=2)
            high, wide = int(rules["window_height"]), int(rules["window_width"])
            if rules["rotate"] and agent["facing"] >= 2:
                high, wide = wide, high
            wx, wy = corner(row - high // 2, col - wide // 2)
            brush.rectangle(wx, wy, wide * side, high * side, PALETTE.faint, 3, line=1)
        elif self.place is not None:
            thing = state.objects[0, self.place]
            cx, cy = corner(int(thing["row"]), int(thing["col"]))
            brush.rectangle(cx - 2, cy - 2, side + 4, side + 4, PALETTE.text, 4, line=2)

    def _timeline(self, width: int, y: int) -> None:
        """The position of the replay; a click seeks."""
        clock, most = int(self.scene.state.rules[0]["clock"]), max(1, self.scene.ticks)
        brush = Brush(self.screen.surface)
        brush.rectangle(10, y + 8, width - 20, 8, PALETTE.cell, 4)
        brush.rectangle(10, y + 8, max(8, (width - 20) * min(1.0, clock / most)), 8, PALETTE.second, 4)
        self._spots.append(Spot("seek", 10, y, width - 20, LINE))

    def _buttons(self, width: int, height: int) -> None:
        camera = ("camera", "Whole map" if self.following else "Follow")
        labels = [*self.scene.controls, *([camera] if self.slot is not None else []), ("help", "Keys")]
        x = 10.0
        for name, label in labels:
            wide = 22 + 7.2 * len(label)
            if x + wide > width - 6:
                break
            self._spots.append(Spot(name, x, height - BAR + 9, wide, 28, label))
            self._spots[-1].draw(Brush(self.screen.surface), self._hover)
            x += wide + 6

    # -- events --------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the window."""
        if self.screen.open:
            self.pygame.key.set_repeat()  # off again: other windows use no key repeat
        super().close()

    def picture(self) -> Any:
        """[H, W, 3] uint8: what the window shows."""
        return self.screen.picture()

    def _answer(self, event: Any) -> list[Asked]:
        pygame = self.pygame
        if event.type == pygame.QUIT:
            return [Asked("quit")]
        if event.type == pygame.MOUSEWHEEL:
            self._nearer(event.y)
        if event.type == pygame.MOUSEMOTION and self.scene.replay and getattr(event, "buttons", (0,))[0]:
            super()._answer(event)
            return self._press(event.pos[0], event.pos[1], only="seek")
        return super()._answer(event)

    def _key(self, event: Any) -> list[Asked]:
        self._stale = True
        name, mod = self.pygame.key.name(event.key), getattr(event, "mod", 0)
        typed = getattr(event, "unicode", "") or ""
        if self.scene.own is not None:
            intention = intention_of(name, bool(mod & self.pygame.KMOD_CTRL))
            if intention:
                return [Asked("do", self.scene.own, intention)]
        return self._do(control_of(typed) or control_of(name, bool(mod & self.pygame.KMOD_SHIFT)))

    def _do(self, control: str, value: int = 0) -> list[Asked]:
        """Carry out a control of the window, or return it for the caller to carry out."""
        self._stale = True
        if control in ("help", "escape") and (self.helping or control == "help"):
            self.helping = not self.helping
        elif control == "camera":
            self.following = not self.following and self.slot is not None
        elif control in ("nearer", "farther"):
            self._nearer(1 if control == "nearer" else -1)
        elif control in ("next", "before"):
            self._next(1 if control == "next" else -1)
        elif control in ("plane next", "plane before"):
            step = 1 if control == "plane next" else -1
            self.panel.plane, self.panel.words = (self.panel.plane + step) % len(self.panel.planes), False
        elif control == "words":
            self.panel.words = not self.panel.words
        elif control == "look":
            self.slot, self.place = value, None
        elif control == "escape":
            if self.scene.own is not None:
                return [Asked("release")]
            self.slot, self.place, self.following = None, None, False
        elif control in ("take", "release"):
            return self._take()
        elif control:
            return [Asked(control, value)]
        return []

    def _take(self) -> list[Asked]:
        """Take over the selected agent, or hand it back."""
        if self.scene.own is not None:
            return [Asked("release")]
        if self.slot is None or self.scene.replay or not self.scene.state.agents[0, self.slot]["alive"]:
            return []
        return [Asked("take", self.slot)]

    def _nearer(self, steps: int) -> None:
        self._stale = True
        if not self.following and steps > 0 and self.slot is not None:
            self.following = True
            return
        self._zoom = min(max(0, self._zoom - steps), len(ZOOMS) - 1)

    def _next(self, step: int) -> None:
        """Select the next (``step`` 1) or previous (-1) living agent."""
        living = np.flatnonzero(self.scene.state.agents[0]["alive"]).tolist()
        if not living:
            return
        if self.slot is None:
            self.slot = living[0 if step > 0 else -1]
        else:
            after = [s for s in living if (s > self.slot if step > 0 else s < self.slot)]
            self.slot = (after or living)[0 if step > 0 else -1]
        self.place = None

    def _press(self, x: int, y: int, only: str = "") -> list[Asked]:
        spot = hit((spot for spot in self._spots if only in ("", spot.name)), x, y)
        if spot is not None:
            seek = spot.name == "seek"
            return self._do(spot.name, round(self.scene.ticks * (x - spot.x) / spot.w) if seek else spot.value)
        cell = None if only or self.helping else self.cell_at(x, y)
        self.helping = self.helping and bool(only)
        if cell is not None:
            kind, which = at_cell(self.scene.state, 0, *cell)
            self.slot, self.place = (which if kind == "agent" else None), (which if kind == "thing" else None)
            self.following = self.following and self.slot is not None
        return []
