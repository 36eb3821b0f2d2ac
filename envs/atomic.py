"""Writes a file in one step, so that a reader, or a crash, never meets half of one."""

from __future__ import annotations

import os
import threading
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8; an existing one is replaced in one step, and left as it was if that fails.

    Several writers may write the same path: the last one's content stays. A symbolic link is replaced by a file.

    Raises:
        OSError: the file can't be written.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
