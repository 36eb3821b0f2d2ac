"""What a window needs for games with talk: the line that a person types, and the last messages above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..aliases import Player
from ..envs.words.core import is_sayable
from .board import PALETTE, Canvas, Color

__all__ = ["ENTRY", "LOG", "NOTE", "Entry", "draw_entry", "draw_said", "start_typing"]

LINES: Final = 5
PITCH: Final = 19  # pixels from line to line
LETTERS: Final = 14
MARGIN: Final = 12

LOG: Final = LINES * PITCH
"""Height in pixels of the messages."""

ENTRY: Final = 32
"""Height in pixels of the line that is typed."""

NOTE: Final = -1
"""In the place of a seat: the window itself says this."""

HINT: Final = "Say something if you like, then choose an action"


@dataclass
class Entry:
    """A message that is being typed; it takes only what a message may hold.

    Attributes:
        longest: the most characters; 0: nothing can be typed.
        text: the message so far.
        at: where the next character goes.
    """

    longest: int
    text: str = ""
    at: int = 0

    def clear(self) -> None:
        """Begin a new message."""
        self.text, self.at = "", 0

    def type(self, words: str) -> None:
        """Put these characters in; those that no message may hold, and those that are too many, are left out."""
        fine = "".join(c for c in words if c not in "[]\n\t" and is_sayable(c))[: max(0, self.longest - len(self.text))]
        self.text = self.text[: self.at] + fine + self.text[self.at :]
        self.at += len(fine)

    def key(self, name: str) -> None:
        """Move in the message or delete a character, given a key's name as pygame has it."""
        at, text = self.at, self.text
        if name == "backspace" and at:
            self.text, self.at = text[: at - 1] + text[at:], at - 1
        elif name == "delete":
            self.text = text[:at] + text[at + 1 :]
        else:
            self.at = {"left": max(0, at - 1), "right": min(len(text), at + 1), "home": 0, "end": len(text)}.get(
                name, at
            )


def draw_said(canvas: Canvas, top: float, said: Sequence[tuple[Player, str]], colors: Sequence[Color]) -> None:
    """Draw as many of the last messages as there is room for, each after a disc in its speaker's colour.

    Only the first line of a message has a disc, so that no message can pass for two.

    Args:
        canvas: where to draw; its width is used.
        top: y in pixels of the first line.
        said: (seat or NOTE, message), oldest first.
        colors: one per seat.
    """
    left = MARGIN + LETTERS
    lines: list[tuple[str, Color | None, Color]] = []
    for speaker, message in reversed(said):
        if len(lines) >= LINES:
            break
        words = canvas.wrapped(message, LETTERS, canvas.width - left - MARGIN)
        disc = None if speaker == NOTE else colors[speaker]
        ink = PALETTE.accent if speaker == NOTE else PALETTE.text
        lines = [(line, disc if k == 0 else None, ink) for k, line in enumerate(words)] + lines
    for k, (line, disc, ink) in enumerate(lines[-LINES:]):
        y = top + (k + 0.5) * PITCH
        if disc is not None:
            canvas.disc(MARGIN + 0.3 * LETTERS, y, 0.3 * LETTERS, disc)
        canvas.text(left, y, line, LETTERS, ink, anchor=0.0)


def draw_entry(canvas: Canvas, top: float, entry: Entry) -> None:
    """Draw the line that is typed: its part around the cursor, and how much of its length is used."""
    height, middle = ENTRY - 6, top + (ENTRY - 6) / 2
    canvas.rectangle(MARGIN, top, canvas.width - 2 * MARGIN, height, PALETTE.cell, radius=6)
    if not entry.text:
        canvas.text(MARGIN + 8, middle, HINT, LETTERS, PALETTE.faint, anchor=0.0, room=canvas.width - 2 * MARGIN - 16)
    used = f"{len(entry.text)}/{entry.longest}" if entry.text else ""
    end = canvas.width - MARGIN - 8
    canvas.text(end, middle, used, 0.8 * LETTERS, PALETTE.faint, anchor=1.0)
    left = MARGIN + 8.0
    room = end - left - (canvas.text_width(used, 0.8 * LETTERS) + 10 if used else 0)
    text, start = entry.text, 0
    while canvas.text_width(text[start : entry.at], LETTERS) > room:
        start += 1
    stop = entry.at
    while stop < len(text) and canvas.text_width(text[start : stop + 1], LETTERS) <= room:
        stop += 1
    canvas.text(left, middle, text[start:stop], LETTERS, PALETTE.text, anchor=0.0)
    caret = left + canvas.text_width(text[start : entry.at], LETTERS)
    canvas.rectangle(caret, top + 5, 1.5, height - 10, PALETTE.accent)


def start_typing(pygame: Any) -> None:
    """Let the keyboard write texts, and repeat keys that are held down."""
    pygame.key.start_text_input()
    pygame.key.set_repeat(400, 40)
