"""This process's window: open it, draw on it, resize it, close it. Its content comes from ``window`` or is a frame.

pygame has one window per process, so everything that is shown shares it; the last one to draw is visible.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..errors import UsageError
from .board import PALETTE, Brush, Color, Frame, load_pygame

__all__ = ["KEYS", "WORDS", "Interactive", "Screen", "Spot", "beside", "close_frame", "hit", "show_frame"]

WORDS: Final = 15
"""Height of letters, pixels."""

KEYS: Final = {
    "n": "new",
    "space": "pause",
    "right": "step",
    "+": "faster",
    "=": "faster",
    "-": "slower",
    "h": "help",
    "?": "help",
    "f1": "help",
}
"""Keys for the controls that all windows have."""

SMALLEST: Final = (260, 300)
_INVISIBLE: Final = ("offscreen", "dummy")  # drivers that display nothing


class Screen:
    """An open window of ``size`` (width, height) pixels that its user may resize.

    Raises:
        MissingExtra: pygame is not installed.
        UsageError: there is no display to open a window on.
    """

    def __init__(self, size: tuple[int, int], title: str) -> None:
        self.pygame = load_pygame()
        asked = os.environ.get("SDL_VIDEODRIVER", "")
        try:
            self.pygame.display.init()
            driver = self.pygame.display.get_driver()
            if driver in _INVISIBLE and driver not in asked.lower():
                self.pygame.display.quit()
                raise UsageError(_no_display("no display was found"))
            self._resize(size)
        except self.pygame.error as error:
            raise UsageError(_no_display(str(error))) from None
        self.visible = driver not in _INVISIBLE
        self.pygame.display.set_caption(title)
        self.open = True

    @property
    def surface(self) -> Any:
        """The surface to draw on."""
        return self.pygame.display.get_surface()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, pixels."""
        width, height = self.surface.get_size()
        return int(width), int(height)

    def events(self, wait: float = 0.0) -> list[Any]:
        """The events since the last call; resizing is already done. Empty once the window is closed.

        If there are none, it waits ``wait`` seconds and looks again.
        """
        if not self.open:
            return []
        happened = self.pygame.event.get()
        if not happened and wait > 0:
            self.pygame.time.wait(max(1, round(1000 * wait)))
            happened = self.pygame.event.get()
        for event in happened:
            # A real window already has its new size, so this changes nothing there.
            if event.type == self.pygame.VIDEORESIZE and tuple(event.size) != self.size:
                self._resize(event.size)
        return list(happened)

    def alive(self) -> bool:
        """Handle the window's events for a caller that needs none; False once its user has closed it."""
        if self.open and not self.pygame.display.get_init():
            self.open = False  # other code has shut pygame down
        if any(event.type == self.pygame.QUIT for event in self.events()):
            self.close()
        return self.open

    def _resize(self, size: tuple[int, int]) -> None:
        width, height = (max(asked, least) for asked, least in zip(size, SMALLEST, strict=True))
        self.pygame.display.set_mode((width, height), self.pygame.RESIZABLE)

    def flip(self) -> None:
        """Show what was drawn."""
        self.pygame.display.flip()

    def close(self) -> None:
        """Close the window; does nothing if it is closed."""
        if self.open:
            self.open = False
            self.pygame.display.quit()

    def as_surface(self, frame: Frame) -> Any:
        """A frame [H, W, 3] uint8 as a surface that can be copied to the window."""
        height, width = frame.shape[:2]
        return self.pygame.image.frombuffer(np.ascontiguousarray(frame).tobytes(), (width, height), "RGB")

    def picture(self) -> Frame:
        """[H, W, 3] uint8: what the window shows."""
        return np.ascontiguousarray(self.pygame.surfarray.array3d(self.surface).transpose(1, 0, 2))


class Spot(NamedTuple):
    """An area that can be clicked.

    Attributes:
        name: what a click asks for.
        x, y, w, h: pixels.
        label: the words on a button.
        value: a number that belongs to ``name``.
    """

    name: Any
    x: float
    y: float
    w: float
    h: float
    label: str = ""
    value: int = 0

    def holds(self, x: float, y: float) -> bool:
        """Whether a point is in the area."""
        return self.x <= x < self.x + self.w and self.y <= y < self.y + self.h

    def draw(self, brush: Brush, pointer: tuple[int, int] | None, ground: Color = PALETTE.cell) -> None:
        """Draw it as a button, which lights up under the pointer."""
        over = pointer is not None and self.holds(*pointer)
        brush.rectangle(self.x, self.y, self.w, self.h, PALETTE.faint if over else ground, radius=6)
        brush.text(self.x + self.w / 2, self.y + self.h / 2, self.label, WORDS, room=self.w - 8)


