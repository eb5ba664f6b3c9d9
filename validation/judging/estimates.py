"""Estimates: a number, and at any level the interval that holds what it estimates.

An interval is a function of alpha, the chance that it misses: how many looks and how many checks
share the error is known only when the aspect is decided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .samples import Sample

ALPHA = 1e-3  # of the intervals that reports show: 99.9%
Interval = Callable[[float], tuple[float, float]]
Level = Callable[[int], float]  # the chance of an error, for an estimate over so many seeds


@dataclass(frozen=True)
class Estimate:
    """A number and its interval, the number of seeds behind it, and the settings they come from.

    `seeds` is 0 for what is exact.
    """

    point: float
    interval: Interval
    seeds: int = 0
    cells: frozenset[int] = frozenset()

    @property
    def statistical(self) -> bool:
        """Whether noise is in it."""
        return self.seeds > 0

    def __str__(self) -> str:
        return f"{self}"

    def __format__(self, spec: str) -> str:
        """Return ``1.06 (1.04 to 1.08)``; a format such as ``.2f`` or ``.1%`` is used for each."""
        spec = spec or ".3g"
        if not self.statistical:
            return format(self.point, spec)
        low, high = self.interval(ALPHA)
        return f"{self.point:{spec}} ({low:{spec}} to {high:{spec}})"


def exact(value: Any) -> Estimate:
    """Return the estimate of what is known without noise: a count, or a number of the theory."""
    number = float(value)
    if np.isnan(number):
        raise ValueError(f"value must be a number, got {value!r}")
    return Estimate(number, lambda alpha: (number, number))


def _unbend(x: float, bend: float) -> float:
    """Return T with T + bend (T^2/3 + 1/6) + bend^2 T^3/27 = x: Hall's cubic solved.

    bend is the skewness over the root of n. The cubic is monotone, so that there is one solution.
    """
    if abs(bend) < 1e-9:
        return x
    return 3.0 / bend * (np.cbrt(1.0 + bend * (x - bend / 6.0)) - 1.0)


def mean(sample: Sample) -> Estimate:
    """Return the mean of a sample with Student's interval, corrected for skewness.

    The correction is Hall's: the studentised mean is straightened by a cubic that removes the
    first effect of skewness, which a plain interval of a dozen skewed values would ignore.

    Examples
    --------
    >>> from streamlb.validation.judging import Sample, mean
    >>> estimate = mean(Sample(range(20), [1.0, 1.2, 0.8, 1.1, 0.9] * 4))
    >>> f"{estimate:.2f}"
    '1.00 (0.87 to 1.13)'
    """
    from scipy import stats

    values, n = sample.values, sample.values.size
    if n < 2:
        raise ValueError(f"{sample.name or 'a mean'} needs at least two seeds, got {n}")
    centre = float(values.mean())
    deviations = values - centre
    error = float(values.std(ddof=1)) / n**0.5
    spread = float(np.sqrt(np.mean(deviations**2)))
    bend = float(np.mean((deviations / spread) ** 3)) / n**0.5 if spread > 0 else 0.0

    def interval(alpha: float) -> tuple[float, float]:
        reach = float(stats.t.isf(alpha / 2, n - 1))
        return centre - error * _unbend(reach, bend), centre - error * _unbend(-reach, bend)

    return Estimate(centre, interval, n, sample.cells)


def geometric_mean(sample: Sample) -> Estimate:
    """Return the geometric mean of numbers above 0: what `mean` makes of their logarithms.

    It is for ratios and times with a long tail, whose arithmetic mean hangs on a few seeds.

    Examples
    --------
    >>> from streamlb.validation.judging import Sample, geometric_mean
    >>> f"{geometric_mean(Sample(range(4), [0.5, 2.0, 0.25, 4.0])):.1f}"
    '1.0 (0.0 to 1012.9)'
    """
    if not (sample.values > 0).all():
        raise ValueError(f"{sample.name or 'a geometric mean'} needs values above 0, got {sample.values.min()}")
    of_logs = mean(sample.map(np.log))

    def interval(alpha: float) -> tuple[float, float]:
        low, high = of_logs.interval(alpha)
        return float(np.exp(low)), float(np.exp(high))

    return Estimate(float(np.exp(of_logs.point)), interval, of_logs.seeds, of_logs.cells)


def ratio(above: Sample, below: Sample) -> Estimate:
    """Return the ratio of two means, paired by seed, with Fieller's interval.

    The interval holds every r for which the mean of ``above - r * below`` may be 0. Both means are
    of numbers above 0; where the interval of the lower mean reaches 0 the ratio has no upper end.
    """
    from scipy import optimize, stats

    pair = above - below  # to find the seeds that both have
    keep = pair.seeds
    a = above.values[np.isin(above.seeds, keep)]
    b = below.values[np.isin(below.seeds, keep)]
    n = keep.size
    if n < 2:
        raise ValueError(f"a ratio needs at least two seeds that both samples have, got {n}")
    if not b.mean() > 0:
        raise ValueError(f"the mean below a ratio must be above 0, got {b.mean()}")
    point = float(a.mean() / b.mean())

    def interval(alpha: float) -> tuple[float, float]:
        reach = float(stats.t.isf(alpha / 2, n - 1))

        def excess(r: float, side: float) -> float:
            values = a - r * b
            centre, deviations = float(values.mean()), values - values.mean()
            spread = float(np.sqrt(np.mean(deviations**2)))
            if spread <= 1e-12 * abs(float(b.mean())) * max(1.0, abs(r)):
                return centre
            bend = float(np.mean((deviations / spread) ** 3)) / n**0.5
            return centre - float(values.std(ddof=1)) / n**0.5 * _unbend(side * reach, bend)

        def end(side: float) -> float:
            """Return where the interval of a - r b just leaves 0: low for side 1, high for -1."""
            step = max(abs(point), 1e-12)
            inside = point
            for _ in range(200):
                outside = point - side * step
                if excess(outside, side) * side > 0:
                    lower, upper = sorted((outside, inside))
                    return float(optimize.brentq(excess, lower, upper, args=(side,), xtol=1e-14, rtol=1e-12))
                inside, step = outside, 2 * step
            return -side * np.inf

        if excess(point, 1.0) == excess(point, -1.0):  # no noise at all
            return point, point
        return end(1.0), end(-1.0)

    return Estimate(point, interval, n, above.cells | below.cells)


def median(sample: Sample) -> Estimate:
    """Return the median with the interval of order statistics, which assumes no distribution."""
    from scipy import stats

    values, n = np.sort(sample.values), sample.values.size
    if n < 1:
        raise ValueError("a median needs at least one seed, got none")

    def interval(alpha: float) -> tuple[float, float]:
        # At most `below` of n values lie below the median with chance alpha / 2 or less.
        below = int(stats.binom.ppf(alpha / 2, n, 0.5))
        if stats.binom.cdf(below, n, 0.5) > alpha / 2:
            below -= 1
        if below < 0:
            return -np.inf, np.inf
        return float(values[below]), float(values[n - 1 - below])

    return Estimate(float(np.median(values)), interval, n, sample.cells)


def proportion(sample: Sample) -> Estimate:
    """Return the share of seeds in which something is so, with the exact binomial interval.

    The values are 0 or 1. Where several settings were averaged within a seed, the share counts the
    seeds in which it is so in all of them.
    """
    from scipy import stats

    if ((sample.values < 0) | (sample.values > 1)).any():
        raise ValueError(f"a proportion needs values of 0 or 1, got {sample.values.min()} to {sample.values.max()}")
    n, count = sample.values.size, int((sample.values == 1).sum())
    if n < 1:
        raise ValueError("a proportion needs at least one seed, got none")

    def interval(alpha: float) -> tuple[float, float]:
        found = stats.binomtest(count, n).proportion_ci(1 - alpha, method="exact")
        return float(found.low), float(found.high)

    return Estimate(count / n, interval, n, sample.cells)


def spread_ratio(above: Sample, below: Sample) -> Estimate:
    """Return the ratio of two standard deviations over seeds, with a jackknife interval.

    The jackknife works on the logarithm of the ratio and keeps the pairing by seed.
    """
    from scipy import stats

    keep = (above - below).seeds
    a, b = above.values[np.isin(above.seeds, keep)], below.values[np.isin(below.seeds, keep)]
    n = keep.size
    if n < 3:
        raise ValueError(f"a ratio of spreads needs at least three seeds, got {n}")

    def log_ratio(x: np.ndarray, y: np.ndarray) -> float:
        return float(np.log(x.std(ddof=1)) - np.log(y.std(ddof=1)))

    if not (a.std() > 0 and b.std() > 0):
        raise ValueError("a ratio of spreads needs samples that vary")
    whole = log_ratio(a, b)
    pseudo = np.array([n * whole - (n - 1) * log_ratio(np.delete(a, i), np.delete(b, i)) for i in range(n)])
    centre, error = float(pseudo.mean()), float(pseudo.std(ddof=1)) / n**0.5

    def interval(alpha: float) -> tuple[float, float]:
        reach = float(stats.t.isf(alpha / 2, n - 1)) * error
        return float(np.exp(centre - reach)), float(np.exp(centre + reach))

    return Estimate(float(np.exp(whole)), interval, n, above.cells | below.cells)
