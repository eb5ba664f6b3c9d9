"""Random samples against bounds, at a stated chance of a false alarm.

Each function passes unless the sample is evidence against the bound: a sample from a distribution
that keeps the bound fails with a chance of at most `alpha`. A sample that could not fail whatever
it holds, because it is too small for its `alpha`, is an error and no pass.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from streamlb import _check

_BETS = 12  # how many sizes of a bet share the stake


def assert_mean_below(sample: Any, bound: float, alpha: float = 1e-6, *, range: Any = None) -> None:
    """Fail where a sample shows that the mean of its distribution is above a bound.

    Parameters
    ----------
    sample : array_like of float
        Independent draws from one distribution.
    bound : float
        What the mean should be at most.
    alpha : float, default 1e-6
        The chance of a false alarm: of failing where the mean is at most the bound.
    range : (float, float), optional
        The least and the greatest value that a draw can have. With it the chance of a false alarm
        is at most alpha for every distribution within the range and every size of the sample. The
        greatest may be None: a range that is open above needs no more for this side.

    Raises
    ------
    AssertionError
        Where the mean is above the bound, with the estimate and its p-value.
    ValueError
        Where the sample is too small to fail at this alpha, or a value is outside of the range.

    Notes
    -----
    Without a range the test is Student's t and the same with Hall's correction for skewness; the
    one that is less alarmed decides. It needs independent draws of a distribution with three
    moments, and its alpha is approximate. Where the tail points to the side of the alarm, as that
    of waiting times does here, the test alarms less often than alpha says. Where it points away, as
    for waiting times in `assert_mean_above`, a small sample may not show its tail, and alarms are
    more frequent: measured at alpha=0.001, they were 2.7 times as frequent for 30 exponential
    values and 1.4 times for 100, and 7.8 and 3.8 times for lognormal ones (sigma 1). Give a range
    where one is known.

    With a range the test bets against the bound. A stake of 1 is divided over fixed fractions f,
    and each part is multiplied by 1 + f (x - bound) / (bound - least) for every x. While the mean
    is at most the bound the capital is not expected to grow, so it ends above 1 / alpha with a
    chance of at most alpha (Markov's inequality). Draws may then even depend on earlier ones, if
    their mean given those keeps the bound.

    References
    ----------
    P. Hall, "On the removal of skewness by transformation", 1992. I. Waudby-Smith and A. Ramdas,
    "Estimating means of bounded random variables by betting", 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlb.testing import assert_mean_below
    >>> waits = np.random.default_rng(1).exponential(2.0, 500)
    >>> assert_mean_below(waits, 2.5)
    >>> assert_mean_below(waits, 1.5, range=(0, None))
    Traceback (most recent call last):
    AssertionError: the mean of 500 values should be at most 1.5 ...
    """
    values, bound, alpha = _sample("sample", sample), _check.real("bound", bound), _level(alpha)
    _mean_at_most(values, bound, alpha, range, "at most", bound, 1.0)


def assert_mean_above(sample: Any, bound: float, alpha: float = 1e-6, *, range: Any = None) -> None:
    """Fail where a sample shows that the mean of its distribution is below a bound.

    Parameters
    ----------
    sample : array_like of float
        Independent draws from one distribution.
    bound : float
        What the mean should be at least.
    alpha : float, default 1e-6
        The chance of a false alarm: of failing where the mean is at least the bound.
    range : (float, float), optional
        The least and the greatest value that a draw can have, as for `assert_mean_below`. Here the
        least may be None.

    Raises
    ------
    AssertionError
        Where the mean is below the bound, with the estimate and its p-value.
    ValueError
        Where the sample is too small to fail at this alpha, or a value is outside of the range.

    Notes
    -----
    As for `assert_mean_below`, with the signs turned.

    Examples
    --------
    >>> from streamlb.testing import assert_mean_above
    >>> assert_mean_above([0.9, 1.0, 0.8, 1.0] * 20, 0.85, range=(0, 1))
    """
    values, bound, alpha = _sample("sample", sample), _check.real("bound", bound), _level(alpha)
    _mean_at_most(-values, -bound, alpha, _turned(range), "at least", bound, -1.0)


def assert_paired_below(first: Any, second: Any, bound: float = 0.0, alpha: float = 1e-6, *, range: Any = None) -> None:
    """Fail where pairs show that the mean of first - second is above a bound.

    Parameters
    ----------
    first, second : array_like of float
        Values in pairs, such as two balancers' results for the same seeds. Pairs are independent of
        each other; the two of a pair need not be.
    bound : float, default 0
        What the mean difference should be at most.
    alpha : float, default 1e-6
        The chance of a false alarm, as for `assert_mean_below`.
    range : (float, float), optional
        The least and the greatest difference that there can be, as for `assert_mean_below`.

    Examples
    --------
    >>> from streamlb.testing import assert_paired_below
    >>> assert_paired_below([1.0, 2.0, 4.0, 3.0], [1.5, 2.1, 4.4, 3.2])
    """
    assert_mean_below(_differences(first, second), bound, alpha, range=range)


def assert_paired_above(first: Any, second: Any, bound: float = 0.0, alpha: float = 1e-6, *, range: Any = None) -> None:
    """Fail where pairs show that the mean of first - second is below a bound.

    Parameters
    ----------
    first, second : array_like of float
        Values in pairs, as for `assert_paired_below`.
    bound : float, default 0
        What the mean difference should be at least.
    alpha : float, default 1e-6
        The chance of a false alarm, as for `assert_mean_below`.
    range : (float, float), optional
        The least and the greatest difference that there can be, as for `assert_mean_above`.

    Examples
    --------
    >>> from streamlb.testing import assert_paired_above
    >>> assert_paired_above([1.5, 2.1, 4.4, 3.2], [1.0, 2.0, 4.0, 3.0])
    """
    assert_mean_above(_differences(first, second), bound, alpha, range=range)


def assert_proportion_below(successes: int, trials: int, bound: float, alpha: float = 1e-6) -> None:
    """Fail where the successes among independent trials show that their chance is above a bound.

    Parameters
    ----------
    successes, trials : int
        How many of the trials succeeded, and how many there were.
    bound : float
        What the chance of a success should be at most, in [0, 1).
    alpha : float, default 1e-6
        The chance of a false alarm; the test is the exact binomial one, so it is at most this.

    Raises
    ------
    AssertionError
        Where the chance is above the bound, with the share of successes and its p-value.
    ValueError
        Where there are too few trials to fail at this alpha.

    Examples
    --------
    >>> from streamlb.testing import assert_proportion_below
    >>> assert_proportion_below(12, 100, 0.1)
    """
    successes, trials, bound = _counts(successes, trials, bound)
    _proportion_at_most(successes, trials, bound, _level(alpha), f"at most {bound:g}", successes)


def assert_proportion_above(successes: int, trials: int, bound: float, alpha: float = 1e-6) -> None:
    """Fail where the successes among independent trials show that their chance is below a bound.

    Parameters
    ----------
    successes, trials : int
        How many of the trials succeeded, and how many there were.
    bound : float
        What the chance of a success should be at least, in (0, 1].
    alpha : float, default 1e-6
        The chance of a false alarm, as for `assert_proportion_below`.

    Examples
    --------
    >>> from streamlb.testing import assert_proportion_above
    >>> assert_proportion_above(95, 100, 0.99)
    """
    successes, trials, bound = _counts(successes, trials, bound)
    _proportion_at_most(trials - successes, trials, 1.0 - bound, _level(alpha), f"at least {bound:g}", successes)


def _mean_at_most(
    values: np.ndarray, bound: float, alpha: float, within: Any, word: str, said: float, sign: float
) -> None:
    """Raise where the mean is above the bound; `word`, `said` and `sign` are for the message."""
    chance = _skewed_t(values, bound) if within is None else _bet(values, bound, alpha, *_ends(values, bound, within))
    if chance < alpha:
        raise AssertionError(
            f"the mean of {values.size} values should be {word} {said:g} and is {sign * values.mean():.6g} "
            f"(standard deviation {values.std(ddof=1) if values.size > 1 else 0.0:.4g}): "
            f"p-value at most {chance:.2g}, below alpha={alpha:g}"
        )


def _skewed_t(values: np.ndarray, bound: float) -> float:
    """Return the p-value of the mean being at most the bound: the larger one of two tests."""
    if values.size < 3:
        raise ValueError(f"sample must have at least 3 values where no range is given, got {values.size}")
    n, centred = values.size, values - values.mean()
    deviation = values.std()
    if deviation == 0.0:
        return 1.0 if values[0] <= bound else 0.0
    w = (values.mean() - bound) / deviation
    skew = float(np.mean(centred**3)) / deviation**3
    hall = math.sqrt(n) * (w + skew * w**2 / 3 + skew**2 * w**3 / 27 + skew / (6 * n))
    return max(_t_tail(math.sqrt(n - 1) * w, n - 1), _t_tail(hall * math.sqrt((n - 1) / n), n - 1))


def _bet(values: np.ndarray, bound: float, alpha: float, least: float, most: float) -> float:
    """Return the p-value of the mean being at most the bound, for values from least to most."""
    if bound >= most:
        return 1.0  # no value is above it
    if bound <= least:
        return 0.0 if values.max() > bound else 1.0
    fractions = np.geomspace(2.0**-_BETS, 1.0, 2 * _BETS + 1)

    def growth(x: np.ndarray) -> float:
        """Return the logarithm of the final capital."""
        with np.errstate(divide="ignore"):
            capital = np.log1p(fractions[:, None] * ((x - bound) / (bound - least))).sum(axis=1)
        return float(np.logaddexp.reduce(capital)) - math.log(fractions.size)

    if math.isfinite(most) and growth(np.full(values.size, most)) <= -math.log(alpha):
        raise ValueError(
            f"sample must be large enough to fail: {values.size} values in [{least:g}, {most:g}] cannot "
            f"show at alpha={alpha:g} that their mean is beyond {bound:g}, whatever they are"
        )
    return math.exp(min(0.0, -growth(values)))


def _proportion_at_most(successes: int, trials: int, bound: float, alpha: float, rule: str, shown: int) -> None:
    """Raise where the chance of a success is above the bound."""
    binom = _scipy("stats").binom
    if bound < 1 and binom.sf(trials - 1, trials, bound) > alpha:
        raise ValueError(
            f"trials must be enough to fail: {trials} of them cannot show at alpha={alpha:g} "
            f"that a chance is not {rule}, whatever they give"
        )
    chance = float(binom.sf(successes - 1, trials, bound))
    if chance < alpha:
        raise AssertionError(
            f"the chance of a success should be {rule}, and {shown} of {trials} trials succeeded "
            f"({shown / trials:.4g}): p-value {chance:.2g}, below alpha={alpha:g}"
        )


def _t_tail(t: float, freedom: int) -> float:
    """Return the chance that Student's t exceeds this value."""
    return float(_scipy("special").stdtr(freedom, -t))


def _scipy(module: str) -> Any:
    try:
        import scipy.special
        import scipy.stats
    except ImportError as error:
        raise ImportError(
            "this check needs scipy, which comes with the extra analysis: pip install 'streamlb[analysis]'"
        ) from error
    return getattr(scipy, module)


def _sample(name: str, values: Any) -> np.ndarray:
    array = _check.real_array(name, values, low=None)
    if not array.size:
        raise ValueError(f"{name} must have values, got none")
    return array


def _differences(first: Any, second: Any) -> np.ndarray:
    one, two = _sample("first", first), _sample("second", second)
    if one.size != two.size:
        raise ValueError(f"second must have as many values as first, {one.size}, got {two.size}")
    return one - two


def _level(alpha: Any) -> float:
    return _check.real("alpha", alpha, 0, 1, low_open=True, high_open=True)


def _turned(within: Any) -> Any:
    """Return the range of the negated values."""
    if within is None:
        return None
    least, most = _pair(within)
    return None if most is None else -most, None if least is None else -least


def _pair(within: Any) -> tuple[Any, Any]:
    try:
        least, most = within
    except (TypeError, ValueError):
        raise TypeError(f"range must be a pair (least, greatest), got {within!r}") from None
    return least, most


def _ends(values: np.ndarray, bound: float, within: Any) -> tuple[float, float]:
    """Return the range; it must be one that says something of this side and holds the values."""
    least, most = _pair(within)
    if least is None:
        raise ValueError(
            f"range must be closed on the side away from the alarm, got {within!r}: without an end there "
            "no test of a mean is free of the distribution"
        )
    least = _check.real("range", least)
    most = math.inf if most is None else _check.real("range", most, least)
    if values.min() < least or values.max() > most:
        at = int(np.argmax((values < least) | (values > most)))
        raise ValueError(f"range must hold every value of the sample, got one outside of it at position {at}")
    return least, most


def _counts(successes: Any, trials: Any, bound: Any) -> tuple[int, int, float]:
    trials = _check.integer("trials", trials, 1)
    return _check.integer("successes", successes, 0, trials), trials, _check.real("bound", bound, 0, 1)
