"""What a window shows, the panel below its board (players, whose turn it is, buttons), and the chooser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeAlias

from ..aliases import Action, Player, State
from .board import PALETTE, Canvas, Color, Frame
from .screen import WORDS, Spot, beside
from .talking import ENTRY, LOG, Entry, draw_entry, draw_said

__all__ = ["MOST", "Event", "Panel", "View", "chooser_frame"]

Event: TypeAlias = Action | str
"""What a person asked for: an action, or the name of a control."""

LINE: Final = 26  # pixels, a line of text
BUTTON: Final = 30
GAP: Final = 6
MOST: Final = 60
"""The most buttons that the panel has room for; games whose actions have no cells have few actions."""


@dataclass(frozen=True, eq=False)
class View:
    """What the window shows.

    Attributes:
        state: one game.
        player: the seat whose view it is; None: a spectator.
        cells: the actions that the person may choose now, each with its cells; empty if it is not a person's turn.
        labels: the labels of actions, on buttons and in a chooser.
        last: the cells of the last move.
        names: the names of the players in seats 0..P-1.
        active: the seats to move.
        status: whose turn it is, or how the game ended.
        controls: name -> label of the buttons below.
        cover: a text that hides the board until a click (event "uncover"); "" shows the board.
        version: rises whenever the state changes, so that states need not be compared.
        moves: what was played that the viewer knows, a list of (seat, text) for each turn.
        clocks: each seat's time, as it is shown; (): none is.
        hint: the cells of an action that was advised.
        said: what the viewer heard, in games with talk: (seat or ``talking.NOTE``, message), oldest first.
    """

    state: State
    player: Player | None = None
    cells: Mapping[Action, tuple[int, ...]] = field(default_factory=dict)
    labels: Mapping[Action, str] = field(default_factory=dict)
    last: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    active: tuple[Player, ...] = ()
    status: str = ""
    controls: Mapping[str, str] = field(default_factory=dict)
    cover: str = ""
    version: int = 0
    said: tuple[tuple[Player, str], ...] = ()
    moves: tuple[tuple[tuple[Player, str], ...], ...] = ()
    clocks: tuple[str, ...] = ()
    hint: tuple[int, ...] = ()

    def seen(self) -> tuple[Any, ...]:
        """All fields but the state, which its version stands for."""
        return tuple(getattr(self, f.name) for f in fields(self) if f.name != "state")


class Panel:
    """The lower part of the window.

    Args:
        colors: one per seat, for the disc before its name.
        entry: the message that a person is typing, in games with talk; it can be typed unless its ``longest`` is 0.
    """

    def __init__(self, colors: Sequence[Color], entry: Entry | None = None) -> None:
        self.colors = tuple(colors)
        self.entry = entry
        self._log = GAP + 2.0 * LINE  # where messages begin
        talk = 0 if entry is None else LOG + GAP + (ENTRY if entry.longest else 0)
        self._buttons = self._log + talk  # where buttons begin
        self._measure = Canvas(1)  # measures text

    @property
    def usual_height(self) -> int:
        """Its height in pixels with one row of controls and no buttons for actions."""
        return round(self._buttons) + BUTTON + 2 * GAP

    def height(self, width: int, view: View, buttons: Sequence[tuple[Event, str]]) -> int:
        """The height in pixels that the panel needs."""
        lowest = max((spot.y + BUTTON for spot in self.spots(width, view, buttons)), default=0.0)
        return max(self.usual_height, round(lowest + 2 * GAP))

    def spots(self, width: int, view: View, buttons: Sequence[tuple[Event, str]]) -> list[Spot]:
        """All buttons, in pixels of the panel: actions first, controls below."""
        actions = self._rows(buttons, width, self._buttons)
        last = max((spot.y + BUTTON + GAP for spot in actions), default=self._buttons)
        return actions + self._rows([(name, label) for name, label in view.controls.items()], width, last)

    def draw(
        self, width: int, view: View, buttons: Sequence[tuple[Event, str]], pointer: tuple[int, int] | None
    ) -> Frame:
        """[height, width, 3] uint8."""
        canvas = Canvas(width, self.height(width, view, buttons))
        self._names(canvas, view)
        canvas.text(width / 2, GAP + 1.5 * LINE, view.status, WORDS, room=0.96 * width)
        if self.entry is not None and not view.cover:
            draw_said(canvas, self._log, view.said, self.colors)
            if self.entry.longest:
                draw_entry(canvas, self._log + LOG + GAP, self.entry)
        for spot in self.spots(width, view, buttons):
            spot.draw(canvas, pointer, PALETTE.highlight if isinstance(spot.name, int) else PALETTE.cell)
        return canvas.frame()

    def _names(self, canvas: Canvas, view: View) -> None:
        """Draw each name (and time) after a disc in its seat's colour; those of the seats to move are highlighted."""
        between = "   against   "
        size = float(WORDS)
        names = [f"{name}  {view.clocks[seat]}" if view.clocks else name for seat, name in enumerate(view.names)]
        total = sum(canvas.text_width(name, size) + 1.5 * size for name in names)
        total += max(0, len(view.names) - 1) * canvas.text_width(between, size)
        shrink = min(1.0, 0.96 * canvas.width / max(total, 1.0))
        x, y, size = (canvas.width - shrink * total) / 2, GAP + LINE / 2, size * shrink
        for seat, name in enumerate(names):
            if seat:
                canvas.text(x, y, between, size, PALETTE.faint, anchor=0.0)
                x += canvas.text_width(between, size)
            canvas.disc(x + 0.45 * size, y, 0.5 * size, PALETTE.faint)
            canvas.disc(x + 0.45 * size, y, 0.42 * size, self.colors[seat])
            x += 1.5 * size
            color = PALETTE.accent if seat in view.active else PALETTE.text
            canvas.text(x, y, name, size, color, anchor=0.0)
            x += canvas.text_width(name, size)

    def _rows(self, buttons: Sequence[tuple[Event, str]], width: int, top: float) -> list[Spot]:
        """Buttons from left to right, in as many rows as needed, each row centred."""
        sized = [(name, label, self._measure.text_width(label, WORDS) + 22) for name, label in buttons[:MOST]]
        rows: list[list[tuple[Event, str, float]]] = [[]]
        for one in sized:
            if rows[-1] and sum(w + GAP for _, _, w in rows[-1]) + one[2] > width - 2 * GAP:
                rows.append([])
            rows[-1].append(one)
        spots = []
        for k, row in enumerate(rows):
            x = (width - sum(w for _, _, w in row) - GAP * (len(row) - 1)) / 2
            for name, label, w in row:
                spots.append(Spot(name, x, top + k * (BUTTON + GAP), w, BUTTON, label))
                x += w + GAP
        return spots


def chooser_frame(
    width: int, height: int, title: str, choices: Sequence[tuple[Event, str]], *, pictured: bool = False
) -> tuple[Frame, list[Spot]]:
    """A card with a title and, below it, a button for each choice: its picture, and the buttons' places on it.

    With ``pictured``, the buttons are blank and as high as there is room, for the caller to draw on.
    """
    canvas = Canvas(max(width, 40), max(height, 40))
    width, height = canvas.width, canvas.height
    canvas.rectangle(0, 0, width, height, PALETTE.cell, radius=8)
    at = width / 2, height * (0.25 if choices else 0.5)
    canvas.text(*at, title, max(WORDS, 0.09 * height), room=0.9 * width)
    high = min(0.55 * height, 0.2 * width) if pictured else min(0.4 * height, 60)
    labels = [(event, label, 0) for event, label in choices]
    spots = beside(labels, 0.04 * width, 0.68 * height - high / 2, 0.92 * width, high, GAP)
    for spot in spots:
        (spot._replace(label="") if pictured else spot).draw(canvas, None, PALETTE.faint)
    return canvas.frame(), spots
