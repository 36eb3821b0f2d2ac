"""The window that all games but gridworld share; each game's drawer supplies the picture.

A drawer's module has ``draw``, ``boxes`` (where the cells are) and ``cells`` (which of them an action touches, in click
order); optionally ``SEAT_COLORS``, one for each seat, and ``MARKS_LAST = True`` if its pictures mark the last move. A
game without a drawer is shown as text, its actions as buttons.

The window knows states, games and actions but not the players: ``show`` gives it a ``View``, ``poll`` handles its
events and returns what the person asked for: an action number, or the name of a control ("undo", "new", "quit", ...).
It marks the selection, the cells that can be clicked next, the cell under the pointer and the last move. Panels and
choosers are in ``panel``.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import lru_cache
from types import ModuleType
from typing import Any, Final

import numpy as np

from ..aliases import Action
from ..envs.core import Game
from ..errors import UsageError
from .board import PALETTE, Brush, Color, Frame
from .panel import MOST, Event, Panel, View, chooser_frame
from .picking import Box, Picker, nearest
from .screen import KEYS as SHARED
from .screen import Interactive, Spot, hit
from .sheet import draw_keys
from .side import SIDE, draw_side
from .talking import Entry, start_typing

__all__ = ["KEYS", "View", "Window"]

KEYS: Final = SHARED | {"u": "undo", "backspace": "undo", "left": "undo", "f": "flip", "i": "hint"}
"""Keys for controls; a key works while its button is shown."""

LISTED: Final = (
    ("", "click", "choose what is marked: an action, or a piece and then where it goes"),
    ("", "drag", "move a piece"),
    ("", "right click, Escape", "drop the choice"),
    ("undo", "u, Backspace, Left", "take a move back"),
    ("hint", "i", "what another player would play"),
    ("new", "n", "a new game"),
    ("flip", "f", "the board from the other side"),
    ("pause", "Space", "pause, play"),
    ("step", "Right", "one move"),
    ("faster", "+, -", "faster, slower"),
    ("", "h, ?, F1", "these keys; the game waits"),
)
"""(the control that must be shown for it, or "", keys, what they do)."""

MANY: Final = 48
"""If more cells than this can be clicked, they are not marked: an empty go board would be all dots."""

START: Final = 560  # initial side of a square board in pixels; other boards get the same area
WIDEST: Final = 800


class Window(Interactive):
    """An open window.

    Args:
        game: the game.
        draw: the drawer that the game is registered with, ``"package.module:function"``; None shows text.
        title: the window's title; by default the game's id.
        entry: in games with talk, where a person types a message, which ``poll`` fills; the caller reads and clears it.
        column: whether a column beside the board shows moves, times and what was taken.

    Raises:
        MissingExtra: pygame is not installed.
        UsageError: there is no display; or there is no drawer, and more actions than the window has room for buttons.
    """

    def __init__(
        self, game: Game, draw: str | None, title: str = "", entry: Entry | None = None, column: bool = False
    ) -> None:
        if draw is None and game.info.num_actions > MOST:
            raise UsageError(
                f"{game.info.id} has {game.info.num_actions} actions and no picture to click on; a window has room for "
                f"{MOST} buttons. Play in the terminal, without --window."
            )
        self.game = game
        module, _, name = (draw or f"{__package__}.words:draw").partition(":")
        self.drawer: ModuleType = importlib.import_module(module)
        self._draw = getattr(self.drawer, name)
        state = game.new_state(1)
        game.kernels.reset(state, 0, np.uint64(0))
        height, width = self._draw(game, state, 0, size=240).shape[:2]
        self._aspect = height / width
        self.panel = Panel(_seat_colors(self.drawer, game.info.players), entry)
        side = min(START / self._aspect**0.5, WIDEST)
        self._side = SIDE * column
        height = round(side * self._aspect) + self.panel.usual_height
        super().__init__((round(side) + self._side, height), title or game.info.id)
        self.entry = entry if entry is not None and entry.longest else None
        if self.entry is not None:
            start_typing(self.pygame)
        self.view = View(state)
        self.picker = Picker({})
        self.choices: list[Action] = []
        self._pressed: int | None = None  # the cell where the mouse button went down
        self._dragging = False
        self._frame_key: tuple[Any, ...] = ()
        self._frame: Frame | None = None
        self._panel_room = (0, 0)  # width, height

    # -- what is shown -------------------------------------------------------------------------------------------------

    def show(self, view: View) -> None:
        """Show this view from now on; the selection is cleared if the state, the actions or the player changes."""
        if view.seen() == self.view.seen():
            return
        if view.cells != self.view.cells or view.version != self.view.version or view.player != self.view.player:
            self.picker = Picker(view.cells)
            self.choices, self._pressed, self._dragging = [], None, False
        self.view, self._stale = view, True

    @property
    def board(self) -> tuple[int, int, int, int]:
        """x, y, w, h of the board in the window: centred, as large as fits, with its aspect kept."""
        width, height = self.screen.size
        width -= self._column
        room = max(40, height - self._panel_height())
        size = max(40, int(min(width, room / self._aspect)))
        w, h = self._picture(size).shape[1::-1]
        return (width - w) // 2, max(0, (room - h) // 2), w, h

    @property
    def _column(self) -> int:
        """The width of the column beside the board; a narrow window has none."""
        return self._side if self.screen.size[0] >= 2.5 * self._side else 0

    def _panel_height(self) -> int:
        """The largest height needed so far at this width, so that the board does not move when buttons come and go."""
        width = self.screen.size[0]
        if width != self._panel_room[0]:
            self._panel_room = (width, 0)
        self._panel_room = (width, max(self._panel_room[1], self.panel.height(width, self.view, self._buttons())))
        return self._panel_room[1]

    def boxes(self) -> list[Box]:
        """x, y, w, h of every cell, in pixels of the window."""
        x, y, w, _ = self.board
        boxes = self.drawer.boxes(self.game, size=w, player=self.view.player)
        return [(x + left, y + top, bw, bh) for left, top, bw, bh in boxes]

    def _picture(self, size: int) -> Frame:
        key = (self.view.version, self.view.player, size)
        if self._frame is None or key != self._frame_key:
            self._frame = self._draw(self.game, self.view.state, 0, size=size, player=self.view.player)
            self._frame_key = key
        return self._frame

    def _buttons(self) -> list[tuple[Event, str]]:
        """The actions that are buttons in the panel, with labels."""
        return [] if self.view.cover else [(action, self.view.labels[action]) for action in self.picker.buttons]

    def draw(self) -> None:
        """Redraw everything and show it."""
        screen, view = self.screen, self.view
        screen.surface.fill(PALETTE.background)
        x, y, w, h = self.board
        if view.cover:
            screen.surface.blit(screen.as_surface(chooser_frame(w, h, view.cover, [])[0]), (x, y))
        else:
            screen.surface.blit(screen.as_surface(self._picture(w)), (x, y))
            self._mark_all()
        width, height = screen.size
        if self._column:
            box = (width - self._column, 0, self._column, height - self._panel_height())
            draw_side(screen.surface, box, self.game, self.drawer, view, self.panel.colors)
        if self.helping:
            rows = [(keys, words) for control, keys, words in LISTED if not control or control in view.controls]
            draw_keys(screen.surface, (0, 0, width, height - self._panel_height()), self.game.goal, [("Keys", rows)])
        below = replace(view, clocks=()) if self._column else view  # the column has the times
        panel = self.panel.draw(width, below, self._buttons(), self._in_panel(self._hover))
        screen.surface.blit(screen.as_surface(panel), (0, height - self._panel_height()))
        if self.choices:
            frame, spots, corner = self._chooser()
            Brush(screen.surface).veil(x, y, w, h, 170)
            screen.surface.blit(screen.as_surface(frame), corner)
            for spot in spots if hasattr(self.drawer, "moved") else ():
                middle = (corner[0] + spot.x + spot.w / 2, corner[1] + spot.y + spot.h / 2)
                self._blit_piece(spot.name, middle, round(min(spot.w, spot.h)), landed=True)
        elif self._dragging and self._hover and hasattr(self.drawer, "moved"):
            self._blit_piece(self.picker.first(), self._hover, round(self.boxes()[self.picker.chosen[-1]][2]))
        screen.flip()
        self._stale = False

    def _blit_piece(self, action: Action, middle: tuple[float, float], size: int, *, landed: bool = False) -> None:
        """Draw the piece that an action moves, wherever it is held."""
        sprite = self.drawer.moved(self.game, self.view.state, 0, action, size, landed=landed)
        corner = (round(middle[0] - size / 2), round(middle[1] - size / 2))
        self.screen.surface.blit(sprite, corner, None, self.pygame.BLEND_PREMULTIPLIED)

    def _mark_all(self) -> None:
        view, picker = self.view, self.picker
        boxes = self.boxes()
        for cell in view.hint:
            self._mark("last", boxes[cell], PALETTE.second)
        for cell in set(view.last) if not getattr(self.drawer, "MARKS_LAST", False) else ():
            self._mark("last", boxes[cell], PALETTE.accent)
        for cell in picker.chosen:
            self._mark("fill", boxes[cell], PALETTE.accent)
        targets = picker.targets()
        hovered = nearest(boxes, *self._hover) if self._hover and not self.choices else None
        if hovered in targets or hovered in picker.starts():
            self._mark("shine", boxes[hovered or 0], PALETTE.text)
        if picker.chosen:
            for cell in targets:
                self._mark("ring" if self._taken(boxes[cell]) else "dot", boxes[cell], PALETTE.accent)
        elif not picker.moving and len(targets) <= MANY:
            for cell in targets:
                self._mark("pip", boxes[cell], PALETTE.accent)

    def _taken(self, box: Box) -> bool:
        """Whether something is drawn in the middle of a cell, where a dot would hide it."""
        assert self._frame is not None
        left, top, _, _ = self.board
        x, y, w, h = box
        inner = self._frame[
            int(y - top + 0.35 * h) : int(y - top + 0.65 * h) + 1,
            int(x - left + 0.35 * w) : int(x - left + 0.65 * w) + 1,
        ]
        return bool(inner.size and np.ptp(inner.reshape(-1, 3).astype(int), axis=0).max() > 30)

    def _mark(self, kind: str, box: Box, color: Color) -> None:
        x, y, w, h = box
        self.screen.surface.blit(_mark_surface(self.pygame, kind, round(w), round(h), color), (round(x), round(y)))

    # -- events --------------------------------------------------------------------------------------------------------

    def _answer(self, event: Any) -> list[Event]:
        pygame = self.pygame
        if event.type == pygame.QUIT:
            return ["quit"]
        if event.type == pygame.MOUSEBUTTONDOWN and event.button == 3:
            self._cancel()
        elif event.type == pygame.MOUSEMOTION and self._pressed is not None:
            self._dragging = self.picker.chosen[-1:] == (self._pressed,)
        elif event.type == pygame.MOUSEBUTTONUP and event.button == 1:
            self._stale, self._dragging = True, False
            return self._release(*event.pos)
        elif event.type == getattr(pygame, "WINDOWLEAVE", -1):
            self._hover, self._stale = None, True
        elif event.type == pygame.TEXTINPUT and self.entry is not None and not self.view.cover:
            self.entry.type(event.text)
            self._stale = True
        return super()._answer(event)

    def _key(self, event: Any) -> list[Event]:
        name = self.pygame.key.name(event.key)
        if name == "escape":
            self.helping = False
            self._cancel()
        control = KEYS.get(name, KEYS.get(getattr(event, "unicode", "") or "", ""))
        if name in ("return", "space") and self.view.cover:
            return ["uncover"]
        if control == "help" and (self.entry is None or name == "f1"):
            return self._ask(control)
        if self.entry is not None:  # all other keys write
            self.entry.key(name)
            self._stale = True
            return ["say"] if name in ("return", "enter", "keypad enter") else []
        return [control] if control in self.view.controls else []

    def _ask(self, name: Event) -> list[Event]:
        """What a button asks for; the window itself shows and hides the keys."""
        if name != "help":
            return [name]
        self.helping, self._stale = not self.helping, True
        return []

    def _cancel(self) -> None:
        self.choices, self.picker.chosen, self._stale, self._dragging = [], (), True, False

    def _press(self, x: int, y: int) -> list[Event]:
        bx, by, bw, bh = self.board
        if self.choices:
            _, spots, (left, top) = self._chooser()
            self._cancel()
            button = hit(spots, x - left, y - top)
            return [button.name] if button else []
        below = self._in_panel((x, y))
        if below is not None and below[1] >= 0:
            button = hit(self.panel.spots(self.screen.size[0], self.view, self._buttons()), *below)
            return self._ask(button.name) if button else []
        if self.helping:
            return self._ask("help")
        if self.view.cover:
            return ["uncover"] if bx <= x < bx + bw and by <= y < by + bh else []
        self._pressed = nearest(self.boxes(), x, y)
        return self._click(self._pressed)

    def _release(self, x: int, y: int) -> list[Event]:
        """Move a piece that was dragged to another cell."""
        begun, self._pressed = self._pressed, None
        if begun is None or self.choices or not self.picker.chosen or self.picker.chosen[-1] != begun:
            return []
        cell = nearest(self.boxes(), x, y)
        return self._click(cell) if cell is not None and cell != begun else []

    def _click(self, cell: int | None) -> list[Event]:
        if cell is None:
            self._cancel()
            return []
        decided = self.picker.click(cell)
        if len(decided) > 1:
            self.choices = decided
            return []
        return list(decided)

    def _chooser(self) -> tuple[Frame, list[Spot], tuple[int, int]]:
        """The chooser's picture and buttons, and its corner in the window."""
        x, y, w, h = self.board
        choices = [(action, self.view.labels[action]) for action in self.choices]
        pictured = hasattr(self.drawer, "moved")
        frame, spots = chooser_frame(round(0.8 * w), round(0.4 * h), "Which?", choices, pictured=pictured)
        return frame, spots, (x + (w - frame.shape[1]) // 2, y + (h - frame.shape[0]) // 2)

    def _in_panel(self, point: tuple[int, int] | None) -> tuple[int, int] | None:
        """Convert a point of the window to the panel's coordinates."""
        return (point[0], point[1] - self.screen.size[1] + self._panel_height()) if point else None


def _seat_colors(drawer: ModuleType, players: int) -> tuple[Color, ...]:
    usual = (PALETTE.first, PALETTE.second, PALETTE.accent, PALETTE.text)
    given: tuple[Color, ...] = getattr(drawer, "SEAT_COLORS", usual)
    return tuple(given[p % len(given)] for p in range(players))


@lru_cache(64)
def _mark_surface(pygame: Any, kind: str, w: int, h: int, color: Color) -> Any:
    """A translucent mark [w, h] with smooth edges: fill, shine, last (a frame), dot, ring, pip (a small low dot)."""
    n = 4
    large = pygame.Surface((w * n, h * n), pygame.SRCALPHA)
    large.fill((*color, 0))
    side = min(w, h) * n
    long = h > 1.7 * w  # a column, with its marks at the upper end
    middle = (w * n // 2, side // 2 if long else h * n // 2)
    if kind in ("fill", "shine"):
        pygame.draw.rect(large, (*color, 105 if kind == "fill" else 34), large.get_rect(), border_radius=side // 10)
    elif kind == "last":
        pygame.draw.rect(large, (*color, 215), large.get_rect(), width=max(n, side // 22), border_radius=side // 10)
    elif kind == "dot":
        pygame.draw.circle(large, (*color, 170), middle, side * 0.13)
    elif kind == "pip":
        at = middle if long else (middle[0], h * n * 0.84)
        pygame.draw.circle(large, (*color, 150), at, side * 0.055)
    else:
        pygame.draw.circle(large, (*color, 190), middle, side * 0.46)
        pygame.draw.circle(large, (*color, 0), middle, side * 0.39)
    return pygame.transform.smoothscale(large, (w, h))
