"""Twins of streamlb.ratios, in Python's unbounded integers."""

from fractions import Fraction

__all__ = ["ceil_share", "fraction_of", "reaches"]


def fraction_of(value):
    """Return the decimal of at most twelve digits, or the simplest fraction within 2**-50."""
    written = Fraction(repr(value))
    if written.denominator <= 10**12:
        return written
    near, denominator = Fraction(value), 1
    while True:
        numerator = round(near * denominator)
        if abs(Fraction(numerator, denominator) - near) <= near / 2**50:
            return Fraction(numerator, denominator)
        denominator += 1


def reaches(count, m, over, under):
    """Return whether count >= m * over / under."""
    return count * under >= m * over


def ceil_share(m, over, under):
    """Return the least whole number not below m * over / under."""
    return -(-m * over // under)
