"""Estimates: a number, and at any level the interval that holds what it estimates.

An interval is a function of alpha, the chance that it misses: how many looks and how many checks
share the error is known only when the aspect is decided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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
    agreed: bool = False  # every seed gives the same

    @property
    def statistical(self) -> bool:
        """Whether noise is in it."""
        return self.seeds > 0

    def __str__(self) -> str:
        return f"{self}"

    def __format__(self, spec: str) -> str:
        """Return ``1.06 (1.04 to 1.08)``; a format such as ``.2f`` or ``.1%`` is used for each.

        Where every seed gives the same it is ``2.00 (all 10 seeds)``.
        """
        spec = spec or ".3g"
        if not self.statistical:
            return format(self.point, spec)
        if self.agreed:
            return f"{self.point:{spec}} ({f'all {self.seeds} seeds' if self.seeds > 1 else 'one seed'})"
        low, high = self.interval(ALPHA)
        return f"{self.point:{spec}} ({low:{spec}} to {high:{spec}})"


def exact(value: Any) -> Estimate:
    """Return the estimate of what is known without noise: a count, or a number of the theory."""
    number = float(value)
    if np.isnan(number):
        raise ValueError(f"value must be a number, got {value!r}")
    return Estimate(number, lambda alpha: (number, number))


SAME = 1e-12  # of their size: numbers closer than this are equal but for rounding


def _unbend(x: float, bend: float) -> float:
    """Return T with T + bend (T^2/3 + 1/6) + bend^2 T^3/27 = x: Hall's cubic solved.

    bend is the skewness over the root of n. The cubic is monotone, so that there is one solution.
    """
    if abs(bend) < 1e-9:
        return x
    return 3.0 / bend * (np.cbrt(1.0 + bend * (x - bend / 6.0)) - 1.0)


def _student(alpha: float, n: int) -> float:
    """Return how many standard errors Student's interval of n values reaches."""
    from scipy import special

    return -float(special.stdtrit(n - 1, alpha / 2))


def _reaches(values: np.ndarray, alpha: float) -> tuple[float, float]:
    """Return how many standard errors the interval of a mean goes below it and above it.

    Hall's interval straightens the studentised mean by a cubic that removes the first effect of
    skewness; but the skewness of a dozen values is itself uncertain by a root of 6/n, and far out
    in the tails the cubic of a wrong skewness shortens the interval by half. So each end is the
    farther one of Student's and of Hall's with half that uncertainty against it.
    """
    n, student = values.size, _student(alpha, values.size)
    deviations = values - values.mean()
    skewness = float(np.mean((deviations / np.sqrt(np.mean(deviations**2))) ** 3))
    if n > 2:
        skewness *= (n * (n - 1)) ** 0.5 / (n - 2)
    doubt = 0.5 * (6.0 / n) ** 0.5
    below = _unbend(student, (skewness - doubt) / n**0.5)
    above = -_unbend(-student, (skewness + doubt) / n**0.5)
    return max(student, below), max(student, above)


def _agree(values: np.ndarray) -> bool:
    """Return whether all values are the same but for rounding."""
    return bool(np.ptp(values) <= SAME * np.abs(values).max(initial=0.0))


def _if_agreed(point: float, scale: float, n: int, alpha: float) -> tuple[float, float]:
    """Return the interval where all seeds give the same number.

    No spread is seen that an interval could be built on, but that n seeds agree leaves room for
    others: a share of up to 1 - alpha^(1/n) of all seeds may give something else. The interval
    allows for this share to lie off by as much as the numbers are large. Where all of them are 0
    there is no measure of what else might come: then it is only asked that there are so many seeds
    that they would not agree if half of all gave something else. A share of seeds is therefore
    judged by `proportion`, which needs no such rule, and what cannot vary by `exact`.
    """
    if n < 2 or (scale == 0 and 2.0 ** (1 - n) > alpha):
        return -np.inf, np.inf
    reach = (1.0 - alpha ** (1.0 / n)) * scale
    return point - reach, point + reach


def mean(sample: Sample) -> Estimate:
    """Return the mean of a sample with Student's interval, widened for skewness.

    The wider of Student's and Hall's intervals is taken at each end. Where all seeds agree, the
    interval allows for the share of seeds that may differ unseen. One seed says nothing.

    Examples
    --------
    >>> from streamlb.validation.judging import Sample, mean
    >>> estimate = mean(Sample(range(20), [1.0, 1.2, 0.8, 1.1, 0.9] * 4))
    >>> f"{estimate:.2f}"
    '1.00 (0.86 to 1.14)'
    >>> f"{mean(Sample(range(20), [3.0] * 20)):.0f}"
    '3 (all 20 seeds)'
    """
    values, n = sample.values, sample.values.size
    if n < 1:
        raise ValueError(f"{sample.name or 'a mean'} needs at least one seed, got none")
    centre = float(values.mean())
    if _agree(values):
        return Estimate(centre, lambda alpha: _if_agreed(centre, sample.scale, n, alpha), n, sample.cells, agreed=True)

    error = float(values.std(ddof=1)) / n**0.5

    def interval(alpha: float) -> tuple[float, float]:
        below, above = _reaches(values, alpha)
        return centre - below * error, centre + above * error

    return Estimate(centre, interval, n, sample.cells)


