"""Runs Python code that a model wrote, without trusting it.

What is promised, on Linux where users may create namespaces (``isolation()`` tries it, once in a process):

- **Files.** The code sees ``/usr``, the system's libraries and the Python installation, read only, and an
  empty folder in memory, ``/work``, the only place it can write to. No home, no ``/tmp``, ``/etc``, ``/proc`` or
  ``/sys``; the folder is gone when the code ends. It can import the standard library alone.
- **Network.** None: its only interface is a loopback of its own, which is down. No sockets of other processes.
- **Processes.** At most ``Limits.processes``, threads included. It sees no others, can't signal or trace them, and when
  it ends, whatever it started ends too.
- **Rights.** None that an ordinary process lacks, and no way to new ones: no capabilities, no setuid programs, no
  namespaces of its own. A caller who is root runs it as nobody. Environment variables are not passed on, nor (on
  x86-64, ARM and RISC-V of 64 bits) the kernel's session keyring.
- **Limits.** Wall clock and processor time, memory (address space of a process), output, size of files.

Not promised: protection from faults of the kernel, from side channels (load, timing), and from a machine that is slow
while the code uses its share. Elsewhere (macOS, Windows, containers and kernels that forbid namespaces) nothing is run,
unless the caller says ``unsafe=True``: the code then runs with the caller's rights, in an empty folder, and only the
limits of time, memory (if the system has it), output and size of files hold; it may read and write files, use the
network and leave processes behind that it has detached.

The namespaces are made by util-linux (``unshare``, ``mount``, ``setpriv``), the clock by coreutils (``timeout``).
"""

from __future__ import annotations

import ast
import contextlib
import functools
import json
import math
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UsageError

__all__ = ["Limits", "Ran", "isolation", "passed", "run_code"]

GRACE = 30.0
"""Seconds for setting up and ending, beyond those of the code: a busy machine takes its time."""

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
SLOTS = threading.BoundedSemaphore(os.cpu_count() or 1)
"""Runs at a time: more would only take each other's time."""

OUTER = 'mount -o bind "$1" "$2"; shift 2; exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
"""Of root: makes a Python in a closed folder reachable, then becomes nobody. Arguments: prefix, folder, command."""

INNER = """
root=$1 prefix=$2 source=$3 size=$4; shift 4
show() { mkdir -p "$2"; mount -o bind,ro,nosuid,nodev "$1" "$2"; }
mount -t tmpfs -o size=1m,mode=755 none "$root"
cd "$root"
mkdir old work dev proc
for place in /bin /sbin /lib /lib32 /lib64; do
  if [ -L "$place" ]; then links="$links $place"; elif [ -d "$place" ]; then show "$place" ".$place"; fi
done
[ -z "$links" ] || cp -P $links .
show /usr usr
case "$prefix" in /usr|/usr/*) ;; *) show "$source" ".$prefix" ;; esac
: > dev/null
mount -o bind /dev/null dev/null
mount -t tmpfs -o "size=$size,mode=755,nosuid,nodev" none work
mount -o bind /proc proc
echo 0 > /proc/sys/user/max_user_namespaces
pivot_root . old
cd /
umount -l /old /proc
mount -o remount,ro,nosuid,nodev /
cd /work
exec "$@"
"""
"""In namespaces of its own: builds the root that the code sees and hides the rest."""

BARE = ("setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--securebits=+noroot,+noroot_locked")
"""Gives up all rights, and runs a command."""

BOOT = """
import resource, sys
if number := int(sys.argv.pop(1)):
    import ctypes
    ctypes.CDLL(None).syscall(number, 1, None)
    del ctypes
for name, soft, hard in zip(*[iter(sys.argv[1:])] * 3):
    try:
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (int(soft), int(hard)))
    except (AttributeError, ValueError, OSError):
        if sys.platform == "linux":
            raise
sys.argv = ["program.py"]
del resource, name, soft, hard, number
exec(compile(sys.stdin.buffer.read(), "program.py", "exec"), {"__name__": "__main__"})
"""
"""Takes an empty keyring of its own, sets limits on itself, which can't be lifted, then runs the program in stdin."""

KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
"""The number of the system call that reaches the kernel's keyrings, by processor: no namespace hides the caller's."""

