"""What the long runs conclude: growth of memory with its interval, and which parts of two runs differ."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from coterie.benchmarks.kills import differences  # noqa: E402
from coterie.benchmarks.soak import Sample, verdict  # noqa: E402


def rounds(slope: float, handles: int = 0) -> list[Sample]:
    """Sixty rounds of half a minute: caches fill in the first twenty, then memory grows by ``slope`` MiB an hour."""
    noise = np.random.default_rng(0).normal(0, 0.5, 60)
    seconds = 30.0 * np.arange(60)
    memory = 700 + 5 * np.minimum(np.arange(60), 20) + slope * seconds / 3600 + noise
    return [Sample(s, m, 8 + handles * k // 60, 3) for k, (s, m) in enumerate(zip(seconds, memory, strict=True))]


def test_growth_is_told_from_caches_that_fill() -> None:
    still, grown = verdict(rounds(0.0)), verdict(rounds(60.0))
    assert still.low < 0 < still.high
    assert grown.low < 60 < grown.high
    assert grown.low > still.high


def test_handles_that_stay_open_are_counted() -> None:
    assert verdict(rounds(0.0)).handles == 0
    assert verdict(rounds(0.0, handles=30)).handles > 5


def test_one_bit_of_a_tensor_is_a_difference() -> None:
    one = {"checkpoint bank.pt": {"main": [torch.ones(3)]}, "metrics 0 loss": 0.5, "metrics 1 eval": None}
    other = {"checkpoint bank.pt": {"main": [torch.ones(3)]}, "metrics 0 loss": 0.5, "metrics 1 eval": None}
    assert differences(one, other) == set()
    other["checkpoint bank.pt"]["main"][0][1] += 2.0**-23
    assert differences(one, other) == {"checkpoint bank.pt"}
    assert differences(one, one | {"metrics 1 eval": []}) == {"metrics 1 eval"}
    assert "metrics 2 loss" in differences(one, one | {"metrics 2 loss": None})
