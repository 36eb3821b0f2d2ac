"""95 % intervals: of shares, of means and of ratios of means, from a few or many independent units.

Made for measurements of players: shares near 0 and 1, games that share an opening, rewards of a few worlds with a long
tail and many zeros. The tests simulate how often each holds the true value (docs/evaluation/intervals.md).
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError

__all__ = [
    "FEWEST",
    "Interval",
    "independent",
    "mean_interval",
    "ratio_interval",
    "share_interval",
    "student",
    "wilson",
]

Interval: TypeAlias = tuple[float, float]
"""Low, high."""

FEWEST = 8
"""Fewer values have no interval, unless the range of a value is known: so few hide their tail, and an interval would be
several times as wide as the mean and still contain the true value less often than it claims."""


def wilson(successes: float, trials: float, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a share; right at 0 and 1 too, where the textbook interval has width 0.

    Raises:
        UsageError: no trials, or more successes than trials.

    Source: Wilson 1927, JASA 22; Brown, Cai and DasGupta 2001, Statistical Science 16.
    """
    if not 0 <= successes <= trials or trials <= 0:
        raise UsageError(
            f"{successes} of {trials} is not a share: give 0 <= successes <= trials and at least one trial."
        )
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, spread = successes / trials, z * z / trials
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * float(np.sqrt(share * (1 - share) / trials + spread / (4 * trials)))
    low = 0.0 if successes == 0 else max(0.0, centre - half)  # exact at the ends, where rounding would leave 1e-17
    return low, 1.0 if successes == trials else min(1.0, centre + half)


def student(freedom: int, confidence: float = 0.95) -> float:
    """Student's t with ``freedom`` degrees of freedom: a value is between -t and t with probability ``confidence``.

    Exact for 1 and 2 degrees of freedom, within 0.2 % for more.

    Source: Abramowitz and Stegun 1964, 26.7.5.
    """
    if freedom == 1:
        return math.tan(math.pi * confidence / 2)
    if freedom == 2:
        return confidence * math.sqrt(2 / (1 - confidence * confidence))
    x = NormalDist().inv_cdf(0.5 + confidence / 2)
    terms = (
        x,
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return sum(term / float(freedom) ** k for k, term in enumerate(terms))


def independent(values: NDArray[np.float64], units: NDArray[np.int64]) -> float:
    """As many independent values would say as much about the mean of ``values`` [n]; at most n.

    Values with the same number in ``units`` [n] are dependent.

    Source: Korn and Graubard 1998, Survey Methodology 24.
    """
    unit = np.unique(units, return_inverse=True)[1]
    count, spread = int(unit.max()) + 1, float(values.var())
    if count in (1, len(values)) or not spread:
        return float(count)
    apart = np.bincount(unit, values - values.mean())
    variance = count / (count - 1) * float((apart**2).sum()) / len(values) ** 2
    return min(float(len(values)), spread / variance) if variance else float(len(values))


def share_interval(hits: NDArray[np.bool_], units: NDArray[np.int64]) -> Interval:
    """Interval for the share of ``hits`` [n] among games; games with the same number in ``units`` [n] are dependent.

    Games from one opening, for example, are not independent of each other. This is Wilson's interval for the number of
    independent games that would vary as much as the units do, never more than n.
    """
    games, count = len(hits), len(np.unique(units))
    if count == games:
        return wilson(int(hits.sum()), games)
    share = float(np.mean(hits))
    if count == 1:
        return wilson(share, 1)
    as_many = independent(hits.astype(np.float64), units) * (NormalDist().inv_cdf(0.975) / student(count - 1)) ** 2
    return wilson(share * as_many, as_many)


def mean_interval(values: NDArray[np.float64], span: Interval | None = None) -> Interval | None:
    """Interval for the mean of independent values, which may be skewed and few.

    Student's t, after a transformation that removes the skewness. A small sample hides its tail, so its skewness is
    multiplied by 1 + 6 / n, and t has n - 3 degrees of freedom: both were chosen by simulation.

    Args:
        values: [n] independent values.
        span: the least and the most that a value can be; the interval stays within it. If all values are equal, the
            interval allows for the largest share of other values that n equal ones leave possible (Wilson's upper end
            for 0 of n).

    Returns:
        Low and high; None for fewer than ``FEWEST`` values without a span.

    Source: Hall 1992, Journal of the Royal Statistical Society B 54.
    """
    n, mean = len(values), float(np.mean(values))
    apart = values - mean
    if span is not None and (n == 1 or not apart.any()):
        others = wilson(0, n)[1]
        return mean - others * (mean - span[0]), mean + others * (span[1] - mean)
    if n < FEWEST and span is None:
        return None
    error = float(np.std(values, ddof=1)) / math.sqrt(n)
    t = student(max(1, n - 3))
    skewness = 0.0
    if n > 2 and error:
        skewness = float(np.mean(apart**3)) / float(np.std(values)) ** 3
        skewness *= math.sqrt(n * (n - 1)) / (n - 2) * (1 + 6 / n)
    low, high = span or (-math.inf, math.inf)
    return max(low, mean - error * _unskewed(t, skewness, n)), min(high, mean - error * _unskewed(-t, skewness, n))


def _unskewed(t: float, skewness: float, n: int) -> float:
    """The x whose transform is ``t``, which is x + a x^2 + a^2 x^3 / 3 + a / 2 where a = skewness / (3 root n)."""
    a = skewness / (3 * math.sqrt(n))
    return t if abs(a) < 1e-9 else (math.cbrt(1 + 3 * a * (t - a / 2)) - 1) / a


def ratio_interval(above: NDArray[np.float64], below: NDArray[np.float64]) -> Interval | None:
    """Interval for mean(above) / mean(below), from n independent pairs.

    Returns:
        Low and high; None for fewer than ``FEWEST`` pairs, and if the mean of ``below`` may be 0 or less, since then no
        ratio is excluded.

    Source: Fieller 1954, Journal of the Royal Statistical Society B 16.
    """
    n = len(above)
    if n < FEWEST:
        return None
    top, bottom = float(above.mean()), float(below.mean())
    (aa, ab), (_, bb) = (np.cov(above, below) * student(n - 1) ** 2 / n).tolist()
    # Ratios r for which mean(above) - r mean(below) is within t of 0: a r^2 - 2 b r + c <= 0.
    a, b, c = bottom**2 - bb, top * bottom - ab, top**2 - aa
    if bottom <= 0 or a <= 0:
        return None
    half = math.sqrt(max(0.0, b * b - a * c))
    return (b - half) / a, (b + half) / a
