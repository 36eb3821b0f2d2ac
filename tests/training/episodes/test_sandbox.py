"""Code of models is run in isolation, or not at all; what it may try, it tries here."""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from coterie.errors import UsageError
from coterie.training.episodes import sandbox
from coterie.training.episodes.sandbox import Limits, isolation, passed, run_code


@pytest.fixture
def isolated() -> None:
    if isolation():
        pytest.skip(f"no isolation here: {isolation()}")


def said(code: str, **limits: float) -> str:
    """What a program prints; an exception's name if it ends by one."""
    ran = run_code(code, limits=Limits(**limits))  # type: ignore[arg-type]
    return ran.stdout.strip() or (ran.stderr.strip().splitlines() or [ran.status])[-1]


pytestmark = pytest.mark.usefixtures("isolated")


def test_a_program_runs() -> None:
    ran = run_code("import sys, json\nprint(json.dumps([1, 'é']))\nprint('oops', file=sys.stderr)\nsys.exit(3)")
    assert (ran.status, ran.stdout, ran.stderr, ran.code) == ("error", '[1, "\\u00e9"]\n', "oops\n", 3)
    assert run_code("print('é')").stdout == "é\n"
    assert run_code("print(__name__, open(0).read() == '')").stdout == "__main__ True\n"


def test_a_fault_is_an_error_with_its_line() -> None:
    ran = run_code("x = 1\ny = x / 0\n")
    assert ran.status == "error"
    assert 'File "program.py", line 2' in ran.stderr
    assert "ZeroDivisionError" in ran.stderr
    for source in ("def f(:", "\0", "\udc80 = 1", "(" * 10_000):
        assert run_code(source).status == "error"


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)", "import signal; signal.pause()"])
def test_endless_programs_end(code: str) -> None:
    assert run_code(code, limits=Limits(seconds=0.5)).status == "time"


def test_a_program_can_not_stop_its_clock() -> None:
    code = (
        "import os, signal, time\n"
        "for s in range(1, 65):\n"
        "    try:\n        signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\n"
        "for s in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):\n"
        "    os.kill(os.getppid(), s)\n"
        "print('still here', flush=True)\n"
        "time.sleep(60)"
    )
    started = time.monotonic()
    ran = run_code(code, limits=Limits(seconds=3))
    assert (ran.status, ran.stdout) == ("time", "still here\n")
    assert time.monotonic() - started < 30


def test_memory() -> None:
    assert said("x = bytearray(100 << 20)\nprint('fits')", memory=256) == "fits"
    assert said("x = bytearray(300 << 20)", memory=256) == "MemoryError"
    assert said("import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))").startswith("ValueError")


def test_processes() -> None:
    bomb = "import os, time\nwhile True:\n    os.fork()\n"
    assert run_code(bomb).stderr.strip().endswith("Resource temporarily unavailable")
    assert said("import threading\nthreading.Thread(target=print).start()").startswith("RuntimeError: can't start")
    count = "import os, time\nn = 1\ntry:\n    while os.fork(): n += 1\n    time.sleep(9)\nexcept OSError: print(n)\n"
    assert said(count, processes=7) == "7"


def test_what_it_has_started_ends_with_it() -> None:
    code = (
        "import os, time\n"
        "if not os.fork():\n"
        "    os.setsid()\n"
        "    if not os.fork():\n"
        "        time.sleep(987)\n"
        "    os._exit(0)\n"
        "os.wait()\nprint('started')"
    )
    assert said(code, processes=3, memory=251) == "started"
    time.sleep(0.2)
    mark = str(251 << 20)  # its limit of memory stands on its command line; other runs have others
    assert not [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or ())]


def test_output_and_files_are_bounded() -> None:
    ran = run_code("while True: print('x' * 1000)", limits=Limits(output=5000, files=1))
    assert (ran.status, len(ran.stdout)) == ("output", 5000)
    assert "File too large" in said("open('a', 'wb').write(bytes(9 << 20))", files=1)
    many = "for k in range(100):\n    open(str(k), 'wb').write(bytes(1 << 20))"
    assert "No space left" in said(many, files=4)


