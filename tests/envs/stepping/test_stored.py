"""Compiled kernels on disk: one process compiles, others load, and nobody is held up for ever."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    os.name != "posix" or os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="needs the compiler, and locks of files"
)

KERNEL = """
import sys, time
from pathlib import Path
from coterie.envs.stepping import stored
from coterie.envs.stepping.jit import kernel

@kernel
def summed(n):
    total = 0
    for k in range(n):
        for other in range(k):
            total += k ^ other
    return total
"""

TOGETHER = """
import kernels
me, together = kernels.Path(sys.argv[1]), int(sys.argv[2])
me.touch()
while len(list(me.parent.glob("ready*"))) < together:
    time.sleep(0.001)
print(kernels.summed(10), sum(kernels.summed.stats.cache_misses.values()))
"""

HOLDING = """
import kernels
assert kernels.summed._cache._cache_file.load("nothing") is None
print("holds", flush=True)
time.sleep(600)
"""

IMPATIENT = """
import kernels
kernels.stored.PATIENCE = float(sys.argv[1])
print(kernels.summed(10))
"""

TOLD = """
import kernels
kernels.stored.SILENT = 0.0
load = kernels.stored.OwnFiles._turn
def slow(*given):
    time.sleep(0.2)
    return load(*given)
kernels.stored.OwnFiles._turn = slow
print(kernels.summed(10))
"""

HOMELESS = """
from numba.core import caching
caching.CacheImpl._locator_classes = []
import kernels
print(kernels.summed(10), kernels.summed.stats.cache_path)
"""


@pytest.fixture
def start(tmp_path):
    """Starts a process that can import the kernel, with a cache of its own."""
    (tmp_path / "kernels.py").write_text(KERNEL)
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), env.get("PYTHONPATH", "")])

    def begin(script: str, *arguments: object, **settings: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "import sys, time\n" + script, *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=env | settings, text=True, **pipes)

    return begin


def test_of_four_processes_one_compiles(start, tmp_path):
    four = [start(TOGETHER, tmp_path / f"ready{k}", 4) for k in range(4)]
    said = sorted(process.communicate()[0].split() for process in four)
    assert said == [["297", "0"]] * 3 + [["297", "1"]]


def test_a_process_that_dies_holds_nobody_up(start):
    holder = start(HOLDING)
    assert holder.stdout.readline() == "holds\n"
    waiting = start(IMPATIENT, 300)
    holder.kill()
    assert waiting.communicate()[0] == "297\n"
    holder.communicate()


def test_a_process_that_hangs_holds_nobody_up_for_ever(start):
    holder = start(HOLDING)
    assert holder.stdout.readline() == "holds\n"
    assert start(IMPATIENT, 0.2).communicate()[0] == "297\n"
    holder.kill()
    holder.communicate()


def test_a_word_is_said_while_it_takes_long(start):
    silent = start(TOLD, COTERIE_QUIET="1").communicate()
    assert silent == ("297\n", "")
    assert start(TOLD, COTERIE_QUIET="").communicate() == ("297\n", "")  # stored already


def test_the_word_is_said_once(start):
    out, told = start(TOLD, COTERIE_QUIET="").communicate()
    assert out == "297\n"
    assert told.count("compiling kernels, once per machine") == 1


def test_without_a_folder_for_compiled_code_every_process_compiles(start):
    assert start(HOMELESS).communicate() == ("297 None\n", "")


def test_a_folder_that_cannot_be_written_any_more_costs_nothing_but_time(start, tmp_path):
    lost = "import kernels, shutil\nkernels.Path(sys.argv[1]).write_text('a file')\nprint(kernels.summed(10))"
    cache = tmp_path / "cache"
    cache.mkdir()
    swap = f"import kernels, shutil\nshutil.rmtree({str(cache)!r})\n" + lost.split("\n", 1)[1]
    assert start(swap, cache).communicate() == ("297\n", "")
