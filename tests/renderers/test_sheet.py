"""Columns of words on a surface."""

from __future__ import annotations

import pytest

from coterie.renderers.sheet import Sheet

pygame = pytest.importorskip("pygame")


def written(words: str, line: int = 0) -> bytes:
    """The pixels of a column 200 wide: a line, the same words in bold, and as a paragraph."""
    surface = pygame.Surface((200, 120), 0, 32)
    sheet = Sheet(surface, 0, line, 200, 120)
    sheet.line(words)
    sheet.line(words, bold=True)
    sheet.paragraph(words)
    assert sheet.y > line + 3 * 15, "three lines at least"
    return pygame.image.tobytes(surface, "RGB")


@pytest.mark.parametrize("leave", [pygame.quit, pygame.font.quit], ids=["pygame", "fonts"])
def test_words_are_written_after_somebody_else_has_left_pygame(leave) -> None:
    before = written("energy 12 and what was paid")
    assert before != written("energy 13 and what was paid")
    leave()
    assert written("energy 12 and what was paid") == before, "known words"
    assert written("energy 14 and what was paid") != before, "new ones"
