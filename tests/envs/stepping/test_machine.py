"""Machine-level access: NUMBA_BOUNDSCHECK=1 checks what no run without it looks at."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from coterie.envs.stepping import jit

SCRIPT = """
import numpy as np
from coterie.envs.stepping import machine
from coterie.envs.stepping.jit import kernel

@kernel
def get(a, k): return machine.get(a, k)
@kernel
def put(a, k): machine.put(a, k, 7)
@kernel
def load_word(a, k): return machine.load_word(a, k)
@kernel
def store_word(a, k): machine.store_word(a, k, np.uint64(7))
@kernel
def load_bits(a, k): return machine.load_bits(a, k)
@kernel
def store_bits(a, k): machine.store_bits(a, k, np.uint64(7))
@kernel
def positive_bytes(a, k): return machine.positive_bytes(a, k)

for verb, bytes in ((get, 1), (put, 1), (load_word, 8), (store_word, 8), (load_bits, 64), (store_bits, 64),
                    (positive_bytes, 16)):
    array = np.zeros((2, 40), np.uint8)
    for k in (0, 80 - bytes):
        verb(array, k)
    for k in (-1, 81 - bytes, 10**9):
        try:
            verb(array, k)
        except IndexError:
            continue
        raise SystemExit(f"{verb.__name__} {k}")
"""


@pytest.mark.slow
@pytest.mark.skipif(jit.disabled(), reason="the compiler is off")
def test_bounds_are_checked_on_request(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
