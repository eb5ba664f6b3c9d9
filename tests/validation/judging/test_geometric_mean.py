"""The geometric mean: what the logarithms say, and nothing that is not above 0."""

import math
import statistics

import numpy as np
import pytest
from streamlb.validation.judging import Sample, geometric_mean, mean


def test_it_is_the_mean_of_the_logarithms():
    values = np.random.default_rng(1).lognormal(0.3, 1.0, 40)
    found = geometric_mean(Sample(range(40), values))
    assert found.point == pytest.approx(statistics.geometric_mean(values))
    logs = mean(Sample(range(40), [math.log(x) for x in values])).interval(0.01)
    assert found.interval(0.01) == pytest.approx([math.exp(x) for x in logs])
    assert found.seeds == 40


def test_a_ratio_and_its_inverse_say_the_same():
    values = np.random.default_rng(2).lognormal(0.0, 2.0, 25)
    there, back = (geometric_mean(Sample(range(25), x)) for x in (values, 1 / values))
    low, high = back.interval(0.001)
    assert there.interval(0.001) == pytest.approx((1 / high, 1 / low))


def test_zero_is_refused():
    with pytest.raises(ValueError, match=r"gain needs values above 0, got 0.0"):
        geometric_mean(Sample([0, 1], [1.0, 0.0], name="gain"))


def test_what_is_less_counts_as_the_least():
    found = geometric_mean(Sample(range(30), [0.0, 2.0] * 15), least=1.0)
    assert found.point == pytest.approx(2**0.5)
