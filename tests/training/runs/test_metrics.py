"""metrics.jsonl: read once while it grows, of any length, and what a stopped or a foreign process left in it."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

from coterie.errors import RunError
from coterie.training.runs import metrics
from coterie.training.runs.metrics import Metrics


def row(update, **more):
    return {"update": update, "elapsed": update / 10, **more}


@pytest.fixture
def log(tmp_path):
    return Metrics(tmp_path / "metrics.jsonl")


def test_a_file_that_grows_gives_the_sums_of_one_that_is_read_anew(log):
    sums = []
    for update in range(20):
        log.append(row(update, eval=[{"win": update}]) if update % 7 == 0 else row(update))
        sums.append(log.sum(update + 1))
        assert log.looked() == [{"win": update // 7 * 7}]
    assert len(set(sums)) == 20
    assert sums == [Metrics(log.path).sum(update + 1) for update in range(20)]
    log.cut(12)
    assert log.sum(12) == sums[11]
    assert log.looked() == [{"win": 7}]
    log.append(row(12, other=1))
    assert log.sum(12) == sums[11]
    assert log.sum(13) != sums[12]


def test_no_line_is_read_twice_while_a_run_goes_on(log, monkeypatch):
    read = []
    monkeypatch.setattr(metrics, "parsed", lambda text: read.append(text) or json.loads(text))
    for update in range(50):
        log.append(row(update))
        log.sum(update + 1)
        log.looked()
    assert len(read) == 50


def test_a_long_file_is_read_and_a_long_line_is_not(log):
    for update in range(5):
        log.append(row(update, note="x" * (15 << 20)))
    assert [found["update"] for found in log.rows()] == [0, 1, 2, 3, 4]
    log.append(row(5, note="x" * (17 << 20)))
    with pytest.raises(RunError, match="a line is longer than 16 MiB"):
        log.rows()


@pytest.mark.parametrize("tail", ['{"update": 2, "rew', "\0\0\0", '{"update": 2, "rew\n'])
def test_what_a_killed_process_left_is_passed_over_unless_more_follows(log, tail):
    log.append(row(0))
    log.append(row(1))
    with log.path.open("a") as file:
        file.write(tail)
    assert [found["update"] for found in log.rows()] == [0, 1]
    with log.path.open("a") as file:
        file.write("\n" + json.dumps(row(2)) + "\n")
    with pytest.raises(RunError, match="line 3 is not a line of metrics"):
        log.rows()
