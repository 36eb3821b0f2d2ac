"""A UCI engine as a child process: starts it, talks to it with timeouts, and always ends it. Independent of chess.

Source: Kahlen and Meyer-Kahlen 2006, Description of the universal chess interface (UCI).
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple

from ...errors import EngineError, UsageError, did_you_mean

__all__ = ["LIMITS", "TIMEOUT", "Engine", "Option"]

TIMEOUT = 10.0
"""Seconds that an engine may take to answer, beyond its time for a move."""
LIMITS = ("movetime", "depth", "nodes")
"""Limits of a move: milliseconds, plies, positions."""


class Option(NamedTuple):
    """An option that an engine declares.

    Attributes:
        name: as the engine writes it.
        kind: ``"check"``, ``"spin"``, ``"combo"``, ``"button"`` or ``"string"``.
        default: its default value as text.
        least, most: bounds of a spin; None where the engine gives none.
        values: the values of a combo.
    """

    name: str
    kind: str
    default: str
    least: int | None
    most: int | None
    values: tuple[str, ...]

    @classmethod
    def read(cls, line: str) -> Option:
        """Parse a line ``option name ... type ...``."""
        parts: dict[str, list[str]] = {}
        values: list[list[str]] = []
        word = ""
        for token in line.split()[1:]:
            if token in ("name", "type", "default", "min", "max", "var") and not (word == "name" and token != "type"):
                word = token
                parts.setdefault(word, [])
                if word == "var":
                    values.append([])
            elif word == "var":
                values[-1].append(token)
            elif word:
                parts[word].append(token)
        least, most = (int(" ".join(parts[k])) if parts.get(k) else None for k in ("min", "max"))
        name, kind, default = (" ".join(parts.get(k, [])) for k in ("name", "type", "default"))
        return cls(name, kind, default, least, most, tuple(" ".join(value) for value in values))

    def check(self, value: str) -> str:
        """Check a value and return it as the engine expects it.

        Raises:
            UsageError: not a valid value; the message says which are.
        """
        told = f"The engine's option {self.name!r}"
        if self.kind == "check":
            if value.lower() not in ("true", "false"):
                raise UsageError(f"{told} is true or false, not {value!r}.")
            return value.lower()
        if self.kind == "combo" and value not in self.values:
            near = did_you_mean(value, self.values)
            raise UsageError(f"{told} is one of {', '.join(self.values)}, not {value!r}.{near}")
        if self.kind == "spin":
            number = _whole(value)
            low, high = self.least, self.most
            if number is None or (low is not None and number < low) or (high is not None and number > high):
                raise UsageError(f"{told} is a whole number from {low} to {high}, not {value!r}.")
        return value


class Engine:
    """A running engine. Its process ends when this object is closed or garbage-collected, or when Python exits.

    Args:
        path: the program file, or a name on ``PATH``.
        timeout: seconds that it may take to answer, beyond its time for a move.

    Raises:
        UsageError: there is no such file, or it can't be run.
        EngineError: it doesn't speak UCI.
    """

    def __init__(self, path: str, timeout: float = TIMEOUT) -> None:
        self.path, self.timeout = _find(path), timeout
        self.name = Path(self.path).name
        self.options: dict[str, Option] = {}
        try:
            self._process = subprocess.Popen(
                [self.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,  # error messages quote its last line
                encoding="utf-8",
                errors="replace",
                bufsize=1,
                start_new_session=True,  # Ctrl-C reaches only us, and killing its group ends its children too
            )
        except OSError as error:
            raise UsageError(f"The engine {self.path} cannot be run: {error.strerror or error}.") from None
        self.pid = self._process.pid
        self._lines: queue.Queue[str | None] = queue.Queue(10_000)  # bounded: an engine that floods us has to wait
        self._said: deque[str] = deque(maxlen=3)
        # The thread and the finalizer must not refer to the engine itself, or it would never be garbage-collected.
        pipe = (self._process.stdout, self._lines)
        threading.Thread(target=_listen, args=pipe, name=f"engine {self.pid}", daemon=True).start()
        self._end = weakref.finalize(self, _end, self._process, self._lines)
        try:
            self._greet()
        except BaseException:
            self._end()
            raise

    def _greet(self) -> None:
        self.send("uci")
        for line in self.until("uciok", self.timeout, "does not speak UCI"):
            words = line.split()
            if words[:2] == ["id", "name"]:
                self.name = line.split("name", 1)[1].strip() or self.name
            elif words[:2] == ["option", "name"]:
                with contextlib.suppress(ValueError):  # an option whose bounds are not numbers can't be set
                    option = Option.read(line)
                    self.options[option.name] = option

    def set(self, name: str, value: str) -> None:
        """Set an option by its declared name, in upper or lower case.

        Raises:
            UsageError: no such option, or not a valid value.
        """
        known = {option.lower(): option for option in self.options}
        if name.lower() not in known:
            names = sorted([*self.options, *LIMITS, "timeout"])
            near = did_you_mean(name, names)
            raise UsageError(f"{self.name} has no option {name!r}.{near} It has: {', '.join(names)}.")
        option = self.options[known[name.lower()]]
        checked = option.check(value)
        self.send(f"setoption name {option.name}" + ("" if option.kind == "button" else f" value {checked}"))

    def ready(self) -> None:
        """Wait until the engine has carried out all commands so far (``isready``)."""
        self.send("isready")
        for _ in self.until("readyok", self.timeout, "did not get ready"):
            pass

    def best(self, fen: str, limits: Mapping[str, int]) -> tuple[str, dict[str, object]]:
        """Ask for the best move in a position; returns the move as the engine writes it, and its last depth and score.

        Raises:
            EngineError: it crashed or took too long.
        """
        self.send("ucinewgame")
        self.ready()
        self.send(f"position fen {fen}")
        self.send("go " + " ".join(f"{name} {value}" for name, value in limits.items()))
        patience = self.timeout + limits.get("movetime", 0) / 1000
        info: dict[str, object] = {}
        for line in self.until("bestmove", patience, f"gave no move in {fen!r}"):
            info |= _scores(line.split())
        words = self._said[-1].split()
        return (words[1] if len(words) > 1 else ""), info

    def send(self, line: str) -> None:
        """Send a line.

        Raises:
            EngineError: the engine has closed its input or ended.
        """
        pipe = self._process.stdin
        try:
            if pipe is None or pipe.closed:
                raise OSError("closed")
            pipe.write(line + "\n")
            pipe.flush()
        except OSError:
            raise self._dead(f"cannot be sent {line!r}") from None

    def until(self, last: str, seconds: float, failing: str) -> list[str]:
        """Read up to the line that starts with ``last``; returns the lines before it, at most the latest 10,000.

        Raises:
            EngineError: the process ended, or that line did not come in time.
        """
        deadline = time.monotonic() + seconds
        lines: deque[str] = deque(maxlen=10_000)
        while True:
            try:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise queue.Empty
                line = self._lines.get(timeout=left)
            except queue.Empty:
                raise EngineError(
                    f"The engine {self.path} {failing}: no {last!r} within {seconds:g} s.{self._last_words()} Its "
                    "process was ended; give it more time with timeout=SECONDS, or check that it is a UCI engine."
                ) from None
            if line is None:
                self._lines.put(None)  # later calls must see the end too
                raise self._dead(failing)
            if line.strip():
                self._said.append(line)
                if line.split()[0] == last:
                    return list(lines)
                lines.append(line)

    def _last_words(self) -> str:
        return f" It said last: {self._said[-1][:200]!r}." if self._said else " It said nothing."

    def _dead(self, failing: str) -> EngineError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.poll()
        how = "it closed its output" if code is None else f"its process ended with code {code}"
        return EngineError(f"The engine {self.path} {failing}: {how}.{self._last_words()}")

    def close(self, *, ask: bool = True) -> None:
        """End the process; with ``ask`` the engine first gets ``quit`` and half a second. Closing twice is fine."""
        if ask and self._end.alive and self._process.poll() is None:
            with contextlib.suppress(EngineError, subprocess.TimeoutExpired):
                self.send("quit")
                self._process.wait(0.5)
        self._end()


def _find(path: str) -> str:
    """The program file of an engine.

    Raises:
        UsageError: there is no such file, or it is not executable.
    """
    file = Path(path).expanduser()
    if not file.exists():
        found = shutil.which(path) if os.sep not in path else None
        if found:
            return found
        folder = file.parent
        near = did_you_mean(file.name, _programs(folder))
        raise UsageError(f"There is no engine {path}.{near} Give the path of a UCI engine: uci:/path/to/engine.")
    if not file.is_file() or not os.access(file, os.X_OK):
        what = "is no file" if not file.is_file() else f"is not executable; chmod +x {path} if it is an engine"
        raise UsageError(f"The engine {path} {what}.")
    return str(file.absolute())


def _programs(folder: Path) -> list[str]:
    """The names of the programs in a folder; none if the folder cannot be read."""
    try:
        return [file.name for file in folder.iterdir() if file.is_file() and os.access(file, os.X_OK)]
    except OSError:
        return []


def _listen(pipe: IO[str], lines: queue.Queue[str | None]) -> None:
    """Put each line into the queue as it arrives, then None; every engine has its own thread for this."""
    with contextlib.suppress(ValueError, OSError), pipe:
        for line in pipe:
            lines.put(line.rstrip("\r\n"))
    lines.put(None)


def _end(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    """Kill an engine and its children, then wait for the process and the listening thread, so that nothing is left."""
    if process.poll() is None:  # after poll() has reaped the process, its id may belong to another one
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    with contextlib.suppress(queue.Empty):
        while lines.get(timeout=1) is not None:  # the listener may be waiting for room in the queue
            pass
    lines.put(None)


def _scores(words: list[str]) -> dict[str, object]:
    """Depth, score (centipawns) or mate (moves), and nodes from an ``info`` line, for the side to move."""
    found: dict[str, object] = {}
    if words[0] != "info" or "string" in words:
        return found
    for name, after in (("depth", "depth"), ("score", "cp"), ("mate", "mate"), ("nodes", "nodes")):
        if after in words[:-1]:
            value = _whole(words[words.index(after) + 1])
            if value is not None:
                found[name] = value
    return found


def _whole(text: str) -> int | None:
    """A text of at most 18 digits as a whole number, or None."""
    return int(text) if re.fullmatch("-?[0-9]{1,18}", text) else None
