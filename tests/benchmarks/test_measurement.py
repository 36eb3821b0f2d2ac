"""What a measurement says."""

from __future__ import annotations

import json
import time

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


def test_median_rate_counts_work_per_second() -> None:
    calls = []

    def work() -> int:
        calls.append(1)
        time.sleep(0.02)
        return 100

    rate = median_rate(work, repeats=3)
    assert len(calls) == 4, "one call warms up"
    assert 100 / 0.2 < rate <= 100 / 0.02


def test_unknown_room() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'envs'"):
        next(measurements("env"))
    assert ROOMS == ("envs", "chess", "boards", "gridworld", "search", "policy", "population", "train", "episodes")