def test_it_writes_to_its_folder_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    mine = tmp_path / "mine"
    mine.write_text("secret")
    mine.chmod(0o666)
    places = [
        str(tmp_path),
        os.path.expanduser("~"),
        "/",
        "/usr",
        "/usr/lib",
        "/tmp",
        "/var/tmp",
        "/dev",
        "/dev/shm",
        "/old",
    ]
    code = (
        f"import os\nwritten = []\nfor place in {places} + ['/work', os.environ['HOME']]:\n"
        "    try:\n        open(os.path.join(place, 'new'), 'w').write('x')\n        written.append(place)\n"
        "    except OSError:\n        pass\nprint(written)"
    )
    assert said(code) == "['/work', '/work']"
    assert not (tmp_path / "new").exists()
    assert said(f"open({str(mine)!r}, 'w')").startswith("FileNotFoundError")
    assert said("import os; print(os.listdir('.'))") == "[]"  # nothing is left of the run before


def test_it_reads_nothing_of_its_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    mine = tmp_path / "mine"
    mine.write_text("secret")
    for place in (mine, Path(__file__), "/etc/passwd", f"/proc/{os.getpid()}/environ", "/proc/self/mem"):
        assert said(f"open({str(place)!r}, 'rb').read()").startswith(("FileNotFoundError", "PermissionError"))
    assert said("import os; print('TOKEN' in os.environ)") == "False"
    assert said("import os\nfor n in range(3, 64): os.read(n, 1)").startswith("OSError: [Errno 9]")
    assert said("import os; print(os.listdir('/old'), os.listdir('/proc'), os.listdir('/dev'))") == "[] [] ['null']"


def test_it_has_a_keyring_of_its_own() -> None:
    number, libc = sandbox.KEYCTL.get(platform.machine(), 0), ctypes.CDLL(None)
    if not number or libc.syscall(number, 1, None) < 0:  # KEYCTL_JOIN_SESSION_KEYRING
        pytest.skip("no keyrings here")
    assert libc.syscall(number - 2, b"user", b"coterie-test", b"secret", 6, -3) > 0  # add_key, to the session's
    find = f"libc.syscall({number}, 10, -3, b'user', b'coterie-test', 0)"  # KEYCTL_SEARCH
    assert eval(find) > 0
    assert said(f"import ctypes\nlibc = ctypes.CDLL(None)\nprint({find})") == "-1"


