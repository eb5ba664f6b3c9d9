"""The theory of D-Choices: exact enumeration, SymPy, and the kernels against it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from streamlb.analysis import (
    all_workers_probability,
    choices_feasible,
    choices_margin,
    coupon_collector_mean,
    coverage_moments,
    expected_workers,
    head_size,
    memory_cost,
    min_choices,
    occupancy_distribution,
    partial_key_imbalance_lower_bound,
    zipf_shares,
)

from streamlb import DChoices, PartialKeyGrouping, WChoices, Zipf, imbalance, replication
from streamlb.groupings.solve_d import fewest_choices


@pytest.mark.parametrize(("n", "d", "h"), [(2, 2, 1), (3, 2, 2), (4, 3, 1), (5, 1, 3), (3, 3, 2)])
def test_expected_workers_by_enumeration(n, d, h):
    sizes = [len(set(draws)) for draws in itertools.product(range(n), repeat=d * h)]
    assert expected_workers(n, d, h, exact=True) == Fraction(sum(sizes), len(sizes))
    lists = list(itertools.permutations(range(n), d))
    unions = [len(set().union(*keys)) for keys in itertools.product(lists, repeat=h)]
    assert expected_workers(n, d, h, candidates="distinct", exact=True) == Fraction(sum(unions), len(unions))


def test_expected_workers_by_sympy():
    """A hash misses a worker with chance 1 - 1/n; by linearity b = n (1 - (1 - 1/n)^(hd))."""
    n, k = sympy.symbols("n k", positive=True, integer=True)
    b = sympy.Function("b")
    solution = sympy.rsolve(b(k + 1) - b(k) - (1 - b(k) / n), b(k), {b(0): 0})
    for workers, d, h in ((5, 3, 2), (50, 7, 4), (100, 2, 1)):
        value = sympy.nsimplify(solution.subs({n: workers, k: d * h}))
        assert Fraction(int(sympy.numer(value)), int(sympy.denom(value))) == expected_workers(workers, d, h, exact=True)


@given(st.integers(1, 6), st.integers(0, 8))
def test_occupancy(n, draws):
    chances = occupancy_distribution(n, draws)
    assert sum(chances) == 1
    assert sum(j * chance for j, chance in enumerate(chances)) == expected_workers(n, draws, exact=True)
    if n**draws <= 5000:
        found = [len(set(draw)) for draw in itertools.product(range(n), repeat=draws)]
        assert chances == [Fraction(found.count(j), len(found)) for j in range(n + 1)]


@given(st.integers(1, 12), st.integers(1, 15))
def test_second_moment_exceeds_the_printed_square(n, draws):
    first, second = coverage_moments(n, draws)
    assert first == expected_workers(n, draws, exact=True) / n
    assert second >= first**2


def test_coupon_collector():
    assert coupon_collector_mean(4) == Fraction(25, 3)
    # The mean is the sum over t of P(not yet all): summed to where what is left is below 1e-12 of
    # it.
    mean = sum(1 - all_workers_probability(4, t) for t in range(120))
    assert mean == pytest.approx(25 / 3, abs=1e-10)


def test_two_choices_cannot_carry_more_than_two_workers():
    assert partial_key_imbalance_lower_bound(0.5, 10) == pytest.approx(0.15)
    assert partial_key_imbalance_lower_bound(0.2, 10) == 0


@st.composite
def distributions(draw):
    raw = np.array(draw(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=30)))
    return raw / raw.sum()


@given(
    p=distributions(),
    n=st.integers(1, 60),
    epsilon=st.sampled_from([1e-4, 1e-2]),
    kind=st.sampled_from([("independent", True), ("distinct", True), ("distinct", False)]),
)
def test_kernel_solves_for_the_same_d(p, n, epsilon, kind):
    """`min_choices` equals the kernel's d when fed the same shares."""
    theta = 0.2 / n
    head = np.sort(p[p >= theta])[::-1].copy()
    candidates, switch = kind
    ref = min_choices(p, n, theta, epsilon, candidates=candidates, switch=switch)
    assert fewest_choices(head, n, epsilon, candidates == "distinct", switch) == ref


