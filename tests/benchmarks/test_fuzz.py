"""The fuzzer: what counts as accepted, refused and failed, also where a process dies or computes for ever."""

from __future__ import annotations

import importlib
import random
import sys

import pytest

pytest.importorskip("torch")

from coterie.benchmarks.fuzz import Fuzzing, main
from coterie.benchmarks.fuzz_altering import altered, altered_tree
from coterie.benchmarks.fuzz_readers import READERS

MADE = """
import ctypes
from coterie.benchmarks.fuzz_targets import Target
from coterie.errors import UsageError


def feed(data):
    kind = data[0] % 5
    if kind == 1:
        raise UsageError("no")
    if kind == 2:
        raise KeyError("a raw one")
    if kind == 3:
        ctypes.string_at(0)
    while kind == 4:
        pass


def targets():
    kinds = lambda rng, corpus: bytes([rng.choice([0, 0, 0, 0, 1, 1, 2, 3, 4])]) * rng.randrange(1, 9)
    return {"made": Target("made", "files", lambda: [b"\\0"], kinds, feed)}
"""


@pytest.mark.slow
def test_exceptions_deaths_and_hangs_are_told_apart_and_kept(tmp_path, monkeypatch) -> None:
    (tmp_path / "made_targets.py").write_text(MADE)
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("made_targets")
    fuzzing = Fuzzing(["made"], 1, tmp_path / "kept", timeout=0.2, known=made.targets)
    while len(fuzzing.failures) < 3 and fuzzing.counts.total() < 200:
        fuzzing.run(fuzzing.seconds + 1)
    assert {place.split()[1] for _, place in fuzzing.failures} == {"KeyError", "SIGSEGV", "hangs"}
    for (_, place), (number, _, path) in fuzzing.failures.items():
        kind = {"KeyError": 2, "SIGSEGV": 3, "hangs": 4}[place.split()[1]]
        assert path.read_bytes()[0] == kind
        assert number >= 1
    assert fuzzing.counts["made", "accepted"] > 0
    assert fuzzing.counts["made", "refused"] > 0
    assert "--repeat" in fuzzing.report()
    del sys.modules["made_targets"]


@pytest.mark.slow
def test_the_command_says_its_seed_and_what_it_fed(tmp_path, capsys) -> None:
    code = main(["--minutes", "0.03", "--seed", "5", "--targets", "options-tictactoe", "--keep", str(tmp_path)])
    said = capsys.readouterr().out
    assert code == 0, said
    assert said.startswith("seed 5\n")
    row = next(line for line in said.splitlines() if line.startswith("all "))
    inputs, accepted, refused, failures = (int(number.replace(",", "")) for number in row.split()[1:])
    assert inputs == accepted + refused + failures > 0


@pytest.mark.parametrize("reader", [r for r in READERS if r.name in ("PGN", "saved game of a world", "state of chess")])
def test_the_same_seed_alters_alike_and_nearly_always_something(reader) -> None:
    whole = reader.sample()
    one = [altered(random.Random(k), whole, reader.suffix) for k in range(50)]
    assert one == [altered(random.Random(k), whole, reader.suffix) for k in range(50)]
    assert len(set(one)) > 40


def test_alterations_of_trees_leave_the_original_alone() -> None:
    tree = {"a": [1, 2, {"b": "text"}], "c": None}
    made = [altered_tree(random.Random(k), tree) for k in range(200)]
    assert tree == {"a": [1, 2, {"b": "text"}], "c": None}
    assert sum(other != tree for other in made) > 150
