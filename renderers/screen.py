"""This process's window: open it, draw on it, resize it, close it. Its content comes from ``window`` or is a frame.

pygame has one window per process, so everything that is shown shares it; the last one to draw is visible.
"""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np

from ..errors import UsageError
from .board import PALETTE, Color, Frame, load_pygame

__all__ = ["Screen", "close_frame", "show_frame"]

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


def _no_display(why: str) -> str:
    return (
        f"No window can be opened here ({why}). Play in the terminal instead, without --window; or, on a remote "
        "machine, forward the display (ssh -X)."
    )


_shared: list[Screen | None] = []  # None: no window can be opened here


def show_frame(frame: Frame, title: str, seconds: float = 0.0, background: Color = PALETTE.background) -> bool:
    """Show a frame in a window, handle its events and wait; for environments with ``render_mode="human"``.

    The first call opens the window. It keeps the size that its user gives it, and the frame is scaled to fit. If the
    user closes the window, it stays closed and later calls do nothing.

    Args:
        frame: [H, W, 3] uint8.
        title: the window's title.
        seconds: how long to wait after showing the frame; it does not wait if the display is invisible.
        background: the colour around the frame.

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
    screen.surface.fill(background)
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
