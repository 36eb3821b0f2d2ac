"""The shared key: every field counts, gaps don't, compiled or not."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numba.core.errors import TypingError

from coterie.envs.stepping.defaults import row_key
from coterie.envs.stepping.jit import disabled

INNER = np.dtype([("a", np.uint8), ("b", np.uint32)], align=True)
LAYOUTS = {
    "a byte": np.dtype([("a", np.uint8)]),
    "three bytes": np.dtype([("a", np.uint8), ("b", np.int16)]),
    "a word": np.dtype([("a", np.float64)]),
    "a word and a bit": np.dtype([("a", np.uint64), ("b", np.uint8), ("c", np.uint16)]),
    "gaps": np.dtype([("a", np.uint8), ("b", np.uint64), ("c", np.uint16)], align=True),
    "arrays": np.dtype([("a", np.uint8, (3, 5)), ("b", np.int32, (7,))]),
    "records": np.dtype([("x", np.uint8), ("y", INNER, (3,)), ("z", np.uint8)], align=True),
}


def bytes_that_count(dtype):
    """By trial: a byte counts if some field reads otherwise where it is another."""
    zero = np.zeros(1, dtype)
    changed = []
    for k in range(dtype.itemsize):
        other = zero.copy()
        other.view(np.uint8).reshape(-1)[k] = 1
        changed.append(str(other[0].tolist()) != str(zero[0].tolist()))
    return changed


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_field_counts_and_no_gap(layout):
    dtype = LAYOUTS[layout]
    rows = np.zeros(3, dtype)
    begun = row_key(rows, 1)
    assert begun == row_key(rows, 2) == row_key(rows[::2], 1)
    keys = {begun}
    for k, counts in enumerate(bytes_that_count(dtype)):
        for bit in range(8):
            other = np.zeros(3, dtype)
            other.view(np.uint8).reshape(3, -1)[1, k] = 1 << bit
            assert (row_key(other, 1) != begun) == counts
            assert row_key(other, 0) == row_key(other, 2) == begun
            keys.add(row_key(other, 1))
    assert len(keys) == 1 + 8 * sum(bytes_that_count(dtype))


KEYS = """
import numpy as np
from numpy import dtype
from coterie.envs.stepping.defaults import row_key
def keys(layouts):
    for layout in layouts.values():
        state = np.random.default_rng(0).integers(0, 256, (2, layout.itemsize), np.uint8).view(layout)[:, 0]
        yield from (int(row_key(state, i)) for i in (0, 1))
"""


def test_the_key_without_the_compiler_is_the_same():
    here = {}
    exec(KEYS, here)
    keys = list(here["keys"](LAYOUTS))
    assert len(set(keys)) == len(keys)
    there = subprocess.run(
        [sys.executable, "-c", f"{KEYS}\nprint(*keys({LAYOUTS!r}))"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "0" if disabled() else "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.split() == [str(key) for key in keys]


@pytest.mark.skipif(disabled(), reason="the compiler refuses")
def test_other_states_are_refused():
    with pytest.raises(TypingError, match="rows of one structured array"):
        row_key(np.zeros((2, 3)), 0)
