"""Compiled kernels on disk: many processes share them, and each kernel is compiled by one process alone.

A process that needs a kernel which nobody has stored takes the kernel's lock, and compiles; others wait for it and load
what it stored. Locks end with their process. Where they cannot be had (Windows, a folder that cannot be written), every
process compiles for itself.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import uuid
import zlib
from functools import cache
from typing import Any

from numba.core.caching import IndexDataCacheFile

__all__ = ["OwnFiles", "compile_once"]

PATIENCE = 300.0
"""Seconds after which a process stops waiting for another's compilation, which may have been stopped."""

SILENT = 2.0
"""Seconds of compiling before a message says so."""


class OwnFiles(IndexDataCacheFile):
    """A cache that writes compiled code to a new file each time, and lets one process at a time compile.

    Numba numbers the files of a kernel and writes the index before them: if two processes compile at once for different
    types, or from different sources, an index entry of one may point to the code of the other. Such code, called with
    arguments that it was not compiled for, reads and writes arbitrary memory.
    """

    locked = False

    def load(self, key: Any) -> Any:
        """What is stored; None if this process is to compile it, and then ``release`` the lock."""
        files: Any = super()
        found = files.load(key)
        if found is None and not self.locked:
            _tell(self)
            self.locked = self._turn(True)
            found = files.load(key)
        return found

    def save(self, key: Any, data: Any) -> None:
        """Write the data, then the index, then delete files that the index does not name: their readers recompile."""
        files: Any = self
        base = files._index_name.removesuffix("nbi")
        name = f"{base}{uuid.uuid4().hex}.nbc"
        files._save_data(name, data)
        known = files._load_index() | {key: name}
        files._save_index(known)
        for entry in os.scandir(files._cache_path):
            if entry.name.startswith(base) and entry.name.endswith(".nbc") and entry.name not in known.values():
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)

    def release(self) -> None:
        """Let another process compile."""
        if self.locked:
            self._turn(False)
        self.locked = False
        _compiling.discard(id(self))

    def _turn(self, take: bool) -> bool:
        """Take or give back this kernel's lock, one byte of a file that the folder's kernels share."""
        files: Any = self
        file = _lock_file(files._cache_path)
        if file is None:
            return False
        import fcntl

        byte = zlib.crc32(files._index_name.encode()) & 0x3FFFFFFF
        if not take:
            with contextlib.suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)
            return False
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
                return True
            except (BlockingIOError, PermissionError):
                time.sleep(0.05)
            except OSError:  # a file system without locks
                break
        return False


@cache
def _lock_file(folder: str) -> int | None:
    """A file to lock bytes of; open as long as the process lives, since closing it would end all its locks."""
    if os.name != "posix":
        return None
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        return os.open(os.path.join(folder, ".coterie-lock"), os.O_RDWR | os.O_CREAT, 0o666)
    return None


def compile_once(dispatcher: Any, files: OwnFiles) -> None:
    """Make a kernel's dispatcher use these files and give their lock back."""
    stored, compile_now = dispatcher._cache, dispatcher.compile
    stored._cache_file = files
    # Nothing is lost but time if compiled code cannot be stored, or not be read.
    stored._guard_against_spurious_io_errors = lambda: contextlib.suppress(OSError)

    def compile_and_release(signature: Any) -> Any:
        try:
            return compile_now(signature)
        finally:
            files.release()

    dispatcher.compile = compile_and_release


_compiling: set[int] = set()
"""The kernels that are being compiled or waited for: the id() of their files."""

_teller: list[threading.Timer] = []
"""The timer that prints the message, or has printed it."""


def _tell(files: OwnFiles) -> None:
    """Say once in a process that it compiles, if that takes long."""
    _compiling.add(id(files))
    if _teller or os.environ.get("COTERIE_QUIET"):
        return

    def tell() -> None:
        if not _compiling:
            _teller.clear()  # it was quick
            return
        told = "coterie: compiling kernels, once per machine. This can take a minute; later starts load them."
        print(told, file=sys.stderr, flush=True)

    _teller.append(threading.Timer(SILENT, tell))
    _teller[0].daemon = True
    _teller[0].start()
