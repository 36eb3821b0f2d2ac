"""Writes a file in one step, so that a reader, or a crash, never meets half of one."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8; an existing one is replaced in one step, and left as it was if that fails.

    Raises:
        OSError: the file can't be written.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
