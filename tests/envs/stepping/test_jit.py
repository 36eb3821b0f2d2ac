"""Compilation: the disk cache, bounds checks, and plain Python give the same games."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.envs import make_game
from coterie.envs.stepping import jit, rng
from coterie.envs.testing import transcript

compiled = pytest.mark.skipif(jit.disabled(), reason="the compiler is off")

SCRIPT = """
import json, time
import numpy as np
from coterie.envs import make_vec, make_game
from coterie.envs.stepping.drivers import drivers
from coterie.envs.testing import transcript
out = {}
for id in ("tictactoe", "highest_number"):
    vec = make_vec(id, 300, seed=3)
    vec.reset()
    vec.step(vec.sample_actions())
    vec.random_rollout(4)
    loops = drivers(vec.game)
    stats = [getattr(loops, n).stats for n in ("begin_rows", "step_rows", "sample_rows", "rollout")] if JIT else []
    out[id] = {
        "hits": sum(sum(s.cache_hits.values()) for s in stats),
        "misses": sum(sum(s.cache_misses.values()) for s in stats),
        "said": transcript(vec.game, range(2)),
        "mask": vec.action_mask.sum(tuple(range(1, vec.action_mask.ndim))).tolist(),
    }
print(json.dumps(out))
"""


def run(jit=True, **environment):
    script = SCRIPT.replace("JIT", str(jit))
    env = os.environ | {"NUMBA_CACHE_DIR": "", **environment}
    if not env["NUMBA_CACHE_DIR"]:
        del env["NUMBA_CACHE_DIR"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], env=env, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@compiled
@pytest.mark.slow
def test_a_second_process_hits_the_cache(tmp_path):
    first = run(NUMBA_CACHE_DIR=str(tmp_path))
    second = run(NUMBA_CACHE_DIR=str(tmp_path))
    for id in first:
        assert (first[id]["hits"], first[id]["misses"]) == (0, 4)
        assert (second[id]["hits"], second[id]["misses"]) == (4, 0)
        assert first[id]["said"] == second[id]["said"]


@compiled
@pytest.mark.slow
def test_bounds_are_kept(tmp_path):
    """NUMBA_BOUNDSCHECK=1 turns an index out of bounds into an error; the games are the same."""
    checked = run(NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    for id, result in checked.items():
        assert result["said"] == transcript(make_game(id), range(2))


@compiled
@pytest.mark.slow
def test_without_the_compiler():
    plain, compiled = run(jit=False, NUMBA_DISABLE_JIT="1"), run()
    for id in plain:
        assert plain[id]["said"] == compiled[id]["said"]
        assert plain[id]["mask"] == compiled[id]["mask"]


def test_the_name_knows_the_source(tmp_path, monkeypatch):
    game = make_game("tictactoe")
    before = jit.source_hash(game.kernels)
    assert len(before) == 12
    edited = tmp_path / "tictactoe.py"
    shutil.copy(Path(jit.__file__).parents[1] / "tictactoe.py", edited)
    edited.write_text(edited.read_text() + "\n# edited\n")
    monkeypatch.setattr(jit.inspect, "getsourcefile", lambda function: str(edited))
    assert jit.source_hash(game.kernels) != before


@compiled
def test_the_name_knows_the_files_that_a_game_is_spread_over(monkeypatch):
    """Chess has its moves and positions in other files than its rules."""
    game = make_game("chess")
    before = jit.source_hash(game.kernels)
    digest = jit._file_digest
    for name, noticed in (("moves.py", True), ("position.py", True), ("bits.py", True), ("pgn.py", False)):
        monkeypatch.setattr(jit, "_file_digest", lambda path, name=name: digest(path) + "x" * path.endswith(name))
        assert (jit.source_hash(game.kernels) != before) == noticed, name


def test_the_name_knows_which_kernels_and_numbers():
    """Two kernels of one file, and the numbers that are bound beside them, must not share what is on disk."""
    kernels = make_game("tictactoe").kernels
    before = jit.source_hash(kernels, 1, 2)
    assert jit.source_hash(kernels._replace(observe=kernels.legal), 1, 2) != before
    assert jit.source_hash(kernels, 1, 3) != before
    assert jit.source_hash(kernels, 1, 2) == before


@compiled
def test_a_file_is_a_module_and_a_script(tmp_path):
    """What was compiled for the module names it, and the script cannot import it."""
    code = """
from coterie.envs.stepping.jit import bind, kernel, source_hash

@kernel
def inner(k):
    return k + 1

@kernel
def outer(k):
    return inner(k)

def template(k):
    return outer(k)

print(bind(template, {"outer": outer}, source_hash([outer]))(1))
"""
    (tmp_path / "rules_of_mine.py").write_text(code)
    as_module = "import importlib.util as u; s = u.spec_from_file_location('a_name', 'rules_of_mine.py'); "
    as_module += "m = u.module_from_spec(s); import sys; sys.modules['a_name'] = m; s.loader.exec_module(m)"
    for words in (["-c", as_module], ["rules_of_mine.py"], ["-c", as_module]):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


GAME = """
from coterie.envs.stepping.jit import kernel
from {package}.tables import TABLE, deeper

@kernel
def read(k):
    return TABLE[k] + deeper(k)
"""

TABLES = """
import numpy as np
from coterie.envs.stepping.jit import kernel
from {package}.deepest import deepest

