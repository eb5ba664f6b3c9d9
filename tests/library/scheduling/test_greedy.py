"""Greedy scheduling: the kernels against their twin, and theorem 4.2 against exact optima."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from naive import scheduling as naive

from streamlb import analysis, greedy_schedule

tasks = st.lists(st.integers(0, 20), max_size=60)


@given(costs=tasks, machines=st.integers(1, 12))
def test_matches_naive(costs, machines):
    ref_assignment, ref_makespan = naive.greedy_schedule(costs, machines)
    assignment, makespan = greedy_schedule(costs if costs else np.empty(0), machines)
    assert assignment.dtype == np.int32
    assert assignment.tolist() == ref_assignment
    assert makespan == ref_makespan


@given(costs=st.lists(st.integers(0, 3), max_size=300), machines=st.one_of(st.integers(2, 9), st.integers(50, 90)))
def test_ties_match_naive_by_scan_and_by_heap(costs, machines):
    """There are few different costs, so ties are common; beyond 60 machines a heap takes over."""
    assignment, makespan = greedy_schedule(np.array(costs, np.float64), machines)
    assert (assignment.tolist(), makespan) == naive.greedy_schedule(costs, machines)


@pytest.mark.bound
@given(costs=st.lists(st.integers(0, 30), max_size=10), k=st.integers(1, 5))
@example(costs=[1] * 6 + [3], k=3)
def test_theorem_42_against_the_exact_optimum(costs, k):
    """Both sides are exact, so there is no chance of a false alarm."""
    _, makespan = greedy_schedule(costs if costs else np.empty(0), k)
    optimum = analysis.optimal_makespan(costs, k)
    assert Fraction(makespan) == analysis.greedy_makespan(costs, k)
    assert Fraction(makespan) <= analysis.greedy_ratio(k) * optimum
    assert makespan <= analysis.greedy_makespan_bound(costs, k)
    assert analysis.makespan_lower_bound(costs, k) <= optimum <= makespan


@given(costs=st.lists(st.integers(0, 30), max_size=7), k=st.integers(1, 4))
def test_branch_and_bound_is_brute_force(costs, k):
    assert analysis.optimal_makespan(costs, k) == naive.optimal_makespan(costs, k)


@pytest.mark.parametrize("seed", range(6))
def test_branch_and_bound_is_integer_programming(seed):
    """Return the least makespan as HiGHS finds it.

    A schedule is 0/1 variables x[task, machine], and the makespan is the objective.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    rng = np.random.default_rng(seed)
    n, k = 12, 3 + seed % 2
    costs = rng.integers(1, 40, n)
    once = np.zeros((n, n * k + 1))
    loads = np.zeros((k, n * k + 1))
    for task in range(n):
        once[task, task * k : task * k + k] = 1
        loads[np.arange(k), task * k + np.arange(k)] = costs[task]
    loads[:, -1] = -1
    solution = milp(
        np.r_[np.zeros(n * k), 1],
        integrality=np.r_[np.ones(n * k), 0],
        bounds=Bounds(0, np.r_[np.ones(n * k), np.inf]),
        constraints=[LinearConstraint(once, 1, 1), LinearConstraint(loads, -np.inf, 0)],
    )
    assert solution.success
    assert analysis.optimal_makespan(costs, k) == round(solution.fun)


@pytest.mark.bound
@pytest.mark.parametrize("k", range(1, 8))
def test_the_ratio_is_reached(k):
    costs = analysis.tight_costs(k)
    # All the 1/k fit on k - 1 machines beside the one of 1, so the optimum is 1, its lower bound.
    assert analysis.makespan_lower_bound(costs, k) == 1
    assert analysis.greedy_makespan(costs, k) == analysis.greedy_ratio(k)
    scaled = [int(c * k) for c in costs]
    assert greedy_schedule(scaled, k)[1] == 2 * k - 1


def test_completion_times_of_the_example():
    arrivals, costs = [0, 1, 2], [10, 1, 10]
    assert sum(analysis.completion_times(arrivals, costs, [0, 1, 0], 2)) == 29
    assert sum(analysis.completion_times(arrivals, costs, [0, 1, 1], 2)) == 21


@pytest.mark.parametrize("machines", [0, -1, 2.5, True])
def test_bad_machines(machines):
    with pytest.raises((ValueError, TypeError), match="machines"):
        greedy_schedule([1.0], machines)
    if machines is not True and machines != 2.5:
        with pytest.raises(ValueError, match="k must"):
            analysis.greedy_ratio(machines)


@pytest.mark.parametrize("costs", [[1.0, -1.0], [float("nan")], [float("inf")], [[1.0]], ["a"]])
def test_bad_costs(costs):
    with pytest.raises((ValueError, TypeError), match="costs"):
        greedy_schedule(costs, 2)
    with pytest.raises(ValueError, match="costs"):
        analysis.makespan_lower_bound([1, -1], 2)
