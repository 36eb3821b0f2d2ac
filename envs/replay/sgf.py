"""Texts inside SGF records, written the same way for every game that is saved as SGF.

Source: Hollosi, "SGF FF[4]: Smart Game Format" (2006), property value types Text and SimpleText.
"""

from __future__ import annotations

import re

__all__ = ["escaped"]


def escaped(text: str, simple: bool = False) -> str:
    """Escape backslashes and closing brackets, drop control characters, keep lines (simple text: join them to one)."""
    text = re.sub(r"\r\n|\n\r|\r", "\n", text)
    text = "".join(c for c in text if c in "\n\t" or c.isprintable() or c == " ")
    if simple:
        text = " ".join(text.split())
    return text.replace("\\", "\\\\").replace("]", "\\]")