@pytest.mark.parametrize("n", [20, 50, 100])
def test_without_the_switch_d_has_no_jump(n):
    """From Zipf-1.5 to 3 in steps of .01 d rises by a few workers at a time, not by .37 n."""
    shares = [zipf_shares(1000, z) for z in np.arange(1.5, 3.0, 0.01)]
    smooth, printed = (
        [min_choices(p, n, 0.2 / n, 1e-4, candidates="distinct", switch=switch) for p in shares]
        for switch in (False, True)
    )
    assert max(np.abs(np.diff(smooth))) <= max(2, 0.05 * n)
    assert max(np.diff(printed)) > 0.25 * n
    assert all(a <= b for a, b in zip(smooth, printed))
    assert [a for a, b in zip(smooth, printed) if b < n] == [b for b in printed if b < n]


@pytest.mark.parametrize("candidates", ["independent", "distinct"])
@pytest.mark.parametrize(("workers", "exponent"), [(10, 1.2), (50, 1.0), (50, 2.0), (100, 1.4)])
def test_a_running_grouping_has_the_d_of_its_estimated_shares(candidates, workers, exponent):
    grouping = DChoices(workers, seed=3, candidates=candidates)
    keys = Zipf(10_000, exponent).draw(60_000, seed=2)
    grouping.route_many(keys)
    # With a new hot key d is solved for again.
    grouping.route(10_001, weight=int(60_000 * grouping.theta) + 100)
    head, shares = grouping.head()
    rest = np.full(100_000, (1 - shares.sum()) / 100_000)
    ref = min_choices([*shares, *rest], workers, grouping.theta, grouping.epsilon, candidates=candidates)
    assert head.size == shares.size > 2
    assert grouping.d == ref


def test_head_is_exact_where_floats_are_not():
    """A share of 1/35 is in the head for theta = 0.2/7, though the float 0.2 / 7 is larger."""
    assert 0.2 / 7 > 1 / 35
    p = [1 / 35, *[34 / 35 / 2000] * 2000]
    for theta in (0.2 / 7, 1 / 35):
        assert head_size(p, theta) == 1
        assert choices_margin(p, 7, 2, theta, 1e-4).size == 1
        assert memory_cost(p, 1e6, 7, "W-C", theta=theta) == pytest.approx(7 + 2 * 2000)
    assert head_size(p, 0.2 / 7 * (1 + 1e-12)) == 0
    assert head_size([0.1 + 0.2, 0.7], 0.3) == 2


@given(p=distributions(), n=st.integers(3, 40), distinct=st.booleans())
def test_min_choices_is_the_least_feasible(p, n, distinct):
    candidates = "distinct" if distinct else "independent"
    d = min_choices(p, n, 0.02, 1e-4, candidates=candidates)
    printed = min_choices(p, n, 0.02, 1e-4)
    reached = expected_workers(n, printed) if distinct and head_size(p, 0.02) else 0
    if head_size(p, 0.02) and d < n:
        assert choices_feasible(p, n, d, 0.02, 1e-4, candidates=candidates)
        assert d >= reached
    for smaller in range(max(2, int(np.ceil(p.max() * n)), int(np.ceil(reached))), d):
        assert printed == n or not choices_feasible(p, n, smaller, 0.02, 1e-4, candidates=candidates)
    assert choices_margin(p, n, 2, 0.02, 1e-4, candidates=candidates).size == head_size(p, 0.02)


def test_memory_cost_counts_by_hand():
    p = [0.5, 0.25, 0.125, 0.125]
    assert memory_cost(p, 8, 3, "KG", counts="expected") == 4
    assert memory_cost(p, 8, 3, "PKG", counts="expected") == 2 + 2 + 1 + 1
    assert memory_cost(p, 8, 3, "SG", counts="expected") == 3 + 2 + 1 + 1
    assert memory_cost(p, 8, 3, "D-C", theta=0.25, d=3, counts="expected") == 3 + 2 + 1 + 1
    assert memory_cost(p, 8, 3, "W-C", theta=0.5, counts="expected") == 3 + 2 + 1 + 1
    with pytest.raises(ValueError, match="counts must be one of"):
        memory_cost(p, 8, 3, "KG", counts="none")
    with pytest.raises(ValueError, match="scheme must be one of"):
        memory_cost(p, 8, 3, "XG")
    with pytest.raises(ValueError, match="candidates must be one of"):
        min_choices(p, 3, 0.1, 1e-4, candidates="none")
    with pytest.raises(ValueError, match="p must be"):
        min_choices([0.5, float("nan")], 3, 0.1, 1e-4)


