"""Intervals hold the truth as often as they promise: against scipy, published values and simulations."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.errors import UsageError
from coterie.training.evaluation.intervals import mean_interval, ratio_interval, share_interval, student, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(8, 10, 0.490162, 0.943318), (0, 10, 0.0, 0.277533), (10, 10, 0.722467, 1.0), (500, 1000, 0.469070, 0.530930)],
)
def test_wilson_against_published_values(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=1e-6)


def test_wilson_against_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for successes, trials, confidence in [(3, 17, 0.9), (412, 1000, 0.95), (1, 1, 0.99)]:
        expected = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
        assert wilson(successes, trials, confidence) == pytest.approx(tuple(expected), abs=1e-9)


def test_wilson_covers_what_it_promises() -> None:
    draws = np.random.default_rng(0).binomial(200, 0.03, 4000)
    covered = [low <= 0.03 <= high for low, high in (wilson(int(k), 200) for k in draws)]
    assert 0.93 < np.mean(covered) < 0.98


@pytest.mark.parametrize("case", [(0, 0), (3, 2), (-1, 5)])
def test_wilson_refuses_nonsense(case: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="is not a share"):
        wilson(*case)


def test_student_against_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for freedom in (1, 2, 3, 5, 13, 61, 999):
        assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=2e-3)


# -- simulations ---

WORLDS = (8, 16, 32, 64)


def _rewards(rng: np.random.Generator, sigma: float, zeros: float, shape: tuple[int, ...]) -> np.ndarray:
    """Log-normal rewards of mean exp(sigma^2 / 2) (1 - zeros)."""
    return rng.lognormal(0, sigma, shape) * (rng.random(shape) >= zeros)


def covered_mean(n: int, sigma: float, zeros: float, runs: int, seed: int = 0) -> float:
    """How often the mean of n rewards is held."""
    drawn = _rewards(np.random.default_rng(seed), sigma, zeros, (runs, n))
    truth = np.exp(sigma**2 / 2) * (1 - zeros)
    return float(np.mean([low <= truth <= high for low, high in (mean_interval(row) or (0, 0) for row in drawn)]))


def covered_ratio(n: int, sigma: float, zeros: float, runs: int, seed: int = 0) -> float:
    """How often the ratio of two players' means in the same n worlds is held; a half of the variance is the worlds'."""
    rng = np.random.default_rng(seed)
    worlds = rng.normal(0, sigma * 0.5**0.5, (runs, n))
    above, below = (np.exp(worlds + rng.normal(0, sigma * 0.5**0.5, (runs, n))) for _ in range(2))
    above *= rng.random((runs, n)) >= zeros
    found = [ratio_interval(*pair) for pair in zip(above, below, strict=True)]
    return float(np.mean([low <= 1 - zeros <= high for low, high in filter(None, found)]))


@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize(("sigma", "zeros"), [(0.5, 0.0), (0.8, 0.3)])
def test_intervals_over_few_worlds_hold_95_times_in_100(n: int, sigma: float, zeros: float) -> None:
    # 3,000 runs leave a deviation of 0.4 points: a true 94 or 96 % stays inside.
    assert 0.93 < covered_mean(n, sigma, zeros, 3000) < 0.97
    assert 0.93 < covered_ratio(n, sigma, zeros, 3000) < 0.97


HARD = {(0.5, 0.5), (1.0, 0.0)}
"""Half the worlds pay nothing, or one in a hundred pays ten times the median: 93 to 98 %; see docs/evaluation/."""


@pytest.mark.slow
@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize(("sigma", "zeros"), [(0.3, 0.0), (0.5, 0.0), (0.8, 0.0), (0.8, 0.3), (0.8, 0.5), *HARD])
def test_intervals_over_few_worlds_at_length(n: int, sigma: float, zeros: float) -> None:
    low, high = (0.925, 0.985) if (sigma, zeros) in HARD else (0.93, 0.97)
    mean, ratio = (covered(n, sigma, zeros, 20_000, seed=1) for covered in (covered_mean, covered_ratio))
    print(f"{n} worlds, sigma {sigma}, {zeros:.0%} zeros: mean {mean:.1%}, ratio {ratio:.1%}")
    assert low < mean < high
    assert 0.93 < ratio < 0.97


@pytest.mark.parametrize(("openings", "alike"), [(20, 0.5), (50, 0.5), (50, -0.9), (200, 0.9)])
def test_shares_of_games_in_pairs_hold_95_times_in_100(openings: int, alike: float) -> None:
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(openings), 2)
    held, wide = [], []
    for _ in range(2000):
        first = rng.random(openings) < 0.4
        copied = rng.random(openings) < abs(alike)
        other = rng.random(openings) < 0.4
        second = np.where(copied, first if alike > 0 else ~first, other)
        truth = 0.4 if alike > 0 else (0.4 + 0.9 * 0.6 + 0.1 * 0.4) / 2
        low, high = share_interval(np.stack([first, second], 1).ravel(), units)
        held.append(low <= truth <= high)
        wide.append(high - low)
    assert np.mean(held) > 0.93
    if alike > 0:
        assert np.mean(held) < 0.98
        assert np.mean(wide) > np.diff(wilson(0.4 * 2 * openings, 2 * openings))[0] * (1 + alike) ** 0.5 * 0.97


def test_shares_without_variance_count_the_units_alone() -> None:
    hits, units = np.ones(200, np.bool_), np.repeat(np.arange(20), 10)
    assert share_interval(hits, np.arange(200)) == wilson(200, 200)
    low, high = share_interval(hits, units)
    assert wilson(20, 20)[0] - 0.05 < low < wilson(20, 20)[0]
    assert high == 1
    assert share_interval(hits, np.zeros(200, np.int64)) == wilson(1, 1)


# -- edges ---


def test_values_without_variance() -> None:
    same = np.full(50, 0.25)
    assert mean_interval(same) == (0.25, 0.25)
    low, high = mean_interval(same, (-1.0, 1.0)) or (0, 0)
    rest = wilson(0, 50)[1]
    assert (low, high) == pytest.approx((0.25 - rest * 1.25, 0.25 + rest * 0.75))
    assert mean_interval(same[:1]) is None
    assert mean_interval(same[:1], (-1.0, 1.0)) is not None


def test_symmetric_values_have_students_interval() -> None:
    values = np.array([-3.0, -1.0, 0.0, 1.0, 3.0, -2.0, 2.0, 0.0])
    low, high = mean_interval(values) or (0, 0)
    assert high == -low == pytest.approx(student(5) * values.std(ddof=1) / 8**0.5)


def test_skewed_values_reach_further_to_their_long_side() -> None:
    values = np.array([1.0, 1.1, 0.9, 1.0, 1.2, 0.8, 1.0, 6.0])
    low, high = mean_interval(values) or (0, 0)
    assert high - values.mean() > 1.5 * (values.mean() - low)
    mirrored = mean_interval(-values) or (0, 0)
    assert mirrored == pytest.approx((-high, -low))


def test_ratios_that_nothing_excludes_have_no_interval() -> None:
    values = np.array([1.0, 2.0, 3.0, 2.5] * 2)
    assert ratio_interval(values, 2 * values) == pytest.approx((0.5, 0.5))
    assert ratio_interval(values, np.array([9.0, *[0.0] * 7])) is None
    assert ratio_interval(values, -values) is None


def test_too_few_values_have_no_interval() -> None:
    """Four worlds of very different rewards had one from -1081 to 302; what is said must be worth reading."""
    values = np.array([92.0, 90.0, 88.0, 56.0, 91.0, 92.0, 60.0, 92.0])
    for n in range(1, 8):
        assert mean_interval(values[:n]) is None
        assert ratio_interval(values[:n], values[:n] + 1) is None
    assert mean_interval(values) is not None
    assert ratio_interval(values, values + 1) is not None


def test_an_interval_stays_within_what_a_value_can_be() -> None:
    for n in (2, 3, 4, 5, 8, 20):
        values = np.where(np.arange(n) == 0, -1.0, 1.0)
        low, high = mean_interval(values, (-1.0, 1.0)) or (9, 9)
        assert -1.0 <= low < values.mean() < high <= 1.0


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_few_bounded_values_hold_the_truth_at_least_as_often_as_promised(n: int) -> None:
    drawn = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], (2000, n), p=[0.3, 0.2, 0.5])
    found = [mean_interval(row, (-1.0, 1.0)) or (9, 9) for row in drawn]
    assert np.mean([low <= 0.2 <= high for low, high in found]) > 0.93
