"""The theory of the sketches, by enumeration and by algebra, and the kernels against it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlb.analysis import (
    collision_probability,
    cost_tail_bound,
    count_min_failure,
    count_min_shape,
    expected_cost_estimate,
    expected_cost_estimate_exact,
    theorem_4_3,
)

from streamlb import CostSketch, CountMin, Zipf


def mean_over_all_hash_functions(frequencies, costs, columns, item):
    """Return E[W/C] by brute force, over all equally likely functions from items to columns."""
    total, functions = Fraction(0), 0
    for columns_of in itertools.product(range(columns), repeat=len(costs)):
        mates = [u for u in range(len(costs)) if columns_of[u] == columns_of[item]]
        work = sum(Fraction(frequencies[u]) * costs[u] for u in mates)
        total += work / sum(Fraction(frequencies[u]) for u in mates)
        functions += 1
    return total / functions


@pytest.mark.parametrize(("n", "columns"), [(2, 2), (2, 7), (3, 4), (4, 3), (5, 3), (6, 2), (4, 1)])
def test_theorem_4_3_equals_the_mean_over_every_hash_function(n, columns):
    costs = [Fraction(c) for c in (3, 64, 1, 17, 40, 8)[:n]]
    for item in range(n):
        ref = mean_over_all_hash_functions([5] * n, costs, columns, item)
        assert theorem_4_3(costs[item], sum(costs), n, Fraction(columns)) == ref
        assert expected_cost_estimate_exact([5] * n, costs, columns, item) == ref


@settings(max_examples=25)
@given(
    frequencies=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    seed=st.integers(0, 99),
    columns=st.integers(1, 4),
)
def test_exact_expectation_for_any_frequencies(frequencies, seed, columns):
    costs = [int(c) for c in np.random.default_rng(seed).integers(0, 65, len(frequencies))]
    for item in range(len(costs)):
        ref = mean_over_all_hash_functions(frequencies, costs, columns, item)
        assert expected_cost_estimate_exact(frequencies, costs, columns, item) == ref
        as_floats = expected_cost_estimate_exact([float(f) for f in frequencies], costs, columns, item)
        assert as_floats == pytest.approx(float(ref), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_theorem_4_3_symbolically_over_all_subsets(n):
    """For symbolic costs and columns, the sum over all colliding sets is the printed formula."""
    c = sympy.Symbol("c", positive=True)
    w = sympy.symbols(f"w1:{n + 1}")
    mean = 0
    for i in range(n):
        for others in itertools.combinations(w[1:], i):
            mean += (1 / c) ** i * (1 - 1 / c) ** (n - 1 - i) * (w[0] + sum(others)) / (i + 1)
    assert sympy.simplify(mean - theorem_4_3(w[0], sum(w), sympy.Integer(n), c)) == 0


def test_theorem_4_3_symbolically_for_every_n():
    """The theorem follows from E[W/C] = w q + (S - w)/(n-1) (1 - q) by algebra.

    Here q = E[1/(I+1)] = c/n (1 - (1 - 1/c)^n), and I is binomial. Given I = i colliding items,
    drawn alike from the others, W/C is (w + i (S - w)/(n-1))/(i+1) on average.
    """
    n, c, w, S, i, x = sympy.symbols("n c w S i x", positive=True)
    given_i = (w + i * (S - w) / (n - 1)) / (i + 1)
    split = w / (i + 1) + (S - w) / (n - 1) * (1 - 1 / (i + 1))
    assert sympy.simplify(given_i - split) == 0
    # E[1/(I+1)] is the integral over x in [0, 1] of E[x^I] = (1 - 1/c + x/c)^(n-1), of which this
    # is the antiderivative:
    antiderivative = c / n * (1 - 1 / c + x / c) ** n
    assert sympy.simplify(sympy.diff(antiderivative, x) - (1 - 1 / c + x / c) ** (n - 1)) == 0
    q = antiderivative.subs(x, 1) - antiderivative.subs(x, 0)
    assert sympy.simplify(w * q + (S - w) / (n - 1) * (1 - q) - theorem_4_3(w, S, n, c)) == 0


def test_expected_cost_estimate_is_the_theorem_in_floats():
    costs = np.random.default_rng(1).integers(1, 65, 300)
    total = Fraction(int(costs.sum()))
    ref = [float(theorem_4_3(Fraction(int(w)), total, 300, Fraction(55))) for w in costs]
    np.testing.assert_allclose(expected_cost_estimate(costs, 55), ref, rtol=1e-12)
    assert expected_cost_estimate([7.0], 3).tolist() == [7.0]
    assert expected_cost_estimate([1.0, 5.0], 1).tolist() == [3.0, 3.0]


def test_papers_numbers():
    costs = np.repeat(np.arange(1.0, 65.0), 64)
    expected = expected_cost_estimate(costs, 55)
    assert (round(expected.min(), 2), round(expected.max(), 2)) == (32.08, 32.92)
    assert cost_tail_bound(costs, 55, 10, 48.0).max() <= (11 / 16) ** 10 <= 0.024
    assert count_min_shape(0.7, 0.25) == (2, 4)
    assert count_min_shape(0.05, 0.1, rounding="floor") == (4, 54)
    assert count_min_shape(0.05, 0.1) == (4, 55)


@pytest.mark.parametrize(("n", "columns"), [(1, 3), (4, 2), (5, 7)])
def test_collision_probabilities_sum_to_one(n, columns):
    assert sum(math.comb(n - 1, i) * collision_probability(i, n, columns) for i in range(n)) == 1
    assert collision_probability(n - 1, n, columns) == Fraction(1, columns) ** (n - 1)
    assert collision_probability(0, n, float(columns)) == pytest.approx((1 - 1 / columns) ** (n - 1))


@given(epsilon=st.floats(1e-4, 1.0), delta=st.floats(1e-6, 0.99))
def test_shape_keeps_the_guarantee(epsilon, delta):
    rows, columns = count_min_shape(epsilon, delta)
    assert count_min_failure(epsilon, rows, columns) <= delta
    floor = count_min_shape(epsilon, delta, rounding="floor")
    assert floor[0] == rows
    assert columns - floor[1] in (0, 1)


def test_tail_bound_can_fail_for_the_row_of_least_count():
    """The docstring's example, by enumeration: the bound covers only the least ratio."""
    # An item is alone in the cell, or with the free one: (C, W/C), each with chance 1/2.
    outcomes = [(1, Fraction(1)), (2, Fraction(1, 2))]
    pairs = list(itertools.product(outcomes, repeat=2))
    least = Fraction(sum(min(a[1], b[1]) >= 1 for a, b in pairs), 4)
    read = Fraction(sum(min(a, b)[1] >= 1 for a, b in pairs), 4)
    bound = cost_tail_bound([1.0, 0.0], 2, 2, 1.0)[0]
    assert least <= bound < read


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: count_min_shape(0.0, 0.1), "epsilon must be"),
        (lambda: count_min_shape(0.1, 1.0), "delta must be"),
        (lambda: count_min_shape(0.1, 0.1, rounding="round"), "rounding must be one of"),
        (lambda: count_min_failure(0.1, 0, 5), "rows must be at least 1"),
        (lambda: expected_cost_estimate([1.0, -1.0], 5), "costs must be finite and at least 0"),
        (lambda: expected_cost_estimate([1.0], 0), "columns must be at least 1"),
        (lambda: expected_cost_estimate_exact([1, 2], [1], 5, 0), "costs must have as many entries"),
        (lambda: expected_cost_estimate_exact([1, 0], [1, 1], 5, 0), "frequencies must be more than 0"),
        (lambda: expected_cost_estimate_exact([1, 1], [1, 1], 5, 2), "item must be in"),
        (lambda: expected_cost_estimate_exact([1, 1], [1, 1], 0, 1), "columns must be at least 1"),
        (lambda: collision_probability(3, 3, 5), "others must be in"),
        (lambda: cost_tail_bound([1.0], 5, 1, 0.0), "x must be"),
    ],
)
def test_bad_input_names_the_argument(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.bound
def test_cost_sketch_has_the_expectation_of_the_theorem():
    """Put the mean of W/C over 400 draws of the hash functions against the theorem.

    The tolerance is five standard errors of the 400 independent draws, for each of two items: a
    false alarm in a million. Pair-multiply-shift is strongly universal, not fully independent as
    the theorem supposes; on keys that passed the mixer the difference does not show at this size.
    """
    costs = np.repeat(np.arange(1.0, 9.0), 5)
    keys = np.arange(costs.size)
    draws = np.empty((400, costs.size))
    for seed in range(400):
        sketch = CostSketch(epsilon=0.5, delta=0.5, seed=seed)  # one row of six columns
        sketch.update(keys, costs)
        draws[seed] = sketch.estimate(keys)
    assert (sketch.rows, sketch.columns) == (1, 6)
    expected = expected_cost_estimate(costs, 6)
    for item in (0, costs.size - 1):
        error = draws[:, item].std(ddof=1) / math.sqrt(400)
        assert abs(draws[:, item].mean() - expected[item]) < 5 * error


@pytest.mark.bound
@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_count_min_keeps_its_guarantee(exponent):
    """Counts are never too low, and too high by epsilon (m - f) in at most delta of 200 draws.

    Markov's bound for this shape is 0.13 for each item. If it were met with equality, 200 draws
    would pass the bound plus four standard deviations of a binomial share with probability 3e-5; in
    truth the errors are far rarer.
    """
    keys = Zipf(500, exponent).draw(5_000, seed=3)
    truth = np.bincount(keys.astype(np.int64), minlength=500)
    watched = np.array([0, 1, 10, 499])
    rows, columns = count_min_shape(0.2, 0.25)
    bound = count_min_failure(0.2, rows, columns)
    failures = np.zeros(watched.size)
    for seed in range(200):
        sketch = CountMin(epsilon=0.2, delta=0.25, seed=seed)
        sketch.update(keys)
        excess = sketch.estimate(watched) - truth[watched]
        assert (excess >= 0).all()
        failures += excess >= 0.2 * (keys.size - truth[watched])
    assert (sketch.rows, sketch.columns) == (rows, columns)
    assert (failures / 200 <= bound + 4 * math.sqrt(bound * (1 - bound) / 200)).all()