@given(p=distributions(), m=st.integers(0, 150), n=st.integers(2, 30))
def test_memory_cost_is_the_mean_over_drawn_counts(p, m, n):
    """The mean of min(f, choices) over binomial counts f, summed term by term."""

    def mean(share, choices):
        return sum(min(f, choices) * math.comb(m, f) * share**f * (1 - share) ** (m - f) for f in range(m + 1))

    theta = 0.2 / n
    for scheme, hot in (("KG", 1), ("PKG", 2), ("SG", n), ("W-C", n), ("D-C", min(7, n))):
        rare = {"W-C": 2, "D-C": 2}.get(scheme, hot)
        ref = sum(mean(share, hot if share >= theta else rare) for share in p.tolist())
        comp = memory_cost(p, m, n, scheme, theta=theta, d=min(7, n))
        assert comp == pytest.approx(ref, rel=1e-9, abs=1e-9)


@pytest.mark.bound
@pytest.mark.parametrize(("workers", "exponent"), [(20, 1.4), (50, 1.4), (50, 2.0), (100, 2.0)])
def test_partial_key_cannot_beat_its_lower_bound(workers, exponent):
    """Imbalance >= p_1/2 - 1/n with p_1 the measured share: two workers hold all of key 0.

    There is no false alarm.
    """
    keys = Zipf(10_000, exponent).draw(100_000, seed=workers)
    grouping = PartialKeyGrouping(workers, 5, seed=1)
    grouping.route_many(keys)
    assert imbalance(grouping.loads) >= partial_key_imbalance_lower_bound(np.mean(keys == 0), workers) - 1e-12


@pytest.mark.bound
def test_memory_stays_below_the_estimate():
    """Pairs <= sum over keys of min(occurrences, choices), with the d of each key's time.

    There is no false alarm for PKG.

    For W-Choices the head is that of any time, so keys that were hot for a while count with n: at
    most 5n more of them.
    """
    keys = Zipf(10_000, 1.0).draw(200_000, seed=8)
    occurrences = np.bincount(keys.astype(np.int64))
    two = replication(keys, PartialKeyGrouping(50, seed=2).route_many(keys))
    assert two <= np.minimum(occurrences, 2).sum()
    grouping = WChoices(50, seed=2)
    pairs = replication(keys, grouping.route_many(keys))
    assert pairs <= np.minimum(occurrences, 2).sum() + 50 * 2 * 250


@pytest.mark.bound
@pytest.mark.parametrize("exponent", [0.8, 1.4, 2.0])
def test_w_choices_levels_what_two_choices_leave(exponent):
    """Two choices alone leave a gap of about log2(ln n) = 1.6 messages, which the head then fills.

    The tolerance is three times that, over 40 seeds: a grouping that ignores loads has a spread of
    dozens.
    """
    for seed in range(40):
        grouping = WChoices(20, 3, seed=seed)
        grouping.route_many(Zipf(10_000, exponent).draw(30_000, seed=seed))
        spread = grouping.source_loads.max(axis=1) - grouping.source_loads.min(axis=1)
        assert spread.max() <= 5


def test_zipf_shares_are_those_of_the_stream():
    assert zipf_shares(1000, 1.3) == pytest.approx(Zipf(1000, 1.3).pmf, abs=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expected_workers(0, 2), "n must be"),
        (lambda: expected_workers(5, -1), "d must be"),
        (lambda: expected_workers(5, 6, candidates="distinct"), "d must be at most n=5"),
        (lambda: expected_workers(5, 2, candidates="both"), "candidates must be"),
        (lambda: head_size([0.5, 0.5], 0), "theta must be in"),
        (lambda: min_choices([0.5, 0.6], 5, 0.1, 1e-4), "sum of 1.1"),
        (lambda: min_choices([0.5, -0.5], 5, 0.1, 1e-4), "zero or more"),
        (lambda: min_choices([0.5, 0.5], 0, 0.1, 1e-4), "n must be"),
        (lambda: min_choices([0.5, 0.5], 5, 1.0, 1e-4), "theta must be in"),
        (lambda: min_choices([0.5, 0.5], 5, 0.1, 0), "epsilon must be"),
        (lambda: min_choices([0.5, 0.5], 5, 0.1, 1e-4, prefixes="some"), "prefixes must be"),
        (lambda: choices_feasible([0.5, 0.5], 5, 6, 0.1, 1e-4, candidates="distinct"), "d must be at most n=5"),
        (lambda: memory_cost([0.5, 0.5], 100, 0, "PKG"), "n must be"),
        (lambda: memory_cost([0.5, 0.5], 100, 5, "XX"), "scheme must be"),
        (lambda: partial_key_imbalance_lower_bound(1.5, 4), "p1 must be"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
