"""What a measurement says."""

from __future__ import annotations

import json

import pytest

from coterie.benchmarks import ROOMS, Measurement, measurements, median_rate
from coterie.errors import UnknownName


def test_ratio_and_plain_data() -> None:
    alone = Measurement("games", 10.0, "games/s")
    beside = Measurement("games", 10.0, "games/s", threads=2, peer="other", peer_rate=4.0, more={"size": 3})
    assert alone.ratio is None
    assert beside.ratio == 2.5
    assert json.loads(json.dumps(beside.as_dict()))["size"] == 3
    assert "other: 4, ratio 2.50" in str(beside)
    assert "1 thread " not in str(beside)
    assert str(alone).endswith("1 thread")


def test_median_rate_counts_work_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by what a call takes."""
    calls, now = iter([50.0, 1.0, 9.0, 2.0]), [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def work() -> int:
        now[0] += next(calls)
        return 100

    assert median_rate(work, repeats=3) == 100 / 2, "the first call warms up"
    assert not list(calls)


def test_unknown_room() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'envs'"):
        next(measurements("env"))
    assert ROOMS == ("envs", "chess", "boards", "gridworld", "search", "policy", "population", "train", "episodes")
