"""Aspects: each word against a slow evaluation of every way in which open checks might end."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlb.validation.judging import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Estimate,
    Sample,
    all_of,
    any_of,
    at_least,
    at_most,
    between,
    close_to,
    decide,
    exact,
    finding,
    flat,
    greater,
    less,
    mean,
    monotone,
    never,
    no_less,
    no_more,
    not_applicable,
    peak,
    printed,
    reported,
    share_of,
)
from streamlb.validation.judging.aspects import Check, Combined
from streamlb.validation.judging.findings import verdict_of


def fixed(low, high, cells=(), seeds=9):
    """Return an estimate with the same interval at every level."""
    return Estimate((low + high) / 2, lambda alpha: (low, high), seeds, frozenset(cells))


def sample(centre, noise=0.1, n=20, seed=0, cells=()):
    return Sample(range(n), centre + noise * np.random.default_rng(seed).standard_normal(n), frozenset(cells))


WORD_OF = {HOLDS: (1.0, 2.0), FAILS: (-2.0, -1.0), UNDECIDED: (-1.0, 1.0)}
CHECKS = st.builds(
    lambda word, cell: Check(fixed(*WORD_OF[word], cells=[cell]), 0.0), st.sampled_from([*WORD_OF]), st.integers(0, 9)
)
ASPECTS = st.recursive(
    CHECKS,
    lambda parts: st.lists(parts, min_size=1, max_size=3).flatmap(
        lambda parts: st.integers(1, len(parts)).map(lambda needed: Combined(tuple(parts), needed))
    ),
    max_leaves=7,
)


def leaves(aspect):
    return [aspect] if isinstance(aspect, Check) else [leaf for part in aspect.parts for leaf in leaves(part)]


def truth(aspect, ended):
    """Return whether an aspect holds when each of its checks has ended one way."""
    if isinstance(aspect, Check):
        return next(ended)
    return sum([truth(part, ended) for part in aspect.parts]) >= aspect.needed


def naive_word(aspect):
    """Try every way in which the open checks may end."""
    words = [leaf.rule(0.1).word for leaf in leaves(aspect)]
    ways = itertools.product(*[[True, False] if word == UNDECIDED else [word == HOLDS] for word in words])
    outcomes = {truth(aspect, iter(way)) for way in ways}
    return UNDECIDED if len(outcomes) == 2 else HOLDS if outcomes == {True} else FAILS


@given(aspect=ASPECTS)
def test_combinations_against_every_way_that_open_checks_may_end(aspect):
    ruling = aspect.rule(0.1)
    assert ruling.word == naive_word(aspect)
    assert aspect.statistical == len(leaves(aspect))
    open_cells = frozenset().union(
        *(leaf.estimate.cells for leaf in leaves(aspect) if leaf.rule(0.1).word == UNDECIDED)
    )
    assert ruling.cells <= open_cells
    assert bool(ruling.cells) == (ruling.word == UNDECIDED)


@given(region=st.tuples(st.floats(-9, 9), st.floats(0, 9)), interval=st.tuples(st.floats(-9, 9), st.floats(0, 9)))
def test_a_check_holds_inside_fails_outside_and_is_open_across_an_end(region, interval):
    low, high = region[0], region[0] + region[1]
    bottom, top = interval[0], interval[0] + interval[1]
    word = between(fixed(bottom, top), low, high).rule(0.01).word
    inside = [low <= x <= high for x in (bottom, top)]
    if all(inside):
        assert word == HOLDS
    else:
        overlap = bottom <= high and top >= low
        assert word == (UNDECIDED if overlap else FAILS)


def test_what_is_combined_shares_the_error():
    """Twenty checks with noise have a twentieth of alpha each; those without noise need none."""
    asked = []

    def interval(alpha):
        asked.append(alpha)
        return 0.0, 1.0

    noisy = [Check(Estimate(0.5, interval, 10), -1.0) for _ in range(19)]
    found = finding("m", shape=all_of(noisy, never(0, 5)), value=at_least(Estimate(0.5, interval, 10), 0.0))
    decide(found, 1e-3)
    assert asked == pytest.approx([1e-3 / 20] * 20)


def test_the_level_may_depend_on_the_seeds_of_a_check():
    asked = {}

    def estimate(n):
        def interval(alpha):
            asked[n] = alpha
            return 0.0, 1.0

        return Estimate(0.5, interval, n)

    decide(finding("m", value=all_of(at_least(estimate(n), 0.0) for n in (10, 20))), lambda seeds: seeds / 1000)
    assert asked == pytest.approx({10: 0.005, 20: 0.01})


def test_orders_are_strict_paired_and_never_found_in_equals():
    common = np.random.default_rng(0).uniform(0, 1000, 20)
    a, b = Sample(range(20), common), Sample(range(20), common + 1 + 0.1 * np.sin(np.arange(20)))
    assert less(a, b).rule(1e-3).word == greater(b, a).rule(1e-3).word == HOLDS
    assert less(b, a).rule(1e-3).word == FAILS
    assert less(a, a).rule(1e-3).word == greater(a, a).rule(1e-3).word == UNDECIDED
    assert less(sample(0, 1), sample(0, 1, seed=1)).rule(1e-3).word == UNDECIDED


def test_no_worse_allows_a_tolerance_that_must_be_given():
    a, b = sample(1.0, 0.01), sample(1.1, 0.01, seed=1)
    assert no_more(b, a, 0.3).rule(1e-3).word == no_less(a, b, 0.3).rule(1e-3).word == HOLDS
    assert no_more(b, a, 0.05).rule(1e-3).word == no_less(a, b, 0.05).rule(1e-3).word == FAILS
    for tolerance in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="tolerance must be above 0"):
            no_more(a, b, tolerance)


def test_one_sided_values():
    assert at_most(sample(35), printed("3")).rule(1e-3).word == FAILS
    # 3 as printed goes to 3.6.
    assert at_most(sample(3.4, 0.01), printed("3")).rule(1e-3).word == HOLDS
    assert at_least(sample(0.10, 0.001), printed("15%")).rule(1e-3).word == FAILS
    assert at_least(sample(0.5, 0.001), printed("15%")).rule(1e-3).word == HOLDS
    assert close_to(sample(1.24, 0.01), printed("1.25", neutral=1.0)).rule(1e-3).word == HOLDS


def test_series():
    steps = {x: sample(x, 0.01, seed=x) for x in range(4)}
    down = {x: sample(-x, 0.01, seed=x) for x in range(4)}
    level = {x: sample(5, 0.01, seed=x) for x in range(4)}
    assert monotone(steps, rising=True).rule(1e-3).word == monotone(down, rising=False).rule(1e-3).word == HOLDS
    assert monotone(steps, rising=False).rule(1e-3).word == FAILS
    assert monotone(level, rising=True).rule(1e-3).word == UNDECIDED  # flat is not rising
    assert monotone(level, rising=True, tolerance=0.1).rule(1e-3).word == HOLDS
    assert monotone(down, rising=True, tolerance=0.1).rule(1e-3).word == FAILS
    assert flat(level, 0.05).rule(1e-3).word == HOLDS
    assert flat(steps, 0.05).rule(1e-3).word == FAILS
    hill = {x: sample(-abs(x - 2), 0.01, seed=x) for x in range(5)}
    assert peak(hill, lambda x: x in (2, 3)).rule(1e-3).word == HOLDS
    assert peak(hill, lambda x: x > 3).rule(1e-3).word == FAILS
    with pytest.raises(ValueError, match="at least two points"):
        monotone({1: sample(1)}, rising=True)
    with pytest.raises(ValueError, match="inside and outside"):
        peak(hill, lambda x: True)


def test_never_counts_exactly_and_wants_a_case():
    assert never(0, 10).rule(1e-9).word == HOLDS
    assert never(1, 10).rule(1e-9).word == FAILS
    for violations, of in ((0, 0), (-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="violations must be 0 to the number of cases"):
            never(violations, of)


def test_shares():
    yes, no, open_one = (Check(fixed(*WORD_OF[word], cells=[1]), 0.0) for word in (HOLDS, FAILS, UNDECIDED))
    assert share_of(0.6, yes, yes, yes, no, no).rule(0.1).word == HOLDS
    assert share_of(0.61, yes, yes, yes, no, no).rule(0.1).word == FAILS
    assert share_of(0.6, yes, yes, open_one, no, no).rule(0.1).word == UNDECIDED
    assert any_of(no, [yes, open_one]).rule(0.1).word == HOLDS
    for make in (lambda: share_of(0, yes), lambda: share_of(1.1, yes), lambda: all_of(), lambda: any_of([])):
        with pytest.raises(ValueError, match=r"share must be|at least one check"):
            make()


def test_a_region_has_two_ends_in_order_and_is_not_everything():
    for low, high in ((2.0, 1.0), (-math.inf, math.inf), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="a region must go from"):
            between(exact(1), low, high)


def test_settings_that_are_open_are_named_and_all_when_nobody_knows():
    a, b = sample(0, 1, cells=[1]), sample(0, 1, seed=1, cells=[2])
    plain = at_least(sample(9, cells=[3]), 0.0)
    assert decide(finding("m", value=all_of(less(a, b), plain))).cells == {1, 2}
    assert decide(finding("m", value=less(sample(0, 1), b))).cells == {2}
    assert decide(finding("m", value=all_of(less(a, b), at_least(fixed(-1, 1), 0.0)))).cells is None
    assert decide(finding("m", value=plain)).cells == frozenset()


def test_verdicts_follow_from_the_words():
    table = {
        ("holds", "holds"): "reproduced",
        ("holds", ""): "reproduced",
        ("", "holds"): "reproduced",
        ("holds", "fails"): "in shape",
        ("fails", "holds"): "differs",
        ("fails", "fails"): "differs",
        ("fails", "undecided"): "differs",
        ("", "fails"): "differs",
        ("undecided", "fails"): "undecided",
        ("holds", "undecided"): "undecided",
        ("undecided", "holds"): "undecided",
        ("", "undecided"): "undecided",
    }
    for (shape, value), verdict in table.items():
        assert verdict_of(shape, value) == verdict
    for words in (("", ""), ("yes", "")):
        with pytest.raises(ValueError, match="a verdict needs words"):
            verdict_of(*words)
    assert decide(reported("m")).verdict == "reported"
    assert decide(not_applicable("m", "why")).verdict == "not applicable"
    with pytest.raises(ValueError, match="needs a shape, a value or both"):
        finding("m")
    with pytest.raises(ValueError, match="note must say why"):
        not_applicable("m", " ")
    with pytest.raises(ValueError, match="measured must say"):
        reported("  ")


def test_the_check_on_which_it_hangs_is_shown():
    near, far = at_least(fixed(0.9, 1.1), 0.8, "near"), at_least(fixed(8.9, 9.1), 0.8, "far")
    assert all_of(far, near).rule(0.1).label == "near"
    assert any_of(far, near).rule(0.1).label == "far"
    decision = decide(finding("m", shape=never(0, 3), value=all_of(far, near)))
    assert (decision.label, decision.estimate, decision.low, decision.high) == ("near", 1.0, 0.9, 1.1)


def test_means_of_samples_stand_for_samples():
    assert at_least(sample(1), 0.5).estimate.point == mean(sample(1)).point