TABLE = np.array([{value}])

@kernel
def deeper(k):
    return deepest(k)
"""

DEEPEST = """
from coterie.envs.stepping.jit import kernel
from {package}.numbers import NUMBER

@kernel
def deepest(k):
    return {value} + NUMBER
"""

NUMBERS = "NUMBER = {value}"

BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Python takes stored bytecode for that of an edit in the same second, of the same length."""


@compiled
@pytest.mark.slow
@pytest.mark.parametrize("edited", ["nothing", "table", "kernel", "number"])
def test_the_cache_notices_edits_in_other_files(tmp_path, edited):
    """What a kernel calls and reads is compiled into it: numba alone would keep the old."""
    package = tmp_path / "several"
    package.mkdir()

    texts = {"__init__": "", "game": GAME, "tables": TABLES, "deepest": DEEPEST, "numbers": NUMBERS}

    def run(table=1, kernel=10, number=100):
        values = {"tables": table, "deepest": kernel, "numbers": number}
        for name, text in texts.items():
            value = str(values.get(name, ""))
            (package / f"{name}.py").write_text(text.replace("{package}", "several").replace("{value}", value))
        script = "from several.game import read; print(read(0), sum(read.stats.cache_hits.values()))"
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)} | BYTECODE,
            capture_output=True,
            text=True,
            check=True,
        )
        return [int(word) for word in done.stdout.split()]

    assert run() == [111, 0]
    now, expected = {
        "nothing": ({}, [111, 1]),
        "table": ({"table": 2}, [112, 0]),
        "kernel": ({"kernel": 20}, [121, 0]),
        "number": ({"number": 200}, [211, 0]),
    }[edited]
    assert run(**now) == expected


@compiled
@pytest.mark.parametrize("stamps", [("same", "same"), ("old", "new")])
def test_processes_that_compile_at_once_do_not_mix_up_their_code(tmp_path, monkeypatch, stamps):
    """One reads the index, another writes its entry, one writes both, and the other's code comes late."""
    made = type(rng.below._cache._cache_file)
    one, two = (made(str(tmp_path), "game.read-1.py311", stamp) for stamp in stamps)
    write = two._save_data

    def late(name, data):
        one.save("key of one", "code of one")
        write(name, data)

    monkeypatch.setattr(one, "_load_index", dict)
    monkeypatch.setattr(two, "_save_data", late)
    two.save("key of two", "code of two")
    for stamp, key, code in zip(stamps, ("key of one", "key of two"), ("code of one", "code of two"), strict=True):
        assert made(str(tmp_path), "game.read-1.py311", stamp).load(key) in (code, None)


@compiled
def test_what_was_compiled_before_an_edit_is_dropped(tmp_path):
    made = type(rng.below._cache._cache_file)
    (tmp_path / "other.read-1.py311.1.nbc").write_bytes(b"another kernel's")
    for stamp in ("old", "new", "new"):
        made(str(tmp_path), "game.read-1.py311", stamp).save("key", stamp)
    assert made(str(tmp_path), "game.read-1.py311", "new").load("key") == "new"
    assert len(list(tmp_path.glob("*.nbc"))) == 2


@compiled
def test_the_name_knows_the_source_that_was_imported(tmp_path, monkeypatch):
    """An edit while a process runs, before its first driver is made, must not pass for what it compiles."""
    early = "from coterie.envs.stepping.jit import kernel\n\n@kernel\ndef deepest(k):\n    return {value}\n"
    (tmp_path / "read_early.py").write_text(early.replace("{value}", "1"))
    monkeypatch.syspath_prepend(tmp_path)
    kernel = importlib.import_module("read_early").deepest
    (tmp_path / "read_early.py").write_text(early.replace("{value}", "2"))
    named = jit.source_hash([kernel])
    jit._file_digest.cache_clear()
    assert named != jit.source_hash([kernel])


@compiled
def test_kernels_cannot_allocate():
    import numba
    import numpy as np

    @jit.kernel
    def allocates(n):
        return np.zeros(n).sum()

    with pytest.raises(numba.core.errors.TypingError, match="zeros"):
        allocates(3)


def test_bound_copies_do_not_share_names():
    def template():
        return VALUE  # noqa: F821

    one, two = jit.bind(template, {"VALUE": 1}, "one"), jit.bind(template, {"VALUE": 2}, "two")
    assert (one(), two()) == (1, 2)
    assert one.__qualname__ != two.__qualname__


def test_compiled_code_is_called_without_looking_at_types() -> None:
    import numpy as np

    from coterie.envs.stepping.jit import compiled
    from coterie.envs.stepping.templates import first_outside

    numbers = np.array([0, 3, 7, 2])
    code = compiled(first_outside, numbers, 0, 4)
    assert code(numbers, 0, 4) == first_outside(numbers, 0, 4) == 2
    assert code(numbers[:2].copy(), 0, 4) == -1


def test_inner_kernels_refuse_python() -> None:
    import numpy as np

    from coterie.envs.gridworld.rules.may import cell
    from coterie.envs.stepping.jit import disabled

    world = make_game("gridworld-v0", preset="a5_25x25").new_state(1)
    if disabled():
        assert cell(world, 0, 1, 1) > 0
        return
    with pytest.raises(TypeError, match="cell is called by kernels alone"):
        cell(world, np.int64(0), np.int64(1), np.int64(1))