def hit(spots: Iterable[Spot], x: float, y: float) -> Spot | None:
    """The area at a point, or None."""
    return next((spot for spot in spots if spot.holds(x, y)), None)


def beside(
    buttons: Sequence[tuple[Any, str, int]], x: float, y: float, width: float, height: float, gap: int = 6
) -> list[Spot]:
    """Buttons (name, label, value) of equal width side by side, ``width`` pixels together."""
    wide = (width - gap * (len(buttons) - 1)) / max(1, len(buttons))
    return [
        Spot(name, x + k * (wide + gap), y, wide, height, label, value)
        for k, (name, label, value) in enumerate(buttons)
    ]


class Interactive(ABC):
    """A window that answers its user and is drawn again when something has changed.

    Args:
        size: width and height, pixels.
        title: the window's title.

    Attributes:
        helping: whether the keys are shown; the game then waits.
    """

    def __init__(self, size: tuple[int, int], title: str) -> None:
        self.screen = Screen(size, title)
        self.pygame = self.screen.pygame
        self.helping = False
        self._hover: tuple[int, int] | None = None
        self._stale = True

    def poll(self, wait: float = 0.0) -> list[Any]:
        """Handle the window's events and redraw if needed.

        Args:
            wait: seconds to wait first if there are no events.

        Returns:
            what the person asked for, in order.
        """
        asked = [one for event in self.screen.events(wait) for one in self._answer(event)]
        if self._stale:
            self.draw()
        return asked

    def close(self) -> None:
        """Close the window."""
        self.screen.close()

    @abstractmethod
    def draw(self) -> None:
        """Redraw everything and show it."""

    @abstractmethod
    def _key(self, event: Any) -> list[Any]:
        """Answer a key."""

    @abstractmethod
    def _press(self, x: int, y: int) -> list[Any]:
        """Answer a click."""

    def _answer(self, event: Any) -> list[Any]:
        pygame, kind = self.pygame, event.type
        if kind == pygame.KEYDOWN:
            return self._key(event)
        if kind == pygame.MOUSEMOTION:
            self._hover, self._stale = tuple(event.pos), True
        elif kind == pygame.MOUSEBUTTONDOWN and event.button == 1:
            self._stale = True
            return self._press(*event.pos)
        elif kind in (pygame.VIDEORESIZE, pygame.VIDEOEXPOSE, getattr(pygame, "WINDOWSIZECHANGED", -1)):
            self._stale = True
        return []


def _no_display(why: str) -> str:
    return (
        f"No window can be opened here ({why}). Play in the terminal instead, without --window; or, on a remote "
        "machine, forward the display (ssh -X)."
    )


_shared: list[Screen | None] = []  # None: no window can be opened here


def show_frame(frame: Frame, title: str, seconds: float = 0.0) -> bool:
    """Show a frame in a window, handle its events and wait; for environments with ``render_mode="human"``.

    The first call opens the window. It keeps the size that its user gives it, and the frame is scaled to fit. If the
    user closes the window, it stays closed and later calls do nothing.

    Args:
        frame: [H, W, 3] uint8.
        title: the window's title.
        seconds: how long to wait after showing the frame; it does not wait if the display is invisible.

    Returns:
        False where no window can be opened (no pygame, no display); show the frame in another way.
    """
    if not _shared:
        try:
            _shared.append(Screen((frame.shape[1], frame.shape[0]), title))
        except UsageError:
            _shared.append(None)
    screen = _shared[0]
    if screen is None:
        return False
    pygame = screen.pygame
    if not screen.alive():
        return True
    pygame.display.set_caption(title)
    (width, height), (h, w) = screen.size, frame.shape[:2]
    scale = min(width / w, height / h)
    fitted = (max(1, round(w * scale)), max(1, round(h * scale)))
    picture = screen.as_surface(frame)
    if fitted != (w, h):
        picture = pygame.transform.smoothscale(picture, fitted)
    screen.surface.fill(PALETTE.background)
    screen.surface.blit(picture, ((width - fitted[0]) // 2, (height - fitted[1]) // 2))
    screen.flip()
    until = pygame.time.get_ticks() + round(1000 * seconds)
    while screen.visible and pygame.time.get_ticks() < until and screen.alive():
        pygame.time.wait(10)
    return True


def close_frame() -> None:
    """Close the window of ``show_frame``; the next frame opens a new one."""
    for screen in _shared:
        if screen is not None:
            screen.close()
    _shared.clear()
