"""The one window of this process: opened, drawn on, resized, closed. What is in it is ``window``'s affair, or a frame.

pygame knows one window a process, so everybody who shows something shares it; whoever comes last is seen.
"""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np

from ..errors import UsageError
from .board import PALETTE, Color, Frame, load_pygame

__all__ = ["Screen", "close_frame", "show_frame"]

SMALLEST: Final = (260, 300)
_INVISIBLE: Final = ("offscreen", "dummy")  # drivers that show nothing to anybody


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
        """What is drawn on."""
        return self.pygame.display.get_surface()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, pixels."""
        width, height = self.surface.get_size()
        return int(width), int(height)

    def events(self, wait: float = 0.0) -> list[Any]:
        """What has happened since the last call; resizing is done already. Empty once the window is closed.

        Where nothing has, it rests for ``wait`` seconds first.
        """
        if not self.open:
            return []
        happened = self.pygame.event.get()
        if not happened and wait > 0:
            self.pygame.time.wait(max(1, round(1000 * wait)))
            happened = self.pygame.event.get()
        for event in happened:
            # A real window has its new size by now; then this changes nothing.
            if event.type == self.pygame.VIDEORESIZE and tuple(event.size) != self.size:
                self._resize(event.size)
        return list(happened)

    def alive(self) -> bool:
        """Answer the window's events for somebody who wants none of them; False once its user has closed it."""
        if self.open and not self.pygame.display.get_init():
            self.open = False  # somebody else has shut pygame down
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
        """Close the window; a second time does nothing."""
        if self.open:
            self.open = False
            self.pygame.display.quit()

    def as_surface(self, frame: Frame) -> Any:
        """A frame [H, W, 3] that can be copied to the window."""
        height, width = frame.shape[:2]
        return self.pygame.image.frombuffer(np.ascontiguousarray(frame).tobytes(), (width, height), "RGB")

    def picture(self) -> Frame:
        """[H, W, 3] uint8 what the window shows."""
        return np.ascontiguousarray(self.pygame.surfarray.array3d(self.surface).transpose(1, 0, 2))


def _no_display(why: str) -> str:
    return (
        f"No window can be opened here ({why}). Play in the terminal instead, without --window; or, where a window is "
        "wanted on another machine, forward its display (ssh -X)."
    )


_shared: list[Screen | None] = []  # None: there can be none here


def show_frame(frame: Frame, title: str, seconds: float = 0.0, background: Color = PALETTE.background) -> bool:
    """Show a frame in a window of its own, answer its events and wait; for environments that draw by themselves.

    The window is opened at the first call and keeps the size its user gives it; the frame is scaled to fit. A window
    that its user has closed stays closed, and nothing breaks.

    Args:
        frame: [H, W, 3] uint8.
        title: of the window.
        seconds: how long to wait after showing it; not where nobody can see it.
        background: beside the frame.

    Returns:
        False where there can be no window (no pygame, no display): show it in another way.
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
