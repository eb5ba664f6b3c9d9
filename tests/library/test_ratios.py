"""streamlb.ratios: what a float stands for, and exact comparisons with a share of m."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import ratios as naive

from streamlb.ratios import ceil_share, fraction_of, reaches, terms_of

terms = st.integers(0, 2**40)
counts = st.integers(0, 2**50)


def test_a_float_stands_for_what_was_written():
    assert fraction_of(0.01) == Fraction(1, 100)
    assert fraction_of(1e-4) == Fraction(1, 10_000)
    assert fraction_of(Fraction(1, 3)) == fraction_of(1 / 3) == Fraction(1, 3)
    assert fraction_of(0) == fraction_of(0.0) == 0


@pytest.mark.parametrize("n", [*range(1, 60), 97, 1000, 4999])
def test_one_over_five_n_is_the_same_however_it_is_computed(n):
    assert fraction_of(0.2 / n) == fraction_of(1 / (5 * n)) == fraction_of(1 / n / 5) == Fraction(1, 5 * n)


@given(over=st.integers(1, 50), under=st.integers(1, 300))
def test_a_computed_quotient_is_the_simplest_fraction(over, under):
    assert fraction_of(over / under) == naive.fraction_of(over / under) == Fraction(over, under)


@given(m=counts, over=terms, under=st.integers(1, 2**40), step=st.integers(-2, 2))
def test_kernels_match_whole_number_arithmetic(m, over, under, step):
    over = min(over, under)
    ref = naive.ceil_share(m, over, under)
    assert ceil_share(m, over, under, over / under) == ref
    count = max(0, ref + step)
    assert reaches(count, m, over, under, over / under) == naive.reaches(count, m, over, under)


@given(n=st.integers(1, 10_000), digits=st.integers(1, 9), numerator=st.integers(1, 10**9), k=st.integers(1, 10**6))
def test_limits_that_are_whole_numbers_are_met_exactly(n, digits, numerator, k):
    """(1 + epsilon) m / n at its own multiples, where floats go wrong."""
    share = (1 + Fraction(numerator, 10**digits)) / n
    over, under, value = terms_of(share)
    m = k * under
    assert ceil_share(m, over, under, value) == k * over
    assert reaches(k * over, m, over, under, value)
    assert not reaches(k * over - 1, m, over, under, value)
    assert ceil_share(m + 1, over, under, value) == naive.ceil_share(m + 1, over, under)


def test_the_examples_where_floats_go_wrong():
    over, under, value = terms_of((1 + fraction_of(0.01)) / 20)
    # 505.00000000000006: a worker with 505 would seem to have room.
    assert (1 + 0.01) / 20 * 10_000 > 505
    assert ceil_share(10_000, over, under, value) == 505


def test_terms_that_do_not_fit_are_replaced_by_the_nearest_that_do():
    ratio = Fraction(10**18 + 9, 10**19 + 51) / 7
    over, under, value = terms_of(ratio)
    assert max(over, under) < 2**62
    assert abs(Fraction(over, under) - ratio) < Fraction(1, 2**60)
    assert value == float(ratio)
