"""Bounds for files from elsewhere: a small file may not take much memory or time.

Readers of YAML are in ``plain``. ``COTERIE_LIMITS`` multiplies all bounds, here and there:
``COTERIE_LIMITS=10 coterie play --replay long.json``.
"""

from __future__ import annotations

import gzip
import json
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .plain import limit

__all__ = [
    "FILE",
    "LINE",
    "UNPACKED",
    "inflated",
    "lines_of",
    "parsed",
    "read_bytes",
    "read_text",
    "unzipped",
]

FILE = 64 << 20
"""Most bytes of a file that is read as a whole."""

UNPACKED = 16 << 20
"""Most bytes that compressed data may unpack to, in one file: 160,000 ticks of 100 players."""

LINE = 16 << 20
"""Most bytes of a line, in a file that is read line by line and may be of any length."""

DEPTH = 50
"""Most levels of nested lists and mappings."""


def read_bytes(path: str | os.PathLike[str], most: int = FILE) -> bytes:
    """A whole file.

    Raises:
        OSError: it can't be opened, or is a folder.
        UsageError: it is larger than ``limit(most)`` bytes.
    """
    allowed = limit(most)
    try:
        with Path(path).open("rb") as file:
            if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError(f"{path} is a folder")
            data = file.read(allowed + 1)
    except ValueError as error:  # a name with a zero byte
        raise OSError(f"{str(path)!r} is no name of a file: {error}") from None
    if len(data) > allowed:
        raise UsageError(f"{path} is larger than {_told(allowed)}")
    return data


def read_text(path: str | os.PathLike[str], most: int = FILE) -> str:
    """A whole file in UTF-8; raises also UnicodeDecodeError, else as ``read_bytes``."""
    return read_bytes(path, most).decode("utf-8")


def lines_of(path: str | os.PathLike[str], at: int = 0) -> Iterator[bytes]:
    """The lines of a file from byte ``at`` on, with their ends.

    Raises:
        OSError: it can't be opened, or is a folder.
        UsageError: a line is longer than ``limit(LINE)`` bytes.
    """
    allowed = limit(LINE)
    with Path(path).open("rb") as file:
        file.seek(at)
        while line := file.readline(allowed + 1):
            if len(line) > allowed:
                raise UsageError(f"a line is longer than {_told(allowed)}")
            yield line


def inflated(data: bytes, most: int = UNPACKED) -> bytes:
    """What zlib packed.

    Raises:
        UsageError: more than ``limit(most)`` bytes.
        zlib.error: it is damaged or cut short.
    """
    allowed, unpacker = limit(most), zlib.decompressobj()
    found = unpacker.decompress(data, allowed + 1)
    if len(found) > allowed:
        raise UsageError(f"it unpacks to more than {_told(allowed)}")
    if not unpacker.eof:
        raise zlib.error("incomplete or truncated stream")
    return found


def unzipped(path: str | os.PathLike[str], most: int = UNPACKED) -> bytes:
    """What gzip packed into a file.

    Raises:
        UsageError: more than ``limit(most)`` bytes.
        OSError, EOFError, zlib.error: it is unreadable, damaged or cut short.
    """
    allowed = limit(most)
    with gzip.open(path) as file:
        found = file.read(allowed + 1)
    if len(found) > allowed:
        raise UsageError(f"{path} unpacks to more than {_told(allowed)}")
    return found


def parsed(text: str | bytes) -> Any:
    """What a text in JSON says.

    Raises:
        ValueError: it is not JSON, or is nested more than ``limit(DEPTH)`` levels deep.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level = [found]
    for _ in range(limit(DEPTH) + 1):
        level = [
            part
            for whole in level
            if isinstance(whole, list | dict)
            for part in (whole.values() if isinstance(whole, dict) else whole)
            if isinstance(part, list | dict)
        ]
        if not level:
            return found
    raise ValueError("it is nested too deeply")


def _told(allowed: int) -> str:
    """A bound, and how to raise it."""
    return f"{allowed / (1 << 20):g} MiB; if you trust it, set COTERIE_LIMITS=10 to allow ten times as much"