def test_it_has_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind("")  # a name that the system finds
        local.listen()
        port = server.getsockname()[1]
        assert "unreachable" in said(f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")
        assert "unreachable" in said("import socket; socket.socket(2, 2).sendto(b'x', ('192.0.2.1', 53))")
        assert "refused" in said(f"import socket; socket.socket(1).connect({local.getsockname()!r})")


ESCAPES = {
    "mount": "libc.mount(b'none', b'/work', b'tmpfs', 0, None)",
    "remount /usr to write": "libc.mount(None, b'/usr', None, 32 | 4096, None)",
    "umount /usr": "libc.umount2(b'/usr', 2)",
    "chroot": "libc.chroot(b'/work')",
    "a user namespace": "libc.unshare(0x10000000)",
    "a mount namespace": "libc.unshare(0x00020000)",
    "another user": "libc.setuid(65534)",
    "a device": "libc.mknod(b'/work/disk', 0o60666, 0x800)",
    "the clock": "libc.settimeofday(ctypes.create_string_buffer(16), None)",
    "the process of its clock": "libc.ptrace(16, 1, 0, 0)",  # PTRACE_ATTACH
    "the host's name": "libc.sethostname(b'x', 1)",
    "new rights": "-1 if libc.prctl(39, 0, 0, 0, 0) == 1 else 0",  # PR_GET_NO_NEW_PRIVS
}


def test_it_has_no_rights() -> None:
    code = "import ctypes\nlibc = ctypes.CDLL(None)\nprint({name: eval(call) for name, call in %r.items()})"
    assert eval(said(code % ESCAPES)) == dict.fromkeys(ESCAPES, -1)


def test_the_limit_of_namespaces_is_its_own() -> None:
    assert int(Path("/proc/sys/user/max_user_namespaces").read_text()) > 0
    assert subprocess.run(["unshare", "--user", "true"], check=False).returncode == 0


def test_it_sees_and_signals_no_other_process() -> None:
    assert int(said("import os; print(os.getpid())")) < 100
    assert said(f"import os; os.kill({os.getpid()}, 0)").startswith("ProcessLookupError")
    run_code("import os; os.kill(-1, 9)")  # we are still here


def test_cases() -> None:
    code = "def f(x):\n    print('noise')\n    return [x, {2, 1}, {'b': 1, 'a': x}]\ndef g(x):\n    return 1 / x"
    value = [3, {1, 2}, {"a": 3, "b": 1}]
    assert passed(code, [("f(3)", value), ("f(4)", value), ("g(0)", 1), ("g(2)", 0.5), ("h(1)", 1)]) == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert passed("def f(x): return x == 1", [("f(1)", True), ("f(1)", 1)]) == [True, False]
    assert passed("", [("1 + 1", 2), ("None", None)]) == [True, True]


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.exit(0)",
        "import os; os._exit(0)",
        "def f(x):\n    raise SystemExit(0)",
        "class E:\n    __eq__ = lambda s, o: True\n    __repr__ = lambda s: '5 == 5'\nf = lambda x: E()",
        "import builtins; builtins.repr = lambda x: '[' * 5000\nf = lambda x: x",
        "import builtins\nbuiltins.repr = lambda x: 'x' * 10**6\nf = lambda x: x",
        "import os\nforged = b'[0, null]\\n[0]\\n{}\\n[1e999, 0]\\n' + b'[' * 9999 + b'\\n[0, \"5.0\"]\\n'\n"
        "for n in range(9):\n    try: os.write(n, forged)\n"
        "    except OSError: pass\nf = lambda x: 0",
        "def f(x):\n    while True: pass",
        "f = lambda x: __import__('time').sleep(99)",
        "f",
        "",
        "\0",
    ],
)
def test_nothing_passes_that_does_not_know(code: str) -> None:
    assert passed(code, [("f(2)", 5), ("f(3)", 7)], limits=Limits(seconds=1)) == [False, False]


def test_refused_where_there_is_no_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "isolation", lambda: "namespaces are Linux's, and this is darwin")
    with pytest.raises(UsageError, match=r"this is darwin\. Pass unsafe=True"):
        run_code("print(1)")
    with pytest.raises(UsageError, match="unsafe=True"):
        passed("", [("1", 1)])
    assert run_code("import os; print(sorted(os.listdir()))", unsafe=True).stdout == "['err', 'out', 'program']\n"
    assert run_code("while True: pass", limits=Limits(seconds=1), unsafe=True).status == "time"
    assert run_code("x = bytearray(300 << 20)", unsafe=True).status == "error"
    assert passed("f = abs", [("f(-2)", 2)], unsafe=True) == [True]


def test_the_reason_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    isolation.cache_clear()
    try:
        monkeypatch.setattr(sandbox, "INNER", "echo 'unshare: no permission' >&2; exit 1")
        assert isolation() == "unshare: no permission"
        isolation.cache_clear()
        monkeypatch.setattr(sandbox, "INNER", 'shift 4; exec "$@"')  # builds no root: the probe finds that
        assert isolation() != ""
        isolation.cache_clear()
        monkeypatch.setattr(sandbox, "PATH", "/nowhere")
        assert isolation() == "unshare, mount, setpriv, pivot_root, timeout is missing"
    finally:
        monkeypatch.undo()
        isolation.cache_clear()


def test_limits_are_above_zero() -> None:
    with pytest.raises(UsageError, match="every limit must be above 0"):
        Limits(memory=0)
