"""What a number that a user writes means: theory, twins and kernels hold to one definition."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from streamlb.analysis.exact import exact, like

from streamlb.ratios import fraction_of


def test_by_hand():
    assert exact(0.01) == Fraction(1, 100)
    assert exact(0.2 / 7) == Fraction(1, 35)
    assert exact(3) == exact(3.0) == 3
    assert exact(Fraction(2, 7)) == Fraction(2, 7)


@given(st.one_of(st.floats(1e-12, 1e12), st.builds(lambda a, b: a / b, st.integers(1, 10**4), st.integers(1, 10**4))))
def test_theory_and_kernels_read_a_float_alike(value):
    assert exact(value) == fraction_of(value)


def test_an_answer_is_exact_for_exact_input():
    assert like(Fraction(1, 3), Fraction(2, 3)) == Fraction(2, 3)
    assert like(2, Fraction(2, 3)) == Fraction(2, 3)
    assert isinstance(like(0.5, Fraction(2, 3)), float)
