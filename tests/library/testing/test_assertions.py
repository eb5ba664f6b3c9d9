"""Samples against bounds: false alarms are as rare as stated, and what is wrong is found."""

import builtins
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from streamlb.testing import (
    assert_mean_above,
    assert_mean_below,
    assert_paired_above,
    assert_paired_below,
    assert_proportion_above,
    assert_proportion_below,
)

MEANS = {"below": assert_mean_below, "above": assert_mean_above}


def alarms(check, samples, *arguments, **options):
    """Return how many of the samples fail."""
    count = 0
    for sample in samples:
        try:
            check(sample, *arguments, **options)
        except AssertionError:
            count += 1
    return count


def assert_rate(count, runs, alpha):
    """Fail where a rate of alpha or less gives so many alarms with a chance below 1e-6."""
    assert stats.binom.sf(count - 1, runs, alpha) > 1e-6, f"{count} of {runs} alarms at alpha={alpha}"


@pytest.mark.bound
@pytest.mark.parametrize("side", MEANS)
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_normal_samples_alarm_as_often_as_stated(side, alpha):
    """The chance of a false alarm of this test is below 1e-6 on each side."""
    rng, runs = np.random.default_rng(3), 4000
    count = alarms(MEANS[side], rng.normal(5.0, 2.0, (runs, 40)), 5.0, alpha)
    assert_rate(count, runs, alpha)
    assert stats.binom.cdf(count, runs, alpha / 2) > 1e-6  # nor does it sleep


@pytest.mark.bound
@pytest.mark.parametrize("draw", ["exponential", "lognormal", "gamma", "pareto"])
def test_tails_towards_the_alarm_are_safe(draw):
    """Waiting times and the like below a bound; the chance of a false alarm is below 1e-6."""
    rng, runs = np.random.default_rng(4), 2000
    shape = (runs, 30)
    samples, mean = {
        "exponential": (rng.exponential(1.0, shape), 1.0),
        "lognormal": (rng.lognormal(0.0, 1.0, shape), np.exp(0.5)),
        "gamma": (rng.gamma(0.25, 1.0, shape), 0.25),
        "pareto": (rng.pareto(3.5, shape), 1 / 2.5),
    }[draw]
    assert_rate(alarms(assert_mean_below, samples, mean, 0.01), runs, 0.01)


@pytest.mark.bound
def test_the_correction_for_skewness_brings_alarms_near_to_what_is_stated():
    """Tails that point away from the alarm: twice the stated rate at most, where t has four times.

    The chance of a false alarm is below 1e-6 if the rate is 1.5 alpha, as it was measured.
    """
    rng, runs, alpha = np.random.default_rng(5), 4000, 0.01
    samples = rng.exponential(1.0, (runs, 30))
    plain = (stats.ttest_1samp(samples, 1.0, axis=1, alternative="less").pvalue < alpha).sum()
    count = alarms(assert_mean_above, samples, 1.0, alpha)
    assert count < plain / 1.5
    assert stats.binom.cdf(count, runs, 2.5 * alpha) > 1e-6
    assert_rate(count, runs, 2.5 * alpha)


