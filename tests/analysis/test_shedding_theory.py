"""Shedding under full knowledge: correctness, the exact optimum, counterexamples, corrections."""

import itertools
from fractions import Fraction

import naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlb.analysis import (
    SheddingInstance,
    cost_error_share,
    counterexamples,
    greedy_gap,
    greedy_shedding,
    needless_drops,
    online_dilemma,
    optimal_shedding,
    running_averages,
    waits,
)


@st.composite
def instances(draw, most=8, largest=6, equal_costs=False):
    gaps = draw(st.lists(st.integers(0, largest), min_size=1, max_size=most))
    if equal_costs:
        costs = [draw(st.integers(1, largest))] * len(gaps)
    else:
        costs = draw(st.lists(st.integers(1, largest), min_size=len(gaps), max_size=len(gaps)))
    threshold = Fraction(draw(st.integers(1, 3 * largest)), draw(st.integers(1, 4)))
    return SheddingInstance(tuple(itertools.accumulate(gaps)), tuple(costs), threshold)


@given(instances(), st.sampled_from(["average", "bound"]))
def test_the_optimum_is_that_of_trying_every_subset(instance, goal):
    best = optimal_shedding(*instance, goal)
    assert naive.meets_goal(*instance, best, goal)
    assert len(best) == naive.most_kept(*instance, goal)


@given(instances(most=12), st.sampled_from(["average", "bound"]))
def test_greedy_meets_the_goal_and_drops_nothing_needlessly(instance, goal):
    kept = greedy_shedding(*instance, goal)
    assert naive.meets_goal(*instance, kept, goal)
    assert needless_drops(instance, kept, goal) == []
    assert len(kept) <= len(optimal_shedding(*instance, goal))


@given(instances(most=9))
def test_needless_drops_finds_what_was_dropped_without_need(instance):
    kept = greedy_shedding(*instance)
    # Dropping the first tuple is never needed: it waits for nobody.
    assert needless_drops(instance, [i for i in kept if i > 0])[:1] == [0]


@given(instances(most=10, equal_costs=True))
@settings(max_examples=200)
def test_with_a_bound_on_each_wait_and_equal_costs_greedy_is_optimal(instance):
    assert len(greedy_shedding(*instance, "bound")) == len(optimal_shedding(*instance, "bound"))


def test_no_small_stream_breaks_the_corrected_statement():
    assert list(counterexamples(4, 4, goal="bound", equal_costs=True)) == []


@pytest.mark.parametrize("goal", ["average", "bound"])
def test_two_tuples_give_no_counterexample(goal):
    assert list(counterexamples(2, 9, goal)) == []


@pytest.mark.parametrize(
    ("instance", "goal", "greedy", "optimum"),
    [
        (SheddingInstance((0, 0, 0), (3, 1, 1), 1), "average", 1, 2),  # the smallest
        (SheddingInstance((3, 4, 7), (8, 4, 4), 1), "average", 1, 2),  # with arrivals apart
        # This is the smallest for a bound on each wait.
        (SheddingInstance((0, 0, 0), (2, 1, 1), 1), "bound", 1, 2),
        (SheddingInstance((0, 0, 1, 2), (2, 2, 2, 2), 1), "average", 2, 3),  # also with equal costs
        # It also fails with equal costs and even arrivals.
        (SheddingInstance((0, 2, 4, 6), (4, 4, 4, 4), 1), "average", 2, 3),
    ],
)
def test_known_counterexamples(instance, goal, greedy, optimum):
    """An example worked by hand: the kept sets differ in size, and both meet the goal."""
    kept, best = greedy_shedding(*instance, goal), optimal_shedding(*instance, goal)
    assert (len(kept), len(best)) == (greedy, optimum)
    assert naive.meets_goal(*instance, kept, goal)
    assert naive.meets_goal(*instance, best, goal)


def test_counterexamples_come_smallest_first():
    found = list(itertools.islice(counterexamples(3, 4), 20))
    sizes = [instance.arrivals[-1] + sum(instance.costs) + instance.threshold for instance in found]
    assert sizes == sorted(sizes)
    assert found[0] == SheddingInstance((0, 0, 0), (3, 1, 1), 1)
    assert next(counterexamples(4, 4, equal_costs=True, even_arrivals=True)) == SheddingInstance(
        (0, 2, 4, 6), (4, 4, 4, 4), 1
    )


@pytest.mark.parametrize("kept", [1, 2, 7, 20])
def test_the_gap_to_the_optimum_has_no_bound(kept):
    stream = greedy_gap(kept, threshold=3)
    assert greedy_shedding(*stream) == [0]
    assert len(optimal_shedding(*stream)) == kept


def test_no_online_shedder_is_optimal_on_both_streams():
    short, longer = online_dilemma()
    assert longer.arrivals[: len(short.arrivals)] == short.arrivals
    assert longer.costs[: len(short.costs)] == short.costs
    assert optimal_shedding(*short) == [0]
    with_first = [s for s in naive.feasible_sets(*longer, "average") if 0 in s]
    assert max(map(len, with_first)) < len(optimal_shedding(*longer))


@given(instances(most=12), st.data())
def test_estimates_that_are_never_too_low_keep_the_average_below_the_threshold(instance, data):
    arrivals, costs, threshold = instance
    extra = data.draw(st.lists(st.integers(0, 5), min_size=len(costs), max_size=len(costs)))
    estimates = [cost + more for cost, more in zip(costs, extra, strict=True)]
    kept = greedy_shedding(arrivals, costs, threshold, estimates=estimates)
    assert all(average <= threshold for average in running_averages(waits(arrivals, costs, kept)))


def test_an_estimate_that_is_too_low_can_break_the_goal():
    kept = greedy_shedding([0, 0], [4, 4], 1, estimates=[2, 2])
    assert running_averages(waits([0, 0], [4, 4], kept))[-1] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 1], [1], 1), "costs must have as many entries as arrivals, 2, got 1"),
        (([1, 0], [1, 1], 1), "arrivals must not decrease"),
        (([0], [-1], 1), "costs must be at least 0"),
        (([0], [1], 0), "threshold must be more than 0, got 0"),
        (([0], [1], 1, "median"), "goal must be one of"),
    ],
)
def test_bad_instances_are_refused(arguments, words):
    for shed in (greedy_shedding, optimal_shedding):
        with pytest.raises(ValueError, match=words):
            shed(*arguments)
    with pytest.raises(ValueError, match="kept_by_optimum must be at least 1"):
        greedy_gap(0)


def test_the_share_of_wrong_estimates_counts_them_one_by_one():
    """Two items in two columns are apart half the time.

    Each is therefore expected at its own cost plus a quarter of the difference.
    """
    # E = own/2 + mean/2: 2 -> 2.5 (off by a quarter), 4 -> 3.5 (off by an eighth).
    assert [cost_error_share([2.0, 4.0], 2, epsilon) for epsilon in (0.1, 0.2, 0.3)] == [1.0, 0.5, 0.0]
    assert cost_error_share([5.0] * 7, 3, 1e-9) == 0.0
    with pytest.raises(ValueError, match="costs must be at least one number"):
        cost_error_share([], 3, 0.1)
