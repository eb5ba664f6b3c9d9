"""The theory of consistent grouping: what is printed, what is corrected, and brute force."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from streamlb.analysis import (
    granularity,
    least_share_of_overloaded,
    least_share_printed,
    lemma_hypotheses,
    optimal_share,
    random_choices_imbalance_bound,
    random_choices_imbalance_printed,
    random_choices_memory_bound,
    random_choices_memory_printed,
    replicated_everywhere_possible,
    saturated_throughput,
    shuffle_memory_bound,
    virtual_workers_needed,
)

from streamlb import KeyFootprint, PowerOfRandomChoices, PowerOfTwoChoices, ShuffleGrouping, Zipf


def test_bounds_are_exact_for_fractions():
    epsilon = Fraction(1, 100)
    assert random_choices_imbalance_bound(500, 10, epsilon) == Fraction(3, 2)
    assert random_choices_imbalance_bound(500, 10, epsilon, sources=4) == Fraction(9, 2)
    assert random_choices_imbalance_printed(500, 10, epsilon) == Fraction(1, 2)


def test_no_adversary_beats_the_bound_and_one_comes_close():
    """Try every choice of a worker with room: the load test alone gives the bound."""
    n, epsilon = 3, Fraction(1, 4)
    reached = {(0,) * n}
    for m in range(1, 9):
        cap = (1 + epsilon) * Fraction(m, n)
        reached = {
            tuple(sorted((*load[:w], load[w] + 1, *load[w + 1 :])))
            for load in reached
            for w in range(n)
            if load[w] < cap
        }
        worst = max(max(load) for load in reached) - Fraction(m, n)
        assert worst < random_choices_imbalance_bound(m, n, epsilon)
        assert worst > random_choices_imbalance_bound(m, n, epsilon) - 1


def test_virtual_worker_inequalities():
    c, x, a = sympy.symbols("c x a", positive=True)  # x = epsilon n alpha, a = n alpha
    # with a* = c n alpha the middle of the chain is an identity
    assert sympy.simplify(c / (c * a) - 1 / a) == 0
    threshold = 1 + x
    # Bernoulli's form as printed falls short of the optimal share by x squared of it, the exact one
    # does not
    assert sympy.expand(threshold * c * a * (1 - x) - c * a) == sympy.expand(-c * a * x**2)
    assert sympy.simplify(threshold * c / (1 / a + x / a) - c * a) == 0


@given(
    c=st.fractions(Fraction(1, 100), 1),
    n=st.integers(1, 50),
    virtual=st.integers(1, 50),
    epsilon=st.fractions(0, Fraction(1, 100)),
)
def test_overloaded_worker_has_its_share(c, n, virtual, epsilon):
    threshold = 1 + epsilon * n * virtual
    assert least_share_of_overloaded(c, n, virtual, epsilon, threshold) == optimal_share(c, n, virtual)
    printed = least_share_printed(c, n, virtual, epsilon, threshold)
    assert printed <= optimal_share(c, n, virtual)
    assert (printed == optimal_share(c, n, virtual)) == (epsilon == 0)


@given(
    capacities=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    virtual=st.integers(1, 6),
    band=st.sampled_from([("0.75", "0.85"), ("0.5", "0.9"), ("0.79", "0.81")]),
)
def test_granularity_is_brute_force(capacities, virtual, band):
    low, high = map(Fraction, band)
    bins, total = len(capacities) * virtual, sum(capacities)

    def fits(shares):
        levels = [Fraction(a, bins) * Fraction("0.8") * total / c for a, c in zip(shares, capacities)]
        return sum(shares) == bins and all(low <= level <= high for level in levels)

    found = granularity(capacities, virtual, *band)
    every = itertools.product(range(1, bins + 1), repeat=len(capacities))
    assert found.feasible == any(fits(shares) for shares in every)
    if found.feasible:
        assert fits(found.shares)


def test_virtual_workers_needed_is_the_first_that_is_feasible():
    capacities = [10] * 2 + [1] * 8
    needed = virtual_workers_needed(capacities)
    assert granularity(capacities, needed).feasible
    assert not any(granularity(capacities, fewer).feasible for fewer in range(1, needed))
    with pytest.raises(ValueError, match="up to 3"):
        virtual_workers_needed(capacities, maximum=3)


def test_lemma_hypotheses_are_about_the_bins():
    assert lemma_hypotheses(Fraction(1, 500), 10_000, 100)[:2] == (True, True)
    assert lemma_hypotheses(Fraction(1, 500), 9_999, 100)[:2] == (False, True)
    assert lemma_hypotheses(Fraction(1, 499), 10_000, 100)[:2] == (True, False)
    assert lemma_hypotheses(Fraction(1, 500), 10_000, 10, virtual=10) == lemma_hypotheses(Fraction(1, 500), 10_000, 100)


def test_replication_everywhere():
    assert replicated_everywhere_possible(11, Fraction(1, 10) - Fraction(1, 10**9))
    assert not replicated_everywhere_possible(11, Fraction(1, 10))


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("denominator", [1, 2, 4, 8])
def test_no_key_is_ever_everywhere_where_that_is_impossible(n, denominator):
    """One hot key, whatever else comes: the last worker of its sequence never sees it.

    Where it is possible, some stream here brings the key everywhere, so that the bound is sharp.
    """
    epsilon, met = 1 / denominator, False
    for seed in range(20):
        keys = np.zeros(3000, np.uint64)
        keys[np.random.default_rng(seed).random(3000) < seed / 20] = 1 + seed
        workers = PowerOfRandomChoices(n, epsilon=epsilon, max_probes=1000, seed=seed).route_many(keys)
        met |= len(set(workers[keys == 0].tolist())) == n
    assert met == replicated_everywhere_possible(n, epsilon)


def test_memory_formulas_by_hand():
    p = [0.5, 0.3, 0.2]
    assert shuffle_memory_bound(p, 10, 4) == 4 + 3 + 2
    assert random_choices_memory_printed(p, 10, 0.25) == 4 + 3 + 2
    # 10 messages on 5 workers: each takes fewer than 2 * 1.25 + 1 = 3.5
    assert random_choices_memory_bound([5, 3, 2], 5, 0.25) == 2 + 1 + 1


@pytest.mark.bound
def test_shuffle_memory_is_below_its_bound_on_average():
    """The mean of 20 streams is below the bound by 9% here, which is some 40 standard errors."""
    stream, n = Zipf(1000, 1.0), 20
    measured = []
    for seed in range(20):
        keys = stream.draw(5000, seed=seed)
        footprint = KeyFootprint(1000, n)
        footprint.add(keys, ShuffleGrouping(n).route_many(keys))
        measured.append(footprint.pairs)
    assert np.mean(measured) <= shuffle_memory_bound(stream.pmf, 5000, n)


@pytest.mark.bound
def test_two_choices_stay_near_the_mean():
    """Lemma 5.2 with a constant of 4.

    Over 20 seeds the chance of a gap above ln ln n / ln 2 + 4 is below 1e-6, as its tail is doubly
    exponential.
    """
    n, m = 100, 20_000
    limit = lemma_hypotheses(1.0, m, n).scale + 4
    for seed in range(20):
        grouping = PowerOfTwoChoices(n, seed=seed)
        grouping.route_many(np.zeros(m, np.uint64))
        assert grouping.loads.max() - m / n <= limit


def test_saturated_throughput_is_set_by_the_fullest_worker():
    assert saturated_throughput([0.5, 0.25, 0.25], [1, 1, 1]) == 2.0
    assert saturated_throughput([0.5, 0.5, 0.0], [1, 0.25, 9]) == 0.5


def test_bad_input():
    for call in (
        lambda: random_choices_imbalance_bound(0, 10, 0.1),
        lambda: random_choices_imbalance_bound(10, 10, 0),
        lambda: granularity([1, 0], 5),
        lambda: granularity([1, 1], 0),
        lambda: lemma_hypotheses(0.1, 10, 0),
    ):
        with pytest.raises(ValueError, match="must be"):
            call()