@pytest.mark.bound
@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("bound", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("alpha", [0.1, 1e-6])
def test_a_range_makes_the_chance_certain(n, bound, alpha):
    """Exact for zeros and ones: the binomial chance of all samples that fail is at most alpha."""
    samples = [(np.arange(n) < ones).astype(float) for ones in range(n + 1)]
    if bound**n > alpha / 25:  # 25 bets share the stake
        with pytest.raises(ValueError, match="sample must be large enough to fail"):
            assert_mean_below(samples[0], bound, alpha, range=(0, 1))
        return
    failing = [alarms(assert_mean_below, [sample], bound, alpha, range=(0, 1)) for sample in samples]
    assert failing == sorted(failing)
    assert failing[-1] == 1
    assert stats.binom.sf(failing.index(1) - 1, n, bound) <= alpha


@pytest.mark.bound
@pytest.mark.parametrize("side", MEANS)
def test_a_range_holds_for_skewed_samples_of_any_size(side):
    """Rare large values, for which Student's t fails; the chance of a false alarm is below 1e-6."""
    rng, runs, alpha = np.random.default_rng(6), 2000, 0.05
    for size in (20, 200):
        samples = (rng.random((runs, size)) < 0.05) * 1.0
        samples = samples if side == "below" else 1.0 - samples
        bound = 0.05 if side == "below" else 0.95
        assert_rate(alarms(MEANS[side], samples, bound, alpha, range=(0, 1)), runs, alpha)


@pytest.mark.bound
def test_a_half_open_range_is_enough_on_its_side():
    """The chance of a false alarm is below 1e-6."""
    rng, runs, alpha = np.random.default_rng(7), 2000, 0.05
    samples = rng.pareto(1.5, (runs, 50))  # no variance
    assert_rate(alarms(assert_mean_below, samples, 2.0, alpha, range=(0, None)), runs, alpha)
    assert_rate(alarms(assert_mean_above, -samples, -2.0, alpha, range=(None, 0)), runs, alpha)


@pytest.mark.bound
@pytest.mark.parametrize("bound", [0.02, 0.5, 0.97])
def test_proportions_are_exact(bound):
    """Summed over the binomial distribution, so there is no chance of a false alarm."""
    n, alpha = 400, 0.01
    chances = stats.binom.pmf(np.arange(n + 1), n, bound)
    for check in (assert_proportion_below, assert_proportion_above):
        failing = [alarms(lambda k: check(k, n, bound, alpha), [k]) for k in range(n + 1)]  # noqa: B023
        assert alpha / 5 < chances @ np.array(failing) <= alpha


def test_what_is_wrong_is_found():
    rng = np.random.default_rng(8)
    waits = rng.exponential(2.0, 400)
    for within in (None, (0, None), (0, 60)):
        assert_mean_below(waits, 2.3, range=within)
        with pytest.raises(AssertionError, match=r"400 values should be at most 1\.3 and is 1\.9"):
            assert_mean_below(waits, 1.3, range=within)
    assert_mean_above(waits, 1.9)
    with pytest.raises(AssertionError, match=r"should be at least 3 and is 1\.9"):
        assert_mean_above(waits, 3.0)
    with pytest.raises(AssertionError, match=r"should be at least 9 and is 1\.9"):
        assert_mean_above(waits, 9.0, range=(0, 20))
    for check, wrong in ((assert_paired_below, -0.2), (assert_paired_above, 0.2)):
        noise = rng.normal(0, 0.1, 400)
        check(waits + noise, waits)
        with pytest.raises(AssertionError, match="mean of 400 values"):
            check(waits + noise, waits, wrong)
        with pytest.raises(AssertionError, match="mean of 400 values"):
            check(waits + noise.clip(-0.4, 0.4), waits, wrong, range=(-0.41, 0.41))
    assert_proportion_below(5, 100, 0.05)
    with pytest.raises(AssertionError, match=r"at most 0\.05, and 25 of 100 trials succeeded \(0\.25\)"):
        assert_proportion_below(25, 100, 0.05)
    with pytest.raises(AssertionError, match=r"at least 0\.9, and 60 of 100"):
        assert_proportion_above(60, 100, 0.9)


def test_a_large_gap_is_no_overflow():
    assert_mean_below(np.zeros(10**6), 0.5, range=(0, 1))
    with pytest.raises(AssertionError):
        assert_mean_below(np.ones(10**6), 0.5, range=(0, 1))
    with pytest.raises(AssertionError):
        assert_mean_below([0.0, 0.0, 1e-9], 0.0, range=(0, 1))
    assert_mean_below([1.0, 1.0], 1.0, range=(0, 1))
    assert_mean_below([2.0] * 5, 2.0)
    with pytest.raises(AssertionError):
        assert_mean_below([2.0] * 5, 1.9)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: assert_mean_below([1, 1, 0], 0.5, range=(0, 1)), ValueError, "sample must be large enough to fail: 3"),
        (lambda: assert_proportion_below(3, 5, 0.5), ValueError, "trials must be enough to fail: 5"),
        (lambda: assert_mean_below([1.0, 2.0], 0.5), ValueError, "sample must have at least 3 values"),
        (lambda: assert_mean_below([], 0.5, range=(0, 1)), ValueError, "sample must have values"),
        (lambda: assert_mean_below([float("nan")] * 9, 0.5), ValueError, "sample must be finite"),
        (lambda: assert_mean_below([[1.0]], 0.5), ValueError, "sample must have one dimension"),
        (lambda: assert_mean_below([1.0] * 9, float("inf")), ValueError, "bound must be finite"),
        (lambda: assert_mean_below([1.0] * 9, 1.0, 0.0), ValueError, "alpha must be in"),
        (lambda: assert_mean_below([1.0] * 9, 1.0, range=3), TypeError, "range must be a pair"),
        (lambda: assert_mean_below([1.0] * 9, 1.0, range=(None, 3)), ValueError, "range must be closed"),
        (lambda: assert_mean_above([1.0] * 9, 1.0, range=(0, None)), ValueError, "range must be closed"),
        (lambda: assert_mean_below([0.5, 2.0], 0.6, range=(0, 1)), ValueError, "range must hold .* position 1"),
        (lambda: assert_paired_below([1.0] * 9, [1.0] * 8), ValueError, "second must have as many values as first, 9"),
        (lambda: assert_proportion_below(6, 5, 0.1), ValueError, "successes must be in"),
        (lambda: assert_proportion_below(1, 5, 1.5), ValueError, "bound must be in"),
    ],
)
def test_bad_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_without_scipy_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.partition(".")[0] == "scipy":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'streamlb\[analysis\]'"):
        assert_mean_below([1.0, 2.0, 3.0], 4.0)
    assert_mean_below([0.5] * 40, 0.6, range=(0, 1))  # needs none


def test_importing_loads_neither_scipy_nor_numba():
    code = "import sys, streamlb, streamlb.testing; print({'scipy', 'numba', 'pytest'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"
    code = "import sys, streamlb; print('streamlb.testing' in sys.modules); print(streamlb.testing.check_grouping)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.startswith("False\n<function check_grouping")