def geometric_mean(sample: Sample, least: float = 0.0) -> Estimate:
    """Return the geometric mean of numbers above 0: what `mean` makes of their logarithms.

    It is for ratios, times and loads with a long tail, whose arithmetic mean hangs on a few seeds.

    Parameters
    ----------
    sample : Sample
        Numbers above 0.
    least : float, default 0
        What smaller numbers count as, so that one of 0 has a logarithm.

    Examples
    --------
    >>> from streamlb.validation.judging import Sample, geometric_mean
    >>> f"{geometric_mean(Sample(range(20), [0.5, 2.0, 0.25, 4.0] * 5)):.1f}"
    '1.0 (0.3 to 2.9)'
    """
    values = np.maximum(sample.values, least)
    if not (values > 0).all():
        raise ValueError(f"{sample.name or 'a geometric mean'} needs values above 0, got {values.min()}")
    # On this scale what was never seen may be off by a factor of e, or more where the numbers are.
    size = max(1.0, float(np.abs(np.log(values)).max()))
    logs = mean(Sample(sample.seeds, np.log(values), sample.cells, sample.name, size))

    def interval(alpha: float) -> tuple[float, float]:
        low, high = logs.interval(alpha)
        with np.errstate(over="ignore"):  # a few seeds that differ much: no upper end
            return float(np.exp(low)), float(np.exp(high))

    return replace(logs, point=float(np.exp(logs.point)), interval=interval)


def ratio(above: Sample, below: Sample) -> Estimate:
    """Return the ratio of two means, paired by seed, with Fieller's interval.

    The interval holds every r for which the mean of ``above - r * below`` may be 0. Both means are
    of numbers above 0; where the interval of the lower mean reaches 0 the ratio has no upper end.
    """
    keep = (above - below).seeds  # the seeds that both have
    a = above.values[np.isin(above.seeds, keep)]
    b = below.values[np.isin(below.seeds, keep)]
    n, cells = keep.size, above.cells | below.cells
    if n < 1:
        raise ValueError("a ratio needs at least one seed that both samples have, got none")
    if not b.mean() > 0:
        raise ValueError(f"the mean below a ratio must be above 0, got {b.mean()}")
    point = float(a.mean() / b.mean())
    rest = a - point * b
    if np.ptp(rest) <= SAME * (np.abs(a).max() + np.abs(point * b).max()):
        return Estimate(point, lambda alpha: _if_agreed(point, point, n, alpha), n, cells, agreed=True)
    (aa, ab), (_, bb) = np.cov(a, b) / n

    def ends(reach: float) -> list[float]:
        """Return where the mean of a - r b is this many standard errors away from 0."""
        square = np.array(
            [b.mean() ** 2 - reach**2 * bb, -2 * (a.mean() * b.mean() - reach**2 * ab), a.mean() ** 2 - reach**2 * aa]
        )
        return [float(root.real) for root in np.roots(square) if abs(root.imag) <= 1e-9 * abs(root)]

    def interval(alpha: float) -> tuple[float, float]:
        down, up = _reaches(rest, alpha)
        low = max((end for end in ends(down) if end <= point), default=-np.inf)
        high = min((end for end in ends(up) if end >= point), default=np.inf)
        return low, high

    return Estimate(point, interval, n, cells)


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
    keep = (above - below).seeds
    a, b = above.values[np.isin(above.seeds, keep)], below.values[np.isin(below.seeds, keep)]
    n = keep.size
    cells = above.cells | below.cells

    def log_ratio(x: np.ndarray, y: np.ndarray) -> float:
        return float(np.log(x.std(ddof=1)) - np.log(y.std(ddof=1)))

    if n < 1:
        raise ValueError("a ratio of spreads needs seeds that both samples have, got none")
    if n < 3 or _agree(a) or _agree(b):  # nothing can be said
        return Estimate(float("nan"), lambda alpha: (-np.inf, np.inf), n, cells)
    whole = log_ratio(a, b)
    without = [(np.delete(a, i), np.delete(b, i)) for i in range(n)]
    if any(_agree(x) or _agree(y) for x, y in without):  # one seed makes all the spread
        return Estimate(float(np.exp(whole)), lambda alpha: (-np.inf, np.inf), n, cells)
    pseudo = np.array([n * whole - (n - 1) * log_ratio(x, y) for x, y in without])
    centre, error = float(pseudo.mean()), float(pseudo.std(ddof=1)) / n**0.5

    def interval(alpha: float) -> tuple[float, float]:
        reach = _student(alpha, n) * error
        return float(np.exp(centre - reach)), float(np.exp(centre + reach))

    return Estimate(float(np.exp(whole)), interval, n, cells)