PROBE = """
import os, socket
assert [name for _, name in socket.if_nameindex()] == ["lo"], "it has a network"
for place in ("/", "/usr", "/dev"):
    try:
        open(os.path.join(place, "probe"), "w")
        raise SystemExit("it can write to " + place)
    except OSError:
        pass
assert not os.path.exists("/etc") and not os.listdir("/proc"), "it sees other files"
try:
    os.fork() or os._exit(0)
    raise SystemExit("it can start processes")
except OSError:
    pass
try:
    os.chroot("/work")
    raise SystemExit("it has rights of root")
except OSError:
    print("isolated")
"""


@dataclass(frozen=True)
class Limits:
    """What a run may use.

    Attributes:
        seconds: wall clock from its start, and (rounded up) processor time of each of its processes.
        memory: MiB of address space of each process; the interpreter takes about 20.
        processes: at most so many at a time, threads included.
        output: bytes of each of stdout and stderr that are kept.
        files: MiB in its folder, and of the longest file.
    """

    seconds: float = 5.0
    memory: int = 256
    processes: int = 1
    output: int = 1 << 16
    files: int = 16

    def __post_init__(self) -> None:
        if not (0 < self.seconds < 86_400 and min(self.memory, self.processes, self.output, self.files) > 0):
            raise UsageError(f"{self}: every limit must be above 0, and seconds below a day.")


@dataclass(frozen=True)
class Ran:
    """How a run ended.

    Attributes:
        status: ``"ok"``; ``"error"``: it ended with another code than 0, by an exception for example; ``"time"``;
            ``"output"``: it wrote more than it may; ``"killed"``: by a signal, as when the machine has no memory left.
        stdout, stderr: what it wrote, as far as ``Limits.output``; bytes that are not UTF-8 are replaced.
        code: exit code; 128 and more: the number of a signal, plus 128.
    """

    status: str
    stdout: str
    stderr: str
    code: int


def run_code(code: str, *, limits: Limits | None = None, unsafe: bool = False) -> Ran:
    """Run a Python program: the standard library alone, stdin empty. Blocks; at most one run a core at a time.

    Args:
        code: the program.
        limits: what it may use.
        unsafe: run it without isolation where there is none; the module's docstring says what that means.

    Raises:
        UsageError: there is no isolation here, and ``unsafe`` is False.
    """
    reason = isolation()
    if reason and not unsafe:
        raise UsageError(
            f"Code can't be run in isolation on this machine: {reason}. Pass unsafe=True to run it with your own "
            "rights, bounded in time and memory alone."
        )
    return _run(code, limits or Limits(), isolated=not reason)


@functools.cache
def isolation() -> str:
    """Why code can't be isolated here; ``""``: it can. Tried once, with a program that tries to escape."""
    if sys.platform != "linux":
        return f"namespaces are Linux's, and this is {sys.platform}"
    lacking = [
        tool for tool in ("unshare", "mount", "setpriv", "pivot_root", "timeout") if not shutil.which(tool, path=PATH)
    ]
    if lacking:
        return f"{', '.join(lacking)} is missing"
    ran = _run(PROBE, Limits(), isolated=True)
    if ran.stdout == "isolated\n":
        return ""
    told = (ran.stderr or ran.stdout or ran.status).strip().splitlines()
    return told[-1] if told else f"a trial ended with code {ran.code}"


def _run(code: str, limits: Limits, *, isolated: bool) -> Ran:
    """Run a program, isolated or not."""
    with SLOTS, tempfile.TemporaryDirectory(prefix="coterie-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "program").write_bytes(code.encode("utf-8", "replace"))
        command = _command(folder, limits) if isolated else _python(limits)
        where = "/" if isolated else str(folder)
        env = {"PATH": PATH, "HOME": "/work" if isolated else name, "LANG": "C.UTF-8"}
        with (
            (folder / "program").open("rb") as program,
            (folder / "out").open("wb") as out,
            (folder / "err").open("wb") as err,
        ):
            started = time.monotonic()
            process = subprocess.Popen(
                command, stdin=program, stdout=out, stderr=err, cwd=where, env=env, start_new_session=True
            )
            try:
                returned = process.wait(limits.seconds + (GRACE if isolated else 0))
            except subprocess.TimeoutExpired:
                returned = 128 + signal.SIGKILL
            finally:
                _kill(process)
            elapsed = time.monotonic() - started
        texts, lengths = [], []
        for path in (folder / "out", folder / "err"):
            lengths.append(path.stat().st_size)
            with path.open("rb") as file:
                texts.append(file.read(limits.output).decode("utf-8", "replace"))
    ended = returned if returned >= 0 else 128 - returned
    if ended == 128 + signal.SIGXCPU or (ended == 128 + signal.SIGKILL and elapsed >= limits.seconds):
        status = "time"
    elif max(lengths) > limits.output:
        status = "output"
    else:
        status = "ok" if ended == 0 else "killed" if ended > 128 else "error"
    return Ran(status, texts[0], texts[1], ended)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a run and all that it started in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _python(limits: Limits, *, own: int = 0) -> list[str]:
    """The interpreter that runs the program; ``own``: processes beside the code's, 0: they are not counted."""
    seconds, size = math.ceil(limits.seconds), limits.files << 20
    values = {
        "AS": limits.memory << 20,
        "FSIZE": max(size, limits.output + 1),
        "NOFILE": 64,
        "CORE": 0,
        **({"NPROC": limits.processes + own} if own else {}),
    }
    bounds = [str(x) for kind, value in values.items() for x in (kind, value, value)]
    keys = str(KEYCTL.get(platform.machine(), 0) if sys.platform == "linux" else 0)
    python = [os.path.realpath(sys.executable), "-I", "-S", "-c", BOOT]
    return [*python, keys, *bounds, "CPU", str(seconds), str(seconds + 1)]


def _command(folder: Path, limits: Limits) -> list[str]:
    """The command that builds the namespaces and runs the interpreter within them."""
    prefix = os.path.realpath(sys.base_prefix)
    source, outer = prefix, []
    (folder / "root").mkdir()
    if os.geteuid() == 0:
        source = str(folder / "prefix")
        Path(source).mkdir()
        folder.chmod(0o755)
        outer = ["unshare", "--mount", "sh", "-ec", OUTER, "sh", prefix, source]
    spaces = ["--user", "--map-root-user", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
    # timeout is process 1 of the namespace: no signal from within stops it, and all others die with it. It keeps the
    # rights that the code gives up, so the code can't trace it and hold it.
    clock = ["timeout", "--signal=KILL", str(limits.seconds), *BARE]
    inner = ["sh", "-ec", INNER, "sh", str(folder / "root"), prefix, source, f"{limits.files}m"]
    # counted by the kernel beside the code: unshare and timeout
    return [*outer, "unshare", *spaces, "--mount-proc", *inner, *clock, *_python(limits, own=2)]


HARNESS = """
import json, os
out = os.dup(1)
os.dup2(2, 1)
space = {{"__name__": "solution"}}
exec(compile({code!r}, "solution.py", "exec"), space)
for k, expression in enumerate({expressions!r}):
    try:
        found = repr(eval(expression, space))
    except Exception as error:
        found = ""
    os.write(out, (json.dumps([k, found]) + chr(10)).encode())
"""
SHOWN = 10_000
"""Most characters of a value that is compared."""


def passed(
    code: str, cases: Sequence[tuple[str, Any]], *, limits: Limits | None = None, unsafe: bool = False
) -> list[bool]:
    """Which cases a program passes.

    The expected values stay here; only the expressions enter the sandbox. So a program can't pass by ending early, by
    replacing what compares, or by printing.

    Args:
        code: definitions, for example of a function.
        cases: (expression, the value it must have): plain data (numbers, texts, lists, tuples, dicts, sets, None).
        limits: of all cases together.
        unsafe: as in ``run_code``.

    Returns:
        One bool a case, in order. All are False if the program itself fails; those after an endless one, too.
    """
    ran = run_code(HARNESS.format(code=code, expressions=[e for e, _ in cases]), limits=limits, unsafe=unsafe)
    found: dict[int, str] = {}
    for line in ran.stdout.splitlines():
        try:
            k, text = json.loads(line)
            found.setdefault(int(k), str(text)[: SHOWN + 1])
        except (ValueError, TypeError, RecursionError, OverflowError):  # not the harness's
            continue
    return [_same(found.get(k, ""), expected) for k, (_, expected) in enumerate(cases)]


def _same(text: str, expected: Any) -> bool:
    """Whether the text of a value is that of the expected one; 1, 1.0 and True differ."""
    if text == repr(expected):
        return True
    try:
        value = ast.literal_eval(text) if len(text) <= SHOWN else None
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return False
    return type(value) is type(expected) and bool(value == expected) and value is not None
